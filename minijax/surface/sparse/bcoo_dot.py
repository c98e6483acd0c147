"""`dot_general` of BCOO arrays: with dense arrays, with each other, and the elements of
dense products at stored positions.

All three are bilinear, and their transposes are of the same kinds.  For sparse times
dense, the transpose with respect to the data is a dense product at stored positions; the
transpose with respect to the dense operand is a product with the same sparse array.

Next: bcoo_shape.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base import errors
from ...ir.core import Primitive, aval_of
from ...passes import ad_util
from ...passes.ad_util import Zero, is_linear
from ...passes.batch import move_lane
from ...prims import lax, promotion
from ...prims.dot.dot import dot_shape, free_axes, product_dtype
from ...types import dtypes
from ...types.avals import shaped
from .. import jnp
from .base import SparseInfo
from .bcoo import (
    BCOO,
    Properties,
    buffers,
    check_bcoo,
    check_indices,
    elements,
    in_front,
    index_cotangent,
    infos_in_front,
    lowers_as,
    transposed_by,
)
from .bcoo_layout import bcoo_sum_duplicates_p
from .kernels import *

__all__ = (
    "bcoo_dot_general_p",
    "bcoo_dot_general",
    "bcoo_dot_general_sampled_p",
    "bcoo_dot_general_sampled",
    "bcoo_spdot_general_p",
    "product_type",
    "labels_of",
)

Dims = Any  # ((lhs contracting, rhs contracting), (lhs batch, rhs batch))


def canonical_dims(dims: Dims) -> Dims:
    """Return dimension numbers as tuples of ints."""
    return tuple(tuple(tuple(map(int, side)) for side in pair) for pair in dims)


def labels_of(dims: Dims, lhs_rank: int, rhs_rank: int) -> tuple[list[int], list[int]]:
    """Return the labels of the axes of rhs and of the result; lhs has 0, 1, 2 ..."""
    (lhs_c, rhs_c), (lhs_b, rhs_b) = dims
    labels = [-1] * rhs_rank
    for i, j in zip((*lhs_c, *lhs_b), (*rhs_c, *rhs_b), strict=True):
        labels[j] = i
    fresh_labels = iter(range(lhs_rank, lhs_rank + rhs_rank))
    labels = [next(fresh_labels) if a < 0 else a for a in labels]
    out = [*lhs_b, *free_axes(lhs_rank, lhs_c, lhs_b)]
    return labels, out + [a for a in labels if a >= lhs_rank]


def product_type(name: str, lhs: Any, rhs: Any, dims: Dims, preferred: Any) -> Any:
    """Return the type of `lax.dot_general` of these types."""
    dtype = product_dtype(name, lhs.dtype, rhs.dtype, preferred)
    return shaped(dot_shape(lhs, rhs, dims), dtype)


# ------------------------------------------------------------------------- dot_general

bcoo_dot_general_p = Primitive("bcoo_dot_general")


def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: None = None,
    preferred_element_type: None = None,
    out_sharding: Any = None,
) -> Any:
    """Compute `lax.dot_general` where at least one operand is a BCOO array.

    Args:
      lhs: a BCOO or dense array.
      rhs: a BCOO or dense array.
      dimension_numbers: `((lhs contracting, rhs contracting), (lhs batch, rhs batch))`,
        axes by number; batch axes must be batch axes of the sparse operand.
      precision: without effect on sparse products.
      preferred_element_type: the dtype of the result.
      out_sharding: without effect on sparse products.

    Returns:
      A dense array if one operand is dense, a BCOO array of the product of two.

    Raises:
      NotImplementedError: dense axes are contracted, or batch axes of two sparse
        operands.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.array([2., 3.]), jnp.array([[0, 1], [1, 0]])), shape=(2, 2))
      >>> bcoo_dot_general(m, jnp.eye(2), dimension_numbers=(([1], [0]), ([], [])))
      Array([[0., 2.],
             [3., 0.]], dtype=float32)
    """
    del precision, out_sharding
    dims = canonical_dims(dimension_numbers)
    preferred = preferred_element_type
    if preferred is not None:
        preferred = dtypes.canonical(preferred)
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        return _sparse_product(lhs, rhs, dims, preferred)
    if isinstance(lhs, BCOO):
        return bcoo_dot_general_p.bind(
            lhs.data,
            lhs.indices,
            jnp.asarray(rhs),
            dimension_numbers=dims,
            lhs_spinfo=lhs._info,
            preferred_element_type=preferred,
        )
    if not isinstance(rhs, BCOO):
        return lax.dot_general(lhs, rhs, dims, preferred_element_type=preferred)
    lhs = jnp.asarray(lhs)
    (lhs_c, rhs_c), (lhs_b, rhs_b) = dims
    swapped = ((rhs_c, lhs_c), (rhs_b, lhs_b))
    out = bcoo_dot_general_p.bind(
        rhs.data,
        rhs.indices,
        lhs,
        dimension_numbers=swapped,
        lhs_spinfo=rhs._info,
        preferred_element_type=preferred,
    )
    n_batch = len(lhs_b)
    n_rhs = rhs.ndim - n_batch - len(rhs_c)
    rank = out.ndim
    leading_axes = (*range(n_batch), *range(n_batch + n_rhs, rank))
    return lax.transpose(out, (*leading_axes, *range(n_batch, n_batch + n_rhs)))


def _dot_type(
    data: Any,
    indices: Any,
    rhs: Any,
    *,
    dimension_numbers: Dims,
    lhs_spinfo: SparseInfo,
    preferred_element_type: Any,
) -> Any:
    props = check_bcoo(data, indices, lhs_spinfo.shape)
    lhs = shaped(tuple(lhs_spinfo.shape), data.dtype)
    name = "bcoo_dot_general"
    out = product_type(name, lhs, rhs, dimension_numbers, preferred_element_type)
    (lhs_c, _), (lhs_b, _) = dimension_numbers
    check_axes(name, lhs_c, lhs_b, props)
    return out


def check_axes(name: str, summed: Any, batch: Any, props: Properties) -> None:
    """Raise NotImplementedError unless a sparse operand can be contracted over the axes."""
    if any(d >= props.n_batch for d in batch):
        raise NotImplementedError(
            f"{name} batch dimensions must be among the batch dimensions in the sparse"
            f" representation.\ngot lhs_batch={tuple(batch)}, n_batch={props.n_batch}"
        )
    if any(d >= props.n_batch + props.n_sparse for d in summed):
        raise NotImplementedError(f"{name}: contracting over dense dimensions.")


def _dot(
    data: Any,
    indices: Any,
    rhs: Any,
    *,
    dimension_numbers: Dims,
    lhs_spinfo: SparseInfo,
    preferred_element_type: Any,
) -> Any:
    shape = tuple(lhs_spinfo.shape)
    labels, out = labels_of(dimension_numbers, len(shape), len(shape_of(rhs)))
    operand_dtypes = aval_of(data).dtype, aval_of(rhs).dtype
    dtype = product_dtype("bcoo_dot_general", *operand_dtypes, preferred_element_type)
    return sparse_einsum(data, indices, shape, rhs, labels, out, dtype)


bcoo_dot_general_p.abstract = _dot_type


def bilinear_jvp(prim: Primitive, first: int, second: int) -> None:
    """Set the jvp of a primitive that is linear in each of two operands."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        out = prim.bind(*primals, **params)
        single = not prim.multiple_results
        head = out if single else out[0]
        total: Any = Zero(aval_of(head).to_tangent())
        for i in (first, second):
            if type(tangents[i]) is not Zero:
                operands = [*primals[:i], tangents[i], *primals[i + 1 :]]
                contribution = prim.bind(*operands, **params)
                total = ad_util.add(total, contribution if single else contribution[0])
        if single:
            return out, total
        return out, [total, *(Zero(aval_of(x).to_tangent()) for x in out[1:])]

    prim.jvp = jvp


