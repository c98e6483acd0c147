"""Owen's T function, which integrates the bivariate normal distribution.

For a <= 1 it is computed by Gauss-Legendre quadrature, over the part of the interval that
contributes.  For a > 1 it is expressed by T(ah, 1/a) (D. B. Owen, "Tables for computing
bivariate normal probabilities", Annals of Mathematical Statistics 27, 1956).

Next: bessel.py.
"""

from __future__ import annotations

import math
from typing import Any

from ....base import util
from ....types.avals import shaped
from ...numpy._common import from_host
from ._common import *
from .scaled import exp_of_square

__all__ = ("owens_t",)

ROOT_HALF = math.sqrt(0.5)


@util.cached(1024)
def _rule(points: int) -> tuple[Any, Any]:
    """Return the positive half of the Gauss-Legendre rule on [-1, 1].

    Newton's method runs in integers, because NumPy's weights have errors of some units in
    the last place.
    """
    unit, n = 1 << 120, 2 * points
    nodes, weights = [], []
    for start in np.polynomial.legendre.leggauss(n)[0][points:]:
        x = int(math.ldexp(start, 60)) << 60
        for _ in range(3):
            last, value = unit, x
            for k in range(2, n + 1):
                rest = (2 * k - 1) * x * value // unit - (k - 1) * last
                last, value = value, rest // k
            slope = n * (last - x * value // unit) * unit // (unit - x * x // unit)
            x -= value * unit // slope
        nodes.append(x / unit)
        weights.append(2 * unit**4 / ((unit * unit - x * x) * slope * slope))
    return np.array(nodes), np.array(weights)


def _narrow(h: Any, a: Any) -> Any:
    """Return T(h, a) for h >= 0 and 0 <= a <= 1."""
    dtype, rank = dtype_of(h), aval_of(h).ndim
    wide = dtype == dtypes.float64
    nodes, weights = _rule(24 if wide else 13)
    nodes = from_host((nodes**2).astype(dtype), shaped(nodes.shape, dtype))
    weights = from_host(weights.astype(dtype), shaped(weights.shape, dtype))
    reach = math.sqrt(2 * (38 if wide else 17))  # the integrand is negligible beyond
    end = lax.min(a, reach / lax.max(h, const(h, 1e-3)))
    column = lambda x: lax.expand_dims(x, (rank,))
    squares = column(end * end) * nodes
    values = lax.exp(column(-0.5 * h * h) * squares) / (1 + squares)
    total = lax.reduce_sum(values * weights, (rank,))
    return end * total * exp_of_square(h, -0.5) / (2 * math.pi)


def _upper(x: Any) -> Any:
    return lax.erfc(x * ROOT_HALF) / 2


@custom_jvp
@staged
def _owens_t(h: Any, a: Any) -> Any:
    shape = np.broadcast_shapes(aval_of(h).shape, aval_of(a).shape)
    zero, one = const(h, 0), const(h, 1)
    size, slope = lax.abs(h) + _zeros(shape, h), lax.abs(a) + _zeros(shape, h)
    steep = lax.gt(slope, one)
    away = size * slope
    away = choose(lax.eq(size, zero), zero, away)  # not the nan of 0 * inf
    inner = _narrow(
        choose(steep, lax.min(away, const(h, 1e4)), lax.min(size, const(h, 1e4))),
        choose(steep, 1 / slope, slope),
    )
    p, q = _upper(size), _upper(away)
    outer = (p + q) / 2 - p * q - inner
    out = choose(steep, outer, inner)
    flat = lax.bitwise_and(lax.eq(size, const(h, np.inf)), lax.eq(a, a))
    out = choose(flat, zero, out)
    return choose(lax.lt(a, zero), -out, out)


def _zeros(shape: tuple[int, ...], x: Any) -> Any:
    """Return zeros of a shape in the dtype of `x`."""
    return lax.broadcast_in_dim(const(x, 0), shape, ())


_owens_t.defjvps(
    lambda t, ans, h, a: (
        t
        * (lax.exp(-0.5 * h * h) * lax.erf(a * h * ROOT_HALF) * (-0.5 / math.sqrt(2 * math.pi)))
    ),
    lambda t, ans, h, a: (
        t * (lax.exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a)))
    ),
)


@special(
    r"Compute Owen's T function, :math:`\frac{1}{2\pi} \int_0^a"
    r" \frac{e^{-h^2 (1 + t^2) / 2}}{1 + t^2} dt`.",
    "1., 0.5 -> 0.04306",
    "h, a: real array or number; integers become floats.",
    returns="An array of their joint shape and dtype, float32 or wider.",
    raises="ValueError: an argument is complex.",
    differs="complex arguments raise an error; the function is defined for real ones.",
)
def owens_t(h: ArrayLike, a: ArrayLike) -> Any:
    h, a = promote_real("owens_t", h, a)
    dtype = dtype_of(h)
    dtype = dtype if dtype.itemsize >= 4 else dtypes.float32
    return _owens_t(convert(h, dtype), convert(a, dtype))
