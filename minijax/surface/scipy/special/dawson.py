"""Dawson's integral.

For |x| up to 4 it is x / (1 + 2x^2) times a smooth function of x^2; beyond, it is a smooth
function of 1/x^2.  Both are Chebyshev expansions with coefficients computed in 60-digit
arithmetic.

Next: faddeeva.py.
"""

from __future__ import annotations

from typing import Any

from ._common import *

__all__ = ("dawsn",)

# fmt: off
NEAR = (  # of (1 + 2x^2) F(x) / x in T_k(x^2/8 - 1), for 0 <= x <= 4
    1.2215566154122175, -0.19311370909892758, 0.005613167523399255, 0.09204238924234086,
    -0.1135277640909928, 0.09283522844971202, -0.06062684523914171, 0.03362533654836694,
    -0.016329071454782434, 0.007074196550023491, -0.0027700062511038896,
    0.000990042318928686, -0.00032553937865150345, 9.91148754132396e-05,
    -2.8095249573971242e-05, 7.449505657692067e-06, -1.8552543593143633e-06,
    4.3554326887680244e-07, -9.669588754952067e-08, 2.0360363143597835e-08,
    -4.076551230474983e-09, 7.779540258334651e-10, -1.4180821462797103e-10,
    2.4739379704590536e-11, -4.1380926722872585e-12, 6.647499562823719e-13,
    -1.0271442525157888e-13, 1.528760385893787e-14, -2.1946167770231335e-15,
    3.042472674780985e-16, -4.077984939705435e-17,
)
BEYOND = (  # of 2x^2 (2x F(x) - 1) in T_k(32/x^2 - 1), for x >= 4
    1.0537494584130571, 0.056322699513986406, 0.002768267418094031,
    0.00021728513571904625, 2.5789253373963178e-05, 4.148406079888685e-06,
    6.828252129020782e-07, 4.381192714504293e-08, -3.649437873000847e-08,
    -1.9497381346742994e-08, -3.814038977022695e-09, 7.724384737161464e-10,
    6.665107759687502e-10, 8.670189369264467e-11, -6.345500544667076e-11,
    -2.4396511453621014e-11, 4.4565455906317736e-12, 4.139699756143096e-12,
    -1.6324680444448024e-13, -6.494141670073426e-13, -1.984056048907625e-14,
    1.0471812451481133e-13, 5.915336381415251e-15, -1.794919705833144e-14,
    -7.352029221166102e-16, 3.2571986783225547e-15, -4.592092163768261e-17,
    -6.084478225476067e-16, 6.446308850633715e-17, 1.118279125814037e-16,
    -2.6788294428046035e-17, -1.8855256573027673e-17,
)
# fmt: on


def _near_and_far(x: Any) -> tuple[Any, Any, Any]:
    """Return whether x is small, F(x) for small x, and 2x F(x) - 1 for large x."""
    x = lax.abs(x)
    border = const(x, 4)
    near = lax.lt(x, border)
    first = choose(near, x, border)
    low = lax.square(first)
    small = chebyshev(low / 8 - 1, NEAR) * first / (1 + 2 * low)
    inverse = 1 / lax.square(choose(near, border, x))
    return near, small, chebyshev(32 * inverse - 1, BEYOND) * inverse / 2


@custom_jvp
@staged
def _dawson(x: Any) -> Any:
    near, small, rest = _near_and_far(x)
    large = (1 + rest) / (2 * lax.max(lax.abs(x), const(x, 4)))
    return lax.sign(x) * choose(near, small, large)


# The derivative 1 - 2x F(x), without cancellation for large x.
_dawson.defjvps(
    lambda t, ans, x: (
        t * choose(lax.lt(lax.abs(x), const(x, 4)), 1 - 2 * x * ans, -_near_and_far(x)[2])
    )
)


@special(
    r"Compute Dawson's integral, :math:`F(x) = e^{-x^2} \int_0^x e^{t^2} dt`.",
    "1. -> 0.53808",
    "x: real array or number; integers become floats.",
    raises="ValueError: x is complex.",
    source="NIST Digital Library of Mathematical Functions, 7.2.5.",
)
def dawsn(x: ArrayLike) -> Any:
    (x,) = promote_real("dawsn", x)
    return in_float32(_dawson)(strip_weak_type(x))
