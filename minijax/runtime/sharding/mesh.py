"""Meshes: devices in a grid with named axes, over which arrays are sharded.

A `Mesh` holds devices, an `AbstractMesh` only sizes and names. A thread may have a current
mesh (`set_mesh`), to which a bare `PartitionSpec` refers. Next: shardings.py.
"""

from __future__ import annotations

import enum
import math
import threading
import warnings
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import config, errors, util
from ...ir.core import EVAL, STATE
from ..backends import client

if TYPE_CHECKING:
    from ...types.aliases import AxisName, NumPyArray, Reduced
    from ..backends.jaxlib_types import Device


class AxisType(enum.Enum):
    """What determines shardings along a mesh axis: the compiler, types, or the program."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


def _axis_types(axis_types: Any, names: Sequence[Any]) -> tuple[AxisType, ...]:
    if axis_types is None:
        return (AxisType.Auto,) * len(names)
    many = isinstance(axis_types, (tuple, list))
    types = tuple(axis_types) if many else (axis_types,)
    if not all(isinstance(t, AxisType) for t in types):
        raise errors.type_error(
            "axis_types passed to Mesh must be of type `jax.sharding.AxisType`. Got"
            f" {types} of type {tuple(map(type, types))}",
            tries=["axis_types=(AxisType.Auto,) * n", "axis_types=None: Auto for all"],
        )
    if len(types) != len(names):
        raise errors.value_error(
            "Number of axis names should match the number of axis_types. Got"
            f" axis_names={tuple(names)} and axis_types={types}",
            tries=["an AxisType for each axis", "axis_types=None: Auto for all"],
        )
    return types


class _MeshBase:
    """Base class of meshes: sizes and types of named axes."""

    axis_names: tuple[AxisName, ...]
    axis_types: tuple[AxisType, ...]
    axis_sizes: tuple[int, ...]

    @property
    def shape(self) -> OrderedDict[AxisName, int]:
        """Name -> size, in the order of the axes."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[AxisName, int], ...]:
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        return math.prod(self.axis_sizes) if self.axis_sizes else 0

    @property
    def empty(self) -> bool:
        return not self.axis_names

    def _of_type(self, kind: AxisType) -> tuple[Any, ...]:
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple(name for name, t in pairs if t is kind)

    def _all_of_type(self, kind: AxisType) -> bool:
        return bool(self.axis_types) and all(t is kind for t in self.axis_types)

    @property
    def are_all_axes_auto(self) -> bool:
        return self._all_of_type(AxisType.Auto)

    @property
    def are_all_axes_explicit(self) -> bool:
        return self._all_of_type(AxisType.Explicit)

    @property
    def are_all_axes_manual(self) -> bool:
        return self._all_of_type(AxisType.Manual)

    @property
    def auto_axes(self) -> tuple[AxisName, ...]:
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[AxisName, ...]:
        return self._of_type(AxisType.Explicit)

    @property
    def _any_axis_explicit(self) -> bool:  # read by libraries
        return bool(self.explicit_axes)

    @property
    def manual_axes(self) -> tuple[AxisName, ...]:
        return self._of_type(AxisType.Manual)

    def _text(self) -> str:
        axes = ", ".join(f"{n!r}: {s}" for n, s in self.shape_tuple)
        return f"{axes}, axis_types={self.axis_types!r}"


