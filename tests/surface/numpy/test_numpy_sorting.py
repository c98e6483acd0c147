"""Sorting, partitions, unique elements and sets."""

import numpy as np
import pytest
from against_numpy import check, close, same
from laws import obeys

import minijax as mj
import minijax.numpy as jnp

X = np.random.default_rng(0).integers(0, 9, (3, 4)).astype(np.float32)
Z = np.array([3, 1, 2, 3, 1], np.int32)
N = np.array([3, np.nan, 1, 2, np.nan, 1], np.float32)


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_sort(axis):
    check("sort", X, axis=axis)
    check("argsort", X, axis=axis, ref=lambda x, axis: np.argsort(x, axis, kind="stable"))
    down = np.sort(X, axis)
    down = down[::-1] if axis is None else np.flip(down, axis)
    close(jnp.sort(X, axis=axis, descending=True), down)
    at = jnp.argsort(X, axis=axis, descending=True)
    close(jnp.take_along_axis(jnp.asarray(X), at, axis), down)


def test_order_of_equals_and_nans():
    close(jnp.sort(N), np.sort(N))
    close(jnp.sort(N, descending=True), np.sort(N)[::-1])
    close(jnp.argsort(Z, descending=True), [0, 3, 2, 1, 4])
    close(jnp.argsort(Z), [1, 4, 2, 0, 3])
    close(jnp.argsort(N, descending=True), [1, 4, 0, 3, 2, 5])
    assert jnp.argsort(Z, dtype=jnp.int8).dtype == jnp.int8
    obeys(lambda x: jnp.sort(x, axis=0), np.sin(X))


def test_lexsort_and_complex():
    keys = (Z, Z[::-1].copy())
    check("lexsort", np.stack(keys))
    close(jnp.lexsort(keys), np.lexsort(keys))
    check("sort_complex", np.array([2 + 1j, 1, 2 - 1j], np.complex64))
    assert jnp.sort_complex(Z).dtype == jnp.complex64


@pytest.mark.parametrize("kth", [0, 2, -1])
def test_partition(kth):
    for axis in (0, 1):
        got = np.asarray(jnp.partition(X, kth, axis))
        at = jnp.argpartition(X, kth, axis)
        k = kth % X.shape[axis]
        for out in (got, np.take_along_axis(X, np.asarray(at), axis)):
            rows = np.moveaxis(out, axis, -1)
            close(np.sort(rows), np.sort(np.moveaxis(X, axis, -1)))
            assert (rows[..., :k] <= rows[..., k : k + 1]).all()
            assert (rows[..., k:] >= rows[..., k : k + 1]).all()


def test_unique():
    flags = {"return_index": True, "return_inverse": True, "return_counts": True}
    for x in (Z, N, X, np.array([True, False]), np.zeros(0, np.float32)):
        check("unique", x, jit=False)
        check("unique", x, jit=False, **flags)
    check("unique", N, equal_nan=False, jit=False)
    for axis in (0, 1):
        rows = np.array([[2, 1], [2, 1], [0, 5]])
        got = jnp.unique(rows, axis=axis, **flags)
        expected = np.unique(rows, axis=axis, **flags)
        same(got, [expected[0], expected[1], expected[2].reshape(-1), expected[3]])


def test_unique_of_known_size():
    f = mj.jit(lambda z: jnp.unique(z, True, True, True, size=4, fill_value=9))
    same(f(Z), [[1, 2, 3, 9], [1, 2, 0, 1], [2, 0, 1, 2, 0], [2, 1, 2, 0]])
    close(jnp.unique(Z, size=2), [1, 2])
    close(jnp.unique(Z, size=5), [1, 2, 3, 1, 1])
    unique = jnp.unique_all(Z)
    close(unique.inverse_indices, [2, 0, 1, 2, 0])
    assert jnp.unique_counts(N).values.shape == (5,)
    close(jnp.unique_inverse(X).inverse_indices.shape, X.shape)
    close(jnp.unique_values(Z), [1, 2, 3])
    with pytest.raises(mj.errors.ConcretizationTypeError, match=r"jnp\.unique"):
        mj.jit(jnp.unique)(Z)
    with pytest.raises(ValueError, match="fill_value must be specified"):
        jnp.unique(jnp.zeros(0), size=2)


