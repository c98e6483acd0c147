"""How many bytes `vjp` keeps: no more than JAX 0.10.2 keeps of the same call.

`make residuals` compares every public function.  Here are a dozen, in arrays of the size of
an operand.  Nothing is compiled.
"""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax, nn
from minijax.scipy import special, stats

N = 8


def kept_bytes(f, *args):
    """The bytes of the distinct arrays in the function that `vjp` returns, if traced."""
    closed = mj.make_jaxpr(lambda *xs: mj.tree.leaves(mj.vjp(f, *xs)[1]))(*args)
    residuals = {id(v): v.aval for v in closed.jaxpr.outvars if not hasattr(v, "val")}
    return sum(a.size * a.dtype.itemsize for a in residuals.values())


def in_scan(f):
    step = lambda c, xs: (c, f(*xs))
    return lambda *xs: lax.scan(step, 0, xs)[1]


CALLS = {
    # name: function, operands; arrays kept in JAX of float32, of bfloat16; arrays kept here
    "tanh": (jnp.tanh, 1, 2, 2, 1),
    "gelu": (nn.gelu, 1, 5, 5, 4),
    "silu": (nn.silu, 1, 3, 3, 3),
    "softmax": (nn.softmax, 1, 1.25, 1.25, 1),
    "norm.pdf": (stats.norm.pdf, 1, 2, 2, 2),
    "cauchy.ppf": (stats.cauchy.ppf, 1, 1, 1, 1),
    "uniform.pdf": (stats.uniform.pdf, 1, 0, 0, 0),
    "gamma.logpdf": (stats.gamma.logpdf, 2, 4.92, 5.17, 3),
    "beta.logpdf": (lambda x, a: stats.beta.logpdf(x, a, a + 1), 2, 46.6, 47.6, 4.5),
    "t.logpdf": (stats.t.logpdf, 2, 10, 10, 2),
    "betaln": (special.betaln, 2, 39.5, 40, 2),
    "gamma.logcdf": (stats.gamma.logcdf, 2, 3.58, 3.83, 2.5),
    "qr": (jnp.linalg.qr, 1, 5.25, None, 4.25),
    "eigh": (jnp.linalg.eigh, 1, 3.08, None, 1.13),
    "svdvals": (jnp.linalg.svdvals, 1, 2.08, None, 2),
    "diagonal": (jnp.diagonal, 1, 0.42, 0.51, 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_backward_passes_keep_no_more_than_in_jax(name):
    f, count, single, half, where = CALLS[name]
    for dtype, jax_bytes in (np.float32, single), (jnp.bfloat16, half):
        if jax_bytes is None:
            continue
        bound = min(where, jax_bytes)
        x = mj.ShapeDtypeStruct((N, N), dtype)
        size = N * N * np.dtype(dtype).itemsize
        for how in f, mj.jit(f):
            assert kept_bytes(how, *[x] * count) <= bound * size, (how, dtype)
        rows = mj.ShapeDtypeStruct((3, N, N), dtype)
        assert kept_bytes(in_scan(f), *[rows] * count) <= 3 * bound * size, dtype
