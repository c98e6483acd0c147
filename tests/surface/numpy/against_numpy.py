"""Comparison of a function of minijax.numpy with NumPy's of the same name.

`check` compares values, eager and under jit, and that both have one type.
"""

import numpy as np

import minijax as mj
import minijax.numpy as jnp

TOLERANCE = {"float16": 5e-3, "bfloat16": 4e-2}


def close(got, expected, tol=2e-5):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, (got.shape, expected.shape)
    tol = TOLERANCE.get(got.dtype.name, tol)
    if got.dtype.kind in "biu" and expected.dtype.kind in "biu":
        np.testing.assert_array_equal(got, expected)
    else:
        got, expected = got.astype(complex), expected.astype(complex)
        np.testing.assert_allclose(got, expected, rtol=tol, atol=tol)


def same(got, expected, tol=2e-5):
    """`close` for arrays, and for tuples and lists of them."""
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for g, w in zip(got, expected, strict=True):
            same(g, w, tol)
    else:
        close(got, expected, tol)


def check(name, *args, tol=2e-5, home=jnp, ref=None, jit=True, **kwargs):
    """Compare home.name with np.name (or `ref`); returns the eager result."""
    fun = getattr(home, name)
    expected = (ref or getattr(np, name))(*args, **kwargs)
    args = [jnp.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    array_positions = [i for i, a in enumerate(args) if hasattr(a, "aval")]

    def traced(*xs):
        full = list(args)
        for i, x in zip(array_positions, xs, strict=True):
            full[i] = x
        return fun(*full, **kwargs)

    got = fun(*args, **kwargs)
    same(got, expected, tol)
    if not jit:
        return got
    jitted = mj.jit(traced)(*(args[i] for i in array_positions))
    same(jitted, expected, tol)
    for e, j in zip(mj.tree.leaves(got), mj.tree.leaves(jitted), strict=True):
        assert (e.dtype, e.weak_type) == (j.dtype, j.weak_type)
    return got
