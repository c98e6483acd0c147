"""Reductions, positions, cumulative operations, `lax.reduce`: values, laws, errors."""

import functools
import gc
import itertools
import weakref

import ml_dtypes
import numpy as np
import pytest
from laws import obeys, same
from scipy.special import logsumexp

import minijax as mj
from minijax import lax
from minijax.prims.reduce.generic import staged_computation

NUMBERS = ["int8", "uint8", "int32", "bfloat16", "float16", "float32", "complex64"]
SUMS = {"reduce_sum": np.sum, "reduce_prod": np.prod}
EXTREMES = {"reduce_max": np.max, "reduce_min": np.min}
BITWISE = {
    "reduce_and": np.bitwise_and,
    "reduce_or": np.bitwise_or,
    "reduce_xor": np.bitwise_xor,
}
AXES = [(), (0,), (1,), (2,), (0, 2), (2, 0), (0, 1, 2)]


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def small_integers(*shape):
    return np.random.default_rng(3).integers(0, 3, size=shape)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", SUMS)
def test_sums_and_products(name, dtype):
    x = small_integers(2, 3, 2).astype(dtype)
    for axes in AXES if dtype == "float32" else [(0, 2)]:
        got = getattr(lax, name)(x, axes)
        assert got.dtype == dtype
        wide = np.complex128 if dtype == "complex64" else np.float64
        expected = SUMS[name](x.astype(wide), axis=axes)
        np.testing.assert_array_equal(np.asarray(got).astype(wide), expected)


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool", "float8_e4m3fn", "int4"])
@pytest.mark.parametrize("name", EXTREMES)
def test_extrema(name, dtype):
    x = small_integers(2, 3, 2).astype(dtype)
    for axes in AXES if dtype == "float32" else [(0, 2)]:
        got = getattr(lax, name)(x, axes)
        assert got.dtype == dtype
        wide = np.complex128 if dtype == "complex64" else np.float64
        expected = EXTREMES[name](x.astype(wide), axis=axes)
        np.testing.assert_array_equal(np.asarray(got).astype(wide), expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32"])
@pytest.mark.parametrize("name", BITWISE)
def test_bits(name, dtype):
    x = small_integers(4, 3).astype(dtype)
    same(getattr(lax, name)(x, (0,)), BITWISE[name].reduce(x, axis=0))
    empty = BITWISE[name].identity
    expected = np.full(3, bool(empty) if dtype == "bool" else np.array(empty).astype(dtype))
    same(getattr(lax, name)(x[:0], (0,)), expected.astype(dtype))
    obeys(lambda x: getattr(lax, name)(x, (0,)), x)


def test_empty_reductions():
    x = np.zeros((0, 2), np.float32)
    same(lax.reduce_sum(x, (0,)), np.zeros(2, np.float32))
    same(lax.reduce_prod(x, (0,)), np.ones(2, np.float32))
    same(lax.reduce_max(x, (0,)), np.full(2, -np.inf, np.float32))
    same(lax.reduce_min(x, (0,)), np.full(2, np.inf, np.float32))
    same(lax.reduce_max(x.astype(np.int8), (0,)), np.full(2, -128, np.int8))
    same(lax.reduce_min(x.astype(np.uint8), (0,)), np.full(2, 255, np.uint8))
    same(lax.reduce_max(x.astype(bool), (0,)), np.zeros(2, bool))
    fn = ml_dtypes.float8_e4m3fn  # no infinity
    same(lax.reduce_max(x.astype(fn), (0,)), np.full(2, ml_dtypes.finfo(fn).min))
    same(lax.reduce_max(x, (1,)), np.zeros(0, np.float32))


def test_nan_wins():
    x = np.array([1, np.nan, 2], np.float32)
    for function in (lax.reduce_max, lax.reduce_min, lax.reduce_sum):
        assert np.isnan(function(x, (0,)))


@pytest.mark.parametrize("name", [*SUMS, *EXTREMES])
def test_laws(name):
    x = draw(2, 3, 2)
    for axes in [(1,), (0, 2)]:
        obeys(lambda x, axes=axes: getattr(lax, name)(x, axes), x, exact=False)
    obeys(lambda x: getattr(lax, name)(x, ()), x[0, 0, 0])


def test_a_product_with_zeros_has_its_derivative():
    x = np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]])
    slope = mj.grad(lambda x: lax.reduce_sum(lax.reduce_prod(x, (1,)), (0,)))(x)
    np.testing.assert_allclose(slope, [[6, 0, 0], [0, 0, 0], [6, 3, 2]])
    for n in range(1, 9):
        obeys(lambda x: lax.reduce_prod(x, (0,)), draw(n), lanes=False, exact=False)


