"""Sorting and top_k: against NumPy, laws, order of special values, types, errors."""

import ml_dtypes
import numpy as np
import pytest
from laws import numbers, obeys, same

import minijax as mj
from minijax import lax
from minijax.prims.sort import sort_p

RANDOM = np.random.default_rng(0)


def f32(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def along(x, index, axis):
    return np.take_along_axis(x, np.asarray(index), axis)


SHAPES = [
    ((7,), 0),
    ((4, 5), 0),
    ((4, 5), -1),
    ((2, 3, 4), 1),
    ((0, 3), 0),
    ((3, 0), 0),
    ((1,), 0),
]


@pytest.mark.parametrize("shape, axis", SHAPES)
def test_sort(shape, axis):
    x, y = f32(*shape), f32(*shape)
    order = np.argsort(x, axis, kind="stable")
    same(lax.sort(x, axis), along(x, order, axis))
    same(lax.sort_key_val(x, y, axis), (along(x, order, axis), along(y, order, axis)))
    obeys(lambda x: lax.sort(x, axis), x)
    obeys(lambda x, y: lax.sort((x, y), axis), x, y)


def test_several_keys():
    x = RANDOM.integers(0, 3, (4, 9)).astype(np.int32)
    y, z = np.round(f32(4, 9)), np.arange(36, dtype=np.int32).reshape(4, 9)
    for row in range(4):
        order = np.lexsort((y[row], x[row]))
        got = lax.sort((x[row], y[row], z[row]), num_keys=2)
        same(got, (x[row][order], y[row][order], z[row][order]))
    obeys(lambda x, y, z: lax.sort((x, y, z), num_keys=2), x, f32(4, 9), z)


DTYPES = [
    np.dtype(d)
    for d in (
        "bool",
        "int8",
        "int32",
        "uint8",
        "uint16",
        "uint32",
        "float16",
        "float32",
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e5m2,
        ml_dtypes.int4,
        ml_dtypes.uint4,
        "int64",
        "uint64",
        "float64",
    )
]


def extremes(dtype):
    """Elements that try an order: ends of the range, zeros, repeated ones."""
    kind = {"bool": "b"}.get(dtype.name, dtype.name[0])
    if kind == "b":
        return np.array([True, False, True, False])
    if kind in "iu":
        info = ml_dtypes.iinfo(dtype)
        picked = [3, int(info.max), 0, int(info.min), 1, 3, int(info.max) - 1]
        return np.array([np.array(i).astype(dtype) for i in picked])
    return np.array([3, -1, 0, 2, -0.0, -4, 3, 0.5]).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("platform_rule", [True, False], ids=["native", "general"])
def test_dtypes(dtype, platform_rule, monkeypatch):
    if not platform_rule:
        monkeypatch.setattr(sort_p, "lower", sort_p.lower.default)
        mj.clear_caches()
    with mj.enable_x64(dtype.itemsize == 8):
        x = extremes(dtype)
        positions = np.arange(len(x), dtype=np.int32)
        order = np.argsort(numbers(x), kind="stable")
        same(lax.sort_key_val(x, positions), (x[order], order.astype(np.int32)))
        same(lax.sort(x), x[order])
        falling = np.argsort(-numbers(x).astype(np.float64), kind="stable")
        if len(set(numbers(x).astype(np.float64).tolist())) < 9:
            result = lax.top_k(x, 3)
            same(result, (x[falling[:3]], falling[:3].astype(np.int32)))
    if not platform_rule:
        mj.clear_caches()


SPECIAL = np.float32([3, np.nan, -0.0, 0.0, 1, -np.nan, np.inf, -np.inf, 2])


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16", "float64"])
@pytest.mark.parametrize("platform_rule", [True, False], ids=["native", "general"])
def test_special_values(dtype, platform_rule, monkeypatch):
    if not platform_rule:
        monkeypatch.setattr(sort_p, "lower", sort_p.lower.default)
        mj.clear_caches()
    with mj.enable_x64(dtype == "float64"):
        x = SPECIAL.astype(getattr(ml_dtypes, dtype, dtype))
        got, order = lax.sort_key_val(x, np.arange(9, dtype=np.int32))
        assert np.asarray(order).tolist() == [7, 2, 3, 4, 8, 0, 6, 1, 5]
        got = np.asarray(got).astype(np.float32)
        np.testing.assert_array_equal(np.signbit(got[:3]), [True, True, False])
        zeros = np.array([0.0, -0.0, 0.0, -0.0]).astype(x.dtype)
        alone = np.asarray(lax.sort(zeros)).astype(np.float32)
        assert np.signbit(alone).tolist() == [False, True, False, True]
    if not platform_rule:
        mj.clear_caches()


def test_complex_numbers_are_ordered_by_real_then_imaginary_part():
    x = np.array([1 + 2j, 1 + 1j, np.nan, complex(0, np.nan), -1j, 0.0j], np.complex64)
    got = np.asarray(lax.sort(x))
    np.testing.assert_array_equal(got[:2], x[[4, 5]])
    assert np.isnan(got[2].imag) and np.isnan(got[5].real)
    obeys(lambda x: lax.sort(x), f32(5) + 1j * f32(5), lanes=False)


@pytest.mark.parametrize("shape, axis", SHAPES[:4])
def test_top_k(shape, axis):
    x = f32(*shape)
    order = np.argsort(-x, axis, kind="stable").astype(np.int32)
    first = np.take(order, range(2), axis)
    same(lax.top_k(x, 2, axis=axis), (along(x, first, axis), first))
    obeys(lambda x: lax.top_k(x, 2, axis=axis), x)
    same(lax.top_k(x, 0, axis=axis)[0], np.take(x, [], axis))


def test_top_k_takes_the_first_of_equal_ones():
    x = np.float32([1, 3, np.nan, 3, 3])
    same(lax.top_k(x, 3), (x[[2, 1, 3]], np.int32([2, 1, 3])))


@pytest.mark.parametrize("name, sign", [("approx_max_k", -1), ("approx_min_k", 1)])
def test_approx(name, sign):
    fun, x = getattr(lax, name), f32(4, 9)
    for axis in (0, -1):
        order = np.argsort(sign * x, axis, kind="stable").astype(np.int32)
        first = np.take(order, range(3), axis)
        got = fun(x, 3, reduction_dimension=axis)
        same(got, (along(x, first, axis), first))
    values, index = fun(x, 3, aggregate_to_topk=False, recall_target=0.9)
    same(values, along(x, index, -1))
    for row, result in zip(x, np.asarray(index), strict=True):
        assert set(np.argsort(sign * row)[:3]) <= set(result.tolist())
    with mj.enable_x64(False):  # XLA has no float64 rule for it
        got = mj.vmap(lambda v: fun(v, 2), 1)(x)
        same(got, fun(x.T, 2))
        t, out = f32(4, 9), mj.jvp(lambda x: fun(x, 2)[0], (x,), (x * 2,))
        same(out[1], 2 * np.asarray(out[0]), rtol=1e-6)
        assert t.shape == x.shape


def test_results():
    x = f32(3)
    assert isinstance(lax.sort((x,)), tuple) and isinstance(lax.sort([x, x]), tuple)
    assert isinstance(lax.top_k(x, 1), list) and isinstance(lax.approx_max_k(x, 1), tuple)
    weak = lax.broadcast(1.0, (2,))
    assert lax.sort(weak).weak_type and lax.top_k(weak, 1)[0].weak_type
    assert [y.weak_type for y in lax.sort((weak, x[:2]))] == [True, False]


ERRORS = {
    "none": (lambda: lax.sort(()), TypeError, "at least one operand"),
    "axis": (lambda: lax.sort(f32(3), 1), ValueError, "out of bounds"),
    "scalar": (lambda: lax.sort(f32()), ValueError, "out of bounds"),
    "keys": (lambda: lax.sort(f32(3), num_keys=2), ValueError, "num_keys=2 must equal 1"),
    "keys_several": (lambda: lax.sort((f32(3),), num_keys=2), ValueError, "num_keys=2"),
    "shapes": (lambda: lax.sort((f32(3), f32(2))), TypeError, "equal shapes"),
    "k_large": (lambda: lax.top_k(f32(3), 4), ValueError, "no larger than size"),
    "k_negative": (lambda: lax.top_k(f32(3), -1), ValueError, "nonnegative"),
    "k_complex": (lambda: lax.top_k(f32(3) * 1j, 1), ValueError, "complex"),
    "k_axis": (lambda: lax.top_k(f32(3), 1, axis=1), ValueError, "out of bounds"),
    "approx_int": (lambda: lax.approx_max_k(np.arange(3), 1), ValueError, "floating"),
    "top_k_float": (lambda: lax.top_k(f32(3), 1.5), TypeError, "1D sequences of concre"),
    "approx_k": (lambda: lax.approx_max_k(f32(3), 4), ValueError, "be smaller than"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, text = ERRORS[name]
    with pytest.raises(error, match=text):
        call()
