"""Kernel density estimates: a normal density around each sample.

Next: numpy/, or ../special/.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....base import errors
from ....base.tree import register_pytree_node_class
from ....control.calls.jit import composite
from ....prims import lax_linalg
from ....types import dtypes
from ... import jnp
from ...nn.normalization import logsumexp
from ...numpy import linear_solve
from ...numpy._common import check_arraylike, promote_dtypes_inexact
from ...random.choosing import choice
from ...random.keys import split
from ...random.multivariate import multivariate_normal
from ..special.gaussian import ndtr
from ._common import ArrayLike, as_array, aval_of

__all__ = ("gaussian_kde",)


def _factor(method: Any, estimate: Any) -> Any:
    """Return the ratio of the kernel's width to the deviation of the samples."""
    n, d = estimate.neff, estimate.d
    if method is None or (isinstance(method, str) and method == "scott"):
        return jnp.power(n, -1.0 / (d + 4))
    if isinstance(method, str) and method == "silverman":
        return jnp.power(n * ((d + 2) / 4.0), -1.0 / (d + 4))
    if isinstance(method, str | list | tuple):
        raise _unknown_method(method)
    if callable(method):
        return method(estimate)
    if aval_of(as_array(method)).shape:
        raise _unknown_method(method)
    return method


def _unknown_method(method: Any) -> ValueError:
    return errors.value_error(
        "`bw_method` should be 'scott', 'silverman', a scalar, or a callable.",
        which=repr(method)[:80],
    )


@composite
def _log_density(points: Any, samples: Any, weights: Any, precision: Any) -> Any:
    """Return the logarithm of a weighted mean of normal densities: (d, m),
    (d, n) -> (m,)."""
    points, samples, weights, precision = promote_dtypes_inexact(
        points, samples, weights, precision
    )
    low = lax_linalg.cholesky(precision)
    size = jnp.log(jnp.diagonal(low)).sum() - low.shape[0] / 2 * math.log(2 * math.pi)
    # The differences of all points and samples, whitened.
    white = low.T
    differences = (
        jnp.matmul(white, points, precision="highest")[:, :, None]
        - jnp.matmul(white, samples, precision="highest")[:, None, :]
    )
    squares = jnp.sum(differences * differences, axis=0)
    return logsumexp(squares * -0.5, axis=1, b=weights) + size


