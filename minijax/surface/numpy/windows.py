"""Window functions of signal processing, by their textbook formulas.

Source: F. J. Harris, "On the use of windows for harmonic analysis with the discrete
Fourier transform", Proc. IEEE 66 (1978).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...prims import lax
from ...prims.elementwise import const
from ...types import dtypes
from ._common import *
from ._function_tables import row
from .creation import ones
from .ranges import arange
from .special_values import modified_bessel_0

__all__ = ("blackman", "hamming", "hanning", "bartlett", "kaiser")


def _length(M: Any) -> int:
    """Return the number of points as an int, the integer part of a float."""
    if isinstance(M, (str, bytes)) or np.shape(M):
        raise TypeError(f"a window's number of points must be a scalar, got {M!r}.")
    return concrete_or_error(int, M, "It is the number of points of a window.")


def _ramp(M: int) -> Any:
    return arange(M, dtype=dtypes.float_default())


@composite(static=("M", "weights"))
def _sum_of_cosines(n: Any, M: int, weights: tuple[float, ...]) -> Any:
    out: Any = const(n, weights[0])
    for j, w in enumerate(weights[1:], 1):
        phase = lax.mul(n, const(n, 2 * np.pi * j / (M - 1)))
        out = lax.add(out, lax.mul(const(n, w), lax.cos(phase)))
    return out


def _cosines(name: str, summary: str, weights: tuple[float, ...], example: str) -> Any:
    """Return the window that is the sum of weights[j] * cos(2 pi j n / (M - 1))."""

    terms = " + ".join(
        f"{w} \\cos({2 * j} \\pi n / (M - 1))" if j else str(w) for j, w in enumerate(weights)
    )
    formula = f"{summary}\n\n.. math:: w_n = {terms}".replace("+ -", "- ")
    shape = "A float array of shape (M,); [1.] for one point."
    raises = "TypeError: `M` is not an integer, or negative."

    @row(name, __name__, formula, shape, example, raises=raises, M="number of points (static).")
    def window(M: int) -> Any:
        size = _length(M)
        if size <= 1:
            return ones(size)
        return _sum_of_cosines(_ramp(size), size, weights)

    return window


blackman = _cosines(
    "blackman",
    "Return the Blackman window of M points.",
    (0.42, -0.5, 0.08),
    "jnp.blackman(3).round(2) -> Array([-0.,  1., -0.], dtype=float32)",
)
hamming = _cosines(
    "hamming",
    "Return the Hamming window of M points.",
    (0.54, -0.46),
    "jnp.hamming(3).round(2) -> Array([0.08, 1.  , 0.08], dtype=float32)",
)
hanning = _cosines(
    "hanning", "Return the von Hann window of M points.", (0.5, -0.5), "3 -> [0., 1., 0.]"
)


def bartlett(M: int) -> Any:
    """Return the triangular window of M points, zero at both ends.

    .. math:: w_n = 1 - \\left| \\frac{2 n}{M - 1} - 1 \\right|

    Args:
      M: number of points (static).

    Returns:
      A float array of shape (M,); [1.] for one point.

    Raises:
      TypeError: `M` is not an integer, or negative.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.bartlett(5)
      Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    size = _length(M)
    return ones(size) if size <= 1 else _triangle(_ramp(size), size)


@composite(static="M")
def _triangle(n: Any, M: int) -> Any:
    one = const(n, 1)
    from_middle = lax.sub(lax.mul(n, const(n, 2 / (M - 1))), one)
    return lax.sub(one, lax.abs(from_middle))


def kaiser(M: int, beta: Any) -> Any:
    """Return the Kaiser window of M points.

    .. math:: w_n = I_0(\\beta \\sqrt{1 - (2 n / (M - 1) - 1)^2}) / I_0(\\beta)

    Args:
      M: number of points (static).
      beta: shape: 0 is flat, larger values are narrower; broadcasts with the points.

    Returns:
      A float array of shape (M,), or of the shape of `beta` with a last axis of size M;
      [1.] for one point.

    Raises:
      TypeError: `M` is not an integer, or negative; `beta` does not broadcast.
      ValueError: `beta` is complex.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.kaiser(3, 0.)
      Array([1., 1., 1.], dtype=float32)
    """
    check_arraylike("kaiser", beta)
    size = _length(M)
    return ones(size) if size <= 1 else _kaiser(_ramp(size), beta, size)


@composite(static="M")
def _kaiser(n: Any, beta: Any, M: int) -> Any:
    if dtypes.is_complex(aval_of(beta).dtype):
        raise ValueError("Unsupported input type to jax.numpy.i0: complex beta of kaiser.")
    beta = convert(beta, dtypes.float_default())
    half = const(n, (M - 1) / 2)
    position = lax.div(lax.sub(n, half), half)
    inside = lax.max(lax.sub(const(n, 1), lax.square(position)), const(n, 0))
    inner = lax.mul(*promote_shapes("multiply", beta, lax.sqrt(inside)))
    return lax.div(*promote_shapes("divide", modified_bessel_0(inner), modified_bessel_0(beta)))
