"""Discrete convolution and correlation of sequences.

Next: prims/conv/conv_functions.py, which defines the convolution.
"""

from __future__ import annotations

from typing import Any

from ...control.calls.jit import composite
from ...ir import core
from ...prims import lax
from ...prims.dot.dot import element_type
from ...types import dtypes
from ._common import *

__all__ = ("convolve", "correlate")

_STATIC = ("mode", "precision", "preferred_element_type")


def slide(name: str, long, short, mode: str, precision, preferred):
    """Return sums of products of `long` and `short`, which is not longer, at every offset."""
    n = short.shape[0]
    pads = {"full": (n - 1, n - 1), "same": (n // 2, n - n // 2 - 1), "valid": (0, 0)}.get(mode)
    if pads is None:
        raise ValueError(f"{name}: mode must be one of ['full', 'same', 'valid'], got {mode!r}")
    out = lax.conv_general_dilated(
        lax.reshape(long, (1, 1, long.shape[0])),
        lax.reshape(short, (1, 1, n)),
        window_strides=(1,),
        padding=[pads],
        precision=precision,
        preferred_element_type=preferred,
    )
    return lax.reshape(out, (out.shape[2],))


def _operands(name: str, a: Any, v: Any, preferred: Any) -> tuple[Any, Any, Any]:
    check_arraylike(name, a, v)
    x, y = core.aval_of(a), core.aval_of(v)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"{name}() only support 1-dimensional inputs.")
    if not x.size or not y.size:
        raise ValueError(f"{name}: inputs cannot be empty, got shapes {x.shape} and {y.shape}.")
    promote = promote_dtypes_inexact if preferred is None else promote_dtypes
    a, v = promote(as_array(a), as_array(v))
    return a, v, element_type(preferred, name)


@composite(static=_STATIC)
def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Any:
    """Return the convolution of two sequences.

    .. math:: c_k = \\sum_i a_i v_{k-i}

    Args:
      a, v: arrays of one axis.
      mode: 'full' (every overlap), 'same' (the size of the longer), 'valid' (complete
        overlaps only).
      precision: precision of multiplications on accelerators (see `lax.dot_general`).
      preferred_element_type: dtype to accumulate in and to return.

    Returns:
      Array of one axis: for sizes m >= n, of m+n-1 elements ('full'), m ('same') or m-n+1
      ('valid'). Its dtype is `preferred_element_type`, or by default the common float or
      complex dtype.

    Raises:
      ValueError: empty sequences, more or fewer than one axis, an unknown mode.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.convolve(jnp.array([1., 2., 3.]), jnp.array([1., 1.]))
      Array([1., 3., 5., 3.], dtype=float32)
    """
    a, v, preferred = _operands("convolve", a, v, preferred_element_type)
    if a.shape[0] < v.shape[0]:
        a, v = v, a
    return slide("convolve", a, lax.rev(v, (0,)), mode, precision, preferred)


@composite(static=_STATIC)
def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Any:
    """Return the cross-correlation of two sequences.

    .. math:: c_k = \\sum_i a_{i+k} \\bar v_i

    Args:
      a, v: arrays of one axis.
      mode: 'full', 'same' or 'valid'; see `convolve`.
      precision, preferred_element_type: as for `convolve`.

    Returns:
      Array of one axis, with the size and dtype of `convolve`.

    Raises:
      ValueError: empty sequences, more or fewer than one axis, an unknown mode.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.correlate(jnp.array([1., 2., 3.]), jnp.array([0., 1.]))
      Array([2., 3.], dtype=float32)
    """
    a, v, preferred = _operands("correlate", a, v, preferred_element_type)
    if dtypes.is_complex(v.dtype):
        v = lax.conj(v)
    if a.shape[0] < v.shape[0]:
        out = slide("correlate", v, a, mode, precision, preferred)
        return lax.rev(out, (0,))
    return slide("correlate", a, v, mode, precision, preferred)
