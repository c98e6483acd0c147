r"""Associated Legendre functions and spherical harmonics.

From the diagonal, :math:`P_m^m \propto (1 - z^2)^{m/2}`, a recurrence computes all degrees,
for all orders together.  Derivatives are sums of neighbouring orders (NIST Digital Library
of Mathematical Functions, 14.7.15, 14.10.3, 14.10.5, 14.30.1).  The normalized functions
have their own recurrences, so nothing overflows.

Next: hypergeometric.py.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

from ....base import util
from ....control.arguments import concrete_or_error
from ....control.loop_functions.scan import scan
from ....types.avals import shaped
from ... import jnp
from ...numpy._common import check_arraylike, from_host
from ._common import *

__all__ = ("lpmn", "lpmn_values", "sph_harm_y")


def _array(x: Any, like: Any) -> Any:
    """Return numbers as a constant in the dtype of `like`."""
    dtype = dtype_of(like)
    with np.errstate(over="ignore"):
        return from_host(np.asarray(x).astype(dtype), shaped(np.shape(x), dtype))


@util.cached(1024)
def _recurrence(last: int, normalized: bool) -> tuple[Any, Any, Any]:
    """Return the coefficients for each degree n and order m:
    P_n = a (z P_(n-1) - b P_(n-2)), P_n^n = c s^n."""
    n, m = np.meshgrid(np.arange(last + 1.0), np.arange(last + 1.0), indexing="ij")
    later, earlier = m < n, m < n - 1
    with np.errstate(all="ignore"):
        if normalized:
            a = np.sqrt((4 * n * n - 1) / (n * n - m * m))
            b = np.sqrt(((n - 1) ** 2 - m * m) / (4 * (n - 1) ** 2 - 1))
        else:
            a = (2 * n - 1) / (n - m)
            b = (n - 1 + m) / (2 * n - 1)
        k = np.arange(1.0, last + 1)
        steps = np.sqrt((2 * k + 1) / (2 * k)) if normalized else 2 * k - 1
        first = math.sqrt(0.25 / math.pi) if normalized else 1.0
        c = np.diag(first * np.cumprod(np.concatenate([[1.0], -steps])))
    return np.where(later, a, 0), np.where(earlier, b, 0), c


def _values(z: Any, last: int, normalized: bool) -> Any:
    # The scan stacks degrees first; the final transpose puts orders first.
    coefficients = tuple(_array(x, z) for x in _recurrence(last, normalized))
    s = lax.sqrt((1 - z) * (1 + z))
    column = lambda x: lax.expand_dims(x, (1,))

    def step(carry: Any, x: Any) -> Any:
        power, previous, two_previous = carry
        a, b, c = map(column, x)
        value = a * (z * previous - b * two_previous) + c * power
        return (power * s, value, previous), value

    zeros = lax.broadcast_in_dim(const(z, 0), (last + 1, *aval_of(z).shape), ())
    _, values = scan(step, (filled(z, 1), zeros, zeros), coefficients)
    return lax.transpose(values, (1, 0, 2))


def _slopes(z: Any, values: Any, last: int, normalized: bool) -> Any:
    """Return the derivatives by z of the values."""
    m, n = np.meshgrid(np.arange(last + 1.0), np.arange(last + 1.0), indexing="ij")
    inside = m <= n
    lower = np.where(inside, (n + m) * (n - m + 1), 0)
    upper = np.where(inside, (n - m) * (n + m + 1), 0)
    down, up = lower / 2, np.where(upper > 0, 0.5, 0)
    if normalized:
        down, up = np.sqrt(lower) / 2, np.sqrt(upper) / 2
    down, up = np.where(m > 0, down, 0), np.where(m > 0, up, 2 * up)
    zero = lax.broadcast_in_dim(const(z, 0), (1, last + 1, *aval_of(z).shape), ())
    below = lax.concatenate([zero, lax.slice_in_dim(values, 0, last)], 0)
    above = lax.concatenate([lax.slice_in_dim(values, 1, last + 1), zero], 0)
    each = lambda x: lax.expand_dims(_array(x, z), (2,))
    s = lax.sqrt((1 - z) * (1 + z))
    end = lax.eq(s, const(z, 0))
    inner = (each(down) * below - each(up) * above) / choose(end, const(z, 1), s)
    # The limits at 1; at -1 their signs alternate.
    scale = np.where(normalized, np.sqrt((2 * n + 1) / (4 * math.pi)), 1)
    ratio = np.ones_like(n)
    if normalized:
        for k, has_order in ((1, m >= 1), (2, m >= 2)):
            step = np.maximum((n + k) * (n - k + 1), 1)
            ratio = np.where(has_order, ratio / np.sqrt(step), ratio)
    around = (n - 1) * n * (n + 1) * (n + 2) / 4
    infinite = np.where(n > 0, np.inf, 0)
    limits = [n * (n + 1) / 2, infinite, -around]
    ends = np.select([m == 0, m == 1, m == 2], limits, 0.0) * scale * ratio
    ends = np.where(inside, ends, 0)
    end_signs = np.where(m == 1, (-1.0) ** n, (-1.0) ** (n + 1))
    at_end = choose(lax.lt(z, const(z, 0)), each(ends * end_signs), each(ends))
    return choose(end, at_end, inner)


@functools.partial(custom_jvp, nondiff_argnums=(1, 2))
def _legendre(z: Any, last: int, normalized: bool) -> Any:
    return _values(z, last, normalized)


@_legendre.defjvp
def _legendre_jvp(last: int, normalized: bool, primals: Any, tangents: Any) -> Any:
    (z,), (t,) = primals, tangents
    values = _legendre(z, last, normalized)
    return values, t * _slopes(z, values, last, normalized)


def _checked(m: Any, n: Any, z: Any) -> int:
    """Check the arguments of `lpmn`, and return the last degree and order."""
    if aval_of(z).dtype not in (dtypes.float32, dtypes.float64):
        raise errors.type_error(
            f"z.dtype={aval_of(z).dtype} is not supported, see docstring for supported types.",
            tries=["z.astype(jnp.float32)"],
        )
    if aval_of(z).ndim != 1:
        raise errors.value_error("z must be a 1D array.", which=errors.type_text(z))
    m = concrete_or_error(int, m, "Argument m of lpmn.")
    n = concrete_or_error(int, n, "Argument n of lpmn.")
    if m != n:
        raise NotImplementedError(
            errors.message(
                "Computations for m!=n are not yet supported.",
                which=f"m={m}, n={n}",
                tries=["the larger one for both, and a slice of the result"],
            )
        )
    if n < 0:
        raise IndexError(errors.message("the last degree is negative", which=str(n)))
    return n


def lpmn(m: int, n: int, z: Any) -> tuple[Any, Any]:
    r"""Compute the associated Legendre functions :math:`P_l^m(z)` of all degrees and orders
    up to a limit, and their derivatives.

    Args:
      m, n: the last order and the last degree, which are equal (static).
      z: array (K,) of float32 or float64, in [-1, 1].

    Returns:
      Two arrays (m + 1, n + 1, K), by order and degree: values and derivatives; zero
      where the order is larger than the degree.

    Raises:
      TypeError: z is of another dtype.
      ValueError: z does not have one axis.
      NotImplementedError: m is not n.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy import special
      >>> special.lpmn(1, 1, jnp.array([0.5]))[0][0, 1]
      Array([0.5], dtype=float32)
    """
    return _lpmn(jnp.asarray(z), _checked(m, n, z))


@composite(static="last")
def _lpmn(z: Any, last: int) -> Any:
    z = strip_weak_type(z)
    values = _legendre(z, last, False)
    return values, _slopes(z, values, last, False)


def lpmn_values(m: int, n: int, z: Any, is_normalized: bool) -> Any:
    r"""Compute the associated Legendre functions :math:`P_l^m(z)` of all degrees and orders
    up to a limit.

    Args:
      m, n: the last order and the last degree, which are equal (static).
      z: array (K,) of float32 or float64, in [-1, 1].
      is_normalized: multiply by :math:`\sqrt{\frac{(2l+1) (l-m)!}{4 \pi (l+m)!}}`, as in
        spherical harmonics (static).

    Returns:
      An array (m + 1, n + 1, K), by order and degree; zero where the order is larger than
      the degree.

    Raises:
      TypeError: z is of another dtype.
      ValueError: z does not have one axis.
      NotImplementedError: m is not n.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy import special
      >>> special.lpmn_values(1, 1, jnp.array([0.5]), False)[0, 1]
      Array([0.5], dtype=float32)
    """
    normalized = concrete_or_error(bool, is_normalized, "Argument is_normalized.")
    return _lpmn_values(jnp.asarray(z), _checked(m, n, z), normalized)


@composite(static=("last", "normalized"))
def _lpmn_values(z: Any, last: int, normalized: bool) -> Any:
    return _legendre(strip_weak_type(z), last, normalized)


def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Any:
    r"""Compute the spherical harmonics :math:`Y_n^m(\theta, \phi)`.

    They are :math:`\sqrt{\frac{(2n+1) (n-m)!}{4 \pi (n+m)!}} P_n^m(\cos \theta)
    e^{i m \phi}`.

    Args:
      n: the degree, integers from 0.
      m: the order, integers from -n to n.
      theta: the polar angle, in [0, pi].
      phi: the azimuth, in [0, 2 pi].
      diff_n: None; differentiate with `jax.grad`.
      n_max: the largest degree (static); larger degrees are clamped to it.  None means the
        largest element of `n`, which must then be concrete.

    Returns:
      A complex array of their joint shape.

    Raises:
      NotImplementedError: diff_n is given.
      TypeError: a degree or an order is not an integer.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.scipy import special
      >>> n, m = jnp.array([1]), jnp.array([0])
      >>> special.sph_harm_y(n, m, jnp.array([0.]), jnp.array([0.]))
      Array([0.48860252+0.j], dtype=complex64)
    """
    if diff_n is not None:
        raise NotImplementedError(
            errors.message(
                "The 'diff_n' argument to jax.scipy.special.sph_harm_y is not supported.",
                tries=["jax.jacfwd with respect to theta and phi"],
            )
        )
    check_arraylike("sph_harm_y", n, m, theta, phi)
    for x in (n, m):
        if not dtypes.is_integer(dtype_of(x)):
            raise errors.type_error(
                "sph_harm_y: degree and order must be integers.", which=errors.type_text(x)
            )
    if n_max is None:
        degrees = concrete_or_error(
            np.asarray, n, "The `n_max` argument of sph_harm_y must be known statically."
        )
        n_max = int(degrees.max(initial=0))
    return _sph_harm_y(n, m, theta, phi, operator.index(n_max))


@composite(static="last")
def _sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, last: int) -> Any:
    theta, phi = promote_real("sph_harm_y", theta, phi)
    n, m, theta, phi = jnp.broadcast_arrays(n, m, strip_weak_type(theta), strip_weak_type(phi))
    shape = aval_of(theta).shape
    n, m, theta, phi = [lax.reshape(x, (math.prod(shape),)) for x in (n, m, theta, phi)]
    size = lax.abs(m)
    values = _legendre(lax.cos(theta), last, True)
    degree = lax.clamp(const(n, 0), n, const(n, last))
    value = values[size, degree, jnp.arange(math.prod(shape))]
    phase = convert(size, dtype_of(theta)) * phi
    real, imag = value * lax.cos(phase), value * lax.sin(phase)
    # Y of -m is the conjugate, with the opposite sign for odd m.
    negative = lax.lt(m, const(m, 0))
    odd = lax.ne(lax.rem(size, const(m, 2)), const(m, 0))
    flip_real = lax.bitwise_and(negative, odd)
    flip_imag = lax.bitwise_and(negative, lax.bitwise_not(odd))
    out = lax.complex(choose(flip_real, -real, real), choose(flip_imag, -imag, imag))
    return lax.reshape(out, shape)
