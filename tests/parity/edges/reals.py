"""Functions of one real operand at edge values."""

from edge_values import Edges

import minijax.numpy as jnp
from minijax import lax, nn

programs = Edges()

# Exact: no rounding, so no difference in the last place.
programs.table(
    """
    lax.neg lax.abs lax.sign lax.floor lax.ceil
    numpy.positive numpy.fabs numpy.sign numpy.floor numpy.trunc numpy.rint numpy.conj
    numpy.real numpy.imag
    nn.relu nn.relu6 nn.hard_tanh nn.identity
    """,
    ulps=0,
    round_half_away=lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    round_half_even=lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    modf_fraction=lambda x: jnp.modf(x)[0],
    modf_whole=lambda x: jnp.modf(x)[1],
    nan_to_num=jnp.nan_to_num,
    nan_to_num_given=lambda x: jnp.nan_to_num(x, nan=7, posinf=8, neginf=-8),
    reduce_precision=lambda x: lax.reduce_precision(x, 5, 3),
)
programs.table(
    """
    lax.is_finite numpy.isfinite numpy.isinf numpy.isnan numpy.isneginf
    numpy.isposinf numpy.iscomplex numpy.isreal numpy.logical_not
    """,
    order=0,
    to_int32=lambda x: jnp.asarray(x).astype("int32"),
    to_uint8=lambda x: jnp.asarray(x).astype("uint8"),
    to_int8=lambda x: jnp.asarray(x).astype("int8"),
    to_bool=lambda x: jnp.asarray(x).astype(bool),
)
programs.table(
    """
    lax.exp lax.exp2 lax.expm1 lax.log lax.log1p lax.logistic lax.sqrt lax.rsqrt
    lax.cbrt lax.square lax.reciprocal lax.sin lax.cos lax.tan lax.asin lax.acos lax.atan
    lax.sinh lax.cosh lax.tanh lax.asinh lax.acosh lax.atanh
    lax.erf lax.erfc lax.erf_inv lax.lgamma lax.digamma lax.bessel_i0e
    numpy.exp2 numpy.log2 numpy.log10 numpy.reciprocal numpy.arccosh
    numpy.i0 numpy.deg2rad numpy.rad2deg numpy.angle
    nn.leaky_relu nn.elu nn.selu nn.celu nn.sigmoid nn.silu nn.softplus nn.log_sigmoid
    nn.mish nn.squareplus nn.soft_sign nn.log1mexp nn.hard_sigmoid nn.hard_silu
    nn.sparse_plus nn.sparse_sigmoid
    """,
    gelu_tanh=nn.gelu,
    gelu_erf=lambda x: nn.gelu(x, approximate=False),
    elu_slope=lambda x: nn.elu(x, 0.5),
    celu_slope=lambda x: nn.celu(x, 0.5),
    round_tenths=lambda x: jnp.round(x, 1),
    round_tens=lambda x: jnp.round(x, -1),
    **{f"integer_pow_{n}": lambda x, n=n: lax.integer_pow(x, n) for n in (-3, -2, 0, 1, 2, 3)},
    **{f"power_{n}": lambda x, n=n: jnp.power(x, n) for n in (-1, 0, 1, 3, 0.5, -0.5, 2.5)},
)
# By their bits, so that subnormal numbers are themselves.
programs.table("numpy.spacing", ulps=0, subnormals=True, order=0)
programs.table("numpy.signbit", subnormals=True, order=0)
programs.table(subnormals=True, frexp_fraction=lambda x: jnp.frexp(x)[0])
programs.table(subnormals=True, order=0, frexp_exponent=lambda x: jnp.frexp(x)[1])
# Their derivatives are differences of large terms near 0.
programs.table("numpy.sinc", ulps=2**18)
programs.table("lax.bessel_i1e", ulps=2**10)