def test_equal_extrema_share_the_derivative():
    slope = mj.grad(lambda x: lax.reduce_max(x, (0,)))(np.array([1.0, 3.0, 3.0], "f"))
    same(slope, np.array([0, 0.5, 0.5], "f"))


def test_second_derivative_of_a_product():
    x = np.array([2.0, 3.0, 4.0], np.float32)
    second = mj.jacfwd(mj.grad(lambda x: lax.reduce_prod(x, (0,))))(x)
    np.testing.assert_allclose(second, [[0, 4, 3], [4, 0, 2], [3, 2, 0]])


# -------------------------------------------------------------------------- positions


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions(name, dtype):
    x = small_integers(3, 4, 2).astype(dtype)
    for axis, index in itertools.product(range(3), ("int32", "uint8")):
        expected = getattr(np, name)(x.astype(np.float64), axis=axis).astype(index)
        same(getattr(lax, name)(x, axis, index), expected)
    obeys(lambda x: getattr(lax, name)(x, 1, "int32"), x)


def test_positions_of_nan_and_of_complex_numbers():
    x = np.array([1, np.nan, 5, np.nan], np.float32)
    assert lax.argmax(x, 0, int) == lax.argmin(x, 0, int) == 1
    long = np.arange(6000, dtype=np.float32).reshape(2, 3000)
    long[:, [17, 900, 2999]] = np.nan
    assert lax.argmax(long, 1, int).tolist() == lax.argmin(long, 1, int).tolist()
    assert lax.argmax(long, 1, int).tolist() == [17, 17]
    assert lax.argmin(long[0, 16:].reshape(2, -1), 0, int).tolist()[:2] == [0, 0]
    z = np.array([1 + 1j, 2 - 1j, 2 + 1j, 1 - 1j], np.complex64)
    assert lax.argmax(z, 0, int) == 2 and lax.argmin(z, 0, int) == 3


def test_positions_have_zero_derivatives():
    x = draw(4)
    obeys(lambda x: lax.argmax(x, 0, np.int32), x)
    slope = mj.grad(lambda x: lax.reduce_sum(lax.mul(x, x), (0,)))(x.astype(np.float32))
    assert slope.shape == (4,)


# ------------------------------------------------------------------------- cumulative


def log_add(x, axis):
    return np.logaddexp.accumulate(x, axis=axis)


CUMULATIVE = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "cummax": np.maximum.accumulate,
    "cummin": np.minimum.accumulate,
    "cumlogsumexp": log_add,
}


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("name", CUMULATIVE)
def test_cumulative_values(name, dtype):
    x = small_integers(4, 3).astype(dtype)
    if name == "cumlogsumexp" and dtype in ("int32", "uint8"):
        with pytest.raises(TypeError, match="cumlogsumexp does not accept dtype"):
            lax.cumlogsumexp(x)
        return
    wide = x.astype(np.complex128 if dtype == "complex64" else np.float64)
    if name == "cumlogsumexp":
        wide = wide.real
    function = CUMULATIVE[name]
    for axis in (0, 1):
        got = getattr(lax, name)(x, axis)
        assert got.dtype == dtype
        tolerance = 3e-2 if dtype == "bfloat16" else 1e-6
        np.testing.assert_allclose(
            np.asarray(got).astype(complex), function(wide, axis=axis), rtol=tolerance
        )
        back = np.flip(function(np.flip(wide, axis), axis=axis), axis)
        got = getattr(lax, name)(x, axis=axis, reverse=True)
        np.testing.assert_allclose(np.asarray(got).astype(complex), back, rtol=tolerance)


@pytest.mark.parametrize("name", CUMULATIVE)
def test_cumulative_laws(name):
    x = draw(3, 4)
    for axis, reverse in [(0, False), (1, True)]:
        cumulate = functools.partial(getattr(lax, name), axis=axis, reverse=reverse)
        obeys(cumulate, x, exact=False)
    same(getattr(lax, name)(np.zeros((0, 2), "f")), np.zeros((0, 2), "f"))
    same(getattr(lax, name)(np.zeros((2, 0), "f")), np.zeros((2, 0), "f"))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_cumulative_derivatives_of_each_length(n):
    x = draw(n)
    for function in (lax.cumprod, lax.cummax, lax.cumlogsumexp):
        obeys(function, x, lanes=False, exact=False)


