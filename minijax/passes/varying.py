"""Along which axes of a mesh a value varies: found out where somebody needs to know.

Inside of a manual program each device has values of its own.  One that is made of values
that are equal along an axis is equal along it too, but where the equation says otherwise:
an index varies, a sum over the axis does not (`Primitive.varies`).

This room names no operation.  Next: ../runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.jaxpr import Equation, Jaxpr, Literal
from ..ir.regions import Loop, Region


def varying(jaxpr: Jaxpr, moving: Sequence[bool], axis: Any) -> list[bool]:
    """For each result, whether it may differ along `axis` where the flagged inputs do."""
    known = {v for v, m in zip(jaxpr.invars, moving, strict=True) if m}
    for eqn in jaxpr.eqns:
        flags = [type(x) is not Literal and x in known for x in eqn.ins]
        found = _of_equation(eqn, flags, axis)
        known.update(v for v, f in zip(eqn.outs, found, strict=True) if f)
    return [type(x) is not Literal and x in known for x in jaxpr.outvars]


def _of_equation(eqn: Equation, flags: list[bool], axis: Any) -> Sequence[bool]:
    prim, params = eqn.primitive, eqn.params
    if prim.varies is not None:
        return [prim.varies(flags, axis, params)] * len(eqn.outs)
    regions = prim.regions
    if isinstance(regions, Region):
        return _of_choice(regions, params, flags, axis, len(eqn.outs))
    if isinstance(regions, Loop):
        return _of_loop(regions, params, flags, axis)
    if prim.depends is not None:
        return list(prim.depends(flags, params))
    return [any(flags)] * len(eqn.outs)


def _of_choice(
    region: Region, params: Any, flags: list[bool], axis: Any, n: int
) -> list[bool]:
    k = region.index
    if any(flags[:k]):  # each device chooses for itself
        return [True] * n
    found = [varying(b.jaxpr, flags[k:], axis) for b in region.bodies(params)]
    return [any(column) for column in zip(*found, strict=True)]


def _of_loop(loop: Loop, params: Any, flags: list[bool], axis: Any) -> list[bool]:
    asked, consts, carry, rows = loop.groups(params, flags)
    *test, body = loop.bodies(params)
    while True:
        out = varying(body.jaxpr, [*consts, *carry, *rows], axis)
        more = [a or b for a, b in zip(carry, out, strict=False)]
        if test and varying(test[0].jaxpr, [*asked, *carry], axis)[0]:
            more = [True] * len(carry)  # each device stops for itself
        if more == carry:
            return [*carry, *out[len(carry) :]]
        carry = more
