"""Sine, cosine and Fresnel integrals.

They are Chebyshev expansions of the integrals near 0, and of their auxiliary functions f
and g for larger numbers (NIST Digital Library of Mathematical Functions, 6.2(iii),
7.2(iv)). Coefficients were computed in 40-digit arithmetic.

Next: dilogarithm.py.
"""

from __future__ import annotations

import math
from typing import Any

from ...numpy._common import check_arraylike
from ...numpy.special_values import sine_quotient
from ._common import *

__all__ = ("sici", "fresnel")

ZERO, ZERO_REST = 0.6165054856207163, -4.209920321433186e-17  # of Ci

# fmt: off
SI = (  # of Si(x) / x in T_k(x^2/8 - 1), for 0 <= x <= 4
    0.684217670090758, -0.2776578526973602, 0.03544140548666592, -0.0025631631447933976,
    0.00011623653904970093, -3.5904327241606043e-06, 8.023421237057102e-08,
    -1.3562997692540251e-09, 1.7944072159973677e-11, -1.9083873430871455e-13,
    1.6669989586824331e-15, -1.2173098836850304e-17,
)
CI = (  # of (Ci(x) - ln(x / z)) / (x^2 - z^2) in T_k(x^2/8 - 1), for 0 <= x <= 4
    -0.18204643218055863, 0.05836749033595516, -0.00535146777251262,
    0.00029750671052243137, -1.0927724298313162e-05, 2.835198675608897e-07,
    -5.4618445127962785e-09, 8.11490962859251e-11, -9.577981124468429e-13,
    9.195609340262522e-15, -7.321167055621622e-17, 4.911671738996287e-19,
)
SINE = (  # of x f(x) in T_k((x^2 - 80) / (x^2 + 48)), for x >= 4
    0.9688639903499273, 0.038755385443695806, -0.009673061921477204,
    0.002626628240021224, -0.0007373995600990611, 0.00021248617872643582,
    -6.226814397141623e-05, 1.8505709514079813e-05, -5.55691627665371e-06,
    1.6838271893332146e-06, -5.138271831752721e-07, 1.5780848894449965e-07,
    -4.8714371313435236e-08, 1.511122022635883e-08, -4.705501347920703e-09,
    1.4709561465240866e-09, -4.611733014569866e-10, 1.450590435393087e-10,
    -4.5727945359170226e-11, 1.4457191596939422e-11, -4.577707069905002e-12,
    1.453616004623032e-12, -4.619236183247711e-13, 1.472565864295717e-13,
    -4.692355943332804e-14, 1.5015947445996753e-14, -4.793106546772435e-15,
    1.540436175859751e-15, -4.917260943898988e-16, 1.5898380432901333e-16,
    -5.057802448519895e-17, 1.652632638914968e-17,
)
COSINE = (  # of x^2 g(x) in T_k((x^2 - 80) / (x^2 + 48)), for x >= 4
    0.9190487528331112, 0.09719642511381628, -0.020230237735802608,
    0.005000415443240327, -0.0012885971991357073, 0.0003482184194477749,
    -9.614242453771465e-05, 2.7207097398732473e-05, -7.798660150677669e-06,
    2.2713574221489125e-06, -6.669392940654663e-07, 1.9815747587031168e-07,
    -5.9174888868137755e-08, 1.784460788780443e-08, -5.395166657162514e-09,
    1.6461689328498774e-09, -5.022939234031089e-10, 1.547921278127885e-10,
    -4.753991644861555e-11, 1.4787418567716153e-11, -4.558107229031723e-12,
    1.432308334836755e-12, -4.4128329308100697e-13, 1.4058587784516327e-13,
    -4.296365933948073e-14, 1.4008295657168924e-14, -4.177381618225103e-15,
    1.4263639508663914e-15, -3.992976052666599e-16, 1.509710238430073e-16,
    -3.592060178180965e-17, 1.7252746530670952e-17,
)
S_NEAR = (  # of S(x) / x^3 in T_k(x^4/3.2768 - 1), for 0 <= x <= 1.6
    0.3142743195347836, -0.18188587850106117, 0.025424557742876257,
    -0.0019214582098450639, 8.966525954745101e-05, -2.830802868181572e-06,
    6.442546962604405e-08, -1.1068235106036057e-09, 1.4862338485609142e-11,
    -1.6028109554824476e-13, 1.4188008517448966e-15, -1.0494270345038239e-17,
)
C_NEAR = (  # of C(x) / x in T_k(x^4/3.2768 - 1), for 0 <= x <= 1.6
    0.5282931311708557, -0.37676220250161824, 0.08537377549656906,
    -0.009010259972062552, 0.0005393127720408215, -2.075044934605623e-05,
    5.564687021283882e-07, -1.0999812843114444e-08, 1.6696510396208076e-10,
    -2.00773053966069e-12, 1.9601599749420958e-14, -1.5849094421108914e-16,
    1.0788395601770007e-18,
)
F_FAR = (  # of pi x f(x) in T_k((x^4 - 6.5536 - 20) / (x^4 - 6.5536 + 20)), for x >= 1.6
    0.9865549846407451, 0.01616326311626559, -0.0033319169899430827,
    0.0007558788161712038, -0.00017620403305206858, 4.221964462432627e-05,
    -1.0249376340549154e-05, 2.525341742240007e-06, -6.267665201970446e-07,
    1.5715118404110824e-07, -3.955618954096135e-08, 1.0041459533211017e-08,
    -2.5515467974668964e-09, 6.541067798932787e-10, -1.6720837751290125e-10,
    4.326236245081762e-11, -1.108167211498845e-11, 2.9003969039087683e-12,
    -7.390974188725257e-13, 1.9745583758932124e-13, -4.9160249291813017e-14,
    1.378789876239563e-14, -3.179707398822485e-15, 1.0201242419528837e-15,
    -1.8185413389466539e-16, 8.709799678699133e-17, -4.414842499097043e-18,
)
G_FAR = (  # of pi^2 x^3 g(x) in the same
    0.9414825039601771, 0.0678691709903516, -0.011295355575540986, 0.002348601323769161,
    -0.0004965885937014996, 0.00011223190335268044, -2.5442721466874508e-05,
    6.0108302026746314e-06, -1.4101216833766305e-06, 3.4335644404180345e-07,
    -8.197578213873241e-08, 2.049564382291195e-08, -4.910295147199639e-09,
    1.268124296471969e-09, -2.982980538119736e-10, 8.155928712190124e-11,
    -1.7902704696567887e-11, 5.5744444772382974e-12, -9.832106826789256e-13,
    4.3094078821724484e-13, -3.22637873469621e-14, 4.2323416864681306e-14,
    4.3836131443550814e-15, 5.810127635514863e-15, 1.7157816040833929e-15,
    1.0682367074919546e-15, 4.453022492439614e-16, 2.340129224511624e-16,
    1.1070677196080422e-16, 5.640462847459024e-17, 2.814751082145058e-17,
    1.444324179162602e-17,
)
# fmt: on

