"""Dtypes: categories, sizes and promotion of narrow ones, 64 bits with x64 disabled.

The expectations are JAX 0.10.2's results, stated as rules and checked over all pairs.
"""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import dtypes, lax, random

BITS = {
    "bool_": 8, "int1": 1, "uint1": 1, "int2": 2, "uint2": 2, "int4": 4, "uint4": 4,
    "int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32,
    "int64": 64, "uint64": 64, "float4_e2m1fn": 4, "float6_e2m3fn": 6,
    "float6_e3m2fn": 6, "float8_e3m4": 8, "float8_e4m3": 8, "float8_e4m3b11fnuz": 8,
    "float8_e4m3fn": 8, "float8_e4m3fnuz": 8, "float8_e5m2": 8, "float8_e5m2fnuz": 8,
    "float8_e8m0fnu": 8, "bfloat16": 16, "float16": 16, "float32": 32, "float64": 64,
    "complex64": 64, "complex128": 128,
}  # fmt: skip
NAMES = [name for name in BITS if hasattr(jnp, name)]
KEY = random.key(0).dtype


def is_int(name):
    return "int" in name


def narrow(name):
    """Whether a dtype promotes only with some: floats with integers, integers with none."""
    return name != "bool_" and BITS[name] < (8 if is_int(name) else 9)


@pytest.mark.parametrize("name", NAMES)
def test_categories_and_sizes(name):
    dtype = getattr(jnp, name)
    assert dtypes.itemsize_bits(dtype) == BITS[name]
    kind = next(k for k in ("bool", "uint", "int", "complex", "float") if k in name)
    under = {
        "bool": {np.bool_},
        "int": {np.number, np.integer, np.signedinteger},
        "uint": {np.number, np.integer, np.unsignedinteger},
        "float": {np.number, np.inexact, np.floating},
        "complex": {np.number, np.inexact, np.complexfloating},
    }[kind] | {np.generic}
    for category in (
        np.generic,
        np.number,
        np.integer,
        np.signedinteger,
        np.unsignedinteger,
        np.inexact,
        np.floating,
        np.complexfloating,
        np.bool_,
        dtypes.extended,
        dtypes.prng_key,
        np.flexible,
        object,
    ):
        assert jnp.issubdtype(dtype, category) == (category in under), category
        assert not jnp.issubdtype(KEY, category) or category in (
            np.generic,
            dtypes.extended,
            dtypes.prng_key,
        )
    for other in NAMES:
        assert dtypes.issubdtype(dtype, getattr(jnp, other)) == (name == other)
    if kind in ("int", "uint"):
        assert jnp.iinfo(dtype).bits == BITS[name]
    elif kind != "bool":
        part = BITS[name] // 2 if kind == "complex" else BITS[name]
        assert jnp.finfo(dtype).bits == part
    assert jnp.isdtype(
        dtype,
        {
            "int": "signed integer",
            "uint": "unsigned integer",
            "float": "real floating",
            "bool": "bool",
            "complex": "complex floating",
        }[kind],
    )


def yields(a, b):
    """Whether dtype `a` promotes to the narrow `b`."""
    return a == "bool_" or (is_int(a) and not narrow(a) and not is_int(b))