bilinear_jvp(bcoo_dot_general_p, 0, 2)


def _dot_transpose(
    ct: Any,
    data: Any,
    indices: Any,
    rhs: Any,
    *,
    dimension_numbers: Dims,
    lhs_spinfo: SparseInfo,
    preferred_element_type: Any,
) -> Any:
    index_cotangent(indices)
    shape = tuple(lhs_spinfo.shape)
    if is_linear(data):
        labels, out = labels_of(dimension_numbers, len(shape), len(shape_of(rhs)))
        data_ct = sampled_einsum(ct, out, rhs, labels, indices, len(shape), data.aval.dtype)
        return [sum_to_shape(data_ct, data.aval.shape), None, None]
    labels, out = labels_of(dimension_numbers, len(shape), len(rhs.aval.shape))
    # Labels that only lhs has are summed; labels that only the result has come from `ct`.
    rhs_ct = sparse_einsum(data, indices, shape, ct, out, labels, rhs.aval.dtype)
    return [None, None, rhs_ct]


bcoo_dot_general_p.transpose = _dot_transpose


def _dot_batch(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    dimension_numbers: Dims,
    lhs_spinfo: SparseInfo,
    preferred_element_type: Any,
) -> Any:
    (data, indices, rhs), (i, j, k) = args, dims
    (lhs_c, rhs_c), (lhs_b, rhs_b) = dimension_numbers
    params = {"preferred_element_type": preferred_element_type}
    up = lambda xs: tuple(x + 1 for x in xs)
    if i is None and j is None:  # only rhs is mapped: its lane axis is a free axis
        rhs = move_lane(rhs, axis, k, 0)
        out = bcoo_dot_general_p.bind(
            data,
            indices,
            rhs,
            lhs_spinfo=lhs_spinfo,
            **params,
            dimension_numbers=((lhs_c, up(rhs_c)), (lhs_b, up(rhs_b))),
        )
        return out, len(lhs_spinfo.shape) - len(lhs_c)
    data, indices = in_front(axis, data, i), in_front(axis, indices, j)
    lhs_spinfo = infos_in_front(axis, lhs_spinfo)
    params["lhs_spinfo"] = lhs_spinfo
    if k is None:  # only lhs is mapped: its lane axis is a batch axis of lhs alone
        out = bcoo_dot_general_p.bind(
            data,
            indices,
            rhs,
            **params,
            dimension_numbers=((up(lhs_c), rhs_c), (up(lhs_b), rhs_b)),
        )
        return out, len(lhs_b)
    rhs = move_lane(rhs, axis, k, 0)
    both = ((up(lhs_c), up(rhs_c)), ((0, *up(lhs_b)), (0, *up(rhs_b))))
    out = bcoo_dot_general_p.bind(data, indices, rhs, **params, dimension_numbers=both)
    return out, 0


