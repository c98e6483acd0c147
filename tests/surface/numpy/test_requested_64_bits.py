"""`jax_explicit_x64_dtypes='allow'`: 64 bits on request, 32 by default.

Types recorded from JAX 0.10.2; values by NumPy in float64.
"""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

X = np.linspace(0.1, 0.9, 5)


@pytest.fixture(autouse=True)
def allowed():
    mj.config.update("jax_explicit_x64_dtypes", "allow")
    try:
        with mj.enable_x64(False):
            yield
    finally:
        mj.config.update("jax_explicit_x64_dtypes", "warn")


def wide():
    return jnp.asarray(X, dtype="float64")


def long():
    return jnp.asarray([2**40, 3], dtype="int64")


F32 = jnp.ones(5, "float32")
TYPES = {
    "float64": [
        wide,
        lambda: jnp.zeros(2, "float64"),
        lambda: F32.astype("float64"),
        lambda: jnp.sum(F32, dtype="float64"),
        lambda: lax.full((2,), 1, np.float64),
        lambda: wide() + 1,
        lambda: wide() + F32,
        lambda: wide() * np.float64(2),
        lambda: wide() + jnp.arange(5),
        lambda: long() / 2,
        lambda: long().mean(),
        lambda: mj.eval_shape(lambda x: x * 2.5, wide()),
        lambda: jnp.float64(1),
        lambda: mj.random.uniform(mj.random.key(0), (2,), "float64"),
    ],
    "float32": [
        lambda: jnp.asarray(X),
        lambda: jnp.asarray(X[0]),
        lambda: jnp.ones(2, float),
        lambda: F32 + X,
        lambda: F32 + X[0],
        lambda: X[0] * F32,
        lambda: mj.jit(lambda x, y: x + y)(F32, X[0]),
        lambda: mj.device_put(X),
        lambda: mj.jit(lambda x: x + X[0])(F32),
        lambda: long() + 1.0,
        lambda: jnp.where(True, F32, X[0]),
        lambda: long() + jnp.uint64(1),
        lambda: long() + F32[:2],
    ],
    "int64": [
        long,
        lambda: long() + 1,
        lambda: long() + jnp.arange(2),
        lambda: long() // 2,
        lambda: long().sum(),
        lambda: lax.iota("int64", 2),
        lambda: jnp.int64(1),
    ],
    "int32": [
        lambda: jnp.asarray(np.arange(2)),
        lambda: jnp.ones(2, int),
        lambda: jnp.arange(2) + jnp.uint32(1),
        lambda: jnp.argsort(wide()),
    ],
    "complex128": [lambda: wide() * 1j, lambda: jnp.fft.rfft(wide())],
}


@pytest.mark.parametrize("dtype", TYPES)
def test_types(dtype):
    for i, made in enumerate(TYPES[dtype]):
        assert made().dtype == dtype, i


def test_results_of_numpy_scalars_are_weak_where_dtypes_say_so():
    assert (long() + 1.0).weak_type and not (long() / 2).weak_type


VALUES = {
    "exp": (lambda x: jnp.exp(x), np.exp),
    "a derivative": (mj.vmap(mj.grad(jnp.tanh)), lambda x: 1 / np.cosh(x) ** 2),
    "a second one": (mj.hessian(lambda x: (x**3).sum()), lambda x: np.diag(6 * x)),
    "std": (lambda x: x.std(), np.std),
    "a loop": (lambda x: lax.scan(lambda c, a: (c * a, c), jnp.float64(1), x)[0], np.prod),
    "solve": (
        lambda x: jnp.linalg.inv(jnp.outer(x, x) + jnp.eye(5, dtype="float64")),
        lambda x: np.linalg.inv(np.outer(x, x) + np.eye(5)),
    ),
    "fft": (jnp.fft.fft, np.fft.fft),
    "interp": (lambda x: jnp.interp(x, x, x * x), lambda x: x * x),
    "jit": (lambda x: mj.jit(lambda x, n: x * n)(x, 2.5), lambda x: x * 2.5),
    "ints": (
        lambda x: jnp.cumsum(long() * 3 + 1),
        lambda x: np.array([3 * 2**40 + 1, 3 * 2**40 + 11]),
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    ours, numpys = VALUES[name]
    np.testing.assert_allclose(ours(wide()), numpys(X), rtol=1e-14, atol=1e-16)


def test_callbacks_return_32_bits():
    with pytest.raises(ValueError, match="cannot specify 64-bit types"):
        mj.pure_callback(lambda x: x, wide(), wide())
