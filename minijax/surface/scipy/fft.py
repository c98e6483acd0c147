r"""Cosine transforms: `minijax.scipy.fft`.

The cosine transform of N real numbers is a Fourier transform of the same numbers in another
order: the even ones, then the odd ones reversed.  Results k and N - k are the real and the
imaginary part of a product with :math:`e^{-i \pi k / 2N}` (J. Makhoul, "A fast cosine
transform in one and two dimensions", IEEE Transactions on Acoustics, Speech, and Signal
Processing 28, 1980).

Next: special/_common.py.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...ir.core import aval_of
from ...prims import lax
from ...prims.elementwise import const
from ...prims.fft import FftType
from ...prims.fft import fft as fourier
from ...types import dtypes
from ...types.type_sharding import spec_of
from ..numpy._common import (
    ArrayLike,
    call_with_out_sharding,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    choose,
    convert,
    has_items,
)

__all__ = ("dct", "idct", "dctn", "idctn")


# --------------------------------------------------------------- along the last axis


def _quarter_wave(x: Any, n: int) -> tuple[Any, Any]:
    """Return cos and sin of pi k / 2n, for k up to n/2."""
    k = lax.iota(aval_of(x).dtype, n // 2 + 1)
    angle = k * (math.pi / (2 * n))
    return lax.cos(angle), lax.sin(angle)


def _reverse_last(x: Any) -> Any:
    return lax.rev(x, (aval_of(x).ndim - 1,))


def _joined(*xs: Any) -> Any:
    return lax.concatenate(xs, aval_of(xs[0]).ndim - 1)


def _slice_last(x: Any, start: int, stop: int, step: int = 1) -> Any:
    return lax.slice_in_dim(x, start, stop, step, axis=-1)


def _scale(x: Any, n: int, first: float, others: float) -> Any:
    """Multiply the first number of `x` by one factor, and the others by another."""
    if first == others:
        return x if first == 1 else x * first
    dtype = aval_of(x).dtype
    is_first = lax.eq(lax.iota(dtypes.int32, n), np.int32(0))
    return x * choose(is_first, dtype.type(first), dtype.type(others))


def _forward(x: Any, ortho: bool) -> Any:
    n = aval_of(x).shape[-1]
    ordered = (
        _joined(_slice_last(x, 0, n, 2), _reverse_last(_slice_last(x, 1, n, 2))) if n > 1 else x
    )
    spectrum = fourier(ordered, FftType.RFFT, (n,))
    cosine, sine = _quarter_wave(x, n)
    real, imag = lax.real(spectrum), lax.imag(spectrum)
    low = real * cosine + imag * sine
    high = real * sine - imag * cosine
    out = _joined(low, _reverse_last(_slice_last(high, 1, n - n // 2)))
    if not ortho:
        return out * const(out, 2)
    return _scale(out, n, math.sqrt(1 / n), math.sqrt(2 / n))


def _inverse(x: Any, ortho: bool) -> Any:
    n = aval_of(x).shape[-1]
    if ortho:
        x = _scale(x, n, math.sqrt(n), math.sqrt(n / 2))
    else:
        x = x * const(x, 0.5)
    cosine, sine = _quarter_wave(x, n)
    low = _slice_last(x, 0, n // 2 + 1)
    zero = _slice_last(x, 0, 1) * const(x, 0)
    high = _joined(zero, _reverse_last(_slice_last(x, n - n // 2, n)))
    spectrum = lax.complex(low * cosine + high * sine, low * sine - high * cosine)
    ordered = fourier(spectrum, FftType.IRFFT, (n,))
    half = (n + 1) // 2
    no_padding = [(0, 0, 0)] * (aval_of(x).ndim - 1)
    # The first half goes to even positions, the second half reversed to odd ones.
    even = lax.pad(_slice_last(ordered, 0, half), const(x, 0), [*no_padding, (0, 1 - n % 2, 1)])
    odd = lax.pad(
        _reverse_last(_slice_last(ordered, half, n)), const(x, 0), [*no_padding, (1, n % 2, 1)]
    )
    return even + odd if n > 1 else ordered


# ---------------------------------------------------------------------- along any axes


def _along(x: Any, axis: int, transform: Callable[[Any, bool], Any], ortho: bool) -> Any:
    axis_order = [i for i in range(aval_of(x).ndim) if i != axis] + [axis]
    if axis_order[axis] != axis:
        inverse_order = sorted(range(len(axis_order)), key=axis_order.__getitem__)
        transformed = _along(
            lax.transpose(x, axis_order), len(axis_order) - 1, transform, ortho
        )
        return lax.transpose(transformed, inverse_order)
    if dtypes.is_complex(aval_of(x).dtype):
        parts = lax.real(x), lax.imag(x)
        return lax.complex(*[transform(part, ortho) for part in parts])
    return transform(x, ortho)


def _resized(x: Any, axis: int, n: int) -> Any:
    """Truncate `x`, or pad it with zeros, along an axis."""
    num_added = n - aval_of(x).shape[axis]
    if not num_added:
        return x
    pads = [(0, num_added if i == axis else 0, 0) for i in range(aval_of(x).ndim)]
    return lax.pad(x, const(x, 0), pads)


@composite(static=("sizes", "axes", "inverse", "ortho"))
def _transformed(
    x: Any, sizes: Sequence[int] | None, axes: Sequence[int], inverse: bool, ortho: bool
) -> Any:
    dtype = aval_of(x).dtype
    if dtype not in (dtypes.float64, dtypes.complex64, dtypes.complex128):
        inexact = dtypes.to_inexact(dtype)
        dtype = inexact if inexact.itemsize >= 4 else dtypes.float32
    x = convert(x, dtype)
    explicit_sharding = aval_of(x).type_sharding.explicit
    if explicit_sharding is not None and any(spec_of(aval_of(x))[axis] for axis in axes):
        options = sizes, axes, inverse, ortho
        return call_with_out_sharding(
            "idct" if inverse else "dct",
            explicit_sharding,
            _transformed_unsharded,
            [x],
            *options,
        )
    for axis, n in zip(axes, sizes or (), strict=False):
        x = _resized(x, axis, n)
    for axis in axes:
        x = _along(x, axis, _inverse if inverse else _forward, ortho)
    return x


def _transformed_unsharded(xs: Sequence[Any], *options: Any) -> Any:
    return _transformed(xs[0], *options)


def _checked(name: str, x: Any, type: Any, norm: Any) -> bool:
    """Check the arguments that all transforms share; return whether the norm is "ortho"."""
    check_arraylike(name, x)
    if type != 2:
        raise NotImplementedError(
            errors.message("Only DCT type 2 is implemented.", which=f"type={type!r}")
        )
    if norm not in (None, "backward", "ortho"):
        raise errors.value_error(
            f"jax.scipy.fft.{name}: norm={norm!r} is not implemented",
            tries=['norm="ortho"', "norm=None"],
        )
    return bool(norm == "ortho")


def _positive(name: str, sizes: Sequence[int]) -> None:
    if any(n < 1 for n in sizes):
        raise errors.shape_error(
            f"{name}: a transform needs at least one number", which=f"sizes {tuple(sizes)}"
        )


def _one(name: str, x: Any, type: Any, n: Any, axis: Any, norm: Any) -> Any:
    ortho = _checked(name, x, type, norm)
    shape = aval_of(x).shape
    axis = canonical_axis(operator.index(axis), len(shape))
    size = shape[axis] if n is None else operator.index(n)
    _positive(name, (size,))
    return _transformed(x, (size,), (axis,), name == "idct", ortho)


def _several(name: str, x: Any, type: Any, s: Any, axes: Any, norm: Any) -> Any:
    ortho = _checked(name, x, type, norm)
    shape = aval_of(x).shape
    sizes = None
    if s is not None:
        requested_sizes = s if has_items(s) else (s,)
        sizes = tuple(map(operator.index, requested_sizes))
        if len(sizes) > len(shape):
            raise errors.value_error(
                f"s must have at most x.ndim ({len(shape)}) elements, got {len(sizes)}"
            )
        if axes is None:
            axes = range(len(shape) - len(sizes), len(shape))
    if axes is not None and has_items(axes):
        canonical = tuple([canonical_axis(operator.index(a), len(shape)) for a in axes])
        if len({*canonical}) < len(canonical):
            raise errors.value_error(f"repeated axis: {tuple(axes)}")
        axes = canonical
    axes = canonical_axes(axes, len(shape))
    if sizes is None:
        sizes = tuple([shape[axis] for axis in axes])
    if len(sizes) != len(axes):
        raise errors.value_error(
            f"{name}: s must have one size for each axis", which=f"s={sizes}, axes={axes}"
        )
    _positive(name, sizes)
    return _transformed(x, sizes, axes, name == "idctn", ortho)


_ARGS = """
Args:
  x: array; integers and narrow floats become float32.
  type: 2, the only supported type."""
_NORM = """
  norm: None or "backward"; "ortho" scales so that the transform is orthogonal.
