"""The gamma function of real numbers, factorials, and beta functions.

The logarithm of the beta function is a difference of large numbers for large arguments.
There the leading parts of Stirling's series are subtracted symbolically (A. R. DiDonato and
A. H. Morris, "Algorithm 708", ACM Transactions on Mathematical Software 18, 1992).

Next: incomplete.py, zeta.py, complex_gamma.py.
"""

from __future__ import annotations

import functools
import math
import operator
from fractions import Fraction
from typing import Any

from ....api.autodiff import jvp
from ....control.arguments import concrete_or_error
from ....prims.elementwise import FLOAT, check_kind
from ....prims.special.beta import reciprocal_beta
from ....prims.special.double_double import exact_sum
from ....prims.special.gamma import gamma_above_1, rising_gamma, stirling_rest
from ....types.avals import shaped
from ...numpy._common import from_host, sort_pair
from ._common import *
from .complex_gamma import complex_gamma, complex_loggamma

__all__ = (
    "gammaln",
    "gammasgn",
    "gamma",
    "loggamma",
    "beta",
    "betaln",
    "factorial",
    "comb",
    "poch",
    "multigammaln",
    "bernoulli",
)

REAL = "real array or number; integers become floats."
BOTH = "real or complex array or number; integers become floats."
NO_COMPLEX = "ValueError: an argument is complex."


def _of_lgamma(name: str, *xs: Any) -> Any:
    """Promote operands of `lgamma` to one float dtype."""
    xs = tuple(promote_args_inexact(name, *xs))
    check_kind("lgamma", aval_of(xs[0]), FLOAT, 0, 1)
    return xs


# ---------------------------------------------------------------------- gamma functions


@special(
    r"Compute the logarithm of the gamma function's magnitude, :math:`\ln |\Gamma(x)|`:"
    r" inf at 0, -1, -2 ...",
    "0.5 -> 0.57236",
    f"x: {REAL}",
)
def gammaln(x: ArrayLike) -> Any:
    return lax.lgamma(*promote_args_inexact("gammaln", x))


@staged
def _sign(x: Any) -> Any:
    """Return 1 or -1, or nan at -1, -2 ... and for nan."""
    zero, floor = const(x, 0), lax.floor(x)
    negative = lax.lt(1 / x, zero)  # so is -0
    half = floor * const(x, 0.5)
    odd = lax.bitwise_or(lax.ne(half, lax.floor(half)), lax.eq(x, zero))
    pole = lax.bitwise_and(lax.lt(x, zero), lax.eq(x, floor))
    is_undefined = lax.bitwise_or(pole, lax.ne(x, x))
    sign = choose(lax.bitwise_and(negative, odd), const(x, -1), filled(x, 1))
    return choose(is_undefined, const(x, np.nan), sign)


@special(
    r"Compute the sign of the gamma function :math:`\Gamma(x)`; nan at -1, -2 ...",
    "-0.5 -> -1.0",
    f"x: {REAL}",
    raises=NO_COMPLEX,
)
def gammasgn(x: ArrayLike) -> Any:
    (x,) = promote_real("gammasgn", x)
    return _sign(strip_weak_type(x))


@special(
    r"Compute the gamma function, :math:`\Gamma(x) = \int_0^\infty t^{x-1} e^{-t} dt`;"
    r" nan at -1, -2 ...",
    "0.5 -> 1.77245",
    f"x: {BOTH}",
)
def gamma(x: ArrayLike) -> Any:
    (x,) = promote_args_inexact("gamma", x)
    x = strip_weak_type(x)
    if dtypes.is_complex(dtype_of(x)):
        return complex_gamma(x)
    return in_float32(_gamma)(x)


@custom_jvp
@staged
def _gamma(x: Any) -> Any:
    """Return Gamma(x): -pi / (sin(pi |x|) |x| Gamma(|x|)) for negative x."""
    negative = lax.lt(x, const(x, 0))
    size = lax.abs(x)
    one = filled(x, 1)
    above = gamma_above_1(lax.min(size, const(x, 200)), choose(negative, one, x))
    below = -math.pi / choose(negative, _sine(size), const(x, 1)) / above
    out = choose(negative, below, choose(lax.eq(x, const(x, np.inf)), x, above))
    edge = lax.bitwise_or(lax.eq(x, lax.floor(x)), lax.ne(x, x))
    pole = lax.bitwise_and(negative, edge)
    return choose(lax.bitwise_or(pole, lax.ne(x, x)), const(x, np.nan), out)


_gamma.defjvps(lambda t, ans, x: t * (ans * lax.digamma(x)))


