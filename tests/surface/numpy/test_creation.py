"""Making arrays: values, dtypes and weak types against NumPy and JAX's rules."""

import enum
import io
import re

import ml_dtypes
import numpy as np
import pytest
from laws import obeys

import minijax as mj
import minijax.numpy as jnp


def typed(x):
    """dtype and shape in short, "~" for weak types."""
    return ("~" if x.weak_type else "") + f"{x.dtype.name}{list(x.shape)}"


class Colour(enum.IntEnum):
    RED = 3


class Wrapped:
    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


# ------------------------------------------------------------------------------- array

VALUES = [
    (1, "~int32[]"),
    (1.0, "~float32[]"),
    (1j, "~complex64[]"),
    (True, "bool[]"),
    ([1, 2], "int32[2]"),
    ([1, 2.5], "float32[2]"),
    ([True, 2], "int32[2]"),
    ([1j, 2], "complex64[2]"),
    ([], "float32[0]"),
    ([[]], "float32[1, 0]"),
    ([[1, 2], [3, 4]], "int32[2, 2]"),
    ((1, (2)), "int32[2]"),
    (range(3), "int32[3]"),
    (np.int64(3), "int32[]"),
    (np.float64(3), "float32[]"),
    (np.float16(3), "float16[]"),
    (np.arange(3), "int32[3]"),
    (np.ones(2), "float32[2]"),
    (np.ones(2, "f2"), "float16[2]"),
    ([np.float16(1), 2.5], "float16[2]"),
    ([np.float64(1), np.float16(2)], "float32[2]"),
    ([np.int8(1), 2], "int8[2]"),
    ([np.int8(1), np.uint8(2)], "int16[2]"),
    ([np.ones(2, "f2"), [1, 2]], "float16[2, 2]"),
    (bytearray(b"ab"), "uint8[2]"),
    (memoryview(b"ab"), "uint8[2]"),
    (Colour.RED, "~int32[]"),
    (Wrapped(np.ones(2, "f4")), "float32[2]"),
    (np.ones(2, ml_dtypes.bfloat16), "bfloat16[2]"),
    (np.ones(2, ">f4"), "float32[2]"),
]


@pytest.mark.parametrize("value, expected", VALUES)
def test_array_of_values(value, expected):
    for make in (jnp.array, jnp.asarray):
        assert typed(make(value)) == expected


def test_arrays_inside_lists_are_stacked():
    x = jnp.array([jnp.array(1.0), 2])
    assert typed(x) == "float32[2]" and x.tolist() == [1, 2]
    assert typed(jnp.array([jnp.bfloat16(1), 2])) == "bfloat16[2]"
    rows = jnp.array([[jnp.ones(2)], [jnp.zeros(2)]])
    assert rows.tolist() == [[[1, 1]], [[0, 0]]]
    assert mj.jit(lambda x: jnp.array([[x, 1], [2, x]]))(5.0).tolist() == [[5, 1], [2, 5]]
    obeys(lambda x, y: jnp.array([[x, 1.0], [y, x * y]]), 2.0, 3.0)


def test_requested_dtypes():
    assert typed(jnp.array(1, float)) == "float32[]"
    assert typed(jnp.array([1.7], int)) == "int32[1]"
    assert typed(jnp.array([1, 2], "bfloat16")) == "bfloat16[2]"
    assert typed(jnp.asarray(jnp.array(1.0), jnp.float32)) == "float32[]"
    assert int(jnp.array(2**31, jnp.uint32)) == 2**31
    assert jnp.array(2**40, jnp.float32) == 2.0**40
    assert jnp.array(np.array([300]), jnp.uint8).tolist() == [44]
    assert jnp.array([0.5, 0], bool).tolist() == [True, False]
    with pytest.warns(np.exceptions.ComplexWarning):
        assert jnp.array(np.array([2 + 1j]), jnp.float32).tolist() == [2]
    with pytest.warns(np.exceptions.ComplexWarning):
        assert jnp.array(jnp.array([2 + 1j]), jnp.float32).tolist() == [2]


