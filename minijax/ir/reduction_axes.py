"""Unreduced and reduced mesh axes of results, derived from those of the operands.

A value that is unreduced along a mesh axis is the sum of the values that the devices along
it hold.  A value that is reduced along an axis is replicated there, and its cotangents are
unreduced.  Types record both, for manual axes in `ManualAxisKinds` and for `Explicit` axes
in `PartitionSpec`.  The rule is the same for both kinds of axes.  It follows from the
operands in which the operation is linear:

    Primitive.linearity    "first": in its first operand; "together": in all operands
                           jointly; "product": in each of two; "any": its own rules decide;
                           None: in none

This package names no operation.  Next: explicit_sharding.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..base.errors import ShardingTypeError, error
from . import core

NONE: frozenset[Any] = frozenset()


class ReductionAxes(NamedTuple):
    """The mesh axes along which an operand is unreduced, reduced, and sharded."""

    unreduced: frozenset[Any] = NONE
    reduced: frozenset[Any] = NONE
    sharded: frozenset[Any] = NONE


def of_results(
    prim: core.Primitive, avals: Sequence[Any], operand_axes: Sequence[ReductionAxes]
) -> tuple[frozenset[Any], frozenset[Any]]:
    """Return the axes along which the results are unreduced, and those they are reduced on.

    Replicated scalars may be combined with reduced values: to sum their cotangents over
    devices takes only one number.
    """
    if prim.linearity == "any":
        return NONE, NONE
    unreduced = _unreduced(prim, avals, operand_axes)
    reduced = set()
    for axis in NONE.union(*[s.reduced for s in operand_axes]) - unreduced:
        reduced_in = [axis in s.reduced for s in operand_axes]
        for a, s, yes in zip(avals, operand_axes, reduced_in, strict=True):
            if not yes and axis not in s.sharded and a.shape:
                raise _mismatch(
                    "Inputs cannot be replicated on the same axes that another input is"
                    f" reduced on. Got input type: {a.str_short(False)} and reduced spec:"
                    f" frozenset({{{axis!r}}})",
                    avals,
                )
        if all(y or not a.shape for y, a in zip(reduced_in, avals, strict=True)):
            reduced.add(axis)
    return unreduced, frozenset(reduced)


def _unreduced(
    prim: core.Primitive, avals: Sequence[Any], operand_axes: Sequence[ReductionAxes]
) -> frozenset[Any]:
    terms = [s.unreduced for s in operand_axes]
    if not any(terms):
        return NONE
    names = ("lhs", "rhs")
    texts = [f"{n}={a.str_short(False)}" for n, a in zip(names, avals, strict=False)]
    if prim.linearity == "product" and len(terms) == 2:
        left, right = terms
        if left and right:
            raise _mismatch(
                f"lhs and rhs to `{prim}` cannot be unreduced since {prim} is bilinear. Got"
                f" lhs={left}, rhs={right}",
                avals,
            )
        one, other = ("LHS", "RHS") if left else ("RHS", "LHS")
        if not (left or right) <= operand_axes[1 if left else 0].reduced:
            raise _mismatch(
                f"{other} should be reduced along the same axes {one} is unreduced on. Got"
                f" {' and '.join(texts)}",
                avals,
            )
        return left or right
    if prim.linearity == "together":
        for name, axes in zip(names, terms, strict=False):
            if axes and any(other != axes for other in terms):
                rest = "rhs" if name == "lhs" else "lhs"
                raise _mismatch(
                    f"{name} is unreduced while {rest} is not. `{prim}` operation does not"
                    " allow this because there will be implicit communication. Please"
                    f" reduce {name} via `reshard` before calling `{prim}`.",
                    avals,
                )
        return terms[0]
    if prim.linearity == "first" and not any(terms[1:]):
        return terms[0]
    raise error(
        NotImplementedError,
        f"unreduced rule for {prim} is not implemented.",
        which=", ".join(a.str_short(True) for a in avals),
        why="it is not linear, so it does not map the terms of a sum to terms of a sum.",
        tries=["jax.sharding.reshard(x, sharding) first", "lax.psum(x, axis)"],
    )


def _mismatch(what: str, avals: Sequence[Any]) -> ShardingTypeError:
    raised: ShardingTypeError = error(
        ShardingTypeError,
        what,
        which=", ".join(a.str_short(True) for a in avals),
        why="this operation would need communication between devices to reduce its operands"
        " first.",
        tries=["jax.sharding.reshard(x, sharding) of an operand", "lax.pcast"],
    )
    return raised
