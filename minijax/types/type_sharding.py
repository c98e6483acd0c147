"""Sharding in types: how a type divides a value over the devices of a mesh.

The `type_sharding` of an aval has two parts.

    explicit    the sharding over an abstract mesh, along its axes of type `Explicit`: the
                mesh axes that each array axis is sharded over, and those along which the
                value is unreduced or reduced; None where nothing is sharded so
    manual      the axes of `shard_map` along which the value varies, is unreduced, or is
                reduced; no axes outside of it, or with `check_vma=False`

A value that varies along an axis may differ from device to device.  One that is unreduced is
a term of a sum that is still to be taken.  One that is reduced is the same everywhere, and
its cotangents are such terms; so the type of a cotangent exchanges the two.

Equal ones are one object, and a type that divides nothing has `UNSHARDED`: rules skip it
after one comparison.  So the type of a replicated value records no mesh; the runtime's
`check_meshes` compares the meshes that values are over.  `config.RECAST_MESH` says that
they may be over the mesh from which the current one is derived.

The types of results follow from those of operands by `Primitive.sharding`
(ir/sharding_rules.py), and change at the boundary of `shard_map`
(control/calls/shard_map_types.py).  `NamedSharding` itself belongs to the runtime.

This module does not depend on any operation.  Next: avals.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..runtime.sharding.manual_axis_type import ManualAxisType
    from ..runtime.sharding.shardings import NamedSharding
    from .aliases import Aval, AxisName, Reduced

Names = tuple["AxisName", ...]
Spec = tuple[Any, ...]  # for each axis of an array: None, a mesh axis, or a tuple of them


class ManualAxes(NamedTuple):
    """The manual axes of each kind in a type, in the order of the axes in scope."""

    varying: Names = ()
    unreduced: Names = ()
    reduced: Names = ()

    def without(self, axes: frozenset[AxisName]) -> ManualAxes:
        """Return the manual axes of each kind that are not in `axes`."""
        return ManualAxes(*[tuple([n for n in names if n not in axes]) for names in self])


NO_MANUAL_AXES = ManualAxes()


class TypeSharding:
    """How a type divides a value over a mesh; call `type_sharding` to get one."""

    __slots__ = ("explicit", "manual")
    explicit: NamedSharding | None
    manual: ManualAxes

    def update(self, **parts: Any) -> TypeSharding:
        """Return the sharding with `explicit` or `manual` replaced."""
        return type_sharding(
            parts.get("explicit", self.explicit), parts.get("manual", self.manual)
        )

    def of_cotangents(self) -> TypeSharding:
        """Return the sharding of cotangents: unreduced and reduced axes change places."""
        varying, unreduced, reduced = self.manual
        explicit = None if self.explicit is None else self.explicit.of_cotangents()
        return type_sharding(explicit, ManualAxes(varying, reduced, unreduced))

    def spec(self, ndim: int) -> Spec:
        """Return the entry of each of `ndim` array axes."""
        return (None,) * ndim if self.explicit is None else tuple(self.explicit.spec)

    def axes_text(self) -> str:
        """Return the axes of each kind as types show them: `{V:x, U:(y,z)}`, or nothing."""
        varying, unreduced, reduced = self.manual
        if self.explicit is not None:
            spec, names = self.explicit.spec, self.explicit.mesh.axis_names
            unreduced += tuple([n for n in names if n in spec.unreduced])
            reduced += tuple([n for n in names if n in spec.reduced])
        kinds = zip("VUR", (varying, unreduced, reduced), strict=True)
        texts = [f"{kind}:{_names_text(names)}" for kind, names in kinds if names]
        return f"{{{', '.join(texts)}}}" if texts else ""

    def __reduce__(self) -> Reduced:
        return type_sharding, (self.explicit, self.manual)

    def __repr__(self) -> str:
        return f"TypeSharding(explicit={self.explicit}, manual={self.manual})"


class TypeFlags:
    """Facts about all types of this process."""

    # Whether a type divides a value; until then rules skip shardings.
    has_sharded_types = False


_interned: dict[tuple[NamedSharding | None, ManualAxes], TypeSharding] = {}


def type_sharding(
    explicit: NamedSharding | None = None, manual: ManualAxes = NO_MANUAL_AXES
) -> TypeSharding:
    """Return the `TypeSharding` of these parts: equal ones are one object."""
    key = explicit, manual
    sharding = _interned.get(key)
    if sharding is None:
        sharding = TypeSharding()
        sharding.explicit, sharding.manual = key
        TypeFlags.has_sharded_types = bool(_interned)  # not for the first, `UNSHARDED`
        # setdefault: two threads that meet here must get one object.
        sharding = _interned.setdefault(key, sharding)
    return sharding


UNSHARDED = type_sharding()


# ----------------------------------------------------------------- entries of specs, axes


def axes_in(entry: AxisName | None) -> Names:
    """Return the mesh axes of one entry of a spec as a tuple."""
    if entry is None:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def _names_text(names: Names) -> str:
    return f"({','.join(map(str, names))})" if len(names) > 1 else str(names[0])


def sharded_axis_text(size: int, entry: AxisName | None) -> str:
    """Format an axis as types show it: its size, and the mesh axes that shard it."""
    axes = f"({','.join(map(str, entry))})" if isinstance(entry, tuple) else entry
    return str(size) if entry is None else f"{size}@{axes}"


def spec_of(aval: Aval) -> Spec:
    """Return the spec of a type: one entry for each of its axes."""
    return aval.type_sharding.spec(len(getattr(aval, "shape", ())))


def without_axis(aval: Aval, dim: int) -> Aval:
    """Return `aval` without axis `dim`."""
    shape, explicit = aval.shape[:dim] + aval.shape[dim + 1 :], aval.type_sharding.explicit
    if explicit is None:
        return aval.update(shape=shape)
    entries = explicit.spec[:dim] + explicit.spec[dim + 1 :]
    return aval.update(shape=shape, explicit=explicit.with_entries(entries))


def with_axis(
    aval: Aval,
    size: int,
    dim: int,
    like: NamedSharding | None = None,
    entry: AxisName | None = None,
) -> Aval:
    """Return `aval` with a new axis at `dim`, sharded over `entry` on the mesh of `like`."""
    shape, explicit = aval.shape, aval.type_sharding.explicit
    shape = (*shape[:dim], size, *shape[dim:])
    if explicit is None and entry is None:
        return aval.update(shape=shape)
    spec = spec_of(aval)
    entries = (*spec[:dim], entry, *spec[dim:])
    if explicit is None:
        explicit = like.with_spec(entries)  # type: ignore[union-attr]
    else:
        explicit = explicit.with_entries(entries)
    return aval.update(shape=shape, explicit=explicit)


def to_manual_axes(kinds: ManualAxisType | None, order: Iterable[Any] = ()) -> ManualAxes:
    """Return the manual axes for a type: names in the given order, then by their text."""
    if kinds is None or kinds.empty:
        return NO_MANUAL_AXES
    rank = {name: i for i, name in enumerate(order)}

    def put(names: Iterable[Any]) -> Names:
        return tuple(sorted(names, key=lambda n: (rank.get(n, len(rank)), str(n))))

    return ManualAxes(put(kinds.varying), put(kinds.unreduced), put(kinds.reduced))