def test_float64_warns_unless_x64_is_on():
    with pytest.warns(UserWarning, match="float64 requested in array"):
        assert jnp.array([1.0], np.float64).dtype == np.float32
    with mj.enable_x64(True):
        assert typed(jnp.array([1.0])) == "float64[1]"
        assert typed(jnp.array(1)) == "~int64[]"
        assert jnp.array(2**40) == 2**40


def test_copies():
    x = np.ones(2, np.float32)
    y, z = jnp.array(x), jnp.asarray(x)
    x[0] = 9
    assert y.tolist() == z.tolist() == [1, 1]
    a = jnp.ones(2)
    assert jnp.asarray(a) is a
    assert jnp.array(a) is not a
    assert jnp.array(a, ndmin=3).shape == (1, 1, 2)


def test_devices_of_arrays():
    last = mj.devices()[-1]
    for x in (
        jnp.zeros(2, device=last),
        jnp.array([1], device=last),
        jnp.arange(3, device=last),
        jnp.eye(2, device=last),
        jnp.full(2, 1.0, device=last),
        jnp.linspace(0, 1, 3, device=last),
    ):
        assert x.devices() == {last}


MISTAKES = [
    (lambda: jnp.array(None), ValueError, "None is not a valid value for jnp.array"),
    (lambda: jnp.array([1, None]), ValueError, "None is not a valid value for jnp.array"),
    (
        lambda: jnp.array("a"),
        TypeError,
        "Value 'a' with dtype <U1 is not a valid JAX array type",
    ),
    (lambda: jnp.array({1: 2}), TypeError, "with dtype object is not a valid JAX array type"),
    (lambda: jnp.array(object()), TypeError, "with dtype object is not a valid JAX"),
    (lambda: jnp.array([[1], [1, 2]]), ValueError, "inhomogeneous"),
    (lambda: jnp.array([jnp.ones(2), jnp.ones(3)]), TypeError, "with shapes that differ in"),
    (lambda: jnp.array(2**40), OverflowError, "1099511627776"),
    (lambda: jnp.array([2**40]), OverflowError, "out of bounds for int32"),
    (lambda: jnp.array(300, jnp.uint8), OverflowError, "300 out of bounds for uint8"),
    (lambda: jnp.array([1j], float), TypeError, "complex"),
    (lambda: jnp.array([1], order="F"), NotImplementedError, "order='K'"),
    (
        lambda: jnp.zeros(2, object),
        TypeError,
        "JAX only supports number, bool, and string dtypes",
    ),
    (
        lambda: jnp.zeros(2.0),
        TypeError,
        "Shapes must be 1D sequences of concrete values of integer type, got (2.0,)",
    ),
    (lambda: jnp.zeros(-1), TypeError, "must have every element be nonnegative"),
    (lambda: mj.jit(jnp.zeros)(2), TypeError, "the argument shape"),
    (lambda: jnp.full(2, [1]), TypeError, "full requires ndarray or scalar arguments"),
    (lambda: jnp.full(2, jnp.ones(3)), ValueError, "Incompatible types for broadcasti"),
    (lambda: jnp.zeros_like([1]), TypeError, "zeros_like requires ndarray or scalar"),
    (lambda: mj.jit(jnp.arange)(3), TypeError, "It arose in the jnp.arange argument"),
    (lambda: jnp.arange(None), TypeError, "start must be a number"),
    (lambda: jnp.arange(1j), ValueError, "Passing complex start/stop/step"),
    (lambda: jnp.arange(jnp.ones(3)), ValueError, "arguments must be scalars"),
    (lambda: jnp.arange(2, dtype=bool), TypeError, "does not make bools"),
    (lambda: jnp.arange(0, 1, 0), ZeroDivisionError, "division by zero"),
    (lambda: jnp.linspace(0, 1, -1), ValueError, "must be non-negative"),
    (lambda: mj.jit(lambda n: jnp.linspace(0, 1, n))(3), TypeError, "`num` of jnp.linsp"),
    (lambda: jnp.eye(-1), ValueError, "negative dimensions are not allowed"),
    (lambda: jnp.eye(2, k=1.5), ValueError, "k must be a scalar integer; got 1.5"),
    (lambda: jnp.tril(jnp.ones(3)), ValueError, "must be at least 2D"),
    (lambda: mj.jit(jnp.tril)(jnp.ones((2, 2)), 1), TypeError, "`k` of jnp.tril"),
    (lambda: jnp.triu_indices_from(jnp.ones(3)), ValueError, "Only 2-D inputs"),
    (lambda: jnp.diag_indices(-1), ValueError, "must be nonnegative, got -1"),
    (lambda: jnp.diag_indices_from(jnp.ones((2, 3))), ValueError, "of equal length"),
    (lambda: jnp.meshgrid(jnp.ones(2), indexing="a"), ValueError, "'xy' and 'ij'"),
    (lambda: jnp.meshgrid(jnp.ones((2, 2))), ValueError, "must be 1D, got shapes"),
    (lambda: jnp.r_["foo", 1], ValueError, "could not understand directive 'foo'"),
    (lambda: jnp.fromiter([1], int), NotImplementedError, "np.fromiter"),
    (lambda: jnp.fromfile("x"), NotImplementedError, "np.fromfile"),
    (lambda: jnp.from_dlpack(3), TypeError, "must have __dlpack__ and __dlpack_device__"),
]


