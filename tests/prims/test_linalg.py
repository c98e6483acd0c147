"""Matrix factorizations: what they must satisfy, laws, dtypes, empty ones, errors."""

import functools
import re
import zlib

import numpy as np
import pytest
from laws import inner, like, obeys, same

import minijax as mj
from minijax.lax import linalg as la

RANDOM = np.random.default_rng(0)
KINDS = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(3, 3), (5, 3), (3, 5), (1, 1), (2, 4, 4), (2, 3, 4, 2), (1, 3), (3, 1)]
SQUARE = [s for s in SHAPES if s[-1] == s[-2]] + [(2, 0, 3, 3), (0, 0)]
EMPTY = [(0, 3), (3, 0), (2, 0, 4), (0, 3, 2)]


@pytest.fixture(autouse=True)
def _doubles():
    with mj.enable_x64(True):
        yield


@pytest.fixture(autouse=True)
def own_numbers(request):
    """Numbers seeded by the test's name, so that they do not depend on other tests."""
    global RANDOM
    RANDOM = np.random.default_rng(zlib.crc32(request.node.name.encode()))


def random(*shape, dtype="float64"):
    x = RANDOM.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RANDOM.normal(size=shape)
    return x.astype(dtype)


def positive(*shape, dtype="float64"):
    x = random(*shape, dtype=dtype)
    return (x @ dagger(x) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def hermitian(*shape, dtype="float64"):
    x = random(*shape, dtype=dtype)
    return x + dagger(x)


def dagger(x):
    return np.conj(np.swapaxes(x, -1, -2))


def arrays(out):
    return [np.asarray(x) for x in mj.tree.leaves(out)]


def close(got, expected, scale=1.0):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    tolerance = 200 * scale * np.finfo(got.dtype).eps
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def lawful(x, dtype):
    """Laws are checked in doubles: once for real and once for complex numbers."""
    return x.size and x.ndim < 4 and dtype in ("float64", "complex64")


def unitary(q):
    close(
        dagger(q) @ q,
        np.broadcast_to(
            np.eye(q.shape[-1], dtype=q.dtype), (*q.shape[:-2], q.shape[-1], q.shape[-1])
        ),
    )


def kinds_and(shapes):
    return [
        pytest.param(k, s, id=f"{k}{list(s)}")
        for s in shapes
        for k in KINDS
        if s == shapes[0] or k in ("float64", "complex64")
    ]


# ---------------------------------------------------------------------------- cholesky


@pytest.mark.parametrize("dtype, shape", kinds_and(SQUARE))
def test_cholesky(dtype, shape):
    x = positive(*shape, dtype=dtype)
    factor = np.asarray(la.cholesky(x))
    assert factor.dtype == x.dtype
    close(factor @ dagger(factor), x)
    same(factor, np.tril(factor))
    if lawful(x, dtype):
        obeys(la.cholesky, x)


def test_cholesky_reads_the_lower_triangle_or_both():
    x = positive(3, 3)
    broken = np.tril(x) + np.triu(random(3, 3), 1)
    close(la.cholesky(broken, symmetrize_input=False), la.cholesky(x))
    close(la.cholesky(broken), la.cholesky((broken + broken.T) / 2))
    close(la.cholesky(np.array([[4, 2], [2, 5]])), [[2, 0], [1, 2]])


def test_failures_become_nan():
    x = np.stack([np.eye(2), -np.eye(2)]).astype(np.float32)
    got = np.asarray(la.cholesky(x))
    assert not np.isnan(got[0]).any() and np.isnan(got[1][np.tril_indices(2)]).all()
    nan = np.full((2, 2), np.nan, np.float32)
    for fun in (la.eigh, la.svd, la.lu, la.qr, la.schur, la.eig):
        assert np.isnan(arrays(fun(nan))[0]).any()


def test_cholesky_update():
    for n in (1, 4):
        r, w = np.triu(random(n, n)), random(n)
        s = np.asarray(la.cholesky_update(r, w))
        close(s.T @ s, r.T @ r + np.outer(w, w))
        same(s, np.triu(s))
    with pytest.raises(ValueError, match="square matrix and a vector"):
        la.cholesky_update(r, random(3))
    with pytest.raises(TypeError, match="rank of exactly 2"):
        la.cholesky_update(r[None], w[None])
    with pytest.raises(TypeError, match="does not accept dtype complex128"):
        la.cholesky_update(r.astype(complex), w.astype(complex))


# -------------------------------------------------------------------------- triangular

FLAGS = [
    (a, b, c, d, e)
    for a in (0, 1)
    for b in (0, 1)
    for c in (0, 1)
    for d in (0, 1)
    for e in (0, 1)
]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("flags", FLAGS)
def test_triangular_solve(dtype, flags):
    left, lower, transposed, conjugated, unit = map(bool, flags)
    a = random(2, 3, 3, dtype=dtype) + 3 * np.eye(3, dtype=dtype)
    b = random(2, 3, 2, dtype=dtype) if left else random(2, 2, 3, dtype=dtype)

    def solve(a, b):
        return la.triangular_solve(
            a,
            b,
            left_side=left,
            lower=lower,
            transpose_a=transposed,
            conjugate_a=conjugated,
            unit_diagonal=unit,
        )

    matrix = np.tril(a) if lower else np.triu(a)
    if unit:
        matrix = matrix * (1 - np.eye(3, dtype=dtype)) + np.eye(3, dtype=dtype)
    matrix = np.swapaxes(matrix, 1, 2) if transposed else matrix
    matrix = np.conj(matrix) if conjugated else matrix
    x = np.asarray(solve(a, b))
    assert x.dtype == a.dtype
    close(matrix @ x if left else x @ matrix, b)
    if dtype in ("float64", "complex128"):
        obeys(solve, a, b, lanes=not unit)


def test_triangular_solve_of_vectors_and_halves():
    a, b = np.tril(random(2, 3, 3)) + 3 * np.eye(3), random(2, 3)
    x = np.asarray(la.triangular_solve(a, b, left_side=True, lower=True))
    close((a @ x[..., None])[..., 0], b)
    x = np.asarray(la.triangular_solve(a, b, lower=True))
    close((x[..., None, :] @ a)[..., 0, :], b)
    for half in ("bfloat16", "float16"):
        eye = np.eye(3).astype(mj.numpy.dtype(half))
        got = la.triangular_solve(eye, 2 * eye, left_side=True)
        assert got.dtype == eye.dtype
        same(got, 2 * eye)
    assert la.triangular_solve(np.ones((0, 0)), np.ones((0, 3)), left_side=True).size == 0


# ------------------------------------------------------------------------ tridiagonal


def banded(dl, d, du):
    n = d.shape[-1]
    out = np.zeros((*d.shape, n), d.dtype)
    for i in range(n):
        out[..., i, i] = d[..., i]
        if i:
            out[..., i, i - 1] = dl[..., i]
            out[..., i - 1, i] = du[..., i - 1]
    return out


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(4,), (1,), (2,), (2, 5), (0, 3)])
def test_tridiagonal_solve(dtype, shape):
    dl, d, du = (random(*shape, dtype=dtype) for _ in range(3))
    d, b = d + 4, random(*shape, 2, dtype=dtype)
    x = np.asarray(la.tridiagonal_solve(dl, d, du, b))
    close(banded(dl, d, du) @ x, b)
    if x.size and dtype in ("float64", "complex128"):
        obeys(la.tridiagonal_solve, dl, d, du, b)


