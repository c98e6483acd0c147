import LIB as jax
import numpy as np
from numpy import inf, nan

jnp, lax, nn = jax.numpy, jax.lax, jax.nn


def array(numbers, dtype, shape):
    with np.errstate(all="ignore"):
        numbers = np.array(numbers, jnp.dtype(dtype)).reshape(shape)
    return jnp.asarray(numbers)


def program(x, m):
    results = [nn.softmax(x, where=m), nn.log_softmax(x, where=m)]
    return (results,)


def run():
    f = program
    f = jax.jit(f)
    return f(
        array([1, 2, 3], "int32", (3,)),
        array([True, False, True], "bool", (3,)),
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
    ("float64", False, (3,), [0.11920292202211755, 0.0, 0.8807970779778823]),
    ("float64", False, (3,), [-2.1269280110429727, -inf, -0.1269280110429726]),
]
