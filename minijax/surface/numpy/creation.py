"""Arrays made from Python and NumPy values, and arrays of one value.

`array` converts nested lists, numbers, buffers and arrays to one array with JAX's dtypes:
Python numbers get the default dtypes, other values promote.  Small constant arrays are made
on the host (no compilation for each new shape), large ones by a compiled program.  Under a
transformation they are equations.

Next: ranges.py, for arange and linspace; grids.py, for grids and masks.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api.devices import device_put
from ...base import errors
from ...base.source import stacklevel
from ...control.calls.jit import composite
from ...ir import core
from ...ir.core import EVAL, STATE, Tracer
from ...prims import lax, promotion
from ...prims.collectives.pcast import vary_as
from ...prims.math.cast import scalar
from ...prims.reshard import apply_out_sharding
from ...prims.shape.full import manual_axes_of_like, sharding_of_like
from ...prims.sharding_specs import canonicalize_out_sharding, is_empty_sharding
from ...runtime.arrays import array as arrays
from ...runtime.arrays import transfers
from ...runtime.arrays.array import ARRAYS, Array, ArrayImpl
from ...runtime.sharding.shardings import NamedSharding
from ...symbolic.dims import SymbolicDim
from ...types import dtypes
from ...types.avals import shaped
from ._common import *

__all__ = (
    "array",
    "asarray",
    "zeros",
    "ones",
    "empty",
    "full",
    "zeros_like",
    "ones_like",
    "empty_like",
    "full_like",
)

SMALL = 1 << 14  # elements; arrays up to this size are made on the host

# ------------------------------------------------------------------------------- array


def array(
    object: Any,
    dtype: Any = None,
    *args: Any,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Make an array of numbers, nested sequences, buffers or arrays.

    Args:
      object: the value to convert.  Python numbers get the default dtypes (a single number
        is weakly typed); arrays and NumPy scalars keep theirs, narrowed to 32 bits unless
        x64 is enabled; mixtures promote.
      dtype: the dtype of the result.
      args: `copy`, `order` and `ndmin` by position, which is deprecated.
      copy: whether to copy an array; NumPy memory is never shared with the caller.
      order: None or "K".
      ndmin: leading axes of size 1 are added up to this rank.
      device, out_sharding: where to put the result.

    Returns:
      Array with an axis for each level of nesting, followed by the axes of the leaves, and
      with leading axes up to `ndmin`; of `dtype`, or of the dtype described for `object`.

    Raises:
      TypeError: `object` is not numeric.
      ValueError: nested sequences of unequal lengths, or None.
      OverflowError: a Python int that the dtype cannot hold.
      NotImplementedError: any other `order`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.array([[1, 2], [3, 4]])
      Array([[1, 2],
             [3, 4]], dtype=int32)
    """
    if args:
        copy, order, ndmin = _positional_options(args, (copy, order, ndmin))
    if order is not None and order != "K":
        raise NotImplementedError("Only implemented for order='K'")
    if not copy and dtype is None and isinstance(object, np.ma.MaskedArray):
        core.aval_of(object)  # raises
    out = to_array(object, static_dtype(dtype, "array"), copy)
    rank = len(out.shape)
    if ndmin > rank:
        out = lax.broadcast_in_dim(
            out, (1,) * (ndmin - rank) + out.shape, tuple(range(ndmin - rank, ndmin))
        )
    return on_device(out, device, out_sharding)


