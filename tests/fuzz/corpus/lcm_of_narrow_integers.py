import LIB as jax
import numpy as np

jnp, lax, nn = jax.numpy, jax.lax, jax.nn


def array(numbers, dtype, shape):
    with np.errstate(all="ignore"):
        numbers = np.array(numbers, jnp.dtype(dtype)).reshape(shape)
    return jnp.asarray(numbers)


def program(x, y):
    z = jnp.lcm(x, y) + 0
    return (z,)


def run():
    f = program
    f = jax.jit(f)
    return f(
        array([22, -22, 127, -120, 0], "int8", (5,)),
        array([7, 7, 126, 3, 4], "int8", (5,)),
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
    ("int8", False, (5,), [-102, -102, -126, 120, 0]),
]
