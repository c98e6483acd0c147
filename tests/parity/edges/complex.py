"""Functions of one complex operand at corners of the complex plane."""

from edge_values import Edges

import minijax.numpy as jnp
from minijax import lax

programs = Edges()

programs.table(
    """
    lax.neg lax.conj lax.real lax.imag lax.sign lax.abs
    numpy.positive numpy.rint
    """,
    dtypes="complex64",
    ulps=2,
    nan_to_num=jnp.nan_to_num,
    round_tenths=lambda x: jnp.round(x, 1),
)
programs.table(
    """
    numpy.isfinite numpy.isinf numpy.isnan numpy.iscomplex numpy.isreal
    numpy.logical_not
    """,
    dtypes="complex64",
    order=0,
)
programs.table(
    """
    lax.exp lax.exp2 lax.expm1 lax.log lax.log1p lax.logistic lax.sqrt lax.rsqrt
    lax.square lax.reciprocal lax.sin lax.cos lax.tan lax.asin lax.acos lax.atan
    lax.sinh lax.cosh lax.tanh lax.asinh lax.acosh lax.atanh
    numpy.sign numpy.angle
    numpy.exp2 numpy.log2 numpy.log10 numpy.reciprocal numpy.arccosh
    numpy.sinc nn.sigmoid nn.silu nn.soft_sign
    """,
    dtypes="complex64",
    **{f"integer_pow_{n}": lambda x, n=n: lax.integer_pow(x, n) for n in (-2, 0, 1, 2, 3)},
    **{f"power_{n}": lambda x, n=n: jnp.power(x, n) for n in (-1, 3, 0.5)},
)
