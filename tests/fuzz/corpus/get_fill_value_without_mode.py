import LIB as jax
import numpy as np

jnp, lax, nn = jax.numpy, jax.lax, jax.nn


def array(numbers, dtype, shape):
    with np.errstate(all="ignore"):
        numbers = np.array(numbers, jnp.dtype(dtype)).reshape(shape)
    return jnp.asarray(numbers)


def program(x, i):
    far = x.at[9].get(fill_value=7)
    near = x.at[i].get(mode=None, fill_value=7)
    return far, near


def run():
    f = program
    f = jax.jit(f)
    return f(
        array([1, 2], "int16", (2,)),
        array([0, 5, -1], "int32", (3,)),
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
    ("int16", False, (), [2]),
    ("int16", False, (3,), [1, 2, 2]),
]