class AbstractMesh(_MeshBase):
    """Sizes, names and types of a mesh's axes, without devices.

    Args:
      axis_sizes, axis_names: ints, and as many hashable names.
      axis_types: an `AxisType` for each axis; None: Auto.
      abstract_device: the kind of device that the mesh would hold.

    >>> AbstractMesh((4, 2), ('x', 'y')).shape['y']
    2
    """

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: AxisName | Sequence[AxisName],
        axis_types: AxisType | Sequence[AxisType] | None = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ) -> None:
        self.axis_sizes = tuple(int(n) for n in axis_sizes)
        self.axis_names = _names(axis_names)
        if len(self.axis_sizes) != len(self.axis_names):
            raise errors.value_error(
                "The number of elements in axis_sizes and axis_names should be equal. Got"
                f" axis_sizes={self.axis_sizes} and axis_names={self.axis_names}."
            )
        self.axis_types = _axis_types(axis_types, self.axis_names)
        self.abstract_device = abstract_device

    def _key(self) -> tuple[Any, ...]:
        return self.axis_sizes, self.axis_names, self.axis_types, self.abstract_device

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return type(other) is AbstractMesh and self._key() == other._key()

    def __repr__(self) -> str:
        device = self.abstract_device
        tail = f", {device}" if device is not None else ""
        text = self._text() if self.axis_names else "(), axis_types=()"
        return f"AbstractMesh({text}{tail})"

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh itself."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name in _DEVICE_ATTRIBUTES:
            raise errors.value_error(f"AbstractMesh does not implement {name}")
        raise AttributeError(f"'AbstractMesh' object has no attribute {name!r}")

    def update_axis_types(self, types: dict[AxisName, AxisType]) -> AbstractMesh:
        """Return the mesh with these types for the named axes."""
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return self.update(axis_types=tuple(types.get(n, t) for n, t in pairs))

    def update(
        self,
        axis_sizes: Sequence[int] | None = None,
        axis_names: AxisName | Sequence[AxisName] | None = None,
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> AbstractMesh:
        """Return the mesh with some attributes replaced."""
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
            abstract_device=self.abstract_device,
        )


_DEVICE_ATTRIBUTES = (
    "device_ids",
    "devices",
    "is_multi_process",
    "local_devices",
    "local_mesh",
)


class AbstractDevice:
    """The kind of device of an abstract mesh."""

    def __init__(
        self, device_kind: str, num_cores: int | None = None, platform: str | None = None
    ) -> None:
        self.device_kind = device_kind
        self.num_cores = num_cores
        self.platform = platform

    def _key(self) -> tuple[Any, ...]:
        return self.device_kind, self.num_cores, self.platform

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return type(other) is AbstractDevice and self._key() == other._key()

    def __repr__(self) -> str:
        return (
            f"device_kind={self.device_kind}, num_cores={self.num_cores},"
            f" platform={self.platform}"
        )


