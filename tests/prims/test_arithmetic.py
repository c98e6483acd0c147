"""Arithmetic: values against NumPy in every dtype, derivatives, lanes, messages."""

import re

import ml_dtypes
import numpy as np
import pytest
from laws import obeys, same

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

SHAPES = [(), (3,), (2, 3), (0, 3), (1, 2, 2)]
PAIRS = [((), ()), ((3,), (3,)), ((2, 3), ()), ((), (2,)), ((0,), (0,))]
SMALL_FLOATS = ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float16"]
BITS = {"float8_e5m2": 3, "float8_e4m3fn": 4, "bfloat16": 8, "float16": 11, "float32": 24}

# name: (NumPy's function, lowest and highest argument)
UNARY = {
    "neg": (np.negative, -2, 2),
    "sign": (np.sign, -2, 2),
    "abs": (np.abs, -2, 2),
    "floor": (np.floor, -2, 2),
    "ceil": (np.ceil, -2, 2),
    "sqrt": (np.sqrt, 0.1, 3),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, 3),
    "cbrt": (np.cbrt, 0.1, 3),
    "square": (np.square, -2, 2),
    "reciprocal": (lambda x: 1 / x, 0.3, 2),
    "exp": (np.exp, -2, 2),
    "exp2": (np.exp2, -2, 2),
    "expm1": (np.expm1, -2, 2),
    "log": (np.log, 0.1, 3),
    "log1p": (np.log1p, -0.7, 2),
    "logistic": (lambda x: 1 / (1 + np.exp(-x)), -3, 3),
    "sin": (np.sin, -3, 3),
    "cos": (np.cos, -3, 3),
    "tan": (np.tan, -1.2, 1.2),
    "asin": (np.arcsin, -0.9, 0.9),
    "acos": (np.arccos, -0.9, 0.9),
    "atan": (np.arctan, -3, 3),
    "sinh": (np.sinh, -2, 2),
    "cosh": (np.cosh, -2, 2),
    "tanh": (np.tanh, -2, 2),
    "asinh": (np.arcsinh, -3, 3),
    "acosh": (np.arccosh, 1.2, 3),
    "atanh": (np.arctanh, -0.9, 0.9),
}
REAL_ONLY = {"floor", "ceil", "cbrt"}
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rem": np.fmod,
    "pow": np.power,
    "max": np.maximum,
    "min": np.minimum,
    "atan2": np.arctan2,
}


