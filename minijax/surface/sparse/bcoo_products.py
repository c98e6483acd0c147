"""Elementwise products and convolutions of BCOO arrays.

A product is nonzero only where both operands are.  A product with a dense array therefore
has the indices of the sparse operand.  For two sparse arrays every pair of stored elements
is a candidate.

Next: bcsr.py.
"""

from __future__ import annotations

from typing import Any

from ...control.calls.jit import composite
from ...ir.core import aval_of
from ...prims import lax
from .. import jnp
from ..numpy._common import promote_dtypes
from .base import SparseInfo
from .bcoo import BCOO, buffers, elements
from .bcoo_dense import bcoo_fromdense
from .bcoo_layout import bcoo_update_layout
from .kernels import *

__all__ = (
    "bcoo_multiply_dense",
    "bcoo_multiply_sparse",
    "bcoo_conv_general_dilated",
    "times_dense",
    "over_dense",
)


def bcoo_multiply_dense(sp_mat: Any, v: Any) -> Any:
    """Return the elementwise product of a BCOO and a dense array.

    Args:
      sp_mat: a BCOO array.
      v: an array that broadcasts to its shape.

    Returns:
      The data of the product; its indices are the indices of `sp_mat`.

    Raises:
      NotImplementedError: the product would be larger than `sp_mat`.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.ones(2), jnp.array([[0], [2]])), shape=(3,))
      >>> bcoo_multiply_dense(m, jnp.array([5., 6., 7.]))
      Array([5., 7.], dtype=float32)
    """
    return times_dense(sp_mat, jnp.asarray(v))


@composite
def times_dense(mat: Any, v: Any) -> Any:
    """Return the data of `mat * v`."""
    data, v = _at_elements(mat, v)
    return multiplied(data, v, aval_of(data).dtype)


@composite
def over_dense(mat: Any, v: Any, accuracy: Any = None) -> Any:
    """Return the data of `mat / v`."""
    data, v = _at_elements(mat, v)
    shape = span(shape_of(data), shape_of(v))
    x, y = broadcast_to_batch(data, shape), broadcast_to_batch(v, shape)
    return lax.div(x, y, accuracy=accuracy)


def _at_elements(mat: Any, v: Any) -> tuple[Any, Any]:
    """Return the data of `mat`, and the elements of `v` at the same positions."""
    shape, v_shape = mat.shape, shape_of(v)
    gap = len(shape) - len(v_shape)
    fits = gap >= 0 and all(
        m in (1, n) for m, n in zip(v_shape, shape[max(gap, 0) :], strict=False)
    )
    if not fits:
        raise NotImplementedError(
            "multiplication between sparse and dense is only implemented for cases where"
            " the output shape matches the sparse matrix shape. Got"
            f" shape={shape}, v.shape={v_shape}"
        )
    data, v = promote_dtypes(mat.data, v)
    n, k = mat.n_batch, mat.n_sparse
    v = lax.expand_dims(v, range(gap))
    v_shape = shape_of(v)
    # An axis over which v is broadcast needs no index.
    indexed_axes = [i for i in range(k) if v_shape[n + i] != 1 or shape[n + i] == 1]
    v = lax.squeeze(v, [n + i for i in range(k) if i not in indexed_axes])
    if any(v_shape[n + i] != 1 for i in indexed_axes):
        v = fetch(v, columns_of(mat.indices, indexed_axes), n)
    else:
        v = lax.expand_dims(lax.squeeze(v, range(n, n + len(indexed_axes))), (n,))
    return data, v


def bcoo_multiply_sparse(lhs: Any, rhs: Any) -> Any:
    """Return the elementwise product of two BCOO arrays.

    Args:
      lhs: a BCOO array.
      rhs: a BCOO array with the same number of axes, whose shape broadcasts with `lhs`.

    Returns:
      A BCOO array with one stored element per pair of stored elements.

    Raises:
      TypeError: the numbers of axes differ.
      NotImplementedError: the numbers of dense axes differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((2 * jnp.ones(2), jnp.array([[0], [2]])), shape=(3,))
      >>> bcoo_multiply_sparse(m, m)
      BCOO(float32[3], nse=4)
    """
    if lhs.ndim != rhs.ndim:
        raise TypeError(
            "bcoo_multiply_sparse: arrays must have same number of dimensions, got"
            f" {lhs.shape}, {rhs.shape}"
        )
    if lhs.n_dense != rhs.n_dense:
        raise NotImplementedError(
            "bcoo_multiply_sparse: arrays with differing numbers of dense dimensions:"
            f" {lhs}, {rhs}"
        )
    return _multiply_sparse(lhs, rhs)


