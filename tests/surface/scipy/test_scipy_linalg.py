"""scipy.linalg: against SciPy in float64, identities, derivatives, stacks, errors."""

import functools

import numpy as np
import pytest
import scipy.linalg as reference

import minijax as mj
import minijax.numpy as jnp
from minijax.scipy import linalg

RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(4, 4)).astype(np.float32)
COMPLEX = (REAL + 1j * RNG.normal(size=(4, 4))).astype(np.complex64)
POSITIVE = (COMPLEX @ COMPLEX.conj().T + 4 * np.eye(4)).astype(np.complex64)
RIGHT = RNG.normal(size=(4, 2)).astype(np.float32)


def close(got, expected, tol=2e-4):
    expected = np.asarray(expected)
    assert np.shape(got) == expected.shape
    scale = 1 + np.abs(expected).max(initial=0)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=tol, atol=tol * scale)


def wide(x):
    """Convert to double precision for the reference."""
    return np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64)


# name, arguments, keywords: the result is SciPy's.
SAME = [
    ("cholesky", (POSITIVE,), {}),
    ("cholesky", (POSITIVE,), {"lower": True}),
    ("det", (COMPLEX,), {}),
    ("inv", (REAL,), {}),
    ("lu", (COMPLEX,), {}),
    ("lu", (RIGHT,), {"permute_l": True}),
    ("lu", (RIGHT.T,), {}),
    ("lu_factor", (REAL,), {}),
    ("svd", (RIGHT,), {"compute_uv": False}),
    ("svd", (REAL,), {"compute_uv": False, "lapack_driver": "gesvd"}),
    ("eigh", (POSITIVE,), {"eigvals_only": True}),
    ("hessenberg", (REAL,), {"calc_q": True}),
    ("expm", (REAL * 3,), {}),
    ("expm", (COMPLEX / 9,), {}),
    ("sqrtm", (COMPLEX,), {}),
    ("expm_frechet", (REAL, REAL.T), {}),
    ("expm_frechet", (REAL, REAL.T), {"method": "blockEnlarge"}),
    ("qr", (RIGHT,), {}),
    ("qr", (RIGHT,), {"mode": "economic", "pivoting": True}),
    ("qr_multiply", (RIGHT, RIGHT.T), {}),
    ("qr_multiply", (RIGHT.T, RIGHT[:2]), {"mode": "left", "pivoting": True}),
    ("qr_multiply", (RIGHT, RIGHT[:2, 0]), {"mode": "left"}),
    ("qr_multiply", (COMPLEX, COMPLEX[0]), {"conjugate": True}),
    ("solve_sylvester", (REAL, REAL[:2, :2], RIGHT), {}),
    ("solve_sylvester", (COMPLEX, COMPLEX[:2, :2], RIGHT * 1j), {}),
    ("solve", (REAL, RIGHT), {}),
    ("solve", (POSITIVE, RIGHT[:, 0]), {"assume_a": "pos"}),
    ("solve", (POSITIVE, RIGHT), {"assume_a": "pos", "lower": True}),
    ("block_diag", (RIGHT, 3, REAL[0]), {}),
    ("circulant", (REAL[0],), {}),
    ("companion", (REAL[0],), {}),
    ("convolution_matrix", (REAL[0], 3), {}),
    ("convolution_matrix", (REAL[0], 3), {"mode": "same"}),
    ("convolution_matrix", (REAL[0], 7), {"mode": "same"}),
    ("convolution_matrix", (REAL[0], 3), {"mode": "valid"}),
    ("convolution_matrix", (REAL[0], 6), {"mode": "valid"}),
    ("dft", (5,), {}),
    ("dft", (4,), {"scale": "sqrtn"}),
    ("dft", (3, "n"), {}),
    ("fiedler", (REAL[0],), {}),
    ("fiedler_companion", (REAL.ravel()[:7],), {}),
    ("fiedler_companion", (REAL.ravel()[:6],), {}),
    ("hadamard", (8,), {}),
    ("hankel", (REAL[0],), {}),
    ("hankel", (REAL[0], RIGHT[:, 0]), {}),
    ("helmert", (5,), {}),
    ("helmert", (4,), {"full": True}),
    ("hilbert", (5,), {}),
    ("invhilbert", (5,), {}),
    ("invpascal", (6,), {}),
    ("invpascal", (5, "lower"), {}),
    ("leslie", (REAL[0], REAL[0, 1:]), {}),
    ("pascal", (6,), {}),
    ("pascal", (5, "upper"), {}),
    ("toeplitz", (COMPLEX[0],), {}),
    ("toeplitz", (REAL[0], RIGHT[:3, 0]), {}),
]