bcoo_dot_general_p.batch = _dot_batch
lowers_as(bcoo_dot_general_p, _dot)

# ------------------------------------------------------------------- of dense operands

bcoo_dot_general_sampled_p = Primitive("bcoo_dot_general_sampled")


def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Any:
    """Return the elements of `lax.dot_general(A, B)` at the positions of a BCOO array.

    Args:
      A: an array.
      B: an array.
      indices: indices of a BCOO array of the product's shape: (batch..., nse, number of
        sparse axes).
      dimension_numbers: `((A contracting, B contracting), (A batch, B batch))`.

    Returns:
      The data of that array: (batch..., nse, dense...).  Other elements of the product are
      not computed.

    Example:
      >>> import minijax.numpy as jnp
      >>> dims = (([1], [0]), ([], []))
      >>> at = jnp.array([[0, 1], [1, 1]])
      >>> bcoo_dot_general_sampled(jnp.eye(2), 2 * jnp.ones((2, 2)), at,
      ...                          dimension_numbers=dims)
      Array([2., 2.], dtype=float32)
    """
    A, B, indices = map(jnp.asarray, (A, B, indices))
    dims = canonical_dims(dimension_numbers)
    return bcoo_dot_general_sampled_p.bind(A, B, indices, dimension_numbers=dims)