@composite
def _multiply_sparse(lhs: Any, rhs: Any) -> Any:
    n = min(lhs.n_batch, rhs.n_batch)
    lhs, rhs = (bcoo_update_layout(x, n_batch=n, on_inefficient=None) for x in (lhs, rhs))
    shape = span(lhs.shape, rhs.shape)
    k, nse = lhs.n_sparse, (lhs.nse, rhs.nse)
    old = [x.shape[n : n + k] for x in (lhs, rhs)]
    sizes = shape[n : n + k]
    index = promote_dtypes(lhs.indices, rhs.indices)
    left, right = lax.expand_dims(index[0], (n + 1,)), lax.expand_dims(index[1], (n,))
    batch = span(*(shape_of(x)[:n] for x in (left, right)))
    wide = (*batch, *nse, k)
    left, right = broadcast_to_batch(left, wide), broadcast_to_batch(right, wide)
    # Along an axis of size 1, an element pairs with all elements of the other operand.
    common_axes = [i for i in range(k) if old[0][i] == old[1][i]]
    pairs = wide[:-1]
    is_match = lax.full(pairs, True, bool)
    if common_axes:
        equal = lax.eq(columns_of(left, common_axes), columns_of(right, common_axes))
        is_match = lax.reduce_and(equal, (n + 2,))
    for x, sizes_before, gap in ((lhs, old[0], n + 1), (rhs, old[1], n)):
        inside = lax.expand_dims(in_bounds(x.indices, sizes_before), (gap,))
        is_match = lax.bitwise_and(is_match, broadcast_to_batch(inside, pairs))
    repeats = [old[0][i] == 1 for i in range(k)]
    columns = [
        lax.slice_in_dim(right if repeats[i] else left, i, i + 1, 1, n + 2) for i in range(k)
    ]
    count = nse[0] * nse[1]
    data = [promote_dtypes(lhs.data, rhs.data)[i] for i in (0, 1)]
    dtype = aval_of(data[0]).dtype
    product = multiplied(
        lax.expand_dims(data[0], (n + 1,)), lax.expand_dims(data[1], (n,)), dtype
    )
    data_batch = span(shape_of(product)[:n], batch)
    product = broadcast_to_batch(product, (*data_batch, *nse))
    mask = broadcast_to_batch(
        lax.expand_dims(is_match, range(n + 2, len(shape_of(product)))), shape_of(product)
    )
    product = lax.select(mask, product, lax.full_like(product, 0))
    # Matching pairs come first, so that truncating to a smaller `nse` drops only padding.
    is_match = lax.reshape(is_match, (*batch, count))
    matches_first = lax.expand_dims(first_set(is_match, count), (n + 1,))
    product = lax.reshape(product, (*data_batch, count, *shape_of(product)[n + 2 :]))
    product = fetch(product, matches_first, n)
    if columns:
        out_indices = lax.reshape(lax.concatenate(columns, n + 2), (*batch, count, k))
        is_stored = broadcast_to_batch(in_bounds_of(matches_first, count), (*batch, count, k))
        out_indices = fetch(out_indices, matches_first, n)
        out_indices = lax.select(is_stored, out_indices, ends(out_indices, sizes))
    else:
        out_indices = lax.full((*batch, count, 0), 0, aval_of(index[0]).dtype)
    return BCOO((product, out_indices), shape=shape)


def in_bounds_of(positions: Any, count: int) -> Any:
    """Return which of these positions (..., n, 1) are below `count`."""
    return lax.lt(positions, lax.full_like(positions, count))


# ------------------------------------------------------------------------- convolution