REAL = "x: real array or number; integers become floats."
PAIR = "Two arrays of the shape and dtype of x."


# ------------------------------------------------------------------- sine and cosine


def _sine_cosine(x: Any) -> tuple[Any, Any]:
    """Return Si and Ci for x >= 0."""
    four = const(x, 4)
    low, high = lax.min(x, four), lax.max(x, four)
    square = low * low
    near_sine = low * chebyshev(square / 8 - 1, SI)
    away = subtract_precise(low, ZERO, ZERO_REST)
    close = lax.lt(lax.abs(away), const(x, ZERO / 10))
    log = choose(
        close, lax.log1p(choose(close, away, const(x, 0)) / ZERO), lax.log(low) - math.log(ZERO)
    )
    near_cosine = log + away * (low + ZERO) * chebyshev(square / 8 - 1, CI)
    t = 1 - 128 / (high * high + 48)
    f, g = chebyshev(t, SINE) / high, chebyshev(t, COSINE) / high / high
    is_infinite = lax.eq(high, const(x, np.inf))  # the sine of infinity would be nan
    finite_high = choose(is_infinite, const(x, 0), high)
    sine, cosine = lax.sin(finite_high), lax.cos(finite_high)
    far_sine = math.pi / 2 - f * cosine - g * sine
    far_cosine = f * sine - g * cosine
    near = lax.lt(x, four)
    return choose(near, near_sine, far_sine), choose(near, near_cosine, far_cosine)


@custom_jvp
@staged
def _sici(x: Any) -> tuple[Any, Any]:
    sine, cosine = _sine_cosine(lax.abs(x))
    is_minus_inf = lax.eq(x, const(x, -np.inf))
    return lax.sign(x) * sine, choose(is_minus_inf, const(x, np.nan), cosine)