def _positional_options(args: tuple[Any, ...], defaults: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return `copy`, `order` and `ndmin` of `array`, some of them passed by position."""
    if len(args) > len(defaults):
        raise TypeError(
            f"jnp.array() takes up to {len(defaults) + 2} positional arguments, got"
            f" {len(args) + 2}."
        )
    warnings.warn(
        "Passing the copy, order, and ndmin arguments to jnp.array positionally is"
        " deprecated. Use keyword arguments instead.",
        DeprecationWarning,
        stacklevel=stacklevel(),
    )
    return (*args, *defaults[len(args) :])


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Convert a value to an array as `array` does; arrays are returned unchanged.

    Args:
      a: an array, number, nested sequence or buffer.
      dtype: the dtype of the result.
      order: None or "K".
      copy: True to copy an array too.
      device, out_sharding: where to put the result.

    Returns:
      Array like the result of `array`; `a` itself if it already is that array.

    Raises:
      TypeError, ValueError, OverflowError: as for `array`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.asarray([1., 2.])
      Array([1., 2.], dtype=float32)
    """
    is_default = dtype is None and order is None and device is None and out_sharding is None
    a = arrays.adopted(a)
    if is_default and not copy and (type(a) is ArrayImpl or isinstance(a, Tracer)):
        return a
    requested_dtype = static_dtype(dtype, "asarray")
    placement = {"device": device, "out_sharding": out_sharding}
    return array(a, requested_dtype, copy=bool(copy), order=order, **placement)


def to_array(x: Any, dtype: Any, copy: bool) -> Any:
    """Return a value as an array of this dtype; None keeps its own dtype."""
    x = arrays.adopted(x)
    kind = type(x)
    if kind in ARRAYS or isinstance(x, Tracer):
        if dtype is not None and (x.dtype != dtype or x.weak_type):
            return cast(x, dtype)
        return lax.copy_p.bind(x) if copy else x
    if kind in (bool, int, float, complex):
        return from_number(x, dtype)
    if isinstance(x, (np.ndarray, np.generic)):
        return from_numpy(x, dtype)
    custom = getattr(x, "__jax_array__", None)
    if custom is not None:
        return to_array(custom(), dtype, copy)
    if x is None:
        raise ValueError("None is not a valid value for jnp.array")
    if isinstance(x, (list, tuple)):
        return from_sequence(x, dtype)
    if isinstance(x, (bool, int, float, complex)):  # a subclass, e.g. an IntEnum
        base: Any = next(k for k in (bool, int, float, complex) if isinstance(x, k))
        return from_number(base(x), dtype)
    if isinstance(x, (bytearray, memoryview, range)) or hasattr(x, "__array__"):
        return from_numpy(np.asarray(x), dtype)
    if (
        hasattr(x, "__len__")
        and hasattr(x, "__getitem__")
        and not isinstance(x, (str, bytes, dict))
    ):
        return from_sequence([x[i] for i in range(len(x))], dtype)
    return from_numpy(np.asarray(x), dtype, x)


def cast(x: Any, dtype: Any) -> Any:
    """Convert an array to a dtype, with a warning where imaginary parts are lost."""
    if dtypes.is_complex(x.dtype) and not (dtypes.is_complex(dtype) or dtypes.is_bool(dtype)):
        warnings.warn(
            "Casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
            stacklevel=4,
        )
    return convert(x, dtype)


def from_number(x: Any, dtype: Any) -> Any:
    """Return a Python number as an array."""
    if dtype is None:
        return from_host(x, core.aval_of(x))
    return from_host(np.asarray(x, dtype), shaped((), dtype))


def from_numpy(x: Any, dtype: Any, user_value: Any = None) -> Any:
    """Return a NumPy array or scalar as an array."""
    if dtype is None:
        if not dtypes.is_valid(x.dtype):
            check_numeric(x, user_value)
        dtype = dtypes.canonical(x.dtype)
    elif x.dtype != dtype and x.dtype.kind == "c" and not dtypes.is_complex(dtype):
        if not dtypes.is_bool(dtype):
            warnings.warn(
                "Casting complex values to real discards the imaginary part",
                np.exceptions.ComplexWarning,
                stacklevel=4,
            )
            x = x.real
    elif x.dtype.kind in "SU":
        check_numeric(x, user_value)
    return from_host(np.asarray(x, dtype), shaped(np.shape(x), dtype))


def check_numeric(x: Any, user_value: Any) -> None:
    """Raise TypeError unless arrays can have the dtype of a NumPy value."""
    dtype = x.dtype if x.dtype.isnative else x.dtype.newbyteorder("=")
    if dtypes.is_valid(dtype):
        return
    raise TypeError(not_numeric(x if user_value is None else user_value, x.dtype))


def from_sequence(x: Sequence[Any], dtype: Any) -> Any:
    """Return nested lists and tuples as an array."""
    kinds: set[type] = set()
    leaf_types(x, kinds)
    if not kinds <= _PYTHON:
        if type(None) in kinds:
            raise ValueError("None is not a valid value for jnp.array")
        if any(
            k in ARRAYS or issubclass(k, Tracer) or hasattr(k, "__jax_array__") for k in kinds
        ):
            return stack_nested(x, dtype)
    if dtype is None:
        dtype = sequence_dtype(x, kinds)
    if kinds <= _PYTHON or all(k in _PYTHON or issubclass(k, _NUMBERS) for k in kinds):
        out = np.array(x, dtype)  # raises OverflowError for integers that do not fit
    else:
        out = np.array(x)
        check_numeric(out, x)
        out = out.astype(dtype)
    return from_host(out, shaped(out.shape, dtype))


_PYTHON = frozenset((bool, int, float, complex))
_NUMBERS = (np.number, np.bool_)


def leaf_types(x: Any, types: set[type]) -> None:
    """Collect the types of the leaves of nested lists and tuples."""
    kinds = set(map(type, x))
    nested = kinds & _NESTED
    if nested:
        for item in x:
            if type(item) in nested:
                leaf_types(item, types)
        kinds -= nested
    types |= kinds


_NESTED = frozenset((list, tuple))


def sequence_dtype(x: Any, kinds: set[type]) -> Any:
    """Return the dtype that the leaves of nested sequences promote to."""
    if not kinds:
        return dtypes.float_default()
    if kinds <= _PYTHON:
        top = max(kinds, key=_RANK.__getitem__)
        return dtypes.scalar_dtype(top)
    pairs: list[Any] = []
    for leaf in leaves(x):
        if type(leaf) in _PYTHON:
            kind = type(leaf)
            pair = (dtypes.scalar_dtype(kind), kind is not bool)
        else:
            value = np.asarray(leaf)
            check_numeric(value, leaf)
            pair = (dtypes.canonical(value.dtype), False)
        if pair not in pairs:
            pairs.append(pair)
    return promotion.promote(tuple(pairs))[0]


_RANK = {bool: 0, int: 1, float: 2, complex: 3}


def leaves(x: Any) -> Any:
    """Yield the items of nested lists and tuples."""
    for item in x:
        if type(item) in _NESTED:
            yield from leaves(item)
        else:
            yield item


def stack_nested(x: Sequence[Any], dtype: Any) -> Any:
    """Stack nested sequences that contain arrays, level by level."""
    if dtype is None:
        pairs = []
        for leaf in leaves(x):
            aval = core.aval_of(leaf if is_arraylike(leaf) else np.asarray(leaf))
            pairs.append((aval.dtype, aval.weak_type))
        dtype = promotion.promote(tuple(dict.fromkeys(pairs)))[0]
    return stack_rows(x, dtype)


def stack_rows(x: Any, dtype: Any) -> Any:
    if type(x) not in _NESTED:
        return to_array(x, dtype, False)
    kinds: set[type] = set()
    leaf_types(x, kinds)
    if kinds <= _PYTHON:
        return from_sequence(x, dtype)
    rows = [stack_rows(item, dtype) for item in x]
    shape = rows[0].shape
    lifted = [
        lax.broadcast_in_dim(r, (1, *r.shape), tuple(range(1, len(r.shape) + 1))) for r in rows
    ]
    if any(r.shape != shape for r in rows):
        raise errors.type_error(
            "Cannot concatenate arrays with shapes that differ in dimensions other"
            " than the one being concatenated: concatenating along dimension 0 for"
            f" shapes {', '.join(str(r.shape) for r in lifted[:6])}.",
            why="the items of nested sequences become the rows of one array.",
            tries=["pad the items to one shape", "a list of arrays as a pytree"],
        )
    return lax.concatenate(lifted, 0)


def on_device(x: Any, device: Any, out_sharding: Any = None, name: str = "array") -> Any:
    """Return `x` on `device`, which is a device or a sharding."""
    if out_sharding is not None:
        return apply_out_sharding(f"jnp.{name}", x, out_sharding)
    if device is None or is_empty_sharding(device):
        return x
    if isinstance(device, NamedSharding):
        device = device.for_rank(len(core.aval_of(x).shape))
    return device_put(x, device)


# --------------------------------------------------------------------- constant arrays


def zeros(
    shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Return an array of zeros.

    Args:
      shape: an int or a sequence of ints.
      dtype: by default float32 (with x64 float64).
      device, out_sharding: device or sharding of the result.

    Returns:
      Array of this shape and dtype.

    Raises:
      TypeError: `shape` contains something other than concrete non-negative integers.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.zeros((2, 2))
      Array([[0., 0.],
             [0., 0.]], dtype=float32)
    """
    return constant("zeros", shape, 0, dtype, device, out_sharding)


def ones(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Return an array of ones.

    Args:
      shape: an int or a sequence of ints.
      dtype: by default float32 (with x64 float64).
      device, out_sharding: device or sharding of the result.

    Returns:
      Array of this shape and dtype.

    Raises:
      TypeError: `shape` contains something other than concrete non-negative integers.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.ones(2)
      Array([1., 1.], dtype=float32)
    """
    return constant("ones", shape, 1, dtype, device, out_sharding)


def empty(
    shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Return an array of zeros: uninitialized memory does not exist in XLA.

    Args:
      shape: an int or a sequence of ints.
      dtype: by default float32 (with x64 float64).
      device, out_sharding: device or sharding of the result.

    Returns:
      Array of this shape and dtype.

    Raises:
      TypeError: `shape` contains something other than concrete non-negative integers.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.empty(2)
      Array([0., 0.], dtype=float32)
    """
    return constant("empty", shape, 0, dtype, device, out_sharding)


def _dtype_of_shape(name: str, shape: Any, dtype: Any) -> Any:
    """Return the dtype of `ones` and kin; a number may have been meant as a second size."""
    try:
        return static_dtype(dtype, name)
    except TypeError as error:
        if not isinstance(dtype, (int, np.integer)) or isinstance(shape, (tuple, list)):
            raise
        raise errors.type_error(
            f"{error}.\n\nDid you accidentally write `jax.numpy.{name}({shape}, {dtype})`"
            f" when you meant `jax.numpy.{name}(({shape}, {dtype}))`, i.e. with a single"
            " tuple argument for the shape?",
            tries=[f"jnp.{name}(({shape}, {dtype}))"],
        ) from None


def constant(
    name: str, shape: Any, value: Any, dtype: Any, device: Any, out_sharding: Any
) -> Any:
    """Return the array of `zeros`, `ones` or `empty`."""
    user_shape, shape = shape, static_shape(shape, name)
    dtype = (
        dtypes.float_default() if dtype is None else _dtype_of_shape(name, user_shape, dtype)
    )
    aval = shaped(shape, dtype)
    if out_sharding is not None and STATE.trace is not EVAL:
        return filled(name, shape, value, aval, canonicalize_out_sharding(name, out_sharding))
    out = filled(name, shape, value, aval)
    if device is None and out_sharding is None:
        return out
    return on_device(out, device, out_sharding, name)


def filled(
    name: str, shape: tuple[int, ...], value: Any, aval: Any, out_sharding: Any = None
) -> Any:
    """Return an array filled with a host number; small ones are made on the host.

    For key dtypes, the number fills every word.  `out_sharding` applies to staged programs.
    """
    if dtypes.is_extended(aval.dtype):
        check_sizes(shape, name)
        return lax.full(shape, value, aval.dtype)
    if STATE.trace is not core.EVAL:
        check_sizes(shape, name)
        literal = literal_of(value, aval)
        if not shape:  # a scalar is a literal, without an equation
            return from_host(literal, aval)
        return lax.broadcast_in_dim(literal, shape, (), out_sharding=out_sharding)
    # Only ints are keys: 1, 1.0 and True are equal, and would share an entry.
    if type(value) is int and (cached := _templates.get((aval, value))) is not None:
        return transfers.put_own(cached, aval)
    check_sizes(shape, name)
    if type(aval.size) is not int or aval.size > SMALL:
        return _repeat(literal_of(value, aval), shape)
    full = np.full(shape, scalar(value, aval.dtype), aval.dtype)
    if type(value) is int and aval.size <= 1024:
        if len(_templates) > 256:  # shapes of one program recur; others must not add up
            _templates.clear()
        _templates[aval, value] = full
    return transfers.put_own(full, aval)


def literal_of(value: Any, aval: Any) -> Any:
    """Return a host number as a scalar of the type of the array that it fills."""
    if not aval.weak_type and type(value) is int and 0 <= value < 2:
        return aval.dtype.type(value)
    number = scalar(value, aval.dtype)
    return number.item() if aval.weak_type else number


# Host copies of recent small constant arrays: (type, number) -> array.
_templates: dict[Any, Any] = {}


@composite(static="shape")
def _repeat(x: Any, shape: Any) -> Any:
    return lax.broadcast_in_dim(x, shape, ())


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return an array in which `fill_value` is repeated.

    Args:
      shape: an int or a sequence of ints.
      fill_value: a number, or an array that broadcasts to `shape`.
      dtype: by default the dtype of `fill_value` (weakly typed for a Python number).
      device, out_sharding: device or sharding of the result.

    Returns:
      Array of this shape and dtype.

    Raises:
      ValueError: `fill_value` does not broadcast to `shape`.
      TypeError: `shape` contains something other than concrete non-negative integers.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.full(3, 7.)
      Array([7., 7., 7.], dtype=float32, weak_type=True)
    """
    check_arraylike("full", fill_value)
    shape = static_shape(shape, "full")
    requested_dtype = static_dtype(dtype, "full")
    out = fill(shape, fill_value, requested_dtype, "full")
    return on_device(out, device, out_sharding)


def fill(shape: tuple[int, ...], value: Any, dtype: Any, name: str) -> Any:
    """Return `value`, with this dtype or its own, repeated to `shape`."""
    if type(value) is int and dtype is not None:  # of any size
        return filled(name, shape, value, shaped(shape, dtype))
    if hasattr(value, "__jax_array__"):
        value = as_array(value)
    aval = aval_of(value)
    weak = aval.weak_type and dtype is None
    dtype = aval.dtype if dtype is None else dtype
    host = not isinstance(value, (Array, Tracer))
    if host and not aval.shape:
        return filled(name, shape, value, shaped(shape, dtype, weak))
    return repeat_to(convert(value, dtype, weak), shape, name)


def repeat_to(x: Any, shape: tuple[int, ...], name: str) -> Any:
    """Broadcast `x` to `shape`; ShapeError if it does not fit."""
    old = aval_of(x).shape
    if old == shape:
        return x
    if not fits(old, shape):
        raise errors.ShapeError(not_broadcastable(x, shape))
    return _broadcast(x, shape)


def fits(old: tuple[int, ...], new: tuple[int, ...]) -> bool:
    """Whether an array of shape `old` broadcasts to `new`."""
    missing = len(new) - len(old)
    return missing >= 0 and all(m in (1, n) for m, n in zip(old, new[missing:], strict=True))


@composite(static="shape")
def _broadcast(x: Any, shape: Any) -> Any:
    return broadcast_to(x, shape)


def zeros_like(
    a: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return zeros with the shape and dtype of another array.

    Args:
      a: array, number, or an object with `shape` and `dtype`.
      dtype, shape: of the result; None for the dtype or shape of `a`.
      device, out_sharding: device or sharding of the result.

    Returns:
      Array of this shape and dtype, weakly typed if `a` is and `dtype` is None.

    Raises:
      TypeError: `a` lacks a shape and dtype (for example, a list).

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.zeros_like(jnp.array([1, 2]))
      Array([0, 0], dtype=int32)
    """
    return like("zeros_like", a, 0, dtype, shape, device, out_sharding)


def ones_like(
    a: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return ones with the shape and dtype of another array.

    Args:
      a: array, number, or an object with `shape` and `dtype`.
      dtype, shape: of the result; None for the dtype or shape of `a`.
      device, out_sharding: device or sharding of the result.

    Returns:
      Array of this shape and dtype, weakly typed if `a` is and `dtype` is None.

    Raises:
      TypeError: `a` lacks a shape and dtype (for example, a list).

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.ones_like(jnp.array([3, 2]))
      Array([1, 1], dtype=int32)
    """
    return like("ones_like", a, 1, dtype, shape, device, out_sharding)


def empty_like(
    prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Any:
    """Return zeros with the shape and dtype of another array (see `empty`).

    Args:
      prototype: array, number, or an object with `shape` and `dtype`.
      dtype, shape: of the result; None for the dtype or shape of `prototype`.
      device: where to put it.

    Returns:
      Array of this shape and dtype, weakly typed if `prototype` is and `dtype` is None.

    Raises:
      TypeError: `prototype` lacks a shape and dtype (for example, a list).

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.empty_like(jnp.array([3, 2]))
      Array([0, 0], dtype=int32)
    """
    return like("empty_like", prototype, 0, dtype, shape, device, None)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return `fill_value` repeated to the shape and dtype of another array.

    Args:
      a: array, number, or an object with `shape` and `dtype`.
      fill_value: a number, or an array that broadcasts to the shape.
      dtype, shape: of the result; None for the dtype or shape of `a`.
      device, out_sharding: device or sharding of the result.

    Returns:
      Array of this shape and dtype, to which `fill_value` is converted (2.7 to the
      integer 2).

    Raises:
      TypeError: `a` lacks a shape and dtype (for example, a list).
      ValueError: `fill_value` does not broadcast to the shape.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.full_like(jnp.array([3., 2.]), 5)
      Array([5., 5.], dtype=float32)
    """
    check_arraylike("full_like", fill_value)
    fill_value = core.unwrapped(fill_value)
    return like("full_like", a, fill_value, dtype, shape, device, out_sharding)


def like(name: str, a, value, dtype, shape, device, out_sharding):
    """Return the array of a function whose name ends in `_like`."""
    a = 0 if type(a) is int else a  # of any length
    if is_arraylike(a):
        a = core.unwrapped(a)
        aval = aval_of(a)
    elif hasattr(a, "shape") and hasattr(a, "dtype"):
        aval = shaped(tuple(a.shape), dtypes.canonical(a.dtype))
        aval = aval.update(manual=manual_axes_of_like(a))
    else:
        check_arraylike(name, a)
    shape = aval.shape if shape is None else static_shape(shape, name)
    weak = aval.weak_type and dtype is None
    dtype = aval.dtype if dtype is None else static_dtype(dtype, name)
    if type(value) is not int and (
        aval_of(value).shape or isinstance(value, (Array, Tracer, SymbolicDim))
    ):
        weak = weak and not aval_of(value).shape
        out = repeat_to(convert(value, dtype, weak), shape, name)
    else:
        same_shape = shape == aval.shape and out_sharding is None
        explicit = aval.type_sharding.explicit if same_shape else None
        out = filled(name, shape, value, shaped(shape, dtype, weak), explicit)
    if device is None and out_sharding is None:
        device = sharding_of_like(a, shape)
    if any(aval.type_sharding.manual):
        out = vary_as(out, aval.type_sharding.manual)
    return on_device(out, device, out_sharding)