@pytest.mark.parametrize("name, args, options", SAME)
def test_values_match_scipy(name, args, options):
    got = mj.tree_util.tree_leaves(getattr(linalg, name)(*args, **options))
    operands = [wide(x) if isinstance(x, np.ndarray) else x for x in args]
    expected = mj.tree_util.tree_leaves(list_of(getattr(reference, name)(*operands, **options)))
    assert len(got) == len(expected)
    for x, y in zip(got, expected, strict=True):
        close(x, y)


def list_of(x):
    return list(x) if isinstance(x, tuple) else x


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("trans", [0, "T", 2])
def test_solves(lower, trans):
    b = RIGHT + 1j
    options = {"lower": lower, "trans": trans}
    expected = reference.solve_triangular(wide(COMPLEX), b, **options)
    close(linalg.solve_triangular(COMPLEX, b, **options), expected, 2e-3)
    if isinstance(trans, int):
        expected = reference.lu_solve(reference.lu_factor(wide(COMPLEX)), b, trans)
        close(linalg.lu_solve(linalg.lu_factor(COMPLEX), b, trans), expected)
    factors = linalg.cho_factor(POSITIVE, lower=lower)
    close(linalg.cho_solve(factors, b[:, 0]), np.linalg.solve(wide(POSITIVE), b[:, 0]))


def test_right_hand_sides_of_stacks():
    a, b = np.stack([POSITIVE, 2 * POSITIVE]), np.stack([RIGHT, RIGHT, RIGHT])
    solved = np.linalg.solve(wide(POSITIVE), RIGHT)
    for solve in (
        lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b),
        lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b),
        functools.partial(linalg.solve, assume_a="pos"),
    ):
        close(solve(a, b[:2]), np.stack([solved, solved / 2]))
        with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
            solve(a, b)
    factors = linalg.cho_factor(a)
    with pytest.warns(FutureWarning, match="batched 1D solves"):
        close(linalg.cho_solve(factors, b[:2, :, 0])[1], solved[:, 0] / 2)
    close(linalg.solve_triangular(np.eye(4), b), b)
    low = linalg.solve_triangular(REAL, RIGHT, lower=True, unit_diagonal=True)
    close((np.tril(REAL, -1) + np.eye(4)) @ np.asarray(low), RIGHT)


@pytest.mark.parametrize("method", ["qdwh", "svd"])
@pytest.mark.parametrize("a", [RIGHT, RIGHT.T, COMPLEX], ids=["tall", "wide", "square"])
def test_polar(a, method):
    for side in ("left", "right"):
        u, p = linalg.polar(a, side, method=method)
        want_u, want_p = reference.polar(wide(a), side)
        close(u, want_u)
        close(p, want_p)


def test_forms_of_schur():
    t, z = linalg.rsf2csf(*linalg.schur(np.stack([REAL, REAL.T])))
    assert not np.tril(t, -1).any()
    close(z @ t @ np.conj(np.swapaxes(z, -1, -2)), np.stack([REAL, REAL.T]))
    out, error = linalg.funm(REAL, jnp.sin, disp=False)
    close(out, reference.funm(wide(REAL), np.sin))
    assert error.shape == () and error < 1e-5
    close(linalg.funm(np.stack([REAL] * 2), jnp.sin)[1], out)