@pytest.mark.parametrize("fun, error, text", MISTAKES)
def test_messages(fun, error, text):
    with pytest.raises(error, match=re.escape(text)):
        fun()


# --------------------------------------------------------------------- constant arrays


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("shape", [(), 3, (2, 3), [2, 1], np.int64(2), (0, 2), (200, 200)])
def test_constants(shape, jit):
    run = mj.jit if jit else (lambda f: f)
    for name in ("zeros", "ones", "empty"):
        x = run(lambda name=name: getattr(jnp, name)(shape))()
        np.testing.assert_array_equal(x, getattr(np, name.replace("empty", "zeros"))(shape))
        assert x.dtype == np.float32 and not x.weak_type
    for value, expected in (
        (2, "~int32"),
        (2.5, "~float32"),
        (True, "bool"),
        (np.float16(1), "float16"),
    ):
        x = run(lambda value=value: jnp.full(shape, value))()
        np.testing.assert_array_equal(x, np.full(shape, value))
        assert typed(x).startswith(expected)


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int4", "uint8", "int32", "bfloat16", "float16", "float8_e5m2", "complex64"],
)
def test_constants_of_every_dtype(dtype):
    for x in (
        jnp.ones(3, dtype),
        jnp.full(3, 1, dtype),
        jnp.full_like(jnp.zeros(3), 1, dtype),
        mj.jit(lambda: jnp.ones(3, dtype))(),
    ):
        assert x.dtype == dtype and not x.weak_type
        assert np.real(np.asarray(x)).astype(np.float32).tolist() == [1, 1, 1]


def test_likes():
    x = jnp.array([[1, 2], [3, 4]])
    assert typed(jnp.zeros_like(x)) == typed(jnp.ones_like(x)) == "int32[2, 2]"
    assert typed(jnp.full_like(x, 2.7)) == "int32[2, 2]"
    assert jnp.full_like(x, 2.7).tolist() == [[2, 2], [2, 2]]
    assert typed(jnp.zeros_like(x, float, (3,))) == "float32[3]"
    assert typed(jnp.zeros_like(1.0)) == "~float32[]"
    assert typed(jnp.full_like(1.0, 2, shape=2)) == "~float32[2]"
    assert typed(jnp.ones_like(mj.ShapeDtypeStruct((2,), jnp.int8))) == "int8[2]"
    assert jnp.full_like(x, jnp.arange(2)).tolist() == [[0, 1], [0, 1]]
    assert jnp.empty_like(x).tolist() == [[0, 0], [0, 0]]
    obeys(lambda v: jnp.full((2, 3), v), np.array([1.0, 2, 3]))


def test_negative_zero_is_kept():
    assert np.signbit(jnp.full(2, -0.0)).all()
    assert np.signbit(jnp.array(-0.0))
    assert not np.signbit(jnp.full(2, 0.0)).any()


# ------------------------------------------------------------------------------ ranges

RANGES = [
    (5,),
    (2, 5),
    (2, 10, 3),
    (5, 0, -2),
    (0,),
    (3.0,),
    (1, 2, 0.1),
    (0.5, 4),
    (np.int8(4),),
    (2**25, 2**25 + 3),
    (-3.0, 3.0, 0.37),
]


