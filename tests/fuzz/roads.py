"""Second roads to a program's results, through minijax alone or NumPy.

A road is a pair of stacks that must agree: a program as it is, and the same one
compiled, staged and evaluated, under checkpoint; mapped, and looped over.  One more says
that the forward and the reverse mode are transposes; NumPy is asked instruction by
instruction, with the operands that minijax had.
"""

import random
import re
from dataclasses import replace

import numpy as np

from . import stacks
from .child import Runner, leaf_of, library
from .compare import apart, difference, spread_of
from .draw import draw
from .program import Program, lines, script
from .stacks import Layer
from .values import nudged

JIT = Layer("jit", "jax.jit(f)")
PAIR = Layer("paired", "paired(f)")


def vmapped(program: Program, seed: int, how: str) -> Program:
    rng = random.Random(seed)
    inputs = {i.name: i.type for i in program.inputs}
    return replace(program, stack=(*program.stack, stacks.draw_vmap(rng, inputs, how)))


def with_layer(*layers: Layer):
    return lambda p, seed: replace(p, stack=(*p.stack, *layers))


CHECKPOINT = Layer("checkpoint", "jax.checkpoint(f)")
GRADIENT = Layer("vjp", "pulled(f)")
ROADS = {
    "jit": (with_layer(), with_layer(JIT)),
    "staged": (with_layer(JIT), with_layer(Layer("make_jaxpr", "staged(f)"), JIT)),
    "checkpoint": (with_layer(GRADIENT, JIT), with_layer(CHECKPOINT, GRADIENT, JIT)),
    "vmap": (
        lambda p, seed: with_layer(JIT)(vmapped(p, seed, "jax.vmap"), seed),
        lambda p, seed: with_layer(JIT)(vmapped(p, seed, "looped"), seed),
    ),
    "transpose": (with_layer(PAIR, JIT), None),
}


# Loops of unknown length, and products written to places that may coincide.
NO_REVERSE_MODE = "Reverse-mode differentiation does not work|scatter_mul gradients"


def runner() -> Runner:
    return Runner(library("minijax"))


def results(run: Runner, program: Program):
    return run.script(script(program, show=False), program.x64, program.setting)


def along(run: Runner, road: str, program: Program, seed: int):
    """The results of both ways of a road."""
    left, right = ROADS[road]
    a = results(run, left(program, seed))
    if right is not None:
        return a, results(run, right(program, seed))
    if a[0] == "error":
        return a, (a if re.search(NO_REVERSE_MODE, a[2]) else ("error", "none", "", []))
    return ("ok", a[1][:1]), ("ok", a[1][1:])


def disagreement(run: Runner, road: str, program: Program, seed: int):
    """How the two ways of a road differ at a program, or None."""
    both = along(run, road, program, seed)
    finding = difference(*both)
    if finding is None or finding[0] != "value":
        return finding
    ways = [[leaves] for _, leaves in both]
    for by in (2, -3, 5):
        for way, (state, leaves) in zip(ways, along(run, road, nudged(program, by), seed)):
            if state == "ok":
                way.append(leaves)
    spread = [
        sum(spread_of([leaves[i][3] for leaves in way]) for way in ways)
        for i in range(len(both[0][1]))
    ]
    return difference(*both, spread)


def drawn(road: str, seed: int) -> Program:
    """A program for a road: of wide numbers, whose rounding says little."""
    program = draw(seed, x64=True, refused=0.0)
    stack = program.stack[:1] if road in ("jit", "staged", "vmap") else ()
    stack = tuple(layer for layer in stack if layer.name != "eval_shape")
    return replace(program, stack=stack, setting="")


# -------------------------------------------------------------------------------- NumPy

PLAIN = ("float32", "float64", "int32", "int64", "bool", "complex64", "complex128")


def against_numpy(program: Program):
    """(how many instructions NumPy could follow, the first where it differs)."""
    jax = library("minijax")
    space: dict = {"jax": jax}
    text = stacks.PRELUDE + "\n".join(stacks.HELPERS.values())
    exec(text.replace("import LIB as jax", ""), space)
    namespace = {"jnp": np, "np": np, "inf": np.inf, "nan": np.nan, "array": plain_array}
    count = 0
    with jax.enable_x64(program.x64), np.errstate(all="ignore"):
        for value in program.inputs:
            space[value.name] = eval(value.text, space)
        for instruction in program.body:
            exec("\n".join(lines((instruction,), "")), space)
            if not instruction.numpy:
                continue
            names = [a for a in instruction.args if a in space]
            if not all(str(space[a].dtype) in PLAIN for a in names):
                continue
            known = namespace | {a: np.asarray(space[a]) for a in names}
            try:
                expected = eval(instruction.expression, known)
                expected = np.asarray(expected)
            except Exception:
                continue
            got = leaf_of(space[instruction.name])
            kinds = {got[3].dtype.kind, expected.dtype.kind}
            if len(kinds) > 1 and not kinds <= {"i", "u"}:
                continue  # NumPy promotes otherwise
            count += 1
            dtypes = [got[0], *(str(space[a].dtype) for a in names)]
            dtype = "float32" if {"float32", "complex64"} & {*dtypes} else got[0]
            if got[2] != expected.shape or apart(got[3], expected, dtype).any():
                operands = {a: space[a] for a in names}
                return count, (instruction.expression, operands, got[3], expected)
    return count, None


def plain_array(numbers, dtype, shape):
    return np.array(numbers, dtype).reshape(shape)