def test_errors_of_matrix_functions():
    assert np.isnan(linalg.sqrtm(np.array([[0.0, 1.0], [0.0, 0.0]]))).all()
    close(linalg.sqrtm(np.zeros((2, 2))), np.zeros((2, 2)))
    assert np.isnan(linalg.solve_sylvester(np.triu(REAL), -np.triu(REAL), REAL)).all()
    assert np.isnan(linalg.expm(REAL * 1e6)).all()
    assert np.isnan(linalg.expm(REAL * 30, max_squarings=0)).all()
    close(linalg.expm(np.triu(REAL), upper_triangular=True), linalg.expm(np.triu(REAL)))
    close(linalg.solve_sylvester(REAL, REAL, REAL, method="eigen"), np.eye(4) / 2)


def test_exponentials_of_all_sizes():
    sizes = np.array([1e-6, 1e-2, 0.5, 2.0, 9.0], np.float32)[:, None, None]
    got = linalg.expm(sizes * REAL)
    for x, a in zip(got, sizes * REAL, strict=True):
        close(x, reference.expm(wide(a)), 1e-5)


# Roots of multiples of 1, so that the exponential is cosh(r) + A sinh(r) / r; the last
# with its exponential as computed by mpmath in 60 digits (C. Moler, "A balancing act for
# the matrix exponential", 2012).
BADLY_SCALED = [
    ([[1, 1e6, 0], [0, -1, 0], [0, 0, 1]], 1),
    ([[1, 0, 0], [1e12, -1, 0], [0, 0, 1]], 1),
    ([[1, 1e10, 0], [1e-10, -1, 0], [0, 0, 2**0.5]], 2),
    (
        [[0, 1e-8, 0], [-(2e10 + 2e8 / 3), -3, 2e10], [200 / 3, 0, -200 / 3]],
        [
            [0.44684946828317, 1.5404415738395e-09, 0.46281145355877],
            [-5743067.7794796, -0.015283003868682, -4526542.7127841],
            [0.44772297784949, 1.5427048451959e-09, 0.46348064883765],
        ],
    ),
]


@pytest.mark.parametrize("dtype, tol", [(np.float32, 5e-5), (np.float64, 1e-13)])
def test_exponentials_of_badly_scaled_matrices(dtype, tol):
    """Every element is precise, for stacks and for the derivative along A as well."""
    a, expected, slopes = [], [], []
    for matrix, power in BADLY_SCALED:
        a.append(np.array(matrix, dtype))
        if isinstance(power, list):
            expected.append(np.array(power))
            continue
        r, exact = power**0.5, np.array(matrix)
        expected.append(np.eye(3) * np.cosh(r) + exact * np.sinh(r) / r)
        slopes.append(exact * np.cosh(r) + np.eye(3) * np.sinh(r) * r)
    with mj.enable_x64():
        got, moved = mj.jit(linalg.expm_frechet)(np.stack(a), np.stack(a))
        alone = linalg.expm(a[-1])
    np.testing.assert_allclose(got, np.stack(expected), rtol=tol, atol=0)
    np.testing.assert_allclose(alone, expected[-1], rtol=tol, atol=0)
    np.testing.assert_allclose(moved[:3], np.stack(slopes), rtol=tol, atol=0)


def test_exponentials_of_stacks_over_an_explicit_mesh():
    mesh = mj.make_mesh((2,), ("x",), axis_types=(mj.sharding.AxisType.Explicit,))
    badly = np.array([np.array(m) for m, _ in BADLY_SCALED], np.float32)
    spec = mj.sharding.NamedSharding(mesh, mj.sharding.PartitionSpec("x"))
    got = mj.jit(linalg.expm)(mj.device_put(badly, spec))
    assert got.sharding.spec[0] == "x"
    np.testing.assert_allclose(got, linalg.expm(badly), rtol=2e-5)