def test_perturbed_pivots():
    zero, one, b = (
        np.zeros(3, np.float32),
        np.ones(3, np.float32),
        np.ones((3, 1), np.float32),
    )
    assert np.isnan(la.tridiagonal_solve(zero, zero, zero, b)).all()
    got = la.tridiagonal_solve(zero, one, zero, b, perturb_singular=True)
    close(got, b)
    assert np.isfinite(la.tridiagonal_solve(zero, zero, zero, b, perturb_singular=True)).all()


# ---------------------------------------------------------------------------------- lu


@pytest.mark.parametrize("dtype, shape", kinds_and([*SHAPES, *EMPTY]))
def test_lu(dtype, shape):
    x = random(*shape, dtype=dtype)
    factors, pivots, perm = arrays(la.lu(x))
    m, n = shape[-2:]
    k = min(m, n)
    low = np.tril(factors, -1)[..., :, :k] + np.eye(m, k, dtype=dtype)
    up = np.triu(factors)[..., :k, :]
    close(low @ up, np.take_along_axis(x, perm[..., None], -2) if x.size else x)
    assert pivots.dtype == perm.dtype == np.int32 and pivots.shape == (*shape[:-2], k)
    same(la.lu_pivots_to_permutation(pivots, m), perm)
    if lawful(x, dtype):
        obeys(lambda x: la.lu(x)[0], x)