def _sampled_type(A: Any, B: Any, indices: Any, *, dimension_numbers: Dims) -> Any:
    out = product_type("dot_general", A, B, dimension_numbers, None)
    n_batch, n_sparse, _, nse = check_indices(indices, out.shape)
    batch = out.shape[:n_batch]
    return shaped((*batch, nse, *out.shape[n_batch + n_sparse :]), out.dtype)


def product_labels(dims: Dims, rank_a: int, rank_b: int) -> tuple[list[int], list[int]]:
    """Return the labels of both operands' axes; the axes of the product have 0, 1, 2 ..."""
    labels_b, out = labels_of(dims, rank_a, rank_b)
    number = {a: i for i, a in enumerate(out)}
    num_out = len(out)
    contracted_labels = {a: num_out + i for i, a in enumerate(dims[0][0])}
    number.update(contracted_labels)
    return [number[a] for a in range(rank_a)], [number[a] for a in labels_b]


def _sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Dims) -> Any:
    a, b = aval_of(A), aval_of(B)
    out = product_type("dot_general", a, b, dimension_numbers, None)
    labels = product_labels(dimension_numbers, len(a.shape), len(b.shape))
    data = sampled_einsum(A, labels[0], B, labels[1], indices, out.ndim, out.dtype)
    return broadcast_to_batch(data, out.shape[: len(shape_of(indices)) - 2])


bcoo_dot_general_sampled_p.abstract = _sampled_type
bilinear_jvp(bcoo_dot_general_sampled_p, 0, 1)


def _sampled_transpose(
    ct: Any, A: Any, B: Any, indices: Any, *, dimension_numbers: Dims
) -> Any:
    index_cotangent(indices)
    a, b = aval_of(A), aval_of(B)
    shape = dot_shape(a, b, dimension_numbers)
    labels = product_labels(dimension_numbers, len(a.shape), len(b.shape))
    if is_linear(A):
        operand_ct = sparse_einsum(ct, indices, shape, B, labels[1], labels[0], a.dtype)
        return [operand_ct, None, None]
    operand_ct = sparse_einsum(ct, indices, shape, A, labels[0], labels[1], b.dtype)
    return [None, operand_ct, None]


bcoo_dot_general_sampled_p.transpose = _sampled_transpose


def _sampled_batch(axis: Any, args: Any, dims: Any, *, dimension_numbers: Dims) -> Any:
    A, B, indices = (move_lane(x, axis, d, 0) for x, d in zip(args, dims, strict=True))
    (a_c, b_c), (a_b, b_b) = (
        tuple(tuple(x + 1 for x in side) for side in pair) for pair in dimension_numbers
    )
    both = ((a_c, b_c), ((0, *a_b), (0, *b_b)))
    out = bcoo_dot_general_sampled_p.bind(A, B, indices, dimension_numbers=both)
    return out, 0


bcoo_dot_general_sampled_p.batch = _sampled_batch
lowers_as(bcoo_dot_general_sampled_p, _sampled)

# ------------------------------------------------------------------------- sparse both

bcoo_spdot_general_p = Primitive("bcoo_spdot_general", multiple_results=True)


def _sparse_product(lhs: Any, rhs: Any, dims: Dims, preferred: Any) -> Any:
    (lhs_c, rhs_c), (lhs_b, rhs_b) = dims
    outs = bcoo_spdot_general_p.bind(
        *lhs._bufs,
        *rhs._bufs,
        lhs_spinfo=lhs._info,
        rhs_spinfo=rhs._info,
        dimension_numbers=dims,
        preferred_element_type=preferred,
    )
    shape = [lhs.shape[i] for i in lhs_b]
    shape += [lhs.shape[i] for i in free_axes(lhs.ndim, lhs_c, lhs_b)]
    shape += [rhs.shape[i] for i in free_axes(rhs.ndim, rhs_c, rhs_b)]
    return buffers(outs[0], outs[1], SparseInfo(tuple(shape)))


