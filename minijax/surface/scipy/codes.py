"""Vector quantization: the index of the nearest code for each vector."""

from __future__ import annotations

from typing import Any

from ...control.calls.jit import composite
from .. import jnp
from ..numpy import norms
from ..numpy._common import (
    as_array,
    aval_of,
    check_arraylike,
    joint_shape,
    promote_dtypes_inexact,
)

__all__ = ("vq",)

ArrayLike = Any


def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Any, Any]:
    r"""Return the nearest code of each observation and its distance.

    .. math:: k_i = \operatorname{argmin}_k |x_i - c_k|, \quad d_i = |x_i - c_{k_i}|

    Args:
      obs: array [M, N] of observations, or [M] of numbers.
      code_book: array [K, N] of codes, or [K].
      check_finite: accepted for compatibility with SciPy; values are never checked.

    Returns:
      (codes: int array [M], distances: float array [M]).

    Raises:
      ValueError: the ranks differ, or are neither 1 nor 2.

    Example:
      >>> import minijax.numpy as jnp
      >>> vq(jnp.array([1., 8.]), jnp.array([0., 9., 5.]))
      (Array([0, 1], dtype=int32), Array([1., 1.], dtype=float32))
    """
    check_arraylike("scipy.cluster.vq.vq", obs, code_book)
    ranks = {aval_of(obs).ndim, aval_of(code_book).ndim}
    if len(ranks) > 1:
        raise ValueError("Observation and code_book should have the same rank")
    if not ranks <= {1, 2}:
        raise ValueError("ndim different than 1 or 2 are not supported")
    joint_shape("sub", *[aval_of(x).shape[1:] for x in (obs, code_book)])
    return _vq(obs, code_book)  # type: ignore[no-any-return]


@composite
def _vq(obs, code_book):
    x, codes = promote_dtypes_inexact(as_array(obs), as_array(code_book))
    if x.ndim == 1:
        x, codes = x[:, None], codes[:, None]
    distances = norms.norm(x[:, None] - codes, axis=-1)
    nearest = jnp.argmin(distances, -1)
    return nearest, jnp.take_along_axis(distances, nearest[:, None], -1)[:, 0]
