"""Dot products: `dot_general` and the functions over it.

    result[batch.., lhs_free.., rhs_free..] = sum over contracted axes of lhs * rhs

The free axes of an operand are neither batch axes nor contracted.  A dot is linear in each
operand.  Its transpose is the dot of the cotangent and the other operand over the other
operand's free axes.  If both operands have a lane axis, it becomes a batch axis; if one has
it, a free axis.  So every rule is a permutation of axes.

Source: the StableHLO specification, dot_general.  Next: ragged.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes

from ...analysis.cost_model import widened
from ...base import errors, util
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import Facts
from ...ir.sharding_rules import reduction_axes_of
from ...passes.ad_util import is_linear
from ...types import dtypes
from ...types.avals import ShapedArray, shaped
from ...types.type_sharding import axes_in
from .. import dtype_arguments
from ..elementwise import defjvp
from ..math.cast import cast
from ..shape.shapes import transpose
from ..sharding_specs import (
    add_lane_to_sharding,
    ambiguous_sharding_error,
    canonicalize_out_sharding,
    sharding_for_aval,
)
from . import precision as precisions

__all__ = ("DotDimensionNumbers", "dot_general_p", "dot_general", "dot", "batch_matmul")

DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]

# ---------------------------------------------------------------------- type of results


@util.cached(1024)
def _rank(dtype: Any) -> tuple[Any, ...]:
    """Return a dtype's rank; the operand dtype of higher rank is the dtype of the product.

    XLA's order: the wider range wins, then the finer step, then the wider storage, then the
    signed dtype."""
    real_dtype = dtypes.real_of(dtype)
    exponent = mantissa = -1
    if dtypes.is_float(real_dtype):
        info = ml_dtypes.finfo(real_dtype)
        exponent, mantissa = int(info.maxexp), int(info.nmant)
    signed = not dtypes.is_unsigned(real_dtype)
    return dtypes.is_complex(dtype), exponent, mantissa, bit_width(real_dtype), signed


@util.cached(1024)
def bit_width(dtype: Any) -> int:
    """Return the number of bits of one element of a real dtype."""
    if dtypes.is_bool(dtype):
        return 1
    if dtypes.is_float(dtype):
        return int(ml_dtypes.finfo(dtype).bits)
    return int(ml_dtypes.iinfo(dtype).bits)


def product_dtype(name: str, lhs: Any, rhs: Any, preferred: Any) -> Any:
    """Return the dtype of a sum of products of elements of `lhs` and `rhs`."""
    if lhs == rhs:
        dtype = lhs
    elif _rank(lhs) == _rank(rhs):
        raise errors.type_error(
            f"{name} argument type error: {lhs}, {rhs}.",
            why="Neither dtype contains all values of the other.",
            tries=["convert one operand with .astype(...)"],
        )
    else:
        dtype = max(lhs, rhs, key=_rank)
    if preferred is None:
        return dtype
    check_width(dtype, preferred)
    return preferred


def check_width(dtype: Any, preferred: Any) -> None:
    """Raise TypeError if integers or complex numbers are to be summed in fewer bits."""
    if dtypes.is_float(dtype) or dtypes.is_bool(dtype):
        return
    if bit_width(dtypes.real_of(preferred)) < bit_width(dtypes.real_of(dtype)):
        raise errors.type_error(
            "`preferred_element_type` must not be narrower than the original type,"
            f" got preferred_element_type of {preferred} for result type of"
            f" {dtype}.",
            tries=["omit it, and convert the result with .astype(...)"],
        )


def dot_shape(lhs: Any, rhs: Any, dims: Any) -> tuple[int, ...]:
    """Return the shape of a dot; raise TypeError for invalid dimension numbers."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dims
    for side, aval, summed, batch in (
        ("lhs", lhs, lhs_contracting, lhs_batch),
        ("rhs", rhs, rhs_contracting, rhs_batch),
    ):
        _check_side(side, aval, summed, batch)
    for what, left, right in (
        ("batch", lhs_batch, rhs_batch),
        ("contracting", lhs_contracting, rhs_contracting),
    ):
        if len(left) != len(right):
            raise _dim_error(
                f"equal numbers of lhs_{what} and rhs_{what} dimensions, got"
                f" lhs_{what} {left} and rhs_{what} {right}",
                lhs,
                rhs,
            )
        left_sizes = tuple(lhs.shape[i] for i in left)
        right_sizes = tuple(rhs.shape[i] for i in right)
        if left_sizes != right_sizes:
            words = "lhs batch dimensions and rhs batch" if what == "batch" else what
            raise _dim_error(
                f"{words} dimensions to have the same shape, got {left_sizes} and"
                f" {right_sizes}",
                lhs,
                rhs,
            )
    lhs_free = free_axes(lhs.ndim, lhs_contracting, lhs_batch)
    rhs_free = free_axes(rhs.ndim, rhs_contracting, rhs_batch)
    return (
        *(lhs.shape[i] for i in lhs_batch),
        *(lhs.shape[i] for i in lhs_free),
        *(rhs.shape[i] for i in rhs_free),
    )


