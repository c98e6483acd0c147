import LIB as jax
import numpy as np
from numpy import inf, nan

jnp, lax, nn = jax.numpy, jax.lax, jax.nn


def array(numbers, dtype, shape):
    with np.errstate(all="ignore"):
        numbers = np.array(numbers, jnp.dtype(dtype)).reshape(shape)
    return jnp.asarray(numbers)


def program(x):
    results = [jnp.tri(2), jnp.fft.rfftfreq(3, dtype="int16"), jnp.ix_(x[:0])[0]]
    more = [
        jnp.histogram2d(x, x, 2, weights=x)[0],
        jnp.histogramdd(x[:, None], 2, weights=x > 1)[0],
    ]
    return (results, more)


def run():
    f = program
    f = jax.jit(f)
    return f(
        array([1, 2], "int64", (2,)),
    )


if __name__ == "__main__":
    with jax.enable_x64(True):
        for leaf in jax.tree.leaves(run()):
            weak = "~" if getattr(leaf, "weak_type", False) else ""
            print(f"{weak}{leaf.dtype}{list(leaf.shape)}", np.asarray(leaf).tolist())

# Recorded from JAX 0.10.2.
X64 = True
SETTING = ""
EXPECTED = [
    ("float32", False, (2, 2), [1.0, 0.0, 1.0, 1.0]),
    ("float32", False, (2,), [0.0, 0.3333333432674408]),
    ("int64", False, (0,), []),
    ("float64", False, (2, 2), [1.0, 0.0, 0.0, 2.0]),
    ("float64", False, (2,), [0.0, 1.0]),
]