@register_pytree_node_class
@dataclass(frozen=True, init=False)
class gaussian_kde:
    """A kernel density estimate: :math:`\\sum_i w_i N(x; x_i, h^2 S)`, where S is the
    covariance of the samples.

    Args:
      dataset: samples, shape (n,), or (d, n) of vectors.
      bw_method: the factor h: 'scott' (the default), :math:`n^{-1/(d+4)}`, 'silverman',
        :math:`(n (d+2)/4)^{-1/(d+4)}`, a number, or a function of the estimate.
      weights: the weights of the samples, shape (n,); None for equal weights.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy.stats import gaussian_kde
      >>> estimate = gaussian_kde(jnp.array([1., 2., 4.]))
      >>> print(f"{estimate(2.0)[0]:.4f}")
      0.2149

    Source: D. Scott, Multivariate Density Estimation (1992).
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(
        self,
        dataset: ArrayLike,
        bw_method: str | float | Callable[..., Any] | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        check_arraylike("gaussian_kde", dataset)
        dataset = jnp.atleast_2d(dataset)
        if dataset.ndim != 2:
            raise errors.value_error(
                "`dataset` input should have one or two dimensions.",
                which=errors.type_text(dataset),
            )
        if dtypes.is_complex(dataset.dtype):
            raise NotImplementedError("gaussian_kde does not support complex data")
        n = dataset.shape[1]
        if dataset.size <= 1:
            raise errors.value_error("`dataset` input should have multiple elements.")
        if weights is not None:
            check_arraylike("gaussian_kde", weights)
            dataset, weights = promote_dtypes_inexact(dataset, jnp.atleast_1d(weights))
            if weights.ndim != 1:
                raise errors.value_error("`weights` input should be one-dimensional.")
            if len(weights) != n:
                raise errors.value_error("`weights` input should be of length n")
            weights = weights / jnp.sum(weights)
        else:
            (dataset,) = promote_dtypes_inexact(dataset)
            weights = jnp.full((n,), 1.0 / n, dataset.dtype)
        self._set(dataset=dataset, weights=weights, neff=1 / jnp.sum(weights**2))
        factor = _factor(bw_method, self)
        data_covariance = jnp.atleast_2d(
            jnp.cov(dataset, rowvar=1, bias=False, aweights=weights)
        )
        square = factor * factor
        self._set(
            covariance=data_covariance * square,
            inv_cov=linear_solve.inv(data_covariance) / square,
        )

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def tree_flatten(self) -> tuple[Any, None]:
        """Return the arrays of an estimate."""
        fields = self.neff, self.dataset, self.weights, self.covariance, self.inv_cov
        return fields, None

    @classmethod
    def tree_unflatten(cls, aux: None, children: Any) -> gaussian_kde:
        """Return an estimate with these arrays."""
        out = cls.__new__(cls)
        names = ("neff", "dataset", "weights", "covariance", "inv_cov")
        out._set(**dict(zip(names, children, strict=True)))
        return out

    @property
    def d(self) -> int:
        """The number of elements of a sample."""
        return int(self.dataset.shape[0])

    @property
    def n(self) -> int:
        """The number of samples."""
        return int(self.dataset.shape[1])

    def _points(self, points: Any) -> Any:
        points = jnp.atleast_2d(points)
        if points.ndim != 2:
            raise errors.value_error(
                "points should have one or two dimensions", which=errors.type_text(points)
            )
        d, m = points.shape
        if d == self.d:
            return points
        if d != 1 or m != self.d:
            raise errors.value_error(
                f"points have dimension {d}, dataset has dimension {self.d}"
            )
        return points.reshape(self.d, 1)

    def evaluate(self, points: ArrayLike) -> Any:
        """Return the density at points, shape (m,), or (d, m) for vectors:
        an array (m,)."""
        return jnp.exp(self.logpdf(points))

    __call__ = evaluate

    def pdf(self, x: ArrayLike) -> Any:
        """Return the density; see `evaluate`."""
        return self.evaluate(x)

    def logpdf(self, x: ArrayLike) -> Any:
        """Return the logarithm of the density at points (m,) or (d, m): an array (m,)."""
        check_arraylike("evaluate", x)
        return _log_density(self._points(x), self.dataset, self.weights, self.inv_cov)

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Any:
        """Return the integral of the density times a normal density."""
        mean, cov = jnp.atleast_1d(mean), jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise errors.value_error(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise errors.value_error(f"covariance does not have dimension {self.d}")
        both = linear_solve.inv(self.covariance + cov)
        out = _log_density(mean[:, None], self.dataset, self.weights, both)
        return jnp.exp(out[0])

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Any:
        """Return the probability between two numbers, for scalar samples."""
        if self.d != 1:
            raise errors.value_error("integrate_box_1d() only handles 1D pdfs")
        if jnp.ndim(low) or jnp.ndim(high):
            raise errors.value_error(
                "the limits of integration in integrate_box_1d must be scalars"
            )
        sigma = jnp.sqrt(self.covariance[0, 0])
        low, high = ((jnp.asarray(x) - self.dataset[0]) / sigma for x in (low, high))
        return jnp.sum(self.weights * (ndtr(high) - ndtr(low)))

    def integrate_kde(self, other: gaussian_kde) -> Any:
        """Return the integral of the product with another estimate."""
        if other.d != self.d:
            raise errors.value_error("KDEs are not the same dimensionality")
        both = linear_solve.inv(self.covariance + other.covariance)
        out = _log_density(other.dataset, self.dataset, self.weights, both)
        return jnp.sum(jnp.exp(out) * other.weights)

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Any:
        """Draw samples of the estimated distribution: an array (d, *shape)."""
        at, noise = split(key)
        index = choice(at, self.n, shape=shape, p=self.weights)
        around = multivariate_normal(
            noise,
            jnp.zeros(self.d, self.covariance.dtype),
            self.covariance,
            shape=shape,
            dtype=self.dataset.dtype,
        )
        return self.dataset[:, index] + around.T

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """Raise NotImplementedError: only `integrate_box_1d` is supported."""
        raise NotImplementedError(
            "only 1D box integrations are supported; use `integrate_box_1d`"
        )

    def set_bandwidth(self, bw_method: Any = None) -> Any:
        """Raise NotImplementedError: estimates are immutable."""
        raise NotImplementedError("dynamically changing the bandwidth method is not supported")
