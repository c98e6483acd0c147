import LIB as jax
import numpy as np
from numpy import inf, nan

jnp, lax, nn = jax.numpy, jax.lax, jax.nn


def program(x):
    results = [jnp.diagonal(x), jnp.diagonal(x, 1), jnp.diag(x, -1), jnp.diag(x)]
    more = [
        jnp.insert(x, 0, jnp.float32(1)),
        jnp.insert(x, 0, np.int32(2)),
        jnp.trace(x, 1),
    ]
    return (results, more)


def run():
    f = program
    f = jax.jit(f)
    return f(
        jnp.broadcast_to(1.5, (2, 2)),
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
    ("float32", False, (2,), [1.5, 1.5]),
    ("float32", True, (1,), [1.5]),
    ("float32", True, (1,), [1.5]),
    ("float32", False, (2,), [1.5, 1.5]),
    ("float32", True, (5,), [1.0, 1.5, 1.5, 1.5, 1.5]),
    ("float32", True, (5,), [2.0, 1.5, 1.5, 1.5, 1.5]),
    ("float32", False, (), [1.5]),
]
