"""Dot products: compared with NumPy, laws, dtypes, precisions, lowering, errors."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from laws import obeys

import minijax as mj
from minijax import lax
from minijax.ir import core
from minijax.passes.stage import stage_closed
from minijax.runtime.lowering.lower_jaxpr import lower_jaxpr
from minijax.types.avals import shaped

RANDOM = np.random.default_rng(0)


def f32(*shape):
    return RANDOM.integers(-4, 5, shape).astype(np.float32)


def reference(x, y, numbers):
    """The definition, by einsum."""
    (lhs_contracting, rhs_contracting), (l_batch, r_batch) = numbers
    left = list(range(x.ndim))
    right = list(range(x.ndim, x.ndim + y.ndim))
    for i, j in zip((*lhs_contracting, *l_batch), (*rhs_contracting, *r_batch), strict=True):
        right[j] = left[i]
    kept_l = [a for i, a in enumerate(left) if i not in (*lhs_contracting, *l_batch)]
    kept_r = [a for i, a in enumerate(right) if i not in (*rhs_contracting, *r_batch)]
    out = [left[i] for i in l_batch] + kept_l + kept_r
    return np.einsum(x, left, y, right, out)


CASES = {
    "vectors": ((3,), (3,), (((0,), (0,)), ((), ()))),
    "matrices": ((2, 3), (3, 4), (((1,), (0,)), ((), ()))),
    "transposed": ((3, 2), (4, 3), (((0,), (1,)), ((), ()))),
    "outer": ((2,), (3,), (((), ()), ((), ()))),
    "scalars": ((), (), (((), ()), ((), ()))),
    "scaling": ((), (2, 3), (((), ()), ((), ()))),
    "batch": ((5, 2, 3), (5, 3, 4), (((2,), (1,)), ((0,), (0,)))),
    "batch at the end": ((2, 5, 3, 2), (3, 2, 5), (((2, 0), (0, 1)), ((1,), (2,)))),
    "only batch": ((5, 2), (2, 5), (((), ()), ((0, 1), (1, 0)))),
    "crossed": ((2, 3, 4), (4, 5, 3, 2), (((2, 0, 1), (0, 3, 2)), ((), ()))),
    "two batches": ((2, 3, 4, 5), (3, 5, 2), (((3,), (1,)), ((1, 0), (0, 2)))),
    "empty sum": ((2, 0), (0, 4), (((1,), (0,)), ((), ()))),
    "empty result": ((0, 3), (3, 4), (((1,), (0,)), ((), ()))),
}
every = pytest.mark.parametrize("shapes", CASES.values(), ids=CASES)


@every
def test_values_and_laws(shapes):
    left, right, numbers = shapes
    x, y = f32(*left), f32(*right)
    got = lax.dot_general(x, y, numbers)
    np.testing.assert_array_equal(got, reference(x, y, numbers))
    obeys(lambda x, y: lax.dot_general(x, y, numbers), x, y)


@pytest.mark.parametrize("i, j", list(itertools.product((None, 0, 1, 2, 3), repeat=2)))
def test_lanes_anywhere(i, j):
    """A lane axis at every place of every operand."""
    if i is j is None:
        return
    numbers = (((2,), (1,)), ((0,), (0,)))
    x, y = f32(3, 5, 2, 4), f32(3, 5, 4, 2)
    xs = x[0] if i is None else np.moveaxis(x, 0, i)
    ys = y[0] if j is None else np.moveaxis(y, 0, j)
    got = mj.vmap(lambda a, b: lax.dot_general(a, b, numbers), (i, j))(xs, ys)
    expected = np.einsum(
        "lbij,lbjk->lbik",
        x if i is not None else x[[0] * 3],
        y if j is not None else y[[0] * 3],
    )
    np.testing.assert_array_equal(got, expected)


NAMES = (
    "bool",
    "int4",
    "uint4",
    "int8",
    "uint8",
    "int32",
    "uint32",
    "float8_e4m3fn",
    "float8_e5m2",
    "bfloat16",
    "float16",
    "float32",
    "complex64",
)


@pytest.mark.parametrize("left, right", list(itertools.product(NAMES, repeat=2)))
def test_dtypes(left, right):
    """Any two dtypes; the wider range wins, then precision, width, sign."""
    one = np.ones((2, 4), left), np.ones((4,), right)
    got = lax.dot(*one)
    order = (
        "bool uint4 int4 uint8 int8 uint32 int32 float8_e4m3fn float8_e5m2 float16"
        " bfloat16 float32 complex64"
    ).split()
    assert got.dtype.name == max(left, right, key=order.index)
    value = True if got.dtype == bool else 4
    np.testing.assert_array_equal(np.asarray(got).astype(complex), [complex(value)] * 2)


def test_products_of_dtypes_of_equal_rank_raise():
    x = np.ones(2, ml_dtypes.float8_e4m3fnuz)
    y = np.ones(2, ml_dtypes.float8_e4m3b11fnuz)
    try:
        lax.dot(x, y)
    except TypeError as e:
        assert "Neither dtype contains all values of the other" in str(e)


@pytest.mark.parametrize(
    "dtype, preferred",
    [
        ("int8", "int32"),
        ("uint8", "int32"),
        ("int8", "float32"),
        ("bool", "int32"),
        ("bfloat16", "float32"),
        ("float16", "float32"),
        ("float32", "bfloat16"),
        ("float8_e4m3fn", "float32"),
        ("float32", "int32"),
    ],
)
def test_preferred_element_type(dtype, preferred):
    x, y = (np.ones((2, 20), dtype), np.ones((20,), dtype))
    got = lax.dot(x, y, preferred_element_type=preferred)
    assert got.dtype.name == preferred
    np.testing.assert_array_equal(np.asarray(got).astype(int), [20, 20])


def test_derivatives_have_the_operands_dtypes():
    x, y = np.ones((2, 3), ml_dtypes.bfloat16), np.ones((3,), np.float32)
    out, back = mj.vjp(lambda x, y: lax.dot(x, y, preferred_element_type="float32"), x, y)
    x_ct, y_ct = back(np.ones_like(out))
    assert x_ct.dtype == x.dtype and y_ct.dtype == y.dtype
    z, back = mj.vjp(lax.dot, x.astype(np.complex64), y)
    assert back(np.ones_like(z))[1].dtype == np.float32


def test_weak_types():
    weak, strong = shaped((3,), np.dtype("float32"), True), shaped((3,), np.dtype("f4"))
    for avals, expected in (((weak, weak), True), ((weak, strong), False)):
        closed = stage_closed(lambda x, y: [lax.dot(x, y)], avals)
        assert closed.out_avals[0].weak_type is expected


# -------------------------------------------------------------------------- precision

P = lax.Precision
BOTH = {
    "default": P.DEFAULT,
    "fastest": P.DEFAULT,
    "bfloat16": P.DEFAULT,
    "high": P.HIGH,
    "tensorfloat32": P.HIGH,
    "bfloat16_3x": P.HIGH,
    "highest": P.HIGHEST,
    "float32": P.HIGHEST,
}


def traced(precision=None, dtype="float32", preferred=None):
    x = shaped((3,), np.dtype(dtype))
    return stage_closed(
        lambda a, b: [lax.dot(a, b, precision=precision, preferred_element_type=preferred)],
        (x, x),
    )


def recorded(precision):
    return traced(precision).eqns[0].params["precision"]


def test_precisions():
    assert recorded(None) is None
    for name, p in BOTH.items():
        assert recorded(name) == (p, p)
        assert lax.Precision(name) is p
    assert recorded(P.HIGH) == (P.HIGH, P.HIGH)
    assert recorded(("high", P.DEFAULT)) == (P.HIGH, P.DEFAULT)
    preset = lax.DotAlgorithmPreset.BF16_BF16_F32
    assert recorded(preset) is recorded("BF16_BF16_F32") is preset
    algorithm = lax.DotAlgorithm("float32", "float32", "float32")
    assert recorded(algorithm) == algorithm
    assert str(P.HIGH) == "HIGH" and repr(P.HIGH) == "Precision.HIGH"
    for bad in ("foo", 3, ("high",), ("high", None), ("F16_F16_F16", "high")):
        with pytest.raises(ValueError, match="Precision argument"):
            recorded(bad)


def test_default_precision():
    with mj.default_matmul_precision("highest"):
        assert recorded(None) == (P.HIGHEST, P.HIGHEST)
        assert recorded("high") == (P.HIGH, P.HIGH)
    assert recorded(None) is None


def text(precision, dtype="float32", preferred=None, platform="cpu"):
    closed = traced(precision, dtype, preferred)
    return str(lower_jaxpr(closed, "f", platform).module)


def test_precision_is_in_the_program():
    assert "precision = [HIGH, DEFAULT]" in text(("high", "default"))
    assert "precision = [DEFAULT, DEFAULT]" in text(None)
    assert "algorithm" not in text("DEFAULT")


# preset, dtype, preferred type, platform -> algorithm's types, passes, fast;
# operands' and result's type of the operation
ALGORITHMS = """
F32_F32_F32 bfloat16 - cpu f32 f32 f32 1 false f32 f32
F64_F64_F64 float32 - cpu f64 f64 f64 1 false f64 f64
F16_F16_F16 float32 - cpu f16 f16 f16 1 false f16 f16
BF16_BF16_F32 float32 - cpu bf16 bf16 f32 1 false f32 f32
BF16_BF16_F32 bfloat16 - cpu bf16 bf16 f32 1 false bf16 bf16
BF16_BF16_F32 float16 - cpu bf16 bf16 f32 1 false bf16 f32
BF16_BF16_F32_X6 bfloat16 - cpu bf16 bf16 f32 6 false f32 f32
BF16_BF16_F32_X9 float32 - cuda bf16 bf16 f32 9 false f32 f32
BF16_BF16_BF16 float32 - cuda bf16 bf16 bf16 1 false f32 bf16
F16_F16_F32 bfloat16 - cuda f16 f16 f32 1 false f16 f32
TF32_TF32_F32_X3 float32 - cuda tf32 tf32 f32 3 false f32 f32
ANY_F8_ANY_F8_F32 float8_e4m3fn float16 cuda f8E4M3FN f8E4M3FN f32 1 false f8E4M3FN f16
ANY_F8_ANY_F8_F32_FAST_ACCUM float8_e5m2 - cuda f8E5M2 f8E5M2 f32 1 true f8E5M2 f8E5M2
ANY_F8_ANY_F8_ANY float8_e5m2 float64 tpu f8E5M2 f8E5M2 f32 1 false f8E5M2 f64
"""


@pytest.mark.parametrize("row", ALGORITHMS.strip().splitlines())
def test_algorithms(row):
    preset, dtype, preferred, platform, *algorithm, operand, result = row.split()
    preferred = None if preferred == "-" else preferred
    with mj.enable_x64(True):
        module = text(preset, dtype, preferred, platform)
    lhs, rhs, total, passes, fast = algorithm
    assert (
        f"<lhs_precision_type = {lhs}, rhs_precision_type = {rhs}, accumulation_type ="
        f" {total}, lhs_component_count = 1, rhs_component_count = 1,"
        f" num_primitive_operations = {passes}, allow_imprecise_accumulation = {fast}>"
    ) in module
    assert f"(tensor<3x{operand}>, tensor<3x{operand}>) -> tensor<{result}>" in module


@pytest.mark.parametrize("preset", [p for p in lax.DotAlgorithmPreset])
def test_presets_compute_or_raise(preset):
    x, y = f32(2, 8), f32(8)
    try:
        got = lax.dot(x, y, precision=preset)
    except ValueError as e:
        assert "is not supported by dot_general on CPU" in str(e)
    else:
        np.testing.assert_array_equal(got, x @ y)


def test_explicit_algorithm():
    algorithm = lax.DotAlgorithm("bfloat16", "bfloat16", "float32")
    module = text(algorithm, platform="cuda")
    assert "(tensor<3xbf16>, tensor<3xbf16>) -> tensor<f32>" in module
    with pytest.raises(ValueError, match="not supported by dot_general on CPU"):
        text(algorithm)
    with pytest.raises(ValueError, match="requires both inputs to have float8"):
        text("ANY_F8_ANY_F8_F32", platform="cuda")


# ------------------------------------------------------------------ functions, errors


def test_dot():
    x, y, v = f32(2, 3), f32(3, 4), f32(3)
    np.testing.assert_array_equal(lax.dot(x, y), x @ y)
    np.testing.assert_array_equal(lax.dot(x, v), x @ v)
    np.testing.assert_array_equal(lax.dot(v, y), v @ y)
    np.testing.assert_array_equal(lax.dot_general(x, v, None), x @ v)
    np.testing.assert_array_equal(
        lax.dot(x, x, dimension_numbers=(([1], [1]), ([], []))), x @ x.T
    )
    for left, right in (((2, 3), (2, 3)), ((), (3,)), ((2, 3, 4), (4,)), ((3,), ())):
        with pytest.raises(ValueError, match="dimension_numbers must be specified"):
            lax.dot(f32(*left), f32(*right))


def test_batch_matmul():
    x, y = f32(5, 6, 2, 3), f32(5, 6, 3, 4)
    np.testing.assert_array_equal(lax.batch_matmul(x, y), x @ y)
    with pytest.raises(ValueError, match="at least 2D"):
        lax.batch_matmul(f32(3), f32(3))
    with pytest.raises(ValueError, match="same ndim"):
        lax.batch_matmul(x, y[0])


@pytest.mark.parametrize(
    "left, right, numbers, text",
    [
        ((3, 4), (5, 4, 3), (((1,), (2,)), ((0,), (1,))), "batch dimensions to have"),
        ((3, 4), (5, 4, 4), (((1,), (2,)), ((0,), (2,))), "disjoint from contracting"),
        ((3, 4), (5, 4, 4), (((1,), (1,)), ((0,), ())), "equal numbers of lhs_batch"),
        ((3, 4), (5, 4, 4), (((-1,), (-1,)), ((), ())), "nonnegative"),
        ((3, 4), (5, 4, 4), (((1, 1), (1, 2)), ((), ())), "contracting dimensions to"),
        ((3, 4), (5, 4, 4), (((1,), (1,)), ((0, 0), (0, 0))), "to be distinct"),
        ((3, 4), (5, 4, 4), (((1,), (7,)), ((), ())), "less than the number of axes"),
        ((3, 4), (3, 5), (((1,), (0,)), ((), ())), "contracting dimensions to have"),
        ((3, 4), (4, 5), (((1,), (0, 1)), ((), ())), "numbers of lhs_contracting"),
    ],
)
def test_wrong_dimension_numbers(left, right, numbers, text):
    with pytest.raises(TypeError, match=text):
        lax.dot_general(f32(*left), f32(*right), numbers)


def test_wrong_types():
    x = f32(3)
    with pytest.raises(TypeError, match="must not be narrower"):
        lax.dot(x.astype("int32"), x.astype("int32"), preferred_element_type="int8")
    with pytest.raises(TypeError, match="only supports instances"):
        lax.dot(x, x, out_sharding=3)
    with pytest.raises(TypeError, match="not a valid JAX type"):
        lax.dot_general([1.0], [2.0], (((0,), (0,)), ((), ())))
    with pytest.raises(TypeError):
        lax.dot(x, x, preferred_element_type="no such dtype")


def test_types_are_those_of_values():
    assert core.aval_of(lax.dot(f32(3), f32(3))) is shaped((), np.dtype("float32"))