def test_cumulative_products_with_zeros():
    x = np.array([2.0, 0.0, 3.0])
    jacobian = mj.jacrev(lax.cumprod)(x)
    np.testing.assert_allclose(jacobian, [[1, 0, 0], [0, 2, 0], [0, 6, 0]])


@pytest.mark.parametrize("reverse", [False, True])
def test_second_and_third_derivatives_of_log_sum_exp_at_ties(reverse):
    """ln(e^x1 + ...) at equal numbers: p = 1/n each, then p_i d_ij - p_i p_j, ..."""
    x = np.array([0.5, 0.5, 0.5, -np.inf, -np.inf, 0.5], np.float32)
    p = np.isfinite(x) / 4
    eye = np.eye(6)
    second = np.diag(p) - np.outer(p, p)
    third = (
        np.einsum("i,ij,jk->ijk", p, eye, eye)
        - np.einsum("ij,i,k->ijk", eye, p, p)
        - np.einsum("ik,i,j->ijk", eye, p, p)
        - np.einsum("jk,j,i->ijk", eye, p, p)
        + 2 * np.einsum("i,j,k->ijk", p, p, p)
    )
    last = 0 if reverse else -1
    fun = lambda x: lax.cumlogsumexp(x, reverse=reverse)[last]
    np.testing.assert_allclose(mj.grad(fun)(x), p, atol=1e-6)
    np.testing.assert_allclose(mj.hessian(fun)(x), second, atol=1e-6)
    np.testing.assert_allclose(mj.jacfwd(mj.hessian(fun))(x), third, atol=1e-6)


def test_log_sum_exp_of_nan_has_no_derivative():
    x = np.array([1.0, np.nan, 2.0], np.float32)
    rates = mj.jvp(lax.cumlogsumexp, (x,), (np.ones_like(x),))[1]
    np.testing.assert_array_equal(rates, [1.0, np.nan, np.nan])


def test_log_sum_exp_of_large_numbers():
    x = np.array([-np.inf, -1000, 1000, 1000, np.inf], np.float32)
    expected = [-np.inf, -1000, 1000, 1000 + np.log(2), np.inf]
    np.testing.assert_allclose(lax.cumlogsumexp(x), expected, rtol=1e-6)
    slope = mj.grad(lambda x: lax.cumlogsumexp(x)[3])(x[:4])
    np.testing.assert_allclose(slope, [0, 0, 0.5, 0.5])
    z = np.array([1 + 1j, 0.5 - 2j], np.complex64)
    expected = logsumexp(z)
    np.testing.assert_allclose(lax.cumlogsumexp(z)[1], expected, rtol=1e-5)


# ------------------------------------------------------------------------- lax.reduce


def affine(a, b):
    """Composition of maps x -> a0 x + a1: associative, not commutative."""
    return lax.mul(a[0], b[0]), lax.add(lax.mul(a[1], b[0]), b[1])


def total_of_maps(x, y, axes):
    one, zero = np.array(1, x.dtype)[()], np.array(0, x.dtype)[()]
    return lax.reduce((x, y), (one, zero), affine, axes)


def test_reduce_by_any_computation():
    x, y = draw(5).astype(np.float32), draw(5, seed=1).astype(np.float32)
    scale, shift = 1.0, 0.0
    for a, b in zip(x, y, strict=True):
        scale, shift = scale * a, shift * a + b
    got = total_of_maps(x, y, (0,))
    np.testing.assert_allclose(got, [scale, shift], rtol=1e-4, atol=1e-5)
    table = np.stack([x, 2 * x])
    both = total_of_maps(table, np.stack([y, y]), (1,))
    np.testing.assert_allclose(both[0], [scale, 32 * scale], rtol=1e-4)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 7])
def test_initial_value_counts_once_under_derivatives(n):
    x = np.arange(1.0, 2 * n + 1).reshape(n, 2).astype(np.float32)
    fun = lambda x: lax.reduce(x, np.float32(3), lambda a, b: a * b, (0,))
    got, moved = mj.jvp(fun, (x,), (x,))
    np.testing.assert_allclose(got, 3 * np.prod(x, 0))
    np.testing.assert_allclose(moved, n * got)