def _check_side(side: str, aval: Any, summed: Any, batch: Any) -> None:
    if not all(0 <= i < aval.ndim for i in (*summed, *batch)):
        raise _dim_error(
            f"{side} dimension numbers to be nonnegative and less than the number of"
            f" axes of the {side} value, got {side}_batch of {batch} and"
            f" {side}_contracting of {summed} for {side} of rank {aval.ndim}",
            aval,
        )
    for what, axes in (("batch", batch), ("contracting", summed)):
        if len(set(axes)) != len(axes):
            raise _dim_error(
                f"{side} {what} dimensions to be distinct, got {side}_{what} {axes}", aval
            )
    if set(summed) & set(batch):
        raise _dim_error(
            f"{side} batch dimensions to be disjoint from contracting dimensions, got"
            f" {side}_batch {batch} and {side}_contracting {summed}",
            aval,
        )


def _dim_error(text: str, *avals: Any) -> TypeError:
    return errors.type_error(
        f"dot_general requires {text}.",
        which=", ".join(a.str_short(True) for a in avals),
        tries=["jnp.einsum or jnp.matmul, which find the dimension numbers"],
    )


def free_axes(ndim: int, *taken: Sequence[int]) -> tuple[int, ...]:
    """Return the axes below `ndim` that are in none of `taken`, ascending."""
    used = {i for axes in taken for i in axes}
    return tuple(i for i in range(ndim) if i not in used)


# -------------------------------------------------------------------------- dot_general

dot_general_p = Primitive("dot_general")


def _dot_abstract(
    lhs, rhs, *, dimension_numbers, precision, preferred_element_type, out_sharding
) -> ShapedArray:
    for position, aval in enumerate((lhs, rhs)):
        if dtypes.is_extended(aval.dtype):
            raise TypeError(
                f"dot_general does not accept dtype {aval.dtype} at position {position}."
            )
    dtype = product_dtype("dot_general", lhs.dtype, rhs.dtype, preferred_element_type)
    shape = dot_shape(lhs, rhs, dimension_numbers)
    return shaped(shape, dtype, lhs.weak_type and rhs.weak_type)


def _dot_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    (left, right), numbers = specs, params["dimension_numbers"]
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers
    batch = []
    for i, j in zip(lhs_batch, rhs_batch, strict=True):
        if None not in (left[i], right[j]) and left[i] != right[j]:
            raise ambiguous_sharding_error(
                "dot_general requires lhs batch dimensions and rhs batch dimensions to"
                f" have the consistent sharding, got {left[i]} and {right[j]}."
            )
        batch.append(left[i])  # replicated along it if lhs is
    contracted_entries = (
        tuple(left[i] for i in lhs_contracting),
        tuple(right[j] for j in rhs_contracting),
    )
    if any(a and b and a != b for a, b in zip(*contracted_entries, strict=True)):
        raise ambiguous_sharding_error(
            "dot_general requires contracting dimensions to have consistent sharding,"
            f" got {contracted_entries[0]} and {contracted_entries[1]}."
        )
    if any(a and b for a, b in zip(*contracted_entries, strict=True)):
        raise ambiguous_sharding_error(
            "Contracting dimensions are sharded and it is ambiguous how the output should"
            " be sharded. Please specify the output sharding via the `out_sharding`"
            f" parameter. Got lhs_contracting_spec={contracted_entries[0]} and"
            f" rhs_contracting_spec={contracted_entries[1]}",
            tries=["out_sharding=P(...)", "jax.sharding.reshard(x, sharding)"],
        )
    lhs_free = free_axes(avals[0].ndim, lhs_contracting, lhs_batch)
    rhs_free = free_axes(avals[1].ndim, rhs_contracting, rhs_batch)
    return [(*batch, *(left[i] for i in lhs_free), *(right[i] for i in rhs_free))]


