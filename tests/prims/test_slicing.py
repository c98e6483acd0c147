"""Slices with fixed and computed bounds: against NumPy, laws, types, errors."""

import ml_dtypes
import numpy as np
import pytest
from laws import obeys, same

import minijax as mj
from minijax import lax
from minijax.runtime.running import dispatch


def f32(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


FIXED = {
    "box": (lambda x: lax.slice(x, (1, 0), (3, 4)), lambda x: x[1:3, 0:4], (4, 5)),
    "strides": (
        lambda x: lax.slice(x, (1, 0), (8, 5), (3, 2)),
        lambda x: x[1:8:3, 0:5:2],
        (9, 5),
    ),
    "none_left": (lambda x: lax.slice(x, (2,), (2,)), lambda x: x[2:2], (4,)),
    "none_there": (lambda x: lax.slice(x, (0, 0), (0, 2), (2, 1)), lambda x: x[:, :2], (0, 3)),
    "scalar": (lambda x: lax.slice(x, (), ()), lambda x: x, ()),
    "in_dim": (
        lambda x: lax.slice_in_dim(x, -4, -1, 2, axis=-1),
        lambda x: x[:, -4:-1:2],
        (2, 6),
    ),
    "in_dim_open": (lambda x: lax.slice_in_dim(x, None, None), lambda x: x, (2, 3)),
    "index": (lambda x: lax.index_in_dim(x, -1, 1), lambda x: x[:, -1:], (2, 3)),
    "index_dropped": (
        lambda x: lax.index_in_dim(x, 1, 0, keepdims=False),
        lambda x: x[1],
        (2, 3),
    ),
}


@pytest.mark.parametrize("name", FIXED)
def test_static_slices(name):
    fun, expected, shape = FIXED[name]
    x = f32(*shape)
    same(fun(x), expected(x))
    obeys(fun, x)


def clamped(i, n, size):
    """Where a dynamic slice starts: negative from the end, then moved inside."""
    return min(max(i + n if i < 0 else i, 0), n - size)


STARTS = [(0, 0), (1, 2), (-1, -2), (7, 1), (-9, 9)]


@pytest.mark.parametrize("starts", STARTS, ids=str)
def test_dynamic_slices(starts):
    x, u = f32(5, 4), f32(2, 3) * 10
    i, j = (clamped(s, n, m) for s, n, m in zip(starts, x.shape, u.shape, strict=True))
    written = x.copy()
    written[i : i + 2, j : j + 3] = u
    scalars = [np.int32(s) for s in starts]
    for indices in (starts, scalars, np.array(scalars), [lax.copy_p.bind(s) for s in scalars]):
        same(lax.dynamic_slice(x, indices, (2, 3)), x[i : i + 2, j : j + 3])
        same(lax.dynamic_update_slice(x, u, indices), written)
    vector = mj.jit(lambda x, i: lax.dynamic_slice(x, i, (2, 3)))(x, np.array(scalars))
    same(vector, x[i : i + 2, j : j + 3])


@pytest.mark.parametrize("start", [0, 2, 4, -1])
def test_dynamic_laws(start):
    x, u, i, one = f32(5, 4), f32(2, 3), np.int32(start), np.int32(1)
    obeys(lambda x, i: lax.dynamic_slice(x, (i, one), (2, 3)), x, i)
    obeys(lambda x, i: lax.dynamic_slice(x, (i, i), (5, 2)), x, i)
    obeys(lambda x, u, i: lax.dynamic_update_slice(x, u, (i, one)), x, u, i)
    obeys(lambda x, i: lax.dynamic_index_in_dim(x, i, 1, keepdims=False), x, i)
    obeys(lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i, 1), x, f32(5), i)
    obeys(lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, -1), x, i)
    obeys(lambda x, u, i: lax.dynamic_update_slice_in_dim(x, u, i, 0), x, u[:, :1], i)