def draw(shape, low=0.2, high=2.0, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(low, high, shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.uniform(-0.5, 0.5, shape)
    return np.asarray(x, dtype)


def close(got, expected, dtype):
    eps = 2.0 ** (1 - BITS.get(dtype, 24))
    np.testing.assert_allclose(
        np.asarray(got, np.complex128 if "c" in dtype[:1] else np.float64),
        expected,
        rtol=8 * eps,
        atol=8 * eps,
    )


@pytest.mark.parametrize("dtype", ["float32", *SMALL_FLOATS, "complex64"])
@pytest.mark.parametrize("name", UNARY)
def test_unary_values(name, dtype):
    function, low, high = UNARY[name]
    if dtype == "complex64" and name in REAL_ONLY:
        with pytest.raises(TypeError, match="does not accept dtype complex64"):
            getattr(lax, name)(np.ones(2, np.complex64))
        return
    wide = np.complex128 if dtype == "complex64" else np.float64
    for shape in SHAPES if dtype == "float32" else [(2, 3)]:
        x = draw(shape, low, high, wide).astype(dtype)
        got = getattr(lax, name)(x)
        expected = function(x.astype(wide))
        assert got.shape == shape
        real = name == "abs" and wide is np.complex128
        assert got.dtype == (np.float32 if real else dtype)
        if dtype.startswith("float8") and name in ("tan", "atanh"):
            continue  # so steep that the rounding of the argument's octave shows
        close(got, expected, dtype)


@pytest.mark.parametrize("name", UNARY)
def test_unary_laws(name):
    _, low, high = UNARY[name]
    function = getattr(lax, name)
    obeys(function, draw((2, 3), low, high))


@pytest.mark.parametrize("name", sorted(set(UNARY) - REAL_ONLY - {"abs", "sign"}))
def test_unary_derivative_of_complex_numbers(name):
    """A holomorphic function's derivative is the same in every direction."""
    _, low, high = UNARY[name]
    with mj.enable_x64(True):
        z = draw((3,), low, high, "complex128")
        function = getattr(lax, name)
        _, slope = mj.jvp(function, (z,), (np.ones_like(z),))
        for step in (1e-6, 1e-6j):
            ahead, behind = (np.asarray(function(z + step)), np.asarray(function(z - step)))
            np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-6)


def test_abs_of_complex_numbers():
    z = draw((3,), dtype="complex128")
    obeys(lax.abs, z, derivatives=False)
    with mj.enable_x64(True):
        t = np.array([1, 1j, 1 + 2j])
        _, slope = mj.jvp(lax.abs, (z,), (t,))
        np.testing.assert_allclose(slope, (np.conj(z) * t).real / np.abs(z), rtol=1e-12)
        _, at_zero = mj.jvp(lax.abs, (0 * z,), (t,))
        assert not np.isnan(np.asarray(at_zero)).any()


@pytest.mark.parametrize("dtype", ["float32", *SMALL_FLOATS])
@pytest.mark.parametrize("name", BINARY)
def test_binary_values(name, dtype):
    for shape, other in PAIRS if dtype == "float32" else [((3,), (3,))]:
        x = draw(shape, dtype=dtype)
        y = draw(other, dtype=dtype, seed=1)
        got = getattr(lax, name)(x, y)
        assert got.dtype == dtype
        expected = BINARY[name](x.astype(np.float64), y.astype(np.float64))
        if name == "rem" and BITS[dtype] < 8:
            continue  # a remainder near 0 or y is rounded to either side
        close(got, expected, dtype)


@pytest.mark.parametrize("name", BINARY)
def test_binary_laws(name):
    function = getattr(lax, name)
    x, y = draw((2, 3)), draw((2, 3), 0.3, 1.7, seed=1)
    obeys(function, x, y)
    obeys(function, x, np.float64(0.7))
    obeys(function, np.float64(0.7), x)
    obeys(function, x[:, :1], y[:1])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow"])
def test_binary_complex(name):
    x, y = draw((3,), dtype="complex128"), draw((3,), dtype="complex128", seed=1)
    with mj.enable_x64(True):
        function = getattr(lax, name)
        np.testing.assert_allclose(function(x, y), BINARY[name](x, y), rtol=1e-12)
        for i, step in [(0, 1e-6), (0, 1e-6j), (1, 1e-6), (1, 1e-6j)]:
            ts = [np.zeros_like(x), np.zeros_like(x)]
            ts[i] = np.ones_like(x)
            _, slope = mj.jvp(function, (x, y), tuple(ts))
            ahead = function(x + step * ts[0], y + step * ts[1])
            behind = function(x - step * ts[0], y - step * ts[1])
            slope_by_differences = (np.asarray(ahead) - np.asarray(behind)) / (2 * step)
            np.testing.assert_allclose(slope, slope_by_differences, rtol=1e-6, atol=1e-9)


def test_products_in_another_dtype():
    b = np.array([1.5, 2.0]).astype(ml_dtypes.bfloat16)
    i = np.array([100, 3], np.int8)
    same(lax.mul(b, b, out_dtype=np.float32), np.float32([2.25, 4]))
    same(lax.mul(i, i, out_dtype=np.int32), np.int32([10000, 9]))
    same(lax.mul(b, np.float32(2), out_dtype=np.float32), np.float32([3, 4]))
    same(lax.mul(i, np.int8(2), out_dtype=np.float32), np.float32([200, 6]))
    slope = mj.grad(lambda b: lax.reduce_sum(lax.mul(b, b, out_dtype=np.float32), (0,)))(b)
    same(slope, (b + b).astype(ml_dtypes.bfloat16))
    x = draw((3,))
    obeys(lambda x, y: lax.mul(x, y, out_dtype=np.float64), x, draw((3,), seed=1))
    obeys(lambda x: lax.mul(x, np.int8(3), out_dtype=np.float64), x)
    with pytest.raises(TypeError, match="mul does not accept dtype bool at position 1"):
        lax.mul(1.0, True, out_dtype=np.float32)


INTEGERS = ["int8", "uint8", "int16", "int32", "uint32", "int4", "uint4"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype):
    kind = ml_dtypes.iinfo(dtype)
    x = np.arange(1, 7).astype(dtype)
    y = np.array([3, 2, 1, 2, 3, 5]).astype(dtype)
    xs, ys = x.astype(np.int64), y.astype(np.int64)

    def wrapped(z):
        return ((z - int(kind.min)) % 2**kind.bits + int(kind.min)).astype(np.int64)

    def check(got, expected):
        assert got.dtype == dtype
        np.testing.assert_array_equal(np.asarray(got).astype(np.int64), wrapped(expected))

    check(lax.add(x, y), xs + ys)
    check(lax.sub(y, x), ys - xs)
    check(lax.mul(x, y), xs * ys)
    check(lax.div(x, y), xs // ys)
    check(lax.rem(x, y), xs % ys)
    check(lax.max(x, y), np.maximum(xs, ys))
    check(lax.min(x, y), np.minimum(xs, ys))
    check(lax.neg(x), -xs)
    check(lax.sign(x - x), 0 * xs)
    check(lax.sign(x), 0 * xs + 1)
    check(lax.square(y), ys * ys)
    check(lax.integer_pow(y, 2), ys**2)
    if kind.min < 0:
        minus = (-xs).astype(dtype)
        check(lax.abs(minus), xs)
        check(lax.sign(minus), 0 * xs - 1)
        check(lax.div(minus, y), -(xs // ys))
        check(lax.rem(minus, y), -(xs % ys))


def test_upper_half_of_products():
    x = np.array([2**31 - 1, 12345, -(2**30)], np.int32)
    expected = (x.astype(np.int64) * x[::-1]) >> 32
    np.testing.assert_array_equal(lax.mulhi(x, x[::-1].copy()), expected)
    u = np.array([2**32 - 1, 2**31], np.uint32)
    np.testing.assert_array_equal(lax.mulhi(u, u), (u.astype(np.uint64) * u) >> np.uint64(32))


@pytest.mark.parametrize("power", [-3, -2, -1, 0, 1, 2, 3, 4, 7, 12])
def test_integer_powers(power):
    x = draw((2, 3), 0.5, 1.5)
    np.testing.assert_allclose(
        lax.integer_pow(x.astype(np.float32), power), x**power, rtol=1e-5
    )
    obeys(lambda x: lax.integer_pow(x, power), x)


@pytest.mark.parametrize("power", [np.int32(2), np.uint8(2), 2.0, np.float32(2)])
def test_integer_powers_of_other_types(power):
    assert lax.integer_pow(3, power) == 9
    assert "y=2]" in str(mj.make_jaxpr(lambda x: lax.integer_pow(x, power))(3.0))


def test_integer_powers_are_integers():
    for power in (2.5, np.nan, np.inf):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            lax.integer_pow(3.0, power)


def test_integer_power_of_integers_is_not_negative():
    with pytest.raises(TypeError, match=r"negative powers, got integer_pow\(int32\[\], -1"):
        lax.integer_pow(3, -1)


def test_powers_with_integer_exponents():
    x, n = draw((4,), 0.5, 1.5), np.array([-2, 0, 1, 3])
    with mj.enable_x64(True):
        np.testing.assert_allclose(lax.pow(x, n), x**n, rtol=1e-12)
    obeys(lax.pow, x, n)
    obeys(lambda x: lax.pow(x, 3), x, exact=False)
    _, slope = mj.jvp(lambda x: lax.pow(x, 0), (0.0,), (1.0,))
    assert slope == 0
    _, slope = mj.jvp(lambda x: lax.pow(x, n), (np.zeros(4, "f") + 2,), (np.ones(4, "f"),))
    np.testing.assert_allclose(slope, [-0.25, 0, 1, 12])


@pytest.mark.parametrize(
    ("dtype", "int_dtype"),
    [
        ("bfloat16", "int32"),
        ("float16", "int16"),
        ("float8_e5m2", "int8"),
        ("float32", "int32"),
        ("float32", "uint32"),
        ("float64", "int64"),
    ],
)
def test_signs_of_powers_whose_exponents_are_rounded(dtype, int_dtype):
    info = np.iinfo(int_dtype)
    n = [info.max, info.max - 1, info.min, info.min + 1]
    like = np.float64([255, 254, -254, -255] if info.min else [255, 254, 0, 1])
    with mj.enable_x64(True):
        for x in (-1.0, -0.0):
            power, slope = mj.jvp(
                lambda x: lax.pow(x, np.array(n, int_dtype)),
                (np.full(4, x, dtype),),
                (np.ones(4, dtype),),
            )
            with np.errstate(all="ignore"):
                expected = x**like
                slopes = np.where(like == 0, 0, like * x ** (like - 1))
            np.testing.assert_array_equal(power.astype("f8"), expected)
            np.testing.assert_array_equal(np.signbit(power), np.signbit(expected))
            np.testing.assert_array_equal(np.sign(slope.astype("f8")), np.sign(slopes))


def test_slope_of_the_first_power_is_constant():
    second = mj.grad(mj.grad(lambda x: lax.pow(x, jnp.int32(1))))
    assert second(0.0) == 0.0


def test_power_of_zero_has_a_finite_derivative_by_the_exponent():
    _, slope = mj.jvp(lambda y: lax.pow(0.0, y), (2.0,), (1.0,))
    assert slope == 0


def test_ties_share_the_derivative():
    for function in (lax.max, lax.min):
        _, slope = mj.jvp(function, (1.0, 1.0), (1.0, 0.0))
        assert slope == 0.5


def test_nan_wins():
    for function in (lax.max, lax.min):
        assert np.isnan(function(np.nan, 1.0)) and np.isnan(function(1.0, np.nan))


def test_complex_order_compares_real_then_imaginary_parts():
    x = np.array([1 + 2j, 1 + 1j, 2 + 0j], np.complex64)
    y = np.array([1 + 1j, 2 + 0j, 1 + 9j], np.complex64)
    np.testing.assert_array_equal(lax.max(x, y), [1 + 2j, 2 + 0j, 2 + 0j])
    np.testing.assert_array_equal(lax.min(x, y), [1 + 1j, 1 + 1j, 1 + 9j])


def test_rounding():
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997], np.float32)
    np.testing.assert_array_equal(lax.round(x), [-3, -2, -1, 1, 2, 3, 0])
    even = lax.RoundingMethod.TO_NEAREST_EVEN
    np.testing.assert_array_equal(lax.round(x, even), [-2, -2, 0, 0, 2, 2, 0])
    with pytest.raises(ValueError, match="RoundingMethod"):
        lax.round(x, 7)


def test_next_float():
    x = np.array([0.0, 1.0, -1.0, np.inf, np.nan], np.float32)
    y = np.array([1.0, 2.0, 0.0, 0.0, 1.0], np.float32)
    np.testing.assert_array_equal(lax.nextafter(x, y), np.nextafter(x, y))
    with pytest.raises(NotImplementedError, match="no derivative"):
        mj.jvp(lax.nextafter, (1.0, 2.0), (1.0, 1.0))


# ------------------------------------------------------------------ complex numbers


def test_parts_of_complex_numbers():
    z = draw((2, 3), dtype="complex64")
    np.testing.assert_array_equal(lax.real(z), z.real)
    np.testing.assert_array_equal(lax.imag(z), z.imag)
    np.testing.assert_array_equal(lax.conj(z), z.conj())
    np.testing.assert_array_equal(lax.complex(z.real, z.imag), z)
    x = draw((3,), dtype="float32")
    assert lax.conj(x).dtype == np.complex64
    same(lax.complex(x, np.float32(2)), (x + 2j).astype(np.complex64))


def test_derivatives_of_parts():
    """Transposes agree with derivatives, real inputs to real outputs."""

    def energy(x, y):
        z = lax.complex(x, y)
        w = lax.mul(lax.conj(z), lax.exp(z))
        return lax.add(lax.real(w), lax.imag(lax.mul(z, w)))

    obeys(energy, draw((3,)), draw((3,), seed=1), exact=False)
    obeys(energy, draw((3,)), np.float64(0.3), exact=False)


@pytest.mark.parametrize("name", ["real", "imag", "conj"])
def test_parts_need_the_right_dtype(name):
    with pytest.raises(TypeError, match=f"{name} does not accept dtype int32"):
        getattr(lax, name)(np.arange(3))
    with pytest.raises(TypeError, match="complex does not accept dtype int32 at position"):
        lax.complex(1, 2)


# ------------------------------------------------------------------------- weak types


def test_weak_types():
    strong = lax.full((2,), 1.0, np.float32)
    assert lax.add(1.0, 2.0).weak_type
    assert not lax.add(strong, 2.0).weak_type
    assert lax.sin(1.0).weak_type and not lax.sin(strong).weak_type
    assert lax.pow(2.0, 3).weak_type
    _, slope = mj.jvp(lax.sqrt, (4.0,), (1.0,))
    assert slope.weak_type and slope == 0.25


# --------------------------------------------------------------------------- accuracy


@pytest.mark.parametrize(
    "name", "exp exp2 expm1 log log1p sin cos tan tanh logistic sqrt rsqrt cbrt".split()
)
def test_libraries_bind_without_an_accuracy(name):
    prim, fun = getattr(lax, f"{name}_p"), getattr(lax, name)
    slope = mj.jit(mj.value_and_grad(prim.bind))
    assert mj.tree.map(float, slope(0.3)) == mj.tree.map(
        float, mj.jit(mj.value_and_grad(fun))(0.3)
    )
    assert str(mj.make_jaxpr(prim.bind)(0.3)) == str(mj.make_jaxpr(fun)(0.3))


def test_accuracy_is_in_the_program():
    x = np.ones(2, np.float32)
    with_mode = mj.jit(lambda x: lax.exp(x, accuracy=lax.AccuracyMode.HIGHEST))
    assert "result_accuracy_mode<HIGHEST>" in with_mode.lower(x).as_text()
    tolerance = lax.Tolerance(atol=1e-5, rtol=0.0, ulps=2)
    with_tolerance = mj.jit(lambda x: lax.sin(x, accuracy=tolerance))
    assert "ulps = 2" in with_tolerance.lower(x).as_text()
    default = mj.jit(lambda x: lax.sin(x, accuracy=lax.AccuracyMode.DEFAULT))
    assert "result_accuracy" not in default.lower(x).as_text()
    np.testing.assert_allclose(with_mode(x), np.exp(x), rtol=1e-6)


def test_accuracy_is_checked():
    with pytest.raises(ValueError, match="Tolerances must be non-negative"):
        lax.Tolerance(atol=-1.0)
    with pytest.raises(TypeError, match=r"accuracy must be a lax\.Tolerance"):
        lax.exp(1.0, accuracy=3)
    assert lax.Tolerance(1.0) == lax.Tolerance(1.0) != lax.Tolerance(2.0)
    assert len({lax.Tolerance(1.0), lax.Tolerance(1.0)}) == 1


@pytest.mark.parametrize("name", ["expm1", "logistic", "sin", "tanh", "cbrt"])
def test_derivative_with_an_accuracy(name):
    def with_accuracy(x):
        return getattr(lax, name)(x, accuracy=lax.AccuracyMode.HIGHEST)

    obeys(with_accuracy, draw((3,), 0.2, 1.2), lanes=False)


# --------------------------------------------------------------------------- messages


def test_dtypes_must_be_equal():
    with pytest.raises(TypeError) as error:
        lax.mul(np.ones(3, np.float32), 2)
    text = str(error.value)
    assert text.startswith(
        "lax.mul requires arguments to have the same dtypes, got float32, int32."
    )
    assert "Which: f32[3], i32[]" in text
    assert "(Tip: jnp.multiply is a similar function" in text


def test_shapes_must_broadcast():
    x = np.ones((2, 3), np.float32)
    for y in (np.ones((3, 2), np.float32), np.ones(3, np.float32)):
        with pytest.raises(TypeError) as error:
            lax.add(x, y)
        text = str(error.value)
        same_rank = "add got incompatible shapes for broadcasting: (2, 3)"
        other_rank = "add: arrays must have the same number of dimensions, got {1, 2}"
        assert text.startswith(same_rank if len(y.shape) == 2 else other_rank)
        assert "Which: f32[2,3]" in text and "Try:" in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lax.sin(1), "sin does not accept dtype int32."),
        (lambda: lax.add(True, True), "add does not accept dtype bool at position 0."),
        (lambda: lax.pow(2, 3), "pow does not accept dtype int32 at position 0."),
        (lambda: lax.abs(np.ones(2, np.uint8)), "abs does not accept dtype uint8."),
        (lambda: lax.atan2(1, 2), "atan2 does not accept dtype int32 at position 0."),
        (lambda: lax.rem(1j, 1j), "rem does not accept dtype complex64 at position 0."),
        (lambda: lax.mulhi(1.0, 1.0), "mulhi does not accept dtype float32 at"),
    ],
)
def test_kinds_of_dtypes(call, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        call()


def test_values_must_be_arrays():
    with pytest.raises(TypeError, match="not a valid JAX type"):
        lax.add(np.ones(3, np.float32), [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="not a valid JAX type"):
        lax.add(1.0, "a")


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_division_of_constants_by_zero(dtype):
    """The compiler computes with constants itself: it must not die of it."""
    one, zero = np.ones(2, dtype), np.zeros((), dtype)
    got = mj.jit(lambda: [lax.div(one, zero), lax.rem(one, jnp.zeros(2, dtype))])()
    assert got[0].tolist() == [int(dtype == "uint8") * 256 - 1] * 2
    assert got[1].tolist() == [1, 1]
    assert (mj.jit(lambda: jnp.ones(2, int) // 0)() == jnp.ones(2, int) // 0).all()

    @mj.jit
    def slope_by_differences(nothing, n):  # what the compiler finds to be 0
        sums = jnp.sum(nothing, 1, dtype=dtype), jnp.zeros(2, dtype) * n
        return [(lax.div(x, y), lax.rem(x, y), x % y) for x in sums for y in sums]

    for quotient, *rests in slope_by_differences(np.ones((2, 0), dtype), np.ones((), dtype)):
        assert quotient.tolist() == got[0].tolist()
        assert [rest.tolist() for rest in rests] == [[0, 0]] * 2


def test_division_by_nonzero_constants_is_one_operation():
    x = np.ones(2, np.int32)
    for y in (np.int32(3), np.array([2, 3], np.int32)):
        f = mj.jit(lambda x, y=y: (lax.div(x, y), lax.rem(x, y)))
        assert "stablehlo.select" not in f.lower(x).as_text()
    guarded = mj.jit(lambda x: lax.div(x, np.array([2, 0], np.int32)))
    assert "stablehlo.select" in guarded.lower(x).as_text()


@pytest.mark.parametrize(
    ("lane", "shared"),
    [((2,), (2, 1)), ((2,), (1, 1)), ((2,), (2, 3)), ((1, 2), (1, 2, 1)), ((), (2,))],
)
def test_lanes_of_fewer_axes_align_from_the_first(lane, shared):
    """As JAX's batching rules do; outside of `vmap` ranks must be equal."""
    x, y = draw((3, *lane), dtype="float32"), draw(shared, dtype="float32")
    rows = np.asarray(x).reshape(*x.shape, *[1] * (len(shared) - len(lane)))
    expected = rows + np.asarray(y)
    np.testing.assert_array_equal(mj.vmap(lax.add, (0, None))(x, y), expected)
    np.testing.assert_array_equal(mj.vmap(lax.add, (None, 0))(y, x), expected)
    np.testing.assert_array_equal(
        mj.vmap(lax.add, (-1, None))(jnp.moveaxis(x, 0, -1), y), expected
    )
