"""NumPy's in-place functions: put, place, put_along_axis, fill_diagonal; and ix_.

Arrays are immutable: with `inplace=True`, NumPy's behaviour, these functions raise; with
`inplace=False` they return a modified copy.  Next: updates.py, for the updates.
"""

from __future__ import annotations

import math
from typing import Any

from ...base import errors
from ...ir import core
from ...prims import lax
from ...types import dtypes
from . import searching, updates
from ._common import *
from .selection import as_mask

__all__ = ("put", "place", "put_along_axis", "fill_diagonal", "ix_")


def inplace_error(name: str) -> ValueError:
    """Return the error for writing in place."""
    return errors.value_error(
        f"jax.numpy.{name} cannot modify arrays in-place, because JAX arrays are"
        " immutable. Pass inplace=False to instead return an updated array.",
        tries=[f"a = jnp.{name}(a, ..., inplace=False)", "a.at[...].set(...)"],
    )


def repeated(values: Any, n: int) -> Any:
    """Repeat the elements of `values` until there are `n`."""
    flat = lax.reshape(as_array(values), (core.aval_of(values).size,))
    times = -(-n // flat.size)
    if times > 1:
        flat = lax.reshape(
            lax.broadcast_in_dim(flat, (times, flat.size), (1,)), (times * flat.size,)
        )
    return flat[:n]


def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True
) -> Any:
    """Return a copy of an array with values at positions in the flattened array.

    Args:
      a: array.
      ind: integers; they are flattened.
      v: values, repeated as needed.
      mode: for positions out of bounds: 'clip' (the default) or 'wrap'.
      inplace: must be False.

    Returns:
      An array of `a`'s shape and dtype.

    Raises:
      ValueError: `inplace`, or an unknown mode.
      NotImplementedError: the mode 'raise'.
      TypeError: `ind` does not contain integers.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.put(jnp.arange(4), jnp.array([0, 2]), 9, inplace=False)
      Array([9, 1, 9, 3], dtype=int32)
    """
    if inplace:
        raise inplace_error("put")
    check_arraylike("put", a, ind, v)
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.put is not supported.")
    a, ind = as_array(a), as_array(ind)
    ind = lax.reshape(ind, (ind.size,))
    if not a.size or not ind.size or not core.aval_of(v).size:
        return a
    if mode is None or mode == "clip":
        low = -a.size if mode is None else 0
        ind = ind.clip(low, a.size - 1)
    elif mode == "wrap":
        ind = ind % a.size
    else:
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got {mode=}")
    flat = lax.reshape(a, (a.size,))
    values = repeated(v, ind.size)
    return lax.reshape(updates.update(flat, ind, values, "set"), a.shape)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Any:
    """Return a copy of an array with values, in turn, where a mask is true.

    Args:
      arr: array.
      mask: a mask of the size of `arr`.
      vals: values, repeated as needed.
      inplace: must be False.

    Returns:
      An array of `arr`'s shape and dtype.

    Raises:
      ValueError: `inplace`, a mask of another size, or no values.

    Example:
      >>> import minijax.numpy as jnp
      >>> x = jnp.arange(4)
      >>> jnp.place(x, x > 1, jnp.array([7, 8]), inplace=False)
      Array([0, 1, 7, 8], dtype=int32)
    """
    if inplace:
        raise inplace_error("place")
    check_arraylike("place", arr, mask, vals)
    arr, mask = as_array(arr), as_mask(as_array(mask))
    if mask.size != arr.size:
        raise ValueError("place: arr and mask must be the same size")
    if not core.aval_of(vals).size:
        raise ValueError("Cannot place values from an empty array")
    if not arr.size:
        return arr
    (at,) = searching.nonzero(
        lax.reshape(mask, (mask.size,)), size=mask.size, fill_value=mask.size
    )
    flat = lax.reshape(arr, (arr.size,))
    out = updates.update(flat, at, repeated(vals, arr.size), "set", mode="drop")
    return lax.reshape(out, arr.shape)


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Any:
    """Return a copy of an array with values at positions that vary with the other axes.

    Args:
      arr: array.
      indices: integers, of the same rank; axes other than `axis` broadcast.
      values: the values to write; they broadcast with `indices`.
      axis: the axis that `indices` index; None for the flattened array.
      inplace: must be False.
      mode: for positions out of bounds; see `x.at`.

    Returns:
      An array of `arr`'s shape and dtype.

    Raises:
      ValueError: `inplace`, or indices of another rank.

    Example:
      >>> import minijax.numpy as jnp
      >>> x = jnp.zeros((2, 2))
      >>> jnp.put_along_axis(x, jnp.array([[0], [1]]), 5., axis=1, inplace=False)
      Array([[5., 0.],
             [0., 5.]], dtype=float32)
    """
    if inplace:
        raise inplace_error("put_along_axis")
    check_arraylike("put_along_axis", arr, indices, values)
    arr, indices = as_array(arr), as_array(indices)
    if axis is None:
        flat = lax.reshape(arr, (arr.size,))
        out = put_along_axis(flat, indices, values, 0, inplace=False, mode=mode)
        return lax.reshape(out, arr.shape)
    if indices.ndim != arr.ndim:
        raise ValueError(
            "put_along_axis arguments 'arr' and 'indices' must have same ndim. Got"
            f" {arr.ndim=} and {indices.ndim=}."
        )
    axis = canonical_axis(static_axis(axis), arr.ndim)
    subscript: list[Any] = []
    for d, n in enumerate(arr.shape):
        shape = [1] * arr.ndim
        shape[d] = n
        subscript.append(lax.broadcasted_iota(dtypes.int32, tuple(shape), d))
    subscript[axis] = indices
    return updates.update(arr, tuple(subscript), values, "set", mode=mode)


