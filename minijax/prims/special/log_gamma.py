r"""The logarithm of the gamma function and its derivatives.

Near its zeros, 1 and 2, ln Gamma is a polynomial in the distance.  Above 3.5 it is Stirling's
formula with a polynomial in 1/x^2, and below 0 the reflection formula (NIST Digital Library of
Mathematical Functions, 5.11.1 and 5.5.3).  The digamma function has a factor for its positive
zero.  The polynomials interpolate at Chebyshev's points.

Next: gamma.py.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...ir import core
from ...ir.core import unsupported
from ..elementwise import FLOAT, const, derivative_constant, filled, nary
from ..math.algebraic import add, div, mul, neg, reciprocal, square, sub
from ..math.elementary import exp, log
from ..math.logic import bitwise_and, bitwise_or, eq, gt, le, lt, ne, select
from ..math.order import abs, floor, min, round
from ..math.wide_lowering import lower_chlo, lower_wide, narrow, widen

__all__ = (
    "digamma_p",
    "lgamma_p",
    "lgamma",
    "digamma",
    "polygamma_p",
    "polygamma",
    "zeta_p",
    "zeta",
)

# ---- polynomials, by itemsize


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Return the sum of c_k x^k, by Horner's rule."""
    total = filled(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total = add(mul(total, x), const(x, c))
    return total


def _approximate(x: Any, coefficients: Mapping[int, Sequence[float]]) -> Any:
    return polynomial(x, coefficients[core.aval_of(x).dtype.itemsize])


# ln Gamma(2 + t) / t, by powers of t, from -1/2 to 1/2.
_ABOVE_2 = {
    4: (
        0.422784335,
        0.3224670335,
        -0.06735228147,
        0.02058079947,
        -0.007386174156,
        0.002890795322,
        -0.001185860034,
        0.000506517143,
        -0.0002538170957,
        0.0001134728199,
    ),
    8: (
        0.42278433509846713,
        0.3224670334241132,
        -0.06735230105319563,
        0.02058080842778338,
        -0.007385551028935545,
        0.002890510330865901,
        -0.0011927539009983087,
        0.0005096695196526673,
        -0.00022315497746292723,
        9.945761692157133e-05,
        -4.4923727564247656e-05,
        2.050601970174762e-05,
        -9.45628851510172e-06,
        4.3828545383846665e-06,
        -1.9743106888421067e-06,
        9.242852225162277e-07,
        -5.811277768921246e-07,
        2.7475390051909663e-07,
    ),
}
# x (ln Gamma(x) - Stirling's formula), by powers of 1/x^2, for x >= 3.5.
_STIRLING_REST = {
    4: (0.08333332468, -0.002775857613, 0.0007287949276),
    8: (
        0.08333333333333331,
        -0.002777777777734769,
        0.0007936507759935256,
        -0.0005952352439092053,
        0.0008415127599549598,
        -0.0019058041797362663,
        0.006043560536192271,
        -0.02188646223118823,
        0.06688177820923424,
        -0.11104695308738122,
    ),
}
# digamma(x) / (x - its zero), by powers of x - 3/2, from 1 to 2.
_OVER_ROOT = {
    4: (
        0.951055876,
        -0.4236274975,
        0.240542535,
        -0.1483988614,
        0.09498468507,
        -0.06205598039,
        0.04085002674,
        -0.02578688363,
        0.017114989,
        -0.01637362026,
        0.01090258867,
    ),
    8: (
        0.951055876031833,
        -0.4236274212814605,
        0.2405424842407742,
        -0.14840492305390884,
        0.09498872445494122,
        -0.061922133273064534,
        0.04076083381242074,
        -0.02697579675613825,
        0.0179072524394512,
        -0.011908218001568644,
        0.007926944646403797,
        -0.005279964873257405,
        0.003519006401502276,
        -0.002345267632540769,
        0.0015566317474486838,
        -0.0010376374098418604,
        0.0007233266279287554,
        -0.0004821990530566789,
        0.0002272331660987376,
        -0.00015148586836773365,
        0.00025968482126430747,
        -0.00017312261802727394,
    ),
}
# x^2 (ln x - 1/(2x) - digamma(x)), by powers of 1/x^2, for x >= 3.
_DIGAMMA_REST = {
    4: (0.08333332785, -0.008331742294, 0.003893513343, -0.002966348855),
    8: (
        0.08333333333333326,
        -0.008333333333142599,
        0.003968253884920039,
        -0.004166652178650307,
        0.00757443060881869,
        -0.02101916489697652,
        0.08064047398067098,
        -0.37430045081725144,
        1.7458633558768843,
        -6.706334097588544,
        17.261883761190983,
        -21.29861333701341,
    ),
}
# sin(pi x) / (pi x), by powers of x^2, up to 1/2.
_SINE = {
    4: (0.9999999957, -1.644933206, 0.8117148427, -0.1904417527, 0.0247186446),
    8: (
        1.0,
        -1.6449340668482264,
        0.8117424252833393,
        -0.19075182412149616,
        0.02614784780555096,
        -0.0023460808954639607,
        0.0001484278414189103,
        -6.972099660851199e-06,
        2.4502943624559793e-07,
    ),
}
# The zero of the digamma function, rounded, and this minus the exact zero.
_ROOT = {
    4: (1.4616321325302124, 1.2438149938918909e-08),
    8: (1.4616321449683622, 9.549995429965697e-17),
}
_SLOPE_AT_ROOT = 0.9676722454476212


# ---- the logarithm


def _lgamma(x: Any) -> Any:
    one, half = const(x, 1), const(x, 0.5)
    negative = lt(x, const(x, 0))
    y = select(negative, sub(one, x), x)
    # y = k + t: ln Gamma(k + t) is ln Gamma(2 + t) minus the logarithm of a quotient.
    t = sub(y, min(floor(add(y, half)), const(x, 3)))
    series = mul(t, _approximate(t, _ABOVE_2))
    far = gt(y, const(x, 3.5))
    quotient = select(lt(y, const(x, 2.5)), filled(x, 1), reciprocal(sub(y, one)))
    quotient = select(lt(y, const(x, 1.5)), y, quotient)
    quotient = select(lt(y, half), mul(y, add(y, one)), quotient)
    logarithm = log(select(far, y, quotient))
    inverse = reciprocal(y)
    rest = mul(inverse, _approximate(square(inverse), _STIRLING_REST))
    rest = add(rest, const(x, 0.5 * math.log(2 * math.pi) - 0.5))
    large = add(mul(sub(y, half), sub(logarithm, one)), rest)
    above = select(far, large, sub(series, logarithm))
    offset = sub(x, round(x))
    sine = mul(offset, _approximate(square(offset), _SINE))
    below = sub(neg(log(abs(sine))), above)
    # Negative numbers of this size are integers, so ln |Gamma| is infinite there.
    below = select(eq(above, const(x, math.inf)), above, below)
    return select(negative, below, above)


lgamma_p = nary(
    "lgamma", [FLOAT], lower=lower_wide(_lgamma), jvp=[lambda t, ans, x: mul(t, digamma(x))]
)

# Which samples of a Poisson distribution are rejected depends on the last digits of XLA's
# function.  With other digits, some samples would differ from JAX's.
lgamma_of_xla_p = nary(
    "lgamma_of_xla",
    [FLOAT],
    lower=lower_chlo("lgamma"),
    jvp=[lambda t, ans, x: mul(t, digamma(x))],
)


def lgamma(x: Any) -> Any:
    r"""Compute the logarithm of the gamma function, :math:`\ln |\Gamma(x)|`.

    Args:
      x: an array of a float dtype.

    Returns:
      An array of `x`'s shape and dtype.  inf at 0, -1, -2 ...

    Example:
      >>> print(f"{lgamma(3.0):.5f}")
      0.69315
    """
    return lgamma_p.bind(x)


def _cotangent(x: Any, offset: Any) -> Any:
    """Return pi cot(pi x), by the offset of x from the nearest integer."""
    other = sub(const(x, 0.5), abs(offset))
    above = mul(other, _approximate(square(other), _SINE))
    below = mul(offset, _approximate(square(offset), _SINE))
    return mul(const(x, math.pi), div(above, below))


def _digamma(x: Any) -> Any:
    one, zero = const(x, 1), const(x, 0)
    negative = lt(x, zero)
    y = select(negative, sub(one, x), x)
    # Reduce to [1, 2] by digamma(y + 1) = digamma(y) + 1 / y.
    low, high = lt(y, one), gt(y, const(x, 2))
    z = select(low, add(y, one), select(high, sub(y, one), y))
    step = div(select(low, filled(x, -1), filled(x, 1)), select(low, y, z))
    root, root_rest = _ROOT[core.aval_of(x).dtype.itemsize]
    # Multiplied by the slope: XLA would merge two successive subtractions of constants.
    near = mul(sub(z, const(x, root)), _approximate(sub(z, const(x, 1.5)), _OVER_ROOT))
    near = sub(near, const(x, root_rest * _SLOPE_AT_ROOT))
    near = select(bitwise_or(low, high), add(near, step), near)
    inverse = reciprocal(y)
    square_of = square(inverse)
    rest = mul(square_of, _approximate(square_of, _DIGAMMA_REST))
    large = sub(log(y), add(mul(inverse, const(x, 0.5)), rest))
    above = select(gt(y, const(x, 3)), large, near)
    offset = sub(x, round(x))
    below = sub(above, _cotangent(x, offset))
    pole = bitwise_and(le(x, zero), eq(offset, zero))
    out = select(negative, below, above)
    return select(pole, filled(x, math.nan), out)


digamma_p = nary(
    "digamma",
    [FLOAT],
    lower=lower_wide(_digamma),
    jvp=[lambda t, ans, x: mul(t, polygamma(derivative_constant(x, 1), x))],
)


def digamma(x: Any) -> Any:
    r"""Compute the digamma function, the derivative of `lgamma`:
    :math:`\psi(x) = \Gamma'(x) / \Gamma(x)`.

    Args:
      x: an array of a float dtype.

    Returns:
      An array of `x`'s shape and dtype.  nan at 0, -1, -2 ...

    Example:
      >>> print(f"{digamma(1.0):.5f}")
      -0.57722
    """
    return digamma_p.bind(x)


# ---- higher derivatives: (-1)^(m+1) m! times the sum of 1 / (x + k)^(m+1), k >= 0


class _SumMethod(NamedTuple):
    """The summation method for a dtype: the number of terms added directly, the number of
    Euler-Maclaurin corrections for the rest (DLMF 25.11.28), the number of bits of orders, and
    the highest order that is reflected."""

    terms: int
    corrections: int
    bits: int
    reflected: int


_SUM_METHODS = {4: _SumMethod(8, 5, 6, 6), 8: _SumMethod(10, 12, 8, 12)}
_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
    854513 / 138,
    -236364091 / 2730,
)


