"""Manual axis kinds: how values inside of `shard_map` relate between devices.

Inside of `shard_map` a value may differ from device to device along an axis (it varies), or
be the same.  It may also be one term of a sum that is still to be taken (it is unreduced).
Or it is the same everywhere, and its cotangents are such terms (it is reduced).

This module does not depend on any operation.  Next: avals.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..base import errors

Names = tuple[Any, ...]


class ManualAxisKinds(NamedTuple):
    """The axes of each kind in a type, in the order of the axes in scope."""

    varying: Names = ()
    unreduced: Names = ()
    reduced: Names = ()

    def text(self) -> str:
        """Return the text in types: `{V:x, U:(y,z)}`."""
        kinds = [_axes_text(k, n) for k, n in zip("VUR", self, strict=True) if n]
        return f"{{{', '.join(kinds)}}}"


def _axes_text(kind: str, names: Names) -> str:
    axes = f"({','.join(map(str, names))})" if len(names) > 1 else names[0]
    return f"{kind}:{axes}"


class ManualAxisType:
    """The axes along which values vary, are unreduced, or are reduced.

    Args:
      varying: the axes along which values differ from device to device.
      unreduced: the axes along which values are terms of sums that are still to be taken.
      reduced: the axes along which values are equal, and their cotangents unreduced.

    Raises:
      ValueError: an axis is of two kinds.

    >>> ManualAxisType(varying={'x'})
    ManualAxisType(varying=frozenset({'x'}), unreduced=frozenset(), reduced=frozenset())
    """

    __slots__ = ("reduced", "unreduced", "varying")

    def __init__(
        self,
        *,
        varying: Iterable[Any] = frozenset(),
        unreduced: Iterable[Any] = frozenset(),
        reduced: Iterable[Any] = frozenset(),
    ) -> None:
        kinds = {"varying": varying, "unreduced": unreduced, "reduced": reduced}
        for name, axes in kinds.items():
            if not isinstance(axes, (set, frozenset)):
                raise errors.type_error(
                    f"{name} of a ManualAxisType should be a `set` or `frozenset` of names"
                    f" of axes. Got {axes!r} of type {type(axes).__name__}"
                )
            for other, other_axes in kinds.items():
                if other != name and not frozenset(axes).isdisjoint(other_axes):
                    raise errors.value_error(
                        f"{name} and {other} cannot have common mesh axes. Got"
                        f" {name}={axes} and {other}={other_axes}",
                        why="a value has only one kind along each axis.",
                    )
        self.varying = frozenset(varying)
        self.unreduced = frozenset(unreduced)
        self.reduced = frozenset(reduced)

    @property
    def empty(self) -> bool:
        """Whether there are no axes: values are the same along all axes."""
        return not self.vur

    @property
    def vur(self) -> frozenset[Any]:
        """The axes of all kinds."""
        return self.varying | self.unreduced | self.reduced

    def update(self, **kinds: Any) -> ManualAxisType:
        """Return a copy that differs in `varying`, `unreduced` or `reduced`."""
        current = {name: getattr(self, name) for name in ManualAxisKinds._fields}
        return ManualAxisType(**{**current, **kinds})

    def to_ct_mat(self) -> ManualAxisType:
        """Return the type of cotangents: `reduced` and `unreduced` change places."""
        return self.update(unreduced=self.reduced, reduced=self.unreduced)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ManualAxisType):
            return NotImplemented
        return all(getattr(self, k) == getattr(other, k) for k in ManualAxisKinds._fields)

    def __hash__(self) -> int:
        return hash((self.varying, self.unreduced, self.reduced))

    def __repr__(self) -> str:
        kinds = ", ".join(f"{k}={getattr(self, k)!r}" for k in ManualAxisKinds._fields)
        return f"ManualAxisType({kinds})"


def manual_axis_type(manual: ManualAxisKinds | None) -> ManualAxisType:
    """Return the public form of the axis kinds of a type."""
    if manual is None:
        return ManualAxisType()
    return ManualAxisType(**{k: frozenset(n) for k, n in manual._asdict().items()})


def to_axis_kinds(
    kinds: ManualAxisType | None, order: Iterable[Any] = ()
) -> ManualAxisKinds | None:
    """Return the axis kinds for a type: names in the given order, then by their text."""
    if kinds is None or kinds.empty:
        return None
    rank = {name: i for i, name in enumerate(order)}

    def put(names: Iterable[Any]) -> Names:
        return tuple(sorted(names, key=lambda n: (rank.get(n, len(rank)), str(n))))

    return ManualAxisKinds(put(kinds.varying), put(kinds.unreduced), put(kinds.reduced))