def _check_unreduced(requested: Any, specs: Any, avals: Any, params: Any) -> None:
    """Raise unless the unreduced axes requested are the mesh axes of contracted axes."""
    unreduced = frozenset() if requested is None else requested.spec.unreduced
    (lhs_contracting, _), _ = params["dimension_numbers"]
    contracted_entries = tuple(specs[0][i] for i in lhs_contracting)
    before = frozenset().union(*[reduction_axes_of(a).unreduced for a in avals])
    if unreduced and unreduced != before | {
        a for entry in contracted_entries for a in axes_in(entry)
    }:
        raise ambiguous_sharding_error(
            "out_sharding's unreduced axes should be equal to the contracting specs. Got"
            f" unreduced axes={unreduced} and contracting spec={contracted_entries}",
            avals,
        )


dot_general_p.def_sharding(
    specs=_dot_specs,
    linear_in="product",
    request="out_sharding",
    check_request=_check_unreduced,
)


def _dot_transpose_one(ct, other, aval, own, others, left: bool, params):
    """Return the cotangent of one operand (with axes `own`: contracted, batch)."""
    (own_contracting, own_batch), (other_contracting, other_batch) = own, others
    own_free = free_axes(aval.ndim, own_contracting, own_batch)
    other_ndim = len(core.aval_of(other).shape)
    other_free = free_axes(other_ndim, other_contracting, other_batch)
    n, ct_ndim = len(own_batch), len(own_batch) + len(own_free) + len(other_free)
    ct_batch = tuple(range(n))
    start = n + len(own_free) if left else n
    ct_contracting = tuple(range(start, start + len(other_free)))
    assert len(core.aval_of(ct).shape) == ct_ndim
    # In the dot's result, the operand's contracted axes have the order of the other's.
    by_other = sorted(range(len(other_contracting)), key=other_contracting.__getitem__)
    axis_of_result = (*own_batch, *own_free, *(own_contracting[i] for i in by_other))
    out_sharding = sharding_for_aval(aval.to_ct_aval(), ct, other)
    if out_sharding is not None:
        entries = tuple(
            out_sharding.spec[i] if i < len(out_sharding.spec) else None for i in axis_of_result
        )
        out_sharding = out_sharding.with_spec(out_sharding.spec.update(partitions=entries))
    out = dot_general_p.bind(
        ct,
        other,
        dimension_numbers=((ct_contracting, other_free), (ct_batch, other_batch)),
        **{**params, "out_sharding": out_sharding},
    )
    out = transpose(out, tuple(sorted(range(aval.ndim), key=axis_of_result.__getitem__)))
    if core.aval_of(out).dtype != aval.dtype:
        out = cast(out, aval.dtype)
    return out


def _dot_transpose(ct, lhs, rhs, *, dimension_numbers, **params) -> list[Any]:
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    left, right = (lhs_contracting, lhs_batch), (rhs_contracting, rhs_batch)
    if is_linear(lhs):
        return [_dot_transpose_one(ct, rhs, lhs.aval, left, right, True, params), None]
    return [None, _dot_transpose_one(ct, lhs, rhs.aval, right, left, False, params)]


def _shift_axes(axes: Sequence[int], dim: int | None) -> tuple[int, ...]:
    """Return axes of one lane as axes of the operand with its lane axis."""
    if dim is None:
        return tuple(axes)
    return tuple(i + (i >= dim) for i in axes)


