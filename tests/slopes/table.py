"""The functions whose derivatives are compared, and where.

A row has a name, the function of arrays, the same function by mpmath, and a condition on
the points.  This module imports neither mpmath nor an array library: each function gets
the modules that it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

DTYPES = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}


class Row(NamedTuple):
    """One function of one or two numbers."""

    name: str
    fun: Callable[..., Any]  # (m, *xs), m has the modules lax, jnp, nn, special
    exact: Callable[..., Any]  # (mp, *xs)
    where: Callable[..., bool] = lambda *xs: True
    bits: int = 3000  # of precision, for mpmath


# ------------------------------------------------------------------------------- points

_SIZES = {
    "f16": [2e-7, 1e-4, 6e4, 300.0, 2000.0],
    "bf16": [2e-38, 1e-25, 1e-10, 1e4, 300.0, 1e10, 1e19, 1e25, 3e38],
    "f32": [2e-38, 1e-25, 1e-10, 1e-4, 300.0, 1e4, 1e10, 3e19, 1e25, 3e38],
    "f64": [1e-160, 1e-100, 1e-25, 1e-9, 1e-4, 300.0, 1e4, 1e10, 1e25, 1e160, 1e300],
}
_MIDDLE = [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 10.0, 16.0, 20.0]
_FAR = {"f16": [], "bf16": [40.0, 80.0], "f32": [40.0, 80.0], "f64": [40.0, 80.0, 600.0]}


def points(kind: str) -> list[float]:
    """Numbers of a dtype: tiny, usual, next to 1, saturated, huge; of both signs."""
    dtype = DTYPES[kind]
    eps = float(ml_dtypes.finfo(dtype).eps)
    sizes = _SIZES[kind] + _MIDDLE + _FAR[kind]
    sizes += [1 - eps / 2, 1 - 3 * eps, 1 + eps, 1 + 5 * eps, 0.5 + eps, 0.5 - eps]
    rounded = sorted({float(dtype.type(x)) for x in sizes})
    return [-x for x in reversed(rounded)] + rounded


def pairs(kind: str) -> list[tuple[float, float]]:
    """Pairs of numbers of a dtype, some of them equal."""
    sizes = {
        "f16": [1e-3, 0.3, 1.0, 1.5, 4.0, 300.0, 3e4],
        "bf16": [1e-25, 1e-3, 0.3, 1.0, 1.5, 4.0, 300.0, 1e25],
        "f32": [1e-30, 1e-25, 1e-3, 0.3, 1.0, 1.5, 4.0, 300.0, 1e25, 1e30],
        "f64": [1e-200, 1e-25, 1e-3, 0.3, 1.0, 1.5, 4.0, 300.0, 1e25, 1e200],
    }[kind]
    values = [float(DTYPES[kind].type(x)) for x in sizes]
    values += [-values[2], -values[-2]]
    return [(x, y) for x in values for y in values]


# ------------------------------------------------------------------------------ functions

_positive = lambda *xs: all(x > 0 for x in xs)
_inside = lambda x: abs(x) < 1
_unit = lambda x: 0 < x < 1
_mild = lambda x: abs(x) < 1e4


def _expm1_over(mp: Any, x: Any) -> Any:
    return x if x > 0 else mp.expm1(x)


def _erf_inv(mp: Any, x: Any) -> Any:
    """By Newton's method, from the digits of a double."""
    with mp.workprec(60):
        y = mp.erfinv(x)
    for _ in range(6):
        y -= (mp.erf(y) - x) * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
    return y


