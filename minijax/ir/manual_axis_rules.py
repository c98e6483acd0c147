"""Manual axis kinds of results, derived from those of the operands.

Inside `shard_map` each device has its own values, and the `manual_axis_kinds` of a type
hold the mesh axes along which they may differ.  The operands of one operation must vary
along the same axes.  If they do not, `pcast` makes the others vary first: it costs nothing,
and its transpose is the sum that derivatives need.

    manual_axis_rule(kinds, params) -> ManualAxisKinds | None

This package names no operation.  Next: jaxpr.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..base.errors import ShardingTypeError, error
from ..types.avals import ShapedArray
from ..types.manual_axes import ManualAxisKinds
from . import core, reduction_axes

NOTHING = ManualAxisKinds()


class Differing:
    """Returned in place of a result's type if operands must first vary along equal axes."""

    __slots__ = ()


DIFFERING = Differing()


def of_results(
    prim: core.Primitive, avals: Sequence[Any], params: Any
) -> ManualAxisKinds | Differing | None:
    """Return the manual axis kinds of the results, given the types of the operands."""
    kinds = [a.manual_axis_kinds for a in avals if isinstance(a, ShapedArray)]
    if prim.manual_axis_rule is not None:
        kinds_out: ManualAxisKinds | None = prim.manual_axis_rule(kinds, params)  # type: ignore[operator]
        return kinds_out
    first: ManualAxisKinds | None = kinds[0]
    if all(k is first or k == first for k in kinds) and not (first and first.unreduced):
        return first
    kinds_or_empty = [k or NOTHING for k in kinds]
    names = union(kinds)
    if any(len(k.varying) < len(names) for k in kinds_or_empty):
        return DIFFERING
    reductions = [
        reduction_axes.ReductionAxes(
            frozenset(k.unreduced), frozenset(k.reduced), frozenset(k.varying)
        )
        for k in kinds_or_empty
    ]
    return manual(names, *reduction_axes.of_results(prim, avals, reductions))


def ordered(names: Iterable[Any]) -> tuple[Any, ...]:
    """Return names of manual axes in the order of the axes in scope."""
    names = set(names)
    in_scope = [n for n, _ in core.STATE.axes if n in names]
    return (*in_scope, *sorted(names.difference(in_scope), key=str))


def manual(varying: Any = (), unreduced: Any = (), reduced: Any = ()) -> ManualAxisKinds | None:
    """Return the manual axis kinds of a type, or None if all three sets are empty."""
    if not (varying or unreduced or reduced):
        return None
    return ManualAxisKinds(ordered(varying), ordered(unreduced), ordered(reduced))


def with_kinds(aval: Any, kinds: ManualAxisKinds | None) -> Any:
    """Return `aval` with these manual axis kinds."""
    if not isinstance(aval, ShapedArray) or aval.manual_axis_kinds == kinds:
        return aval
    return aval.update(manual_axis_kinds=kinds)


def joined(aval: Any, *others: Any) -> Any:
    """Return `aval`, varying along all axes along which it or one of `others` varies."""
    more = [a.manual_axis_kinds for a in others if a.manual_axis_kinds is not None]
    if not more:
        return aval
    own = aval.manual_axis_kinds or NOTHING
    names = {n for kinds in (own, *more) for n in kinds.varying}
    if names.issubset(own.varying):
        return aval
    return aval.update(manual_axis_kinds=manual(names, own.unreduced, own.reduced))


def missing(kinds: ManualAxisKinds | None, axes: Iterable[Any]) -> tuple[Any, ...]:
    """Return those of `axes` along which values of these kinds do not vary."""
    left = set(axes).difference((kinds or NOTHING).varying)
    return ordered(left) if len(left) > 1 else tuple(left)


def union(kinds: Sequence[ManualAxisKinds | None]) -> set[Any]:
    """Return the axes along which at least one varies."""
    return {n for k in kinds if k is not None for n in k.varying}


def mismatch(what: str, avals: Sequence[Any], **fields: Any) -> ShardingTypeError:
    """Return the error for operands with incompatible manual axis kinds."""
    which = ", ".join(a.str_short(True) for a in avals)
    raised: ShardingTypeError = error(ShardingTypeError, what, which=which, **fields)
    return raised