@pytest.mark.parametrize("args", RANGES)
def test_arange(args):
    expected = np.arange(*args)
    eager = jnp.arange(*args)
    assert eager.dtype == jnp.result_type(*args) and not eager.weak_type
    np.testing.assert_allclose(eager, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(mj.jit(lambda: jnp.arange(*args))(), eager)


def test_arange_dtypes():
    assert jnp.arange(3, dtype="uint8").dtype == np.uint8
    assert jnp.arange(3.0, dtype=int).dtype == np.int32
    assert jnp.arange(0.5, 3, 1, int).tolist() == [0, 1, 2]
    fine = jnp.arange(0, 1, 0.3, "bfloat16")
    expected = (np.arange(4) * np.float32(0.3)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(fine, expected)
    assert jnp.arange(stop=3, start=1).tolist() == [1, 2]
    assert jnp.arange(np.int64(3)).dtype == np.int32
    assert jnp.arange(jnp.int32(3)).tolist() == [0, 1, 2]
    assert jnp.arange(30000).sum() == 30000 * 29999 // 2


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 5, 50])
def test_linspace(num, endpoint):
    for start, stop in ((0, 1), (-2.5, 7), (3, 3), (np.zeros(2), np.array([1.0, 5.0]))):
        x = jnp.linspace(start, stop, num, endpoint)
        expected = np.linspace(start, stop, num, endpoint)
        assert x.dtype == np.float32
        np.testing.assert_allclose(x, expected, rtol=1e-6, atol=1e-6)
        if num and endpoint and num > 1:
            np.testing.assert_array_equal(x[-1], np.float32(stop))
    x, step = jnp.linspace(0, 1, num, endpoint, retstep=True)
    np.testing.assert_allclose(step, np.linspace(0, 1, num, endpoint, retstep=True)[1])


def test_linspace_along_an_axis_and_of_integers():
    start, stop = np.zeros((2, 3)), np.ones((3,))
    for axis in (0, 1, -1):
        np.testing.assert_allclose(
            jnp.linspace(start, stop, 4, axis=axis),
            np.linspace(start, stop, 4, axis=axis),
            rtol=1e-6,
        )
    assert jnp.linspace(0, 10, 4, dtype=int).tolist() == [0, 3, 6, 10]
    assert jnp.linspace(0, -10, 4, dtype=int).tolist() == [0, -4, -7, -10]
    obeys(lambda a, b: jnp.linspace(a, b, 4), 1.0, np.array([2.0, 3.0]))


def test_logarithmic_spaces():
    np.testing.assert_allclose(jnp.logspace(0, 2, 5), np.logspace(0, 2, 5), rtol=1e-5)
    np.testing.assert_allclose(
        jnp.logspace(0, 3, 4, base=2, endpoint=False),
        np.logspace(0, 3, 4, base=2, endpoint=False),
        rtol=1e-5,
    )
    np.testing.assert_allclose(jnp.geomspace(1, 256, 9), np.geomspace(1, 256, 9), rtol=1e-5)
    np.testing.assert_allclose(jnp.geomspace(-1, -8, 4), np.geomspace(-1, -8, 4), rtol=1e-5)
    x = jnp.geomspace(np.array([1.0, 2]), np.array([8.0, 16]), 4, axis=1)
    np.testing.assert_allclose(x, [[1, 2, 4, 8], [2, 4, 8, 16]], rtol=1e-5)


# -------------------------------------------------------------- matrices of ones, grids


@pytest.mark.parametrize("k", [-3, -1, 0, 1, 2])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (0, 2), (1, 1)])
def test_diagonals_and_triangles(shape, k):
    n, m = shape
    np.testing.assert_array_equal(jnp.eye(n, m, k), np.eye(n, m, k))
    np.testing.assert_array_equal(mj.jit(lambda k: jnp.eye(n, m, k))(k), np.eye(n, m, k))
    np.testing.assert_array_equal(jnp.tri(n, m, k), np.tri(n, m, k))
    x = np.arange(2.0 * n * m).reshape(2, n, m).astype(np.float32)
    np.testing.assert_array_equal(jnp.tril(x, k), np.tril(x, k))
    np.testing.assert_array_equal(jnp.triu(x, k), np.triu(x, k))
    for name in ("tril_indices", "triu_indices"):
        for got, expected in zip(
            getattr(jnp, name)(n, k, m), getattr(np, name)(n, k, m), strict=True
        ):
            np.testing.assert_array_equal(got, expected)


