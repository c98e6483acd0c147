"""Along which manual axes results vary: from where operands do.

Inside of `shard_map` each device has values of its own, and a type says in `manual` along
which axes of the mesh they may differ.  Operands of one operation say the same: where they
do not, those that are equal along an axis are first made to vary along it, which costs
nothing, and of which the transpose is the sum that derivatives need.

    vary(kinds, params) -> Manual | None    what the results' types say, of the operands'

This room names no operation.  Next: jaxpr.py.
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
    """In the place of a result's type: operands must vary alike first."""

    __slots__ = ()


DIFFERING = Differing()


def of_results(
    prim: core.Primitive, avals: Sequence[Any], params: Any
) -> ManualAxisKinds | Differing | None:
    """What types of results say of manual axes, of those of operands."""
    kinds = [a.manual_axis_kinds for a in avals if isinstance(a, ShapedArray)]
    if prim.manual_axis_rule is not None:
        found: ManualAxisKinds | None = prim.manual_axis_rule(kinds, params)  # type: ignore[operator]
        return found
    first: ManualAxisKinds | None = kinds[0]
    if all(k is first or k == first for k in kinds) and not (first and first.unreduced):
        return first
    known = [k or NOTHING for k in kinds]
    names = union(kinds)
    if any(len(k.varying) < len(names) for k in known):
        return DIFFERING
    told = [
        reduction_axes.ReductionAxes(
            frozenset(k.unreduced), frozenset(k.reduced), frozenset(k.varying)
        )
        for k in known
    ]
    return manual(names, *reduction_axes.of_results(prim, avals, told))


def ordered(names: Iterable[Any]) -> tuple[Any, ...]:
    """Names of manual axes in the order of the axes in scope."""
    names = set(names)
    known = [n for n, _ in core.STATE.axes if n in names]
    return (*known, *sorted(names.difference(known), key=str))


def manual(varying: Any = (), unreduced: Any = (), reduced: Any = ()) -> ManualAxisKinds | None:
    """What a type holds that says this; None where it is nothing."""
    if not (varying or unreduced or reduced):
        return None
    return ManualAxisKinds(ordered(varying), ordered(unreduced), ordered(reduced))


def with_kinds(aval: Any, kinds: ManualAxisKinds | None) -> Any:
    """A result's type that says this of manual axes."""
    if not isinstance(aval, ShapedArray) or aval.manual_axis_kinds == kinds:
        return aval
    return aval.update(manual_axis_kinds=kinds)


def joined(aval: Any, *others: Any) -> Any:
    """A type that varies along all axes along which it or others do."""
    more = [a.manual_axis_kinds for a in others if a.manual_axis_kinds is not None]
    if not more:
        return aval
    mine = aval.manual_axis_kinds or NOTHING
    names = {n for kinds in (mine, *more) for n in kinds.varying}
    if names.issubset(mine.varying):
        return aval
    return aval.update(manual_axis_kinds=manual(names, mine.unreduced, mine.reduced))


def missing(mine: ManualAxisKinds | None, wanted: Iterable[Any]) -> tuple[Any, ...]:
    """Of axes, those along which a type does not say that values vary."""
    left = set(wanted).difference((mine or NOTHING).varying)
    return ordered(left) if len(left) > 1 else tuple(left)


def union(kinds: Sequence[ManualAxisKinds | None]) -> set[Any]:
    """The axes along which any one varies."""
    return {n for k in kinds if k is not None for n in k.varying}


def mismatch(what: str, avals: Sequence[Any], **parts: Any) -> ShardingTypeError:
    """The error for operands of kinds that do not go together."""
    which = ", ".join(a.str_short(True) for a in avals)
    found: ShardingTypeError = error(ShardingTypeError, what, which=which, **parts)
    return found
