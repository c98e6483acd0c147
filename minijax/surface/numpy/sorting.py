"""Sorting: values, positions that sort, several keys, partitions.

Sorts are stable; nans come last.  Next: setops.py, for unique elements and sets.
"""

from __future__ import annotations

from typing import Any

from ...control.calls.jit import composite
from ...prims import lax
from ...symbolic.dims import exceeds
from ...types import dtypes
from ._common import *

__all__ = ("sort", "argsort", "lexsort", "sort_complex", "partition", "argpartition")


def _check(name: str, a: Any, kind: Any, order: Any) -> None:
    check_arraylike(name, a)
    if kind is not None:
        raise TypeError(
            f"'kind' argument to {name} is not supported. Use stable=True or"
            " stable=False to specify sort stability."
        )
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported.")


def along(a: Any, axis: Any) -> tuple[Any, int]:
    """Return an array and the axis to sort along: None flattens it."""
    a = as_array(a)
    if axis is None:
        return lax.reshape(a, (a.size,)), 0
    return a, canonical_axis(axis, a.ndim)


@composite(static=("axis", "kind", "order", "stable", "descending"))
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """Return a sorted copy; nans come last (first, if descending).

    Args:
      a: array.
      axis: the axis to sort along; None sorts the flattened array.
      kind, order: not supported.
      stable: keep the order of equal elements.
      descending: whether the largest comes first.

    Returns:
      An array of `a`'s shape and dtype; of shape (a.size,) if `axis` is None.

    Raises:
      TypeError: `kind` or `order` is given.
      ValueError: the axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.sort(jnp.array([3, 1, 2]))
      Array([1, 2, 3], dtype=int32)
    """
    _check("sort", a, kind, order)
    a, axis = along(a, axis)
    (out,) = lax.sort_p.bind(a, dimension=axis, is_stable=stable, num_keys=1)
    return lax.rev(out, (axis,)) if descending else out


def index_dtype(n: int) -> Any:
    """Return the dtype of positions along an axis of size `n`."""
    return dtypes.canonical(dtypes.int64) if exceeds(n, 2**31 - 1) else dtypes.int_default()


def with_positions(
    a: Any, axis: int, stable: bool, descending: bool = False
) -> tuple[Any, Any]:
    """Return the sorted array, and the original position of each element."""
    at = lax.broadcasted_iota(index_dtype(a.shape[axis]), a.shape, axis)
    if descending:
        a, at = lax.rev(a, (axis,)), lax.rev(at, (axis,))
    a, at = lax.sort_p.bind(a, at, dimension=axis, is_stable=stable, num_keys=1)
    return (lax.rev(a, (axis,)), lax.rev(at, (axis,))) if descending else (a, at)


@composite(static=("axis", "kind", "order", "stable", "descending", "dtype"))
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> Any:
    """Return the positions that sort an array.

    Args:
      a: array.
      axis: the axis to sort along; None sorts the flattened array.
      kind, order: not supported.
      stable: equal elements keep their order.
      descending: whether the largest comes first.
      dtype: of the positions.

    Returns:
      An array of integers (`dtype`, or the default integers) of `a`'s shape; of shape
      (a.size,) if `axis` is None.

    Raises:
      TypeError: `kind` or `order` is given.
      ValueError: the axis does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.argsort(jnp.array([30, 10, 20]))
      Array([1, 2, 0], dtype=int32)
    """
    _check("argsort", a, kind, order)
    a, axis = along(a, axis)
    at = with_positions(a, axis, True, descending and stable)[1]
    if descending and not stable:
        at = lax.rev(at, (axis,))
    return at if dtype is None else lax.convert_element_type(at, static_dtype(dtype, "argsort"))


