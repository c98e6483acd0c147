"""Concrete arrays: jaxlib's C++ class `ArrayImpl` with our methods.

`Array` is the public class: `isinstance` holds for arrays, keys and tracers. Its attributes
are set on the C++ class, so that dispatch takes and returns arrays without a Python wrapper
(array_impl_methods.py). Arrays of keys are Python objects that wrap their words. Operators
and most methods come from `surface/`. Placement of arrays: placement.py; reading and
writing them: transfers.py. Next: operands.py.
"""

from __future__ import annotations

import enum
import functools
import weakref
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import errors, tree
from ...ir import core, hooks
from ...text import tracer_errors
from ...types import dtypes
from ...types.avals import ShapedArray, numpy_aval, shaped
from ...types.type_sharding import type_sharding
from ..backends import client
from ..backends import jaxlib_compat as compat
from ..sharding import shardings
from ..sharding.layouts import Format, layout_of
from ..sharding.placement import on_device, placement_of
from . import array_impl_methods, array_methods
from .array_impl_methods import ArrayImpl as ArrayImpl
from .shards import shard_buffers
from .tokens import Token, is_token
from .transfers import copied, deleted_message, host_value, put_numpy

if TYPE_CHECKING:
    from ...types.aliases import Aval, DTypeLike, PyTree, Reduced, Shape, Value
    from ...types.dtypes import ExtendedDType
    from ..backends.jaxlib_types import Buffer, Capsule, CppSharding, Device
    from ..sharding.shardings import Sharding


class _Empty:
    __slots__ = ()


_DEFAULT_ATTRIBUTES = frozenset((*vars(_Empty), "__annotations__", "__init__"))


class _ArrayMeta(type):
    """`isinstance(x, Array)` holds for arrays, keys, and tracers of arrays."""

    def __instancecheck__(cls, x: Any) -> bool:
        kind = type(x)
        if cls is KeyArray or kind is KeyArray:
            return kind is KeyArray
        if kind is ArrayImpl:
            return type(x.aval) is ShapedArray
        if isinstance(x, core.Tracer):
            return isinstance(x.aval, ShapedArray)
        # `__class__` differs from `type` only where an object overrides it.
        declared_class = x.__class__
        return declared_class is not kind and issubclass(
            declared_class, cls
        )  # a proxy, or a mock

    def __subclasscheck__(cls, kind: Any) -> bool:
        return (cls is not KeyArray and kind is ArrayImpl) or type.__subclasscheck__(cls, kind)