def test_triangles_keep_dtypes_and_obey_laws():
    assert jnp.tril(jnp.ones((2, 2), bool)).dtype == np.bool_
    assert jnp.identity(2, "int8").tolist() == [[1, 0], [0, 1]]
    assert jnp.eye(2, dtype=bool).dtype == np.bool_
    x = np.arange(1.0, 7).reshape(2, 3)
    obeys(lambda x: jnp.tril(x, 1), x)
    obeys(jnp.triu, x)


def test_places():
    assert [i.tolist() for i in jnp.diag_indices(2, 3)] == [[0, 1]] * 3
    assert [i.tolist() for i in jnp.diag_indices_from(jnp.ones((2, 2)))] == [[0, 1]] * 2
    for k in (0, 1):
        got = jnp.mask_indices(3, jnp.triu, k)
        for a, b in zip(got, np.mask_indices(3, np.triu, k), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_meshgrid(rank, indexing, sparse):
    xs = [np.arange(n + 2.0).astype(np.float32) for n in range(rank)]
    got = jnp.meshgrid(*xs, indexing=indexing, sparse=sparse)
    expected = np.meshgrid(*xs, indexing=indexing, sparse=sparse)
    assert isinstance(got, tuple) and len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_grids_by_indexing():
    for grid, ref in ((jnp.mgrid, np.mgrid), (jnp.ogrid, np.ogrid)):
        for key in (np.s_[0:3], np.s_[0:2, 1:7:2], np.s_[0:1:5j, 0:2], np.s_[:3]):
            got, expected = grid[key], ref[key]
            got = got if isinstance(got, list) else [got]
            expected = expected if isinstance(expected, (list, tuple)) else [expected]
            for a, b in zip(got, expected, strict=True):
                np.testing.assert_allclose(a, b)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_joining_by_indexing():
    x = np.arange(3)
    m = np.arange(6).reshape(2, 3)
    keys = [
        np.s_[1:4, 0, 4],
        np.s_[x, 0, x],
        np.s_["0,2", [1, 2], [3, 4]],
        np.s_["-1", m, m],
        np.s_["r", [1, 2]],
        np.s_["c", [1, 2]],
        np.s_["1,2,0", [1, 2], [3, 4]],
        np.s_["0,2,1", [1, 2], [3, 4]],
        np.s_["0,2,-2", [1, 2], [3, 4]],
        np.s_["0,3,-2", [1, 2], [3, 4]],
        np.s_[-1:1:5j, [0] * 3, 5, 6],
    ]
    for key in keys:
        np.testing.assert_allclose(jnp.r_[key], np.asarray(np.r_[key]))
    for key in (np.s_[1:4, 4:7], np.s_[x, x], np.s_[m, m], np.s_[1:4]):
        np.testing.assert_allclose(jnp.c_[key], np.c_[key])
    assert jnp.s_[1:2, ...] == np.s_[1:2, ...]
    assert jnp.index_exp[1:2] == np.index_exp[1:2]


def test_indices_and_functions_of_them():
    np.testing.assert_array_equal(jnp.indices((2, 3)), np.indices((2, 3)))
    for a, b in zip(
        jnp.indices((2, 3), sparse=True), np.indices((2, 3), sparse=True), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    assert jnp.indices((2,), dtype=float).dtype == np.float32
    got = jnp.fromfunction(lambda i, j: i * 10 + j, (2, 3), dtype=int)
    np.testing.assert_array_equal(got, [[0, 1, 2], [10, 11, 12]])
    assert jnp.fromfunction(lambda i: 1.0, (3,)).tolist() == [1, 1, 1]
    a, b = jnp.fromfunction(lambda i, j: (i, j), (2, 2))
    assert a.tolist() == [[0, 0], [1, 1]] and b.tolist() == [[0, 1], [0, 1]]
    assert jnp.fromfunction(lambda i, c: i * c, (3,), c=2).tolist() == [0, 2, 4]


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows(name):
    for n in (0, 1, 2, 5, 12):
        x = getattr(jnp, name)(n)
        assert x.dtype == np.float32
        np.testing.assert_allclose(x, getattr(np, name)(n), atol=2e-6)


def test_kaiser_windows():
    for n, beta in ((0, 2.0), (1, 2.0), (5, 0.0), (12, 8.6)):
        np.testing.assert_allclose(jnp.kaiser(n, beta), np.kaiser(n, beta), rtol=1e-4)


# ------------------------------------------------------------------- files and buffers


def test_buffers_and_texts():
    data = bytes([1, 2, 3, 4])
    assert jnp.frombuffer(data, jnp.uint8, 2, 1).tolist() == [2, 3]
    assert typed(jnp.frombuffer(np.arange(2.0))) == "float32[2]"
    assert jnp.fromstring("1 2 3", sep=" ").tolist() == [1, 2, 3]
    assert jnp.fromstring("1,2", int, sep=",").dtype == np.int32


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "float16", "bfloat16", "float32", "complex64"]
)
def test_files(dtype):
    x = jnp.ones((2, 3), dtype)
    file = io.BytesIO()
    jnp.save(file, x)
    file.seek(0)
    y = jnp.load(file)
    assert y.dtype == x.dtype and jnp.array_equal(x, y)


