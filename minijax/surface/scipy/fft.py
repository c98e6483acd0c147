r"""Cosine transforms: `minijax.scipy.fft`.

The cosine transform of real numbers is a Fourier transform of as many, in another order:
the even ones, then the odd ones backwards; results k and N - k are real and imaginary part
of a product with :math:`e^{-i \pi k / 2N}` (J. Makhoul, "A fast cosine transform in one and
two dimensions", IEEE Transactions on Acoustics, Speech, and Signal Processing 28, 1980).

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
from ...ir.explicit_sharding import spec_of
from ...prims import lax
from ...prims.elementwise import const
from ...prims.fft import FftType
from ...prims.fft import fft as fourier
from ...types import dtypes
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


def _turn(x: Any, n: int) -> tuple[Any, Any]:
    """cos and sin of pi k / 2n, for k up to n/2."""
    k = lax.iota(aval_of(x).dtype, n // 2 + 1)
    angle = k * (math.pi / (2 * n))
    return lax.cos(angle), lax.sin(angle)


def _backwards(x: Any) -> Any:
    return lax.rev(x, (aval_of(x).ndim - 1,))


def _joined(*xs: Any) -> Any:
    return lax.concatenate(xs, aval_of(xs[0]).ndim - 1)


def _cut(x: Any, start: int, stop: int, step: int = 1) -> Any:
    return lax.slice_in_dim(x, start, stop, step, axis=-1)


def _scale(x: Any, n: int, first: float, others: float) -> Any:
    """`x`, the first number times one factor, the others times another."""
    if first == others:
        return x if first == 1 else x * first
    dtype = aval_of(x).dtype
    is_first = lax.eq(lax.iota(dtypes.int32, n), np.int32(0))
    return x * choose(is_first, dtype.type(first), dtype.type(others))


def _forward(x: Any, ortho: bool) -> Any:
    n = aval_of(x).shape[-1]
    ordered = _joined(_cut(x, 0, n, 2), _backwards(_cut(x, 1, n, 2))) if n > 1 else x
    spectrum = fourier(ordered, FftType.RFFT, (n,))
    cosine, sine = _turn(x, n)
    real, imag = lax.real(spectrum), lax.imag(spectrum)
    low = real * cosine + imag * sine
    high = real * sine - imag * cosine
    out = _joined(low, _backwards(_cut(high, 1, n - n // 2)))
    if not ortho:
        return out * const(out, 2)
    return _scale(out, n, math.sqrt(1 / n), math.sqrt(2 / n))


def _inverse(x: Any, ortho: bool) -> Any:
    n = aval_of(x).shape[-1]
    if ortho:
        x = _scale(x, n, math.sqrt(n), math.sqrt(n / 2))
    else:
        x = x * const(x, 0.5)
    cosine, sine = _turn(x, n)
    low = _cut(x, 0, n // 2 + 1)
    none = _cut(x, 0, 1) * const(x, 0)
    high = _joined(none, _backwards(_cut(x, n - n // 2, n)))
    spectrum = lax.complex(low * cosine + high * sine, low * sine - high * cosine)
    ordered = fourier(spectrum, FftType.IRFFT, (n,))
    half = (n + 1) // 2
    lead = [(0, 0, 0)] * (aval_of(x).ndim - 1)
    # The first half stands at even places, the other backwards at odd ones.
    even = lax.pad(_cut(ordered, 0, half), const(x, 0), [*lead, (0, 1 - n % 2, 1)])
    odd = lax.pad(_backwards(_cut(ordered, half, n)), const(x, 0), [*lead, (1, n % 2, 1)])
    return even + odd if n > 1 else ordered


# ---------------------------------------------------------------------- along any axes


def _along(x: Any, axis: int, transform: Callable[[Any, bool], Any], ortho: bool) -> Any:
    order = [i for i in range(aval_of(x).ndim) if i != axis] + [axis]
    if order[axis] != axis:
        back = sorted(range(len(order)), key=order.__getitem__)
        moved = _along(lax.transpose(x, order), len(order) - 1, transform, ortho)
        return lax.transpose(moved, back)
    if dtypes.is_complex(aval_of(x).dtype):
        parts = lax.real(x), lax.imag(x)
        return lax.complex(*[transform(part, ortho) for part in parts])
    return transform(x, ortho)


def _resized(x: Any, axis: int, n: int) -> Any:
    """`x` cut, or with zeros behind, along an axis."""
    more = n - aval_of(x).shape[axis]
    if not more:
        return x
    pads = [(0, more if i == axis else 0, 0) for i in range(aval_of(x).ndim)]
    return lax.pad(x, const(x, 0), pads)


@composite(static=("sizes", "axes", "inverse", "ortho"))
def _transformed(
    x: Any, sizes: Sequence[int] | None, axes: Sequence[int], inverse: bool, ortho: bool
) -> Any:
    dtype = aval_of(x).dtype
    if dtype not in (dtypes.float64, dtypes.complex64, dtypes.complex128):
        wide = dtypes.to_inexact(dtype)
        dtype = wide if wide.itemsize >= 4 else dtypes.float32
    x = convert(x, dtype)
    lies = aval_of(x).explicit_sharding
    if lies is not None and any(spec_of(aval_of(x))[axis] for axis in axes):
        options = sizes, axes, inverse, ortho
        return call_with_out_sharding("idct" if inverse else "dct", lies, _uncut, [x], *options)
    for axis, n in zip(axes, sizes or (), strict=False):
        x = _resized(x, axis, n)
    for axis in axes:
        x = _along(x, axis, _inverse if inverse else _forward, ortho)
    return x


def _uncut(xs: Sequence[Any], *options: Any) -> Any:
    return _transformed(xs[0], *options)


def _checked(name: str, x: Any, type: Any, norm: Any) -> bool:
    """Whether the norm is "ortho"; errors of arguments that all transforms share."""
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
            f"{name}: a transform needs one number at least", which=f"sizes {tuple(sizes)}"
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
        given = s if has_items(s) else (s,)
        sizes = tuple(map(operator.index, given))
        if len(sizes) > len(shape):
            raise errors.value_error(
                f"s must have at most x.ndim ({len(shape)}) elements, got {len(sizes)}"
            )
        if axes is None:
            axes = range(len(shape) - len(sizes), len(shape))
    if axes is not None and has_items(axes):
        found = tuple([canonical_axis(operator.index(a), len(shape)) for a in axes])
        if len({*found}) < len(found):
            raise errors.value_error(f"repeated axis: {tuple(axes)}")
        axes = found
    axes = canonical_axes(axes, len(shape))
    if sizes is None:
        sizes = tuple([shape[axis] for axis in axes])
    if len(sizes) != len(axes):
        raise errors.value_error(
            f"{name}: there must be a size for each axis", which=f"s={sizes}, axes={axes}"
        )
    _positive(name, sizes)
    return _transformed(x, sizes, axes, name == "idctn", ortho)


_ARGS = """
Args:
  x: array; integers and narrow floats become float32.
  type: 2, the one that there is."""
_NORM = """
  norm: None or "backward"; "ortho" scales so that the transform is orthogonal.