class Array(metaclass=_ArrayMeta):
    """An immutable array on one device, or sharded over several.

    Created by minijax functions, never by calling the class.

    >>> import minijax.numpy as jnp
    >>> jnp.arange(3)
    Array([0, 1, 2], dtype=int32)
    """

    __slots__ = ()
    __array_priority__ = 100
    __module__ = "minijax"
    aval: ShapedArray  # these four are implemented in C++
    _sharding: CppSharding
    _npy_value: Any
    is_deleted: Callable[[], bool]
    if TYPE_CHECKING:  # operators and methods of array_methods.py, and more of C++'s

        def __getattr__(self, name: str) -> Any: ...

        _operator: Any = None
        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _operator
        __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _operator
        __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _operator
        __matmul__ = __rmatmul__ = __and__ = __rand__ = __or__ = __ror__ = _operator
        __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _operator
        __neg__ = __pos__ = __abs__ = __invert__ = __round__ = _operator
        __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = __iter__ = _operator

    def __init__(self, *_: object) -> None:
        raise TypeError("Arrays are created by functions: jnp.array, jnp.zeros, ...")

    # ---- type
    shape = property(attrgetter("aval.shape"), doc="The sizes of the axes.")
    dtype = property(attrgetter("aval.dtype"), doc="The type of the elements.")
    weak_type = property(
        attrgetter("aval.weak_type"),
        doc="Whether the dtypes of other operands take precedence.",
    )
    ndim = property(attrgetter("aval.ndim"), doc="The number of axes.")
    size = property(attrgetter("aval.size"), doc="The number of elements.")

    def __len__(self) -> int:
        shape = self.aval.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    __hash__ = None  # type: ignore[assignment]

    # ---- placement
    @property
    def sharding(self) -> Sharding:
        """The sharding of the array over devices."""
        return shardings.of_buffer(self)  # type: ignore[no-any-return]

    @property
    def format(self) -> Format:
        """The array's memory layout and sharding."""
        self._check_alive()
        return Format(layout_of(base_array(self)._pjrt_layout), self.sharding)

    def devices(self) -> set[Device]:
        """Return the devices that hold shards of the array."""
        placement = placement_of(self)
        if placement is not None:
            return {placement.device}
        return set(self._sharding._internal_device_list)

    @property
    def device(self) -> Device | Any:
        """The device of the array; for a multi-device array, its sharding."""
        placement = placement_of(self)
        return self.sharding if placement is None else placement.device

    @property
    def committed(self) -> bool:
        """Whether computations with the array must run on its devices."""
        placement = placement_of(self)
        return True if placement is None else placement.committed

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all shards are on this process's devices."""
        return bool(self._sharding._internal_device_list.is_fully_addressable)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each of its devices holds the full array."""
        return bool(self.sharding.is_fully_replicated)

    @property
    def _is_readable(self) -> bool:
        """Whether this process's devices hold the full value."""
        sharding = self.sharding
        if getattr(getattr(sharding, "spec", None), "unreduced", None):
            return False  # the devices hold terms of a sum
        return bool(
            sharding.is_fully_addressable
            or (sharding.is_fully_replicated and sharding.has_addressable_devices)
        )

    @property
    def addressable_shards(self) -> list[Shard]:
        """The array's shards on this process's devices."""
        return shards(self)

    @property
    def global_shards(self) -> list[Shard]:
        """The array's shards on all devices; `data` is None for those of other processes."""
        return shards(self, everywhere=True)

    def addressable_data(self, index: int) -> Array | None:
        """Return the shard on this process's device number `index`."""
        return self.addressable_shards[index].data

    # ---- lifetime
    def block_until_ready(self) -> Array:
        """Wait until the value is computed; return self. Raise the error of a failed
        computation."""
        self._check_alive()
        compat.block_all([base_array(self)])
        return self

    def copy_to_host_async(self) -> None:
        """Start the copy to host memory."""
        placement = placement_of(self)
        if placement is not None and placement.platform != "cpu":  # CPU memory is read directly
            base_array(self)._copy_single_device_array_to_host_async()

    def _check_alive(self) -> None:
        if self.is_deleted():
            raise RuntimeError(deleted_message(self.aval))

    # ---- conversion to host values
    @property
    def _value(self) -> np.ndarray[Any, Any]:
        self._check_alive()
        return np.asarray(self)  # on CPUs a view; otherwise __array__ copies

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        """Return the value for NumPy, where the buffer protocol does not apply."""
        value = self._npy_value
        if value is None:
            self._check_alive()
            value = host_value(self)
            if value.base is None:  # cache copies only: a view would keep the memory alive
                self._npy_value = value
        if dtype is not None and value.dtype != dtype:
            return value.astype(dtype)  # type: ignore[no-any-return]
        return value.copy() if copy else value  # type: ignore[no-any-return]

    def tolist(self) -> PyTree:
        """Return the elements as Python numbers in nested lists; a scalar array as a
        number."""
        return self._value.tolist()

    def item(self, *args: int) -> bool | int | float | complex:
        """Return the element at a position (by default the only one) as a Python scalar."""
        return self._value.item(*args)  # type: ignore[no-any-return]

    def tobytes(self, order: Any = "C") -> bytes:
        """Return the elements as bytes, in row-major or (`order='F'`) column-major order."""
        return self._value.tobytes(order)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(tracer_errors.no_truth_value(self.size))
        return bool(self._value)

    def _scalar(self, kind: Any) -> Any:
        if self.aval.shape:
            raise TypeError(
                "Only scalar arrays can be converted to Python scalars;"
                f" got arr.ndim={self.ndim}"
            )
        return kind(self._value)

    def __float__(self) -> float:
        return self._scalar(float)  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return self._scalar(int)  # type: ignore[no-any-return]

    def __complex__(self) -> complex:
        return self._scalar(complex)  # type: ignore[no-any-return]

    def __index__(self) -> int:
        if self.shape or not dtypes.is_integer(self.dtype):
            raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
        return int(self._value)

    def __dlpack_device__(self) -> tuple[DLDeviceType, int]:
        self._check_dlpack()
        device = self.device
        if device.platform == "cpu":
            return DLDeviceType.kDLCPU, 0
        return DLDeviceType.kDLCUDA, int(device.local_hardware_id)

    def _check_dlpack(self) -> None:
        if dtypes.is_extended(self.dtype):
            raise _opaque_error(self.dtype)
        if placement_of(self) is not None:
            return
        raise errors.error(
            BufferError,
            "to_dlpack can only pack a dlpack tensor from an array on a singular device,"
            f" but an array with a Sharding over {len(self.devices())} devices was"
            " provided. __dlpack__ only supported for unsharded arrays.",
            tries=["np.asarray(x)", "the shards: x.addressable_shards"],
        )

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Capsule:
        self._check_dlpack()
        source = self if dl_device is None else self._for_dlpack(dl_device, copy)
        if copy and source is self:
            source = copied(self)
        source.block_until_ready()
        return compat.to_dlpack(base_array(source), stream, max_version, bool(copy))

    def _for_dlpack(self, device: Any, copy: bool | None) -> Array:
        """Return the array in the memory of the device that a consumer requests."""
        device_type, number = DLDeviceType(device[0]), int(device[1])
        if (device_type, number) == self.__dlpack_device__():
            return self
        if copy is False:
            raise errors.error(
                BufferError,
                f"__dlpack__: copy=False, but {device=} needs a copy: the array is on"
                f" {self.device}.",
            )
        platform = "cpu" if device_type == DLDeviceType.kDLCPU else "cuda"
        devices = {
            0 if platform == "cpu" else d.local_hardware_id: d
            for d in reversed(client.local_devices(backend=platform))
        }
        if number not in devices:
            raise errors.error(BufferError, f"__dlpack__: there is no {device=}.")
        target = on_device(devices[number], committed=False)
        moved: Array = put_numpy(np.asarray(self._value), self.aval, target)
        return moved

    def __reduce__(self) -> Reduced:
        return _rebuild, (np.asarray(self._value), self.weak_type)

    def __copy__(self) -> Array:  # a real copy, valid after the original is donated
        return copied(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return copied(self)

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"Array(<deleted>, shape={self.shape}, dtype={self.dtype})"
        aval = self.aval
        tail = f"dtype={aval.dtype.name}" + (", weak_type=True" if aval.weak_type else "")
        if not self._is_readable:
            sharding = self.sharding
            if getattr(getattr(sharding, "spec", None), "unreduced", None):
                tail += f", sharding={sharding}"
            return f"Array(shape={aval.shape}, {tail})"
        value = self._value
        if value.size == 0:
            return f"Array([], shape={aval.shape}, {tail})"
        text = np.array2string(value, separator=", ", prefix="Array(", suffix=",")
        last = len(text) - text.rfind("\n")  # with the comma
        # If the tail does not fit on the last line, put more space before it, as JAX does.
        fits = last + 1 + len(tail) + 1 < np.get_printoptions()["linewidth"]
        return f"Array({text},{' ' if fits else ' ' * 6}{tail})"

    def __str__(self) -> str:
        return str(self._value) if self._is_readable else repr(self)

    def __format__(self, spec: str) -> str:
        if dtypes.is_extended(self.dtype):
            return format(str(self), spec)
        if not self._is_readable:
            return format(repr(self), spec)
        value = self._value
        return format(value if self.ndim else value[()], spec)


class DLDeviceType(enum.IntEnum):
    """Device types in DLPack's numbering (dlpack.h)."""

    kDLCPU = 1
    kDLCUDA = 2


def _opaque_error(dtype: Any) -> TypeError:
    """Return the error for dtypes that NumPy cannot represent."""
    if dtypes.rules_of(dtype) is not None:
        return errors.type_error(
            f"JAX array with dtype {dtype} cannot be converted to a NumPy array.",
            why="elements of a library-defined dtype are opaque.",
            tries=["lax.convert_element_type first"],
        )
    return errors.type_error(
        f"JAX array with PRNGKey dtype cannot be converted to a NumPy array: {dtype}.",
        why="random keys are opaque.",
        tries=["jax.random.key_data(key)"],
    )


class KeyArray(Array):
    """An array of random keys: `_b` holds their words, in trailing axes.

    It is a separate class because C++ does not know extended dtypes. For C++ it is a pytree
    of one ordinary array, with the dtype in the tree structure.
    """

    # `jax_debug_key_reuse` records which keys are consumed, and where: see key_checks.py.
    __slots__ = ("__weakref__", "_b", "_consumed", "_dtype", "_used_at")
    __module__ = "minijax"
    _b: Buffer
    _consumed: Any
    _used_at: Any

    def __init__(self, _b: Buffer, _dtype: Any) -> None:
        self._b = _b
        self._dtype = _dtype

    @property
    def aval(self) -> ShapedArray:  # type: ignore[override]
        words = self._b.aval
        n = len(words.shape) - len(self._dtype.base_shape)
        sharding = words.type_sharding.explicit
        if sharding is not None:
            sharding = sharding.with_spec(sharding.spec[:n])
        return shaped(words.shape[:n], self._dtype, sharding=type_sharding(sharding))

    @property
    def shape(self) -> Shape:
        return self.aval.shape

    @property
    def dtype(self) -> ExtendedDType:
        return self._dtype  # type: ignore[no-any-return]

    @property
    def weak_type(self) -> bool:
        return False

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    @property
    def _value(self) -> np.ndarray[Any, Any]:
        raise _opaque_error(self.dtype)

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        return self._value  # raises

    def __bool__(self) -> bool:
        raise TypeError("key array cannot be converted to boolean.")

    def __reduce__(self) -> Reduced:
        return _rebuild_key, (np.asarray(self._b._value), self._dtype.impl.name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return KeyArray(copied(self._b), self._dtype)

    def __repr__(self) -> str:
        if self._b.is_deleted():
            return f"Array(<deleted>, shape={self.shape}, dtype={self._dtype.name})"
        words = self._b._value
        return f"Array({self.shape}, dtype={self._dtype.name}) overlaying:\n{words}"

    __str__ = __repr__


_OWN_ATTRIBUTES = [n for n in vars(Array) if n not in (*_DEFAULT_ATTRIBUTES, "__hash__")]

# JAX's name, which users and libraries look for in messages.
KeyArray.__name__ = "PRNGKeyArray"


def _forward(name: str) -> Callable[[KeyArray], Any]:
    def forward(self: KeyArray) -> Any:
        return getattr(self._b, name)()

    forward.__name__ = name
    return forward


# Keys forward the C++ methods to their words. `delete` is replaced: C++ crashes when an
# array is used after one of its shards was deleted.
_delete = ArrayImpl.delete
_arrays_of_shard: dict[
    int, tuple[Any, list[Any]]
] = {}  # id of a shard -> weak references to it and to its arrays


def share_memory(shard: Buffer, array: Buffer) -> None:
    """Record that an ArrayImpl is a shard of another, which is deleted together with it."""
    key = id(shard)
    forget = functools.partial(_arrays_of_shard.pop, key)  # called with the dead reference
    owners = _arrays_of_shard.setdefault(key, (weakref.ref(shard, forget), []))[1]
    # Drop dead references, since a long-lived shard may outlast many arrays.
    owners[:] = [*(w for w in owners if w() is not None), weakref.ref(array)]


def delete(self: Buffer) -> None:
    """Free the memory now; deleting a shard also deletes the arrays that it belongs to."""
    _delete(self)
    for reference in _arrays_of_shard.pop(id(self), (None, ()))[1]:
        if (array := reference()) is not None:
            _delete(array)


for _name in (
    "is_ready",
    "delete",
    "is_deleted",
    "on_device_size_in_bytes",
    "unsafe_buffer_pointer",
    "platform",
):
    setattr(KeyArray, _name, _forward(_name))
    setattr(Array, _name, getattr(ArrayImpl, _name))
Array.delete = delete  # type: ignore[attr-defined]
for _name in ("_sharding", "_committed", "traceback"):
    setattr(KeyArray, _name, property(attrgetter(f"_b.{_name}")))

ARRAYS = frozenset((ArrayImpl, KeyArray))  # the types of concrete arrays


def foreign(x: Buffer) -> bool:
    """Whether an ArrayImpl belongs to another library."""
    return array_impl_methods.is_shared and type(x.aval) is not ShapedArray


def adopted(x: Value) -> Value:
    """Return a value; another library's array is converted to NumPy."""
    is_foreign = array_impl_methods.is_shared and type(x) is ArrayImpl and foreign(x)
    return np.asarray(x) if is_foreign else x


def is_key(aval: Aval) -> bool:
    """Whether an abstract value has an extended dtype, such as that of random keys."""
    return dtypes.is_extended(getattr(aval, "dtype", None))


def wrap(buffer: Buffer, aval: Aval) -> Array:
    """Return a program's result as an array of type `aval`."""
    if is_key(aval):
        return KeyArray(buffer, aval.dtype)
    return Token(buffer) if is_token(aval) else buffer  # type: ignore[return-value]


for _registry in (tree.DISPATCH, tree.FLATTENED_AS_LEAF):
    _registry.register_dataclass_node(KeyArray, ["_b"], ["_dtype"])


def _array_aval(x: Any) -> Any:
    aval = x.aval
    return aval if type(aval) is ShapedArray else numpy_aval(np.asarray(x))


def ndarray_aval(x: np.ndarray[Any, Any]) -> ShapedArray:
    if type(x) is not np.ndarray and isinstance(x, np.ma.MaskedArray):
        raise errors.value_error(
            "numpy masked arrays are not supported as direct inputs to JAX functions.",
            why="the mask would be lost silently.",
            tries=["Use arr.filled() to convert the value to a standard numpy array."],
        )
    return numpy_aval(x)


core.register_aval(ArrayImpl, attrgetter("aval"))  # C code, which is faster than a lambda
array_impl_methods.when_shared(lambda: core.register_aval(ArrayImpl, _array_aval))
core.register_aval(KeyArray, lambda x: x.aval)
core.register_aval(np.ndarray, ndarray_aval)
core.register_aval(np.generic, numpy_aval)
for _scalar in (np.float32, np.float64, np.int32, np.int64, np.bool_, np.float16):
    core.register_aval(_scalar, numpy_aval)


def set_method(name: str, value: object) -> None:
    """Add a method to all arrays."""
    setattr(Array, name, value)
    array_impl_methods.set_attribute(name, value)


for _name in (*_OWN_ATTRIBUTES, "delete"):
    array_impl_methods.set_attribute(_name, vars(Array)[_name])
array_methods.register(Array)  # deferred operators and methods
array_methods.register_tracer()
array_methods.register(ArrayImpl, array_impl_methods.set_attribute)


class Shard:
    """One device's shard of an array: `device`, `index`, `replica_id`, `data`.

    For an `unreduced` array, `data` is the device's term of the sum, and `index` is the
    slice of the array that the sum fills.
    """

    __slots__ = ("data", "device", "index", "replica_id")

    def __init__(
        self, device: Device, index: tuple[slice, ...], replica_id: int, data: Array | None
    ) -> None:
        self.device = device
        self.index = index
        self.replica_id = replica_id
        self.data = data

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index},"
            f" replica_id={self.replica_id}, data={self.data})"
        )


