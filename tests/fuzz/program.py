"""Programs as data, and as scripts.

A program has inputs, instructions that each name one value, and a stack of
transformations.  An instruction's text has `{0}`, `{1}` for its operands and `{f0}` for
the functions made of its sub-programs, which see all values around them.
"""

from dataclasses import dataclass, replace
from typing import Any

from . import stacks
from .types import Type, value_text


@dataclass(frozen=True)
class Input:
    name: str
    type: Type
    numbers: tuple[Any, ...]

    @property
    def text(self) -> str:
        return value_text(self.type, list(self.numbers))


@dataclass(frozen=True)
class Sub:
    """A function inside of a program: it returns `results`, expressions of its values."""

    params: tuple[str, ...]
    body: tuple["Instruction", ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class Instruction:
    name: str
    op: str
    text: str
    args: tuple[str, ...] = ()  # names of values, or literals
    subs: tuple[Sub, ...] = ()
    numpy: bool = False  # NumPy means the same by the text

    @property
    def expression(self) -> str:
        functions = {f"f{i}": f"{self.name}_f{i}" for i in range(len(self.subs))}
        return self.text.format(*self.args, **functions)


@dataclass(frozen=True)
class Program:
    inputs: tuple[Input, ...]
    body: tuple[Instruction, ...]
    results: tuple[str, ...]
    stack: tuple[stacks.Layer, ...] = ()
    x64: bool = False
    setting: str = ""  # a context manager around it all

    def __str__(self) -> str:
        return script(self)


def lines(body: tuple[Instruction, ...], indent: str) -> list[str]:
    out = []
    for instruction in body:
        for i, sub in enumerate(instruction.subs):
            params = ", ".join(sub.params)
            out.append(f"{indent}def {instruction.name}_f{i}({params}):")
            out += lines(sub.body, indent + "    ")
            results = ", ".join(sub.results)
            out.append(f"{indent}    return {results}")
        out.append(f"{indent}{instruction.name} = {instruction.expression}")
    return out


def function(program: Program) -> list[str]:
    names = ", ".join(i.name for i in program.inputs)
    results = ", ".join(program.results)
    inside = lines(program.body, "    ")
    return [f"def program({names}):", *inside, f"    return ({results},)"]


def script(program: Program, show: bool = True) -> str:
    """The whole text: `run()` gives the results; as a script, it prints them."""
    main = function(program)
    main += ["", "", "def run():", "    f = program"]
    names = [value.name for value in program.inputs]
    main += [f"    f = {layer.expression(names)}" for layer in program.stack]
    main += ["    return f("]
    main += [f"        {value.text}," for value in program.inputs]
    main += ["    )"]
    contexts = [f"jax.enable_x64({program.x64})"]
    if program.setting:
        contexts.append(f"jax.{program.setting}")
    text = "\n".join(main)
    parts = [stacks.PRELUDE, *stacks.helpers_in(text), text, ""]
    if show:
        parts += [stacks.SHOW]
    contexts = ", ".join(contexts)
    return "\n".join(parts).replace("CONTEXTS", contexts)


def values_used(body: tuple[Instruction, ...], results: tuple[str, ...]) -> set[str]:
    """Names that a body or its results mention, however deep."""
    words = set()
    for text in results:
        words |= words_of(text)
    for instruction in body:
        for arg in instruction.args:
            words |= words_of(arg)
        for sub in instruction.subs:
            words |= values_used(sub.body, sub.results)
    return words


def words_of(text: str) -> set[str]:
    return {w for w in "".join(c if c.isalnum() else " " for c in text).split()}


def instructions(body: tuple[Instruction, ...]):
    """Every instruction, those of sub-programs included."""
    for instruction in body:
        yield instruction
        for sub in instruction.subs:
            yield from instructions(sub.body)


def operations(program: Program) -> list[str]:
    return [i.op for i in instructions(program.body)]


def pruned(program: Program) -> Program:
    """Without what the results do not depend on."""
    body, needed = [], set(program.results)
    for instruction in reversed(program.body):
        if instruction.name in needed:
            body.append(instruction)
            needed |= values_used((instruction,), ())
    inputs = tuple(i for i in program.inputs if i.name in needed)
    return replace(program, body=tuple(body[::-1]), inputs=inputs)