"""
_ONE = f"""{_ARGS}
  n: how many numbers to transform, zeros behind or cut; None for all.
  axis: the axis to transform along.{_NORM}
Returns:
  An array of `x`'s shape but for `n` numbers along the axis.

Raises:
  NotImplementedError: another type.
  ValueError: another norm, no such axis, or no numbers.
"""
_SEVERAL = f"""{_ARGS}
  s: how many numbers to transform along each axis, zeros behind or cut.
  axes: the axes to transform along; None for all, or the last ones if `s` is given.{_NORM}
Returns:
  An array of `x`'s shape but for `s` numbers along the axes.

Raises:
  NotImplementedError: another type.
  ValueError: another norm, no such axes, or no numbers.
"""
_EXAMPLE = """
Example:
  >>> import minijax.numpy as jnp
  >>> from minijax.scipy import fft
  >>> {}
  {}

Source: SciPy's `{}`.
"""


def _told(about: str, args: str, given: str, shown: str) -> Callable[[Any], Any]:
    """Give a transform its docstring."""

    def declare(fun: Any) -> Any:
        call = f"fft.{fun.__name__}({given})"
        fun.__doc__ = about + "\n" + args + _EXAMPLE.format(call, shown, fun.__name__)
        return fun

    return declare


@_told(
    r"Cosine transform, :math:`y_k = 2 \sum_n x_n \cos(\pi k (2n + 1) / 2N)`.",
    _ONE,
    "jnp.array([1., 1.])",
    "Array([4., 0.], dtype=float32)",
)
def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    return _one("dct", x, type, n, axis, norm)


@_told(
    "Inverse of the cosine transform.",
    _ONE,
    "jnp.array([4., 0.])",
    "Array([1., 1.], dtype=float32)",
)
def idct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    return _one("idct", x, type, n, axis, norm)


@_told(
    "Cosine transform along several axes, one after the other.",
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


@_told(
    "Inverse of the cosine transform along several axes.",
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
