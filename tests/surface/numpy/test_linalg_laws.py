"""Laws of linear algebra that hold for every function: size, promotion, derivatives at
matrices that are deficient, empty, or have equal singular values."""

import math
import re

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.lax import linalg as la
from minijax.numpy import linalg

RNG = np.random.default_rng(3)


def inexact(out):
    return [x for x in mj.tree.leaves(out) if jnp.issubdtype(x.dtype, jnp.inexact)]


def derivatives(fun):
    """The function, its forward and reverse mode, and one over the other."""

    def back(*xs):
        out, pull = mj.vjp(lambda *xs: inexact(fun(*xs)), *xs)
        return pull(out)

    return {
        "value": fun,
        "jvp": lambda *xs: mj.jvp(lambda *xs: inexact(fun(*xs)), xs, xs),
        "vjp": back,
        "second": lambda *xs: mj.jvp(back, xs, xs),
        "lanes": lambda *xs: mj.vmap(back)(*(jnp.stack([x, x]) for x in xs)),
    }


# ----------------------------------- no value is as large as the square of the long side

LONG = 60
ORDERS = (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
OBLONG = {
    "pinv": linalg.pinv,
    "pinv(rtol)": lambda a: linalg.pinv(a, 0.1),
    "svd": lambda a: linalg.svd(a, full_matrices=False),
    "svd values": lambda a: linalg.svd(a, compute_uv=False),
    "svdvals": linalg.svdvals,
    "qr": linalg.qr,
    "qr r": lambda a: linalg.qr(a, mode="r"),
    "qr pivoting": lambda a: la.qr(a, pivoting=True, full_matrices=False),
    "lstsq vector": lambda a: linalg.lstsq(a, a[:, 0]),
    "lstsq": lambda a: linalg.lstsq(a, a[:, :2]),
    "lstsq rcond": lambda a: linalg.lstsq(a, a[:, :2], 0.1),
    "lu": la.lu,
    "cond": lambda a: (linalg.cond(a), linalg.cond(a, -2)),
    "norm": lambda a: [linalg.norm(a, o) for o in ORDERS],
    "matrix_rank": lambda a: a * linalg.matrix_rank(a),
    "multi_dot": lambda a: linalg.multi_dot([a, a.T, a]),
    "trace": lambda a: (linalg.trace(a), linalg.diagonal(a)),
    "polyfit": lambda a: jnp.polyfit(a.ravel(), a.ravel(), 1, cov=True),
    "polyfit full": lambda a: jnp.polyfit(a.ravel(), a.ravel(), 1, full=True),
}


@pytest.mark.parametrize("shape", [(LONG, 2), (2, LONG)])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("name", OBLONG)
def test_memory_does_not_grow_with_the_square_of_the_long_side(name, dtype, shape):
    a = np.zeros(shape, dtype)
    for which, fun in derivatives(OBLONG[name]).items():
        text = mj.jit(fun).lower(a).as_text()
        shapes = {s for s in re.findall(r"tensor<([0-9x]+)x[a-z]", text)}
        assert shapes
        sizes = [math.prod(map(int, s.split("x"))) for s in shapes]
        assert max(sizes) < LONG * LONG, (which, shapes)


# ------------------------------------------------------------- promotion inside functions


def first(a):
    """One matrix of a stack."""
    return a[(0,) * (a.ndim - 2)]


SQUARE = {
    "pinv": linalg.pinv,
    "pinv hermitian": lambda a: linalg.pinv(a, hermitian=True),
    "pinv rtol": lambda a: (linalg.pinv(a, 0.1), linalg.pinv(a, jnp.float32(0.1))),
    "pinv rtols": lambda a: linalg.pinv(a, jnp.full(a.shape[:-2], 0.1, jnp.float32)),
    "det": linalg.det,
    "slogdet": linalg.slogdet,
    "slogdet qr": lambda a: linalg.slogdet(a, method="qr"),
    "inv": linalg.inv,
    "solve": lambda a: linalg.solve(a, a),
    "solve vector": lambda a: linalg.solve(first(a), first(a)[0]),
    "matrix_power": lambda a: [linalg.matrix_power(a, n) for n in (-3, 0, 1, 2)],
    "qr": lambda a: linalg.qr(a[..., : a.shape[-1] // 2 + 1], mode="complete"),
    "svd": lambda a: (linalg.svdvals(a), linalg.svd(a, hermitian=True)),
    "eigh": lambda a: (linalg.eigh(a), linalg.eigvalsh(a, "U", symmetrize_input=False)),
    "cholesky": lambda a: (linalg.cholesky(a), linalg.cholesky(a, upper=True)),
    "cond": lambda a: [linalg.cond(a, p) for p in ORDERS],
    "rank": lambda a: (linalg.matrix_rank(a), linalg.matrix_rank(a, hermitian=True)),
    "lstsq": lambda a: linalg.lstsq(first(a), first(a)[0]),
    "lstsq rcond": lambda a: linalg.lstsq(first(a), first(a), jnp.float32(0.1)),
    "tensorsolve": lambda a: linalg.tensorsolve(first(a), first(a)[0]),
    "norm": lambda a: [linalg.norm(a, o, axis=(-2, -1)) for o in ORDERS],
    "vector_norm": lambda a: [linalg.vector_norm(a, ord=o, axis=-1) for o in (0, 1, 3)],
    "vecdot": lambda a: (linalg.vecdot(a, a), linalg.trace(a), linalg.diagonal(a)),
    "lu": la.lu,
}


@pytest.mark.parametrize(
    "option", [{"numpy_dtype_promotion": "strict"}, {"numpy_rank_promotion": "raise"}]
)
@pytest.mark.parametrize("name", SQUARE)
def test_no_promotion_inside(name, option):
    for dtype in (np.float32, np.complex64):
        for shape in ((1, 1), (2, 2), (2, 3, 3), (2, 4, 4)):
            a = mj.ShapeDtypeStruct(shape, dtype)
            for fun in derivatives(SQUARE[name]).values():
                with getattr(mj, *option)(*option.values()):
                    mj.eval_shape(fun, a)


def test_operands_of_solve_with_other_ranks_are_refused_where_ranks_must_agree():
    a, b = np.ones((2, 3, 3), np.float32), np.ones((3, 3), np.float32)
    with mj.numpy_rank_promotion("raise"):
        for x, y in ((a, b), (b, a), (a, b[0])):
            with pytest.raises(ValueError, match="rank_promotion='raise'"):
                mj.eval_shape(linalg.solve, x, y)
        mj.eval_shape(linalg.solve, b, b[0])


# ----------------------------------------------------------------------------- inverses


@pytest.fixture
def doubles():
    with mj.enable_x64(True):
        yield


def random(*shape, dtype=float):
    x = RNG.normal(size=shape)
    return x if dtype is float else x + 1j * RNG.normal(size=shape)


def slope(fun, xs, ts, step=1e-6):
    """Central differences of a NumPy function."""
    high, low = (fun(*(x + s * t for x, t in zip(xs, ts))) for s in (step, -step))
    return (high - low) / (2 * step)


def pushed(fun, xs, ts):
    return np.asarray(mj.jit(lambda xs, ts: mj.jvp(fun, xs, ts)[1])(tuple(xs), tuple(ts)))


def adjoint_agrees(fun, xs, ts):
    """Re <ct, J t> = Re <J^T ct, t>: reverse mode transposes forward mode."""

    def both(xs, ts):
        out, pull = mj.vjp(fun, *xs)
        _, moved = mj.jvp(fun, xs, ts)
        left = (jnp.cos(jnp.real(out)) * moved).sum()
        pulled = pull(jnp.cos(jnp.real(out)).astype(out.dtype))
        return left.real, sum((p * t).sum() for p, t in zip(pulled, ts)).real

    left, right = mj.jit(both)(tuple(xs), tuple(ts))
    np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("m, n, rank", [(4, 2, 2), (2, 4, 2), (4, 3, 1), (3, 4, 2)])
def test_derivatives_of_pinv(doubles, m, n, rank, dtype):
    left, right = random(m, rank, dtype=dtype), random(rank, n, dtype=dtype)
    ts = random(m, rank, dtype=dtype), random(rank, n, dtype=dtype)
    fun = lambda l, r: linalg.pinv(l @ r)  # noqa: E741
    expected = slope(lambda l, r: np.linalg.pinv(l @ r), (left, right), ts)  # noqa: E741
    np.testing.assert_allclose(pushed(fun, (left, right), ts), expected, 1e-6, 1e-6)
    adjoint_agrees(fun, (left, right), ts)


@pytest.mark.parametrize("dtype", [float, complex])
def test_pinv_of_hermitian_matrices_moves_with_their_hermitian_part(doubles, dtype):
    a, t = random(3, 3, dtype=dtype), random(3, 3, dtype=dtype)  # neither is Hermitian
    reference = lambda a: np.linalg.pinv((a + a.conj().T) / 2)
    fun = lambda a: linalg.pinv(a, hermitian=True)
    np.testing.assert_allclose(fun(a), reference(a), 1e-9)
    expected = slope(reference, (a,), (t,))
    np.testing.assert_allclose(pushed(fun, (a,), (t,)), expected, 1e-6, 1e-6)
    adjoint_agrees(fun, (a,), (t,))


def test_equal_singular_values_do_no_harm(doubles):
    a, t, b = np.eye(3, 2), random(3, 2), random(3)
    for fun, reference in (
        (linalg.pinv, np.linalg.pinv),
        (lambda a: linalg.lstsq(a, b)[0], lambda a: np.linalg.lstsq(a, b)[0]),
    ):
        expected = slope(reference, (a,), (t,))
        np.testing.assert_allclose(pushed(fun, (a,), (t,)), expected, 1e-6, 1e-6)
        rate = lambda a, fun=fun: mj.jvp(fun, (a,), (t,))[1]
        second = (reference(a + 1e-4 * t) + reference(a - 1e-4 * t) - 2 * reference(a)) * 1e8
        np.testing.assert_allclose(pushed(rate, (a,), (t,)), second, 1e-4, 1e-4)


# ------------------------------------------------------------------------ least squares


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (2, 2)])
def test_least_squares_of_zero(shape):
    a = np.zeros(shape, np.float32)
    b = np.ones(shape[0], np.float32)
    x, residuals, rank, s = linalg.lstsq(a, b)
    assert not x.any() and x.shape == (shape[1],) and rank == 0 and not s.any()
    assert residuals.tolist() == [shape[0]]
    for rcond in (0.0, 0.5, -1.0):
        assert linalg.lstsq(a, b, rcond)[2] == 0
    x, residuals, rank, s = linalg.lstsq(a, b, numpy_resid=True)
    assert residuals.shape == (0,) and residuals.dtype == a.dtype and not x.any()
    for g in mj.grad(lambda a, b: linalg.lstsq(a, b)[0].sum(), (0, 1))(a, b):
        assert not np.asarray(g).any()


@pytest.mark.parametrize("m, n", [(0, 2), (2, 0), (0, 0)])
@pytest.mark.parametrize("tail", [(), (3,)])
def test_least_squares_of_empty_arrays(m, n, tail):
    x, residuals, rank, s = linalg.lstsq(jnp.ones((m, n)), jnp.ones((m, *tail)))
    assert x.shape == (n, *tail) and not x.any()
    assert residuals.tolist() == [float(m)] * (tail or (1,))[0]
    assert rank == 0 and rank.dtype == jnp.int32 and not rank.weak_type
    assert s.shape == (0,)


def test_the_cutoff_of_least_squares():
    a = np.diag([1.0, 1e-3, 1e-5, 2e-8]).astype(np.float32)
    b = np.ones(4, np.float32)
    assert linalg.lstsq(a, b)[2] == 3  # 4 eps
    ranks = [int(linalg.lstsq(a, b, r)[2]) for r in (1e-9, -1.0, 1e-4, 1e-2, 2.0)]
    assert ranks == [4, 3, 2, 1, 0]
    traced = mj.jit(lambda r: linalg.lstsq(a, b, r)[2])
    assert [int(traced(r)) for r in (1e-4, -1.0)] == [2, 3]


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("m, n, rank", [(4, 2, 2), (2, 4, 2), (4, 3, 1)])
def test_derivatives_of_least_squares(doubles, m, n, rank, dtype):
    shapes = (m, rank), (rank, n), (m, 2)
    xs, ts = ([random(*s, dtype=dtype) for s in shapes] for _ in range(2))
    fun = lambda l, r, b: linalg.lstsq(l @ r, b)[0]  # noqa: E741
    expected = slope(lambda l, r, b: np.linalg.lstsq(l @ r, b)[0], xs, ts)  # noqa: E741
    np.testing.assert_allclose(pushed(fun, xs, ts), expected, 1e-6, 1e-6)
    adjoint_agrees(fun, xs, ts)


def test_derivatives_of_least_squares_with_a_cutoff(doubles):
    a, t, b = np.diag([3.0, 2.0, 1.0])[:, :3] + 0.1, random(3, 3), random(3)
    expected = slope(lambda a: np.linalg.lstsq(a, b, 0.5)[0], (a,), (t,))
    got = pushed(lambda a: linalg.lstsq(a, b, 0.5)[0], (a,), (t,))
    np.testing.assert_allclose(got, expected, 1e-5, 1e-5)


# -------------------------------------------------------------------- stacks of systems

STACKS = [
    ((2, 1, 3, 3), (4, 3, 2)),
    ((3, 3), (2, 3, 1)),
    ((2, 3, 3), (3, 2)),
    ((5, 3, 3), (3, 3)),
    ((2, 4, 3, 3), (3,)),
    ((1, 3, 3), (2, 1, 3, 2)),
    ((0, 3, 3), (3, 2)),
    ((2, 0, 0), (0, 2)),
]


@pytest.mark.parametrize("left, right", STACKS)
def test_solve_broadcasts_stacks(doubles, left, right):
    a, b = random(*left) + 4 * np.eye(left[-1]), random(*right)
    got = linalg.solve(a, b)
    expected = np.linalg.solve(a, b[:, None])[..., 0] if b.ndim == 1 else np.linalg.solve(a, b)
    np.testing.assert_allclose(got, expected, 1e-9)
    ts = random(*left), random(*right)
    adjoint_agrees(linalg.solve, (a, b), ts)
    if got.size:
        wide = (lambda b: b[:, None]) if b.ndim == 1 else (lambda b: b)
        rate = slope(lambda a, b: np.linalg.solve(a, wide(b)), (a, b), ts)
        np.testing.assert_allclose(
            pushed(linalg.solve, (a, b), ts), rate.reshape(got.shape), 1e-6, 1e-6
        )


# ----------------------------------------------------------------------- smaller matters


def test_modes_of_qr():
    a = random(4, 2).astype(np.float32)
    shapes = {
        "reduced": [(4, 2), (2, 2)],
        "full": [(4, 2), (2, 2)],  # NumPy's old name
        "complete": [(4, 4), (4, 2)],
        "raw": [(2, 4), (2,)],
    }
    for mode, expected in shapes.items():
        assert [x.shape for x in linalg.qr(a, mode=mode)] == expected
    assert linalg.qr(a, mode="r").shape == (2, 2)


def test_pivots_of_matrices_without_rows_or_columns():
    for m, n in ((0, 2), (2, 0)):
        result = la.qr(jnp.zeros((m, n)), pivoting=True)
        assert result[2].tolist() == list(range(n))


@pytest.mark.parametrize("m, n", [(2, 4), (4, 2)])
def test_derivative_of_pivoted_qr(doubles, m, n):
    a, t = random(m, n), random(m, n)
    fun = lambda a: la.qr(a, pivoting=True, full_matrices=False)[1]
    expected = slope(lambda a: np.asarray(fun(a)), (a,), (t,))
    np.testing.assert_allclose(pushed(fun, (a,), (t,)), expected, 1e-6, 1e-6)


def test_cholesky_reads_the_lower_triangle_for_either_factor():
    a = np.array([[4.0, 7.0], [2.0, 5.0]], np.float32)
    low = [[2.0, 0.0], [1.0, 2.0]]
    np.testing.assert_allclose(linalg.cholesky(a, symmetrize_input=False), low)
    got = linalg.cholesky(a, upper=True, symmetrize_input=False)
    np.testing.assert_allclose(got, np.transpose(low))


def test_logarithms_of_singular_determinants_rise_without_bound():
    a = jnp.array([[1.0, 2.0], [2.0, 4.0]])
    expected = [[np.inf, -np.inf], [-np.inf, np.inf]]
    assert mj.grad(lambda a: linalg.slogdet(a)[1])(a).tolist() == expected
    one = jnp.zeros((1, 1))
    assert mj.grad(lambda a: linalg.slogdet(a)[1])(one).tolist() == [[np.inf]]


def test_determinants_with_overflowing_partial_products():
    with np.errstate(all="ignore"):
        for diagonal, expected in (
            ([1e20, 1e20, 1e-20, 1e-20], 1.0),
            ([1e-30, 1e-30, 1e30, -1e30], -1.0),
            ([1e20] * 4, np.inf),
            ([1e20, -1e20, 1e20, 1e20], -np.inf),
            ([1e-20] * 4, 0.0),
            ([1e20, 1e20, 1e20, 0.0], 0.0),
            ([2.0, 3.0, 5.0, 7.0], 210.0),
            ([1.0, np.nan, 1.0, 1.0], np.nan),
        ):
            got = linalg.det(np.diag(diagonal).astype(np.float32))
            np.testing.assert_allclose(got, expected, rtol=1e-4)


@pytest.mark.parametrize("n, slope", [(1, [[0.5]]), (2, [[1.0, -1.0], [-0.5, 1.0]])])
def test_small_determinants_in_half_precision(n, slope):
    a = jnp.array([[2.0, 1.0], [2.0, 2.0]], jnp.float16)[:n, :n]
    sign, log = linalg.slogdet(a)
    assert sign == 1 and log == np.float16(np.log(2)) and log.dtype == jnp.float16
    got = mj.grad(lambda a: linalg.slogdet(a)[1])(a)
    np.testing.assert_allclose(got, slope, atol=1e-2)


def test_norms_of_empty_arrays_and_orders_by_name():
    nothing = np.zeros((0, 2), np.float32)
    assert linalg.norm(nothing, 1) == linalg.norm(nothing, np.inf) == 0
    for x, order in ((nothing.T, -1), (nothing, -np.inf), (nothing, -2)):
        with pytest.raises(ValueError, match="which has no identity"):
            linalg.norm(x, order)
    with pytest.raises(ValueError, match="which has no identity"):
        linalg.norm(nothing[:, 0], -np.inf)
    with pytest.raises(ValueError, match=r"Use '-jax\.numpy\.inf' instead"):
        linalg.norm(np.ones(2), "-inf")


@pytest.mark.parametrize("dtype", [float, complex])
def test_second_derivatives_of_singular_determinants(doubles, dtype):
    """Of any rank, and where singular values are equal."""
    left, right, t = (random(4, 4, dtype=dtype) for _ in range(3))
    stack = np.stack(
        [
            left @ np.diag(d) @ right
            for d in ([1, 2, 3, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0])
        ]
        + [np.diag([1.0, 1.0, 1.0, 0.0])]
    )

    def rate(a):
        return mj.jvp(linalg.det, (a,), (t + 0 * a,))[1]

    size = 1e-3  # the determinant is a polynomial of degree 4 along t
    near, far = (
        np.linalg.det(stack + k * size * t)
        + np.linalg.det(stack - k * size * t)
        - 2 * np.linalg.det(stack)
        for k in (1, 2)
    )
    expected = (16 * near - far) / (12 * size**2)
    got = mj.jit(mj.vmap(lambda a: mj.jvp(rate, (a,), (t,))[1]))(stack)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_tolerances_of_pinv_broadcast():
    a = np.diag([1.0, 0.3]).astype(np.float32)
    tolerances = np.array([0.1, 0.5], np.float32)
    expected = [np.linalg.pinv(a, r) for r in tolerances]
    np.testing.assert_allclose(linalg.pinv(a, tolerances), expected, rtol=1e-6)
    both = linalg.pinv(np.stack([a] * 3), tolerances[:, None])
    assert both.shape == (2, 3, 2, 2)
    np.testing.assert_allclose(both[:, 1], expected, rtol=1e-6)


def test_derivatives_of_empty_factors():
    a = jnp.zeros((0, 0))
    for fun in (la.lu, linalg.inv, linalg.det, linalg.slogdet):
        for derivative in derivatives(fun).values():
            assert mj.tree.leaves(mj.eval_shape(derivative, a))
    assert mj.eval_shape(derivatives(linalg.eigvals)["vjp"], a)[0].shape == (0, 0)


def test_orders_and_tolerances():
    a = np.array([[3.0, 0.0], [0.0, 4.0]], np.float32)
    assert linalg.norm(a, "f") == linalg.norm(a, "fro") == 5.0
    assert linalg.cond(np.zeros((2, 2), np.float32), -2) == np.inf
    with pytest.raises(ValueError, match="only one of tol or rtol"):
        linalg.matrix_rank(a, 0.1, tol=0.1)
    assert linalg.svd(a, subset_by_index=(0, 2)).U.shape == (2, 2)  # all of them


def test_default_cutoffs_of_very_long_matrices_stay_below_1():
    """In float32, a million times eps is above 0.1; in NumPy's float64 it is not."""
    n = 2**20
    a = np.zeros((n, 2), np.float32)
    a[:2] = [[1.0, 0.0], [0.0, 0.05]]
    a[n // 2] = [2.0, 0.05]
    expected = np.linalg.pinv(a.astype(np.float64))
    rows = [0, 1, n // 2, n - 1]
    np.testing.assert_allclose(linalg.pinv(a)[:, rows], expected[:, rows], 2e-4, 2e-5)
