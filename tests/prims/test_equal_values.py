"""Second derivatives of functions of eigenvalues and singular values that are equal.

The sources of truth are the same functions written without decompositions.
"""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.numpy import linalg

RNG = np.random.default_rng(5)
EYE = np.eye(2)


@pytest.fixture(autouse=True)
def in_float64():
    with mj.enable_x64(True):
        yield


def orthogonal(n):
    return np.linalg.qr(RNG.normal(size=(n, n)))[0]


def singular_values(a):
    return linalg.svd(a, compute_uv=False)


def hessian(f):
    return mj.jit(mj.hessian(f))


def close(got, expected, tolerance=1e-12):
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def log_of_eigenvalues(a):
    return jnp.log(linalg.eigvalsh(a)).sum()


def log_of_determinant(a):
    return linalg.slogdet((a + a.T) / 2)[1]


def test_sums_of_eigenvalues():
    assert not np.any(hessian(lambda a: linalg.eigvalsh(a).sum())(EYE))
    q = orthogonal(4)
    a = q @ np.diag([1.0, 1.0, 3.0, 3.0]) @ q.T
    expected = hessian(log_of_determinant)(a)
    close(mj.jit(mj.jacfwd(mj.jacfwd(log_of_eigenvalues)))(a), expected)
    both = np.stack([a, np.diag([1.0, 2.0, 3.0, 5.0])])
    got = mj.jit(mj.vmap(mj.hessian(log_of_eigenvalues)))(both)
    close(got[0], expected)
    close(got[1], hessian(log_of_determinant)(both[1]))


def test_eigenvalues_that_stay_equal():
    f = lambda t: jnp.log(linalg.eigvalsh(t * np.eye(3)))
    close(hessian(f)(2.0), [-0.25] * 3)
    close(mj.jit(mj.grad(mj.grad(lambda t: f(t).sum())))(2.0), -0.75)
    h = np.array([[2, 1j], [-1j, 2]])  # with eigenvalues 1 and 3
    double = np.kron(np.eye(2), h)
    f = lambda t: (linalg.eigvalsh(t * double) ** 3).sum()
    close(mj.jit(mj.grad(mj.grad(f)))(1.0), 6 * 2 * 28)


def test_sums_of_singular_values():
    squares = lambda a: (singular_values(a) ** 2).sum()
    close(hessian(squares)(EYE).reshape(4, 4), 2 * np.eye(4))
    # The nuclear norm of I + t A: its second derivative follows from the polar factor.
    half = [[0, 0, 0, 0], [0, 0.5, -0.5, 0], [0, -0.5, 0.5, 0], [0, 0, 0, 0]]
    nuclear = lambda a: linalg.norm(a, "nuc")
    close(hessian(nuclear)(EYE).reshape(4, 4), half)
    f = lambda a: jnp.log1p(singular_values(a) ** 2).sum()
    g = lambda a: linalg.slogdet(jnp.eye(len(a)) + a @ a.T)[1]
    for shape in ((3, 3), (3, 2)):
        s = np.zeros(shape)
        np.fill_diagonal(s, [2.0, 2.0, 1.0])
        a = orthogonal(shape[0]) @ s @ orthogonal(shape[1])
        close(hessian(f)(a), hessian(g)(a))


def test_unknown_second_derivatives_are_nan():
    # Reverse over reverse mode does not know the rotation of the eigenvectors.
    assert np.isnan(mj.jit(mj.jacrev(mj.jacrev(log_of_eigenvalues)))(EYE)).any()
    # So are derivatives of vectors of equal eigenvalues, and third derivatives.
    assert np.isnan(mj.jit(mj.grad(lambda a: linalg.eigh(a)[1].sum()))(EYE)).any()
    direction = np.array([[0.0, 1.0], [1.0, 0.0]])
    f = lambda t: log_of_eigenvalues(EYE + t * direction)
    slope = lambda f: lambda t: mj.jvp(f, (t,), (1.0,))[1]
    third = mj.jit(slope(slope(slope(f))))
    assert np.isnan(third(0.0))
    t = 0.5  # ln(1 - t^2)
    close(third(t), -2 * (1 / (1 - t) ** 3 - 1 / (1 + t) ** 3))
