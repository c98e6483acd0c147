"""Functions built on conv_general_dilated: shorter forms, transposed convolution,
patches, unshared kernels, and the shapes of their results.

general.py contains the primitive with its rules, and conv_general_dilated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...ir import core
from ..dot import precision as precisions
from ..dot.dot import dot_general
from ..math.algebraic import add
from ..math.cast import cast
from ..math.logic import eq
from ..shape.creation import broadcasted_iota
from ..shape.shapes import broadcast_in_dim, reshape, rev, transpose
from ..window_padding import dilated, padtype_to_pads, window_count
from .general import conv_dimension_numbers, conv_general_dilated, conv_general_permutations

__all__ = (
    "conv",
    "conv_with_general_padding",
    "conv_transpose",
    "conv_shape_tuple",
    "conv_general_shape_tuple",
    "conv_transpose_shape_tuple",
    "conv_general_dilated_patches",
    "conv_general_dilated_local",
)

# ------------------------------------------------------------------------ shorter forms


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolve with strides and padding.

    Args:
      lhs: array [batch, features, ...] with n spatial axes.
      rhs: kernel [out features, features, ...] with n spatial axes, of the same dtype.
      window_strides, padding: as in `conv_general_dilated`.
      precision, preferred_element_type: as in `dot_general`.

    Returns:
      An array [batch, out features, ...] of the operands' dtype, or
      `preferred_element_type`.

    Example:
      >>> import minijax.numpy as jnp
      >>> conv(jnp.ones((1, 3, 8)), jnp.ones((5, 3, 3)), (1,), 'SAME').shape
      (1, 5, 8)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolve with strides, padding and dilations.

    Args:
      lhs: array [batch, features, ...] with n spatial axes.
      rhs: kernel [out features, features, ...] with n spatial axes, of the same dtype.
      window_strides, padding, lhs_dilation, rhs_dilation: as in `conv_general_dilated`.
      precision, preferred_element_type: as in `dot_general`.

    Returns:
      An array [batch, out features, ...] of the operands' dtype, or
      `preferred_element_type`.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, w = jnp.ones((1, 3, 8)), jnp.ones((5, 3, 3))
      >>> conv_with_general_padding(x, w, (1,), [(1, 1)], (2,), None).shape
      (1, 5, 15)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


# --------------------------------------------------------------- transposed convolution


def _transposed_padding(window: int, stride: int, padding: str) -> tuple[int, int]:
    """Return the padding of a transposed convolution of n elements.

    The result has n * stride elements ('SAME'), or as many as a 'VALID' convolution with
    these strides reduces to n ('VALID')."""
    total = window + stride - 2
    if padding == "SAME":
        low = window - 1 if stride > window - 1 else -(-total // 2)
    else:
        total += max(window - stride, 0)
        low = window - 1
    return low, total - low


def _channels_last(ndim: int) -> tuple[str, str, str]:
    spatial = {3: "H", 4: "HW", 5: "HWD"}.get(ndim)
    if spatial is None:
        raise ValueError(
            f"conv_transpose has no default dimension_numbers for rank {ndim}.\n"
            "Try: dimension_numbers=..."
        )
    return f"N{spatial}C", f"{spatial}IO", f"N{spatial}C"


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: Any,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """Compute a transposed convolution: each element is added to a window of the result.

    Args:
      lhs: array of rank n + 2.
      rhs: kernel of rank n + 2.
      strides: n strides, the factors by which the result is larger.
      padding: 'SAME', 'VALID', or n pairs (low, high).
      rhs_dilation: n factors by which the kernel is dilated.
      dimension_numbers: as in `conv_general_dilated` (default: channels last).
      transpose_kernel: whether to flip the kernel and exchange its features, which
        makes this the transpose of a convolution with the same kernel.
      precision, preferred_element_type: as in `dot_general`.
      use_consistent_padding: whether pairs are the padding of the convolution whose
        transpose this is, instead of the padding of the dilated operand.

    Returns:
      An array of rank n + 2 with its axes in the order of `dimension_numbers`, of the
      operands' dtype or `preferred_element_type`.  With 'SAME', its spatial sizes are the
      sizes of `lhs` times the strides.

    Raises:
      ShapeError: the number of strides or dilations is not the number of spatial axes.  It
        is a TypeError and a ValueError.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, w = jnp.ones((1, 4, 4, 3)), jnp.ones((3, 3, 3, 5))
      >>> conv_transpose(x, w, (2, 2), 'SAME').shape
      (1, 8, 8, 5)
    """
    left, right = core.aval_of(lhs).shape, core.aval_of(rhs).shape
    if dimension_numbers is None:
        dimension_numbers = _channels_last(len(left))
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    spatial = tuple(numbers.rhs_spec[2:])
    kernel_dilation = (1,) * len(spatial) if rhs_dilation is None else tuple(rhs_dilation)
    for what, values in (("strides", strides), ("rhs_dilation", kernel_dilation)):
        if len(values) != len(spatial):
            raise errors.shape_error(
                f"conv_transpose {what} must have length equal to number of spatial"
                f" dimensions, got {tuple(values)} for {len(spatial)}."
            )
    windows = [dilated(right[i], d) for i, d in zip(spatial, kernel_dilation, strict=True)]
    pads: Any = padding
    if padding in ("SAME", "VALID"):
        pads = [
            _transposed_padding(k, s, padding) for k, s in zip(windows, strides, strict=True)
        ]
    elif use_consistent_padding and not isinstance(padding, str):
        pads = [(k - 1 - lo, k - 1 - hi) for k, (lo, hi) in zip(windows, padding, strict=True)]
    if transpose_kernel:
        for axis in spatial:
            rhs = rev(rhs, (axis,))
        permutation = list(range(len(right)))
        out, inn = numbers.rhs_spec[:2]
        permutation[out], permutation[inn] = permutation[inn], permutation[out]
        rhs = transpose(rhs, permutation)
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(spatial),
        pads,
        lhs_dilation=strides,
        rhs_dilation=rhs_dilation,
        dimension_numbers=numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


# -------------------------------------------------------------------- shapes of results


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Any,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """Return the shape of a convolution in batch-and-feature-first order.

    Args:
      lhs_shape: the shape of the operand: batch, features, n spatial sizes.
      rhs_shape: the shape of the kernel: out features, in features, n spatial sizes.
      strides: n strides.
      pads: 'SAME', 'SAME_LOWER', 'VALID', or n pairs (low, high).
      batch_group_count: the number of groups of batch elements.

    Returns:
      A tuple of ints: batch, out features, n spatial sizes.

    Raises:
      TypeError: the number of pairs is not n.
      ValueError: the groups do not divide the batch.

    Example:
      >>> conv_shape_tuple((1, 3, 8), (5, 3, 3), (2,), 'SAME')
      (1, 5, 4)
    """
    lhs, rhs = tuple(lhs_shape), tuple(rhs_shape)
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs[2:], rhs[2:], strides, pads)
    if len(pads) != len(lhs) - 2:
        raise TypeError(
            f"Wrong number of explicit pads for convolution: expected {len(lhs) - 2},"
            f" got {len(pads)}."
        )
    spatial = (
        window_count(n + lo + hi, k, s)
        for n, k, s, (lo, hi) in zip(lhs[2:], rhs[2:], strides, pads, strict=True)
    )
    if lhs[0] % batch_group_count:
        raise ValueError(f"batch_group_count {batch_group_count} does not divide {lhs[0]}.")
    return lhs[0] // batch_group_count, rhs[0], *map(int, spatial)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """Return the shape of a convolution with dimension numbers.

    Args:
      lhs_shape, rhs_shape: the shapes of operand and kernel, of rank n + 2.
      window_strides: n strides.
      padding: 'SAME', 'SAME_LOWER', 'VALID', or n pairs (low, high).
      dimension_numbers: three strings such as ('NHWC', 'HWIO', 'NHWC').

    Returns:
      A tuple of n + 2 ints, in the result's order.

    Example:
      >>> conv_general_shape_tuple(
      ...     (1, 8, 3), (3, 3, 5), (2,), 'SAME', ('NHC', 'HIO', 'NHC'))
      (1, 4, 5)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(
        [lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs], window_strides, padding
    )
    return tuple(int(shape[i]) for i in np.argsort(out))


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """Return the shape of a transposed convolution.

    Args:
      lhs_shape, rhs_shape: the shapes of operand and kernel, of rank n + 2.
      window_strides: n strides, by which the operand is dilated.
      padding: 'SAME', 'VALID', or n pairs (low, high).
      dimension_numbers: three strings such as ('NHWC', 'HWIO', 'NHWC').

    Returns:
      A tuple of n + 2 ints, in the result's order.

    Example:
      >>> conv_transpose_shape_tuple(
      ...     (1, 8, 3), (3, 3, 5), (2,), 'SAME', ('NHC', 'HIO', 'NHC'))
      (1, 16, 5)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    left, right = [lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs]
    if isinstance(padding, str):
        padding = [
            _transposed_padding(k, s, padding)
            for k, s in zip(right[2:], window_strides, strict=True)
        ]
    dilated_sizes = [dilated(n, s) for n, s in zip(left[2:], window_strides, strict=True)]
    shape = conv_shape_tuple(
        [*left[:2], *dilated_sizes], right, [1] * len(dilated_sizes), padding
    )
    return tuple(int(shape[i]) for i in np.argsort(out))


# ------------------------------------------------------------ patches, unshared kernels


def _identity(n: int, dtype: Any) -> Any:
    """Return the n x n identity matrix, computed by the program."""
    rows = add(broadcasted_iota(np.int32, (n, n), 0), np.int32(0))
    return cast(eq(rows, broadcasted_iota(np.int32, (n, n), 1)), dtype)


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Extract the windows over which a convolution sums, as features.

    Args:
      lhs: array of rank n + 2, with c features.
      filter_shape: the n sizes of the window.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers: as in
        `conv_general_dilated`.
      precision, preferred_element_type: as in `dot_general`.

    Returns:
      An array of rank n + 2 and `lhs`'s dtype (or `preferred_element_type`), whose
      feature axis has c * prod(filter_shape) elements, c slowest.

    Raises:
      TypeError: `lhs` has another rank.

    Example:
      >>> import minijax.numpy as jnp
      >>> x = jnp.arange(4.0).reshape(1, 1, 4)
      >>> conv_general_dilated_patches(x, (2,), (1,), 'VALID')
      Array([[[0., 1., 2.],
              [1., 2., 3.]]], dtype=float32)
    """
    window = tuple(map(int, filter_shape))
    aval = core.aval_of(lhs)
    if aval.ndim != len(window) + 2:
        raise errors.type_error(
            "convolution requires lhs and rhs ndim to be equal, got"
            f" {aval.ndim} and {len(window) + 2}.",
            which=f"filter_shape={window}",
        )
    numbers = conv_dimension_numbers(aval.shape, (1, 1, *window), dimension_numbers)
    size, channels = int(np.prod(window)), aval.shape[numbers.lhs_spec[1]]
    one = broadcast_in_dim(_identity(size, aval.dtype), (channels, size, size), (1, 2))
    kernel = reshape(one, (channels * size, 1, *window))
    kernel = transpose(kernel, np.argsort(numbers.rhs_spec))
    return conv_general_dilated(
        lhs,
        kernel,
        window_strides,
        padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        dimension_numbers=numbers,
        feature_group_count=channels,
        precision=None if precision is None else precisions.canonical(precision),
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Any:
    """Convolve with a kernel for each position of the result (locally connected).

    Args:
      lhs: array of rank n + 2, with c features.
      rhs: kernels: out features, c * prod(filter_shape), and n axes of result positions,
        in the order of `dimension_numbers`.
      window_strides, padding: as in `conv_general_dilated`.
      filter_shape: the n sizes of the window.
      lhs_dilation, rhs_dilation, dimension_numbers: as in `conv_general_dilated`.
      precision: as in `dot_general`.

    Returns:
      An array of rank n + 2, of the wider dtype.

    Raises:
      TypeError: the ranks of `lhs` and `rhs` differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, w = jnp.ones((1, 2, 5)), jnp.ones((4, 6, 3))
      >>> conv_general_dilated_local(x, w, (1,), 'VALID', (3,)).shape
      (1, 4, 3)
    """
    left, right = core.aval_of(lhs).shape, core.aval_of(rhs).shape
    if len(left) != len(right):
        raise errors.type_error(
            f"conv_general_dilated_local got lhs of rank {len(left)} and rhs of"
            f" rank {len(right)}.",
            why="Each position has its own kernel, so both have n spatial axes.",
        )
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    both = precisions.canonical(precision)
    # Patches are copies, so their products by one-hot kernels need only lhs's precision.
    first = (both[0], both[0]) if type(both) is tuple else both
    patches = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, numbers, first
    )
    out_spec, rhs_spec = tuple(numbers.out_spec), tuple(numbers.rhs_spec)
    out = dot_general(
        patches, rhs, (((out_spec[1],), (rhs_spec[1],)), (out_spec[2:], rhs_spec[2:])), both
    )
    n = len(out_spec) - 2
    permutation = [0] * (n + 2)
    for position, axis in zip((n, n + 1, *range(n)), out_spec, strict=True):
        permutation[axis] = position
    return transpose(out, permutation)
