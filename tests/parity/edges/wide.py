"""Some functions at edge values in double precision; others at some of them."""

import numpy as np
from edge_values import Edges, edge_values

import minijax.numpy as jnp
from minijax import lax, nn

programs = Edges()

programs.table(
    """
    lax.exp lax.log1p lax.sin lax.tan lax.atanh lax.sqrt lax.cbrt lax.logistic
    lax.sign lax.erf_inv lax.digamma numpy.log2 numpy.i0 numpy.spacing
    nn.softplus nn.mish nn.gelu
    """,
    dtypes="float64",
    frexp_fraction=lambda x: jnp.frexp(x)[0],
)
programs.table("numpy.sinc", dtypes="float64", ulps=2**31)
programs.table(
    "lax.exp lax.log lax.sin lax.cos lax.sqrt lax.asin lax.sign numpy.log10",
    dtypes="complex128",
)
programs.table(
    "lax.pow lax.atan2 numpy.hypot numpy.logaddexp numpy.remainder numpy.nextafter",
    dtypes="float64",
    operands=2,
    order=1,
)


programs.table(
    dtypes="float32 bfloat16",
    **{
        f"ldexp_{n}": lambda x, n=n: jnp.ldexp(x, np.int32(n))
        for n in (-(10**6), -200, -1, 0, 150, 10**6)
    },
    **{
        f"power_int32_{n}": lambda x, n=n: jnp.power(x, jnp.full_like(x, n, "int32"))
        for n in (-3, 0, 1, 10**6)
    },
)
programs.table(
    dtypes="float32",
    args=lambda dtype: [edge_values(dtype, pairs=True)],
    clamp=lambda x: lax.clamp(np.float32(-1), x, np.float32(1)),
    clamp_nan=lambda x: lax.clamp(np.float32(0), x, np.float32(np.nan)),
    interp=lambda x: jnp.interp(x, np.float32([0, 1, 2]), np.float32([1, 3, -1])),
    select=lambda x: jnp.where(x > 0, jnp.log(x), x),
    double_where=lambda x: jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1)), 0),
    polyval=lambda x: jnp.polyval(np.float32([1, 0, -2]), x),
    softmax_pair=lambda x: nn.softmax(jnp.stack([x, -x]), axis=0)[0],
)
programs.table(
    dtypes="float32",
    ulps=32,
    args=lambda dtype: [edge_values(dtype, pairs=True)],
    betainc=lambda x: lax.betainc(np.float32(2), np.float32(0.5), x),
)
