"""Bessel functions of integer order.

The scaled modified functions are primitives (prims/special/bessel.py).  The others use the
downward recurrence, normalized by a sum that is 1 (Miller's method; NIST Digital Library of
Mathematical Functions, 3.6(ii), 10.6.1, 10.12.4).  Each starts at an order where its power
series is tiny, so nothing overflows.

Next: legendre.py.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

from ....control.loop_functions.scan import scan
from ....types.avals import shaped
from ...numpy._common import from_host
from ...numpy.creation import asarray
from ...numpy.special_values import modified_bessel_0, modified_bessel_1
from ._common import *

__all__ = ("i0", "i0e", "i1", "i1e", "bessel_jn")

REAL = "x: real array or number; integers become floats."


@special(
    "Compute the modified Bessel function of order 0, :math:`I_0(x)`.", "1. -> 1.26607", REAL
)
def i0(x: ArrayLike) -> Any:
    (x,) = promote_args_inexact("i0", x)
    return modified_bessel_0(x)


@special(
    "Compute the modified Bessel function of order 0, scaled: :math:`e^{-|x|} I_0(x)`.",
    "1. -> 0.46576",
    REAL,
)
def i0e(x: ArrayLike) -> Any:
    return lax.bessel_i0e(*promote_args_inexact("i0e", x))


@special(
    "Compute the modified Bessel function of order 1, :math:`I_1(x)`.", "1. -> 0.56516", REAL
)
def i1(x: ArrayLike) -> Any:
    (x,) = promote_args_inexact("i1", x)
    return modified_bessel_1(x)


@special(
    "Compute the modified Bessel function of order 1, scaled: :math:`e^{-|x|} I_1(x)`.",
    "1. -> 0.20791",
    REAL,
)
def i1e(x: ArrayLike) -> Any:
    return lax.bessel_i1e(*promote_args_inexact("i1e", x))


def _all_orders(z: Any, top: int) -> Any:
    """Return J_0(z) ... J_top(z), along a leading axis."""
    dtype = dtype_of(z)
    orders = np.arange(top, -1, -1)
    logs = np.array([math.lgamma(n + 1) for n in orders])
    xs = [
        from_host(v.astype(dtype), shaped(v.shape, dtype))
        for v in (orders, logs, np.where(orders % 2, 0, np.minimum(orders + 1, 2)))
    ]
    least = -650.0 if dtype == dtypes.float64 else -80.0
    is_zero = lax.eq(z, const(z, 0))
    half = lax.log(choose(is_zero, const(z, 1), lax.abs(z)) / 2)

    def step(carry: Any, x: Any) -> Any:
        above, two_above, total = carry  # J_(n+1), J_(n+2), the sum, up to a common factor
        n, log, weight = x
        recurred = 2 * (n + 1) / choose(is_zero, const(z, 1), z) * above - two_above
        size = lax.min(n * half - log, const(z, 0))
        seed = choose(lax.gt(size, const(z, least)), lax.exp(size), const(z, 0))
        # At 0, only order 0 is nonzero.
        seed = choose(is_zero, convert(lax.eq(n, const(n, 0)), dtype), seed)
        is_started = lax.ne(above, const(z, 0))
        is_started = lax.bitwise_or(is_started, lax.ne(two_above, const(z, 0)))
        value = choose(is_started, recurred, seed)
        return (value, above, total + weight * value), value

    zeros = filled(z, 0)
    (_, _, total), values = scan(step, (zeros, zeros, zeros), tuple(xs))
    return lax.rev(values, (0,)) / total


@functools.partial(custom_jvp, nondiff_argnums=(1, 2))
def _first_orders(z: Any, last: int, top: int) -> Any:
    return lax.slice_in_dim(_all_orders(z, top), 0, last + 1)


@_first_orders.defjvp
def _first_orders_jvp(last: int, top: int, primals: Any, tangents: Any) -> Any:
    (z,), (t,) = primals, tangents
    # J_n' = (J_(n-1) - J_(n+1)) / 2, and J_(-1) = -J_1.
    values = _first_orders(z, last + 1, top)
    above = lax.slice_in_dim(values, 1, last + 2)
    below = lax.slice_in_dim(values, 0, max(last, 0))
    below = lax.concatenate([-lax.slice_in_dim(above, 0, 1), below], 0)
    return lax.slice_in_dim(values, 0, last + 1), t * ((below - above) / 2)


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Any:
    r"""Compute Bessel functions of the first kind, :math:`J_0(z) \ldots J_v(z)`.

    Args:
      z: real array or number; integers become floats.
      v: the last order (static).
      n_iter: the order at which the recurrence starts (static); it is raised if `v` needs a
        larger one.  A value above |z| by a few times its cube root, and by at least ten,
        is sufficient.

    Returns:
      An array of shape (v + 1, *z.shape) and `z`'s dtype.

    Raises:
      TypeError: `v` is not an integer.
      ValueError: z is complex.

    Example:
      >>> from minijax.scipy import special
      >>> print(f"{special.bessel_jn(1., v=1)[0]:.5f}")
      0.76520

    Differs from JAX: small z do not give nan; orders above `n_iter` are supported.
    """
    last = operator.index(v)
    above = last + 20 + last // 4  # the start that makes the last order precise
    return _bessel_jn(asarray(z), last, max(operator.index(n_iter), above))


@composite(static=("last", "top"))
def _bessel_jn(z: Any, last: int, top: int) -> Any:
    (z,) = promote_real("bessel_jn", z)
    z = strip_weak_type(z)
    if last < 0:
        return lax.broadcast_in_dim(const(z, 0), (0, *aval_of(z).shape), ())
    return in_float32(lambda z: _first_orders(z, last, top), elementwise=False)(z)
