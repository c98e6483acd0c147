"""What types say along manual axes of a mesh, of values that each device has for itself.

Inside of `shard_map` a value may differ from device to device along an axis (it varies), or
be the same.  It may also be one term of a sum that is still to be taken (it is unreduced),
or be the same and bound to have such sums as cotangents (it is reduced).

This room knows no operations.  Next: avals.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..base import errors

Names = tuple[Any, ...]


class ManualAxisKinds(NamedTuple):
    """The axes of each kind, in the order of the axes in scope; what a type holds."""

    varying: Names = ()
    unreduced: Names = ()
    reduced: Names = ()

    def text(self) -> str:
        """As types show it: `{V:x, U:(y,z)}`."""
        kinds = [_told(k, n) for k, n in zip("VUR", self, strict=True) if n]
        return f"{{{', '.join(kinds)}}}"


def _told(kind: str, names: Names) -> str:
    axes = f"({','.join(map(str, names))})" if len(names) > 1 else names[0]
    return f"{kind}:{axes}"


class ManualAxisType:
    """Along which manual axes values vary, are terms of sums, or have sums as cotangents.

    Args:
      varying: the axes along which values differ from device to device.
      unreduced: those along which values are terms of sums that are still to be taken.
      reduced: those along which values are equal, and their cotangents unreduced.

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
        for name, given in kinds.items():
            if not isinstance(given, (set, frozenset)):
                raise errors.type_error(
                    f"{name} of a ManualAxisType should be a `set` or `frozenset` of names"
                    f" of axes. Got {given!r} of type {type(given).__name__}"
                )
            for other, these in kinds.items():
                if other != name and not frozenset(given).isdisjoint(these):
                    raise errors.value_error(
                        f"{name} and {other} cannot have common mesh axes. Got"
                        f" {name}={given} and {other}={these}",
                        why="along an axis, a value is of one kind.",
                    )
        self.varying = frozenset(varying)
        self.unreduced = frozenset(unreduced)
        self.reduced = frozenset(reduced)

    @property
    def empty(self) -> bool:
        """Whether nothing is said: values are the same along all axes."""
        return not self.vur

    @property
    def vur(self) -> frozenset[Any]:
        """The axes of all kinds."""
        return self.varying | self.unreduced | self.reduced

    def update(self, **kinds: Any) -> ManualAxisType:
        """One that differs in `varying`, `unreduced` or `reduced`."""
        mine = {name: getattr(self, name) for name in ManualAxisKinds._fields}
        return ManualAxisType(**{**mine, **kinds})

    def to_ct_mat(self) -> ManualAxisType:
        """That of cotangents: sums where values are reduced, and the other way round."""
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
    """What a type holds, as users see it."""
    if manual is None:
        return ManualAxisType()
    return ManualAxisType(**{k: frozenset(n) for k, n in manual._asdict().items()})


def held(kinds: ManualAxisType | None, order: Iterable[Any] = ()) -> ManualAxisKinds | None:
    """What users give, as a type holds it: names in the given order, then by their text."""
    if kinds is None or kinds.empty:
        return None
    rank = {name: i for i, name in enumerate(order)}

    def put(names: Iterable[Any]) -> Names:
        return tuple(sorted(names, key=lambda n: (rank.get(n, len(rank)), str(n))))

    return ManualAxisKinds(put(kinds.varying), put(kinds.unreduced), put(kinds.reduced))
