"""Sparse linear systems against SciPy's, eigenvalues against LAPACK's."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental.sparse import linalg

sys.path.insert(0, str(Path(__file__).parents[2]))
from laws import obeys


def system(n, density, seed=0):
    a = scipy.sparse.random(n, n, density, "csr", random_state=seed)
    far = scipy.sparse.eye(n, k=3 if n > 3 else 0)
    return scipy.sparse.csr_matrix(a + far + scipy.sparse.eye(n) * 0.05)


@pytest.mark.parametrize("reorder", [0, 1, 2, 3])
def test_systems_are_solved_in_every_order(reorder):
    for n, density in ((1, 1.0), (40, 0.05), (150, 0.01)):
        a = system(n, density)
        b = np.random.default_rng(1).normal(size=n)
        with mj.enable_x64(True):
            x = linalg.spsolve(a.data, a.indices, a.indptr, b, reorder=reorder)
        np.testing.assert_allclose(a @ x, b, atol=1e-10)


def test_transformations():
    a = system(6, 0.3)

    def fun(data, b):
        return linalg.spsolve(data, jnp.asarray(a.indices), jnp.asarray(a.indptr), b)

    data, b = a.data + 0.5, np.arange(1.0, 7)
    obeys(fun, data, b, exact=False, lanes=False)
    with mj.enable_x64(True):
        lanes = mj.jit(mj.vmap(fun, (0, None)))(np.stack([data, 2 * data]), b)
        np.testing.assert_allclose(lanes[0], 2 * lanes[1])
        np.testing.assert_allclose(lanes[0], fun(data, b))


def test_padding_and_duplicates():
    data, indices = jnp.array([1.0, 1, 4, 9]), jnp.array([0, 0, 1, 0])
    solve = lambda data, b: linalg.spsolve(data, indices, jnp.array([0, 2, 3]), b)
    assert solve(data, jnp.array([2.0, 8])).tolist() == [1, 2]
    slope = mj.grad(lambda data: solve(data, jnp.array([2.0, 8])).sum())(data)
    np.testing.assert_allclose(slope, [-0.5, -0.5, -0.5, 0])


def test_singular_systems_and_errors():
    one = jnp.ones(2)
    at, starts = jnp.array([0, 0]), jnp.array([0, 1, 2])
    assert np.isnan(linalg.spsolve(one, at, starts, one)).all()
    near = jnp.array([1.0, 1e-30])
    diagonal = jnp.array([0, 1])
    assert np.isfinite(linalg.spsolve(near, diagonal, starts, one, tol=1e-16)).all()
    assert np.isnan(linalg.spsolve(near, diagonal, starts, one, tol=1e-3)).all()
    for kind, args in (
        ("Invalid CSR buffer sizes", (one, at, starts, jnp.ones(3))),
        ("must be integer typed", (one, one, starts, one)),
        ("data types do not match", (one.astype(jnp.bfloat16), at, starts, one)),
        ("must be one-dimensional", (one, at, starts, jnp.ones((2, 2)))),
    ):
        with pytest.raises(ValueError, match=kind):
            linalg.spsolve(*args)
    with pytest.raises(ValueError, match="reorder=7 not valid"):
        linalg.spsolve(one, at, starts, one, reorder=7)


def test_largest_eigenvalues():
    rng = np.random.default_rng(0)
    n, k = 40, 3
    q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    a = (q * np.arange(-20.0, 20)) @ q.T
    with mj.enable_x64(True):
        x = jnp.asarray(rng.normal(size=(n, k)))
        theta, u, steps = linalg.lobpcg_standard(a, x, tol=1e-12)
        np.testing.assert_allclose(theta, [19, 18, 17], rtol=1e-9)
        np.testing.assert_allclose(u.T @ u, np.eye(k), atol=1e-12)
        np.testing.assert_allclose(a @ u, u * theta, atol=1e-7)
        repeated = linalg.lobpcg_standard(lambda v: jnp.asarray(a) @ v, x, tol=1e-12)
        np.testing.assert_allclose(repeated[0], theta, rtol=1e-9)
        assert 5 < int(steps) < 60
        assert int(linalg.lobpcg_standard(a, x, m=2)[2]) == 2
        # Linearly dependent initial vectors, and a matrix without positive eigenvalues.
        flat = linalg.lobpcg_standard(a - 30 * np.eye(n), jnp.zeros((n, k)), tol=1e-12)
        np.testing.assert_allclose(flat[0], [-11, -12, -13], rtol=1e-9)


def test_invalid_eigenvalue_problems():
    x = jnp.ones((40, 8))
    with pytest.raises(ValueError, match=r"search dim \* 5 < matrix dim \(got 40, 40\)"):
        linalg.lobpcg_standard(jnp.eye(40), x)
    with pytest.raises(ValueError, match=r"A must be \(40, 40\) matrix A"):
        linalg.lobpcg_standard(jnp.eye(30), x)
    with pytest.raises(ValueError, match="must have same dtypes"):
        linalg.lobpcg_standard(jnp.eye(40), x.astype(int))
