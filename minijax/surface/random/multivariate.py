"""Random normal vectors and orthogonal matrices.

A normal vector with covariance C is a factor A of C = A Aᵀ times a standard normal vector.
A uniformly distributed orthogonal matrix is the Q of a normal matrix, with the signs that
make the QR decomposition unique.
"""

from __future__ import annotations

import operator
from typing import Any

from ...control.calls.jit import composite
from ...ir.core import aval_of
from ...prims.math.algebraic import mul, sqrt
from ...prims.math.order import sign
from ...prims.shape.shapes import expand_dims, transpose
from ...types import dtypes
from ..numpy import decompositions
from ..numpy._common import promote_dtypes_inexact
from ..numpy.contraction import einsum
from ..numpy.diagonals import diagonal
from .common import *
from .sampling import Shape, normal_of

__all__ = ("multivariate_normal", "orthogonal")

METHODS = ("cholesky", "svd", "eigh")


def _factor(cov: Any, method: str) -> Any:
    """Return a matrix A with A Aᵀ = `cov`."""
    if method == "cholesky":
        return decompositions.cholesky(cov)
    if method == "svd":
        vectors, values, _ = decompositions.svd(cov)
    else:
        values, vectors = decompositions.eigh(cov)
    return mul(vectors, sqrt(expand_dims(values, (aval_of(values).ndim - 1,))))


@composite(static=("shape", "dtype", "method"))
def _multivariate_normal(key, mean, cov, shape, dtype, method: str):
    typed, _ = opaque("multivariate_normal", key)
    mean, cov = promote_dtypes_inexact(mean, cov)
    mean_shape, cov_shape = aval_of(mean).shape, aval_of(cov).shape
    if not mean_shape or cov_shape[-2:] != (mean_shape[-1], mean_shape[-1]):
        what = "mean.ndim >= 1, got mean.ndim == 0"
        if mean_shape:
            what = f"cov.shape == (..., n, n) for n={mean_shape[-1]}, but got cov.shape =="
            what += f" {cov_shape}."
        raise value_problem(
            f"multivariate_normal requires {what}",
            mean,
            why="each vector needs a mean and a covariance of its size.",
        )
    batch = [mean_shape[:-1], cov_shape[:-2]]
    if shape is None:
        shape = broadcast_shapes("multivariate_normal", batch)
    elif broadcast_shapes("multivariate_normal", [shape, *batch]) != shape:
        raise value_problem(
            "multivariate_normal parameter shapes must be broadcast-compatible with the"
            f" shape argument, got mean.shape {mean_shape} and cov.shape {cov_shape} for shape"
            f" argument {shape}.",
            mean,
            why="shape does not include the axis of the vector.",
        )
    kind = dtypes.real_of(aval_of(cov).dtype) if dtype is None else dtype
    noise = normal_of(typed, (*shape, mean_shape[-1]), kind)
    out = einsum("...ij,...j->...i", _factor(cov, method), noise)
    return align_to_shape(mean, aval_of(out).shape) + out


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Any:
    r"""Draw normal random vectors: :math:`\mu + L z` for standard normal z, with
    :math:`L L^T = \Sigma`.

    Args:
      key: a random key.
      mean: array of shape (..., n).
      cov: covariance matrices of shape (..., n, n): symmetric, and positive definite
        for 'cholesky'.
      shape: the result's shape without its last axis (default: what `mean` and `cov`
        broadcast to).
      dtype: a float dtype (default: the common dtype of `mean` and `cov`).
      method: how to factor `cov`: 'cholesky' (the fastest), 'svd' or 'eigh'.
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `(*shape, n)`, of the dtype that `mean`, `cov` and `dtype`
      promote to.

    Raises:
      ValueError: shapes do not fit, the method is unknown, or `dtype` is not a float dtype.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.random.multivariate_normal(mj.random.key(0), jnp.zeros(2), jnp.eye(2)).shape
      (2,)
    """
    if dtype is not None:
        dtype = float_dtype("multivariate_normal", dtype)
    if method not in METHODS:
        raise ValueError(f"method must be one of {set(METHODS)}")
    shape = None if shape is None else static_shape(shape, "multivariate_normal")
    out = _multivariate_normal(key, mean, cov, shape, dtype, method)
    return placed(out, out_sharding, "multivariate_normal")


@composite(static=("n", "m", "shape", "dtype"))
def _orthogonal(key: Any, n: int, m: int, shape: Shape, dtype: Any) -> Any:
    typed, _ = opaque("orthogonal", key)
    x = normal_of(typed, (*shape, max(n, m), min(n, m)), dtype)
    q, r = decompositions.qr(x)
    last = len(shape)
    signs = expand_dims(sign(diagonal(r, axis1=-2, axis2=-1)), (last,))
    q = mul(q, signs)
    if n >= m:
        return q
    return transpose(q, (*range(last), last + 1, last))


def orthogonal(
    key: Any,
    n: int,
    shape: Any = (),
    dtype: Any = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Draw uniformly distributed orthogonal matrices, or unitary ones for complex dtypes.

    Args:
      key: a random key.
      n: the number of rows.
      shape: leading axes.
      dtype: a float or complex dtype (default: the dtype of Python floats).
      m: the number of columns (default: `n`); the rows or the columns are orthonormal,
        whichever are fewer.
      out_sharding: the sharding of the result.

    Returns:
      Array of shape (*shape, n, m).

    Raises:
      ValueError: the dtype is neither float nor complex.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> q = mj.random.orthogonal(mj.random.key(0), 3)
      >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-6))
      True

    Source: Mezzadri, "How to generate random matrices from the classical compact
    groups", Notices of the AMS 54 (2007).
    """
    if dtype is None:
        dtype = dtypes.float_default()
    else:
        kind = "a float or complex dtype"
        dtype = checked_dtype("orthogonal", dtype, dtypes.is_inexact, kind)
    n = operator.index(n)
    m = n if m is None else operator.index(m)
    out = _orthogonal(key, n, m, static_shape(shape, "orthogonal"), dtype)
    return placed(out, out_sharding, "orthogonal")