"""
_ONE = f"""{_ARGS}
  n: the number of values to transform, padded with zeros or truncated; None for all.
  axis: the axis to transform along.{_NORM}
Returns:
  An array of `x`'s shape, except for size `n` along the axis.

Raises:
  NotImplementedError: another type.
  ValueError: another norm, an invalid axis, or size 0.
"""
_SEVERAL = f"""{_ARGS}
  s: the number of values to transform along each axis, padded with zeros or truncated.
  axes: the axes to transform along; None for all, or the last ones if `s` is given.{_NORM}
Returns:
  An array of `x`'s shape, except for the sizes `s` along the axes.

Raises:
  NotImplementedError: another type.
  ValueError: another norm, invalid axes, or size 0.
"""
_EXAMPLE = """
Example:
  >>> import minijax.numpy as jnp
  >>> from minijax.scipy import fft
  >>> {}
  {}

Source: SciPy's `{}`.
"""


def _documented(summary: str, args: str, call_args: str, printed: str) -> Callable[[Any], Any]:
    """Return a decorator that sets the docstring of a transform."""

    def declare(fun: Any) -> Any:
        call = f"fft.{fun.__name__}({call_args})"
        fun.__doc__ = summary + "\n" + args + _EXAMPLE.format(call, printed, fun.__name__)
        return fun

    return declare


@_documented(
    r"Compute the cosine transform :math:`y_k = 2 \sum_n x_n \cos(\pi k (2n + 1) / 2N)`.",
    _ONE,
    "jnp.array([1., 1.])",
    "Array([4., 0.], dtype=float32)",
)
def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    return _one("dct", x, type, n, axis, norm)


@_documented(
    "Compute the inverse of the cosine transform.",
    _ONE,
    "jnp.array([4., 0.])",
    "Array([1., 1.], dtype=float32)",
)
def idct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    return _one("idct", x, type, n, axis, norm)


@_documented(
    "Compute the cosine transform along several axes, one after the other.",
    _SEVERAL,
    "jnp.ones((1, 2))",
    "Array([[8., 0.]], dtype=float32)",
)
def dctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    return _several("dctn", x, type, s, axes, norm)


@_documented(
    "Compute the inverse of the cosine transform along several axes.",
    _SEVERAL,
    "jnp.array([[8., 0.]])",
    "Array([[1., 1.]], dtype=float32)",
)
def idctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    return _several("idctn", x, type, s, axes, norm)