def test_reduce_laws():
    obeys(lambda x, y: total_of_maps(x, y, (0,)), draw(5), draw(5, seed=1), exact=False)
    obeys(lambda x, y: total_of_maps(x, y, (1,)), draw(2, 3), draw(2, 3, seed=1), exact=False)

    def largest(a, b):  # of a value, with where it is
        keep = lax.ge(a[0], b[0])
        return lax.select(keep, a[0], b[0]), lax.select(keep, a[1], b[1])

    def where(x):
        positions = lax.broadcasted_iota(np.int32, (2, 3), 1)
        lowest = np.array(-np.inf, x.dtype)[()]
        return lax.reduce((x, positions), (lowest, np.int32(0)), largest, (1,))

    obeys(where, draw(2, 3), exact=False)


@pytest.mark.parametrize(
    ("computation", "init", "primitive", "dtype"),
    [
        (lax.add, 0, "reduce_sum", "float32"),
        (lax.mul, 1.0, "reduce_prod", "float32"),
        (lax.max, -np.inf, "reduce_max", "bfloat16"),
        (lax.min, np.int32(2**31 - 1), "reduce_min", "int32"),
        (lax.bitwise_and, True, "reduce_and", "bool"),
        (lax.bitwise_and, -1, "reduce_and", "int8"),
        (lax.bitwise_or, 0, "reduce_or", "uint8"),
        (lax.bitwise_xor, False, "reduce_xor", "bool"),
    ],
)
def test_monoids_become_their_primitives(computation, init, primitive, dtype):
    x = small_integers(2, 3).astype(dtype)

    def function(x):
        return lax.reduce(x, init, computation, (0,))

    (eqn,) = mj.make_jaxpr(function)(x).eqns
    assert eqn.primitive.name == primitive
    same(function(x), getattr(lax, primitive)(x, (0,)))


def test_initial_value_is_used():
    x = np.ones((2, 3), np.float32)
    (eqn,) = mj.make_jaxpr(lambda x: lax.reduce(x, 1.0, lax.add, (0,)))(x).eqns
    assert eqn.primitive.name == "reduce"
    same(lax.reduce(x, 5.0, lax.max, (0, 1)), np.float32(5))
    same(lax.reduce(x, 5.0, lax.max, (-1,)), np.full(2, 5, np.float32))
    same(mj.jit(lambda x, v: lax.reduce(x, v, lax.max, (0,)))(x, 5.0), np.full(3, 5, "f"))


def test_reduce_keeps_trees():
    x = np.ones((2, 3), np.float32)
    out = lax.reduce({"a": x}, {"a": 0.0}, lambda p, q: {"a": lax.add(p["a"], q["a"])}, (0,))
    assert list(out) == ["a"] and out["a"].shape == (3,)


def test_reduce_with_captured_arrays():
    shift = mj.jit(lambda: lax.full((1,), 3.0))()
    x = np.ones((2, 3), np.float32)

    def shifted_max(a, b):
        return lax.max(lax.max(a, b), lax.reduce_sum(shift, (0,)))

    same(lax.reduce(x, 0.0, shifted_max, (0,)), np.full(3, 3, np.float32))
    same(mj.jit(lambda x: lax.reduce(x, 0.0, shifted_max, (0,)))(x), np.full(3, 3, "f"))


def test_a_computation_is_staged_once_and_not_kept_alive():
    calls = []

    def count(a, b):
        calls.append(a)
        return lax.add(a, b)

    x = np.ones(3, np.float32)
    for _ in range(3):
        lax.reduce(x, 1.0, count, (0,))
    assert len(calls) == 1
    calls.clear()

    class Sum:
        def __call__(self, a, b):
            return lax.add(a, b)

    computation = Sum()
    avals = mj.make_jaxpr(lambda x: x)(1.0).in_avals
    treedef = mj.tree.structure(0)
    first = staged_computation(computation, "reduce", treedef, avals)
    assert staged_computation(computation, "reduce", treedef, avals) is first
    alive = weakref.ref(computation)
    del computation, first
    gc.collect()
    assert alive() is None


# --------------------------------------------------------------------------- messages


