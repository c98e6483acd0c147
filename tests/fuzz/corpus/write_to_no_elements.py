import LIB as jax
import numpy as np

jnp, lax, nn = jax.numpy, jax.lax, jax.nn


def array(numbers, dtype, shape):
    with np.errstate(all="ignore"):
        numbers = np.array(numbers, jnp.dtype(dtype)).reshape(shape)
    return jnp.asarray(numbers)


def program(x, y):
    results = [x.at[5:].add(y), x.at[1:1, None].multiply(y), x.at[3:].min(y)]
    return (results,)


def run():
    f = program
    f = jax.jit(f)
    return f(
        array([1, 2, 3], "int32", (3,)),
        array([0.5], "float32", ()),
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
    ("int32", False, (3,), [1, 2, 3]),
    ("int32", False, (3,), [1, 2, 3]),
]