def _spdot_type(
    lhs_data: Any,
    lhs_indices: Any,
    rhs_data: Any,
    rhs_indices: Any,
    *,
    lhs_spinfo: SparseInfo,
    rhs_spinfo: SparseInfo,
    dimension_numbers: Dims,
    preferred_element_type: Any,
) -> list[Any]:
    left, right = tuple(lhs_spinfo.shape), tuple(rhs_spinfo.shape)
    name = "bcoo_spdot_general"
    out = product_type(
        name,
        shaped(left, lhs_data.dtype),
        shaped(right, rhs_data.dtype),
        dimension_numbers,
        preferred_element_type,
    )
    lhs = check_bcoo(lhs_data, lhs_indices, left)
    rhs = check_bcoo(rhs_data, rhs_indices, right)
    (lhs_c, rhs_c), (lhs_b, rhs_b) = dimension_numbers
    if lhs.n_dense or rhs.n_dense:
        raise NotImplementedError(f"{name} with dense dimensions.")
    if any(d >= lhs.n_batch for d in lhs_b) or any(d >= rhs.n_batch for d in rhs_b):
        raise NotImplementedError(
            f"{name}: batch_dims must correspond to batch dimensions of the sparse"
            " representation."
        )
    if any(d < lhs.n_batch for d in lhs_c) or any(d < rhs.n_batch for d in rhs_c):
        raise NotImplementedError(f"{name} only supports contraction of sparse indices.")
    if rhs.n_batch > len(rhs_b) and lhs.n_sparse > len(lhs_c):
        raise errors.value_error(
            f"{name}: cannot have unused batch dims on rhs with unused sparse dims on lhs.",
            why="the batch axes of the result must precede its sparse axes.",
            tries=["bcoo_update_layout(rhs, n_batch=...) first"],
        )
    batch = _pair_batch(
        lhs_data, lhs_indices, rhs_data, rhs_indices, lhs, rhs, dimension_numbers
    )
    n = lhs.n_batch + rhs.n_batch - len(lhs_b)
    batch_shape = [m if k != 1 else 1 for m, k in zip(out.shape[:n], batch, strict=True)]
    for i in range(len(lhs_b)):
        batch_shape[i] = out.shape[i]
    nse = _pair_nse(lhs, rhs, dimension_numbers, out.shape)
    n_sparse = lhs.n_sparse + rhs.n_sparse - 2 * len(lhs_c)
    index = promotion.promote(((lhs_indices.dtype, False), (rhs_indices.dtype, False)))[0]
    return [
        shaped((*batch_shape, nse), out.dtype),
        shaped((*batch_shape, nse, n_sparse), index),
    ]


def _pair_nse(lhs: Properties, rhs: Properties, dims: Dims, out: Sequence[int]) -> int:
    """Return the number of stored elements: one per pair, at most the result's size."""
    (lhs_c, _), (lhs_b, _) = dims
    left = lhs.nse if lhs.n_sparse > len(lhs_c) else 1
    right = rhs.nse if rhs.n_sparse > len(lhs_c) else 1
    return min(left * right, elements(out[lhs.n_batch + rhs.n_batch - len(lhs_b) :]))


def _pair_batch(
    lhs_data: Any,
    lhs_indices: Any,
    rhs_data: Any,
    rhs_indices: Any,
    lhs: Properties,
    rhs: Properties,
    dims: Dims,
) -> list[int]:
    """Return the batch shape of a product's buffers: common axes, lhs's, then rhs's."""
    lhs_b, rhs_b = dims[1]
    left = span(shape_of(lhs_data)[: lhs.n_batch], shape_of(lhs_indices)[: lhs.n_batch])
    right = span(shape_of(rhs_data)[: rhs.n_batch], shape_of(rhs_indices)[: rhs.n_batch])
    common = span([left[i] for i in lhs_b], [right[i] for i in rhs_b])
    free = [left[i] for i in range(lhs.n_batch) if i not in lhs_b]
    return [*common, *free, *(right[i] for i in range(rhs.n_batch) if i not in rhs_b)]