A, B = np.array([3, 1, 2, 3]), np.array([2, 5, 3])


@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d", "isin"])
def test_sets(name):
    for x, y in ((A, B), (B, A), (A, A), (A, np.zeros(0, int)), (np.zeros(0, int), B)):
        check(name, x, y, jit=name == "isin")
    check(name, A.astype(np.float32), B, jit=False)


def test_sets_of_known_size():
    for f, expected in [
        (lambda a, b: jnp.union1d(a, b, size=6, fill_value=0), [1, 2, 3, 5, 0, 0]),
        (lambda a, b: jnp.intersect1d(a, b, size=3, fill_value=0), [2, 3, 0]),
        (lambda a, b: jnp.intersect1d(a, b, size=3), [2, 3, 2]),
        (lambda a, b: jnp.setdiff1d(a, b, size=3), [1, 0, 0]),
        (lambda a, b: jnp.setdiff1d(b, a, size=1), [5]),
        (lambda a, b: jnp.setxor1d(a, b, size=3, fill_value=-1), [1, 5, -1]),
        (lambda a, b: jnp.setxor1d(a, b, size=3), [1, 5, 1]),
    ]:
        close(mj.jit(f)(A, B), expected)
    same(jnp.intersect1d(A, B, return_indices=True), [[2, 3], [2, 0], [0, 2]])
    close(jnp.setdiff1d(A, np.array([1]), assume_unique=True), [3, 2, 3])


@pytest.mark.parametrize("method", ["compare_all", "binary_search", "sort", "auto"])
def test_isin_methods(method):
    close(jnp.isin(X, jnp.array([1.0, 4.0]), method=method), np.isin(X, [1, 4]))
    close(jnp.isin(N, N, method=method), np.isin(N, N))
    close(jnp.isin(Z, A, invert=True, method=method), np.isin(Z, A, invert=True))


ERRORS = [
    ("sort(z, kind='stable')", TypeError, "'kind' argument"),
    ("sort(jnp.float32(1))", ValueError, "axis -1 is out of bounds"),
    ("sort([1, 2])", TypeError, "sort requires ndarray"),
    ("lexsort(())", TypeError, "need sequence of keys"),
    ("partition(z, 9)", ValueError, "out of bounds"),
    ("partition(z * 1j, 1)", NotImplementedError, "complex"),
    ("isin(z, z, method='zz')", ValueError, "is not implemented"),
    ("unique([1, 1])", TypeError, "unique requires ndarray"),
]


@pytest.mark.parametrize("text, kind, match", ERRORS)
def test_errors(text, kind, match):
    with pytest.raises(kind, match=match):
        eval("jnp." + text, {"jnp": jnp, "z": jnp.asarray(Z)})


@pytest.mark.parametrize("dtype", ["int2", "uint2", "int4", "uint4"])
def test_orders_of_the_narrowest_integers(dtype):
    """The compiler sorts two-bit integers wrongly, and refuses several operands."""
    low, high = {"int2": (-2, 2), "uint2": (0, 4), "int4": (-8, 8), "uint4": (0, 16)}[dtype]
    v = np.random.default_rng(3).integers(low, high, (3, 13))

    @mj.jit
    def run(x):
        places = mj.lax.broadcasted_iota("int32", x.shape, 1)
        line = x[0]
        return (
            jnp.sort(x),
            jnp.argsort(x),
            *mj.lax.sort((x, x, places), num_keys=2),
            *mj.lax.top_k(x, 4),
            jnp.argmax(x, 1),
            jnp.argmin(x, 1),
            jnp.max(x, 1),
            jnp.searchsorted(jnp.sort(line), line),
        )

    order, down = np.argsort(v, kind="stable"), np.argsort(-v, kind="stable")
    ordered = np.sort(v)
    expected = (
        ordered,
        order,
        ordered,
        ordered,
        order,
        -np.sort(-v)[:, :4],
        down[:, :4],
        v.argmax(1),
        v.argmin(1),
        v.max(1),
        np.searchsorted(ordered[0], v[0]),
    )
    for result, expected_result in zip(
        run(jnp.asarray(v).astype(dtype)), expected, strict=True
    ):
        np.testing.assert_array_equal(np.asarray(result).astype(int), expected_result)