def _sum_method(x: Any) -> _SumMethod:
    return _SUM_METHODS[core.aval_of(x).dtype.itemsize]


def _sum(m: Any, x: Any) -> Any:
    """Return the sum of 1 / (x + k)^(m+1) for x that is positive or slightly negative."""
    how = _sum_method(x)
    halves = [floor(mul(m, const(m, 0.5**i))) for i in range(how.bits + 1)]
    bits = [ne(h, mul(const(m, 2), g)) for h, g in itertools.pairwise(halves)]

    def power(u: Any) -> Any:
        out = select(bits[0], u, filled(u, 1))
        for bit in bits[1:]:
            u = mul(u, u)
            out = select(bit, mul(out, u), out)
        return out

    u = reciprocal(add(x, const(x, how.terms)))
    # u^m (1/m + u (1/2 + ...)), so that the first term remains if u^(m+1) underflows.
    rest, factor = const(x, 0.5), mul(add(m, const(m, 1)), u)
    for k, number in enumerate(_BERNOULLI[: how.corrections]):
        term = const(x, number / math.factorial(2 * k + 2))
        rest = add(rest, mul(factor, term))
        for j in (2, 3):
            factor = mul(factor, mul(add(m, const(m, 2 * k + j)), u))
    total = mul(power(u), add(reciprocal(m), mul(u, rest)))
    for k in reversed(range(how.terms)):
        u = reciprocal(add(x, const(x, k)))
        total = add(total, mul(power(u), u))
    return total


