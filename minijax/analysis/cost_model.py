"""The cost of programs: arithmetic operations, and bytes of values.

The `flops` rule of a primitive returns the number of operations that its results need.
Without a rule it is one for each element of an elementwise result, and none for data
movement.  A primitive that holds programs costs as much as they do: a loop counts each
step, if their number is known; a choice counts the most expensive branch; a program on
several devices counts once for each.

This package names no operation.  Next: ../tools/costs.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..ir.core import STATE
from ..ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, cached_on_jaxpr, closed_jaxprs
from ..ir.regions import Loop

if TYPE_CHECKING:
    from ..types.aliases import Aval, Params


def nbytes(aval: Aval) -> int:
    """Return the size in bytes of a value of this type; 0 for a type without elements."""
    dtype, shape = getattr(aval, "dtype", None), getattr(aval, "shape", ())
    size = math.prod(shape)
    try:
        return int(size * dtype.itemsize)  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        return 0


SLACK = 512  # bytes for alignment and address tables, wherever scratch memory is needed


def copies(count: float) -> Callable[..., float]:
    """Return the `workspace` rule of a primitive that copies its operands and results."""

    def workspace(ins: Sequence[Aval], outs: Sequence[Aval], params: Params) -> float:
        return SLACK + count * sum(_wide_bytes(a) for a in (*ins, *outs))

    return workspace


def widened(ins: Sequence[Aval], outs: Sequence[Aval], params: Params) -> float:
    """Return the scratch bytes of a primitive that computes narrow floats in float32."""
    narrow = [a for a in (*ins, *outs) if 0 < nbytes(a) < _wide_bytes(a)]
    return float(sum(map(_wide_bytes, narrow)))


def _wide_bytes(aval: Any) -> int:
    """Return the bytes of a value with its elements widened to at least 32 bits."""
    narrow = getattr(getattr(aval, "dtype", None), "itemsize", 4)
    return nbytes(aval) * max(1, 4 // max(1, narrow))


def workspace(eqn: Equation) -> int:
    """Return the scratch bytes that an equation needs besides its operands and results.

    A loop may hold its carry three times; the scratch memory of inner programs is not
    counted.
    """
    prim, params = eqn.primitive, eqn.params
    ins, outs = [a.aval for a in eqn.ins], [v.aval for v in eqn.outs]
    if isinstance(prim.regions, Loop):
        carry = prim.regions.groups(params, ins)[2]
        return SLACK + 2 * sum(map(nbytes, carry)) + 64 * len(ins)
    if prim.regions is not None and len(prim.regions.bodies(params)) > 1:
        return SLACK + 64 * len(ins)
    if prim.facts.workspace is None:
        return 0
    return int(prim.facts.workspace(ins, outs, params))


class InnerProgram(NamedTuple):
    """A program inside an equation, how often it runs, and whether that is known."""

    closed: ClosedJaxpr
    trip_count: int
    known: bool
    choice: bool  # whether it is one of several programs, only one of which runs


def inner_programs(eqn: Equation) -> list[InnerProgram]:
    """Return the programs that an equation runs."""
    regions, params = eqn.primitive.regions, eqn.params
    if isinstance(regions, Loop):
        n = 1 if regions.length is None else params[regions.length]
        length_known = regions.length is not None
        return [InnerProgram(b, n, length_known, False) for b in regions.bodies(params)]
    if regions is None:
        if eqn.primitive.facts.flops is not None:
            return []
        return [InnerProgram(p, 1, False, False) for p in closed_jaxprs(params)]
    before = len(STATE.axes)
    with regions.scope(params):
        n = math.prod(size for _, size in STATE.axes[before:])
    bodies = regions.bodies(params)
    return [InnerProgram(b, n, True, len(bodies) > 1) for b in bodies]


def own_flops(eqn: Equation) -> float:
    """Return the number of operations of an equation that holds no programs."""
    prim = eqn.primitive
    ins, outs = [a.aval for a in eqn.ins], [v.aval for v in eqn.outs]
    if prim.facts.flops is not None:
        return float(prim.facts.flops(ins, outs, eqn.params))
    size = sum(math.prod(getattr(a, "shape", ())) for a in outs)
    shapes = [a.shape for a in ins if getattr(a, "shape", ())]
    if shapes and all(getattr(o, "shape", None) == s for o in outs for s in shapes):
        return float(size)
    return 0.0 if prim.facts.makes_no_nans or not ins else float(size)


@cached_on_jaxpr
def flops(jaxpr: Jaxpr, once: bool = False) -> float:
    """Return the number of operations of a program.

    once: whether to count each body a single time, and on one device.
    """
    return float(sum(equation_flops(eqn, once) for eqn in jaxpr.eqns))


def equation_flops(eqn: Equation, once: bool = False) -> float:
    """Return the number of operations of an equation, including the programs in it."""
    inside = inner_programs(eqn)
    if not inside:
        return own_flops(eqn)
    each = [flops(p.closed.jaxpr, once) * (1 if once else p.trip_count) for p in inside]
    return max(each) if inside[0].choice else sum(each)


class CountedEquation(NamedTuple):
    """An equation that holds no programs, and how often it runs."""

    eqn: Equation
    trip_count: int
    known: bool


def walk(jaxpr: Jaxpr, times: int = 1, known: bool = True) -> Iterator[CountedEquation]:
    """Yield the equations of a program and of its inner programs.

    Of a choice between branches, only the most expensive one is visited.
    """
    for eqn in jaxpr.eqns:
        inside = inner_programs(eqn)
        if not inside:
            yield CountedEquation(eqn, times, known)
            continue
        if inside[0].choice:
            inside = [max(inside, key=lambda p: flops(p.closed.jaxpr))]
        for p in inside:
            yield from walk(p.closed.jaxpr, times * p.trip_count, known and p.known)


def bytes_accessed(eqn: Equation) -> int:
    """Return the bytes that an equation reads and writes if it is compiled alone."""
    read = sum(nbytes(a.aval) for a in set(eqn.ins) if type(a) is not Literal)
    return read + sum(nbytes(v.aval) for v in eqn.outs)