def test_exponentials_of_graded_triangles():
    """The diagonal is exact: squaring 14 times would leave three digits."""
    a = np.array([[-1e5, 30, 2], [0, 1, 1e-3], [0, 0, 1e-6]], np.float32)
    got = linalg.expm(np.stack([a, 3 * np.eye(3, dtype=a.dtype)]), upper_triangular=True)
    exact = np.exp(np.diagonal(a).astype(np.float64))
    np.testing.assert_allclose(np.diagonal(got[0]), exact, rtol=2e-7)
    np.testing.assert_allclose(got[0], reference.expm(wide(a)), rtol=2e-3)
    np.testing.assert_allclose(got[1], np.exp(3) * np.eye(3), rtol=3e-7)


def test_tridiagonal():
    d, e = REAL[0], COMPLEX[1, :3]
    matrix = np.diag(d) + np.diag(e, 1) + np.diag(e.conj(), -1)
    expected = np.linalg.eigvalsh(wide(matrix))
    values, vectors = linalg.eigh_tridiagonal(d.astype(np.complex64), e)
    close(values, expected)
    close(matrix @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values))
    options = {"select": "i", "select_range": (1, 2), "eigvals_only": True}
    close(linalg.eigh_tridiagonal(d, abs(e), **options), expected[1:3])
    close(linalg.eigh_tridiagonal(d, abs(e), eigvals_only=True, tol=0.5), expected, 0.2)
    one = functools.partial(linalg.eigh_tridiagonal, eigvals_only=True)
    stacked = one(np.stack([d, 1e30 * d]), np.stack([abs(e), 1e30 * abs(e)]))
    close(stacked, np.stack([expected, 1e30 * expected]))
    assert np.isnan(one(d * np.nan, abs(e))).all() and not one(0 * d, 0 * d[1:]).any()
    slope = mj.grad(lambda d, e: one(d, e) @ np.arange(4.0), (0, 1))
    step, (by_d, by_e) = 1e-4, slope(jnp.asarray(d), jnp.asarray(abs(e)))

    def total(t):
        return reference.eigvalsh_tridiagonal(d + t * d, abs(e) + t * abs(e)) @ range(4)

    close(by_d @ d + by_e @ abs(e), (total(step) - total(-step)) / (2 * step), 1e-3)


def test_slopes():
    """Derivatives of a sum of many functions agree with differences of SciPy's, per lane."""

    def total(lib, home, a, b):
        p = a @ a.T + home.eye(3)
        q, r = lib.qr_multiply(a, b)
        parts = [
            lib.solve(p, b, assume_a="pos"),
            lib.cho_solve(lib.cho_factor(p), b),
            lib.lu_solve(lib.lu_factor(a), b),
            lib.expm(a),
            lib.sqrtm(p).real,
            lib.solve_sylvester(p, b @ b.T, a),
            lib.polar(a)[1],
            lib.toeplitz(a[0], b[0]),
            abs(q) + abs(r),
            lib.solve_triangular(a, b),
            lib.expm_frechet(a, b)[1],
        ]
        return sum(home.sin(x).sum() for x in parts)

    def one(a, b):
        return total(linalg, jnp, a, b)

    a, b, da, db = RNG.normal(size=(4, 2, 3, 3)) / 3 + np.eye(3)
    with mj.enable_x64():
        got = mj.jit(mj.vmap(mj.grad(one, (0, 1))))(a, b)
    step = 1e-5
    for k in range(2):
        ahead, back = (
            total(reference, np, a[k] + t * da[k], b[k] + t * db[k]) for t in (step, -step)
        )
        slope = np.vdot(got[0][k], da[k]) + np.vdot(got[1][k], db[k])
        close(slope, (ahead - back) / (2 * step), 1e-6)


