"""Partition specs: the mesh axes over which each axis of an array is sharded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...base import errors

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from ...types.aliases import AxisName, Reduced


class _Unconstrained:
    """Entry for an axis whose sharding the compiler chooses."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> Any:
        return "UNCONSTRAINED"


UNCONSTRAINED = _Unconstrained()


_NONE: frozenset[Any] = frozenset()


class DuplicateSpecError(ValueError):
    """A mesh axis occurs twice in a spec."""


def _entry(value: Any) -> Any:
    """Return an entry in normal form: None, a name, or a tuple of several names."""
    if isinstance(value, (list, tuple)):
        if not value:
            return None
        return value[0] if len(value) == 1 else tuple(value)
    return value


def _checked_axes(name: str, axes: Any, entries: Any, used: set[Any]) -> frozenset[Any]:
    """Return the checked `reduced` or `unreduced` mesh axes of a spec."""
    if not isinstance(axes, (set, frozenset)):
        raise errors.type_error(
            f"{name} argument of PartitionSpec should of type `frozenset` or `set`. Got"
            f" type {axes}"
        )
    if None in axes:
        raise errors.value_error(
            f"{name} cannot contain None. All elements in {name} should refer to the mesh axes."
        )
    if used & axes:
        raise errors.value_error(
            f"partitions cannot overlap with {name} axes passed to PartitionSpec. Got"
            f" partitions: {entries} and {name} axes: {frozenset(axes)}"
        )
    return frozenset(axes)


class PartitionSpec:
    """For each axis of an array: the mesh axes it is sharded over, or None.

    Args:
      partitions: names, tuples of names, None, or `PartitionSpec.UNCONSTRAINED`.
      unreduced: mesh axes along which devices hold terms of a sum that has not been taken.
      reduced: mesh axes along which the sum has been taken.

    >>> P = PartitionSpec
    >>> P('x', None, ('y', 'z'))
    P('x', None, ('y', 'z'))
    """

    __module__, __qualname__ = "minijax", "P"

    __slots__ = ("_entries", "reduced", "unreduced")
    UNCONSTRAINED = UNCONSTRAINED
    __match_args__ = ("_partitions",)

    def __init__(
        self,
        *partitions: AxisName,
        unreduced: AbstractSet[AxisName] = _NONE,
        reduced: AbstractSet[AxisName] = _NONE,
    ) -> None:
        self._entries = tuple(map(_entry, partitions))
        if unreduced is _NONE and reduced is _NONE:
            self.unreduced = self.reduced = _NONE
            return
        used = {a for entry in self._entries for a in axes_of(entry)}
        self.unreduced = _checked_axes("unreduced", unreduced, self._entries, used)
        self.reduced = _checked_axes("reduced", reduced, self._entries, used)
        if self.unreduced & self.reduced:
            raise errors.value_error(
                "`unreduced` and `reduced` argument to PartitionSpec cannot overlap. Got"
                f" unreduced: {self.unreduced} and reduced: {self.reduced}"
            )

    @property
    def partitions(self) -> tuple[AxisName, ...]:
        """The entries."""
        return self._entries

    _partitions = partitions

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __getitem__(self, i: Any) -> Any:
        return self._entries[i]

    def index(self, value: AxisName) -> int:
        """Return the number of the first entry equal to `value`."""
        return self._entries.index(_entry(value))

    def count(self, value: AxisName) -> int:
        """Return the number of entries equal to `value`."""
        return self._entries.count(_entry(value))

    def __add__(self, other: PartitionSpec | tuple[AxisName, ...]) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(
                *self,
                *other,
                unreduced=self.unreduced | other.unreduced,
                reduced=self.reduced | other.reduced,
            )
        if isinstance(other, tuple):
            return self.update(partitions=(*self, *other))
        return NotImplemented

    def __radd__(self, other: tuple[AxisName, ...]) -> PartitionSpec:
        if isinstance(other, tuple):
            return self.update(partitions=(*other, *self))
        return NotImplemented

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartitionSpec):
            return (self._entries, self.unreduced, self.reduced) == (
                other._entries,
                other.unreduced,
                other.reduced,
            )
        return False

    def __hash__(self) -> int:
        return hash((self._entries, self.unreduced, self.reduced))

    def __repr__(self) -> str:
        entries = ", ".join(map(repr, self._entries))
        if len(self._entries) == 1:
            entries += ","
        for name in ("unreduced", "reduced"):
            if axis_names := getattr(self, name):
                axes = ", ".join(sorted(map(repr, axis_names)))
                entries += f"{', ' if entries else ''}{name}={{{axes}}}"
        if len(self._entries) == 1 and not self.unreduced and not self.reduced:
            return f"P({entries})"
        return f"P({entries.replace(',,', ',')})"

    def __reduce__(self) -> Reduced:
        return _rebuild, (self._entries, self.unreduced, self.reduced)

    def update(self, **changes: Any) -> PartitionSpec:
        """Return the spec with `partitions`, `unreduced` or `reduced` replaced."""
        entries = changes.pop("partitions", self._entries)
        fields = {"unreduced": self.unreduced, "reduced": self.reduced, **changes}
        return PartitionSpec(*entries, **fields)


PartitionSpec.__name__ = "P"  # its name in the repr


def _rebuild(entries: Any, unreduced: Any, reduced: Any) -> PartitionSpec:
    return PartitionSpec(*entries, unreduced=unreduced, reduced=reduced)


class _Infer:
    """Type of `Infer`, which requests the specs of the arguments' types."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Infer"


Infer = _Infer()


def axes_of(entry: AxisName) -> tuple[Any, ...]:
    """Return the mesh axes of one entry of a spec."""
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def check_spec(spec: PartitionSpec, names: tuple[Any, ...]) -> None:
    """Raise unless a spec names only axes of the mesh, each at most once."""
    seen = set()
    for entry in spec:
        for axis in axes_of(entry):
            if axis not in names:
                raise errors.value_error(
                    f"Resource axis: {axis} of {spec} is not found in mesh: {names}.",
                    tries=[f"one of {', '.join(map(str, names))}"] if names else (),
                )
            if axis in seen:
                raise errors.error(
                    DuplicateSpecError,
                    "A single NamedSharding spec specification can map every mesh axis to"
                    f" at most one positional dimension, but {spec} has duplicate entries"
                    f" for `{axis}`",
                    why="a mesh axis can shard only one axis of an array.",
                )
            seen.add(axis)