def shards(x: Array, everywhere: bool = False) -> list[Shard]:
    """Return the shards of an array on this process's devices.

    everywhere: append the shards of other processes, without data.
    """
    x._check_alive()
    placement = placement_of(x)
    sharding = shardings.of_buffer(x)
    index = sharding.shard_slices(x.shape)
    if placement is not None:
        device = placement.device
        if sharding.is_fully_addressable:
            return [Shard(device, index[device], 0, x)]
        return [Shard(device, index[device], 0, None)] if everywhere else []
    copies: dict[Any, int] = {}
    replica_ids = {}  # of each device, among those with the same shard
    terms = sharding.terms_of_devices()
    for (device, at), term in zip(index.items(), terms, strict=True):
        key = term, *((s.start, s.stop) for s in at)
        replica_ids[device] = copies[key] = copies.get(key, -1) + 1
    out = []
    for b in shard_buffers(base_array(x)):
        device = b._sharding._device
        share_memory(b, base_array(x))
        data = under_key(b, x.dtype) if type(x) is KeyArray else b
        out.append(Shard(device, index[device], replica_ids[device], data))
    if everywhere:
        local_devices = {s.device for s in out}
        others = (d for d in index if d not in local_devices)
        out += [Shard(d, index[d], replica_ids[d], None) for d in others]
    return out


