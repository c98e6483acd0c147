"""Elementwise functions: values and dtypes as in NumPy, derivatives, vmap, messages."""

import re

import ml_dtypes
import numpy as np
import pytest
from laws import obeys, same

import minijax as mj
import minijax.numpy as jnp

SHAPES = [(), (3,), (2, 3), (0, 3)]
PAIRS = [((), ()), ((3,), (3,)), ((2, 3), ()), ((3,), (2, 3)), ((2, 1), (1, 3)), ((0,), ())]
FLOATS = ["float16", "bfloat16", "float32"]
EPS = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6, "complex64": 4e-6}

# name: lowest and highest argument.  Float functions turn integers into float32.
FLOAT_UNARY = {
    "exp": (-2, 2),
    "exp2": (-2, 2),
    "expm1": (-2, 2),
    "log": (0.1, 3),
    "log2": (0.1, 3),
    "log10": (0.1, 3),
    "log1p": (-0.7, 2),
    "sqrt": (0.1, 3),
    "cbrt": (0.1, 3),
    "sin": (-3, 3),
    "cos": (-3, 3),
    "tan": (-1.2, 1.2),
    "arcsin": (-0.9, 0.9),
    "arccos": (-0.9, 0.9),
    "arctan": (-3, 3),
    "sinh": (-2, 2),
    "cosh": (-2, 2),
    "tanh": (-2, 2),
    "arcsinh": (-3, 3),
    "arccosh": (1.2, 3),
    "arctanh": (-0.9, 0.9),
    "deg2rad": (-90, 90),
    "rad2deg": (-3, 3),
    "reciprocal": (0.4, 2),
    "fabs": (-2, 2),
    "rint": (-3, 3),
    "sinc": (-2, 2),
    "i0": (-2, 2),
}
# These keep integer dtypes.
KEEPING = {
    "negative": (-3, 3),
    "positive": (-3, 3),
    "absolute": (-3, 3),
    "sign": (-3, 3),
    "square": (-3, 3),
    "floor": (-3, 3),
    "ceil": (-3, 3),
    "trunc": (-3, 3),
    "conjugate": (-3, 3),
    "real": (-3, 3),
    "imag": (-3, 3),
}
TESTS = ["isfinite", "isinf", "isnan", "signbit", "logical_not", "iscomplex", "isreal"]
COMPLEX = [
    "exp",
    "log",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "arcsin",
    "arctan",
    "arcsinh",
    "negative",
    "absolute",
    "square",
    "conjugate",
    "real",
    "imag",
    "reciprocal",
    "log2",
    "log10",
    "angle",
    "isfinite",
    "isnan",
    "rint",
    "log1p",
    "expm1",
]
FLOAT_BINARY = [
    "divide",
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "copysign",
    "heaviside",
    "float_power",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "floor_divide",
    "remainder",
    "fmod",
]
COMPARE = [
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"]
SMOOTH = {
    **{k: v for k, v in FLOAT_UNARY.items() if k not in ("rint",)},
    "negative": (-2, 2),
    "absolute": (0.2, 2),
    "square": (-2, 2),
    "nan_to_num": (-2, 2),
    "angle": (0.2, 2),
    "trunc": (0.2, 0.8),
    "round": (0.1, 0.4),
    "unwrap": (-1, 1),
}


def numbers(dtype, shape, low, high, seed=0):
    rng = np.random.default_rng([seed, *map(ord, dtype)])
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("u"):
        low, high = max(low, 0), max(high, 2)
    if "int" in dtype:
        return rng.integers(int(np.ceil(low)), int(high) + 1, shape).astype(dtype)
    x = np.asarray(rng.uniform(low, high, shape))
    if dtype.startswith("complex"):
        x = x + 1j * rng.uniform(low, high, shape)
    return x.astype(jnp.dtype(dtype))


def wide(x):
    """Convert a value to NumPy's most precise dtype."""
    kind = x.dtype.kind
    if kind == "V" or kind == "f":
        return x.astype(np.float64)
    return x.astype(np.complex128) if kind == "c" else x


def reference(name, *xs):
    fun = getattr(np, {"conj": "conjugate"}.get(name, name))
    with np.errstate(all="ignore"):
        return fun(*xs)


def close(got, expected, dtype):
    got = np.asarray(got)
    assert got.shape == np.shape(expected)
    eps = EPS.get(got.dtype.name, EPS.get(dtype, 0))
    got, expected = wide(got), np.asarray(expected)
    if got.dtype == bool:
        np.testing.assert_array_equal(got, expected)
        return
    scale = np.maximum(1, np.abs(np.where(np.isfinite(expected), expected, 1)))
    with np.errstate(invalid="ignore"):
        fine = np.abs(got - expected) <= eps * scale
    equal = (got == expected) | (np.isnan(got) & np.isnan(expected))
    assert np.all(fine | equal), (got, expected)


# ---------------------------------------------------------------- values and dtypes


def shapes_for(dtype):
    return SHAPES if dtype == "float32" else SHAPES[2:3]


def pairs_for(dtype):
    return PAIRS if dtype in ("float32", "int32") else PAIRS[4:5]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", *FLOATS])
@pytest.mark.parametrize("name", FLOAT_UNARY)
def test_float_functions(name, dtype):
    low, high = FLOAT_UNARY[name]
    for shape in shapes_for(dtype):
        x = numbers(dtype, shape, low, high)
        if "int" in dtype or dtype == "bool":
            x = np.clip(x, int(np.ceil(low)), None).astype(x.dtype)
        out = getattr(jnp, name)(jnp.asarray(x))
        assert out.dtype == (x.dtype if dtype in FLOATS else np.float32)
        assert not out.weak_type
        close(out, reference(name, wide(x).astype(np.float64)), dtype)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", *FLOATS])
@pytest.mark.parametrize("name", KEEPING)
def test_functions_that_keep_the_dtype(name, dtype):
    for shape in shapes_for(dtype):
        x = numbers(dtype, shape, *KEEPING[name])
        out = getattr(jnp, name)(jnp.asarray(x))
        assert out.dtype == x.dtype
        close(out, reference(name, wide(x)), dtype)


@pytest.mark.parametrize("name", TESTS)
def test_predicates(name):
    special = np.array([0.0, -0.0, 1.5, -2, np.inf, -np.inf, np.nan], np.float32)
    for x in (special, np.arange(-2, 3), np.array([True, False]), special.astype("f2")):
        if name == "signbit" and x.dtype.kind != "f":
            expected = x < 0
        else:
            expected = reference(name, x)
        out = getattr(jnp, name)(x)
        assert out.dtype == np.bool_
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex(name):
    x = numbers("complex64", (2, 3), 0.2, 1.5)
    out = getattr(jnp, name)(x)
    expected = reference(name, x.astype(np.complex128))
    kinds = {"c": np.complex64, "f": np.float32, "b": np.bool_}
    assert out.dtype == kinds[expected.dtype.kind]
    close(out, expected, "complex64")


@pytest.mark.parametrize("dtype", ["int32", "uint8", *FLOATS])
@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_float_functions_of_two(name, dtype):
    for i, (a, b) in enumerate(pairs_for(dtype)):
        x, y = numbers(dtype, a, 1, 3, i), numbers(dtype, b, 1, 3, i + 9)
        out = getattr(jnp, name)(jnp.asarray(x), jnp.asarray(y))
        assert out.dtype == (x.dtype if dtype in FLOATS else np.float32)
        close(out, reference(name, *(wide(v).astype(np.float64) for v in (x, y))), dtype)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", *FLOATS])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(name, dtype):
    for i, (a, b) in enumerate(pairs_for(dtype)):
        x, y = numbers(dtype, a, -5, 5, i), numbers(dtype, b, 1, 4, i + 9)
        out = getattr(jnp, name)(jnp.asarray(x), jnp.asarray(y))
        assert out.dtype == x.dtype
        expected = reference(name, wide(x), wide(y))
        if dtype in ("float16", "bfloat16") and name in ("floor_divide", "remainder"):
            continue  # quotients of rounded floats may differ by one: see below
        close(out, expected, dtype)


@pytest.mark.parametrize("name", COMPARE)
def test_comparisons(name):
    for dtype in ("bool", "int32", "uint8", "float32", "bfloat16"):
        for i, (a, b) in enumerate(pairs_for(dtype)):
            x, y = numbers(dtype, a, -1, 1, i), numbers(dtype, b, -1, 1, i + 9)
            out = getattr(jnp, name)(jnp.asarray(x), jnp.asarray(y))
            assert out.dtype == np.bool_
            np.testing.assert_array_equal(out, reference(name, wide(x), wide(y)))


@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal"])
def test_complex_numbers_are_ordered_by_parts(name):
    x = np.array([1 + 2j, 1 + 2j, 2 + 0j, 0 + 9j], np.complex64)
    y = np.array([1 + 3j, 1 + 2j, 1 + 9j, 1 + 0j], np.complex64)
    np.testing.assert_array_equal(getattr(jnp, name)(x, y), reference(name, x, y))


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint32"])
@pytest.mark.parametrize("name", BITS)
def test_bits(name, dtype):
    for i, (a, b) in enumerate(pairs_for(dtype)):
        x, y = numbers(dtype, a, -9, 9, i), numbers(dtype, b, 0, 5, i + 9)
        out = getattr(jnp, name)(jnp.asarray(x), jnp.asarray(y))
        assert out.dtype == x.dtype
        np.testing.assert_array_equal(out, reference(name, x, y))


def test_bits_of_one_array():
    x = np.array([0, 1, -1, 7, -8, 127, -128], np.int8)
    np.testing.assert_array_equal(jnp.bitwise_not(x), np.bitwise_not(x))
    np.testing.assert_array_equal(jnp.bitwise_count(x), np.bitwise_count(x))
    assert jnp.bitwise_count(x).dtype == np.uint8
    mask = np.array([True, False])
    np.testing.assert_array_equal(jnp.invert(mask), ~mask)


# ------------------------------------------------------------------------ promotion

ARRAYS = ["bool", "uint8", "int32", "bfloat16", "float32", "complex64"]
# With a Python int, and with a Python float: dtype, and whether it is weak.
BESIDE_INT = ["~int32", "uint8", "int32", "bfloat16", "float32", "complex64"]
BESIDE_FLOAT = ["~float32", "~float32", "~float32", "bfloat16", "float32", "complex64"]


@pytest.mark.parametrize("jit", [False, True])
def test_python_numbers_yield_to_arrays(jit):
    run = mj.jit if jit else (lambda f: f)
    for name, beside_int, beside_float in zip(ARRAYS, BESIDE_INT, BESIDE_FLOAT, strict=True):
        x = jnp.ones(2, name)
        for number, expected in ((2, beside_int), (1.5, beside_float)):
            for out in (run(jnp.add)(x, number), run(lambda x, n=number: n + x)(x)):
                assert ("~" if out.weak_type else "") + out.dtype.name == expected


def test_mixtures_promote():
    cases = [
        ("int8", "uint8", "int16"),
        ("int32", "uint8", "int32"),
        ("int32", "float16", "float16"),
        ("bfloat16", "float16", "float32"),
        ("float32", "complex64", "complex64"),
        ("bool", "int8", "int8"),
    ]
    for a, b, expected in cases:
        assert jnp.add(jnp.ones(2, a), jnp.ones(2, b)).dtype == expected
        assert jnp.add(jnp.ones(2, b), jnp.ones(2, a)).dtype == expected


def test_numpy_scalars_do_not_yield():
    assert jnp.add(jnp.ones(2, "bfloat16"), np.float32(1)).dtype == np.float32
    assert jnp.add(jnp.ones(2, "float16"), np.float64(1)).dtype == np.float32
    assert jnp.add(jnp.ones(2, "int8"), np.int32(1)).dtype == np.int32


def test_sums_of_bools_are_or():
    x, y = jnp.array([True, True, False]), jnp.array([True, False, False])
    assert jnp.add(x, y).tolist() == [True, True, False]
    assert jnp.multiply(x, y).tolist() == [True, False, False]


def test_literals_wrap_as_converted_values_do():
    x = jnp.ones(2, "uint8")
    for out in (jnp.add(x, 300), mj.jit(lambda x: x + 300)(x)):
        assert out.tolist() == [45, 45]
    for out in (jnp.add(x, -1), mj.jit(lambda x: x + (-1))(x)):
        assert out.tolist() == [0, 0]


def test_simple_functions_are_one_equation():
    x = jnp.ones(3)
    for fun in (
        lambda x: x + 1,
        lambda x: 2.5 * x,
        jnp.sin,
        lambda x: x**2,
        lambda x: jnp.maximum(x, 0),
        jnp.square,
        jnp.isnan,
    ):
        assert len(mj.make_jaxpr(fun)(x).eqns) == 1


def test_equal_programs_eager_and_staged():
    x = jnp.array([0.3, 1.7])
    same(mj.jit(lambda x: jnp.power(x, 3))(x), jnp.power(x, 3))
    with mj.disable_jit():
        same(jnp.hypot(x, 2.0), jnp.hypot(x, 2.0))


# -------------------------------------------------------------------- special values

SPECIAL = np.array(
    [0.0, -0.0, 1, -1, 2.5, -2.5, 1e-40, -1e-45, 3e38, np.inf, -np.inf, np.nan], "f4"
)


@pytest.mark.parametrize("name", ["frexp", "modf"])
def test_parts_of_special_floats(name):
    selected = np.isfinite(SPECIAL) & ((SPECIAL == 0) | (np.abs(SPECIAL) > 1e-30))
    x = SPECIAL[selected] if name == "modf" else SPECIAL
    for got, expected in zip(getattr(jnp, name)(x), reference(name, x), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_ldexp_is_exact():
    x = np.array([1, 1.5, -3, 0.75, 1e30, 1e-30, np.inf, np.nan], np.float32)
    k = np.array([0, 126, 100, -125, -150, 200, 3, -2])  # subnormals may be flushed
    np.testing.assert_array_equal(jnp.ldexp(x, k), np.ldexp(x, k))
    assert jnp.ldexp(jnp.float16(1.5), 3) == 12
    assert jnp.ldexp(3, 2).dtype == np.float32


def test_steps_between_floats():
    x = SPECIAL[np.abs(SPECIAL) > 1e-30]
    np.testing.assert_array_equal(jnp.spacing(x), reference("spacing", x))
    for to in (np.inf, 0.0, -np.inf):
        np.testing.assert_array_equal(
            jnp.nextafter(x, np.float32(to)), np.nextafter(x, np.float32(to))
        )


def test_signs_of_zero():
    zeros = np.array([0.0, -0.0], np.float32)
    assert jnp.signbit(zeros).tolist() == [False, True]
    np.testing.assert_array_equal(np.signbit(jnp.copysign(jnp.ones(2), zeros)), [False, True])
    assert np.signbit(jnp.copysign(1.0, -0.0))


def test_division_by_zero_and_signs():
    x = np.array([7, -7, 7, -7, 1, 0, np.inf, 1, -1], np.float32)
    y = np.array([2, 2, -2, -2, 0, 0, 2, np.inf, np.inf], np.float32)
    for name in ("floor_divide", "remainder", "fmod"):
        got = np.asarray(getattr(jnp, name)(x, y))
        expected = reference(name, x, y)
        if name == "floor_divide":  # -1 // inf: -1 in Python and NumPy
            np.testing.assert_array_equal(got[:8], expected[:8])
        else:
            np.testing.assert_array_equal(got, expected)
    q, r = jnp.divmod(x[:4], y[:4])
    np.testing.assert_array_equal(q, np.floor(x[:4] / y[:4]))
    np.testing.assert_array_equal(r, x[:4] - np.floor(x[:4] / y[:4]) * y[:4])


def test_integer_division_rounds_down():
    x, y = np.meshgrid(np.arange(-7, 8), [-3, -2, -1, 1, 2, 3])
    np.testing.assert_array_equal(jnp.floor_divide(x, y), x // y)
    np.testing.assert_array_equal(jnp.remainder(x, y), x % y)
    np.testing.assert_array_equal(jnp.fmod(x, y), np.fmod(x, y))
    assert jnp.remainder(jnp.array([5, 0]), 0).tolist() == [0, 0]


def test_integer_powers():
    base, exponent = np.meshgrid(np.arange(-3, 4), np.arange(0, 9))
    np.testing.assert_array_equal(jnp.power(base, exponent), base**exponent)
    assert jnp.power(2, jnp.array([-1, 10])).tolist() == [0, 1024]
    assert jnp.power(jnp.array([2.0]), 3).tolist() == [8]
    assert jnp.power(jnp.array([2.0]), -1).tolist() == [0.5]
    assert jnp.power(True, True) == 1


def test_log_of_sums_at_infinity():
    x = np.array([-np.inf, np.inf, 1, np.nan, -np.inf], np.float32)
    y = np.array([-np.inf, np.inf, 2, 1, 3], np.float32)
    for name in ("logaddexp", "logaddexp2"):
        close(getattr(jnp, name)(x, y), reference(name, x, y), "float32")
    slopes = mj.grad(jnp.logaddexp, (0, 1))(1000.0, 1000.0)
    np.testing.assert_allclose(slopes, [0.5, 0.5], rtol=1e-4)
    assert mj.grad(jnp.logaddexp)(0.0, -jnp.inf) == 1


def test_logaddexp_of_complex_numbers():
    x, y = np.complex64(1 + 3j), np.complex64(1 - 3j)
    got = jnp.logaddexp(x, y)
    np.testing.assert_allclose(np.exp(got), np.exp(x) + np.exp(y), rtol=1e-5)


def test_derivatives_at_special_points():
    assert mj.grad(jnp.sinc)(0.0) == 0
    np.testing.assert_allclose(mj.grad(mj.grad(jnp.sinc))(0.0), -(np.pi**2) / 3, rtol=1e-6)
    np.testing.assert_allclose(mj.grad(jnp.hypot)(3.0, 4.0), 0.6, rtol=1e-6)
    assert mj.grad(jnp.i0)(0.0) == 0
    assert mj.grad(lambda x: jnp.frexp(x)[0])(6.0) == 0.125
    assert mj.grad(lambda x: jnp.ldexp(x, 3))(2.0) == 8


def test_rounding():
    x = np.array([0.5, 1.5, 2.5, -0.5, 1.25, 1.35, 123.456], np.float32)
    for decimals in (0, 1, 2, -1):
        np.testing.assert_allclose(
            jnp.round(x, decimals), np.round(x.astype("f8"), decimals), rtol=1e-6
        )
    z = np.array([1.5 + 2.5j], np.complex64)
    assert jnp.round(z).tolist() == [2 + 2j]
    assert jnp.round(jnp.array([1, 2]), 3).dtype == np.int32
    assert jnp.round(jnp.array([1.234], "float16"), 2).dtype == np.float16
    assert jnp.around(2.5) == 2


def test_clip():
    x = np.array([-2, 0.5, 3], np.float32)
    assert jnp.clip(x, 0, 1).tolist() == [0, 0.5, 1]
    assert jnp.clip(x, min=0).tolist() == [0, 0.5, 3]
    assert jnp.clip(x, max=0).tolist() == [-2, 0, 0]
    assert jnp.clip(x).tolist() == x.tolist()
    assert jnp.clip(x, 2, 1).tolist() == [1, 1, 1]
    assert jnp.clip(jnp.array([1, 5]), 0.5, 2).dtype == np.float32
    assert jnp.clip(x, np.array([0, 1, 2], "f4"), None).tolist() == [0, 1, 3]


def test_nan_to_num():
    x = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
    np.testing.assert_array_equal(jnp.nan_to_num(x), np.nan_to_num(x))
    out = jnp.nan_to_num(x, nan=5, posinf=6, neginf=7)
    assert out.tolist() == [5, 6, 7, 1]
    z = np.array([complex(np.nan, np.inf)], np.complex64)
    np.testing.assert_array_equal(jnp.nan_to_num(z), np.nan_to_num(z))
    assert jnp.nan_to_num(jnp.arange(2)).tolist() == [0, 1]


def test_closeness():
    x = np.array([1, np.nan, np.inf, np.inf, 1], np.float32)
    y = np.array([1.000001, np.nan, np.inf, -np.inf, 1.1], np.float32)
    for equal_nan in (False, True):
        np.testing.assert_array_equal(
            jnp.isclose(x, y, equal_nan=equal_nan), np.isclose(x, y, equal_nan=equal_nan)
        )
    assert jnp.allclose(x[:1], y[:1])
    assert not jnp.allclose(x[-1:], y[-1:])
    assert jnp.isclose(jnp.array([100000]), jnp.array([100001])).tolist() == [True]
    assert jnp.isclose(x[-1:], y[-1:], rtol=0.2).tolist() == [True]


def test_equality_of_arrays():
    x = jnp.arange(3)
    assert jnp.array_equal(x, jnp.arange(3.0))
    assert not jnp.array_equal(x, jnp.arange(4))
    assert jnp.array_equal([1, 2], np.array([1, 2]))
    nan = jnp.array([jnp.nan])
    assert not jnp.array_equal(nan, nan)
    assert jnp.array_equal(nan, nan, equal_nan=True)
    assert jnp.array_equiv(jnp.ones((2, 3)), 1)
    assert not jnp.array_equiv(x, jnp.arange(4))


# ------------------------------------------------------------------- derivatives, lanes


@pytest.mark.parametrize("name", SMOOTH)
def test_unary_laws(name):
    low, high = SMOOTH[name]
    x = np.random.default_rng(1).uniform(low, high, (2, 3))
    obeys(getattr(jnp, name), x, exact=False)


@pytest.mark.parametrize(
    "name", [*FLOAT_BINARY, *BINARY, "power", "isclose", "nextafter", "less", "logical_and"]
)
def test_binary_laws(name):
    rng = np.random.default_rng(2)
    not_differentiable = {
        "heaviside",
        "isclose",
        "nextafter",
        "less",
        "logical_and",
        "floor_divide",
    }
    fun = getattr(jnp, name)
    for a, b in (((2, 3), (2, 3)), ((3,), (2, 3)), ((2, 1), ()), ((), ())):
        x, y = rng.uniform(1.1, 1.9, a), rng.uniform(2.1, 2.9, b)
        obeys(fun, x, y, derivatives=name not in not_differentiable, exact=False)


def test_laws_of_functions_with_arguments():
    x = np.random.default_rng(3).uniform(-2, 2, (2, 3))
    obeys(lambda x: jnp.clip(x, -1, 1), x)
    obeys(lambda x: jnp.round(x, 1), x, derivatives=False)
    obeys(lambda x: jnp.ldexp(x, 2), x)
    obeys(lambda x: jnp.frexp(x)[0], x, exact=False)
    obeys(lambda x: jnp.angle(x + 2j), x, exact=False)


# ---------------------------------------------------------------------------- messages

MISTAKES = [
    (
        lambda: jnp.sin([1.0]),
        TypeError,
        "sin requires ndarray or scalar arguments, got <class 'list'> at position 0",
    ),
    (
        lambda: jnp.add(1, None),
        TypeError,
        "add requires ndarray or scalar arguments, got <class 'NoneType'> at position",
    ),
    (
        lambda: jnp.add(jnp.ones(3), jnp.ones(4)),
        TypeError,
        "add got incompatible shapes for broadcasting: (3,), (4,)",
    ),
    (
        lambda: jnp.subtract(jnp.array([True]), True),
        TypeError,
        "sub does not accept dtype bool at position 0",
    ),
    (lambda: jnp.negative(True), TypeError, "neg does not accept dtype bool"),
    (lambda: jnp.floor(1j), TypeError, "floor does not accept dtype complex64"),
    (lambda: jnp.bitwise_and(1.0, 2), TypeError, "and does not accept dtype float32"),
    (
        lambda: jnp.power(jnp.array([2]), -1),
        TypeError,
        "Integers cannot be raised to negative powers, got integer_pow(int32[1], -1)",
    ),
    (lambda: jnp.clip(1j, 0, 1), ValueError, "Clip received a complex value"),
    (lambda: jnp.clip(), ValueError, "No input was provided to the clip function"),
    (lambda: jnp.signbit(1j), ValueError, "signbit is not well defined for complex64"),
    (lambda: jnp.copysign(1j, 1), TypeError, "copysign does not support complex"),
    (lambda: jnp.hypot(1j, 1), ValueError, "not well defined for complex-valued inputs"),
    (lambda: jnp.fabs(1j), TypeError, "ufunc 'fabs' does not support complex dtypes"),
    (lambda: jnp.frexp(1j), TypeError, "frexp does not support complex-valued inputs"),
    (lambda: jnp.ldexp(1.0, 1.0), ValueError, "ldexp not supported for input types"),
    (lambda: jnp.gcd(1.5, 2), ValueError, "Arguments to jax.numpy.gcd must be integers"),
    (lambda: jnp.isposinf(1j), ValueError, "not well defined for complex types"),
    (lambda: jnp.round(jnp.arange(3), -1), NotImplementedError, "decimals < 0"),
    (lambda: jnp.round(1.5, out=1), NotImplementedError, "The 'out' argument to jnp.round"),
    (lambda: jnp.floor_divide(1j, 1), TypeError, "does not support complex-valued"),
    (lambda: jnp.spacing(1j), ValueError, "jnp.spacing is not defined for complex"),
    (lambda: jnp.i0(1j), ValueError, "Unsupported input type to jax.numpy.i0: complex64"),
    (lambda: jnp.add(jnp.ones(2), 2**40), OverflowError, "1099511627776"),
    (
        lambda: jnp.add(jnp.ones(2, "float8_e4m3fn"), jnp.ones(2)),
        ValueError,
        "no available implicit dtype promotion path",
    ),
]


@pytest.mark.parametrize("fun, error, text", MISTAKES)
def test_messages(fun, error, text):
    with pytest.raises(error, match=re.escape(text)):
        fun()


def test_strict_promotion():
    with mj.numpy_dtype_promotion("strict"):
        with pytest.raises(
            jnp.TypePromotionError if hasattr(jnp, "TypePromotionError") else ValueError,
            match="int32",
        ):
            jnp.add(jnp.ones(2, "int32"), jnp.ones(2, "float32"))
        assert jnp.add(jnp.ones(2), 1).dtype == np.float32


def test_rank_promotion():
    with mj.numpy_rank_promotion("raise"):
        with pytest.raises(ValueError, match="Operands could not be broadcast together"):
            jnp.add(jnp.ones(3), jnp.ones((2, 3)))
        assert jnp.add(jnp.ones(3), 1.0).shape == (3,)
    warned = pytest.warns(UserWarning, match="automatic rank promotion for add")
    with mj.numpy_rank_promotion("warn"), warned:
        jnp.add(jnp.ones(3), jnp.ones((2, 3)))


@pytest.mark.parametrize(
    ("f", "shapes", "raises"),  # as JAX 0.10.2 does
    [
        (mj.vmap(jnp.add), ((3, 2, 4), (3, 4)), True),
        (mj.vmap(jnp.add, (0, None)), ((3, 4), (3, 4)), True),
        (mj.jit(mj.vmap(jnp.logaddexp)), ((3, 2, 4), (3, 4)), True),
        (mj.vmap(mj.jit(jnp.add)), ((3, 2, 4), (3, 4)), True),
        (mj.vmap(lambda x, y: x + y), ((3, 2, 4), (3, 4)), True),
        (mj.vmap(jnp.add), ((3, 4), (3,)), False),
        (mj.vmap(jnp.add, (0, None)), ((3, 4), (4,)), False),
        (mj.vmap(mj.vmap(jnp.add), (0, None)), ((3, 2, 4), (2, 4)), False),
        (mj.vmap(jnp.matmul), ((3, 4, 4), (3, 4)), False),
        (mj.vmap(jnp.var), ((3, 4, 4),), False),
        (mj.vmap(mj.nn.softmax), ((3, 4, 4),), False),
    ],
)
def test_rank_promotion_of_lanes(f, shapes, raises):
    with mj.numpy_rank_promotion("raise"):
        args = [jnp.ones(s) for s in shapes]
        if not raises:
            f(*args)
            return
        with pytest.raises(ValueError, match="Operands could not be broadcast"):
            f(*args)


def test_sixty_four_bits():
    with mj.enable_x64(True):
        assert jnp.sin(1).dtype == np.float64
        assert jnp.add(jnp.ones(2, "float32"), 1.0).dtype == np.float32
        assert jnp.sin(jnp.arange(2)).dtype == np.float64
        assert jnp.frexp(jnp.float64(6.0))[0] == 0.75


def test_small_dtypes():
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"):
        x = jnp.array([1.0, 2.0], name)
        assert jnp.add(x, x).dtype == name
        assert jnp.add(x, 1).tolist() == [2, 3]
        assert jnp.sin(x).dtype == name
    x = jnp.array([1, 2, -3], "int4")
    assert jnp.add(x, 1).dtype == ml_dtypes.int4
    assert jnp.multiply(x, x).tolist() == [1, 4, -7]