def test_singular_lu_does_not_fail():
    factors, _, _ = la.lu(np.ones((2, 2), np.float32))
    same(factors, np.array([[1, 1], [1, 0]], np.float32))


def test_permutations():
    pivots = np.array([[2, 3, 2], [0, 1, 2]], np.int32)
    got = np.asarray(la.lu_pivots_to_permutation(pivots, 5))
    for row, p in zip(got, pivots, strict=True):
        expected = np.arange(5)
        for i, j in enumerate(p):
            expected[[i, j]] = expected[[j, i]]
        same(row, expected.astype(np.int32))
    obeys(lambda p: la.lu_pivots_to_permutation(p, 5), pivots, lanes=False)
    with pytest.raises(TypeError, match="int32"):
        la.lu_pivots_to_permutation(pivots.astype(np.uint32), 5)
    with pytest.raises(ValueError, match="exceed"):
        la.lu_pivots_to_permutation(pivots, 2)


# ---------------------------------------------------------------------------------- qr


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("pivoting", [True, False])
@pytest.mark.parametrize("dtype, shape", kinds_and([*SHAPES, *EMPTY]))
def test_qr(dtype, shape, full, pivoting):
    x = random(*shape, dtype=dtype)
    q, r, *order = arrays(la.qr(x, full_matrices=full, pivoting=pivoting))
    m, n = shape[-2:]
    assert q.shape[-1] == (m if full else min(m, n))
    y = np.take_along_axis(x, order[0][..., None, :], -1) if pivoting and x.size else x
    close(q @ r, y)
    unitary(q)
    same(r, np.triu(r))
    if lawful(x, dtype):
        obeys(lambda x: la.qr(x, full_matrices=full, pivoting=pivoting)[:2], x)


def test_householder_products():
    for dtype in KINDS:
        x = random(2, 5, 3, dtype=dtype)
        packed, taus = arrays(la.geqrf(x)) if hasattr(la, "geqrf") else packed_qr(x)
        q = np.asarray(la.householder_product(packed, taus))
        close(q @ np.triu(packed)[:, :3], x)
        full_q = np.asarray(la.qr(x)[0])
        c = random(2, 5, 4, dtype=dtype)
        for transposed in (False, True):
            matrix = dagger(full_q) if transposed else full_q
            close(la.ormqr(packed, taus, c, transpose=transposed), matrix @ c)
            close(
                la.ormqr(packed, taus, dagger(c), left=False, transpose=transposed),
                dagger(c) @ matrix,
            )
    same(mj.vmap(la.householder_product)(packed, taus), q)


def packed_qr(x):
    from minijax.prims.linalg.qr import geqrf_p

    return arrays(geqrf_p.bind(x))


def test_hessenberg_and_tridiagonal():
    for dtype in KINDS:
        x = random(2, 4, 4, dtype=dtype)
        h, taus = arrays(la.hessenberg(x))
        packed = np.concatenate([h[:, 1:, :-1]], 0)
        q = np.zeros_like(x)
        q[:, 0, 0] = 1
        q[:, 1:, 1:] = la.householder_product(packed, taus)
        close(q @ np.triu(h, -1) @ dagger(q), x)
        s = hermitian(2, 4, 4, dtype=dtype)
        for lower in (True, False):
            _, d, e, taus = arrays(la.tridiagonal(s, lower=lower))
            assert d.dtype == e.dtype == np.zeros((), dtype).real.dtype
            t = np.zeros_like(s)
            t[:, range(4), range(4)] = d
            t[:, range(3), range(1, 4)] = t[:, range(1, 4), range(3)] = e
            close(np.linalg.eigvalsh(t), np.linalg.eigvalsh(s))
    assert [v.shape for v in la.hessenberg(np.ones((1, 1)))] == [(1, 1), (0,)]
    assert [v.shape for v in la.hessenberg(np.ones((0, 3, 3)))] == [(0, 3, 3), (0, 2)]