@special(
    r"Compute the logarithm of the gamma function, :math:`\ln \Gamma(x)`; for complex"
    r" numbers the"
    " branch that is continuous off the negative axis, and nan for negative real numbers.",
    "0.5 -> 0.57236",
    f"x: {BOTH}",
)
def loggamma(x: ArrayLike) -> Any:
    (x,) = promote_args_inexact("loggamma", x)
    if dtypes.is_complex(dtype_of(x)):
        return complex_loggamma(x)
    return choose(lax.gt(x, const(x, 0)), lax.lgamma(x), const(x, np.nan))


# ------------------------------------------------------------------------ beta functions


@by_slopes
def _log_beta(a: Any, b: Any) -> Any:
    low, high = sort_pair(a, b)
    total = low + high
    eight = const(low, 8)
    far = lax.bitwise_and(lax.ge(high, eight), lax.ge(total, eight))
    large = lax.bitwise_and(far, lax.ge(low, eight))
    log_gamma_low = lax.lgamma(low)
    near = log_gamma_low + (lax.lgamma(high) - lax.lgamma(total))
    # The branch that is not selected is evaluated at 8, where nothing overflows.
    p = choose(far, low, eight)
    q, t = choose(far, high, eight), choose(far, total, const(low, 16))
    rest = stirling_rest(q) - stirling_rest(t)
    growth = lax.log1p(p / q)
    above = log_gamma_low + (rest - (t - 0.5) * growth - p * (lax.log(q) - 1))
    p = choose(large, low, eight)
    ratio = (p - 0.5) * lax.log(p / t) - q * growth - 0.5 * lax.log(q)
    both = ratio + (const(low, math.log(2 * math.pi) / 2) + stirling_rest(p) + rest)
    return choose(large, both, choose(far, above, near))


@special(
    r"Compute the logarithm of the beta function's magnitude, :math:`\ln |B(a, b)|`.",
    "2., 3. -> -2.48491",
    f"a, b: {REAL}",
)
def betaln(a: ArrayLike, b: ArrayLike) -> Any:
    return in_float32(_log_beta)(*_of_lgamma("betaln", a, b))


@special(
    r"Compute the beta function, :math:`B(a, b) = \Gamma(a) \Gamma(b) / \Gamma(a + b)`.",
    "2., 3. -> 0.08333",
    f"a, b: {REAL}",
    raises=NO_COMPLEX,
)
def beta(a: ArrayLike, b: ArrayLike) -> Any:
    return in_float32(_beta)(*map(strip_weak_type, promote_real("beta", a, b)))


@custom_jvp
@staged
def _beta(a: Any, b: Any) -> Any:
    r"""Compute B(a, b) from one beta function of positive numbers and s(x) = sin(pi x).

    With Gamma(x) Gamma(1 - x) = pi / s(x), for a <= b and t = a + b it is

    B(a, b) if a > 0; pi / (-a s(a) B(-a, t)) if t > 0; s(t) B(b, 1 - t) / s(a) if b > 0;
    pi s(t) / (s(a) s(b) (1 - t) B(1 - a, 1 - b)) elsewhere.
    """
    a, b = broadcast_pair(a, b)
    is_regular = lax.bitwise_and(_has_gamma(a), _has_gamma(b))
    is_regular = lax.bitwise_and(is_regular, _has_gamma(a + b))
    one, zero = filled(a, 1), const(a, 0)
    a, b = lax.min(a, b), lax.max(a, b)
    a, b = choose(is_regular, a, one), choose(is_regular, b, one)
    t, rounding_error = exact_sum(a, b)
    first, second, third = lax.gt(a, zero), lax.gt(t, zero), lax.gt(b, zero)
    case = lambda x, y, z, rest: choose(first, x, choose(second, y, choose(third, z, rest)))
    is_zero = lax.eq(a, zero)
    p = case(a, choose(is_zero, one, -a), b, 1 - a)
    q = case(b, t, 1 - t, 1 - b)
    # Passed to the product as its first factor, so that it does not overflow.
    factor = case(one, choose(is_zero, one, -1 / a), one, 1 / (1 - t))
    size = reciprocal_beta(p, q, factor=factor)
    inverse = 1 / size
    s_a, s_b, s_t = _sine(a), _sine(b), _sine(t, rounding_error)
    reflected = math.pi * (size / s_a)
    pole = choose(is_zero, math.pi / s_a, reflected)
    out = case(inverse, pole, s_t / s_a * inverse, reflected / s_b * s_t)
    return choose(is_regular, out, const(a, np.nan))


def _has_gamma(x: Any) -> Any:
    """Whether `x` is finite and not a negative integer."""
    is_pole = lax.bitwise_and(lax.lt(x, const(x, 0)), lax.eq(x, lax.floor(x)))
    finite = lax.lt(lax.abs(x), const(x, np.inf))
    return lax.bitwise_and(finite, lax.bitwise_not(is_pole))


