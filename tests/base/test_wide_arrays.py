"""Arrays of 64 bits that outlive `enable_x64`: what functions make of them without it.

Constants that rules put beside them must be of their dtype, which NumPy's scalars alone
do not keep.
"""

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax

x32 = np.array([0.3, 0.5, 0.8], np.float32)


@pytest.fixture(scope="module")
def wide():
    with jax.enable_x64(True):
        return jnp.array([0.3, 0.5, 0.8])


WITH_NUMBERS = {  # their results have 32 bits, as JAX's
    "times": lambda x: x * 2,
    "numpy": lambda x: x + np.float64(1.5),
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "where": lambda x: jnp.where(x > 0.4, 1.0, x),
}
ALONE = {
    "sin": jnp.sin,
    "mean": jnp.mean,
    "var": jnp.var,
    "median": jnp.median,
    "nanstd": jnp.nanstd,
    "degrees": jnp.degrees,
    "sinc": jnp.sinc,
    "set": lambda x: x.at[0].set(1.0),
    "lax": lambda x: lax.mul(x, np.float64(2)),
}


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("name", [*WITH_NUMBERS, *ALONE])
def test_functions_of_wide_arrays(wide, name, staged, recwarn):
    f = (WITH_NUMBERS | ALONE)[name]
    out = (jax.jit(f) if staged else f)(wide)
    assert out.dtype == (np.float32 if name in WITH_NUMBERS else np.float64)
    narrow = f(jnp.asarray(x32)) if name != "lax" else x32 * 2
    np.testing.assert_allclose(out, narrow, rtol=1e-5)


@pytest.mark.parametrize("name", ["times", "relu", "sin", "mean", "nanstd", "set"])
def test_derivatives_have_the_dtype_of_their_primals(wide, name, recwarn):
    f = (WITH_NUMBERS | ALONE)[name]
    slope = jax.jit(jax.grad(lambda x: f(x).sum()))
    assert slope(wide).dtype == np.float64
    np.testing.assert_allclose(slope(wide), slope(x32), rtol=1e-5)


def test_second_derivatives_and_lanes_of_wide_arrays(wide):
    h = jax.hessian(lambda x: (x**3).sum())(wide)
    assert h.dtype == np.float64
    np.testing.assert_allclose(h, np.diag(6 * np.asarray(wide)), rtol=1e-7)
    assert jax.vmap(jax.grad(jnp.tanh))(wide).dtype == np.float64


def test_wide_positions():
    with jax.enable_x64(True):
        where = jnp.array([0, -1])
    x = jnp.asarray(x32)
    assert x[where].tolist() == jax.jit(lambda x, i: x[i])(x, where).tolist()
    assert x[where].tolist() == x32[[0, -1]].tolist()


def test_matrices_of_64_bits():
    with jax.enable_x64(True):
        m = jnp.array([[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(jnp.linalg.inv(m), np.linalg.inv(np.asarray(m)), rtol=1e-6)
    assert jnp.linalg.eigh(m).eigenvalues.dtype == np.float64


def test_numpy_scalars_do_not_request_64_bits():
    assert (jnp.asarray(x32) * np.float64(2)).dtype == np.float32
    assert lax.add(jnp.asarray(x32), np.float64(2)).dtype == np.float32
    assert jax.jit(lambda x: x)(np.float64(2)).dtype == np.float32