def test_symmetric_product():
    a, c = random(2, 4, 3), hermitian(2, 4, 4)
    close(la.symmetric_product(a, c), a @ np.swapaxes(a, 1, 2))
    got = la.symmetric_product(a, c, alpha=2.0, beta=3.0, symmetrize_output=True)
    close(got, 2 * a @ np.swapaxes(a, 1, 2) + 3 * c)
    with pytest.raises(ValueError, match="rectangular matrix"):
        la.symmetric_product(a, random(2, 3, 3))
    with pytest.raises(TypeError, match="does not accept dtype complex128 at position 0"):
        la.symmetric_product(a.astype(complex), c.astype(complex))


# --------------------------------------------------------------------- eigh, eig, schur


@pytest.mark.parametrize("dtype, shape", kinds_and(SQUARE))
def test_eigh(dtype, shape):
    x = hermitian(*shape, dtype=dtype)
    v, w = arrays(la.eigh(x))
    assert v.dtype == x.dtype and w.dtype == x.real.dtype
    close(x @ v, v * w[..., None, :])
    unitary(v)
    assert (np.diff(w, axis=-1) >= 0).all()
    if lawful(x, dtype):
        obeys(lambda x: la.eigh(x)[1], x)
        obeys(spectral_projections, x, lanes=len(shape) == 2)


def spectral_projections(x):
    """What of eigenvectors is unique: v v^H for each."""
    v, _ = la.eigh(x)
    return mj.numpy.einsum("...ij,...kj->...jik", v, mj.numpy.conj(v))


def test_eigh_options():
    x = hermitian(4, 4)
    broken = np.tril(x) + np.triu(random(4, 4), 1)
    close(la.eigh(broken, symmetrize_input=False)[1], np.linalg.eigvalsh(x))
    close(la.eigh(broken.T, symmetrize_input=False, lower=False)[1], np.linalg.eigvalsh(x))
    v, w = arrays(la.eigh(x, subset_by_index=(1, 3)))
    close(w, np.linalg.eigvalsh(x)[1:3])
    close(x @ v, v * w)
    obeys(lambda x: la.eigh(x, subset_by_index=(1, 3))[1], x)
    kinds = la.EighImplementation
    close(la.eigh(x, implementation=kinds.QR)[1], np.linalg.eigvalsh(x))
    for kind in (kinds.JACOBI, kinds.QDWH):
        with pytest.raises(NotImplementedError, match="support"):
            la.eigh(x, implementation=kind)
    with pytest.raises(ValueError, match="subset_by_index"):
        la.eigh(x, subset_by_index=(3, 2))


@pytest.mark.parametrize("dtype, shape", kinds_and(SQUARE))
def test_eig(dtype, shape):
    x = random(*shape, dtype=dtype)
    w, vl, vr = arrays(la.eig(x))
    assert w.dtype == vr.dtype and w.dtype.kind == "c"
    close(x @ vr, vr * w[..., None, :], 10)
    close(dagger(vl) @ x, w[..., None] * dagger(vl), 10)
    if x.size:
        close(np.linalg.norm(vr, axis=-2), np.ones(w.shape, w.real.dtype))
    names = ("compute_left_eigenvectors", "compute_right_eigenvectors")
    for flags in ((False, False), (True, False), (False, True)):
        some = arrays(la.eig(x, **dict(zip(names, flags, strict=True))))
        expected = [w, *([vl] if flags[0] else []), *([vr] if flags[1] else [])]
        for a, b in zip(some, expected, strict=True):
            close(a, b, 10)
    if lawful(x, dtype):
        obeys(lambda x: la.eig(x, enable_eigvec_derivs=True), x, lanes=False)
        obeys(lambda x: la.eig(x, **dict.fromkeys(names, False)), x, lanes=False)


