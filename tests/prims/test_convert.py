"""Conversions by value and by bits, fewer bits, filled arrays."""

import warnings

import ml_dtypes
import numpy as np
import pytest
from laws import obeys, same

import minijax as mj
from minijax import lax
from minijax.runtime.sharding.shardings import SingleDeviceSharding
from minijax.types import dtypes

REAL = ["bool", "int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "uint32"]
REAL += ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "bfloat16", "float16"]
REAL += ["float32"]


@pytest.mark.parametrize("old", REAL)
@pytest.mark.parametrize("new", REAL)
def test_small_values_survive(old, new):
    x = np.array([0, 1, 1, 3] if old != "bool" else [0, 1, 1, 0]).astype(old)
    got = lax.convert_element_type(x, new)
    assert got.dtype == new and not got.weak_type
    same(got, x.astype(np.float32).astype(new))


@pytest.mark.parametrize("new", ["int8", "uint8", "int32"])
def test_floats_saturate_in_integers(new):
    """On the host as on the device."""
    info = ml_dtypes.iinfo(new)
    values = [2.7, -2.7, 1e20, -1e20, np.inf, -np.inf, np.nan]
    expected = [2, max(-2, info.min), info.max, info.min, info.max, info.min, 0]
    same(lax.convert_element_type(np.array(values, "f"), new), np.array(expected, new))
    for v, e in zip(values, expected, strict=True):
        same(lax.convert_element_type(v, new), np.array(e, new))
        same(mj.jit(lambda v: lax.convert_element_type(v, new))(v), np.array(e, new))


def test_integers_wrap():
    same(lax.convert_element_type(300, np.int8), np.int8(44))
    same(lax.convert_element_type(-1, np.uint8), np.uint8(255))
    same(lax.convert_element_type(np.array([300, -1]), np.uint8), np.array([44, 255], "u1"))


def test_to_bool_is_unequal_zero():
    same(
        lax.convert_element_type(np.array([0.5, 0, np.nan], "f"), bool),
        np.array([1, 0, 1], bool),
    )
    same(lax.convert_element_type(np.array([0j, 1j], "F"), bool), np.array([False, True]))


def test_complex():
    z = np.array([1 + 2j, -1j], np.complex64)
    same(lax.convert_element_type(z.real.copy(), np.complex64), z.real.astype(np.complex64))
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        same(lax.convert_element_type(z, np.float32), z.real)
    for kind in (np.int32, np.float32):  # for a number, Python's message is the same
        with (
            pytest.warns(np.exceptions.ComplexWarning),
            pytest.raises(TypeError, match="not 'complex'"),
        ):
            lax.convert_element_type(2 + 1j, kind)


def test_conversion_to_the_same_dtype_is_the_identity():
    x = lax.full((2,), 1.0, np.float32)
    assert lax.convert_element_type(x, np.float32) is x
    weak = lax.full((2,), 1.0)
    assert not lax.convert_element_type(weak, np.float32).weak_type
    assert lax.convert_element_type(x, float) is x


def test_python_types_are_the_default_dtypes():
    assert lax.convert_element_type(1, float).dtype == np.float32
    assert lax.convert_element_type(1.5, int).dtype == np.int32
    assert lax.convert_element_type(1, complex).dtype == np.complex64
    with mj.enable_x64(True):
        assert lax.convert_element_type(1, float).dtype == np.float64


def test_64_bits_narrow_with_a_warning():
    with pytest.warns(UserWarning, match="float64 requested in convert_element_type"):
        assert lax.convert_element_type(1.0, np.float64).dtype == np.float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with mj.enable_x64(True):
            assert lax.convert_element_type(1.0, np.float64).dtype == np.float64


def test_no_such_dtype():
    with pytest.raises(ValueError, match="dtype must be specified"):
        lax.convert_element_type(1.0, None)
    with pytest.raises(TypeError):
        lax.convert_element_type(1.0, str)


def test_conversion_laws():
    x = np.array([[0.5, -1.25], [2.0, 3.0]])
    obeys(lambda x: lax.mul(lax.convert_element_type(x, np.float64), x), x)
    obeys(lambda x: lax.real(lax.convert_element_type(x, np.complex128)), x)
    obeys(lambda x: lax.convert_element_type(x, np.int32), x)
    obeys(lambda n: lax.convert_element_type(n, np.float64), np.arange(3))


def test_transposes_convert_back():
    slope = mj.grad(
        lambda x: lax.convert_element_type(
            lax.reduce_sum(lax.convert_element_type(x, ml_dtypes.bfloat16), (0,)), np.float32
        )
    )(np.ones(3, np.float32))
    same(slope, np.ones(3, np.float32))


def test_integers_have_zero_derivatives():
    _, t = mj.jvp(lambda x: lax.convert_element_type(x, np.int32), (1.5,), (1.0,))
    assert t.dtype == dtypes.float0
    slope = mj.grad(
        lambda x: lax.mul(x, lax.convert_element_type(lax.convert_element_type(x, int), float))
    )(2.5)
    assert slope == 2.0


# ------------------------------------------------------------------------------- bits


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("float32", "int32"),
        ("int32", "float32"),
        ("float16", "bfloat16"),
        ("float32", "uint8"),
        ("uint32", "uint16"),
        ("uint8", "float8_e4m3fn"),
        ("float32", "bfloat16"),
    ],
)
def test_bits_are_those_of_numpy(old, new):
    x = np.array([[1.5, 2.0], [3.0, -0.0]] if "float" in old else [[1, 2], [3, 4]])
    x = x.astype(old)
    expected = x.view(new)
    if x.dtype.itemsize > expected.dtype.itemsize:
        expected = expected.reshape(2, 2, -1)
    got = lax.bitcast_convert_type(x, new)
    same(got, expected)
    same(lax.bitcast_convert_type(got, old), x)
    obeys(lambda x: lax.bitcast_convert_type(x, new), x)