def _reflect(m: Any, offset: Any, value: Any) -> Any:
    """Return the derivative at x < 0, by the offset of x from the nearest integer.

    It follows from the derivative at 1 - x and the derivatives of y = pi cot(pi x).  As
    y' = -pi^2 - y^2, each of these is a sum of products of the previous ones.  In absolute
    value all products are positive, so nothing cancels.
    """
    slopes = [_cotangent(offset, abs(offset))]
    slopes.append(add(square(slopes[0]), const(offset, math.pi**2)))
    for n in range(1, _sum_method(offset).reflected):
        terms = [
            mul(const(m, (1 + (2 * j < n)) * math.comb(n, j)), mul(y, slopes[n - j]))
            for j, y in enumerate(slopes[: n // 2 + 1])
        ]
        slopes.append(functools.reduce(add, terms))
    total = slopes[1]
    for n, y in enumerate(slopes[2:], 2):
        total = select(eq(m, const(m, n)), y, total)
    total = select(gt(offset, const(offset, 0)), neg(total), total)
    return select(_is_even(m), add(total, value), sub(abs(total), value))


def _is_even(m: Any) -> Any:
    half = mul(m, const(m, 0.5))
    return eq(half, floor(half))


def _polygamma(m: Any, x: Any) -> Any:
    zero = const(x, 0)
    negative = lt(x, zero)
    is_reflected = le(m, const(m, _sum_method(x).reflected))
    pole = eq(x, round(x))
    offset = select(pole, filled(x, 0), sub(x, round(x)))
    # For high orders, only the terms of the nearest integers affect the sum.
    shift = _sum_method(x).terms - 4
    point = select(is_reflected, sub(const(x, 1), x), sub(offset, const(x, shift)))
    even = _is_even(m)
    factorial = exp(lgamma(add(m, const(m, 1))))
    factorial = select(lt(factorial, const(m, 1e6)), round(factorial), factorial)
    size = mul(factorial, _sum(m, select(negative, point, x)))
    value = select(even, neg(size), size)
    reflected = bitwise_and(negative, is_reflected)
    value = select(reflected, _reflect(m, offset, value), value)
    pole = bitwise_and(bitwise_and(even, le(x, zero)), pole)
    no_order = bitwise_or(lt(m, zero), ne(m, floor(m)))
    value = select(bitwise_or(pole, no_order), filled(x, math.nan), value)
    return select(eq(m, zero), digamma(x), value)


def _no_order(t: Any, ans: Any, m: Any, x: Any) -> Any:
    raise ValueError(
        "polygamma gradient with respect to m is not supported.\n"
        "Why: The order counts derivatives.\nTry: lax.stop_gradient(m)."
    )


polygamma_p = nary(
    "polygamma",
    [FLOAT, FLOAT],
    lower=lower_wide(_polygamma),
    jvp=[_no_order, lambda t, ans, m, x: mul(t, polygamma(add(m, const(m, 1)), x))],
)


def polygamma(m: Any, x: Any) -> Any:
    r"""Compute a derivative of the digamma function, :math:`\psi^{(m)}(x)`.

    Args:
      m: the order, nonnegative integers as floats; it cannot be differentiated.
      x: the point, of the same float dtype; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype; nan where `m` is another number.

    Raises:
      TypeError: a dtype is not a float dtype, or they differ.

    Example:
      >>> print(f"{polygamma(1.0, 1.0):.5f}")
      1.64493
    """
    return polygamma_p.bind(m, x)


def _zeta_below(s: Any, q: Any, value: Any) -> Any:
    """Return the sum of 1 / (q + k)^s if s is an integer and q < -4, else `value`."""
    m, one = sub(s, const(s, 1)), const(s, 1)
    below = bitwise_and(lt(q, const(q, -4)), bitwise_and(gt(s, one), eq(s, floor(s))))
    is_reflected = le(m, const(m, _sum_method(q).reflected))
    order = select(bitwise_and(below, is_reflected), m, filled(m, 1))
    sum_below = div(polygamma(order, q), round(exp(lgamma(add(order, one)))))
    sum_below = select(_is_even(order), neg(sum_below), sum_below)
    near = sub(sub(q, round(q)), const(q, _sum_method(q).terms - 4))
    point = select(below, near, filled(q, 1))
    sum_below = select(is_reflected, sum_below, _sum(select(below, m, filled(m, 1)), point))
    return select(below, sum_below, value)


def _lower_zeta(ctx: Any, s: Any, q: Any) -> Any:
    (s, q), aval = widen(ctx, (s, q))
    value = ctx.chlo("zeta", aval, s, q)
    (out,) = ctx.fun(_zeta_below, s, q, value, avals=[aval] * 3)
    return narrow(ctx, out, aval)


zeta_p = nary("zeta", [FLOAT, FLOAT], lower=_lower_zeta)
zeta_p.jvp = unsupported("zeta has no derivative rule.")


def zeta(x: Any, q: Any) -> Any:
    r"""Compute Hurwitz' zeta function, :math:`\zeta(x, q) = \sum_{k \ge 0} (k + q)^{-x}`.

    It cannot be differentiated.

    Args:
      x: the exponent, above 1: an array of a float dtype.
      q: the offset, of the same dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype: inf at x = 1, nan below.

    Example:
      >>> print(f"{zeta(2.0, 1.0):.5f}")
      1.64493
    """
    return zeta_p.bind(x, q)
