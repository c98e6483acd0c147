"""Linear algebra: values against NumPy, identities, derivatives, vmap, errors."""

import numpy as np
import pytest
from against_numpy import check, close
from laws import obeys

import minijax as mj
import minijax.numpy as jnp
from minijax.numpy import linalg

RNG = np.random.default_rng(0)


def matrix(*shape, seed=0, dtype=np.float32):
    x = np.random.default_rng(seed).normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * np.random.default_rng(seed + 1).normal(size=shape)
    return x.astype(dtype)


def hermitian(*shape, **kw):
    x = matrix(*shape, **kw)
    n = shape[-1]
    return x @ x.conj().swapaxes(-1, -2) + n * np.eye(n, dtype=x.dtype)


SQUARES = [matrix(3, 3), matrix(2, 4, 4), matrix(3, 3, dtype=np.complex64), matrix(1, 1)]
ids = [f"{x.dtype}{x.shape}" for x in SQUARES]


def same(name, *args, tol=2e-4, **kw):
    return check(name, *args, home=linalg, ref=getattr(np.linalg, name), tol=tol, **kw)


@pytest.mark.parametrize("a", SQUARES, ids=ids)
@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "pinv", "cond", "matrix_rank"])
def test_functions_of_square_matrices(name, a):
    same(name, a)


@pytest.mark.parametrize("a", SQUARES, ids=ids)
def test_solve(a):
    n = a.shape[-1]
    same("solve", a, matrix(*a.shape[:-2], n, 2, seed=5).astype(a.dtype))
    close(
        linalg.solve(a, matrix(n, seed=6)),
        np.linalg.solve(a, matrix(n, 1, seed=6))[..., 0],
        2e-4,
    )
    close(
        linalg.solve(matrix(n, n), matrix(5, n, 1)),
        np.linalg.solve(matrix(n, n), matrix(5, n, 1)),
        1e-3,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3), (2, 3, 2)])