def batch_dimensions(
    ndims: Sequence[int], dims: Sequence[int | None], numbers: Any
) -> tuple[Any, int]:
    """Return the numbers of the dot over all lanes, and the result's lane axis."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers
    left, right = dims
    lhs_contracting, lhs_batch = (
        _shift_axes(lhs_contracting, left),
        _shift_axes(lhs_batch, left),
    )
    rhs_contracting, rhs_batch = (
        _shift_axes(rhs_contracting, right),
        _shift_axes(rhs_batch, right),
    )
    if left is not None and right is not None:
        return (
            (lhs_contracting, rhs_contracting),
            ((left, *lhs_batch), (right, *rhs_batch)),
        ), 0
    lhs_free = free_axes(ndims[0], lhs_contracting, lhs_batch)
    if left is not None:
        out = len(lhs_batch) + lhs_free.index(left)
    else:
        rhs_free = free_axes(ndims[1], rhs_contracting, rhs_batch)
        out = len(lhs_batch) + len(lhs_free) + rhs_free.index(right)
    return ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), out


def _dot_batch(axis, args, dims, *, dimension_numbers, **params):
    ndims = [len(core.aval_of(x).shape) for x in args]
    numbers, out = batch_dimensions(ndims, dims, dimension_numbers)
    params["out_sharding"] = add_lane_to_sharding(axis, params["out_sharding"], out)
    return dot_general_p.bind(*args, dimension_numbers=numbers, **params), out


def _dot_lower(ctx, lhs, rhs, *, dimension_numbers, precision, **_):
    left, right = ctx.avals_in
    (out,) = ctx.avals_out
    lhs, rhs, left, right, result, attrs = lower_precision(
        ctx, lhs, rhs, left, right, out, precision
    )
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    numbers = ctx.parse(
        f"#stablehlo.dot<lhs_batching_dimensions = {list(lhs_batch)},"
        f" rhs_batching_dimensions = {list(rhs_batch)},"
        f" lhs_contracting_dimensions = {list(lhs_contracting)},"
        f" rhs_contracting_dimensions = {list(rhs_contracting)}>"
    )
    y = ctx.op("dot_general", result, lhs, rhs, dot_dimension_numbers=numbers, **attrs)
    return y if result.dtype == out.dtype else ctx.op("convert", out, y)


def lower_precision(ctx, lhs, rhs, left, right, out, precision) -> tuple[Any, ...]:
    """Emit the conversions that XLA needs; return operands, types, and attributes."""
    attrs = {"precision_config": precisions.precision_attribute(ctx, precision)}
    algorithm = precisions.algorithm(precision, ctx.platform, left.dtype, right.dtype)
    float8 = left.dtype in dtypes.FLOAT8 and right.dtype in dtypes.FLOAT8
    if algorithm is None:
        if left.dtype != right.dtype and not float8:
            lhs, left = convert_value(ctx, lhs, left, out.dtype)
            rhs, right = convert_value(ctx, rhs, right, out.dtype)
    else:
        if algorithm.lhs and left.dtype not in algorithm.lhs:
            lhs, left = convert_value(ctx, lhs, left, algorithm.lhs[0])
        if algorithm.rhs and right.dtype not in algorithm.rhs:
            rhs, right = convert_value(ctx, rhs, right, algorithm.rhs[0])
        attrs["algorithm"] = ctx.parse(algorithm.text(left.dtype, right.dtype))
        allowed = algorithm.out(left.dtype, right.dtype)
        if allowed and out.dtype not in allowed:
            out = shaped(out.shape, allowed[0])
    return lhs, rhs, left, right, out, attrs


def convert_value(ctx: Any, x: Any, aval: Any, dtype: Any) -> tuple[Any, Any]:
    """Emit a conversion if one is needed; return the value and its type."""
    if aval.dtype == dtype:
        return x, aval
    new = shaped(aval.shape, dtype)
    return ctx.op("convert", new, x), new


def _dot_pretty(eqn: Any, printer: Any) -> list[tuple[str, Any]]:
    sums, batches = eqn.params["dimension_numbers"]
    lists = tuple(map(list, sums)), tuple(map(list, batches))
    shown = [("dimension_numbers", lists)]
    for name in ("precision", "preferred_element_type"):
        if eqn.params[name] is not None:
            shown.append((name, eqn.params[name]))
    return shown


def _dot_flops(ins: Sequence[Any], outs: Sequence[Any], params: Any) -> int:
    (contracted, _), _ = params["dimension_numbers"]
    depth = math.prod(ins[0].shape[i] for i in contracted)
    return 2 * int(outs[0].size) * depth


def dot_axes(ins: Sequence[Any], outs: Sequence[Any], params: Any) -> list[list[Any]]:
    """Return `axes_of`: a result has batch axes, then each operand's remaining axes."""
    contracted, batches = params["dimension_numbers"]
    free = [
        [i for i in range(a.ndim) if i not in (*c, *b)]
        for a, c, b in zip(ins, contracted, batches, strict=True)
    ]
    no_axes = [[None] * len(f) for f in free]
    return [[*batches[0], *free[0], *no_axes[1]], [*batches[1], *no_axes[0], *free[1]]]


dot_general_p.abstract = _dot_abstract
defjvp(
    dot_general_p,
    [
        lambda t, ans, lhs, rhs, **params: dot_general_p.bind(t, rhs, **params),
        lambda t, ans, lhs, rhs, **params: dot_general_p.bind(lhs, t, **params),
    ],
)
dot_general_p.transpose = _dot_transpose
dot_general_p.batch = _dot_batch
dot_general_p.lower = _dot_lower
dot_general_p.facts = Facts(
    axes_of=dot_axes,
    keeps_nans=True,
    flops=_dot_flops,
    workspace=widened,
    pretty=_dot_pretty,
)


