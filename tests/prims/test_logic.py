"""Comparisons, bits, choice and clamping: values, derivatives, lanes, messages."""

import ml_dtypes
import numpy as np
import pytest
from laws import obeys, same

import minijax as mj
from minijax import lax
from minijax.prims.random import implementations, key_arrays
from minijax.types import dtypes

COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
DTYPES = ["bool", "int4", "uint8", "int32", "float8_e4m3fn", "bfloat16", "float32"]


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name, dtype):
    x = np.array([0, 1, 1, 3]).astype(dtype)
    y = np.array([1, 1, 0, 2]).astype(dtype)
    got = getattr(lax, name)(x, y)
    assert got.dtype == np.bool_ and not got.weak_type
    np.testing.assert_array_equal(got, COMPARISONS[name](x, y))


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison_laws(name):
    function = getattr(lax, name)
    x, y = draw(2, 3), draw(2, 3, seed=1)
    obeys(function, x, y)
    obeys(function, x, np.float64(0.1))
    obeys(function, x, y[:1])
    nan = np.array([np.nan, 1.0])
    np.testing.assert_array_equal(function(nan, nan), COMPARISONS[name](nan, nan))


def test_complex_numbers_are_equal_or_not():
    z = np.array([1 + 1j, 1 - 1j], np.complex64)
    np.testing.assert_array_equal(lax.eq(z, z[::-1].copy()), [False, False])
    np.testing.assert_array_equal(lax.ne(z, z), [False, False])
    with pytest.raises(TypeError, match="lt does not accept dtype complex64"):
        lax.lt(z, z)


def test_total_order():
    order = np.array([-np.nan, -np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan], np.float32)
    order[0] = np.copysign(np.float32(np.nan), -1)
    n = len(order)
    left, right = (a.ravel() for a in np.meshgrid(order, order, indexing="ij"))
    rows, columns = (a.ravel() for a in np.meshgrid(range(n), range(n), indexing="ij"))
    np.testing.assert_array_equal(lax.lt_to_p.bind(left, right), rows < columns)
    np.testing.assert_array_equal(lax.le_to_p.bind(left, right), rows <= columns)
    np.testing.assert_array_equal(lax.eq_to_p.bind(left, right), rows == columns)
    i = np.arange(3)
    np.testing.assert_array_equal(lax.lt_to_p.bind(i, i[::-1].copy()), i < i[::-1])


def test_comparisons_have_zero_derivatives():
    _, t = mj.jvp(lambda x: lax.gt(x, 0.0), (1.0,), (1.0,))
    assert t.dtype == dtypes.float0
    slope = mj.grad(lambda x: lax.select(lax.gt(x, 0.0), lax.mul(x, x), x))(3.0)
    assert slope == 6.0


