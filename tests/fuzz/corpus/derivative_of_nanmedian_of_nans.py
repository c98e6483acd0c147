import LIB as jax
import numpy as np
from numpy import inf, nan

jnp, lax, nn = jax.numpy, jax.lax, jax.nn


def array(numbers, dtype, shape):
    with np.errstate(all="ignore"):
        numbers = np.array(numbers, jnp.dtype(dtype)).reshape(shape)
    return jnp.asarray(numbers)


def inexact(tree):
    """The leaves that have derivatives."""
    leaves = [jnp.asarray(x) for x in kept(tree)]
    return [x for x in leaves if jnp.issubdtype(x.dtype, jnp.inexact)]


def kept(tree):
    """The leaves, but for cotangents of integers."""
    return [x for x in jax.tree.leaves(tree) if jnp.result_type(x) != jax.float0]


def steps(x):
    """A tangent or cotangent of x: all elements differ."""
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return np.zeros(x.shape, jax.float0)
    return (np.arange(x.size).reshape(x.shape) % 5 * 0.5 - 0.75).astype(x.dtype)


def pushed(f):
    def jvp_f(*args):
        args = tuple(map(jnp.asarray, args))
        y, dy = jax.jvp(f, args, tuple(map(steps, args)))
        return y, kept(dy)

    return jvp_f


def program(v1):
    v11 = jnp.pad(v1, 1)
    v12 = lax.digamma(v11)
    v13 = jnp.nanmedian(v12, axis=None)
    return (v13,)


def run():
    f = program
    f = pushed(f)
    return f(
        array([], "float32", (0,)),
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
    ("float32", False, (), [nan]),
    ("float32", False, (), [0.0]),
]