def test_dynamic_scalars():
    obeys(lambda x: lax.dynamic_slice(x, (), ()), f32())
    obeys(lambda x, u: lax.dynamic_update_slice(x, u, ()), f32(), f32() + 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32"])
def test_index_dtypes(dtype):
    x, last = f32(300), np.array(-1).astype(dtype)
    i = int(last) if dtype[0] == "u" else 299
    at = min(i, 298)
    for index in (last[()], lax.copy_p.bind(last)):
        same(lax.dynamic_slice(x, (index,), (2,)), x[at : at + 2])
        same(lax.dynamic_index_in_dim(x, index), x[min(i, 299)][None])


def test_negative_indices_can_be_disallowed():
    def text(**options):
        return str(
            mj.make_jaxpr(lambda x, i: lax.dynamic_slice(x, (i, i), (2, 2), **options))(
                f32(4, 4), np.int32(0)
            )
        )

    assert text().count("select_n") == 2
    assert text(allow_negative_indices=[True, False]).count("select_n") == 1
    assert "select_n" not in text(allow_negative_indices=False)
    same(
        lax.dynamic_slice(f32(4), (mj.numpy.int32(-1),), (2,), allow_negative_indices=False),
        f32(4)[:2],
    )


@pytest.mark.parametrize("dtype", ["bool", "int8", "complex64", "bfloat16", "int4"])
def test_dtypes(dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = (np.arange(12) % 3).reshape(4, 3).astype(dtype)
    same(lax.slice(x, (1, 0), (4, 2), (2, 1)), x[1:4:2, :2])
    same(lax.dynamic_slice(x, (2, 1), (2, 2)), x[2:, 1:])
    written = x.copy()
    written[1:3] = x[2:]
    same(lax.dynamic_update_slice(x, x[2:], (1, 0)), written)


def test_a_loop_over_indices_compiles_once():
    x = lax.copy_p.bind(f32(6))
    lax.dynamic_slice(x, (0,), (2,))
    num_programs = len(dispatch._programs)
    for i in range(5):
        same(lax.dynamic_slice(x, (i,), (2,)), f32(6)[i : i + 2])
    assert len(dispatch._programs) == num_programs


def test_weak_types():
    weak = lax.broadcast(1.0, (3,))
    assert lax.slice(weak, (0,), (2,)).weak_type
    assert lax.dynamic_slice(weak, (0,), (2,)).weak_type
    assert not lax.dynamic_update_slice(weak, weak, (0,)).weak_type


x = f32(4, 3)
ERRORS = {
    "rank": (lambda: lax.slice(x, (0,), (1,)), TypeError, "number of dimensions"),
    "lengths": (lambda: lax.slice(x, (0, 0), (1,)), TypeError, "same length"),
    "stride_count": (lambda: lax.slice(x, (0, 0), (1, 1), (1,)), TypeError, "strides"),
    "negative": (lambda: lax.slice(x, (-1, 0), (1, 1)), TypeError, "nonnegative"),
    "negative_end": (lambda: lax.slice(x, (0, 0), (-1, 1)), TypeError, "nonnegative"),
    "outside": (lambda: lax.slice(x, (0, 0), (5, 1)), TypeError, "less than or equal"),
    "reversed": (lambda: lax.slice(x, (2, 0), (1, 1)), TypeError, "greater than or equal"),
    "stride_0": (lambda: lax.slice(x, (0, 0), (1, 1), (0, 1)), TypeError, "positive"),
    "index": (lambda: lax.index_in_dim(x, 4), IndexError, "index 4 is out of bounds"),
    "axis": (lambda: lax.slice_in_dim(x, 0, 1, axis=2), ValueError, "out of bounds"),
    "starts": (lambda: lax.dynamic_slice(x, (0,), (1, 1)), ValueError, r"\(1 vs \("),
    "starts_2d": (
        lambda: lax.dynamic_slice(x, lax.copy_p.bind(x), (1, 1)),
        ValueError,
        "1D sequence",
    ),
    "float": (lambda: lax.dynamic_slice(x, (0.5, 0.5), (1, 1)), TypeError, "integers"),
    "bool": (lambda: lax.dynamic_slice(x, (True, True), (1, 1)), TypeError, "integers"),
    "mixed": (
        lambda: lax.dynamic_slice(x, (np.int8(0), 0), (1, 1)),
        TypeError,
        "same type, got: int8, int32",
    ),
    "vector": (
        lambda: lax.dynamic_slice(x, (np.zeros(1, int), np.int32(0)), (1, 1)),
        TypeError,
        "must be scalars",
    ),
    "size": (lambda: lax.dynamic_slice(x, (0, 0), (5, 1)), TypeError, "slice_sizes"),
    "size_negative": (
        lambda: lax.dynamic_slice(x, (0, 0), (-1, 1)),
        TypeError,
        "greater than or equal to zero",
    ),
    "update_dtype": (
        lambda: lax.dynamic_update_slice(x, x.astype(int), (0, 0)),
        TypeError,
        "same dtypes",
    ),
    "update_rank": (lambda: lax.dynamic_update_slice(x, x[0], (0, 0)), TypeError, "rank"),
    "update_size": (lambda: lax.dynamic_update_slice(x[:2], x, (0, 0)), TypeError, "smaller"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, text = ERRORS[name]
    with pytest.raises(error, match=text):
        call()