def test_exact_tables():
    assert linalg.pascal(20)[-1, -1] == np.float32(35345263800)
    assert linalg.invhilbert(2).tolist() == [[4, -6], [-6, 12]]
    assert linalg.dft(4)[1].tolist() == [1, -1j, -1, 1j]
    assert linalg.hadamard(2, dtype=jnp.int8).dtype == jnp.int8
    assert linalg.block_diag().shape == (1, 0)
    assert linalg.toeplitz(jnp.ones((4, 1, 3)), jnp.ones((2, 2))).shape == (4, 2, 3, 2)


ERRORS = [
    (ValueError, "Invalid 'trans' value X", "solve_triangular", (REAL, RIGHT, "X")),
    (ValueError, "'trans' value must be 0", "lu_solve", ((REAL, [0] * 4), RIGHT, 3)),
    (ValueError, "inconsistent size", "solve_triangular", (REAL, RIGHT[:3])),
    (ValueError, "Unsupported QR decomposition mode", "qr", (REAL, False, None, "x")),
    (ValueError, "mode must be 'right' or 'left'", "qr_multiply", (REAL, REAL, "x")),
    (ValueError, "not compatible for c @ Q", "qr_multiply", (REAL, REAL[:, :2])),
    (ValueError, "lapack_driver must be", "svd", (REAL, True, True, False, True, "x")),
    (NotImplementedError, "Only the b=None case", "eigh", (REAL, REAL)),
    (ValueError, "Expected 'output' to be either", "schur", (REAL, "x")),
    (ValueError, "Unknown polar decomposition", "polar", (REAL,), {"method": "x"}),
    (ValueError, "must be either 'right' or 'left'", "polar", (REAL, "x")),
    (ValueError, r"\(batched\) square matrix", "expm", (RIGHT,)),
    (TypeError, "A.dtype=float16 is not supported", "expm", (REAL.astype("e"),)),
    (ValueError, "to be the same shape", "expm_frechet", (REAL, REAL[:2, :2])),
    (ValueError, "expected square array_like", "funm", (RIGHT, jnp.exp)),
    (NotImplementedError, "Blocked version", "sqrtm", (REAL, 2)),
    (ValueError, "for Sylvester equation", "solve_sylvester", (REAL, REAL, RIGHT)),
    (ValueError, "Unrecognized method", "solve_sylvester", (REAL,) * 3, {"method": "x"}),
    (ValueError, "Expected assume_a", "solve", (REAL, REAL), {"assume_a": "x"}),
    (TypeError, "must have same dtype", "eigh_tridiagonal", (REAL[0], [1, 2, 3])),
    (TypeError, "Only float32 and float64", "eigh_tridiagonal", ([1, 2], [1])),
    (
        ValueError,
        "select_range must be",
        "eigh_tridiagonal",
        (REAL[0], REAL[0, 1:]),
        {"select": "i"},
    ),
    (ValueError, "at most 2 dimensions", "block_diag", (REAL[None],)),
    (ValueError, "must be at least 2", "companion", (REAL[0, :1],)),
    (ValueError, "Incorrect lengths", "leslie", (REAL[0], REAL[0])),
    (ValueError, "at least 1-dimensional", "hankel", (1.0,)),
    (ValueError, "positive power of 2", "hadamard", (6,)),
    (ValueError, "Expected kind", "pascal", (3, "x")),
    (ValueError, "must be a complex", "dft", (3,), {"dtype": "float32"}),
    (ValueError, "n must be a positive integer", "convolution_matrix", (REAL[0], 0)),
]


@pytest.mark.parametrize("row", ERRORS, ids=lambda r: f"{r[2]}: {r[1]}")
def test_errors(row):
    kind, words, name, args, *options = row
    with pytest.raises(kind, match=words):
        getattr(linalg, name)(*args, **(options[0] if options else {}))


def test_polar_of_narrow_floats():
    x = jnp.ones((3, 3), jnp.bfloat16)
    u, h = mj.eval_shape(linalg.polar, x)
    assert (u.dtype, h.dtype) == (jnp.bfloat16, jnp.bfloat16)
    with pytest.raises(NotImplementedError, match="bfloat16"):
        linalg.polar(x)
