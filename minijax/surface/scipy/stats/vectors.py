"""Distributions of vectors: multinomial, Dirichlet and multivariate normal.

Next: density.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....base import errors
from ....control.calls.jit import composite
from ....ir.core import aval_of
from ....prims import lax, lax_linalg
from ... import jnp
from ...numpy._common import check_arraylike, promote_dtypes_inexact
from ..special.gamma import gammaln
from ..special.logarithms import xlogy
from ._common import *

__all__ = ("dirichlet", "multinomial", "multivariate_normal")


def _named(dist: str, **functions: Callable[..., Any]) -> Distribution:
    """Return a distribution of the given functions."""
    out = Distribution()
    for name, fun in functions.items():
        fun.__name__, fun.__qualname__ = name, f"{dist}.{name}"
        static = {"allow_singular"} & {*fun.__code__.co_varnames}
        setattr(out, name, composite(fun, static=tuple(static)))
    return out


# ------------------------------------------------------------------------- multinomial


def _multinomial_logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Any:
    r"""Return the logarithm of the probability of counts in the multinomial distribution.

    .. math:: n! \prod_i \frac{p_i^{x_i}}{x_i!}, \quad \sum_i x_i = n

    Args:
      x: the count of each outcome, integers, shape (..., k).
      n: the number of trials, integers, shape (...).
      p: the probability of each outcome, shape (..., k).

    Returns:
      A float array of shape (...); -inf where counts are negative or do not sum to `n`.

    Raises:
      ValueError: `x` or `n` is not of an integer type, or `x` is a scalar.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy.stats import multinomial
      >>> counts, p = jnp.array([1, 2]), jnp.array([0.5, 0.5])
      >>> print(f"{multinomial.logpmf(counts, 3, p):.4f}")
      -0.9808

    Differs from JAX: stacks of counts are compared with `n` row by row.
    """
    check_arraylike("multinomial.logpmf", x, n, p)
    x, n = as_array(x), as_array(n)
    (p,) = promote_dtypes_inexact(as_array(p))
    if not (jnp.issubdtype(x.dtype, jnp.integer) and jnp.issubdtype(n.dtype, jnp.integer)):
        raise errors.value_error(
            f"x and n must be of integer type; got x.dtype={x.dtype}, n.dtype={n.dtype}",
            why="x and n are counts.",
        )
    fits = (jnp.sum(x, axis=-1) == n) & jnp.all(x >= 0, axis=-1)
    counts = jnp.maximum(x, 0).astype(p.dtype)
    ways = gammaln(n.astype(p.dtype) + 1) - jnp.sum(gammaln(counts + 1), axis=-1)
    p = jnp.where(counts == 0, 1.0, p)  # an outcome with count 0 may have probability 0
    out = ways + jnp.sum(xlogy(counts, p), axis=-1)
    return jnp.where(fits, out, -INF)


def _multinomial_pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Any:
    r"""Return the probability of counts in the multinomial distribution.

    .. math:: n! \prod_i \frac{p_i^{x_i}}{x_i!}, \quad \sum_i x_i = n

    Args:
      x: the count of each outcome, integers, shape (..., k).
      n: the number of trials, integers, shape (...).
      p: the probability of each outcome, shape (..., k).

    Returns:
      A float array of shape (...); 0 where counts are negative or do not sum to `n`.

    Raises:
      ValueError: `x` or `n` is not of an integer type, or `x` is a scalar.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy.stats import multinomial
      >>> counts, p = jnp.array([1, 2]), jnp.array([0.5, 0.5])
      >>> print(f"{multinomial.pmf(counts, 3, p):.4f}")
      0.3750
    """
    return lax.exp(_multinomial_logpmf(x, n, p))


multinomial = _named("multinomial", logpmf=_multinomial_logpmf, pmf=_multinomial_pmf)

# --------------------------------------------------------------------------- Dirichlet


def _dirichlet_logpdf(x: ArrayLike, alpha: ArrayLike) -> Any:
    r"""Return the logarithm of the density of the Dirichlet distribution.

    .. math:: \frac{\Gamma(\sum_i \alpha_i)}{\prod_i \Gamma(\alpha_i)}
        \prod_i x_i^{\alpha_i - 1}, \quad x_i \ge 0, \sum_i x_i = 1

    Args:
      x: the proportions, along the first axis, shape (k, ...); or all except the last,
        (k - 1, ...), which then is the remainder.
      alpha: their powers, plus 1, shape (k,).

    Returns:
      An array of the joint float dtype and shape (...); -inf where a proportion is
      negative, or the sum differs from 1 by 1e-6 or more; nan where a power is -1 or less.

    Raises:
      ValueError: `alpha` does not have one axis, or `x` has a wrong number of entries.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy.stats import dirichlet
      >>> x, alpha = jnp.array([0.2, 0.8]), jnp.array([2., 3.])
      >>> print(f"{dirichlet.logpdf(x, alpha):.4f}")
      0.4292
    """
    check_arraylike("dirichlet.logpdf", x, alpha)
    x, alpha = promote_dtypes_inexact(as_array(x), as_array(alpha))
    if alpha.ndim != 1:
        raise errors.value_error(
            f"`alpha` must be one-dimensional; got alpha.shape={alpha.shape}"
        )
    size = alpha.shape[0]
    if x.ndim == 0 or x.shape[0] not in (size, size - 1):
        raise errors.value_error(
            "`x` must have either the same number of entries as `alpha` or one entry"
            f" fewer; got x.shape={x.shape}, alpha.shape={alpha.shape}",
            why="entries of `x` are along its first axis.",
        )
    if x.shape[0] != size:
        x = jnp.concatenate([x, 1 - x.sum(0, keepdims=True)])
    out = jnp.any(x < 0, axis=0) | (jnp.abs(x.sum(0) - 1) >= 1e-6)
    alpha = alpha.reshape(size, *[1] * (x.ndim - 1))
    size = jnp.sum(gammaln(alpha), axis=0) - gammaln(jnp.sum(alpha, axis=0))
    log = jnp.sum(xlogy(alpha - 1, jnp.where(out, 1.0, x)), axis=0) - size
    log = jnp.where(out, -INF, log)
    return jnp.where(jnp.all(alpha > 0, axis=0), log, NAN)


def _dirichlet_pdf(x: ArrayLike, alpha: ArrayLike) -> Any:
    r"""Return the density of the Dirichlet distribution.

    .. math:: \frac{\Gamma(\sum_i \alpha_i)}{\prod_i \Gamma(\alpha_i)}
        \prod_i x_i^{\alpha_i - 1}, \quad x_i \ge 0, \sum_i x_i = 1

    Args:
      x: the proportions, along the first axis, shape (k, ...); or all except the last,
        (k - 1, ...), which then is the remainder.
      alpha: their powers, plus 1, shape (k,).

    Returns:
      An array of the joint float dtype and shape (...); 0 where a proportion is negative,
      or the sum differs from 1 by 1e-6 or more; nan where a power is -1 or less.

    Raises:
      ValueError: `alpha` does not have one axis, or `x` has a wrong number of entries.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy.stats import dirichlet
      >>> x, alpha = jnp.array([0.2, 0.8]), jnp.array([2., 3.])
      >>> print(f"{dirichlet.pdf(x, alpha):.4f}")
      1.5360
    """
    return lax.exp(_dirichlet_logpdf(x, alpha))


dirichlet = _named("dirichlet", logpdf=_dirichlet_logpdf, pdf=_dirichlet_pdf)

# -------------------------------------------------------------------------------- normal


def _squares(y: Any, cov: Any) -> tuple[Any, Any]:
    """Return y^T C^-1 y and the logarithm of the determinant of C, by Cholesky factors."""

    def one(y: Any, cov: Any) -> tuple[Any, Any]:
        low = lax_linalg.cholesky(cov)
        white = lax_linalg.triangular_solve(low, y, left_side=True, lower=True)
        return jnp.sum(white * white), 2 * jnp.sum(jnp.log(jnp.diagonal(low)))

    if y.ndim == 1 and cov.ndim == 2:
        return one(y, cov)
    return jnp.vectorize(one, signature="(n),(n,n)->(),()")(y, cov)


def _normal_logpdf(
    x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None
) -> Any:
    r"""Return the logarithm of the density of the multivariate normal distribution.

    .. math:: -\frac{1}{2} \left(
        (x-\mu)^T C^{-1} (x-\mu) + k \ln 2 \pi + \ln \det C \right)

    Args:
      x: vectors, shape (..., k); or numbers of any shape, if `mean` is a number.
      mean: their mean, shape (..., k), or a number.
      cov: the covariance, symmetric and positive definite, shape (..., k, k); or a number,
        which is multiplied by the identity.
      allow_singular: SciPy's; must be None.

    Returns:
      An array of the joint float dtype and shape (...); nan, where `cov` is not positive
      definite.

    Raises:
      ValueError: shapes do not fit.
      NotImplementedError: `allow_singular` is given.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy.stats import multivariate_normal
      >>> x, cov = jnp.array([1., 2.]), jnp.eye(2)
      >>> print(f"{multivariate_normal.logpdf(x, jnp.zeros(2), cov):.4f}")
      -4.3379
    """
    if allow_singular is not None:
        raise NotImplementedError("allow_singular argument of multivariate_normal.logpdf")
    check_arraylike("multivariate_normal.logpdf", x, mean, cov)
    x, mean, cov = promote_dtypes_inexact(*map(as_array, (x, mean, cov)))
    log_tau = math.log(2 * math.pi)
    if not aval_of(mean).shape:
        y = x - mean
        return (y * y / cov + (log_tau + lax.log(cov))) * -0.5
    size = mean.shape[-1]
    if not aval_of(cov).shape:
        y = x - mean
        return (jnp.sum(y * y, axis=-1) / cov + (log_tau + lax.log(cov)) * size) * -0.5
    if cov.ndim < 2 or cov.shape[-2:] != (size, size):
        raise errors.value_error(
            "multivariate_normal.logpdf got incompatible shapes",
            which=", ".join(map(errors.type_text, (x, mean, cov))),
            why="they must be [..., k], [..., k] and [..., k, k].",
        )
    squares, log_det = _squares(x - mean, cov)
    return (squares + (log_det + log_tau * size)) * -0.5


def _normal_pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Any:
    r"""Return the density of the multivariate normal distribution.

    .. math:: \frac{e^{-(x-\mu)^T C^{-1} (x-\mu) / 2}}{\sqrt{(2 \pi)^k \det C}}

    Args:
      x: vectors, shape (..., k); or numbers of any shape, if `mean` is a number.
      mean: their mean, shape (..., k), or a number.
      cov: the covariance, symmetric and positive definite, shape (..., k, k); or a number,
        which is multiplied by the identity.

    Returns:
      An array of the joint float dtype and shape (...); nan, where `cov` is not positive
      definite.

    Raises:
      ValueError: shapes do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy.stats import multivariate_normal
      >>> x, cov = jnp.array([1., 2.]), jnp.eye(2)
      >>> print(f"{multivariate_normal.pdf(x, jnp.zeros(2), cov):.4f}")
      0.0131
    """
    return lax.exp(_normal_logpdf(x, mean, cov))


multivariate_normal = _named("multivariate_normal", logpdf=_normal_logpdf, pdf=_normal_pdf)