def _norm_cdf(mp: Any, x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


ROWS = [
    # powers and roots
    Row("square", lambda m, x: m.lax.square(x), lambda mp, x: x**2),
    Row("integer_pow_3", lambda m, x: m.lax.integer_pow(x, 3), lambda mp, x: x**3),
    Row("integer_pow_-1", lambda m, x: m.lax.integer_pow(x, -1), lambda mp, x: 1 / x),
    Row("integer_pow_-3", lambda m, x: m.lax.integer_pow(x, -3), lambda mp, x: x**-3),
    Row("reciprocal", lambda m, x: 1 / x, lambda mp, x: 1 / x),
    Row("1000_over", lambda m, x: 1000 / x, lambda mp, x: 1000 / x),
    Row("sqrt", lambda m, x: m.lax.sqrt(x), lambda mp, x: mp.sqrt(x), _positive),
    Row("rsqrt", lambda m, x: m.lax.rsqrt(x), lambda mp, x: 1 / mp.sqrt(x), _positive),
    Row(
        "cbrt", lambda m, x: m.lax.cbrt(x), lambda mp, x: mp.sign(x) * abs(x) ** (mp.mpf(1) / 3)
    ),
    # exponentials and logarithms
    Row("exp", lambda m, x: m.lax.exp(x), lambda mp, x: mp.exp(x), _mild),
    Row("exp2", lambda m, x: m.lax.exp2(x), lambda mp, x: mp.power(2, x), _mild),
    Row("expm1", lambda m, x: m.lax.expm1(x), lambda mp, x: mp.expm1(x), _mild),
    Row("log", lambda m, x: m.lax.log(x), lambda mp, x: mp.log(x), _positive),
    Row("log2", lambda m, x: m.jnp.log2(x), lambda mp, x: mp.log(x, 2), _positive),
    Row("log1p", lambda m, x: m.lax.log1p(x), lambda mp, x: mp.log1p(x), lambda x: x > -1),
    # circles
    Row("sin", lambda m, x: m.lax.sin(x), lambda mp, x: mp.sin(x), _mild),
    Row("cos", lambda m, x: m.lax.cos(x), lambda mp, x: mp.cos(x), _mild),
    Row("tan", lambda m, x: m.lax.tan(x), lambda mp, x: mp.tan(x), _mild),
    Row("asin", lambda m, x: m.lax.asin(x), lambda mp, x: mp.asin(x), _inside),
    Row("acos", lambda m, x: m.lax.acos(x), lambda mp, x: mp.acos(x), _inside),
    Row("atan", lambda m, x: m.lax.atan(x), lambda mp, x: mp.atan(x)),
    Row(
        "sinc", lambda m, x: m.jnp.sinc(x), lambda mp, x: mp.sin(mp.pi * x) / (mp.pi * x), _mild
    ),
    # hyperbolas
    Row("sinh", lambda m, x: m.lax.sinh(x), lambda mp, x: mp.sinh(x), _mild),
    Row("cosh", lambda m, x: m.lax.cosh(x), lambda mp, x: mp.cosh(x), _mild),
    Row("tanh", lambda m, x: m.lax.tanh(x), lambda mp, x: mp.tanh(x), _mild),
    Row("asinh", lambda m, x: m.lax.asinh(x), lambda mp, x: mp.asinh(x)),
    Row("acosh", lambda m, x: m.lax.acosh(x), lambda mp, x: mp.acosh(x), lambda x: x > 1),
    Row("atanh", lambda m, x: m.lax.atanh(x), lambda mp, x: mp.atanh(x), _inside),
    # activations
    Row("logistic", lambda m, x: m.lax.logistic(x), lambda mp, x: 1 / (1 + mp.exp(-x)), _mild),
    Row("silu", lambda m, x: m.nn.silu(x), lambda mp, x: x / (1 + mp.exp(-x)), _mild),
    Row("softplus", lambda m, x: m.nn.softplus(x), lambda mp, x: mp.log1p(mp.exp(x)), _mild),
    Row(
        "log_sigmoid",
        lambda m, x: m.nn.log_sigmoid(x),
        lambda mp, x: -mp.log1p(mp.exp(-x)),
        _mild,
    ),
    Row(
        "mish", lambda m, x: m.nn.mish(x), lambda mp, x: x * mp.tanh(mp.log1p(mp.exp(x))), _mild
    ),
    Row("elu", lambda m, x: m.nn.elu(x), _expm1_over, _mild),
    Row(
        "celu",
        lambda m, x: m.nn.celu(x, 2.0),
        lambda mp, x: x if x > 0 else 2 * mp.expm1(x / 2),
        _mild,
    ),
    Row(
        "selu",
        lambda m, x: m.nn.selu(x),
        lambda mp, x: (
            mp.mpf("1.0507009873554804934193349852946")
            * (x if x > 0 else mp.mpf("1.6732632423543772848170429916717") * mp.expm1(x))
        ),
        _mild,
    ),
    Row(
        "squareplus",
        lambda m, x: m.nn.squareplus(x),
        lambda mp, x: (x + mp.sqrt(x * x + 4)) / 2,
    ),
    Row("soft_sign", lambda m, x: m.nn.soft_sign(x), lambda mp, x: x / (abs(x) + 1)),
    Row(
        "gelu_tanh",
        lambda m, x: m.nn.gelu(x),
        lambda mp, x: (
            x * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))) / 2
        ),
        _mild,
    ),
    Row(
        "gelu_erf",
        lambda m, x: m.nn.gelu(x, approximate=False),
        lambda mp, x: x * _norm_cdf(mp, x),
        lambda x: abs(x) < 30,
    ),
    Row(
        "log1mexp",
        lambda m, x: m.nn.log1mexp(x),
        lambda mp, x: mp.log(-mp.expm1(-x)),
        lambda x: 0 < x < 1e4,
    ),
    Row(
        "softmax_first",
        lambda m, x: m.nn.softmax(m.jnp.stack([x, 0 * x, 0 * x + 1]))[0],
        lambda mp, x: mp.exp(x) / (mp.exp(x) + 1 + mp.e),
        _mild,
    ),
    Row(
        "log_softmax_first",
        lambda m, x: m.nn.log_softmax(m.jnp.stack([x, 0 * x, 0 * x + 1]))[0],
        lambda mp, x: x - mp.log(mp.exp(x) + 1 + mp.e),
        _mild,
    ),
    Row(
        "logsumexp",
        lambda m, x: m.nn.logsumexp(m.jnp.stack([x, 0 * x, 0 * x + 1])),
        lambda mp, x: mp.log(mp.exp(x) + 1 + mp.e),
        _mild,
    ),
    # special functions
    Row("erf", lambda m, x: m.lax.erf(x), lambda mp, x: mp.erf(x), lambda x: abs(x) < 30),
    Row("erfc", lambda m, x: m.lax.erfc(x), lambda mp, x: mp.erfc(x), lambda x: abs(x) < 30),
    Row("erf_inv", lambda m, x: m.lax.erf_inv(x), _erf_inv, lambda x: abs(x) < 1 - 1e-8),
    Row(
        "lgamma",
        lambda m, x: m.lax.lgamma(x),
        lambda mp, x: mp.loggamma(x),
        lambda x: 0 < x < 1e4,
        bits=500,
    ),
    Row("logit", lambda m, x: m.special.logit(x), lambda mp, x: mp.log(x / (1 - x)), _unit),
    Row("entr", lambda m, x: m.special.entr(x), lambda mp, x: -x * mp.log(x), _positive),
    Row(
        "xlog1py_2",
        lambda m, x: m.special.xlog1py(2.0, x),
        lambda mp, x: 2 * mp.log1p(x),
        lambda x: x > -1,
    ),
    Row(
        "i0e",
        lambda m, x: m.special.i0e(x),
        lambda mp, x: mp.exp(-abs(x)) * mp.besseli(0, x),
        lambda x: 1e-6 < abs(x) < 200,
        bits=500,
    ),
    # norms and moments
    Row(
        "norm_of_2",
        lambda m, x: m.jnp.linalg.norm(m.jnp.stack([x, 2 + 0 * x]), axis=0),
        lambda mp, x: mp.sqrt(x * x + 4),
        lambda x: abs(x) < 1e3,
    ),
    # of two numbers
    Row("div", lambda m, x, y: x / y, lambda mp, x, y: x / y),
    Row("atan2", lambda m, x, y: m.lax.atan2(x, y), lambda mp, x, y: mp.atan2(x, y)),
    Row("hypot", lambda m, x, y: m.jnp.hypot(x, y), lambda mp, x, y: mp.sqrt(x * x + y * y)),
    Row(
        "pow",
        lambda m, x, y: m.lax.pow(x, y),
        lambda mp, x, y: mp.power(x, y),
        lambda x, y: 1e-4 < x < 1e4 and abs(y) < 10,
    ),
    Row(
        "logaddexp",
        lambda m, x, y: m.jnp.logaddexp(x, y),
        lambda mp, x, y: mp.log(mp.exp(x) + mp.exp(y)),
        lambda x, y: max(abs(x), abs(y)) < 500 and max(x, y) - min(x, y) < 500,
    ),
    Row(
        "logaddexp2",
        lambda m, x, y: m.jnp.logaddexp2(x, y),
        lambda mp, x, y: mp.log(mp.power(2, x) + mp.power(2, y), 2),
        lambda x, y: max(abs(x), abs(y)) < 500,
    ),
    Row(
        "xlogy",
        lambda m, x, y: m.special.xlogy(x, y),
        lambda mp, x, y: x * mp.log(y),
        _positive,
    ),
    Row(
        "rel_entr",
        lambda m, x, y: m.special.rel_entr(x, y),
        lambda mp, x, y: x * mp.log(x / y),
        _positive,
    ),
    Row(
        "kl_div",
        lambda m, x, y: m.special.kl_div(x, y),
        lambda mp, x, y: x * mp.log(x / y) - x + y,
        _positive,
    ),
    Row(
        "betaln",
        lambda m, x, y: m.special.betaln(x, y),
        lambda mp, x, y: mp.loggamma(x) + mp.loggamma(y) - mp.loggamma(x + y),
        lambda x, y: min(x, y) > 1e-4 and max(x, y) < 1e3,
        bits=500,
    ),
    Row(
        "beta",
        lambda m, x, y: m.special.beta(x, y),
        lambda mp, x, y: mp.beta(x, y),
        lambda x, y: min(x, y) > 0.2 and max(x, y) < 5,
        bits=500,
    ),
]


def arity(row: Row) -> int:
    """How many numbers a function takes."""
    return row.fun.__code__.co_argcount - 1


def chosen(row: Row, kind: str) -> list[tuple[float, ...]]:
    """The points of a row."""
    if arity(row) == 1:
        return [(x,) for x in points(kind) if row.where(x)]
    return [p for p in pairs(kind) if row.where(*p)]


def partials(n: int, order: int) -> list[tuple[int, ...]]:
    """The multi-indices of all partial derivatives of an order."""
    if n == 1:
        return [(order,)]
    return [(order - k, k) for k in range(order + 1)]
