"""The rules of `sparsify`: operations on dense arrays, applied to sparse ones.

An operation that maps zeros to zeros is applied to the stored elements.  An operation with
a dense result has no rule and raises an error: users densify explicitly, with `todense`.

Next: sparsify.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.core import Primitive
from ...prims import lax
from ...prims.shape import diagonals
from ...types import dtypes
from .base import SparseInfo, with_data
from .bcoo import buffers, elements
from .bcoo_dense import bcoo_todense
from .bcoo_dot import bcoo_dot_general
from .bcoo_layout import bcoo_sum_duplicates, bcoo_transpose
from .bcoo_products import (
    bcoo_conv_general_dilated,
    bcoo_multiply_sparse,
    over_dense,
    times_dense,
)
from .bcoo_shape import *
from .bcoo_slicing import *
from .bcsr import BCSR, from_bcoo, to_bcoo
from .bcsr_ops import bcsr_broadcast_in_dim, bcsr_concatenate, bcsr_dot_general
from .kernels import *
from .tracing import densifying, is_sparse, no_rule, sparse_rules_bcoo, sparse_rules_bcsr

__all__ = ()

Rule = Callable[..., Any]


def rule(*prims: Primitive, include_bcsr: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule of primitives for BCOO arrays, and with `include_bcsr` for BCSR arrays."""

    def register(fun: Rule) -> Rule:
        sparse_rules_bcoo.update(dict.fromkeys(prims, fun))
        return bcsr_rule(*prims)(fun) if include_bcsr else fun

    return register


def bcsr_rule(*prims: Primitive) -> Callable[[Rule], Rule]:
    """Register a rule of primitives for BCSR arrays."""

    def register(fun: Rule) -> Rule:
        sparse_rules_bcsr.update(dict.fromkeys(prims, fun))
        return fun

    return register


densifying.update(
    {
        lax.acos_p,
        lax.acosh_p,
        lax.bessel_i0e_p,
        lax.cos_p,
        lax.cosh_p,
        lax.eq_p,
        lax.exp_p,
        lax.ge_p,
        lax.gt_p,
        lax.le_p,
        lax.log_p,
        lax.lt_p,
        lax.ne_p,
        lax.xor_p,
    }
)

# ------------------------------------------------------------------------- elementwise


def unique(mat: Any) -> Any:
    """Return the array with each position stored once."""
    if mat.unique_indices:
        return mat
    if isinstance(mat, BCSR):
        return from_bcoo(unique(to_bcoo(mat)))
    return bcoo_sum_duplicates(mat, nse=mat.nse)


def _linear(prim: Primitive) -> Rule:
    return lambda x, **params: with_data(x, prim.bind(x.data, **params))


def _keeps_zeros(prim: Primitive) -> Rule:
    def fun(x: Any, **params: Any) -> Any:
        x = unique(x)
        return with_data(x, prim.bind(x.data, **params))

    return fun


for prim in (lax.conj_p, lax.copy_p, lax.imag_p, lax.neg_p, lax.real_p):
    rule(prim, include_bcsr=True)(_linear(prim))
for prim in (
    lax.abs_p,
    lax.asin_p,
    lax.asinh_p,
    lax.atan_p,
    lax.atanh_p,
    lax.bessel_i1e_p,
    lax.cbrt_p,
    lax.ceil_p,
    lax.convert_element_type_p,
    lax.erf_p,
    lax.expm1_p,
    lax.floor_p,
    lax.log1p_p,
    lax.reduce_precision_p,
    lax.round_p,
    lax.sign_p,
    lax.sin_p,
    lax.sinh_p,
    lax.sqrt_p,
    lax.square_p,
    lax.tan_p,
    lax.tanh_p,
):
    rule(prim, include_bcsr=True)(_keeps_zeros(prim))


@rule(lax.integer_pow_p, include_bcsr=True)
def _integer_pow(x: Any, *, y: int) -> Any:
    if y <= 0:
        raise no_rule(lax.integer_pow_p, f"with non-positive exponent {y}")
    return _keeps_zeros(lax.integer_pow_p)(x, y=y)


@rule(lax.add_p)
def _add(x: Any, y: Any) -> Any:
    return _sum(x, y, lax.add)


@rule(lax.or_p)
def _or(x: Any, y: Any) -> Any:
    if (x if is_sparse(x) else y).dtype != dtypes.bool_:
        raise no_rule(lax.or_p)
    return _sum(x, y, lax.bitwise_or)


def _sum(x: Any, y: Any, plus: Rule) -> Any:
    if not is_sparse(x) or not is_sparse(y):
        mat, v = (x, y) if is_sparse(x) else (y, x)
        if span(mat.shape, shape_of(v)) != shape_of(v):
            raise NotImplementedError(
                "Addition between a sparse array X and a dense array Y is not implemented"
                " when the output shape is larger than Y.shape. This is to prevent silent"
                " densification of a large sparse array. If this is your intent, you can"
                " explicitly cast the sparse array to a dense matrix."
            )
        return plus(mat.todense(), v)
    if x.shape != y.shape:
        raise NotImplementedError("Addition between sparse matrices of different shapes.")
    # Identity, not equality: traced indices cannot be compared.
    if x.indices is y.indices:
        return with_data(x, plus(x.data, y.data))
    if (x.n_batch, x.n_dense) != (y.n_batch, y.n_dense):
        raise NotImplementedError(
            "Addition between sparse matrices with different batch/dense dimensions."
        )
    n = x.n_batch
    joined = []
    for a, b in ((x.data, y.data), (x.indices, y.indices)):
        batch = span(shape_of(a)[:n], shape_of(b)[:n])
        both = [broadcast_to_batch(z, batch) for z in (a, b)]
        joined.append(lax.concatenate(both, n))
    return buffers(joined[0], joined[1], SparseInfo(tuple(x.shape)))