def bcoo_conv_general_dilated(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Compute `lax.conv_general_dilated` where an operand is a BCOO array.

    Args:
      lhs: an array of shape (1, 1, length), BCOO or dense.
      rhs: an array of shape (1, 1, length), BCOO or dense.
      window_strides: steps of 1.
      padding: as in `lax.conv_general_dilated`.
      lhs_dilation: 1.
      rhs_dilation: 1.
      dimension_numbers: the default, 'NCH'.
      feature_group_count: 1.
      batch_group_count: 1.
      precision: without effect on sparse arrays.
      preferred_element_type: the dtype of the result.
      out_sharding: without effect on sparse arrays.

    Returns:
      A BCOO array of shape (1, 1, length), with one stored element per pair.

    Raises:
      NotImplementedError: strides, dilations, groups, several channels or axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = bcoo_fromdense(jnp.array([[[1., 0., 2.]]]))
      >>> bcoo_conv_general_dilated(m, m, window_strides=(1,), padding=[(2, 2)]).todense()
      Array([[[2., 0., 5., 0., 2.]]], dtype=float32)
    """
    del precision, out_sharding
    shapes = tuple(lhs.shape), tuple(rhs.shape)
    ones = (1,) * (len(shapes[0]) - 2)
    for name, dilation in (("lhs_dilation", lhs_dilation), ("rhs_dilation", rhs_dilation)):
        if dilation is not None and tuple(dilation) != ones:
            raise NotImplementedError(f"bcoo convolution with {name}.")
    if tuple(window_strides) != ones:
        raise NotImplementedError("bcoo convolution with non-unit window_strides.")
    if batch_group_count != 1 or feature_group_count != 1:
        raise NotImplementedError("bcoo convolution with non-unit group counts.")
    if shapes[0][:2] != (1, 1) or shapes[1][:2] != (1, 1):
        raise NotImplementedError("bcoo convolution with leading dimensions other than (1, 1)")
    if len(ones) != 1:
        raise NotImplementedError("bcoo convolution over other than one axis.")
    if dimension_numbers not in (None, ("NCH", "OIH", "NCH")):
        numbers = lax.conv_dimension_numbers(*shapes, dimension_numbers)
        if numbers != lax.conv_dimension_numbers(*shapes, None):
            raise NotImplementedError("bcoo convolution with other dimension_numbers.")
    if not isinstance(padding, str):
        padding = tuple((int(a), int(b)) for a, b in padding)
    else:
        padding = tuple(lax.padtype_to_pads(shapes[0][2:], shapes[1][2:], (1,), padding))
    lhs, rhs = map(_one_axis, (lhs, rhs))
    return _convolved(lhs, rhs, padding=padding[0], dtype=preferred_element_type)


def _one_axis(x: Any) -> Any:
    """Return an array of shape (1, 1, n) as a BCOO array with one sparse axis."""
    if not isinstance(x, BCOO):
        flat = jnp.asarray(x).reshape(-1)
        return bcoo_fromdense(flat, nse=flat.size)
    x = bcoo_update_layout(x, n_batch=0, n_dense=0, on_inefficient=None)
    indices = columns_of(x.indices, [2])
    return buffers(x.data, indices, SparseInfo(x.shape[2:]))


@composite(static=("padding", "dtype"))
def _convolved(lhs: Any, rhs: Any, padding: Any, dtype: Any) -> Any:
    data, other = promote_dtypes(lhs.data, rhs.data)
    dtype = aval_of(data).dtype if dtype is None else dtype
    length = lhs.shape[0] + sum(padding) - rhs.shape[0] + 1
    nse = (lhs.nse, rhs.nse)
    product = multiplied(lax.expand_dims(data, (1,)), lax.expand_dims(other, (0,)), dtype)
    index = [lax.convert_element_type(x.indices, jnp.int32) for x in (lhs, rhs)]
    out_index = lax.sub(
        broadcast_to_batch(lax.expand_dims(index[0], (1,)), (*nse, 1)),
        broadcast_to_batch(lax.expand_dims(index[1], (0,)), (*nse, 1)),
    )
    out_index = lax.add(out_index, lax.full_like(out_index, padding[0]))
    is_inside = lax.bitwise_and(
        lax.ge(out_index, lax.full_like(out_index, 0)),
        lax.lt(out_index, lax.full_like(out_index, length)),
    )
    for x, gap in ((lhs, 1), (rhs, 0)):
        inside = lax.expand_dims(in_bounds(x.indices, x.shape), (gap, 2))
        is_inside = lax.bitwise_and(is_inside, broadcast_to_batch(inside, (*nse, 1)))
    count = elements(nse)
    out_index = lax.reshape(
        lax.select(is_inside, out_index, lax.full_like(out_index, length)), (count, 1)
    )
    product = lax.select(lax.squeeze(is_inside, (2,)), product, lax.full_like(product, 0))
    zero = lax.full((count, 2), 0, jnp.int32)
    one = lax.full((count, 1), 1, jnp.int32)
    is_padding = lax.eq(out_index, lax.full_like(out_index, length))
    leading_indices = lax.select(
        broadcast_to_batch(is_padding, (count, 2)), broadcast_to_batch(one, (count, 2)), zero
    )
    indices = lax.convert_element_type(
        lax.concatenate([leading_indices, out_index], 1), aval_of(lhs.indices).dtype
    )
    return BCOO((lax.reshape(product, (count,)), indices), shape=(1, 1, length))
