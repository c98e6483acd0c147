"""Convolution and correlation of arrays of any rank, directly or by Fourier transforms.

Sizes n and m give n + m - 1 overlaps, the mode "full".  "same" takes n of them, and "valid"
the complete overlaps; each is a start and a size within the full result.

Next: spectra.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....base import errors
from ....control.calls.jit import composite
from ....prims import lax
from ....types import dtypes
from ... import jnp
from ...numpy import fft
from ...numpy._common import aval_of, canonical_axes, check_arraylike, promote_dtypes_inexact

__all__ = ("fftconvolve", "convolve", "correlate", "convolve2d", "correlate2d")

ArrayLike = Any
Shape = tuple[int, ...]
_MODES = ("full", "same", "valid")


# ------------------------------------------------------------------------------- modes


def result_window(mode: str, x: Shape, y: Shape) -> tuple[Shape, Shape]:
    """Return the start of the result within the full one, and its shape."""
    pairs = list(zip(x, y, strict=True))
    if mode == "full":
        return (0,) * len(x), tuple(n + m - 1 for n, m in pairs)
    if mode == "same":
        return tuple((m - 1) // 2 for m in y), x
    return tuple(min(p) - 1 for p in pairs), tuple(abs(n - m) + 1 for n, m in pairs)


def fits(x: Shape, y: Shape) -> bool:
    """Whether every axis of x is at least as long as the same axis of y."""
    return all(n >= m for n, m in zip(x, y, strict=True))


def check_fit(x: Shape, y: Shape, message: str) -> None:
    """Raise ValueError unless one of two shapes fits into the other."""
    if not fits(x, y) and not fits(y, x):
        raise errors.value_error(
            message,
            which=f"shapes {x} and {y}",
            tries=["jnp.pad, to make one of them larger along every axis"],
        )


def convolve_direct(x: Any, y: Any, start: Shape, shape: Shape, precision: Any) -> Any:
    """Return a window of the convolution of x and y; the smaller one is the filter."""
    if x.size < y.size:
        x, y = y, x
    sizes = zip(x.shape, y.shape, start, shape, strict=True)
    pads = [(m - 1 - low, low + new - n) for n, m, low, new in sizes]
    out = lax.conv_general_dilated(
        lax.reshape(x, (1, 1, *x.shape)),
        lax.reshape(lax.rev(y, tuple(range(y.ndim))), (1, 1, *y.shape)),
        window_strides=(1,) * x.ndim,
        padding=pads,
        precision=precision,
    )
    return lax.reshape(out, shape)


def check_mode(mode: str) -> None:
    """Raise ValueError for an unknown mode."""
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {list(_MODES)}, got {mode!r}.")


def check_pair(name: str, x: Any, y: Any, mode: str) -> None:
    """Check the operands of direct methods."""
    check_arraylike(name, x, y)
    check_mode(mode)
    a, b = aval_of(x), aval_of(y)
    if a.ndim != b.ndim:
        raise ValueError("in1 and in2 must have the same number of dimensions")
    if not a.size or not b.size:
        raise ValueError(
            "zero-size arrays not supported in convolutions, got shapes"
            f" {a.shape} and {b.shape}."
        )
    message = "One input must be smaller than the other in every dimension."
    check_fit(a.shape, b.shape, message)


def check_method(method: str) -> None:
    """Raise ValueError for an unknown method."""
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"Got {method=}; expected 'auto', 'fft', or 'direct'.")


# ------------------------------------------------------------------- Fourier transforms


def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Sequence[int] | None = None
) -> Any:
    r"""Convolve arrays by Fourier transforms: efficient for long arrays, O(n log n).

    .. math:: z = F^{-1}(F x \cdot F y)

    Args:
      in1, in2: arrays of equal rank.
      mode: 'full' (every overlap), 'same' (the shape of `in1`, the middle of 'full'),
        'valid' (complete overlaps only).
      axes: axes to convolve along (default: all); the others must have equal sizes.

    Returns:
      An array of the operands' rank and common float or complex dtype.

    Raises:
      ValueError: ranks or other axes differ, neither operand fits into the other
        ('valid'), or the mode is unknown.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, y = jnp.array([1., 2., 3.]), jnp.array([1., 1.])
      >>> jnp.round(fftconvolve(x, y), 5)
      Array([1., 3., 5., 3.], dtype=float32)
    """
    check_arraylike("fftconvolve", in1, in2)
    x, y = aval_of(in1).shape, aval_of(in2).shape
    if len(x) != len(y):
        raise ValueError("in1 and in2 should have the same dimensionality")
    check_mode(mode)
    conv_axes = canonical_axes(axes, len(x))
    if any(x[i] != y[i] for i in range(len(x)) if i not in conv_axes):
        raise ValueError(f"mapped axes must have same shape; got {x} and {y}, {axes=}")
    if mode == "valid":
        check_fit(
            tuple(x[i] for i in conv_axes),
            tuple(y[i] for i in conv_axes),
            "For 'valid' mode, One input must be at least as large as the other in"
            " every dimension.",
        )
    return _fftconvolve(in1, in2, mode, conv_axes)


@composite(static=("mode", "axes"))
def _fftconvolve(in1, in2, mode: str, axes: Shape):
    x, y = promote_dtypes_inexact(jnp.asarray(in1), jnp.asarray(in2))
    pairs = [(x.shape[i], y.shape[i]) for i in axes]
    if all(1 in pair for pair in pairs):
        full = x * y
    else:
        sizes = [n + m - 1 for n, m in pairs]
        real = not dtypes.is_complex(x.dtype)
        transform = fft.rfftn if real else fft.fftn
        inverse_transform = fft.irfftn if real else fft.ifftn
        full = inverse_transform(
            transform(x, sizes, axes) * transform(y, sizes, axes), sizes, axes
        )
    start, shape = [0] * x.ndim, list(full.shape)
    start_and_shape = result_window(mode, *[tuple(p[k] for p in pairs) for k in (0, 1)])
    for i, low, new in zip(axes, *start_and_shape, strict=True):
        start[i], shape[i] = low, new
    stop = [low + new for low, new in zip(start, shape, strict=True)]
    return lax.slice(full, start, stop)


# ---------------------------------------------------------------------- direct methods


def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: Any = None,
) -> Any:
    r"""Convolve two arrays of any rank.

    .. math:: z_k = \sum_i x_i y_{k-i}

    Args:
      in1, in2: arrays of equal rank; one must be at least as long along every axis.
      mode: 'full' (every overlap), 'same' (the shape of `in1`, the middle of 'full'),
        'valid' (complete overlaps only).
      method: 'direct', 'fft' (see `fftconvolve`), or 'auto', which is 'direct'.
      precision: the precision of products on accelerators (see `lax.dot_general`).

    Returns:
      An array of the operands' rank and common float or complex dtype.

    Raises:
      ValueError: ranks differ, an operand is empty, neither fits into the other, or the
        mode or method is unknown.

    Example:
      >>> import minijax.numpy as jnp
      >>> convolve(jnp.array([1., 2., 3.]), jnp.array([1., 1.]), mode="same")
      Array([1., 3., 5.], dtype=float32)
    """
    check_method(method)
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    check_pair("convolve", in1, in2, mode)
    return _convolve(in1, in2, mode, precision)


@composite(static=("mode", "precision"))
def _convolve(in1, in2, mode: str, precision):
    x, y = promote_dtypes_inexact(jnp.asarray(in1), jnp.asarray(in2))
    return convolve_direct(x, y, *result_window(mode, x.shape, y.shape), precision)


def correlate(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: Any = None,
) -> Any:
    r"""Cross-correlate two arrays of any rank.

    .. math:: z_k = \sum_i x_{i+k} \bar y_i

    Args:
      in1, in2, mode, method, precision: as for `convolve`.

    Returns:
      An array of the operands' rank and common float or complex dtype.

    Raises:
      ValueError: as `convolve`.

    Example:
      >>> import minijax.numpy as jnp
      >>> correlate(jnp.array([1., 2., 3.]), jnp.array([0., 1.]), mode="same")
      Array([1., 2., 3.], dtype=float32)
    """
    check_method(method)
    if method == "fft":
        check_arraylike("correlate", in1, in2)
        return fftconvolve(in1, jnp.flip(jnp.conj(in2)), mode)
    check_pair("correlate", in1, in2, mode)
    return _correlate(in1, in2, mode, precision)


@composite(static=("mode", "precision"))
def _correlate(in1, in2, mode: str, precision):
    x, y = promote_dtypes_inexact(jnp.asarray(in1), jnp.asarray(in2))
    start, shape = result_window(mode, x.shape, y.shape)
    return convolve_direct(x, conjugate_reverse(y), start, shape, precision)


def conjugate_reverse(x: Any) -> Any:
    """Return the conjugate, reversed along all axes."""
    return jnp.conj(lax.rev(x, tuple(range(x.ndim))))


# ----------------------------------------------------------------------------- matrices


def check_matrices(name: str, x: Any, y: Any, boundary: str, fillvalue: Any) -> None:
    """Check the further arguments of the functions of matrices."""
    if boundary != "fill" or fillvalue != 0:
        raise errors.error(
            NotImplementedError,
            f"{name}() only supports boundary='fill', fillvalue=0",
            tries=["jnp.pad of in1, and mode='valid'"],
        )
    if np.ndim(x) != 2 or np.ndim(y) != 2:
        raise ValueError(f"{name}() only supports 2-dimensional inputs.")


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Any:
    """Convolve two matrices; see `convolve`.

    Args:
      in1, in2: matrices; one must be at least as long along every axis.
      mode, precision: as for `convolve`.
      boundary, fillvalue: the values beyond the edges: 'fill' and 0.

    Returns:
      A matrix of the operands' common float or complex dtype.

    Raises:
      ValueError: operands are not matrices, or as for `convolve`.
      NotImplementedError: other values beyond the edges.

    Example:
      >>> import minijax.numpy as jnp
      >>> convolve2d(jnp.eye(2), jnp.array([[1., 2.]]))
      Array([[1., 2., 0.],
             [0., 1., 2.]], dtype=float32)
    """
    check_matrices("convolve2d", in1, in2, boundary, fillvalue)
    check_pair("convolve2d", in1, in2, mode)
    return _convolve(in1, in2, mode, precision)


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Any:
    """Cross-correlate two matrices; see `correlate`.

    As in SciPy, it differs from `correlate` if the middle is between two elements (mode
    'same', `in2` of even size), and it is the conjugate of `correlate` if the smaller
    matrix comes first (mode 'valid').

    Args:
      in1, in2: matrices; one must be at least as long along every axis.
      mode, precision: as for `convolve`.
      boundary, fillvalue: the values beyond the edges: 'fill' and 0.

    Returns:
      A matrix of the operands' common float or complex dtype.

    Raises:
      ValueError: operands are not matrices, or as for `convolve`.
      NotImplementedError: other values beyond the edges.

    Example:
      >>> import minijax.numpy as jnp
      >>> correlate2d(jnp.eye(2), jnp.array([[1., 2.]]))
      Array([[2., 1., 0.],
             [0., 2., 1.]], dtype=float32)
    """
    check_matrices("correlate2d", in1, in2, boundary, fillvalue)
    check_pair("correlate2d", in1, in2, mode)
    return _correlate2d(in1, in2, mode, precision)


@composite(static=("mode", "precision"))
def _correlate2d(in1, in2, mode: str, precision):
    x, y = promote_dtypes_inexact(jnp.asarray(in1), jnp.asarray(in2))
    start, shape = result_window(mode, x.shape, y.shape)
    if mode == "same":
        start = tuple(m // 2 for m in y.shape)
    out = convolve_direct(x, conjugate_reverse(y), start, shape, precision)
    return jnp.conj(out) if mode == "valid" and not fits(x.shape, y.shape) else out
