"""Convolutions (cross-correlations, as machine learning calls them).

    out[n, o, p] = sum over i, k of lhs[n, i, p stride + k dilation - pad] rhs[o, i, k]

A convolution is linear in each operand.  With respect to lhs, its transpose convolves the
cotangent with the flipped kernel; strides and base dilation are exchanged.  With respect to
rhs, its transpose convolves lhs with the cotangent; batch and feature axes are exchanged,
and so are strides and window dilation (Dumoulin and Visin, "A guide to convolution
arithmetic for deep learning", arXiv:1603.07285).  Feature groups of the convolution become
batch groups of a transpose, and vice versa.  A lane axis is merged into the batch axis, or
becomes groups.

Next: conv_functions.py, functions built on conv_general_dilated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...analysis.cost_model import copies
from ...base import errors
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import Facts
from ...passes.ad_util import is_linear
from ...symbolic.dims import falls_below
from ...types import dtypes
from ...types.avals import shaped
from ...types.sizes import size_of
from ..axis_dependence import in_groups, under_windows
from ..dot import precision as precisions
from ..dot.dot import bit_width, element_type
from ..elementwise import defjvp, same_dtype
from ..math.cast import cast
from ..shape.creation import zero_array
from ..shape.shapes import reshape, rev
from ..sharding_specs import (
    ambiguous_sharding_error,
    canonicalize_out_sharding,
    sharding_for_aval,
)
from ..window_padding import (
    Pads,
    dilated,
    ints,
    is_open,
    padded,
    padtype_to_pads,
    window_count,
)

__all__ = (
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "conv_dimension_numbers",
    "conv_general_permutations",
    "conv_general_dilated_p",
    "conv_general_dilated",
)


class ConvDimensionNumbers(NamedTuple):
    """The axes of a convolution: (batch, feature, spatial...) of operand and result,
    (out feature, in feature, spatial...) of the kernel.

    >>> ConvDimensionNumbers((0, 2, 1), (2, 1, 0), (0, 2, 1)).lhs_spec
    (0, 2, 1)
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]


# ------------------------------------------------------------------ dimension numbers