def test_eig_options():
    x = random(3, 3)
    kinds = la.EigImplementation
    same(la.eig(x, implementation=kinds.LAPACK), la.eig(x))
    with pytest.raises(ValueError, match="lapack"):
        la.eig(x, implementation=kinds.MAGMA)
    with pytest.warns(DeprecationWarning, match="use_magma"):
        la.eig(x, use_magma=False)
    with pytest.raises(NotImplementedError, match="eigenvectors are only valid"):
        mj.jvp(la.eig, (x,), (x,))
    got = mj.vmap(la.eig)(np.stack([x, x.T]))
    close(got[0][1], la.eig(x.T)[0])


@pytest.mark.parametrize("dtype, shape", kinds_and(SQUARE))
def test_schur(dtype, shape):
    x = random(*shape, dtype=dtype)
    t, q = arrays(la.schur(x))
    close(q @ t @ dagger(q), x, 5)
    unitary(q)
    same(t, np.triu(t) if x.dtype.kind == "c" else np.triu(t, -1))
    close(la.schur(x, compute_schur_vectors=False)[0], t, 5)
    with pytest.raises(NotImplementedError, match="sort"):
        la.schur(x, sort_eig_vals=True)


# --------------------------------------------------------------------------------- svd


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("dtype, shape", kinds_and([*SHAPES, *EMPTY]))
def test_svd(dtype, shape, full):
    x = random(*shape, dtype=dtype)
    check_svd(x, la.svd(x, full_matrices=full), full)
    s = la.svd(x, compute_uv=False)
    close(s, la.svd(x)[1])
    if lawful(x, dtype) and not full:
        obeys(lambda x: la.svd(x, compute_uv=False), x)
        obeys(singular_projections, x, lanes=len(shape) == 2)


def check_svd(x, out, full):
    u, s, vt = arrays(out)
    m, n = x.shape[-2:]
    k = min(m, n)
    assert u.shape[-1] == (m if full else k) and vt.shape[-2] == (n if full else k)
    assert s.dtype == x.real.dtype and (np.diff(s, axis=-1) <= 0).all() and (s >= 0).all()
    close((u[..., :k] * s[..., None, :]) @ vt[..., :k, :], x, 3)
    unitary(u)
    unitary(dagger(vt))


def singular_projections(x):
    """What of singular vectors is unique: u v^H for each."""
    u, _, vt = la.svd(x, full_matrices=False)
    return mj.numpy.einsum("...ij,...jk->...jik", u, vt)


def test_svd_vector_tangents_up_to_gauge():
    """For real matrices U and V themselves are smooth."""
    for shape in ((4, 3), (3, 4), (3, 3)):
        obeys(lambda x: la.svd(x, full_matrices=False), random(*shape), lanes=False)
    obeys(lambda x: la.svd(x), random(3, 3), lanes=False)


def test_svd_options():
    x, kinds = random(4, 3), la.SvdAlgorithm
    for kind in (kinds.DEFAULT, kinds.QR):
        check_svd(x, la.svd(x, algorithm=kind), True)
    for kind in (kinds.JACOBI, kinds.POLAR):
        with pytest.raises(NotImplementedError, match="not implemented on CPU"):
            la.svd(x, algorithm=kind)
    u, s, vt = arrays(la.svd(x, full_matrices=False, subset_by_index=(1, 3)))
    full_q = arrays(la.svd(x, full_matrices=False))
    close(s, full_q[1][1:3])
    close(u, full_q[0][:, 1:3])
    close(vt, full_q[2][1:3])
    obeys(lambda x: la.svd(x, compute_uv=False, subset_by_index=(1, 3)), x)
    with pytest.raises(ValueError, match="both be set"):
        la.svd(x, subset_by_index=(1, 3))
    with pytest.raises(NotImplementedError, match="full matrices"):
        mj.jvp(la.svd, (x,), (x,))