def _names(names: Any) -> tuple[AxisName, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


class Mesh(_MeshBase):
    """Devices in a grid with named axes.

    Args:
      devices: an array of devices with one axis per name.
      axis_names: a hashable name for each axis.
      axis_types: an `AxisType` for each axis; None: Auto.

    Raises:
      ValueError: the numbers of axes and names differ, or a name occurs twice.

    >>> import minijax as mj, numpy as np
    >>> Mesh(np.array(mj.devices()[:1]), ('x',))
    Mesh(axis_sizes=(1,), axis_names=('x',), axis_types=(Auto,))
    """

    def __init__(
        self,
        devices: NumPyArray | Sequence[Device] | Device | None,
        axis_names: AxisName | Sequence[AxisName],
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> None:
        grid = np.array(devices, dtype=object)
        self.axis_names = _names(axis_names)
        if grid.size == 0 or (not grid.ndim and grid[()] is None):
            grid, self.axis_names = np.empty(0, dtype=object), ()
        elif grid.ndim != len(self.axis_names):
            raise errors.value_error(
                "Mesh requires the ndim of its first argument (`devices`) to equal the"
                " length of its second argument (`axis_names`), but got devices.ndim =="
                f" {grid.ndim} and len(axis_names) == {len(self.axis_names)}."
            )
        if None in self.axis_names:
            raise errors.value_error(f"Mesh axis names cannot be None. Got: {self.axis_names}")
        if len(set(self.axis_names)) != len(self.axis_names):
            raise errors.value_error(f"Mesh requires unique axis names, got {self.axis_names}.")
        grid.flags.writeable = False
        self.devices = grid
        self.axis_sizes = grid.shape if grid.size else ()
        self.axis_types = _axis_types(axis_types, self.axis_names)
        self.flat: tuple[Device, ...] = tuple(grid.flat)
        if len(set(self.flat)) != len(self.flat):
            raise errors.value_error(
                "Mesh requires each device once.", which=f"devices {list(self.flat)}"
            )
        self._hash = hash((self.flat, self._key()))

    def _key(self) -> tuple[Any, ...]:
        return self.axis_sizes, self.axis_names, self.axis_types

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(other) is Mesh
            and self._hash == other._hash
            and self._key() == other._key()
            and self.flat == other.flat
        )

    def __repr__(self) -> str:
        types = f", axis_types={self.axis_types}" if self.axis_names else ""
        names = self.axis_names
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={names}{types})"

    def __str__(self) -> str:
        return "Mesh()" if self.empty else f"Mesh({self._text()})"

    @property
    def size(self) -> int:
        """The number of devices."""
        return len(self.flat)

    @property
    def empty(self) -> bool:
        """Whether the mesh has no devices."""
        return not self.flat

    @property
    def is_scalar(self) -> bool:
        """Whether the mesh is one device without axes."""
        return not self.axis_names and bool(self.flat)

    def __reduce__(self) -> Reduced:
        ids = client.ids_of(self.flat)
        return _rebuild, (ids, self.axis_sizes, self.axis_names, self.axis_types)

    def __enter__(self) -> Mesh:
        if config.NO_MESH_CONTEXT.value:
            raise errors.error(
                RuntimeError,
                "Mesh context manager is disabled.",
                why="jax_disallow_mesh_context_manager is on.",
                tries=["jax.set_mesh(mesh)"],
            )
        warnings.warn(
            "`with mesh:` context manager has been deprecated. Please use `with"
            " jax.set_mesh(mesh):` instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        # A stack per thread, because one mesh object may be entered repeatedly.
        _entered.before.append(config.ENTERED_MESH.swap(self))
        return self

    def __exit__(self, *_: object) -> None:
        config.ENTERED_MESH.swap_back(_entered.before.pop())

    @property
    def device_ids(self) -> np.ndarray[Any, Any]:
        """The devices' ids, in the shape of the mesh."""
        return np.array([d.id for d in self.flat]).reshape(self.axis_sizes)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        kind = None
        if self.flat:
            d = self.flat[0]
            kind = AbstractDevice(d.device_kind, getattr(d, "num_cores", None), d.platform)
        return AbstractMesh(*self._key(), abstract_device=kind)

    @property
    def local_devices(self) -> list[Device]:
        """The devices of this process, in the order of the mesh."""
        return [d for d in self.flat if d.process_index == d.client.process_index()]

    @property
    def local_mesh(self) -> Mesh:
        """The part of the mesh with the devices of this process."""
        if not self.is_multi_process:
            return self
        is_local = np.vectorize(lambda d: d.process_index == d.client.process_index())(
            self.devices
        )
        indices = [np.unique(at) for at in np.nonzero(is_local)]
        return Mesh(self.devices[np.ix_(*indices)], self.axis_names, self.axis_types)

    @property
    def is_multi_process(self) -> bool:
        """Whether some devices belong to other processes."""
        return len(self.local_devices) != len(self.flat)

    def update(
        self,
        devices: NumPyArray | Sequence[Device] | Device | None = None,
        axis_names: AxisName | Sequence[AxisName] | None = None,
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> Mesh:
        """Return the mesh with some attributes replaced."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )


class _EnteredMeshes(threading.local):
    """The meshes that this thread's blocks `with mesh:` restore at their ends."""

    def __init__(self) -> None:
        self.before: list[Any] = []


_entered = _EnteredMeshes()


def _rebuild(ids: Any, sizes: Any, names: Any, types: Any) -> Mesh:
    grid = np.array(client.devices_of(*ids), dtype=object).reshape(sizes)
    return Mesh(grid, names, types)


def current_mesh() -> Mesh | AbstractMesh | None:
    """Return the mesh that `set_mesh` made current in this thread, or None."""
    return config.MESH.value  # type: ignore[no-any-return]


def entered_mesh() -> Mesh | AbstractMesh | None:
    """Return the current mesh, or else that of the enclosing block `with mesh:`, or None."""
    return config.MESH.value or config.ENTERED_MESH.value  # type: ignore[no-any-return]


def block_mesh() -> Mesh | AbstractMesh | None:
    """Return the mesh of the enclosing block `with mesh:`, or else the current mesh.

    If the current mesh has manual axes, return it: the program refers to them.
    """
    now = current_mesh()
    if now is not None and now.manual_axes:
        return now
    return config.ENTERED_MESH.value or now


def mesh_of_specs(entered: bool = False) -> Mesh | AbstractMesh | None:
    """Return the mesh that a bare `PartitionSpec` refers to, or None.

    It is the current mesh, if that has devices or manual axes of an enclosing `shard_map`.
    """
    mesh = entered_mesh() if entered else current_mesh()
    is_usable = isinstance(mesh, Mesh) or (mesh is not None and mesh.manual_axes)
    return mesh if is_usable else None


@util.cached(1024)
def with_manual_axes(mesh: AbstractMesh, manual: frozenset[AxisName]) -> AbstractMesh:
    """Return the mesh as seen by functions in which these axes are manual."""
    return mesh.update_axis_types(dict.fromkeys(manual, AxisType.Manual))


@contextmanager
def mesh_made_current(mesh: Mesh | AbstractMesh | None) -> Iterator[None]:
    """Make a mesh current, for a block."""
    before = config.MESH.swap(mesh)
    try:
        yield
    finally:
        config.MESH.swap_back(before)


class set_mesh:
    """Make a mesh current: from now on, or for a `with` block.

    Args:
      mesh: the `Mesh`; None: no mesh is current.

    Raises:
      ValueError: `mesh` is not a mesh, or a function is being traced.

    >>> import minijax as mj, numpy as np
    >>> with set_mesh(Mesh(np.array(mj.devices()[:1]), ('x',))):
    ...     get_abstract_mesh().axis_names
    ('x',)
    """

    def __init__(self, mesh: Mesh | AbstractMesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise errors.value_error(
                f"Expected mesh of type `jax.sharding.Mesh`. Got {type(mesh)}"
            )
        _check_not_traced("set_mesh")
        # Here, not in `__enter__`: without a `with` block the mesh stays current.
        self.before = config.MESH.swap(mesh)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        config.MESH.swap_back(self.before)


def _check_not_traced(what: str, tries: Sequence[str] = ()) -> None:
    if STATE.trace is not EVAL:
        raise errors.value_error(
            f"`{what}` can only be used outside of `jax.jit`.",
            why="the devices of a program are not known while it is traced.",
            tries=tries,
        )


class use_abstract_mesh:
    """Make an abstract mesh current, for a block."""

    def __init__(self, mesh: Mesh | AbstractMesh) -> None:
        if not isinstance(mesh, AbstractMesh):
            raise errors.value_error(
                f"Expected mesh of type `jax.sharding.AbstractMesh`. Got type: {type(mesh)}"
            )
        self.mesh = mesh

    def __enter__(self) -> None:
        around, mesh = get_abstract_mesh(), self.mesh
        if not around.empty and not mesh.empty and around.size != mesh.size:
            raise errors.value_error(
                "use_abstract_mesh cannot change the size of the mesh. Got new mesh:"
                f" {mesh} with size={mesh.size} and prev mesh: {around} with"
                f" size={around.size}"
            )
        self.before = config.MESH.swap(mesh)

    def __exit__(self, *_: object) -> None:
        config.MESH.swap_back(self.before)


def get_mesh() -> Mesh:
    """Return the current mesh, or an empty one.

    Returns:
      A `Mesh`.

    Raises:
      ValueError: a function is being traced.

    >>> get_mesh().empty
    True
    """
    _check_not_traced("get_mesh", ["minijax.sharding.get_abstract_mesh()"])
    mesh = current_mesh()
    return mesh if isinstance(mesh, Mesh) else Mesh(np.empty(0, dtype=object), ())


def get_abstract_mesh() -> AbstractMesh:
    """Return the current mesh without its devices, or an empty one.

    Returns:
      An `AbstractMesh`.

    >>> get_abstract_mesh().empty
    True
    """
    mesh = current_mesh()
    return AbstractMesh((), ()) if mesh is None else mesh.abstract_mesh


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Hashable],
    axis_types: AxisType | Sequence[AxisType] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """Return a mesh of the first available devices.

    Args:
      axis_shapes, axis_names: size and name of each axis.
      axis_types: an `AxisType` for each axis; None: Explicit.
      devices: which devices; None: all.

    Returns:
      A `Mesh`.

    Raises:
      ValueError: there are fewer devices than the mesh needs.

    >>> make_mesh((1,), ('x',)).shape['x']
    1
    """
    shape = tuple(int(n) for n in axis_shapes)
    available = list(client.devices()) if devices is None else list(devices)
    n = math.prod(shape)
    if len(available) < n:
        raise errors.value_error(
            f"Number of devices {len(available)} must be >= the product of mesh_shape {shape}",
            tries=["smaller axes", "minijax.config.update('jax_num_cpu_devices', n)"],
        )
    names = _names(axis_names)
    types = (AxisType.Explicit,) * len(names) if axis_types is None else axis_types
    return Mesh(np.array(available[:n], dtype=object).reshape(shape), names, types)
