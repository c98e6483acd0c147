"""Fourier transforms: `minijax.numpy.fft`.

XLA transforms up to three last axes.  This module moves axes to the end, pads or truncates
them, transforms more than three axes in several steps, and applies the scale of `norm`.
Formula, for `fft`:

.. math:: X_k = \\sum_n x_n e^{-2 \\pi i k n / N}

Next: prims/fft.py.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...ir import core
from ...prims import lax
from ...prims.fft import FftType
from ...prims.fft import fft as lax_fft
from ...types import dtypes
from ._common import (
    ArrayLike,
    DTypeLike,
    as_array,
    canonical_axis,
    check_arraylike,
    convert,
    has_items,
    static_dtype,
)
from ._function_tables import row
from .creation import on_device
from .rearrange import roll
from .ufuncs import conjugate

__all__ = (
    "fft",
    "ifft",
    "rfft",
    "irfft",
    "hfft",
    "ihfft",
    "fftn",
    "ifftn",
    "rfftn",
    "irfftn",
    "fft2",
    "ifft2",
    "rfft2",
    "irfft2",
    "fftfreq",
    "rfftfreq",
    "fftshift",
    "ifftshift",
)

_KINDS = {
    "fft": FftType.FFT,
    "ifft": FftType.IFFT,
    "rfft": FftType.RFFT,
    "irfft": FftType.IRFFT,
}
_NORMS = ("backward", "ortho", "forward")
_DIMS = 3  # the largest number of axes of one XLA transform


def _checked_norm(norm: Any) -> str:
    norm = "backward" if norm is None else norm
    if norm not in _NORMS:
        raise ValueError(
            f'Invalid norm value {norm}; should be "backward","ortho" or "forward".'
        )
    return norm


def _sizes(name: str, s: Any) -> Any:
    if s is None:
        return None
    sizes = tuple(operator.index(n) for n in s)
    if any(n <= 0 for n in sizes):
        raise errors.value_error(
            "Shape should be positive.",
            which=f"s={sizes} of {name}",
            why="a transform needs at least one element.",
        )
    return sizes


def _transform(name: str, kind: str, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Check and complete the arguments of a transform, then run it."""
    norm, s = _checked_norm(norm), _sizes(name, s)
    check_arraylike(f"jax.numpy.fft.{name}", a)
    ndim = core.aval_of(a).ndim
    if axes is None:
        axes = range(ndim) if s is None else range(ndim - len(s), ndim)
        if s is not None and len(s) > ndim:
            raise ValueError(
                f"{name}: FFT input shape {core.aval_of(a).shape} must have at least as"
                f" many input dimensions as fft_lengths {s}."
            )
    axis_numbers = tuple(canonical_axis(i, ndim) for i in axes)
    if len(set(axis_numbers)) != len(axis_numbers):
        raise ValueError(
            f"jax.numpy.fft.{name} does not support repeated axes. Got axes {tuple(axes)}."
        )
    if s is not None and len(s) != len(axis_numbers):
        raise errors.value_error(
            "Shape and axes have different lengths.",
            which=f"s={s} and axes={tuple(axes)} of {name}",
        )
    return _run(a, kind, s, axis_numbers, norm)