def _spdot(
    lhs_data: Any,
    lhs_indices: Any,
    rhs_data: Any,
    rhs_indices: Any,
    *,
    lhs_spinfo: SparseInfo,
    rhs_spinfo: SparseInfo,
    dimension_numbers: Dims,
    preferred_element_type: Any,
) -> list[Any]:
    types = _spdot_type(
        *map(aval_of, (lhs_data, lhs_indices, rhs_data, rhs_indices)),
        lhs_spinfo=lhs_spinfo,
        rhs_spinfo=rhs_spinfo,
        dimension_numbers=dimension_numbers,
        preferred_element_type=preferred_element_type,
    )
    lhs = check_indices(lhs_indices, lhs_spinfo.shape)
    rhs = check_indices(rhs_indices, rhs_spinfo.shape)
    (lhs_c, rhs_c), (lhs_b, rhs_b) = dimension_numbers
    lhs_free = [i for i in range(lhs.n_batch) if i not in lhs_b]
    rhs_free = [i for i in range(rhs.n_batch) if i not in rhs_b]
    n = len(lhs_b) + len(lhs_free) + len(rhs_free)
    # Axes of pairs: common batches, lhs batches, rhs batches, elements of lhs, of rhs.
    lhs_gap = range(len(lhs_b) + len(lhs_free), n)
    rhs_gap = range(len(lhs_b), len(lhs_b) + len(lhs_free))

    def left(x: Any) -> Any:
        rest = range(lhs.n_batch, len(shape_of(x)))
        x = lax.transpose(x, (*lhs_b, *lhs_free, *rest))
        return lax.expand_dims(x, (*lhs_gap, n + 1))

    def right(x: Any) -> Any:
        rest = range(rhs.n_batch, len(shape_of(x)))
        x = lax.transpose(x, (*rhs_b, *rhs_free, *rest))
        return lax.expand_dims(x, (*rhs_gap, n))

    index = types[1].dtype
    lhs_indices, rhs_indices = (
        lax.convert_element_type(x, index) for x in (lhs_indices, rhs_indices)
    )
    columns_l = [i - lhs.n_batch for i in lhs_c]
    columns_r = [i - rhs.n_batch for i in rhs_c]
    lhs_contracted = left(columns_of(lhs_indices, columns_l))
    rhs_contracted = right(columns_of(rhs_indices, columns_r))
    free_l = left(columns_of(lhs_indices, _others(lhs.n_sparse, columns_l)))
    free_r = right(columns_of(rhs_indices, _others(rhs.n_sparse, columns_r)))
    batch = list(
        span(
            *(
                shape_of(x)[:n]
                for x in (lhs_contracted, rhs_contracted, left(lhs_data), right(rhs_data))
            )
        )
    )
    pairs = (*batch, lhs.nse, rhs.nse)
    is_match = _meet(lhs_contracted, rhs_contracted, pairs)
    for align, operand_indices, info, props in (
        (left, lhs_indices, lhs_spinfo, lhs),
        (right, rhs_indices, rhs_spinfo, rhs),
    ):
        inside = lax.squeeze(align(_inside(operand_indices, info, props)), (n + 2,))
        is_match = lax.bitwise_and(is_match, broadcast_to_batch(inside, pairs))
    dtype = types[0].dtype
    product = multiplied(left(lhs_data), right(rhs_data), dtype)
    product = broadcast_to_batch(product, pairs)
    product = lax.select(is_match, product, lax.full_like(product, 0))
    return _stored_pairs(
        product,
        is_match,
        free_l,
        free_r,
        types,
        lhs,
        rhs,
        lhs_spinfo,
        rhs_spinfo,
        dimension_numbers,
        n,
    )


def _inside(indices: Any, info: SparseInfo, props: Any) -> Any:
    """Return the mask of elements that are in bounds, with a trailing axis of size 1."""
    sizes = info.shape[props.n_batch : props.n_batch + props.n_sparse]
    return lax.expand_dims(in_bounds(indices, sizes), (props.n_batch + 1,))


