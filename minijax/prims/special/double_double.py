"""Double-double numbers: sums of two floats, the second the rounding error of the first.

The relative error of an exponential is the absolute error of its exponent: a rounded
exponent costs e^700 three digits.  So exponents that are products of logarithms are
computed in twice the digits (T. J. Dekker, "A floating-point technique for extending the
available precision", Numerische Mathematik 18, 1971).  `reduce_precision` splits digits into
halves, because the compiler does not fuse it with later operations.

Next: gamma.py.
"""

from __future__ import annotations

import math
from typing import Any

from ...ir import core
from ...types import dtypes
from ..elementwise import const, filled
from ..math.algebraic import add, div, mul, neg, sub
from ..math.cast import reduce_precision
from ..math.elementary import exp, exp2, log
from ..math.logic import clamp, lt, select
from ..math.order import abs, floor

Pair = tuple[Any, Any]


def _layout(x: Any) -> tuple[int, int]:
    """Return the numbers of bits of the exponent and of the fraction."""
    return (11, 52) if core.aval_of(x).dtype == dtypes.float64 else (8, 23)


def rounded(x: Any) -> Any:
    """Return `x` so that the compiler keeps the rounding of the operation that computed it.

    XLA merges constants even without fast-math: it rewrites (x - c) - d to x - (c + d).
    """
    aval = core.aval_of(x)
    if aval.dtype not in _LAYOUTS:
        return x
    return reduce_precision(x, *_LAYOUTS[aval.dtype])


_LAYOUTS = {
    dtypes.float64: (11, 52),
    dtypes.float32: (8, 23),
    dtypes.float16: (5, 10),
    dtypes.bfloat16: (8, 7),
}


def exact_sum(a: Any, b: Any) -> Pair:
    """Return a + b and its rounding error, for any order of size; one may be a constant."""
    total = rounded(add(a, b))
    b_rounded = sub(total, a)
    return total, add(sub(a, sub(total, b_rounded)), sub(b, b_rounded))


def exact_product(a: Any, b: Any) -> Pair:
    """Return a b and its rounding error; no partial product may overflow or underflow."""
    exponent, fraction = _layout(a)
    a1, b1 = (reduce_precision(x, exponent, fraction // 2 - 1) for x in (a, b))
    a2, b2 = sub(a, a1), sub(b, b1)
    product = mul(a, b)
    residual = add(sub(mul(a1, b1), product), add(mul(a1, b2), mul(a2, b1)))
    return product, add(residual, mul(a2, b2))


def ratio(a: Any, b: Any, rest: Any = None) -> Pair:
    """Return (a + rest) / b."""
    quotient = div(a, b)
    product, product_rest = exact_product(quotient, b)
    residual = sub(sub(a, product), product_rest)
    return quotient, div(residual if rest is None else add(residual, rest), b)


def times(a: Any, pair: Pair) -> Pair:
    """Return a times a pair."""
    product, rest = exact_product(a, pair[0])
    return product, add(rest, mul(a, pair[1]))


# ln 2 by bits of the fraction, as two terms: multiples of the first are exact.
_LN2 = {
    52: (0.6931471805592082, 7.371002565167799e-13),
    23: (0.693115234375, 3.1946184945309415e-05),
}


def log_of(y: Any, rest: Any, raised: Any) -> Pair:
    """Return the logarithm of (y + rest) / 2^raised, for positive normal y.

    y is 2^k m, and ln m = 2 atanh s, s = (m - 1) / (m + 1).  Only the first term of its series
    needs twice the digits.
    """
    exponent, fraction = _layout(y)
    top = const(y, (1 << (exponent - 1)) - 2)
    k = floor(add(mul(log(y), const(y, 1 / math.log(2))), const(y, 0.5)))
    k = clamp(neg(top), k, top)
    scale = reduce_precision(exp2(neg(k)), exponent, 4)  # exactly a power of 2
    k = sub(k, raised)
    m, m_rest = mul(y, scale), mul(rest, scale)
    below, below_rest = exact_sum(m, const(y, 1))
    s = div(sub(m, const(y, 1)), below)
    product, product_rest = exact_product(s, below)
    residual = sub(sub(sub(m, const(y, 1)), product), product_rest)
    residual = sub(add(residual, m_rest), mul(s, add(below_rest, m_rest)))
    t = mul(s, s)
    # |s| <= 0.172, so that terms up to s^23 are enough for double precision.
    series = const(y, 1 / 23)
    for n in range(21, 1, -2):
        series = add(mul(series, t), const(y, 1 / n))
    tail = add(div(residual, below), mul(mul(s, t), series))
    first, second = _LN2[fraction]
    total, lost = exact_sum(mul(k, const(y, first)), mul(s, const(y, 2)))
    lost = add(add(lost, mul(k, const(y, second))), mul(tail, const(y, 2)))
    return total, lost


def exp_of(*terms: Any, times: Any = None) -> Any:
    """Return the exponential of a sum, times a number.

    At most the first terms are large.  `times` may bring the result back into range."""
    total, rest = terms[0], None
    for term in terms[1:]:
        total, lost = exact_sum(total, term)
        rest = lost if rest is None else add(rest, lost)
    small = lt(abs(rest), const(rest, 1))  # false for the NaN rest of an infinite total
    one = const(rest, 1)
    if times is None:
        power = exp(total)
    else:
        half = exp(mul(total, const(total, 0.5)))
        power = mul(mul(times, half), half)
    return mul(power, select(small, add(rest, one), filled(rest, 1)))