def test_narrow_dtypes_promote_with_few():
    for a in NAMES:
        for b in NAMES:
            if not (narrow(a) or narrow(b)):
                continue
            x, y = getattr(jnp, a), getattr(jnp, b)
            if a == b or yields(a, b) or yields(b, a):
                expected = y if yields(a, b) else x
                assert jnp.promote_types(x, y) == expected, (a, b)
                continue
            with pytest.raises(
                dtypes.TypePromotionError,
                match="have no available implicit dtype promotion path. To avoid"
                r" unintended promotion, .* do not support implicit promotion",
            ) as caught:
                jnp.promote_types(x, y)
            assert f"({np.dtype(x).name!r}, {np.dtype(y).name!r})" in str(caught.value)
        if narrow(a):
            assert jnp.promote_types(getattr(jnp, a), int) == getattr(jnp, a)
            if a.startswith("float"):
                assert jnp.promote_types(float, getattr(jnp, a)) == getattr(jnp, a)
            with pytest.raises(dtypes.TypePromotionError, match="<class 'complex'>"):
                jnp.promote_types(getattr(jnp, a), complex)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: jnp.zeros(2, object), TypeError, "JAX only supports number, bool, and"
         " string dtypes, got dtype <class 'object'> in zeros"),
        (lambda: lax.convert_element_type(1.0, str), TypeError, "JAX only supports"
         " number, bool, and string dtypes, got dtype <class 'str'> in convert_element"),
        (lambda: jnp.float6_e2m3fn(1), TypeError, "JAX only supports number"),
        (lambda: jnp.array([None, 1], object), TypeError, "JAX only supports number"),
        (lambda: jnp.sin(np.array([None])), TypeError, "as an abstract array"),
        (lambda: jnp.array({"a": 1}), TypeError, "with dtype object is not a valid JAX"
         " array type. Only arrays of numeric types are supported by JAX"),
        (lambda: dtypes.result_type(object), TypeError, "is not a valid JAX array type"),
        (lambda: dtypes.result_type(), ValueError, "at least one array or dtype is req"),
        (lambda: jnp.promote_types(object, "int8"), ValueError, "is not a valid dtype "
         "for JAX type promotion"),
        (lambda: jnp.where(True, random.key(0), 1), ValueError, "dtype=key<fry> is not"
         " a valid dtype for JAX type promotion"),
        (lambda: random.key(0) + 1, TypeError, "key<fry>"),
        (lambda: jnp.sort(random.split(random.key(0))), TypeError, "does not accept dt"
         "ype key<fry> at position 0"),
        (lambda: random.key(0).astype(int), ValueError, "Cannot convert_element_type "
         "from key<fry> to int32"),
        (lambda: dtypes.itemsize_bits(KEY), ValueError, "unexpected input: dtype=key"),
        (lambda: dtypes.itemsize_bits(None), ValueError, "dtype cannot be None"),
        (lambda: dtypes.canonicalize_dtype(KEY), ValueError, "allow_extended_dtype=Fal"),
        (lambda: jnp.isdtype("int8", 3), TypeError, "Expected kind to be a dtype, str"),
        (lambda: jnp.isdtype("int8", "no"), ValueError, "Unrecognized kind='no' expec"),
        (lambda: jnp.iinfo(jnp.float32), ValueError, "Invalid integer data type 'f'"),
    ],
)  # fmt: skip
def test_invalid_dtypes(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_dtypes_of_keys():
    assert random.key_data(jnp.ones(2, KEY)).tolist() == [[1, 1], [1, 1]]
    assert jnp.zeros((), KEY).dtype == jnp.empty((2, 3), KEY).dtype == KEY
    assert random.key_data(mj.jit(lambda: jnp.zeros(1, KEY))()).tolist() == [[0, 0]]
    assert dtypes.canonicalize_dtype(KEY, allow_extended_dtype=True) is KEY
    assert dtypes.canonicalize_dtype(None) == jnp.zeros(()).dtype
    assert dtypes.result_type(1, 2.0, return_weak_type_flag=True)[1]
    assert not dtypes.result_type(jnp.int8(1), 2, return_weak_type_flag=True)[1]


REQUESTS = {
    "zeros": lambda d: jnp.zeros(2, d),
    "full_like": lambda d: jnp.full_like(jnp.ones(2), 1, dtype=d),
    "asarray": lambda d: jnp.asarray([1.0], d),
    "astype": lambda d: jnp.ones(2).astype(d),
    "sum": lambda d: jnp.sum(jnp.ones(2), dtype=d),
    "linspace": lambda d: jnp.linspace(0, 1, 2, dtype=d),
    "convert_element_type": lambda d: lax.convert_element_type(1.0, d),
    "broadcasted_iota": lambda d: lax.broadcasted_iota(d, (2,), 0),
    "uniform": lambda d: random.uniform(random.key(0), dtype=d),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_64_bits_where_x64_is_off(name):
    if mj.config.jax_enable_x64:
        assert REQUESTS[name](jnp.float64).dtype == jnp.float64
        return
    words = f"Explicitly requested dtype float64 requested in {name} is not available"
    with pytest.warns(UserWarning, match=words + ", and will be truncated to dtype fl"):
        assert REQUESTS[name](jnp.float64).dtype == jnp.float32
    assert REQUESTS[name](float).dtype == jnp.float32
    mj.config.update("jax_explicit_x64_dtypes", "error")
    try:
        with pytest.raises(ValueError, match=words):
            REQUESTS[name](jnp.float64)
        assert REQUESTS[name](float).dtype == jnp.float32
    finally:
        mj.config.update("jax_explicit_x64_dtypes", "warn")


def test_requests_for_uint64_random_bits_warn():
    state = np.zeros(4, np.uint32)
    with pytest.warns(UserWarning, match="uint64 requested in rng_bit_generator"):
        assert lax.rng_bit_generator(state, (2,), dtype="uint64")[1].dtype == np.uint32


def test_options_refuse_unknown_values():
    with pytest.raises(ValueError, match=r"new enum value must be in \['warn', 'error'"):
        mj.config.update("jax_explicit_x64_dtypes", "never")
    with pytest.raises(AttributeError, match="Unrecognized config option: jax_nothing"):
        mj.config.update("jax_nothing", 1)


def test_arrays_are_accepted_as_dtypes():
    x, n = jnp.ones(2, jnp.bfloat16), jnp.arange(2)
    assert jnp.promote_types(x, n) == jnp.promote_types(x, jnp.int8) == jnp.bfloat16
    assert jnp.promote_types("float32", x) == jnp.float32
    assert mj.jit(lambda x: x.astype(jnp.promote_types(x, "float16")))(x).dtype == (jnp.float32)
    assert jnp.issubdtype(x, jnp.floating) and not jnp.issubdtype(n, x)
    for call in (jnp.promote_types, jnp.issubdtype):
        for host in (np.ones(2), [1, 2]):
            with pytest.raises(TypeError, match=r"dtype from an array|Field elements"):
                call(host, jnp.float32)


def test_float0_arrays_are_equal_if_their_shapes_are():
    zeros = np.zeros(3, mj.dtypes.float0)
    assert jnp.array_equal(zeros, zeros) and jnp.array_equal(zeros, zeros, True)
    assert not jnp.array_equal(zeros, zeros[:2])
    with pytest.raises(TypeError, match="does not accept dtypes"):
        jnp.array_equal(zeros, np.zeros(3))
