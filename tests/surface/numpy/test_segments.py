"""Reductions over segments, against loops in NumPy: ids out of range, dtypes, gradients."""

import ml_dtypes
import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp

INF = np.inf
OPS = {
    "segment_sum": (np.add, 0),
    "segment_prod": (np.multiply, 1),
    "segment_max": (np.maximum, -INF),
    "segment_min": (np.minimum, INF),
}
X = np.array([3.0, 5.0, 2.0, 7.0], np.float32)
IDS = [[0, -1, 1, 1], [3, 0, -4, 0], [-1, -1, -1, -1], [2, 2, 2, 2]]


def loop(name, x, ids, n, clip=False, start=None):
    """Reduce one row at a time; ids out of range are dropped, or clipped."""
    op, neutral = OPS[name]
    out = np.full((n, *x.shape[1:]), neutral if start is None else start, x.dtype)
    for row, i in zip(x, ids, strict=True):
        if clip:
            i = min(max(i, 0), n - 1)
        if 0 <= i < n:
            out[i] = op(out[i], row)
    return out


@pytest.mark.parametrize("name", OPS)
def test_ids_out_of_range_are_dropped_or_clipped(name):
    segment = getattr(mj.ops, name)
    for ids in IDS:
        for x in (X, np.stack([X, 2 * X], 1)):
            at = jnp.array(ids)
            for n in (0, 2, 3):
                expected = loop(name, x, ids, n)
                for more in ({}, {"mode": "drop"}, {"bucket_size": 3}):
                    got = segment(x, at, n, **more)
                    np.testing.assert_array_equal(got, expected, f"{ids} {n} {more}")
            expected = loop(name, x, ids, 2, clip=True)
            for more in ({}, {"bucket_size": 2}):
                got = mj.jit(lambda x, i, m=more: segment(x, i, 2, mode="clip", **m))
                np.testing.assert_array_equal(got(x, at), expected)
    assert segment(X, jnp.array([0, -1, 1, 1])).shape == (2,)
    assert (
        segment(X[:0], jnp.zeros(0, int), 2, bucket_size=2).tolist()
        == loop(name, X[:0], [], 2).tolist()
    )


def test_small_ids_are_not_widened_into_range():
    ids = jnp.array([0, 1, -100], jnp.int8)
    assert mj.ops.segment_sum(jnp.ones(3), ids, 300).sum() == 2
    got = mj.vmap(lambda i: mj.ops.segment_sum(jnp.ones(3), i, 2))(
        jnp.array([[0, 1, -1], [5, 1, 1]])
    )
    assert got.tolist() == [[1, 1], [0, 2]]


def test_ids_of_any_rank():
    assert mj.ops.segment_max(2.0, 0, 2).tolist() == [2, -INF]
    ids = jnp.array([[0, 1], [-1, 0]])
    got = mj.ops.segment_sum(jnp.ones((2, 2, 1)), ids, 2)  # as x.at[ids] repeats it
    assert got.tolist() == [[[2.0], [2.0]], [[1.0], [1.0]]]


DTYPES = [np.int8, np.uint8, np.uint16, np.int32, np.uint32, np.float16]
DTYPES += [ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.float8_e4m3fn, np.complex64]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_dtypes(dtype):
    dtype = np.dtype(dtype)
    x = np.array([1, 0, 1, 2]).astype(dtype)
    if dtype == np.complex64:
        ends = {"segment_max": complex(-INF, -INF), "segment_min": complex(INF, INF)}
    elif dtype.kind in "iu" or dtype.name == "int4":
        info = ml_dtypes.iinfo(dtype)
        ends = {"segment_max": info.min, "segment_min": info.max}
    elif dtype.name.startswith("float8"):
        ends = {"segment_max": -448, "segment_min": 448}  # this dtype lacks infinities
    else:
        ends = {}
    for name in OPS:
        expected = loop(name, x, [0, -1, 1, 1], 3, start=ends.get(name))
        for more in ({}, {"bucket_size": 3}):
            got = getattr(mj.ops, name)(x, jnp.array([0, -1, 1, 1]), 3, **more)
            assert got.dtype == dtype and not got.weak_type
            np.testing.assert_array_equal(
                np.asarray(got).astype(np.complex64), expected.astype(np.complex64)
            )


def test_bools():
    ids = jnp.array([0, -1, 1, 1])
    x = jnp.array([True, True, False, True])
    assert mj.ops.segment_max(x, ids, 3).tolist() == [True, True, False]
    assert mj.ops.segment_min(x, ids, 3).tolist() == [True, False, True]
    with pytest.raises(TypeError, match="does not accept dtype bool"):
        mj.ops.segment_sum(x, ids, 3)


@pytest.mark.parametrize("more", [{}, {"bucket_size": 3}, {"mode": "clip"}], ids=str)
def test_derivatives(more):
    x, ids = jnp.array([3.0, 5.0, 2.0, 2.0]), jnp.array([0, -1, 1, 1])
    weights = jnp.array([10.0, 100.0])

    def value(name, x):
        return (getattr(mj.ops, name)(x, ids, 2, **more) * weights).sum()

    clipped = more.get("mode") == "clip"
    gradients = {
        "segment_sum": [10, 10 * clipped, 100, 100],
        "segment_max": [0, 10, 50, 50] if clipped else [10, 0, 50, 50],
        "segment_min": [10, 0, 50, 50],
    }
    for name, expected in gradients.items():
        grad = mj.grad(lambda x, name=name: value(name, x))
        assert grad(x).tolist() == expected
        t = jnp.array([1.0, 2.0, 3.0, 4.0])
        pushed = mj.jvp(lambda x, name=name: value(name, x), (x,), (t,))[1]
        assert pushed == np.dot(expected, t)
        assert not mj.jacfwd(grad)(x).any()


def test_products_of_unique_segments_have_gradients():
    def value(x):
        ids = jnp.array([0, -1, 1])
        return mj.ops.segment_prod(x, ids, 2, unique_indices=True).sum()

    assert mj.grad(value)(jnp.array([3.0, 5.0, 2.0])).tolist() == [1, 0, 1]


def test_errors():
    ids = jnp.array([0, 1, 0])
    for n, error, text in [
        (-1, ValueError, "num_segments must be non-negative"),
        (2.5, TypeError, "cannot be interpreted as an integer"),
        ("a", TypeError, "cannot be interpreted as an integer"),
    ]:
        with pytest.raises(error, match=text):
            mj.ops.segment_sum(jnp.ones(3), ids, n)
    with pytest.raises(ValueError, match="bucket_size must be positive"):
        mj.ops.segment_sum(jnp.ones(3), ids, 2, bucket_size=0)
    with pytest.raises(ValueError, match="Unknown gather mode"):
        mj.ops.segment_sum(jnp.ones(3), ids, 2, mode="bogus")
    with pytest.raises(mj.errors.ConcretizationTypeError):
        mj.jit(mj.ops.segment_sum)(jnp.ones(3), ids)
    with pytest.raises(ValueError):
        mj.ops.segment_sum(jnp.ones(3), jnp.array([0, 1]), 2)
