"""Terms of sums: values of which each device, along some axes of a mesh, has one term.

Along an axis a value may be unreduced: the whole is the sum over devices of what each one
has.  Or it is reduced: the same everywhere, and its cotangents are unreduced.  Types say so
of manual axes (`Manual`) and of `Explicit` ones (`PartitionSpec`); what becomes of it in an
operation is the same for both, and follows from where the operation is linear:

    Primitive.sums    "first": in its first operand; "together": in all operands at once;
                      "product": in each of two; "any": it says so itself; None: in none

This room names no operation.  Next: explicit_sharding.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..base.errors import ShardingTypeError, error
from . import core

NONE: frozenset[Any] = frozenset()


class ReductionAxes(NamedTuple):
    """Of an operand: the axes along which it is unreduced, reduced, and not the same."""

    unreduced: frozenset[Any] = NONE
    reduced: frozenset[Any] = NONE
    sharded: frozenset[Any] = NONE


def of_results(
    prim: core.Primitive, avals: Sequence[Any], found: Sequence[ReductionAxes]
) -> tuple[frozenset[Any], frozenset[Any]]:
    """Along which axes results are unreduced, and reduced.

    Scalars go with reduced values as they are: what adds up their cotangents is one number.
    """
    if prim.linearity == "any":
        return NONE, NONE
    unreduced = _unreduced(prim, avals, found)
    reduced = set()
    for axis in NONE.union(*[s.reduced for s in found]) - unreduced:
        there = [axis in s.reduced for s in found]
        for a, s, yes in zip(avals, found, there, strict=True):
            if not yes and axis not in s.sharded and a.shape:
                raise _mismatch(
                    "Inputs cannot be replicated on the same axes that another input is"
                    f" reduced on. Got input type: {a.str_short(False)} and reduced spec:"
                    f" frozenset({{{axis!r}}})",
                    avals,
                )
        if all(y or not a.shape for y, a in zip(there, avals, strict=True)):
            reduced.add(axis)
    return unreduced, frozenset(reduced)


def _unreduced(
    prim: core.Primitive, avals: Sequence[Any], found: Sequence[ReductionAxes]
) -> frozenset[Any]:
    terms = [s.unreduced for s in found]
    if not any(terms):
        return NONE
    names = ("lhs", "rhs")
    told = [f"{n}={a.str_short(False)}" for n, a in zip(names, avals, strict=False)]
    if prim.linearity == "product" and len(terms) == 2:
        left, right = terms
        if left and right:
            raise _mismatch(
                f"lhs and rhs to `{prim}` cannot be unreduced since {prim} is bilinear. Got"
                f" lhs={left}, rhs={right}",
                avals,
            )
        one, other = ("LHS", "RHS") if left else ("RHS", "LHS")
        if not (left or right) <= found[1 if left else 0].reduced:
            raise _mismatch(
                f"{other} should be reduced along the same axes {one} is unreduced on. Got"
                f" {' and '.join(told)}",
                avals,
            )
        return left or right
    if prim.linearity == "together":
        for name, mine in zip(names, terms, strict=False):
            if mine and any(other != mine for other in terms):
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
        why="it is not linear: of terms of a sum it does not give terms of one.",
        tries=["jax.sharding.reshard(x, sharding) first", "lax.psum(x, axis)"],
    )


def _mismatch(what: str, avals: Sequence[Any]) -> ShardingTypeError:
    found: ShardingTypeError = error(
        ShardingTypeError,
        what,
        which=", ".join(a.str_short(True) for a in avals),
        why="what is added up on the way would have to be sent between devices.",
        tries=["jax.sharding.reshard(x, sharding) of an operand", "lax.pcast"],
    )
    return found