# ---------------------------------------------------------------------------- functions


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: DotDimensionNumbers | None,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Compute a general dot product, with batch axes and a sum over contracted axes.

    Args:
      lhs, rhs: arrays.
      dimension_numbers: ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)),
        sequences of axes; the pairs must have equal sizes.  None: as `dot`.
      precision: None, a `Precision` or a pair of them, a `DotAlgorithmPreset`, a
        `DotAlgorithm`, or a name of one.
      preferred_element_type: the dtype to accumulate and return (None: the wider of the
        operands').
      out_sharding: the sharding of the result (None: the compiler's choice).

    Returns:
      An array with the batch axes, then lhs's free axes, then rhs's; of dtype
      `preferred_element_type`.

    Raises:
      TypeError: for axes that are out of range, repeated, or of unequal sizes.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, y = jnp.ones((2, 3, 4)), jnp.ones((2, 4, 5))
      >>> dot_general(x, y, (((2,), (1,)), ((0,), (0,)))).shape
      (2, 3, 5)
    """
    if dimension_numbers is None:
        dimension_numbers = _default_numbers(lhs, rhs)
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=(
            (tuple(map(int, lhs_contracting)), tuple(map(int, rhs_contracting))),
            (tuple(map(int, lhs_batch)), tuple(map(int, rhs_batch))),
        ),
        precision=precisions.canonical(precision),
        preferred_element_type=element_type(preferred_element_type, "dot_general"),
        out_sharding=canonicalize_out_sharding("dot_general", out_sharding, lhs, rhs),
    )


def _default_numbers(lhs: Any, rhs: Any) -> DotDimensionNumbers:
    """Return the dimension numbers of a product of vectors or matrices."""
    left, right = core.aval_of(lhs).shape, core.aval_of(rhs).shape
    fits = 1 <= len(left) <= 2 and 1 <= len(right) <= 2 and left[-1] == right[0]
    if not fits:
        raise errors.value_error(
            "jax.lax.dot: dimension_numbers must be specified when not performing"
            " simple un-batched matrix-matrix, matrix-vector, or vector-vector"
            f" products; got lhs_shape={left} rhs_shape={right}.",
            tries=["jnp.matmul or jnp.einsum", "lax.dot_general"],
        )
    return ((len(left) - 1,), (0,)), ((), ())


def element_type(dtype: Any, name: str) -> Any:
    """Return the dtype that `preferred_element_type` means."""
    if dtype is None:
        return None
    return dtype_arguments.requested_dtype(dtype, name)


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Compute the dot product of vectors or matrices, or `dot_general`.

    Args:
      lhs, rhs: arrays of rank 1 or 2, if no dimension_numbers are given; the last axis
        of lhs and the first of rhs are contracted.
      dimension_numbers, precision, preferred_element_type: as in `dot_general`.
      out_sharding: the sharding of the result (None: the compiler's choice).

    Returns:
      An array of lhs's axes except the last, then rhs's except the first; of the wider
      dtype, or `preferred_element_type`.

    Raises:
      ValueError: for other ranks, or unequal sizes.

    Example:
      >>> import minijax.numpy as jnp
      >>> float(dot(jnp.arange(3.0), jnp.arange(3.0)))
      5.0
    """
    return dot_general(
        lhs,
        rhs,
        dimension_numbers,
        precision,
        preferred_element_type,
        out_sharding=out_sharding,
    )


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Multiply matrices over equal leading axes.

    Args:
      lhs, rhs: arrays of shape [..., n, k] and [..., k, m].
      precision: as in `dot_general`.

    Returns:
      An array [..., n, m] of the wider dtype.

    Raises:
      ValueError: for ranks below 2, or unequal ones.

    Example:
      >>> import minijax.numpy as jnp
      >>> batch_matmul(jnp.ones((7, 2, 3)), jnp.ones((7, 3, 4))).shape
      (7, 2, 4)
    """
    left, right = core.aval_of(lhs), core.aval_of(rhs)
    if min(left.ndim, right.ndim) < 2:
        raise ValueError(
            f"Arguments to batch_matmul must be at least 2D, got {left.ndim}, {right.ndim}"
        )
    if left.ndim != right.ndim:
        raise ValueError(
            f"Arguments to batch_matmul must have same ndim, got {left.ndim}, {right.ndim}"
        )
    n = left.ndim
    batch = tuple(range(n - 2))
    return dot_general(lhs, rhs, (((n - 1,), (n - 2,)), (batch, batch)), precision)