def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Any:
    """Return a copy of an array with values on its main diagonal.

    Args:
      a: array of at least two axes (of equal sizes, if more than two).
      val: values, repeated as needed.
      wrap: not supported.
      inplace: must be False.

    Returns:
      An array of `a`'s shape and dtype.

    Raises:
      NotImplementedError: `inplace` or `wrap`.
      ValueError: fewer than two axes, or more than two of different sizes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 1., inplace=False)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    if inplace:
        raise NotImplementedError(
            "JAX arrays are immutable, must use inplace=False\n"
            "Try: a = jnp.fill_diagonal(a, val, inplace=False)"
        )
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must use wrap=False")
    check_arraylike("fill_diagonal", a, val)
    a = as_array(a)
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    n = min(a.shape)
    if not n:
        return a
    step = 1 + sum(math.prod(a.shape[i + 1 :]) for i in range(a.ndim - 1))
    values = as_array(val)
    values = repeated(values, n) if values.ndim else broadcast_to(values, (n,))
    flat = lax.reshape(a, (a.size,))
    stop = (n - 1) * step + 1
    out = updates.update(flat, slice(0, stop, step), values, "set")
    return lax.reshape(out, a.shape)


def ix_(*args: ArrayLike) -> tuple[Any, ...]:
    """Return index arrays for all combinations: `x[jnp.ix_(i, j)]` is a block of `x`.

    Args:
      *args: integer arrays of one axis.

    Returns:
      One array per argument; they broadcast against one another.

    Raises:
      ValueError: an array that does not have exactly one axis.
      NotImplementedError: bools.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.arange(9).reshape(3, 3)[jnp.ix_(jnp.array([0, 2]), jnp.array([1]))]
      Array([[1],
             [7]], dtype=int32)
    """
    check_arraylike("ix_", *args)
    out = []
    for i, arg in enumerate(args):
        x = as_array(arg)
        if x.ndim != 1:
            raise ValueError(
                f"Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {x.shape}"
            )
        if dtypes.is_bool(x.dtype):
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented")
        if not x.size:
            x = lax.broadcast_in_dim(typed_constant(0, dtypes.int_default()), (0,), ())
        shape = (*(1 for _ in range(i)), x.size, *(1 for _ in range(len(args) - i - 1)))
        out.append(lax.broadcast_in_dim(x, shape, (i,)))
    return tuple(out)