def test_derivative_at_a_singular_matrix_is_finite():
    x = np.diag([3.0, 1.0, 0.0])
    for shape in ((3, 3), (4, 3)):
        y = np.zeros(shape)
        y[:3] = x
        _, ts = mj.jvp(lambda x: la.svd(x, full_matrices=False), (y,), (random(*shape),))
        assert all(np.isfinite(t).all() for t in arrays(ts))


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 4)])
def test_svd_by_polar_decomposition(dtype, shape):
    """The algorithm that TPUs use, computed here."""
    from minijax.prims.linalg.svd import polar_svd

    x = random(*shape, dtype=dtype)
    for full in (True, False):
        s, u, vt = polar_svd(x, full, True)
        check_svd(x, (u, s, vt), full)
    close(polar_svd(x, False, False)[0], la.svd(x)[1], 3)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (1, 1), (40, 40)])
def test_qdwh(dtype, shape):
    x = random(*shape, dtype=dtype)
    u, h, n, done = la.qdwh(x)
    unitary(np.asarray(u))
    close(u @ h, x, shape[0])
    close(h, dagger(np.asarray(h)))
    assert (np.linalg.eigvalsh(np.asarray(h)) > -1e-5).all()
    assert bool(done) and 1 <= int(n) <= 10
    _, _, n, done = la.qdwh(x, max_iterations=1)
    assert int(n) == 1 and not bool(done)


def test_qdwh_of_a_leading_block():
    x = random(5, 4)
    u, h, _, done = la.qdwh(x, dynamic_shape=(4, 2))
    inner_u, inner_h, _, _ = la.qdwh(x[:4, :2])
    close(np.asarray(u)[:4, :2], inner_u, 5)
    close(np.asarray(h)[:2, :2], inner_h, 5)
    assert bool(done) and not np.asarray(h)[2:].any()
    s = hermitian(3, 3)
    u = np.asarray(la.qdwh(s, is_hermitian=True)[0])
    same(u, u.T)
    with pytest.raises(ValueError, match="at least as many rows"):
        la.qdwh(x.T)


# ------------------------------------------------------------------- what is lowered


def thin(dl, d, du):
    return lambda x: la.tridiagonal_solve(x[dl], x[d], x[du], x)