def conv_dimension_numbers(
    lhs_shape: Any, rhs_shape: Any, dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Return the dimension numbers for strings such as ('NHWC', 'HWIO', 'NHWC').

    Args:
      lhs_shape, rhs_shape: the shapes of operand and kernel.
      dimension_numbers: None (batch and feature axes first), such strings, or numbers.

    Returns:
      A `ConvDimensionNumbers` of three tuples of axes: batch (or out features) first,
      then features, then the spatial ones.

    Raises:
      TypeError: strings have wrong lengths or letters, or ranks differ.

    Example:
      >>> conv_dimension_numbers((1, 8, 3), (3, 3, 5), ('NHC', 'HIO', 'NHC'))
      ConvDimensionNumbers(lhs_spec=(0, 2, 1), rhs_spec=(2, 1, 0), out_spec=(0, 2, 1))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return ConvDimensionNumbers(*(tuple(map(int, s)) for s in dimension_numbers))
    if len(lhs_shape) != len(rhs_shape):
        raise TypeError(
            "convolution requires lhs and rhs ndim to be equal, got"
            f" {len(lhs_shape)} and {len(rhs_shape)}."
        )
    if dimension_numbers is None:
        first = tuple(range(len(lhs_shape)))
        return ConvDimensionNumbers(first, first, first)
    several = isinstance(dimension_numbers, (list, tuple))
    if not several or len(dimension_numbers) != 3:
        what = f"must be tuple/list or None, got {type(dimension_numbers)}."
        if several:
            what = f"list/tuple must be length 3, got {len(dimension_numbers)}."
        raise errors.type_error(
            f"convolution dimension_numbers {what}", tries=["('NHWC', 'HWIO', 'NHWC')"]
        )
    for i, spec in enumerate(dimension_numbers):
        if len(spec) != len(lhs_shape):
            raise TypeError(
                f"convolution dimension_numbers[{i}] must have len equal to the ndim of"
                f" lhs and rhs, got {len(spec)} for lhs and rhs shapes"
                f" {tuple(lhs_shape)} and {tuple(rhs_shape)}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers: Any) -> tuple[Any, Any, Any]:
    """Return the permutations of operand, kernel and result to batch-and-feature-first.

    Args:
      dimension_numbers: three strings such as ('NHWC', 'HWIO', 'NHWC').

    Returns:
      Three tuples of axes, each a permutation.

    Raises:
      TypeError: a letter is missing or repeated, or spatial letters differ.

    Example:
      >>> conv_general_permutations(('NHC', 'HIO', 'NHC'))
      ((0, 2, 1), (2, 1, 0), (0, 2, 1))
    """
    lhs, rhs, out = dimension_numbers
    for i, (a, b) in enumerate((("N", "C"), ("O", "I"), ("N", "C"))):
        spec = dimension_numbers[i]
        if spec.count(a) != 1 or spec.count(b) != 1:
            raise TypeError(
                f"convolution dimension_numbers[{i}] must contain the characters '{a}'"
                f" and '{b}' exactly once, got {spec}."
            )
        if len(set(spec)) != len(spec):
            raise TypeError(
                f"convolution dimension_numbers[{i}] cannot have duplicate characters,"
                f" got {spec}."
            )
    spatial = [c for c in rhs if c not in "OI"]
    if not set(lhs) - set("NC") == set(out) - set("NC") == set(spatial):
        raise TypeError(
            "convolution dimension_numbers elements must each have the same set of"
            f" spatial characters, got {tuple(dimension_numbers)}."
        )
    return (
        tuple(lhs.index(c) for c in ("N", "C", *spatial)),
        tuple(rhs.index(c) for c in ("O", "I", *spatial)),
        tuple(out.index(c) for c in ("N", "C", *spatial)),
    )


def _spatial(shape: Sequence[int], spec: Sequence[int]) -> list[int]:
    return [shape[i] for i in spec[2:]]


# ------------------------------------------------------------------ the type of results

conv_general_dilated_p = Primitive("conv_general_dilated")


def _conv_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    (left, right), (lhs, _, out) = specs, params["dimension_numbers"]
    if any(right) or left[lhs[1]]:  # sums over shards, or two operands' shardings
        raise ambiguous_sharding_error(
            "Please specify the output sharding via `out_sharding` parameter of"
            " `conv_general_dilated`",
            avals,
            tries=["out_sharding=P(...)", "jax.sharding.reshard(x, sharding)"],
        )
    spec = [None] * len(left)
    for i, j in zip((lhs[0], *lhs[2:]), (out[0], *out[2:]), strict=True):
        spec[j] = left[i]
    return [tuple(spec)]


conv_general_dilated_p.def_sharding(specs=_conv_specs, request="out_sharding")


def _conv_abstract(
    lhs,
    rhs,
    *,
    window_strides,
    padding,
    lhs_dilation,
    rhs_dilation,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision,
    preferred_element_type,
    out_sharding,
):
    name = "conv_general_dilated"
    dtype = same_dtype(name, (lhs, rhs))
    _check_ranks(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation)
    _check_groups(lhs, rhs, dimension_numbers, feature_group_count, batch_group_count)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    out = [0] * lhs.ndim
    out[out_spec[0]] = lhs.shape[lhs_spec[0]] // batch_group_count
    out[out_spec[1]] = rhs.shape[rhs_spec[0]]
    spatial = spatial_sizes(
        _spatial(lhs.shape, lhs_spec),
        _spatial(rhs.shape, rhs_spec),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
    )
    for i, n in zip(out_spec[2:], spatial, strict=True):
        out[i] = n
    if preferred_element_type is not None:
        _check_preferred(dtype, preferred_element_type)
        dtype = preferred_element_type
    return shaped(tuple(out), dtype, lhs.weak_type and rhs.weak_type)


def spatial_sizes(
    lhs: Sequence[int], rhs: Sequence[int], strides, padding, lhs_dilation, rhs_dilation
) -> list[int]:
    """Return the spatial sizes of a result."""
    out = []
    for n, k, s, (lo, hi), b, d in zip(
        lhs, rhs, strides, padding, lhs_dilation, rhs_dilation, strict=True
    ):
        extent = dilated(n, b) + lo + hi
        if falls_below(extent, 0):
            raise ValueError(
                f"conv_general_dilated padding {(lo, hi)} removes more than the"
                f" {dilated(n, b)} elements of the axis."
            )
        out.append(window_count(extent, dilated(k, d), s))
    return out


def _check_ranks(lhs, rhs, strides, padding, lhs_dilation, rhs_dilation) -> None:
    if lhs.ndim != rhs.ndim:
        raise ValueError(
            "conv_general_dilated requires lhs and rhs ndim to be equal, got"
            f" {lhs.ndim} and {rhs.ndim}."
        )
    n = lhs.ndim - 2
    if n < 0:
        raise ValueError(
            "conv_general_dilated operands need a batch and a feature axis, got"
            f" {lhs.str_short(True)} and {rhs.str_short(True)}."
        )
    for what, values in (
        ("window_strides", strides),
        ("padding", padding),
        ("lhs_dilation", lhs_dilation),
        ("rhs_dilation", rhs_dilation),
    ):
        if len(values) != n:
            raise errors.value_error(
                f"conv_general_dilated window and {what} must have the same number"
                f" of dimensions, but got {n} and {len(values)}.",
                which=f"{lhs.str_short(True)}, {rhs.str_short(True)}, {what}={values}",
            )
        if what != "padding" and any(v <= 0 for v in values):
            raise ValueError(f"conv_general_dilated {what} must be positive, got {values}.")


def _check_groups(lhs, rhs, numbers, features: int, batches: int) -> None:
    name = "conv_general_dilated"
    for what, count in (("feature", features), ("batch", batches)):
        if count <= 0:
            raise ValueError(
                f"{name} {what}_group_count must be a positive integer, got {count}."
            )
    if features > 1 and batches > 1:
        raise ValueError(
            "At most one of batch_group_count and feature_group_count may be > 1, got"
            f" batch_group_count={batches} and feature_group_count={features}"
        )
    n, i = (lhs.shape[d] for d in numbers.lhs_spec[:2])
    o, k = (rhs.shape[d] for d in numbers.rhs_spec[:2])
    which = f"{lhs.str_short(True)}, {rhs.str_short(True)}, {numbers}"
    if i % features:
        raise errors.value_error(
            f"{name} feature_group_count must divide lhs feature dimension size, but"
            f" {features} does not divide {i}.",
            which=which,
        )
    if i // features != k:
        raise errors.value_error(
            f"{name} lhs feature dimension size divided by feature_group_count must"
            f" equal the rhs input feature dimension size, but {i} // {features} !="
            f" {k}.",
            which=which,
        )
    for what, count in (("feature", features), ("batch", batches)):
        if o % count:
            raise errors.value_error(
                f"{name} rhs output feature dimension size must be a multiple of"
                f" {what}_group_count, but {o} is not a multiple of {count}.",
                which=which,
            )
    if n % batches:
        raise errors.value_error(
            f"{name} batch_group_count must divide lhs batch dimension size, but"
            f" {batches} does not divide {n}.",
            which=which,
        )


def _check_preferred(dtype: Any, preferred: Any) -> None:
    kinds = ("bool", "int", "uint"), ("float",), ("complex",)
    old, new = (
        next(i for i, k in enumerate(kinds) if dtypes.kind(d) in k) for d in (dtype, preferred)
    )
    if old != new and (old, new) != (0, 1):
        raise TypeError(
            f"conv_general_dilated of {dtype}cannot return {preferred}: integers produce"
            " integers or floats, floats produce floats, complex numbers produce complex ones."
        )
    if old == new == 0 and dtypes.is_signed(dtype) and dtypes.is_unsigned(preferred):
        raise TypeError(
            "`preferred_element_type` must have the same signedness as the original"
            f" type, got {preferred} for {dtype}."
        )
    if bit_width(dtypes.real_of(preferred)) < bit_width(dtypes.real_of(dtype)):
        raise TypeError(
            "`preferred_element_type` must not be narrower than the original type, got"
            f" {preferred} for {dtype}."
        )


# ------------------------------------------------------ splitting and merging of axes


def split_axis(x: Any, axis: int, n: int) -> Any:
    """Split `axis` of size n m into axes of sizes n and m."""
    shape = core.aval_of(x).shape
    return reshape(x, (*shape[:axis], n, shape[axis] // n, *shape[axis + 1 :]))


def merge_axis(x: Any, src: int, dst: int) -> Any:
    """Merge axis `src`, as the slower one, into axis `dst` of the other axes."""
    shape = core.aval_of(x).shape
    permutation = [i for i in range(len(shape)) if i != src]
    permutation.insert(dst, src)
    sizes = [shape[i] for i in permutation]
    sizes[dst : dst + 2] = [sizes[dst] * sizes[dst + 1]]
    return reshape(x, sizes, dimensions=permutation)


# --------------------------------------------------------------------------- transpose


def _swap(spec: Sequence[int]) -> tuple[int, ...]:
    """Return a spec with its first two axes exchanged."""
    return spec[1], spec[0], *spec[2:]


def _conv_transpose(
    ct, lhs, rhs, *, feature_group_count: int, batch_group_count: int, **params
) -> list[Any]:
    groups = feature_group_count, batch_group_count
    if is_linear(lhs):
        return [_transpose_lhs(ct, lhs.aval, rhs, *groups, **params), None]
    return [None, _transpose_rhs(ct, lhs, rhs.aval, *groups, **params)]


def _transpose_lhs(
    ct,
    aval,
    rhs,
    features: int,
    batches: int,
    *,
    window_strides,
    padding,
    lhs_dilation,
    rhs_dilation,
    dimension_numbers,
    out_sharding,
    **params,
):
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    ct_aval = core.aval_of(ct)
    pads = []
    for n, k, p, (lo, _), s, b, d in zip(
        _spatial(aval.shape, lhs_spec),
        _spatial(core.aval_of(rhs).shape, rhs_spec),
        _spatial(ct_aval.shape, out_spec),
        padding,
        window_strides,
        lhs_dilation,
        rhs_dilation,
        strict=True,
    ):
        window = dilated(k, d)
        before = window - lo - 1
        pads.append((before, dilated(n, b) + window - 1 - dilated(p, s) - before))
    groups = features * batches  # one of them is 1
    if groups > 1:
        # Each group of out features reads its own in features.
        rhs = merge_axis(split_axis(rhs, rhs_spec[0], groups), rhs_spec[0], rhs_spec[1])
    flipped = cast(rev(rhs, rhs_spec[2:]), ct_aval.dtype)
    out = conv_general_dilated_p.bind(
        ct,
        flipped,
        window_strides=lhs_dilation,
        padding=tuple(pads),
        lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out_spec, _swap(rhs_spec), lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
        out_sharding=sharding_for_aval(aval, ct, rhs) if batches == 1 else None,
        **params,
    )
    if batches > 1:
        out = merge_axis(split_axis(out, lhs_spec[1], batches), lhs_spec[1], lhs_spec[0])
    return cast(out, aval.dtype)


def _transpose_rhs(
    ct,
    lhs,
    aval,
    features: int,
    batches: int,
    *,
    window_strides,
    padding,
    lhs_dilation,
    rhs_dilation,
    dimension_numbers,
    out_sharding,
    **params,
):
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    ct_aval = core.aval_of(ct)
    pads = []
    for n, k, p, (lo, _), s, b, d in zip(
        _spatial(core.aval_of(lhs).shape, lhs_spec),
        _spatial(aval.shape, rhs_spec),
        _spatial(ct_aval.shape, out_spec),
        padding,
        window_strides,
        lhs_dilation,
        rhs_dilation,
        strict=True,
    ):
        pads.append((lo, dilated(p, s) + dilated(k, d) - 1 - dilated(n, b) - lo))
    out = conv_general_dilated_p.bind(
        cast(lhs, ct_aval.dtype),
        ct,
        window_strides=rhs_dilation,
        padding=tuple(pads),
        lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=ConvDimensionNumbers(
            _swap(lhs_spec), _swap(out_spec), _swap(rhs_spec)
        ),
        feature_group_count=batches,
        batch_group_count=features,
        out_sharding=sharding_for_aval(aval, lhs, ct),
        **params,
    )
    return cast(out, aval.dtype)


# ------------------------------------------------------------------------------- batch


def _conv_batch(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> Any:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    (lhs, rhs), (left, right) = args, dims
    features, batches = feature_group_count, batch_group_count
    if not axis.size:  # the number of groups must be positive
        out = _conv_abstract(
            _lane_of(lhs, left),
            _lane_of(rhs, right),
            dimension_numbers=dimension_numbers,
            feature_group_count=features,
            batch_group_count=batches,
            **params,
        )
        return zero_array(shaped((0, *out.shape), out.dtype)), 0

    def conv(x: Any, w: Any) -> Any:
        return conv_general_dilated_p.bind(
            x,
            w,
            dimension_numbers=dimension_numbers,
            feature_group_count=features,
            batch_group_count=batches,
            **params,
        )

    if left is not None and right is not None:
        if batches > 1:
            batches *= axis.size
            lhs = merge_axis(lhs, left, lhs_spec[0])
        else:
            features *= axis.size
            lhs = merge_axis(lhs, left, lhs_spec[1])
        rhs = merge_axis(rhs, right, rhs_spec[0])
        return split_axis(conv(lhs, rhs), out_spec[1], axis.size), out_spec[1]
    if left is not None:
        if batches == 1:
            out = conv(merge_axis(lhs, left, lhs_spec[0]), rhs)
        else:
            lhs = _into_groups(lhs, left, lhs_spec[0], batches)
            out = conv(lhs, rhs)
        return split_axis(out, out_spec[0], axis.size), out_spec[0]
    groups = features * batches
    if groups == 1:
        out = conv(lhs, merge_axis(rhs, right, rhs_spec[0]))
        return split_axis(out, out_spec[1], axis.size), out_spec[1]
    out = conv(lhs, _into_groups(rhs, right, rhs_spec[0], groups))
    at = out_spec[1]
    out = split_axis(split_axis(out, at, groups), at + 1, axis.size)
    return merge_axis(out, at, at + 1), at  # (group, lane, rest) -> (lane, group rest)


def _lane_of(x: Any, dim: int | None) -> Any:
    """Return the type of one lane."""
    aval = core.aval_of(x)
    shape = [n for i, n in enumerate(aval.shape) if i != dim]
    return shaped(tuple(shape), aval.dtype, aval.weak_type)


def _into_groups(x: Any, lane: int, axis: int, groups: int) -> Any:
    """Merge a lane axis into each of the groups of an axis: (group, lane, rest)."""
    axis_in_x = axis + (axis >= lane)
    x = split_axis(x, axis_in_x, groups)
    x = merge_axis(x, lane + (axis_in_x < lane), axis + 1)
    return merge_axis(x, axis, axis)


# ---------------------------------------------------------------------------- lowering


def _conv_lower(ctx: Any, lhs: Any, rhs: Any, **params: Any) -> Any:
    (out,) = ctx.avals_out
    if 0 in _spatial(ctx.avals_in[1].shape, params["dimension_numbers"].rhs_spec):
        return ctx.constant(0, out)  # StableHLO has no empty windows
    if is_open(params["padding"]):
        lhs, params = _padded_lhs(ctx, lhs, params)
    # XLA has complex convolutions only for TPUs.
    if dtypes.is_complex(out.dtype) and ctx.platform != "tpu":
        return _lower_complex(ctx, lhs, rhs, out, params)
    return _emit_conv(ctx, lhs, rhs, out, **params)


def _padded_lhs(ctx: Any, lhs: Any, params: Any) -> tuple[Any, Any]:
    """Emit the padding of lhs; return it and the params without padding."""
    aval, n = ctx.avals_in[0], len(params["padding"])
    pads: list[Any] = [(0, 0)] * aval.ndim
    dilation = [1] * aval.ndim
    spatial = params["dimension_numbers"].lhs_spec[2:]
    for axis, pad, d in zip(spatial, params["padding"], params["lhs_dilation"], strict=True):
        pads[axis], dilation[axis] = pad, d
    zero = ctx.constant(0, shaped((), aval.dtype))
    lhs, _ = padded(ctx, lhs, aval, zero, pads, dilation)
    return lhs, {**params, "padding": ((0, 0),) * n, "lhs_dilation": (1,) * n}


def _emit_conv(
    ctx: Any,
    lhs: Any,
    rhs: Any,
    out: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: Any,
    **_: Any,
) -> Any:
    n = len(window_strides)
    flat = ", ".join(f"[{lo}, {hi}]" for lo, hi in padding)
    pads = f"dense<[{flat}]> : tensor<{n}x2xi64>" if n else "dense<> : tensor<0x2xi64>"
    return ctx.op(
        "convolution",
        out,
        lhs,
        rhs,
        window_strides=ctx.i64s(window_strides),
        padding=ctx.parse(pads),
        lhs_dilation=ctx.i64s(lhs_dilation),
        rhs_dilation=ctx.i64s(rhs_dilation),
        window_reversal=ctx.bools([False] * n),
        dimension_numbers=ctx.parse(_numbers_text(dimension_numbers)),
        feature_group_count=ctx.i64(feature_group_count),
        batch_group_count=ctx.i64(batch_group_count),
        precision_config=precisions.precision_attribute(ctx, precision),
    )


def _numbers_text(numbers: ConvDimensionNumbers) -> str:
    def side(spec: Sequence[int], first: str, second: str) -> str:
        names = {spec[0]: first, spec[1]: second}
        names.update((axis, str(i)) for i, axis in enumerate(spec[2:]))
        return f"[{', '.join(names[i] for i in range(len(spec)))}]"

    lhs, rhs, out = numbers
    return (
        f"#stablehlo.conv<{side(lhs, 'b', 'f')}x{side(rhs, 'o', 'i')}->{side(out, 'b', 'f')}>"
    )


def _lower_complex(ctx: Any, lhs: Any, rhs: Any, out: Any, params: Any) -> Any:
    """Lower to three real convolutions (Gauss): (a + b) c, a (d - c), b (c + d)."""
    left, right = ctx.avals_in
    real = dtypes.real_of(left.dtype)
    part_aval = shaped(out.shape, dtypes.real_of(out.dtype))
    left, right = shaped(left.shape, real), shaped(right.shape, real)
    a, b = ctx.op("real", left, lhs), ctx.op("imag", left, lhs)
    c, d = ctx.op("real", right, rhs), ctx.op("imag", right, rhs)
    first = _emit_conv(ctx, ctx.op("add", left, a, b), c, part_aval, **params)
    second = _emit_conv(ctx, a, ctx.op("subtract", right, d, c), part_aval, **params)
    third = _emit_conv(ctx, b, ctx.op("add", right, c, d), part_aval, **params)
    return ctx.op(
        "complex",
        out,
        ctx.op("subtract", part_aval, first, third),
        ctx.op("add", part_aval, first, second),
    )


def _conv_flops(ins: Sequence[Any], outs: Sequence[Any], params: Any) -> int:
    """Count two operations per result element and weight of its feature."""
    features = ins[1].shape[params["dimension_numbers"].rhs_spec[0]]
    return 2 * int(outs[0].size) * (int(ins[1].size) // features)


def _conv_axes(ins: Sequence[Any], outs: Sequence[Any], params: Any) -> list[list[Any]]:
    """Return `axes_of`: spatial axes of lhs reach along windows; features of rhs stay."""
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    (lhs, rhs), (out,) = ins, outs
    left: list[Any] = [None] * out.ndim
    right: list[Any] = [None] * out.ndim
    right[out_spec[1]] = rhs_spec[0]
    if params["batch_group_count"] == 1:
        left[out_spec[0]] = lhs_spec[0]
        feature = lhs_spec[1]
        reach = in_groups(
            lhs.shape[feature], out.shape[out_spec[1]], params["feature_group_count"]
        )
        left[out_spec[1]] = (feature, reach)
    each = zip(
        lhs_spec[2:],
        rhs_spec[2:],
        out_spec[2:],
        params["window_strides"],
        params["padding"],
        params["lhs_dilation"],
        params["rhs_dilation"],
        strict=True,
    )
    for i, k, o, stride, (low, _), base, dilation in each:
        reach = under_windows(out.shape[o], rhs.shape[k], stride, low, base, dilation)
        left[o] = (i, reach)
    return [left, right]


conv_general_dilated_p.abstract = _conv_abstract
defjvp(
    conv_general_dilated_p,
    [
        lambda t, ans, lhs, rhs, **p: conv_general_dilated_p.bind(t, rhs, **p),
        lambda t, ans, lhs, rhs, **p: conv_general_dilated_p.bind(lhs, t, **p),
    ],
)
conv_general_dilated_p.transpose = _conv_transpose
conv_general_dilated_p.batch = _conv_batch
conv_general_dilated_p.lower = _conv_lower
conv_general_dilated_p.facts = Facts(axes_of=_conv_axes, flops=_conv_flops, workspace=copies(1))


# ---------------------------------------------------------------------------- function


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Convolve with strides, padding, dilations and groups.

    Args:
      lhs: array of rank n + 2: a batch axis, a feature axis, n spatial axes.
      rhs: kernel of rank n + 2: out features, in features, n spatial axes.
      window_strides: n strides.
      padding: 'SAME', 'SAME_LOWER', 'VALID', or n pairs (low, high).
      lhs_dilation, rhs_dilation: n factors by which operand and kernel are dilated
        (default: ones).
      dimension_numbers: the order of axes: None (the order above), three strings such as
        ('NHWC', 'HWIO', 'NHWC'), or a `ConvDimensionNumbers`.
      feature_group_count, batch_group_count: the numbers of groups of features, or of
        batch elements, that are convolved separately.
      precision, preferred_element_type: as in `dot_general`.
      out_sharding: the sharding of the result (None: the compiler's choice).

    Returns:
      An array of batch, out features and n spatial axes, in the order of
      `dimension_numbers`, of the operands' dtype or `preferred_element_type`.

    Raises:
      ValueError: sizes are incompatible.
      TypeError: dtypes or dimension numbers are, or strides are not a sequence.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, w = jnp.ones((1, 3, 8, 8)), jnp.ones((5, 3, 3, 3))
      >>> conv_general_dilated(x, w, (2, 2), 'SAME').shape
      (1, 5, 4, 4)
    """
    left, right = core.aval_of(lhs).shape, core.aval_of(rhs).shape
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    n = len(left) - 2
    if isinstance(window_strides, int) or not np.ndim(window_strides):
        raise errors.type_error(
            f"window_strides must be a sequence of ints, got {window_strides}."
        )
    strides = tuple(map(int, window_strides))
    lhs_dilations = ints(lhs_dilation, "lhs_dilation", n)
    rhs_dilations = ints(rhs_dilation, "rhs_dilation", n)
    return conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=strides,
        padding=_pads(padding, numbers, left, right, strides, lhs_dilations, rhs_dilations),
        lhs_dilation=lhs_dilations,
        rhs_dilation=rhs_dilations,
        dimension_numbers=numbers,
        feature_group_count=int(feature_group_count),
        batch_group_count=int(batch_group_count),
        precision=precisions.canonical(precision),
        preferred_element_type=element_type(preferred_element_type, "conv_general_dilated"),
        out_sharding=canonicalize_out_sharding("conv_general_dilated", out_sharding, lhs, rhs),
    )


def _pads(padding, numbers, lhs, rhs, strides, lhs_dilations, rhs_dilations) -> Pads:
    """Return a (low, high) pair for each spatial axis."""
    if not isinstance(padding, str) and not hasattr(padding, "name"):
        try:
            pads = tuple((size_of(lo), size_of(hi)) for lo, hi in padding)
        except (TypeError, ValueError):
            raise ValueError(
                "padding argument to conv_general_dilated should be a string or a"
                f" sequence of (low, high) pairs, got {padding}"
            ) from None
        if len(pads) != len(lhs_dilations):
            raise TypeError(
                "Wrong number of explicit pads for convolution: expected"
                f" {len(lhs_dilations)}, got {len(pads)}."
            )
        return pads
    if any(d != 1 for d in lhs_dilations):
        raise errors.value_error(
            "String padding is not implemented for transposed convolution using this op.",
            which=f"padding={padding!r}, lhs_dilation={lhs_dilations}",
            tries=["a (low, high) pair per axis", "lax.conv_transpose"],
        )
    windows = [
        dilated(k, d)
        for k, d in zip(_spatial(rhs, numbers.rhs_spec), rhs_dilations, strict=True)
    ]
    if len(strides) != len(windows):
        raise ValueError(
            "conv_general_dilated window and window_strides must have the same number"
            f" of dimensions, but got {len(windows)} and {len(strides)}"
        )
    return tuple(padtype_to_pads(_spatial(lhs, numbers.lhs_spec), windows, strides, padding))