def _stored_pairs(
    product: Any,
    same: Any,
    free_l: Any,
    free_r: Any,
    types: Any,
    lhs: Any,
    rhs: Any,
    lhs_spinfo: Any,
    rhs_spinfo: Any,
    dims: Dims,
    n: int,
) -> list[Any]:
    """Return products of pairs as stored elements, at the joined free indices of both."""
    pairs, (data, indices) = shape_of(product), types
    k = indices.shape[-1]
    # An operand with all indices contracted contributes no free index: sum its pairs now.
    summed_axes = [n + i for i, x in enumerate((free_l, free_r)) if not shape_of(x)[-1]]
    if summed_axes:
        product = full_sum(product, summed_axes)
        same = lax.reduce_or(same, tuple(summed_axes))
    remaining_axes = [i for i in (n, n + 1) if i not in summed_axes]
    count = elements(pairs[i] for i in remaining_axes)  # type: ignore[arg-type]
    batch = pairs[:n]
    shape = (*batch, *(pairs[i] for i in remaining_axes))
    index_columns = []
    for x in (free_l, free_r):
        if m := shape_of(x)[-1]:
            x = lax.reshape(
                x,
                (
                    *(shape_of(x)[i] for i in range(n)),
                    *(shape_of(x)[i] for i in remaining_axes),
                    m,
                ),
            )
            index_columns.append(broadcast_to_batch(x, shape))
    product = lax.reshape(product, (*batch, count))
    wide = indices.shape[:n]
    if not k:
        out_indices = lax.full((*batch, count, 0), 0, indices.dtype)
        product = broadcast_to_batch(product, wide)
        return [product, broadcast_to_batch(out_indices, wide)]
    out_indices = lax.concatenate(index_columns, len(shape))
    out_indices = lax.reshape(out_indices, (*batch, count, k))
    same = lax.reshape(same, (*batch, count, 1))
    sizes = dot_shape(
        shaped(tuple(lhs_spinfo.shape), data.dtype),
        shaped(tuple(rhs_spinfo.shape), data.dtype),
        dims,
    )
    out_indices = lax.select(
        broadcast_to_batch(same, shape_of(out_indices)),
        out_indices,
        ends(out_indices, sizes[n:]),
    )
    product, out_indices = (
        broadcast_to_batch(product, wide),
        broadcast_to_batch(out_indices, wide),
    )
    nse = data.shape[n]
    if nse != count:
        full = tuple(m if w != 1 else 1 for m, w in zip(sizes[:n], wide, strict=True))
        info = SparseInfo((*full, *sizes[n:]))
        return list(bcoo_sum_duplicates_p.bind(product, out_indices, spinfo=info, nse=nse))
    return [product, out_indices]


def _others(n: int, excluded: Sequence[int]) -> list[int]:
    return [i for i in range(n) if i not in excluded]


def _meet(x: Any, y: Any, pairs: Any) -> Any:
    """Return the mask of pairs with equal indices."""
    if not shape_of(x)[-1]:
        return lax.full(pairs, True, dtypes.bool_)
    shape = span(shape_of(x), shape_of(y))
    equal = lax.eq(broadcast_to_batch(x, shape), broadcast_to_batch(y, shape))
    return broadcast_to_batch(lax.reduce_and(equal, (len(shape) - 1,)), pairs)


bcoo_spdot_general_p.abstract = _spdot_type
bilinear_jvp(bcoo_spdot_general_p, 0, 2)
bcoo_spdot_general_p.transpose = transposed_by(_spdot)


def _spdot_batch(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    lhs_spinfo: SparseInfo,
    rhs_spinfo: SparseInfo,
    dimension_numbers: Dims,
    **params: Any,
) -> Any:
    args = [in_front(axis, x, d) for x, d in zip(args, dims, strict=True)]
    (lhs_c, rhs_c), (lhs_b, rhs_b) = (
        tuple(tuple(x + 1 for x in side) for side in pair) for pair in dimension_numbers
    )
    outs = bcoo_spdot_general_p.bind(
        *args,
        lhs_spinfo=infos_in_front(axis, lhs_spinfo),
        rhs_spinfo=infos_in_front(axis, rhs_spinfo),
        dimension_numbers=((lhs_c, rhs_c), ((0, *lhs_b), (0, *rhs_b))),
        **params,
    )
    return outs, [0, 0]


bcoo_spdot_general_p.batch = _spdot_batch
lowers_as(bcoo_spdot_general_p, _spdot)
