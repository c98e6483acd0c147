"""Smaller programs that still fail: greedy, with a budget of runs."""

from dataclasses import replace

from .draw import library, type_of
from .program import Input, Instruction, Program, Sub, pruned
from .stacks import Layer
from .types import Type


def shrink(program: Program, fails, budget: int = 80) -> Program:
    """The smallest program found for which `fails` holds."""
    progress = True
    while progress and budget > 0:
        progress = False
        for smaller in candidates(program):
            if budget <= 0:
                break
            budget -= 1
            if fails(smaller):
                program, progress = smaller, True
                break
    return program


def candidates(program: Program):
    """Programs that are a little smaller, the boldest steps first."""
    for i in range(len(program.stack)):
        yield replace(program, stack=program.stack[:i] + program.stack[i + 1 :])
    if len(program.results) > 1:
        for name in program.results:
            yield shortened(program, results=(name,))
    for instruction in program.body[:-1]:
        yield shortened(program, results=(instruction.name,))
    yield from freed(program)
    yield from opened(program)
    if program.setting:
        yield replace(program, setting="")
    for i, instruction in enumerate(program.body):
        for smaller in shorter(instruction):
            body = (*program.body[:i], smaller, *program.body[i + 1 :])
            yield shortened(program, body=body)
    if program.x64:
        yield replace(program, x64=False)
    for i, value in enumerate(program.inputs):
        for smaller in plainer(value):
            inputs = (*program.inputs[:i], smaller, *program.inputs[i + 1 :])
            yield replace(program, inputs=inputs)


def shortened(program: Program, **changes) -> Program:
    """The program without what is no longer needed, where its stack lets it go."""
    changed = replace(program, **changes)
    small = pruned(changed)
    names = [value.name for value in small.inputs]
    return small if all(layer.fits(names) for layer in small.stack) else changed


def freed(program: Program):
    """An instruction's value becomes an input (of numbers that do no harm)."""
    types = {i.name: i.type for i in program.inputs}
    jax, _ = library()
    body = program.body
    with jax.enable_x64(program.x64):
        for i, instruction in enumerate(body[:-1]):
            try:
                type_ = type_of(instruction, types)
            except Exception:
                return
            if type_ is None:
                return
            types[instruction.name] = type_
            value = Input(instruction.name, type_, harmless(type_))
            rest = (*body[:i], *body[i + 1 :])
            inputs = (*program.inputs, value)
            stack = tuple(with_types_of(layer, value) for layer in program.stack)
            yield shortened(program, inputs=inputs, body=rest, stack=stack)


def opened(program: Program):
    """The instructions of a sub-program instead of the operation that runs them."""
    for i, instruction in enumerate(program.body):
        for sub in instruction.subs:
            if not sub.body:
                continue
            operand = {p: instruction.args[0] for p in sub.params}
            result = sub.body[-1].name
            inside = lambda text, old=operand: old.get(text, text)
            after = lambda text, old=instruction.name, new=result: new if text == old else text
            body = (
                *program.body[:i],
                *(renamed(x, inside) for x in sub.body),
                *(renamed(x, after) for x in program.body[i + 1 :]),
            )
            yield shortened(program, body=body, results=tuple(map(after, program.results)))


def with_types_of(layer: Layer, value: Input) -> Layer:
    """The layer that also transforms a new input."""
    if "{axes}" in layer.text or ("{argnums}" in layer.text and value.type.kind in "fc"):
        return layer._replace(chosen=(*layer.chosen, (value.name, 0)))
    return layer


def harmless(of: Type):
    if of.kind == "b":
        return tuple(i % 2 == 0 for i in range(of.size))
    if of.kind in "iu":
        return tuple(i % 3 for i in range(of.size))
    return tuple(0.5 + 0.25 * (i % 5) for i in range(of.size))


def shorter(instruction: Instruction):
    """The instruction with less in its sub-programs."""
    for k, sub in enumerate(instruction.subs):
        for smaller in shorter_sub(sub):
            subs = (*instruction.subs[:k], smaller, *instruction.subs[k + 1 :])
            yield replace(instruction, subs=subs)


def shorter_sub(sub: Sub):
    for i, inner in enumerate(sub.body):
        rest = (*sub.body[:i], *sub.body[i + 1 :])
        for instead in dict.fromkeys([*inner.args, *sub.params[:1]]):
            if not any(c.isdigit() for c in instead) or "(" in instead:
                continue
            rename = lambda text, a=inner.name, b=instead: b if text == a else text
            yield Sub(
                sub.params,
                tuple(renamed(x, rename) for x in rest),
                tuple(t.replace(inner.name, instead) for t in sub.results),
            )
        for smaller in shorter(inner):
            yield replace(sub, body=(*sub.body[:i], smaller, *sub.body[i + 1 :]))


def renamed(instruction: Instruction, rename) -> Instruction:
    subs = tuple(
        Sub(
            s.params,
            tuple(renamed(x, rename) for x in s.body),
            tuple(rename(r) for r in s.results),
        )
        for s in instruction.subs
    )
    return replace(instruction, args=tuple(map(rename, instruction.args)), subs=subs)


def plainer(value: Input):
    """An input of a smaller shape, or of plainer numbers."""
    t = value.type
    if t.weak:
        yield replace(value, type=t._replace(weak=False))
    for axis, n in enumerate(t.shape):
        for less in {0, 1, n - 1} & set(range(n)):
            shape = (*t.shape[:axis], less, *t.shape[axis + 1 :])
            size = Type(t.dtype, shape).size
            yield Input(value.name, t._replace(shape=shape), value.numbers[:size])
    calm = harmless(t)
    if value.numbers != calm and not t.weak:
        yield replace(value, numbers=calm)