def _sine(x: Any, rest: Any = 0) -> Any:
    """Return sin(pi (x + rest)), by its power series between -1/2 and 1/2."""
    phase = x - 2 * lax.round(x * const(x, 0.5))
    beyond = lax.gt(lax.abs(phase), const(x, 0.5))
    phase = choose(beyond, (lax.sign(phase) - phase) - rest, phase + rest)
    phase = choose(lax.eq(x, const(x, 0)), x, phase)  # keep the sign of zero
    last = 12 if dtype_of(x) == dtypes.float64 else 7
    powers = [
        (-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(last)
    ]
    return phase * polynomial(phase * phase, powers)


@_beta.defjvp
def _beta_jvp(primals: Any, tangents: Any) -> Any:
    out = _beta(*primals)
    return out, out * jvp(_log_beta, primals, tangents)[1]


# --------------------------------------------------------- factorials and combinations


def factorial(n: ArrayLike, exact: bool = False) -> Any:
    r"""Compute the factorial :math:`n! = \Gamma(n + 1)`; 0 for negative numbers.

    Args:
      n: real array or number; integers become floats.
      exact: must be False: arrays cannot hold integers of arbitrary length.

    Returns:
      An array of its shape and dtype.

    Raises:
      NotImplementedError: `exact` is true.

    Example:
      >>> from minijax.scipy import special
      >>> print(f"{special.factorial(4.):.3f}")
      24.000
    """
    if exact:
        raise NotImplementedError(
            errors.message(
                "factorial with exact=True",
                why="no array dtype holds integers of arbitrary length.",
                tries=["exact=False", "math.factorial of a Python int"],
            )
        )
    return _factorial(n)


@composite
def _factorial(n: Any) -> Any:
    (n,) = _of_lgamma("factorial", n)
    negative, zero = lax.lt(n, const(n, 0)), const(n, 0)
    # Evaluate the other branch away from the poles, whose derivative would be nan.
    return choose(negative, zero, in_float32(_of_next)(choose(negative, zero, n)))


@custom_jvp
@staged
def _of_next(n: Any) -> Any:
    """Return Gamma(n + 1), or inf on overflow."""
    out = gamma_above_1(lax.clamp(const(n, 0), n, const(n, 200)), filled(n, 1))
    return choose(lax.ne(n, n), n, out)


_of_next.defjvps(lambda t, ans, n: t * (ans * lax.digamma(n + 1)))


@special(
    r"Compute the number of combinations of k of N things, :math:`\binom{N}{k}`; 0 unless"
    r" 0 <= k <= N.",
    "5., 2. -> 10.000",
    f"N, k: {REAL}",
    "repetition: whether things may be chosen repeatedly.",
    static=("repetition",),
)
def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Any:
    N, k = _of_lgamma("comb", N, k)
    if repetition:
        return choose(lax.eq(k, const(k, 0)), const(k, 1), _choices(N + k - 1, k))
    return _choices(N, k)


def _choices(n: Any, k: Any) -> Any:
    zero = const(n, 0)
    is_valid = lax.bitwise_and(lax.le(k, n), lax.ge(k, zero))
    n, k = choose(is_valid, n, zero), choose(is_valid, k, zero)
    return choose(is_valid, in_float32(_inner_choices)(n, k), zero)


@custom_jvp
@staged
def _inner_choices(n: Any, k: Any) -> Any:
    n, k = broadcast_pair(n, k)
    return reciprocal_beta(n - k + 1, k + 1) / (n + 1)


@_inner_choices.defjvp
def _inner_choices_jvp(primals: Any, tangents: Any) -> Any:
    def log(n: Any, k: Any) -> Any:
        return -lax.log1p(n) - _log_beta(n - k + 1, k + 1)

    out = _inner_choices(*primals)
    return out, out * jvp(log, primals, tangents)[1]


@custom_jvp
@staged
def _rising(z: Any, m: Any) -> Any:
    z, m = broadcast_pair(z, m)
    zero, one = const(z, 0), const(z, 1)
    is_positive = lax.bitwise_and(lax.gt(z, zero), lax.gt(z + m, zero))
    inside = rising_gamma(choose(is_positive, z, one), choose(is_positive, m, one))
    ratio = choose(is_positive, inside, _gamma(z + m) / _gamma(z))
    return choose(lax.eq(m, const(m, 0)), const(m, 1), ratio)


def _digamma_gap(z: Any, m: Any) -> Any:
    """Return digamma(z + m) - digamma(z); for large numbers by Stirling's series."""
    border = const(z, 16)
    total = z + m
    large = lax.bitwise_and(lax.ge(z, border), lax.ge(total, border))
    y, end = (choose(large, v, border) for v in (z, total))
    gap = choose(large, m, const(z, 0))
    rest = _digamma_rest(end) - _digamma_rest(y)
    above = lax.log1p(gap / y) + 0.5 * gap / y / end - rest
    p, q = (choose(large, border, v) for v in (z, total))
    return choose(large, above, lax.digamma(q) - lax.digamma(p))


def _digamma_rest(x: Any) -> Any:
    """Return ln x - 1 / (2 x) - digamma(x) for x >= 16 (DLMF 5.11.2)."""
    inverse = 1 / (x * x)
    return inverse * polynomial(inverse, (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132))


def _by_z(t: Any, ans: Any, z: Any, m: Any) -> Any:
    """Differentiate z Gamma(z + m) / Gamma(z + 1), which has no pole at 0."""
    return t * (_rising(z + 1, m - 1) + _digamma_gap(z + 1, m - 1) * ans)


_rising.defjvps(_by_z, lambda t, ans, z, m: t * (lax.digamma(z + m) * ans))


@special(
    r"Compute the rising factorial (Pochhammer's symbol), :math:`\Gamma(z + m) / \Gamma(z)`.",
    "2., 3. -> 24.000",
    f"z, m: {REAL}",
    raises=NO_COMPLEX,
)
def poch(z: ArrayLike, m: ArrayLike) -> Any:
    return in_float32(_rising)(*map(strip_weak_type, promote_real("poch", z, m)))


# ------------------------------------------------------------------- several at a time


def multigammaln(a: ArrayLike, d: ArrayLike) -> Any:
    r"""Compute the logarithm of the multivariate gamma function.

    It is :math:`\frac{d (d-1)}{4} \ln \pi + \sum_{j=0}^{d-1} \ln \Gamma(a - j/2)`.

    Args:
      a: real array or number; integers become floats.
      d: the dimension, an integer (static).

    Returns:
      An array of `a`'s shape and dtype.

    Example:
      >>> from minijax.scipy import special
      >>> print(f"{special.multigammaln(3., 2):.5f}")
      1.55019
    """
    return _multigammaln(a, concrete_or_error(int, d, "d argument of multigammaln"))


@composite(static="d")
def _multigammaln(a: Any, d: int) -> Any:
    (a,) = promote_args_inexact("multigammaln", a)
    a = strip_weak_type(a)
    dtype, shape = dtype_of(a), aval_of(a).shape
    steps = from_host(np.arange(d) / 2, shaped((d,), dtype))
    each = lax.expand_dims(a, (len(shape),)) - lax.expand_dims(steps, range(len(shape)))
    total = lax.reduce_sum(lax.lgamma(each), (len(shape),))
    return total + const(a, d * (d - 1) / 4 * math.log(math.pi))


LAST_BERNOULLI = 260  # larger ones are infinite in float64


@functools.cache
def _bernoulli_numbers() -> tuple[float, ...]:
    """Return B_0 ... from integer tangent numbers (R. P. Brent, D. Harvey,
    arXiv:1108.0286)."""
    half = LAST_BERNOULLI // 2
    t = [0, 1]
    for k in range(2, half + 1):
        t.append((k - 1) * t[k - 1])
    for k in range(2, half + 1):
        for j in range(k, half + 1):
            t[j] = (j - k) * t[j - 1] + (j - k + 2) * t[j]
    numbers = [1.0, -0.5]
    for k in range(1, half + 1):
        exact = Fraction((-1) ** (k + 1) * 2 * k * t[k], 4**k * (4**k - 1))
        try:
            numbers += [float(exact), 0.0]
        except OverflowError:
            numbers += [math.inf if k % 2 else -math.inf, 0.0]
    return tuple(numbers)


def bernoulli(n: int) -> Any:
    r"""Return the Bernoulli numbers :math:`B_0 \ldots B_n`, with :math:`B_1 = -1/2`.

    Args:
      n: the last index, from 0 (static).

    Returns:
      An array of shape (n + 1,) of the default float dtype, each correctly rounded, or
      infinite if the number is out of range.

    Raises:
      TypeError: n is not an integer.
      ValueError: n is negative.

    Example:
      >>> from minijax.scipy import special
      >>> special.bernoulli(2)
      Array([ 1.        , -0.5       ,  0.16666667], dtype=float32)
    """
    n = operator.index(n)
    if n < 0:
        raise errors.value_error("n must be a non-negative integer.", which=str(n))
    numbers = list(_bernoulli_numbers()[: n + 1])
    while len(numbers) <= n:
        k = len(numbers)
        numbers.append(0.0 if k % 2 else math.inf if k % 4 else -math.inf)
    dtype = dtypes.float_default()
    with np.errstate(over="ignore"):
        return from_host(np.asarray(numbers).astype(dtype), shaped((n + 1,), dtype))
