"""What programs cost: operations on numbers, and bytes of values.

A primitive says by `flops` how many operations its results take.  Where it says nothing, it
is one for each element of a result that is computed elementwise, and none for what only
moves elements.  What holds programs costs what they do: a loop as often as it is known to
run, branches as the dearest one, a program on several devices once for each.

This room names no operation.  Next: ../tools/costs.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..ir.core import STATE
from ..ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, closed_jaxprs
from ..ir.regions import Loop


def nbytes(aval: Any) -> int:
    """The bytes of a value of this type; 0 of what has none."""
    dtype, shape = getattr(aval, "dtype", None), getattr(aval, "shape", ())
    size = math.prod(shape)
    try:
        return int(size * dtype.itemsize)  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        return 0


SLACK = 512  # bytes of alignment, and of tables of addresses, where work space is needed


def copies(count: float) -> Any:
    """The `workspace` of a primitive that works in copies of its operands and results."""

    def workspace(ins: Any, outs: Any, params: Any) -> float:
        return SLACK + count * sum(_wide_bytes(a) for a in (*ins, *outs))

    return workspace


def widened(ins: Any, outs: Any, params: Any) -> float:
    """The `workspace` of a primitive that computes narrow floats in float32."""
    narrow = [a for a in (*ins, *outs) if 0 < nbytes(a) < _wide_bytes(a)]
    return float(sum(map(_wide_bytes, narrow)))


def _wide_bytes(aval: Any) -> int:
    """The bytes of a value whose floats have at least 32 bits."""
    narrow = getattr(getattr(aval, "dtype", None), "itemsize", 4)
    return nbytes(aval) * max(1, 4 // max(1, narrow))


def workspace(eqn: Equation) -> int:
    """The bytes that an equation needs besides its operands and results while it runs.

    A loop may hold its carry three times; what the programs inside need is not counted.
    """
    prim, params = eqn.primitive, eqn.params
    ins, outs = [a.aval for a in eqn.ins], [v.aval for v in eqn.outs]
    if isinstance(prim.regions, Loop):
        carry = prim.regions.groups(params, ins)[2]
        return SLACK + 2 * sum(map(nbytes, carry)) + 64 * len(ins)
    if prim.regions is not None and len(prim.regions.bodies(params)) > 1:
        return SLACK + 64 * len(ins)
    if prim.workspace is None:
        return 0
    return int(prim.workspace(ins, outs, params))


class InnerProgram(NamedTuple):
    """A program inside of an equation: how often it runs, and whether that is known."""

    closed: ClosedJaxpr
    trip_count: int
    known: bool
    choice: bool  # one of several, of which one runs


def inner_programs(eqn: Equation) -> list[InnerProgram]:
    """The programs that an equation runs."""
    regions, params = eqn.primitive.regions, eqn.params
    if isinstance(regions, Loop):
        n = 1 if regions.length is None else params[regions.length]
        known = regions.length is not None
        return [InnerProgram(b, n, known, False) for b in regions.bodies(params)]
    if regions is None:
        if eqn.primitive.flops is not None:
            return []
        return [InnerProgram(p, 1, False, False) for p in closed_jaxprs(params)]
    before = len(STATE.axes)
    with regions.scope(params):
        n = math.prod(size for _, size in STATE.axes[before:])
    bodies = regions.bodies(params)
    return [InnerProgram(b, n, True, len(bodies) > 1) for b in bodies]


def own_flops(eqn: Equation) -> float:
    """The operations of an equation that holds no programs."""
    prim = eqn.primitive
    ins, outs = [a.aval for a in eqn.ins], [v.aval for v in eqn.outs]
    if prim.flops is not None:
        return float(prim.flops(ins, outs, eqn.params))
    size = sum(math.prod(getattr(a, "shape", ())) for a in outs)
    shapes = [a.shape for a in ins if getattr(a, "shape", ())]
    if shapes and all(getattr(o, "shape", None) == s for o in outs for s in shapes):
        return float(size)
    return float(size) if prim.makes_nans and ins else 0.0


def flops(jaxpr: Jaxpr, once: bool = False) -> float:
    """The operations of a program; `once`: of each body a single time, on one device."""
    key = ("flops", once)
    if key not in jaxpr.memo:
        jaxpr.memo[key] = sum(equation_flops(eqn, once) for eqn in jaxpr.eqns)
    return float(jaxpr.memo[key])


def equation_flops(eqn: Equation, once: bool = False) -> float:
    """The operations of an equation, with the programs in it."""
    inside = inner_programs(eqn)
    if not inside:
        return own_flops(eqn)
    each = [flops(p.closed.jaxpr, once) * (1 if once else p.trip_count) for p in inside]
    return max(each) if inside[0].choice else sum(each)


class Step(NamedTuple):
    """An equation that holds no programs, met on a walk; how often it runs."""

    eqn: Equation
    trip_count: int
    known: bool


def walk(jaxpr: Jaxpr, times: int = 1, known: bool = True) -> Iterator[Step]:
    """The equations of a program and of those inside; of branches the dearest one's."""
    for eqn in jaxpr.eqns:
        inside = inner_programs(eqn)
        if not inside:
            yield Step(eqn, times, known)
            continue
        if inside[0].choice:
            inside = [max(inside, key=lambda p: flops(p.closed.jaxpr))]
        for p in inside:
            yield from walk(p.closed.jaxpr, times * p.trip_count, known and p.known)


def bytes_accessed(eqn: Equation) -> int:
    """The bytes that an equation reads and writes, if it runs by itself."""
    read = sum(nbytes(a.aval) for a in set(eqn.ins) if type(a) is not Literal)
    return read + sum(nbytes(v.aval) for v in eqn.outs)