def test_bits_of_wider_elements():
    x = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    same(lax.bitcast_convert_type(x, np.uint32), x.view(np.uint32)[..., 0])
    obeys(lambda x: lax.bitcast_convert_type(x, np.uint32), x)
    halves = lax.bitcast_convert_type(np.array([0x21], np.uint8), "uint4")
    same(halves, np.array([[1, 2]]).astype("uint4"))


def test_bits_of_incompatible_widths():
    with pytest.raises(ValueError, match=r"of shape \(3,\) from uint8 of size 8 bits to"):
        lax.bitcast_convert_type(np.ones(3, np.uint8), np.uint32)
    with pytest.raises(ValueError, match=r"Attempting to convert array of shape \(\)"):
        lax.bitcast_convert_type(np.uint8(1), np.uint32)
    for x, new in [(True, "uint8"), (1.0, bool), (np.complex64(1), "float32")]:
        with pytest.raises(TypeError, match="does not support bool or complex values"):
            lax.bitcast_convert_type(x, new)
    same(lax.bitcast_convert_type(np.complex64(1j), np.complex64), np.complex64(1j))


# ------------------------------------------------------------------------ fewer bits


def test_reduced_precision_rounds_as_the_narrow_dtype():
    x = np.random.default_rng(0).normal(size=20).astype(np.float32)
    same(lax.reduce_precision(x, 8, 7), x.astype(ml_dtypes.bfloat16).astype(np.float32))
    same(lax.reduce_precision(x, 5, 10), x.astype(np.float16).astype(np.float32))
    same(lax.reduce_precision(np.float32(1e10), 5, 10), np.float32(np.inf))


def test_reduced_precision_is_linear_to_derivatives():
    x = np.float32([1.001, 2.003])
    t = np.float32([1.0001, 1])
    _, slope = mj.jvp(lambda x: lax.reduce_precision(x, 8, 7), (x,), (t,))
    same(slope, np.float32([1, 1]))
    _, pull = mj.vjp(lambda x: lax.reduce_precision(x, 8, 7), x)
    same(pull(t)[0], np.float32([1, 1]))
    obeys(lambda x: lax.reduce_precision(x, 8, 7), x.astype(np.float64), derivatives=False)


def test_reduced_precision_is_checked():
    with pytest.raises(ValueError, match="exponent_bits must be positive; got 0"):
        lax.reduce_precision(1.0, 0, 7)
    with pytest.raises(ValueError, match="mantissa_bits must be non-negative; got -1"):
        lax.reduce_precision(1.0, 8, -1)
    with pytest.raises(TypeError, match="reduce_precision does not accept dtype int32"):
        lax.reduce_precision(1, 8, 7)


# ----------------------------------------------------------------------- filled arrays


def test_full():
    same(lax.full((2, 3), 1.5), np.full((2, 3), 1.5, np.float32))
    same(lax.full(3, 2), np.full(3, 2, np.int32))
    same(lax.full((), 2, np.float32), np.float32(2))
    same(lax.full((2,), 2.7, np.int32), np.full(2, 2, np.int32))
    same(lax.full((0, 2), 1.0), np.zeros((0, 2), np.float32))
    same(lax.full((2,), True), np.array([True, True]))
    same(mj.jit(lambda x: lax.full((2,), x, np.int32))(2.5), np.full(2, 2, np.int32))
    assert lax.full((2,), 1.0).weak_type and lax.full((), 1.0).weak_type
    assert not lax.full((2,), 1.0, np.float32).weak_type
    assert not lax.full((2,), np.float32(1)).weak_type


def test_full_like():
    x = lax.full((2,), 1.0, np.float32)
    same(lax.full_like(x, 3), np.full(2, 3, np.float32))
    same(lax.full_like(x, 3.9, np.int32), np.full(2, 3, np.int32))
    same(lax.full_like(x, 1, shape=(3,)), np.ones(3, np.float32))
    same(lax.full_like(np.arange(3), 2.5), np.full(3, 2, np.int32))
    same(lax.full_like(mj.ShapeDtypeStruct((2,), np.int8), 7), np.full(2, 7, np.int8))
    assert lax.full_like(1.0, 2).weak_type and not lax.full_like(x, 2.0).weak_type


def test_full_is_checked():
    with pytest.raises(TypeError, match=r"scalar fill_value, got fill_value\.shape \(3,\)"):
        lax.full((3,), np.ones(3))
    with pytest.raises(TypeError, match="must have every element be nonnegative"):
        lax.full((-1,), 1.0)
    with pytest.raises(TypeError, match="sequences of concrete values of integer type"):
        lax.full((2.5,), 1.0)


def test_full_on_a_device():
    where = SingleDeviceSharding(mj.devices()[1])
    for x in (lax.full((2,), 1.0, sharding=where), lax.full_like(1.0, 2, sharding=where)):
        assert x.devices() == {mj.devices()[1]} and x.committed


def test_dtype():
    assert lax.dtype(1) == np.int32 and lax.dtype(float) == np.float32
    assert lax.dtype(np.ones(2)) == np.float32 and lax.dtype(np.int64) == np.int32
    assert lax.dtype(lax.full((2,), 1, ml_dtypes.bfloat16)) == ml_dtypes.bfloat16
    with pytest.raises(ValueError, match="Invalid argument to dtype: None"):
        lax.dtype(None)
    with pytest.raises(TypeError):
        lax.dtype([1])
