"""`ManualAxisType`, the public form of the manual axes of a type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...base import errors
from ...types import avals
from ...types.type_sharding import ManualAxes


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
        """Whether values are the same along all axes."""
        return not self.vur

    @property
    def vur(self) -> frozenset[Any]:
        """The axes of all kinds."""
        return self.varying | self.unreduced | self.reduced

    def update(self, **kinds: Any) -> ManualAxisType:
        """Return a copy that differs in `varying`, `unreduced` or `reduced`."""
        current = {name: getattr(self, name) for name in ManualAxes._fields}
        return ManualAxisType(**{**current, **kinds})

    def to_ct_mat(self) -> ManualAxisType:
        """Return the type of cotangents: `reduced` and `unreduced` change places."""
        return self.update(unreduced=self.reduced, reduced=self.unreduced)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ManualAxisType):
            return NotImplemented
        return all(getattr(self, k) == getattr(other, k) for k in ManualAxes._fields)

    def __hash__(self) -> int:
        return hash((self.varying, self.unreduced, self.reduced))

    def __repr__(self) -> str:
        kinds = ", ".join(f"{k}={getattr(self, k)!r}" for k in ManualAxes._fields)
        return f"ManualAxisType({kinds})"


@avals.public_manual_axes.fill
def manual_axis_type(manual: ManualAxes) -> ManualAxisType:
    """Return the public form of the manual axes of a type."""
    return ManualAxisType(**{k: frozenset(n) for k, n in manual._asdict().items()})
