import LIB as jax
import numpy as np

jnp, lax, nn = jax.numpy, jax.lax, jax.nn


def array(numbers, dtype, shape):
    with np.errstate(all="ignore"):
        numbers = np.array(numbers, jnp.dtype(dtype)).reshape(shape)
    return jnp.asarray(numbers)


def program(x):
    results = [
        lax.reshape(x, 3),
        lax.full_like(x, 1, shape=2),
        lax.dynamic_slice(x, (1,), 2),
    ]
    more = [lax.empty(3, "float32").shape[0], lax.broadcasted_iota("uint8", 3, 0)]
    return (results, more)


def run():
    f = program
    f = jax.jit(f)
    return f(
        array([1, 2, 3], "int32", (3,)),
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
    ("int32", False, (3,), [1, 2, 3]),
    ("int32", False, (2,), [1, 1]),
    ("int32", False, (2,), [2, 3]),
    ("int32", True, (), [3]),
    ("uint8", False, (3,), [0, 1, 2]),
]