def test_decompositions_recompose(shape, dtype):
    a = matrix(*shape, dtype=dtype)
    u, s, vh = linalg.svd(a, full_matrices=False)
    close((u * s[..., None, :]) @ vh, a, 1e-4)
    full = linalg.svd(a)
    assert full.U.shape[-1] == shape[-2] and full.Vh.shape[-1] == shape[-1]
    close(linalg.svdvals(a), np.linalg.svd(a, compute_uv=False), 1e-4)
    q, r = linalg.qr(a)
    close(q @ r, a, 1e-4)
    close(np.triu(r), r)
    close(
        linalg.qr(a, mode="complete").Q.shape,
        (*shape[:-2], shape[-2], shape[-2])[-2:]
        if len(shape) == 2
        else (*shape[:-1], shape[-2]),
    )
    close(abs(np.asarray(linalg.qr(a, mode="r"))), abs(np.asarray(r)), 1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_hermitian(dtype):
    a = hermitian(2, 3, 3, dtype=dtype)
    low = linalg.cholesky(a)
    close(low, np.linalg.cholesky(a), 1e-4)
    close(linalg.cholesky(a, upper=True), np.asarray(low).conj().swapaxes(-1, -2), 1e-4)
    for uplo in ("L", "U"):
        w, v = linalg.eigh(a, UPLO=uplo)
        close((v * w[..., None, :]) @ np.asarray(v).conj().swapaxes(-1, -2), a, 1e-3)
        close(linalg.eigvalsh(a, uplo), w, 1e-4)
    u, s, vh = linalg.svd(a, hermitian=True)
    close((u * s[..., None, :]) @ vh, a, 1e-3)
    close(linalg.pinv(a, hermitian=True), np.linalg.pinv(a), 1e-3)


def test_eig():
    a = matrix(2, 3, 3)
    w, v = linalg.eig(a)
    close(a @ np.asarray(v), np.asarray(v) * np.asarray(w)[:, None, :], 1e-4)
    close(np.sort_complex(linalg.eigvals(a)), np.sort_complex(np.linalg.eigvals(a)), 1e-4)


VECTOR_ORDERS = [None, 0, 1, 2, 3, -1, -2, np.inf, -np.inf, 0.5]
MATRIX_ORDERS = [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


@pytest.mark.parametrize("ord", VECTOR_ORDERS)
def test_vector_norms(ord):
    for x in (matrix(4), matrix(4, dtype=np.complex64)):
        same("norm", x, ord=ord)
    same("norm", matrix(2, 3, 4), ord=ord, axis=1, keepdims=True)
    if ord is not None:
        expected = np.linalg.norm(matrix(2, 3, 4).ravel(), ord)
        close(linalg.vector_norm(matrix(2, 3, 4), ord=ord), expected, 1e-4)


@pytest.mark.parametrize("ord", MATRIX_ORDERS)
def test_matrix_norms(ord):
    same("norm", matrix(3, 4), ord=ord)
    same("norm", matrix(2, 3, 4), ord=ord, axis=(2, 0), keepdims=True)
    if ord is not None:
        close(
            linalg.matrix_norm(matrix(2, 3, 4), ord=ord),
            np.linalg.norm(matrix(2, 3, 4), ord, (-2, -1)),
            1e-4,
        )
        if ord != "nuc":
            same("cond", matrix(3, 3), p=ord)
    same("norm", matrix(2, 3, 4))


def test_products_and_powers():
    a = matrix(3, 3)
    for n in (0, 1, 2, 5, -2):
        same("matrix_power", a, n, tol=2e-3)
    assert linalg.matrix_power(np.eye(2, dtype=int), 3).dtype == jnp.int32
    chain = [matrix(2, 3), matrix(3, 4), matrix(4, 5), matrix(5)]
    close(linalg.multi_dot(chain), np.linalg.multi_dot(chain), 1e-4)
    t = np.eye(6, dtype=np.float32).reshape(2, 3, 6) + 0.1
    close(linalg.tensorinv(t), np.linalg.tensorinv(t), 1e-3)
    close(
        linalg.tensorsolve(t, np.ones((2, 3))), np.linalg.tensorsolve(t, np.ones((2, 3))), 1e-3
    )
    u, v = matrix(3), matrix(3, seed=1)
    close(linalg.cross(u, v), np.cross(u, v))
    close(linalg.outer(u, v), np.outer(u, v))
    close(linalg.vecdot(u, v), u @ v)
    close(linalg.matmul(a, u), a @ u)
    close(linalg.tensordot(a, a, axes=1), a @ a)
    close(linalg.trace(matrix(2, 3, 3)), np.trace(matrix(2, 3, 3), axis1=1, axis2=2))
    close(linalg.diagonal(matrix(2, 3, 3), offset=1), np.diagonal(matrix(2, 3, 3), 1, 1, 2))
    close(linalg.matrix_transpose(a), a.T)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_lstsq(shape):
    a = matrix(*shape)
    for b in (matrix(shape[0], seed=3), matrix(shape[0], 2, seed=4)):
        x, residuals, rank, s = linalg.lstsq(a, b, numpy_resid=True)
        expected = np.linalg.lstsq(a, b, rcond=None)
        close(x, expected[0], 2e-3)
        close(residuals, expected[1], 2e-3)
        assert int(rank) == expected[2]
        close(s, expected[3], 1e-4)
    low = np.outer(np.arange(4.0), np.ones(3)).astype(np.float32)
    close(
        linalg.lstsq(low, np.ones(4))[0], np.linalg.lstsq(low, np.ones(4), rcond=None)[0], 1e-4
    )


def test_singular_matrices():
    a = np.outer([1.0, 2, 3, 4], np.ones(4)).astype(np.float32)
    close(linalg.det(a), 0.0)
    sign, log = linalg.slogdet(np.zeros((2, 2)))
    assert sign == 0 and log == -np.inf
    assert int(linalg.matrix_rank(a)) == 1
    b = np.diag([1.0, 2.0, 3.0, 0.0]).astype(np.float32)
    expected = np.zeros((4, 4))
    expected[3, 3] = 6.0  # the adjugate
    close(mj.grad(linalg.det)(jnp.asarray(b)), expected, 1e-4)
    close(mj.grad(linalg.det)(jnp.asarray(b[1:, 1:])), expected[1:, 1:], 1e-4)


def test_laws_of_square_matrices():
    for n in (2, 3, 4):
        a = matrix(n, n, dtype=np.float64) + n * np.eye(n)
        obeys(linalg.det, a, exact=False, lanes=n == 4)
    obeys(lambda a: linalg.slogdet(a)[1], a, exact=False)
    obeys(linalg.inv, a, exact=False, lanes=False)
    obeys(linalg.solve, a, matrix(4, 2), exact=False, lanes=False)
    lanes = mj.vmap(linalg.solve, (0, None))(np.stack([a, 2 * a]), matrix(4))
    close(lanes[1], np.linalg.solve(2 * a, matrix(4)), 1e-4)


def test_more_laws():
    a = matrix(4, 3, dtype=np.float64)
    obeys(linalg.pinv, a, exact=False, lanes=False)
    obeys(lambda a, b: linalg.lstsq(a, b)[0], a, matrix(4), exact=False, lanes=False)
    obeys(linalg.norm, a, exact=False, lanes=False)
    obeys(lambda a: linalg.norm(a, 3, axis=0), a, exact=False, lanes=False)
    obeys(lambda a: linalg.norm(a, "nuc"), a, exact=False, lanes=False)
    obeys(lambda a: linalg.slogdet(a, method="qr")[1], a[:3], exact=False, lanes=False)
    c = matrix(3, 3, dtype=np.complex128) + 3 * np.eye(3)
    obeys(linalg.solve, c, matrix(3, dtype=np.complex128), exact=False, lanes=False)


ERRORS = [
    ("inv(np.ones((2, 3)))", ValueError, "must have shape"),
    ("solve(np.ones((2, 3)), np.ones(2))", ValueError, "do not fit"),
    ("solve(np.ones((2, 3, 3)), np.ones((2, 3)))", ValueError, "Invalid shapes for solve"),
    ("norm(np.ones((2, 2, 2)), 2)", ValueError, "Improper number of axes"),
    ("norm(np.ones(2), 'fro')", ValueError, "Invalid order 'fro' for vector norm"),
    ("norm(np.ones((2, 2)), 3)", ValueError, "Invalid order '3' for matrix norm"),
    ("norm([1., 2.])", TypeError, "requires ndarray"),
    ("qr(np.ones((2, 2)), mode='zz')", ValueError, "Unsupported QR"),
    ("eigh(np.eye(2), UPLO='X')", ValueError, "UPLO"),
    ("slogdet(np.eye(2), method='zz')", ValueError, "Unknown slogdet method"),
    ("pinv(np.eye(2), 0.1, rcond=0.1)", ValueError, "only one of rtol"),
    ("matrix_power(np.eye(2), 1.5)", TypeError, "exponent must be an integer"),
    ("multi_dot([np.eye(2)])", ValueError, "at least two|two-dimensional"),
    ("tensorinv(np.eye(2), ind=0)", ValueError, "positive integer"),
    ("lstsq(np.ones(3), np.ones(3))", TypeError, "two-dimensional"),
    ("cond(np.ones(3))", ValueError, "at least 2D"),
    ("cross(np.ones(2), np.ones(2))", ValueError, "3-dimensional vectors"),
    ("outer(np.eye(2), np.ones(2))", ValueError, "one-dimensional"),
]


@pytest.mark.parametrize("text, kind, match", ERRORS)
def test_errors(text, kind, match):
    with pytest.raises(kind, match=match):
        eval("linalg." + text, {"linalg": linalg, "np": np})
