"""Functions of two real operands at all pairs of edge values."""

from edge_values import Edges

import minijax.numpy as jnp

programs = Edges()
FLOATS = "float32 bfloat16"

programs.table(
    """
    lax.max lax.min lax.nextafter
    numpy.maximum numpy.minimum numpy.fmax numpy.fmin numpy.copysign numpy.nextafter
    numpy.heaviside
    """,
    dtypes=FLOATS,
    operands=2,
    ulps=0,
    clip_low=lambda x, low: jnp.clip(x, low, 1),
    clip_high=lambda x, high: jnp.clip(x, -1, high),
    clip_one_by_two=lambda low, high: jnp.clip(jnp.ones_like(low), low, high),
)
programs.table(
    """
    lax.add lax.sub lax.mul lax.div lax.rem lax.pow lax.atan2
    numpy.true_divide numpy.floor_divide numpy.remainder numpy.fmod
    numpy.power numpy.float_power numpy.arctan2 numpy.hypot
    numpy.logaddexp numpy.logaddexp2
    """,
    dtypes=FLOATS,
    operands=2,
    divmod_whole=lambda x, y: jnp.divmod(x, y)[0],
    divmod_rest=lambda x, y: jnp.divmod(x, y)[1],
    power_whole=lambda x, y: jnp.power(x, jnp.asarray(y).astype("int32")),
)
programs.table(
    """
    numpy.equal numpy.not_equal numpy.less numpy.less_equal numpy.greater
    numpy.greater_equal numpy.isclose numpy.logical_and numpy.logical_or
    numpy.logical_xor
    """,
    dtypes=FLOATS + " complex64",
    operands=2,
    order=0,
    isclose_nan=lambda x, y: jnp.isclose(x, y, equal_nan=True),
)
programs.table(
    """
    lax.add lax.sub lax.mul lax.div lax.pow lax.max lax.min
    numpy.true_divide numpy.power numpy.maximum numpy.minimum numpy.fmax numpy.fmin
    numpy.logaddexp numpy.logaddexp2 numpy.float_power
    """,
    dtypes="complex64",
    operands=2,
    order=1,
)
programs.table(
    """
    lax.igamma lax.igammac lax.polygamma lax.zeta
    """,
    dtypes="float32",
    operands=2,
    order=1,
    ulps=32,
)