CALLS = {
    # name: function, shape of its argument, what CUDA calls, what TPUs call
    "cholesky": (la.cholesky, (3, 3), "cusolver_potrf_ffi", "stablehlo.cholesky"),
    "lu": (la.lu, (3, 3), "cusolver_getrf_ffi", "LuDecomposition"),
    "qr": (la.qr, (4, 3), "cusolver_geqrf_ffi", "HouseholderReflectors"),
    "pivoted qr": (lambda x: la.qr(x, pivoting=True), (4, 3), "cuhybrid_geqp3", None),
    "eigh": (la.eigh, (3, 3), "cusolver_syevd_ffi", '"1,1,100,1e-6"'),
    "eig": (la.eig, (3, 3), "cuhybrid_eig_real", None),
    "eig right": (
        lambda x: la.eig(x, compute_left_eigenvectors=False),
        (3, 3),
        "cusolver_geev_ffi",
        None,
    ),
    "svd": (la.svd, (4, 3), "cusolver_gesvdj_ffi", "Eigh"),
    "svd large": (la.svd, (1030, 3), "cusolver_gesvd_ffi", "Eigh"),
    "svd polar": (
        lambda x: la.svd(x, algorithm=la.SvdAlgorithm.POLAR),
        (4, 3),
        "cusolver_gesvdp_ffi",
        "Eigh",
    ),
    "schur": (la.schur, (3, 3), None, None),
    "hessenberg": (la.hessenberg, (3, 3), None, None),
    "tridiagonal": (la.tridiagonal, (3, 3), "cusolver_sytrd_ffi", None),
    "symmetric_product": (
        lambda x: la.symmetric_product(x, x),
        (3, 3),
        "cusolver_syrk_ffi",
        "stablehlo.dot_general",
    ),
    "several symmetric_products": (
        lambda x: la.symmetric_product(x, x[..., 0, :, None] * x),
        (2, 3, 3),
        "cusolver_syrk_ffi",
        "stablehlo.dot_general",
    ),
    "tridiagonal_solve": (thin(0, 1, 2), (3, 3), "cusparse_gtsv2_ffi", "stablehlo.while"),
    "small tridiagonal_solve": (thin(0, 1, 0), (2, 2), "stablehlo.while", "stablehlo.while"),
    "perturbed": (
        lambda x: la.tridiagonal_solve(x[0], x[1], x[2], x, perturb_singular=True),
        (3, 3),
        "cu_tridiagonal_solve_perturbed",
        None,
    ),
    "pivots": (
        lambda x: la.lu_pivots_to_permutation(x[0].astype("int32"), 5),
        (3, 3),
        "cu_lu_pivots_to_permutation",
        "stablehlo.while",
    ),
    "cholesky_update": (
        lambda x: la.cholesky_update(x, x[0]),
        (3, 3),
        "cu_cholesky_update_ffi",
        "stablehlo.while",
    ),
    "ormqr": (lambda x: la.ormqr(x, x[0], x), (3, 3), "cusolver_ormqr_ffi", "stablehlo.while"),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_other_platforms(name, platform):
    """The program contains the call; or the operation raises NotImplementedError."""
    from minijax.passes.stage import stage_closed
    from minijax.runtime.lowering.lower_jaxpr import lower_jaxpr
    from minijax.types.avals import shaped

    fun, shape, cuda, tpu = CALLS[name]
    closed = stage_closed(
        lambda x: mj.tree.leaves(fun(x)), [shaped(shape, np.dtype("float32"))]
    )
    expected = cuda if platform == "cuda" else tpu
    if expected is None:
        with pytest.raises(NotImplementedError):
            lower_jaxpr(closed, "f", platform)
    else:
        module = lower_jaxpr(closed, "f", platform).module
        assert module.operation.verify()
        assert expected in str(module)


def test_batches_of_matrices_stay_sharded():
    """The batch axis is sharded: each device has its own matrices, and no data moves."""
    sharding = mj.NamedSharding(mj.make_mesh((4,), ("i",)), mj.P("i"))
    both = lambda x: (la.eigh(x), mj.numpy.linalg.solve(x, x), la.qr(x), la.svd(x))
    x = mj.device_put(positive(8, 3, 3), sharding)
    program = mj.jit(both, in_shardings=sharding).lower(x).compile()
    assert not re.search("all-(gather|reduce|to-all)|permute", program.as_text())
    for out, expected in zip(mj.tree.leaves(program(x)), mj.tree.leaves(both(np.asarray(x)))):
        close(out, expected)
    text = mj.jit(la.ormqr).trace(x, x[..., 0], x).lower().as_text()
    rule = "([i, j, k], [i, l], [i, m, n])->([i, o, p])"
    assert f"#sdy.op_sharding_rule<{rule}" in text


def test_thomas_and_reflections_without_a_library():
    """What platforms without a routine compute."""
    from minijax.prims.linalg import qr as reflections
    from minijax.prims.linalg import solve

    dl, d, du, b = random(2, 4), random(2, 4) + 4, random(2, 4), random(2, 4, 3)
    expected = la.tridiagonal_solve(dl, d, du, b)
    x = random(2, 5, 3, dtype="complex128")
    packed, taus = packed_qr(x)
    c = random(2, 5, 4, dtype="complex128")
    expected_list = [
        la.ormqr(packed, taus, c if left else dagger(c), left=left, transpose=transposed)
        for left in (True, False)
        for transposed in (True, False)
    ]
    prims = solve.tridiagonal_solve_p, reflections.ormqr_p
    saved = [prim.lower for prim in prims]
    try:
        for prim in prims:
            prim.lower = prim.lower.default
        close(mj.jit(la.tridiagonal_solve)(dl, d, du, b), expected)
        got = mj.jit(
            lambda: [
                la.ormqr(packed, taus, c if left else dagger(c), left=left, transpose=t)
                for left in (True, False)
                for t in (True, False)
            ]
        )()
        for a, w in zip(got, expected_list, strict=True):
            close(a, w)
    finally:
        for prim, rule in zip(prims, saved, strict=True):
            prim.lower = rule


# ------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    "fun",
    [
        la.lu,
        la.qr,
        la.eig,
        la.svd,
        la.schur,
        la.hessenberg,
        la.tridiagonal,
        la.eigh,
        la.cholesky,
    ],
)
def test_operands_that_are_not_matrices_raise(fun):
    with pytest.raises(TypeError):
        fun(random(3))
    if fun not in (la.lu, la.qr, la.svd):
        with pytest.raises((ValueError, TypeError)):
            fun(random(3, 2))
    if fun not in (la.eigh, la.cholesky):
        with pytest.raises(TypeError, match="int32"):
            fun(np.ones((3, 3), np.int32))
    with pytest.raises(NotImplementedError, match="bfloat16"):
        fun(np.ones((3, 3), mj.numpy.bfloat16))