@rule(lax.sub_p)
def _sub(x: Any, y: Any) -> Any:
    if not is_sparse(x) or not is_sparse(y):
        raise NotImplementedError("Subtraction between sparse and dense array.")
    return _add(x, with_data(y, lax.neg(y.data)))


@rule(lax.and_p)
def _and(x: Any, y: Any) -> Any:
    if (x if is_sparse(x) else y).dtype != dtypes.bool_:
        raise no_rule(lax.and_p)
    return _mul(x, y)


@rule(lax.mul_p)
def _mul(x: Any, y: Any) -> Any:
    if not is_sparse(x) or not is_sparse(y):
        mat, v = (x, y) if is_sparse(x) else (y, x)
        return with_data(mat, times_dense(mat, v))
    # With duplicates, products of single elements would miss the cross terms.
    if x.indices is y.indices and x.unique_indices:
        return with_data(x, multiplied(x.data, y.data, x.dtype))
    return bcoo_multiply_sparse(x, y)


@rule(lax.div_p)
def _div(x: Any, y: Any, **params: Any) -> Any:
    if is_sparse(y):
        raise NotImplementedError(
            "Division by a sparse array is not implemented because it would result in"
            " dense output. If this is your intent, use sparse.todense() to convert your"
            " arguments to a dense array."
        )
    return with_data(x, over_dense(x, y, **params))


# ------------------------------------------------------------------- shapes, products

rule(lax.broadcast_in_dim_p)(bcoo_broadcast_in_dim)
rule(lax.conv_general_dilated_p)(bcoo_conv_general_dilated)
rule(lax.dot_general_p)(bcoo_dot_general)
rule(lax.reshape_p)(bcoo_reshape)
rule(lax.rev_p)(bcoo_rev)
rule(lax.slice_p)(bcoo_slice)
rule(lax.squeeze_p)(bcoo_squeeze)
bcsr_rule(lax.broadcast_in_dim_p)(bcsr_broadcast_in_dim)
bcsr_rule(lax.dot_general_p)(bcsr_dot_general)


@rule(diagonals.diagonal_p)
def _diagonal(x: Any, *, offset: int) -> Any:
    """Take a strided slice of the flattened matrix, as for dense matrices."""
    reshape = lambda x, sizes: bcoo_reshape(x, new_sizes=sizes)
    return diagonals.sliced(x, x.shape, offset, reshape, bcoo_slice)


@rule(lax.transpose_p)
def _transpose(x: Any, *, permutation: Sequence[int]) -> Any:
    out = bcoo_transpose(x, permutation=permutation)
    n, k = x.n_batch, x.n_sparse
    is_moved = [a != i for i, a in enumerate(permutation)]
    # Return unchanged buffers themselves: sums test whether indices are the same object.
    data = out.data if any((*is_moved[:n], *is_moved[n + k :])) else x.data
    indices = out.indices if any(is_moved[: n + k]) else x.indices
    return buffers(data, indices, out._info)


@rule(lax.concatenate_p)
def _concatenate(*xs: Any, dimension: int) -> Any:
    return bcoo_concatenate(xs, dimension=dimension)


@bcsr_rule(lax.concatenate_p)
def _concatenate_rows(*xs: Any, dimension: int) -> Any:
    return bcsr_concatenate(xs, dimension=dimension)


def _stacked(broadcast: Rule, concatenate: Rule) -> Rule:
    def fun(*xs: Any, axis: int) -> Any:
        shape = (*xs[0].shape[:axis], 1, *xs[0].shape[axis:])
        dims = [d for d in range(len(shape)) if d != axis]
        wide = [broadcast(x, shape=shape, broadcast_dimensions=dims) for x in xs]
        return concatenate(wide, dimension=axis)

    return fun


rule(lax.stack_p)(_stacked(bcoo_broadcast_in_dim, bcoo_concatenate))
bcsr_rule(lax.stack_p)(_stacked(bcsr_broadcast_in_dim, bcsr_concatenate))


@rule(lax.dynamic_slice_p)
def _dynamic_slice(x: Any, *starts: Any, slice_sizes: Any) -> Any:
    return bcoo_dynamic_slice(x, starts, slice_sizes)


@rule(lax.gather_p)
def _gather(x: Any, start: Any, *, dimension_numbers: Any, slice_sizes: Any, **p: Any):
    return bcoo_gather(x, start, dimension_numbers, slice_sizes, **p)


@rule(lax.reduce_sum_p)
def _reduce_sum(x: Any, *, axes: Any, out_sharding: Any = None) -> Any:
    out = bcoo_reduce_sum(x, axes=axes)
    return bcoo_todense(out) if elements(out.shape) == 1 and not out.shape else out