@_sici.defjvp
def _sici_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _sici(x), (t * sine_quotient(x), t * lax.cos(x) / x)


@special(
    r"Compute the sine and cosine integrals,"
    r" :math:`\mathrm{Si}(x) = \int_0^x \frac{\sin t}{t} dt` and"
    r" :math:`\mathrm{Ci}(x) = -\int_{|x|}^\infty \frac{\cos t}{t} dt`.",
    "1. -> 0.94608 0.33740",
    REAL,
    returns=PAIR,
    raises="ValueError: x is complex.",
)
def sici(x: ArrayLike) -> Any:
    (x,) = promote_args_inexact("sici", x)
    if dtypes.is_complex(dtype_of(x)):
        raise errors.value_error(
            f"Argument `x` to sici must be real-valued. Got dtype {dtype_of(x)}.",
            tries=["jnp.real(x)"],
        )
    return in_float32(_sici, elementwise=False)(strip_weak_type(x))


# ---------------------------------------------------------------------------- Fresnel


def _sin_cos_half_pi_square(x: Any) -> tuple[Any, Any]:
    """Return sin and cos of pi x^2 / 2, with the square split in exact terms."""
    wide = dtype_of(x) == dtypes.float64
    # Larger numbers have no fractional bits; the bound keeps their squares finite.
    x = lax.min(lax.abs(x), const(x, 2.0 ** (52 if wide else 23)))
    head = lax.reduce_precision(x, 11 if wide else 8, 25 if wide else 11)
    rest = x - head
    exact_terms = (head * head, 2 * head * rest, rest * rest)  # each of them exact
    turns = sum(term - 4 * lax.round(term / 4) for term in exact_terms)
    return lax.sin(turns * (math.pi / 2)), lax.cos(turns * (math.pi / 2))


def _near_and_far(x: Any) -> tuple[Any, Any]:
    """Return S and C for x >= 0."""
    border = const(x, 1.6)
    low = lax.min(x, border)
    wide = dtype_of(x) == dtypes.float64
    high = lax.clamp(border, x, const(x, 2.0 ** (60 if wide else 30)))  # beyond, 1/2
    square = low * low
    t = square * square / 3.2768 - 1
    near_s = low * square * chebyshev(t, S_NEAR)
    near_c = low * chebyshev(t, C_NEAR)
    square = high * high
    t = 1 - 40 / (square * square + 13.4464)
    f = chebyshev(t, F_FAR) / (math.pi * high)
    g = chebyshev(t, G_FAR) / (math.pi**2 * square * high)
    sine, cosine = _sin_cos_half_pi_square(high)
    near = lax.lt(x, border)
    return (
        choose(near, near_s, 0.5 - f * cosine - g * sine),
        choose(near, near_c, 0.5 + f * sine - g * cosine),
    )


@custom_jvp
@staged
def _fresnel(x: Any) -> tuple[Any, Any]:
    s, c = _near_and_far(lax.abs(x))
    return lax.sign(x) * s, lax.sign(x) * c


@_fresnel.defjvp
def _fresnel_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    sine, cosine = _phase(x)
    return _fresnel(x), (t * sine, t * cosine)


@custom_jvp
def _phase(x: Any) -> tuple[Any, Any]:
    return _sin_cos_half_pi_square(x)


@_phase.defjvp
def _phase_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    sine, cosine = _phase(x)
    t = t * (math.pi * x)
    return (sine, cosine), (t * cosine, -t * sine)


@special(
    r"Compute the Fresnel integrals, :math:`S(x) = \int_0^x \sin(\pi t^2 / 2) dt` and"
    r" :math:`C(x) = \int_0^x \cos(\pi t^2 / 2) dt`.",
    "1. -> 0.43826 0.77989",
    REAL,
    returns=PAIR,
    raises="NotImplementedError: x is complex.",
)
def fresnel(x: ArrayLike) -> Any:
    check_arraylike("fresnel", x)
    (x,) = promote_args_inexact("fresnel", x)
    if dtypes.is_complex(dtype_of(x)):
        raise NotImplementedError(
            errors.message(
                "Support for complex-valued inputs is not implemented yet.",
                which=f"fresnel of {dtype_of(x)}",
                tries=["jnp.real(x)"],
            )
        )
    return in_float32(_fresnel, elementwise=False)(strip_weak_type(x))