def base_array(x: Array) -> Buffer:
    """Return the ArrayImpl of an array: the words of keys (no copy), or the array itself."""
    return x._b if type(x) is KeyArray else x


def under_key(x: Array, dtype: ExtendedDType) -> Array:
    """Return an array of extended `dtype` over the numbers in `x` (no copy)."""
    return KeyArray(x, dtype)


def _rebuild(value: np.ndarray[Any, Any], weak: bool) -> Array:
    aval = numpy_aval(value)
    typed = shaped(aval.shape, aval.dtype, weak)
    return put_numpy(value, typed)


def _rebuild_key(data: np.ndarray[Any, Any], impl: str) -> Any:
    return hooks.key_array.call(data, impl)


def block_until_ready(x: PyTree) -> PyTree:
    """Wait for every array in a pytree.

    Args:
      x: a pytree; leaves that are not arrays are ignored.

    Returns:
      The same tree.

    Raises:
      RuntimeError: an array has been deleted, or its program failed.

    >>> import minijax as mj
    >>> mj.block_until_ready({'a': mj.numpy.ones(2)})
    {'a': Array([1., 1.], dtype=float32)}
    """
    waiting = []
    for leaf in tree.leaves(x):
        if type(leaf) in ARRAYS and not foreign(leaf):
            leaf._check_alive()
            waiting.append(base_array(leaf))
        elif hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    if waiting:
        compat.block_all(waiting)
    return x


def copy_to_host_async(x: PyTree) -> PyTree:
    """Start copying every array in a pytree to the host.

    Args:
      x: a pytree; leaves that are not arrays are ignored.

    Returns:
      The same tree, without waiting.

    >>> import minijax as mj
    >>> mj.copy_to_host_async({'a': mj.numpy.ones(2)})
    {'a': Array([1., 1.], dtype=float32)}
    """
    for leaf in tree.leaves(x):
        if hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()
    return x