@pytest.mark.parametrize(
    "fun, args, error, text",
    [
        (la.triangular_solve, ((3, 3), (4, 2)), ValueError, "Incompatible shapes"),
        (la.triangular_solve, ((3, 2), (3, 3)), ValueError, "square matrix"),
        (la.triangular_solve, ((2, 3, 3), (3, 3)), ValueError, "Incompatible shapes"),
        (la.tridiagonal_solve, ((3,), (3,), (3,), (3,)), TypeError, "rank at least 2"),
        (la.tridiagonal_solve, ((3,), (3,), (2,), (3, 1)), TypeError, "same shape"),
        (la.tridiagonal_solve, ((3,), (3,), (3,), (4, 1)), TypeError, "leading axes"),
        (la.householder_product, ((3, 4), (3,)), ValueError, "as many rows"),
        (la.householder_product, ((4, 3), (4,)), ValueError, "more rows than"),
        (la.householder_product, ((4, 3), (2, 3)), TypeError, "batch dimensions"),
        (la.ormqr, ((4, 3), (3,), (3, 4)), ValueError, "number of rows"),
    ],
)
def test_incompatible_shapes_raise(fun, args, error, text):
    with pytest.raises(error, match=text):
        fun(*(random(*shape) for shape in args))


@pytest.mark.parametrize("fun", [la.schur, la.hessenberg, la.tridiagonal])
def test_no_derivative(fun):
    x = hermitian(3, 3)
    with pytest.raises(NotImplementedError, match="Differentiation rule"):
        mj.jvp(fun, (x,), (x,))


def test_helpers():
    assert inner([np.ones(2)], [like(np.ones(2), 0)]) == like(np.ones(2), 0).sum()


FACTORINGS = ["svd", "qr", "lu", "eigh", "eig", "schur", "hessenberg", "cholesky"]


@pytest.mark.parametrize("name", FACTORINGS)
def test_lanes_of_vectors_are_not_a_matrix(name):
    f = getattr(la, name)
    for in_axes in (0, 1):
        with pytest.raises(TypeError):
            mj.eval_shape(mj.vmap(f, in_axes), np.ones((3, 3), np.float32))


def test_vectors_have_no_singular_values():
    words = "Input 0 to svd must have rank at least 2, but got shape=(3,)"
    x = np.ones(3, np.float32)
    with pytest.raises(TypeError, match=re.escape(words)):
        mj.jvp(mj.numpy.linalg.svdvals, (x,), (x,))


def test_binding_without_optional_params():
    """As programs of JAX's bind them."""
    x = np.array([[2.0, 0.0], [0.0, 1.0]], np.float32)
    bind = functools.partial(la.svd_p.bind, full_matrices=True)
    (sizes,) = mj.jit(lambda x: bind(x, compute_uv=False))(x)
    assert sizes.tolist() == [2, 1]
    slopes = mj.grad(lambda x: bind(x, compute_uv=False)[0].sum())(x)
    np.testing.assert_allclose(slopes, np.eye(2), atol=1e-6)
    z = mj.jit(mj.lax.conj_p.bind)(x[0] + 1j * x[1])
    assert z.tolist() == [2, -1j]
    assert type(la.lu(x)) is list