@composite(static=("axis",))
def lexsort(keys: Any, axis: int = -1) -> Any:
    """Return the positions that sort by several keys, the last key first.

    Args:
      keys: arrays of one shape, or one array whose rows are the keys.
      axis: the axis to sort along.

    Returns:
      An array of the default integer dtype and the shape of one key.

    Raises:
      TypeError: zero keys.
      ValueError: keys of different shapes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.lexsort((jnp.array([1, 2, 0]), jnp.array([7, 5, 5])))
      Array([2, 1, 0], dtype=int32)
    """
    arrays = (
        list(keys) if isinstance(keys, (tuple, list)) else list(lax.unstack(as_array(keys)))
    )
    if not arrays:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    check_arraylike("lexsort", *arrays)
    arrays = [as_array(k) for k in arrays]
    if len({k.shape for k in arrays}) > 1:
        raise ValueError("all keys need to be the same shape")
    first = arrays[0]
    if first.ndim == 0:
        return as_array(index_dtype(0).type(0))
    axis = canonical_axis(axis, first.ndim)
    at = lax.broadcasted_iota(index_dtype(first.shape[axis]), first.shape, axis)
    out = lax.sort((*arrays[::-1], at), dimension=axis, is_stable=True, num_keys=len(arrays))
    return out[-1]


@composite
def sort_complex(a: ArrayLike) -> Any:
    """Sort along the last axis, by real part and then by imaginary part.

    Args:
      a: array of at least one axis.

    Returns:
      A complex array of `a`'s shape and precision.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.sort_complex(jnp.array([2, 1]))
      Array([1.+0.j, 2.+0.j], dtype=complex64)
    """
    check_arraylike("sort_complex", a)
    out = sort(a)
    return lax.convert_element_type(out, dtypes.complex_of(dtypes.to_inexact(out.dtype)))


def _partition_args(name: str, a: Any, kth: int, axis: int) -> tuple[Any, int, int]:
    check_arraylike(name, a)
    a = as_array(a)
    if dtypes.is_complex(a.dtype):
        raise NotImplementedError(f"jnp.{name} for complex dtype is not implemented.")
    axis = canonical_axis(axis, a.ndim)
    return a, canonical_axis(kth, a.shape[axis]), axis


def _split_after(x: Any, kth: int, axis: int) -> tuple[Any, Any]:
    n = x.shape[axis]
    return lax.slice_in_dim(x, 0, kth + 1, axis=axis), lax.slice_in_dim(
        x, kth + 1, n, axis=axis
    )


@composite(static=("kth", "axis"))
def partition(a: ArrayLike, kth: int, axis: int = -1) -> Any:
    """Return a copy with the sorted array's element at `kth`, and smaller ones before it.

    Args:
      a: real array.
      kth: the position.
      axis: the axis to partition along.

    Returns:
      An array of `a`'s shape and dtype.

    Raises:
      NotImplementedError: complex values.
      ValueError: the axis or the position does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.partition(jnp.array([5, 1, 4, 2]), 1)
      Array([1, 2, 5, 4], dtype=int32)
    """
    a, kth, axis = _partition_args("partition", a, kth, axis)
    (out,) = lax.sort_p.bind(a, dimension=axis, is_stable=True, num_keys=1)
    low, high = _split_after(out, kth, axis)
    return lax.concatenate([low, lax.rev(high, (axis,))], axis)


@composite(static=("kth", "axis"))
def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Any:
    """Return the positions that partition an array.

    Args:
      a: real array.
      kth: the position at which the element equals the sorted array's.
      axis: the axis to partition along.

    Returns:
      An array of int32 and `a`'s shape.

    Raises:
      NotImplementedError: complex values.
      ValueError: the axis or the position does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.argpartition(jnp.array([5, 1, 4, 2]), 1)
      Array([1, 3, 0, 2], dtype=int32)
    """
    a, kth, axis = _partition_args("argpartition", a, kth, axis)
    far = exceeds(a.shape[axis], 2**31 - 1)
    dtype = index_dtype(a.shape[axis]) if far else dtypes.int32
    at = convert(with_positions(a, axis, True)[1], dtype, a.aval.weak_type)
    low, high = _split_after(at, kth, axis)
    (high,) = lax.sort_p.bind(high, dimension=axis, is_stable=True, num_keys=1)
    return lax.concatenate([low, high], axis)
