import LIB as jax
import numpy as np
from numpy import inf, nan

jnp, lax, nn = jax.numpy, jax.lax, jax.nn


def array(numbers, dtype, shape):
    with np.errstate(all="ignore"):
        numbers = np.array(numbers, jnp.dtype(dtype)).reshape(shape)
    return jnp.asarray(numbers)


def program(x):
    results = [jnp.percentile(x, np.int8(50)), jnp.nanpercentile(x, np.float16(25))]
    return (results,)


def run():
    f = program
    f = jax.jit(f)
    return f(
        array([1, 2, 4], "float32", (3,)),
    )


if __name__ == "__main__":
    with jax.enable_x64(False):
        for leaf in jax.tree.leaves(run()):
            weak = "~" if getattr(leaf, "weak_type", False) else ""
            print(f"{weak}{leaf.dtype}{list(leaf.shape)}", np.asarray(leaf).tolist())

# Recorded from JAX 0.10.2.
X64 = False
SETTING = ""
EXPECTED = [
    ("float32", False, (), [2.0]),
    ("float32", False, (), [1.5]),
]