def test_files_of_many_arrays():
    file = io.BytesIO()
    jnp.savez(file, jnp.ones(2), a=jnp.zeros(3))
    file.seek(0)
    arrays = jnp.load(file)
    assert arrays["a"].tolist() == [0, 0, 0] and arrays["arr_0"].tolist() == [1, 1]


def test_other_libraries():
    assert jnp.from_dlpack(np.arange(3, dtype=np.float32)).tolist() == [0, 1, 2]
    assert jnp.from_dlpack(jnp.ones(2, "bfloat16")).dtype == jnp.bfloat16
    assert np.from_dlpack(jnp.arange(3)).tolist() == [0, 1, 2]


class OnDevice:
    """A host array whose DLPack device is an accelerator."""

    def __init__(self, size):
        memory = np.zeros(4 * size + 64, np.uint8)
        start = -memory.ctypes.data % 64
        self.array = memory[start : start + 4 * size].view(np.float32)

    def __dlpack__(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return 2, 0


@pytest.mark.parametrize("copy", [None, False, True])
def test_sharing_with_other_libraries(copy):
    theirs = OnDevice(3)
    ours = jnp.from_dlpack(theirs, copy=copy)
    mj.block_until_ready(ours)
    theirs.array[:] = 7
    assert ours.tolist() == [0 if copy else 7] * 3


def test_copies_that_are_forbidden():
    x = jnp.ones(3)
    first_device, other_device = mj.devices()[:2]
    assert jnp.from_dlpack(x, device=first_device, copy=False).tolist() == [1, 1, 1]
    assert jnp.from_dlpack(x, device=other_device).devices() == {other_device}
    for source, device in ((x, other_device), (OnDevice(3), other_device), (np.ones(3), None)):
        with pytest.raises(ValueError, match="requires a copy, however copy=False"):
            jnp.from_dlpack(source, device=device, copy=False)


def test_texts_of_arrays():
    x = jnp.array([1.0, 2.0])
    assert jnp.array_repr(x) == repr(x) == "Array([1., 2.], dtype=float32)"
    assert jnp.array_repr(x, precision=1) == "Array([1., 2.], dtype=float32)"
    assert jnp.array_str(x) == "[1. 2.]"
    with jnp.printoptions(precision=2):
        assert jnp.get_printoptions()["precision"] == 2
    assert jnp.iterable(x)


# ------------------------------------------------------------------------------- dtypes


def test_scalar_types():
    for name in (
        "bool_",
        "int8",
        "uint32",
        "float16",
        "bfloat16",
        "float32",
        "complex64",
        "float8_e4m3fn",
        "int4",
    ):
        kind = getattr(jnp, name)
        dtype = kind.dtype
        assert kind == dtype.type and dtype == kind and jnp.dtype(kind) == dtype
        assert hash(kind) == hash(dtype.type)
        x = kind(1)
        assert x.dtype == dtype and x.shape == () and not x.weak_type
        assert isinstance(dtype.type(1), kind)
        assert jnp.zeros(2, kind).dtype == dtype
    assert jnp.float32 != jnp.float64 and jnp.float32 != "float32"
    assert jnp.float32([1, 2]).tolist() == [1, 2]
    assert jnp.float32("1.5") == 1.5
    assert repr(jnp.float32) == "<class 'jax.numpy.float32'>"
    assert jnp.bool is jnp.bool_ and jnp.single is jnp.float32
    with pytest.raises(OverflowError, match="300"):
        jnp.int8(300)


def test_limits():
    assert jnp.iinfo(jnp.int8).max == 127 and jnp.iinfo(jnp.int4).min == -8
    assert jnp.finfo(jnp.bfloat16).bits == 16
    assert jnp.finfo(jnp.ones(2)).eps == np.finfo(np.float32).eps
    with pytest.raises(ValueError, match="data type"):
        jnp.finfo(jnp.int8)
    with pytest.raises(ValueError, match="integer data type"):
        jnp.iinfo("float32")


def test_result_types():
    cases = [
        ((1, 2.0), "float32"),
        ((int, jnp.int8), "int8"),
        ((jnp.int8, 1.0), "float32"),
        ((jnp.bfloat16, np.float16), "float32"),
        (("i4", True), "int32"),
        ((None,), "float32"),
        ((np.ones(2),), "float32"),
        ((float, "bfloat16"), "bfloat16"),
        ((mj.ShapeDtypeStruct((2,), jnp.int8), 1), "int8"),
    ]
    for args, expected in cases:
        assert jnp.result_type(*args) == expected
    assert jnp.promote_types(int, "int8") == np.int8
    assert jnp.promote_types("float64", "float32") == np.float64
    assert jnp.promote_types(int, float) == np.float64 or not mj.config.jax_enable_x64
    with pytest.raises(ValueError, match="at least one array or dtype"):
        jnp.result_type()
    with pytest.raises(TypeError, match="Cannot determine dtype"):
        jnp.result_type([1, 2])
    with pytest.raises(ValueError, match="available implicit dtype promotion"):
        jnp.promote_types("float8_e4m3fn", "float8_e5m2")


def test_kinds():
    assert jnp.issubdtype(jnp.bfloat16, jnp.floating) and jnp.issubdtype(jnp.int4, jnp.integer)
    assert not jnp.issubdtype(jnp.float32, float) and jnp.issubdtype(float, jnp.floating)
    assert jnp.isdtype(jnp.int8, ("integral", "bool")) and not jnp.isdtype(jnp.int8, "bool")
    assert jnp.can_cast("int32", "int64") and not jnp.can_cast(jnp.float32, jnp.int8)
    scalars = [1, jnp.ones(()), np.float32(1), "a"]
    assert all(map(jnp.isscalar, scalars)) and not any(map(jnp.isscalar, [[1], jnp.ones(2)]))
    assert jnp.iscomplexobj([1j]) and jnp.isrealobj(jnp.ones(2))
    with pytest.raises(ValueError, match="Unrecognized kind='foo'"):
        jnp.isdtype("float32", "foo")


def test_zeros_like_keeps_the_sharding_of_array_like_objects():
    class ArrayLike:
        def __init__(self, x):
            self.x = x

        def __jax_array__(self):
            return self.x

    sharding = mj.sharding.SingleDeviceSharding(mj.devices()[-1])
    x = mj.device_put(jnp.ones(3), sharding)
    result = jnp.zeros_like(ArrayLike(x))
    assert result.sharding == sharding and result.committed and result.tolist() == [0, 0, 0]


def test_lists_of_numpy_numbers_that_a_dtype_cannot_hold():
    """As in NumPy: OverflowError, and no silent change of a number."""
    for items, dtype in (
        ([np.int64(2**40)], None),
        ([np.int64(300), 3], "int8"),
        ([[np.uint64(2**63)]], "int32"),
        ((np.float64(1e300),), "int8"),
    ):
        with pytest.raises(OverflowError):
            jnp.array(items, dtype=dtype)
    assert jnp.array([np.int64(3), np.float32(1.5)], dtype="int8").tolist() == [3, 1]