def test_finite():
    x = np.array([0, np.inf, -np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(lax.is_finite(x), np.isfinite(x))
    with pytest.raises(TypeError, match="is_finite does not accept dtype int32"):
        lax.is_finite(1)


# ------------------------------------------------------------------------------- bits

BITWISE = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint32", "int4"])
@pytest.mark.parametrize("name", BITWISE)
def test_bits(name, dtype):
    x, y = np.arange(6).astype(dtype), np.arange(6)[::-1].astype(dtype)
    wide = np.bool_ if dtype == "bool" else np.int64
    got = getattr(lax, name)(x, y)
    assert got.dtype == dtype
    expected = BITWISE[name](x.astype(wide), y.astype(wide))
    np.testing.assert_array_equal(np.asarray(got).astype(wide), expected)
    if dtype != "int4":  # NumPy stacks it as int8
        obeys(getattr(lax, name), x, y)


def test_not():
    np.testing.assert_array_equal(lax.bitwise_not(np.array([True, False])), [False, True])
    x = np.array([0, 1, 255], np.uint8)
    np.testing.assert_array_equal(lax.bitwise_not(x), ~x)
    with pytest.raises(TypeError, match="not does not accept dtype float32"):
        lax.bitwise_not(1.0)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32"])
def test_shifts(dtype):
    bits = 8 * np.dtype(dtype).itemsize
    unsigned = f"uint{bits}"
    x = np.array([1, -2, 100, -128]).astype(dtype)
    for n in (0, 1, 3, bits - 1):
        by = np.full(4, n, dtype)
        same(lax.shift_left(x, by), np.left_shift(x, by))
        same(lax.shift_right_logical(x, by), (x.view(unsigned) >> n).view(dtype))
        signed = x.view(f"int{bits}")
        same(lax.shift_right_arithmetic(x, by), (signed >> n).view(dtype))
    same(lax.shift_left(x, np.full(4, bits, dtype)), np.zeros(4, dtype))
    same(lax.shift_right_logical(x, np.full(4, bits, dtype)), np.zeros(4, dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "uint4"])
def test_counting_bits(dtype):
    bits = ml_dtypes.iinfo(dtype).bits
    values = [0, 1, 5, 7]
    x = np.array(values).astype(dtype)
    same(lax.population_count(x), np.array([v.bit_count() for v in values]).astype(dtype))
    expected = np.array([bits - v.bit_length() for v in values]).astype(dtype)
    same(lax.clz(x), expected)


# ----------------------------------------------------------------------------- choice


def test_select_values():
    x, y = draw(2, 3), draw(2, 3, seed=1)
    p = x > 0
    with mj.enable_x64(True):
        same(lax.select(p, x, y), np.where(p, x, y))
        same(lax.select_n(p, x, y), np.where(p, y, x))
        same(lax.select(True, x, y), x)
        same(lax.select_n(p, x), x)
    same(lax.select(np.array([], bool), np.zeros(0, "f"), np.zeros(0, "f")), np.zeros(0, "f"))


@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_select_by_number(count):
    which = np.arange(8) % count
    cases = [np.arange(8) + 10 * i for i in range(count)]
    expected = np.choose(which, cases)
    for dtype in (np.int32, np.uint8):
        args = [c.astype(np.int32) for c in cases]
        same(lax.select_n(which.astype(dtype), *args), expected.astype(np.int32))


@pytest.mark.parametrize("dtype", DTYPES + ["complex64"])
def test_select_takes_any_dtype(dtype):
    x, y = np.array([1, 0]).astype(dtype), np.array([0, 1]).astype(dtype)
    got = lax.select(np.array([True, False]), x, y)
    same(got, np.array([1, 1]).astype(dtype))


def test_select_laws():
    x, y, p = draw(2, 3), draw(2, 3, seed=1), draw(2, 3, seed=2) > 0
    obeys(lax.select_n, p, x, y)
    obeys(lax.select_n, np.bool_(True), x, y)
    obeys(lax.select_n, np.int32(1), x, y)
    obeys(lax.select_n, np.array([[0, 1, 2], [2, 1, 0]]), x, y, x + 1)
    obeys(lax.select, p[0, 0], np.float64(1.5), np.float64(2.5))
    obeys(lambda x: lax.select(p, x, lax.full_like(x, 2.0)), x)


def test_select_rejects_incompatible_operands():
    x, p = np.ones(3, np.float32), np.ones(3, bool)
    with pytest.raises(ValueError, match="at least one case"):
        lax.select_n(p)
    with pytest.raises(TypeError, match="`which` must be boolean or integer type, got float32"):
        lax.select_n(x, x, x)
    with pytest.raises(TypeError, match="cannot have > 2 cases"):
        lax.select_n(p, x, x, x)
    with pytest.raises(TypeError, match="select cases must have the same shapes, got"):
        lax.select_n(p, x, np.float32(1))
    with pytest.raises(TypeError, match="must be scalar or have the same shape as cases"):
        lax.select_n(p[:2], x, x)
    with pytest.raises(TypeError) as error:
        lax.select_n(p, x, np.ones(3, np.int32))
    assert "got float32, int32" in str(error.value)
    assert "(Tip: jnp.where is a similar function" in str(error.value)


# ------------------------------------------------------------------------------ clamp


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bfloat16", "float32"])
def test_clamp_values(dtype):
    x = np.array([0, 3, 9]).astype(dtype)
    low, high = np.array(2).astype(dtype)[()], np.array(5).astype(dtype)[()]
    expected = np.array([2, 3, 5]).astype(dtype)
    same(lax.clamp(low, x, high), expected)
    full_bounds = [np.full(3, b) for b in (low, high)]
    same(lax.clamp(full_bounds[0], x, full_bounds[1]), expected)
    assert np.isnan(lax.clamp(0.0, np.nan, 1.0))


def test_clamp_laws():
    x = draw(2, 3)
    low, high = np.full((2, 3), -0.4), np.full((2, 3), 0.5)
    obeys(lax.clamp, low, x, high)
    obeys(lax.clamp, np.float64(-0.4), x, np.float64(0.5))
    obeys(lax.clamp, low, x, np.float64(0.5))
    obeys(lax.clamp, np.float64(-0.4), np.float64(0.2), np.float64(0.5))


def test_clamp_of_complex_numbers_compares_real_parts():  # recorded from JAX 0.10.2
    x = np.array([1.5 - 1j, 1.5 + 1j, 3 - 3j, 5j, np.nan], np.complex64)
    clamped = lax.clamp(np.complex64(1), x, np.complex64(2))
    same(clamped, np.array([1.5 - 1j, 1.5 + 1j, 2, 1, 2], np.complex64))


def test_clamp_rejects_incompatible_operands():
    x = np.ones(3, np.float32)
    with pytest.raises(TypeError, match=r"min\.shape == \(\), got min\.shape=\(2,\)"):
        lax.clamp(x[:2], x, x)
    with pytest.raises(TypeError, match=r"max\.shape == \(\), got max\.shape=\(1,\)"):
        lax.clamp(x, x, x[:1])
    with pytest.raises(TypeError, match="got int32, float32, int32"):
        lax.clamp(0, x, 1)


# ------------------------------------------------------------------------------- keys


def keys(*words):
    """Keys over given words, which know no arithmetic."""
    return key_arrays.random_wrap(
        np.array(words, np.uint32), implementations.find_impl("threefry2x32")
    )


def words(x):
    return np.asarray(key_arrays.random_unwrap(x))


def test_keys_are_equal_or_not():
    x, y = keys([1, 2], [3, 4]), keys([1, 2], [3, 5])
    np.testing.assert_array_equal(lax.eq(x, y), [True, False])
    np.testing.assert_array_equal(mj.jit(lax.ne)(x, y), [False, True])
    np.testing.assert_array_equal(mj.vmap(lax.eq)(x, y), [True, False])
    with pytest.raises(TypeError, match="lt does not accept dtype key<fry>"):
        lax.lt(x, y)


def test_keys_are_chosen_and_filled():
    x, y = keys([1, 2], [3, 4]), keys([5, 6], [7, 8])
    chosen = lax.select(np.array([True, False]), x, y)
    np.testing.assert_array_equal(words(chosen), [[1, 2], [7, 8]])
    chosen = mj.jit(mj.vmap(lax.select))(np.array([False, True]), x, y)
    np.testing.assert_array_equal(words(chosen), [[5, 6], [3, 4]])
    np.testing.assert_array_equal(words(lax.full_like(x, 0)), np.zeros((2, 2)))
    one = keys([1, 2])
    np.testing.assert_array_equal(
        words(lax.full((3,), lax.select(True, one, one)[0])), [[1, 2]] * 3
    )
    assert lax.convert_element_type(x, x.dtype) is x
    with pytest.raises(ValueError, match="Cannot convert_element_type from key"):
        lax.convert_element_type(x, np.uint32)


@pytest.mark.parametrize("shape", [(3, 1), (3, 2), (3, 2, 2)])
def test_unbatched_scalar_cases(shape):
    which = mj.numpy.arange(np.prod(shape)).reshape(shape) % 3 == 0
    pick = lambda w: lax.select(w, 2.0, mj.numpy.float32(5))
    expected = np.where(which, 2.0, 5.0)
    np.testing.assert_array_equal(mj.vmap(pick)(which), expected)
    np.testing.assert_array_equal(mj.vmap(pick, 1, 1)(which), expected)
    with pytest.raises(TypeError, match="must be scalar or have the same shape"):
        mj.jit(mj.vmap(lambda w, x: lax.select(w, x, x)))(which, mj.numpy.ones(3))