def test_axes_are_checked():
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"duplicate value in 'axes' of reduction: \(1, 1\)"):
        lax.reduce_sum(x, (1, 1))
    for axis in (2, -1):
        with pytest.raises(ValueError) as error:
            lax.reduce_max(x, (axis,))
        text = str(error.value)
        assert text.startswith(
            f"reduction axes ({axis},) contains out-of-bounds indices for float32[2,3]."
        )
        assert "counts axes from 0 up to 1" in text
    with pytest.raises(TypeError):
        lax.reduce_sum(x, 1)


def test_dtypes_are_checked():
    with pytest.raises(TypeError, match="reduce_sum does not accept dtype bool"):
        lax.reduce_sum(np.ones(2, bool), (0,))
    with pytest.raises(TypeError, match="reduce_and does not accept dtype float32"):
        lax.reduce_and(np.ones(2, np.float32), (0,))
    with pytest.raises(TypeError, match="cumsum does not accept dtype bool"):
        lax.cumsum(np.ones(2, bool))


def test_positions_are_checked():
    x = np.ones((0, 3), np.float32)
    with pytest.raises(
        ValueError, match="argmin and argmax require non-empty reduced dimension"
    ):
        lax.argmax(x, 0, int)
    with pytest.raises(ValueError, match=r"Invalid axis 2 for operand shape \(0, 3\)"):
        lax.argmin(x, 2, int)
    with pytest.raises(TypeError, match="index_dtype must be an integer type, but got f"):
        lax.argmax(x, 1, float)


def test_cumulative_axes_are_checked():
    with pytest.raises(ValueError, match="cumsum: axis 1 is out of bounds"):
        lax.cumsum(np.ones(3, np.float32), 1)
    with pytest.raises(ValueError, match="XLA operations do not allow negative axes"):
        lax.cumsum(np.ones(3, np.float32), -1)
    with pytest.raises(ValueError, match="cummax: axis 0 is out of bounds for array of"):
        lax.cummax(1.0)


def test_reduce_is_checked():
    x = np.ones((2, 3), np.float32)
    cases = [
        ((x, x), (0.0,), lax.add, ValueError, "Operands must have the same tree structure"),
        (x, x[0], affine, ValueError, r"reduce found non-scalar initial value: \[\(3,\)\]"),
        (x, 0, lambda a, b: a, TypeError, "operand dtypes should match corresponding"),
        ((x, x.T), (0.0, 0.0), affine, ValueError, "reduce operands must have one shape"),
        (x, 0.0, lambda a, b: (a, b), ValueError, "must return a tree like its operands"),
        (x, 0.0, lambda a, b: lax.gt(a, b), TypeError, "must return scalars of its oper"),
        ((), (), lax.add, ValueError, "reduce needs at least one operand"),
    ]
    for operands, inits, computation, kind, message in cases:
        with pytest.raises(kind, match=message):
            lax.reduce(operands, inits, computation, (0,))
    with pytest.raises(ValueError, match="out-of-bounds"):
        lax.reduce(x, 0.0, lambda a, b: a, (2,))


def test_unsupported_reduce_raises():
    x = np.ones((2, 3), np.float32)

    def general(a, b):
        return lax.add(lax.mul(a, b), 1.0)

    with pytest.raises(NotImplementedError, match="can't close over Tracers"):
        mj.jit(lambda x, y: lax.reduce(x, 0.0, lambda a, b: lax.mul(a, y), (0,)))(x, 1.0)
    with pytest.raises(NotImplementedError, match="vmapped over its initial values"):
        mj.vmap(lambda x, v: lax.reduce(x, v, general, (0,)))(x, x[:, 0])
    with pytest.raises(NotImplementedError, match="with respect to its initial values"):
        mj.jvp(lambda v: lax.reduce(x, v, general, (0,)), (1.0,), (1.0,))
    with pytest.raises(NotImplementedError, match="out_sharding only for sums"):
        lax.reduce(x, 0.0, general, (0,), out_sharding=object())


@pytest.mark.parametrize("reduce", [lax.reduce_max, lax.reduce_min])
def test_the_extremum_of_no_elements_is_a_constant(reduce):
    x = np.zeros((0, 2), np.float32)
    out, tangent = mj.jvp(lambda x: reduce(x, (0,)), (x,), (x,))
    np.testing.assert_array_equal(tangent, [0, 0])
    assert np.isinf(out).all()
    grad = mj.grad(lambda x: mj.numpy.max(x, initial=-2.0))(x)
    assert grad.shape == (0, 2)
    assert mj.jvp(lambda x: mj.numpy.max(x, initial=-2.0), (x,), (x,))[1] == 0