@composite(static=("kind", "s", "axes", "norm"))
def _run(a: Any, kind: str, s: Any, axes: tuple[int, ...], norm: str) -> Any:
    x = _operand(kind, as_array(a))
    rest = [i for i in range(x.ndim) if i not in axes]
    permutation = (*rest, *axes)
    if permutation != tuple(range(x.ndim)):
        x = lax.transpose(x, permutation)
    first = len(rest)
    lengths = list(s) if s is not None else list(x.shape[first:])
    if kind == "irfft" and lengths and s is None:
        lengths[-1] = max(2 * (lengths[-1] - 1), 0)
    if kind == "rfft" and lengths and not lengths[-1]:
        raise errors.value_error("Shape should be positive.", which=f"lengths {lengths}")
    for i, n in enumerate(lengths):
        last = kind == "irfft" and i == len(lengths) - 1
        x = _resized(x, first + i, n // 2 + 1 if last and n else n)
    if lengths:
        x = _in_turns(x, kind, lengths)
    x = _scaled(x, kind, math.prod(lengths), norm)
    if permutation != tuple(range(x.ndim)):
        x = lax.transpose(x, tuple(int(i) for i in np.argsort(permutation)))
    return x


def _operand(kind: str, x: Any) -> Any:
    """Convert the operand to a dtype that the transform accepts."""
    if kind != "rfft":
        return convert(x, dtypes.complex_of(dtypes.to_inexact(x.dtype)))
    if dtypes.is_complex(x.dtype):
        raise ValueError(
            "only real valued inputs supported for rfft,"
            f" got {errors.type_text(x)}.\nTry: jnp.fft.fft, or x.real."
        )
    return convert(x, dtypes.to_inexact(x.dtype))


def _resized(x: Any, axis: int, n: int) -> Any:
    """Truncate or zero-pad the operand to size `n` along an axis."""
    size = x.shape[axis]
    if n == size:
        return x
    if n < size:
        return lax.slice_in_dim(x, 0, n, axis=axis)
    pads = [(0, n - size if i == axis else 0, 0) for i in range(x.ndim)]
    return lax.pad(x, x.dtype.type(0), pads)


def _in_turns(x: Any, kind: str, lengths: Sequence[int]) -> Any:
    """Transform the last `len(lengths)` axes, at most three at a time."""
    n = len(lengths)
    if n <= _DIMS:
        return lax_fft(x, _KINDS[kind], tuple(lengths))
    others = "ifft" if kind in ("ifft", "irfft") else "fft"
    if kind == "rfft":  # last axes first: only they are real
        x = lax_fft(x, FftType.RFFT, tuple(lengths[-_DIMS:]))
        return _first_axes(x, others, lengths[:-_DIMS], _DIMS)
    x = _first_axes(x, others, lengths[:-_DIMS], _DIMS)
    return lax_fft(x, _KINDS[kind], tuple(lengths[-_DIMS:]))


def _first_axes(x: Any, kind: str, lengths: Sequence[int], after: int) -> Any:
    """Transform the axes before the last `after` ones."""
    n = len(lengths)
    n_leading = x.ndim - n - after
    back = (*range(n_leading), *range(n_leading + n, x.ndim), *range(n_leading, n_leading + n))
    x = _in_turns(lax.transpose(x, back), kind, lengths)
    return lax.transpose(x, tuple(int(i) for i in np.argsort(back)))


def _scaled(x: Any, kind: str, count: int, norm: str) -> Any:
    """Apply the scale of `norm`; XLA's inverse transforms already divide by the count."""
    inverse = kind in ("ifft", "irfft")
    if norm == "backward":
        return x
    scale = math.sqrt(count) if norm == "ortho" else float(count)
    factor = x.dtype.type(scale)
    return lax.mul(x, factor) if inverse else lax.div(x, factor)


# ----------------------------------------------------------------------------- one axis


def _along(name: str, a: Any, n: Any, axis: Any, norm: Any, kind: str = "") -> Any:
    if isinstance(axis, (tuple, list)):
        raise ValueError(
            f"jax.numpy.fft.{name} does not support multiple axes. Please use"
            f" jax.numpy.fft.{name}n. Got axis = {axis}."
        )
    return _transform(name, kind or name, a, None if n is None else (n,), (axis,), norm)


_NORM = (
    "which direction divides by the length: 'backward' (the inverse), 'forward',\n"
    "    or 'ortho' (both, by its root)."
)


# Results of the transforms, along one axis or several.
_COMPLEX = "A complex array of `a`'s precision and of the requested lengths"
_RESULTS = {
    "fft": f"{_COMPLEX}.",
    "ifft": f"{_COMPLEX}.",
    "rfft": f"{_COMPLEX}, but of\n  n // 2 + 1 instead of n along the last axis transformed.",
    "irfft": "A real array of `a`'s precision and of the requested lengths; by default of"
    "\n  2 * (m - 1) along the last axis transformed, m being the size of `a`.",
}


def _formula(name: str, count: str, phase: str) -> str:
    if name.startswith("i"):
        return f"x_n = \\frac{{1}}{{{count}}} \\sum_k X_k e^{{2 \\pi i {phase}}}"
    return f"X_k = \\sum_n x_n e^{{-2 \\pi i {phase}}}"


def _one_axis(name: str, summary: str, example: str) -> Any:
    raises = "ValueError: an invalid axis, an unknown norm, a length that is not positive."
    arg_docs = {
        "a": "array.",
        "n": "the length: the axis is truncated or padded with zeros.",
        "axis": "the axis.",
        "norm": _NORM,
    }

    summary += "\n\n.. math:: " + _formula(name, "N", "k n / N")

    @row(name, __name__, summary, _RESULTS[name], example, raises=raises, **arg_docs)
    def fun(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
        return _along(name, a, n, axis, norm)

    return fun


fft = _one_axis(
    "fft",
    "Return the discrete Fourier transform along an axis.",
    "jnp.fft.fft(jnp.array([1., 0., 0.])).real.tolist() -> [1.0, 1.0, 1.0]",
)
ifft = _one_axis(
    "ifft",
    "Return the inverse of `fft`.",
    "jnp.fft.ifft(jnp.array([1., 1., 1.])).real.tolist() -> [1.0, 0.0, 0.0]",
)
rfft = _one_axis(
    "rfft",
    "Return the `fft` of real values, at the nonnegative frequencies.",
    "jnp.fft.rfft(jnp.array([1., 0., 0., 0.])).shape -> (3,)",
)
irfft = _one_axis(
    "irfft",
    "Return the inverse of `rfft`; `n` is the length of the result.",
    "jnp.fft.irfft(jnp.array([1., 1., 1.])).tolist() -> [1.0, 0.0, 0.0, 0.0]",
)


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the `fft` of values with Hermitian symmetry, given by their first half.

    .. math:: X_k = \\sum_{j=0}^{n-1} a_j e^{-2 \\pi i k j / n}, a_{n-j} = \\bar a_j

    Args:
      a: array: the elements 0 to n // 2.
      n: the length of the result (default: 2 * (m - 1) for a size of m).
      axis: the axis.
      norm: which direction divides by the length, as for `fft`.

    Returns:
      A real array of `a`'s precision, with size `n` along the axis.

    Raises:
      ValueError: an invalid axis, an unknown norm, a length that is not positive.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fft.hfft(jnp.array([1., 1., 1.]))
      Array([4., 0., 0., 0.], dtype=float32)
    """
    check_arraylike("hfft", a)
    return _along("hfft", conjugate(a), n, axis, _opposite_norm(norm), "irfft")


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of `hfft`.

    .. math:: x_j = \\frac{1}{n} \\sum_{k=0}^{n-1} a_k e^{2 \\pi i k j / n}

    Args:
      a: real array.
      n: the length: the axis is truncated or padded with zeros.
      axis: the axis.
      norm: which direction divides by the length, as for `fft`.

    Returns:
      A complex array of `a`'s precision, with size n // 2 + 1 along the axis.

    Raises:
      ValueError: complex values, an invalid axis, an unknown norm, a length that is not
        positive.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fft.ihfft(jnp.array([4., 0., 0., 0.])).real
      Array([1., 1., 1.], dtype=float32)
    """
    out = _along("ihfft", a, n, axis, _opposite_norm(norm), "rfft")
    return conjugate(out)


def _opposite_norm(norm: Any) -> str:
    """Return the norm of the inverse transform."""
    norm = _checked_norm(norm)
    return {"backward": "forward", "forward": "backward"}.get(norm, norm)


# ------------------------------------------------------------------------- several axes


_SUMMED = "\\prod_j N_j", "\\sum_j k_j n_j / N_j"
_SEVERAL_ARG_DOCS = {
    "a": "array.",
    "s": "the lengths: axes are truncated or padded with zeros.",
    "norm": _NORM,
}


def _several_axes(name: str, summary: str, example: str) -> Any:
    raises = "ValueError: repeated axes, an unknown norm, unequal numbers of lengths and axes."
    summary += "\n\n.. math:: " + _formula(name, *_SUMMED)
    result = _RESULTS[name[:-1]]
    axes_are = "the axes; None for all (or for the last `len(s)`)."

    @row(
        name,
        __name__,
        summary,
        result,
        example,
        raises=raises,
        axes=axes_are,
        **_SEVERAL_ARG_DOCS,
    )
    def fun(a: ArrayLike, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
        return _transform(name, name[:-1], a, s, axes, norm)

    return fun


fftn = _several_axes(
    "fftn",
    "Return the discrete Fourier transform along several axes.",
    "jnp.fft.fftn(jnp.ones((1, 2))).real.tolist() -> [[2.0, 0.0]]",
)
ifftn = _several_axes(
    "ifftn",
    "Return the inverse of `fftn`.",
    "jnp.fft.ifftn(jnp.ones((1, 2))).real.tolist() -> [[1.0, 0.0]]",
)
rfftn = _several_axes(
    "rfftn",
    "Return the `fftn` of real values; the last axis has nonnegative frequencies.",
    "jnp.fft.rfftn(jnp.ones((2, 4))).shape -> (2, 3)",
)
irfftn = _several_axes(
    "irfftn",
    "Return the inverse of `rfftn`; `s` holds the lengths of the result.",
    "jnp.fft.irfftn(jnp.ones((2, 3))).shape -> (2, 4)",
)


def _two_axes(name: str, example: str) -> Any:
    several = name[:-1] + "n"
    raises = "ValueError: not two axes, or one axis twice; an unknown norm."
    summary = f"Return the `{several}` along two axes.\n\n.. math:: {_formula(name, *_SUMMED)}"

    @row(
        name,
        __name__,
        summary,
        _RESULTS[name[:-1]],
        example,
        raises=raises,
        axes="two axes.",
        **_SEVERAL_ARG_DOCS,
    )
    def fun(
        a: ArrayLike, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
    ) -> Any:
        if len(axes) != 2:
            raise ValueError(f"jax.numpy.fft.{name} only supports 2 axes. Got axes = {axes}.")
        return _transform(name, name[:-1], a, s, axes, norm)

    return fun


fft2 = _two_axes("fft2", "jnp.fft.fft2(jnp.ones((3, 2, 2))).shape -> (3, 2, 2)")
ifft2 = _two_axes("ifft2", "jnp.fft.ifft2(jnp.ones((3, 2, 2))).shape -> (3, 2, 2)")
rfft2 = _two_axes("rfft2", "jnp.fft.rfft2(jnp.ones((3, 2, 4))).shape -> (3, 2, 3)")
irfft2 = _two_axes("irfft2", "jnp.fft.irfft2(jnp.ones((3, 2, 3))).shape -> (3, 2, 4)")


# -------------------------------------------------------------------------- frequencies


def _spaced(name: str, k: Any, n: int, d: Any, dtype: Any, device: Any) -> Any:
    dtype = static_dtype(dtype, name) or dtypes.float_default()
    check_arraylike(name, d)
    if dtypes.is_complex(core.aval_of(d).dtype):
        raise TypeError(f"{name}: the spacing d must be real, got {errors.type_text(d)}.")
    out = as_array(k.astype(dtype)) / (as_array(d).astype(dtype) * n)
    return on_device(out.astype(dtype), device)


def fftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Any = None
) -> Any:
    """Return the frequencies of `fft`'s results, in cycles per unit of `d`.

    .. math:: f_k = k / (n d), \\quad k = 0, 1, \\ldots, -2, -1

    Args:
      n: the length of the transform.
      d: the spacing of the samples; broadcasts with the frequencies.
      dtype: of the result; None for the default float.
      device: device or sharding of the result.

    Returns:
      An array of shape (n,): the nonnegative frequencies, then the negative ones, each in
      increasing order.

    Raises:
      ValueError: `n` is not an integer.
      TypeError: `d` is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fft.fftfreq(4)
      Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    n = concrete_or_error(functools.partial(_length, "fftfreq"), n, "n of fftfreq")
    k = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])
    return _spaced("fftfreq", k, n, d, dtype, device)


def _length(name: str, n: Any) -> int:
    if isinstance(n, (list, tuple)) or n != int(n):
        raise ValueError(
            f"The n argument of jax.numpy.fft.{name} only takes an int. Got n = {n}."
        )
    return int(n)


def rfftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Any = None
) -> Any:
    """Return the frequencies of `rfft`'s results, in cycles per unit of `d`.

    .. math:: f_k = k / (n d), \\quad k = 0, \\ldots, \\lfloor n / 2 \\rfloor

    Args:
      n: the length of the transform.
      d: the spacing of the samples; broadcasts with the frequencies.
      dtype: of the result; None for the default float.
      device: device or sharding of the result.

    Returns:
      A float array of shape (n // 2 + 1,), increasing.

    Raises:
      ValueError: `n` is not an integer.
      TypeError: `d` is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fft.rfftfreq(4)
      Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    name = "rfftfreq"
    n = concrete_or_error(functools.partial(_length, name), n, f"n of {name}")
    real = static_dtype(dtype, "rfftfreq")
    real = real and dtypes.to_inexact(real)
    return _spaced("rfftfreq", np.arange(n // 2 + 1), n, d, real, device)


def _roll_by_half(name: str, x: Any, axes: Any, sign: int) -> Any:
    check_arraylike(name, x)
    shape = core.aval_of(x).shape
    if axes is None:
        axis_numbers = list(range(len(shape)))
    else:
        axis_items = axes if has_items(axes) else (axes,)
        axis_numbers = [canonical_axis(axis, len(shape)) for axis in axis_items]
    shifts = tuple(shape[i] // 2 if sign > 0 else -(shape[i] // 2) for i in axis_numbers)
    return roll(x, shifts, tuple(axis_numbers))


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Any:
    """Move the frequency 0 to the middle.

    .. math:: y_k = x_{(k - \\lfloor N / 2 \\rfloor) \\bmod N}

    Args:
      x: array.
      axes: axes to shift; None for all of them.

    Returns:
      An array of `x`'s shape and dtype, rolled along each axis by half its size.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fft.fftshift(jnp.fft.fftfreq(4))
      Array([-0.5 , -0.25,  0.  ,  0.25], dtype=float32)
    """
    return _roll_by_half("fftshift", x, axes, 1)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Any:
    """Undo `fftshift`.

    .. math:: y_k = x_{(k + \\lfloor N / 2 \\rfloor) \\bmod N}

    Args:
      x: array.
      axes: axes to shift; None for all of them.

    Returns:
      An array of `x`'s shape and dtype, rolled back along each axis by half its size.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.fft.ifftshift(jnp.array([-0.5, -0.25, 0., 0.25]))
      Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    return _roll_by_half("ifftshift", x, axes, -1)
