"""map, associative_scan, the cumulative operations, general reductions and
optimization_barrier: against NumPy and loops written out, under transformations."""

import re

import numpy as np
import pytest
from straight import agree, names

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

RANDOM = np.random.default_rng(0)
X = np.array([0.7, 0.4, 0.9], np.float32)
ROWS = RANDOM.uniform(0.4, 0.9, (5, 3)).astype(np.float32)
FEW = ROWS[:3]

# -------------------------------------------------------------------------------- map


@pytest.mark.parametrize("batch_size", [None, 0, 1, 2, 3, 5, 7])
def test_map_applies_to_each_row(batch_size):
    def mapped(x):
        return lax.map(lambda r: jnp.sin(r) * x, ROWS * x, batch_size=batch_size).sum(0)

    def straight(x):
        return sum(jnp.sin(r * x) * x for r in ROWS)

    agree(mapped, straight, X)


@pytest.mark.parametrize("batch_size", [None, 2])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_map_of_trees(n, batch_size):
    keys = mj.random.split(mj.random.key(0), n)
    xs = {"a": np.arange(n, dtype=np.int8), "b": None, "k": keys}

    def f(row):
        assert row["a"].shape == ()
        return row["a"] * 2, None, (row["k"], mj.random.uniform(row["k"]), 1.0)

    a, none, (k, u, one) = lax.map(f, xs, batch_size=batch_size)
    assert a.tolist() == [2 * i for i in range(n)] and a.dtype == np.int8
    assert none is None and (one == 1).all() and one.shape == (n,)
    assert k.shape == u.shape == (n,)
    np.testing.assert_array_equal(mj.random.key_data(k), mj.random.key_data(keys))
    np.testing.assert_array_equal(u, [mj.random.uniform(key) for key in keys])


def test_map_takes_a_remainder_by_itself():
    shapes = []

    def f(x):
        shapes.append(1)
        return x * 2

    assert lax.map(f, np.arange(7), batch_size=3).tolist() == list(range(0, 14, 2))
    assert len(shapes) == 2  # in the loop, and for the last row
    jaxpr = mj.make_jaxpr(lambda x: lax.map(f, x, batch_size=3))(X[:0])
    assert "slice" not in names(jaxpr) and "scan" not in names(jaxpr)


def test_map_errors():
    with pytest.raises(TypeError, match=r"lax.map: f argument should be a callable"):
        lax.map(1, X)
    with pytest.raises(ValueError, match="different leading axis sizes: 3, 5"):
        lax.map(lambda r: r[0], (X, ROWS))
    with pytest.raises(ValueError, match="no values to scan over"):
        lax.map(lambda r: r, None)
    with pytest.raises(TypeError, match=r"user_fun at .* for map returned a value"):

        def user_fun(x):
            return "a"

        lax.map(user_fun, X)


# ------------------------------------------------------------------- associative_scan


def prefixes(op, rows):
    """All prefixes, one after the other."""
    out = [rows[0]]
    for r in rows[1:]:
        out.append(op(out[-1], r))
    return out


def matrices(n):
    return RANDOM.normal(size=(n, 2, 2)).astype(np.float32)


@pytest.mark.parametrize("n", range(10))
def test_associative_scan_of_any_length(n):
    a = matrices(n)
    forward, backward = mj.jit(
        lambda a: (
            lax.associative_scan(jnp.matmul, a),
            lax.associative_scan(lambda a, b: b @ a, a, reverse=True),
        )
    )(a)
    assert forward.shape == backward.shape == a.shape
    if n:
        np.testing.assert_allclose(forward, prefixes(np.matmul, a), 1e-4, 1e-4)
        expected = prefixes(lambda a, b: b @ a, a[::-1])[::-1]
        np.testing.assert_allclose(backward, expected, 1e-4, 1e-4)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "complex64"])
@pytest.mark.parametrize("n", [1, 4, 5])
def test_associative_scan_keeps_types(n, dtype):
    x = (np.arange(n) % 2).astype(dtype)
    negative = np.full(n, -0.0, np.float32)
    run = mj.jit(lambda x: lax.associative_scan(lambda a, b: (b[0], b[1]), x))
    out, zeros = run((x, negative))
    assert out.dtype == x.dtype and (out == x).all() and np.signbit(zeros).all()


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_along_axes(axis, reverse):
    x = RANDOM.normal(size=(4, 5, 3)).astype(np.float32)
    got = mj.jit(lambda x: lax.associative_scan(jnp.maximum, x, reverse=reverse, axis=axis))(x)
    transposed = np.flip(x, axis) if reverse else x
    expected = np.maximum.accumulate(transposed, axis)
    np.testing.assert_array_equal(got, np.flip(expected, axis) if reverse else expected)


def affine(left, right):
    """x -> a x + b, the left one first."""
    return left[0] * right[0], right[0] * left[1] + right[1]


SCANS = {
    "one array": (
        lambda x: lax.associative_scan(jnp.multiply, x),
        lambda x: jnp.stack([x[0], x[0] * x[1], x[0] * x[1] * x[2]]),
    ),
    "reverse": (
        lambda x: lax.associative_scan(jnp.multiply, FEW * x, reverse=True).sum(0),
        lambda x: sum(prefixes(jnp.multiply, [r * x for r in FEW[::-1]])),
    ),
    "pairs": (
        lambda x: lax.associative_scan(affine, (FEW * x, jnp.cos(FEW) + x))[1].sum(0),
        lambda x: sum(b for _, b in prefixes(affine, [(r * x, jnp.cos(r) + x) for r in FEW])),
    ),
    "a list for a tuple": (
        lambda x: lax.associative_scan(lambda a, b: list(affine(a, b)), (x, x))[1],
        lambda x: jnp.stack([x[0], x[1] * x[0] + x[1], x[2] * (x[1] * x[0] + x[1]) + x[2]]),
    ),
}


@pytest.mark.parametrize("name", SCANS)
def test_associative_scan_under_transformations(name):
    agree(*SCANS[name], X)


def test_associative_scan_is_logarithmic():
    def depth(n):
        jaxpr = mj.make_jaxpr(lambda x: lax.associative_scan(jnp.multiply, x))(np.ones(n))
        return names(jaxpr).count("mul")

    assert depth(256) <= 2 * 8 and depth(1000) <= 2 * 10


ASSOCIATIVE_ERRORS = {
    "no function": (
        lambda: lax.associative_scan(1, X),
        TypeError,
        "lax.associative_scan: fn argument should be callable.",
    ),
    "sizes": (
        lambda: lax.associative_scan(affine, (X, ROWS)),
        ValueError,
        "Array inputs to associative_scan must have the same first dimension",
    ),
    "axis": (
        lambda: lax.associative_scan(jnp.add, X, axis=1),
        ValueError,
        "axis 1 is out of bounds for array of dimension 1",
    ),
    "more": (
        lambda: lax.associative_scan(lambda a, b: (a, b), X),
        ValueError,
        "fn must return as many arrays as it combines",
    ),
}


@pytest.mark.parametrize("name", ASSOCIATIVE_ERRORS)
def test_associative_scan_error(name):
    call, kind, words = ASSOCIATIVE_ERRORS[name]
    with pytest.raises(kind, match=re.escape(words)):
        call()


# -------------------------------------------------------------- cumulative operations

CUMULATIVE = {
    "cumsum": (lax.cumsum, jnp.add),
    "cumprod": (lax.cumprod, jnp.multiply),
    "cummax": (lax.cummax, jnp.maximum),
    "cummin": (lax.cummin, jnp.minimum),
    "cumlogsumexp": (lax.cumlogsumexp, jnp.logaddexp),
}


@pytest.mark.parametrize("name", CUMULATIVE)
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_operations(name, reverse):
    cumulate, op = CUMULATIVE[name]

    def run(x):
        return cumulate(jnp.sin(3 * x), reverse=reverse)

    def straight(x):
        rows = list(jnp.sin(3 * x))
        rows = prefixes(op, rows[::-1])[::-1] if reverse else prefixes(op, rows)
        return jnp.stack(rows)

    agree(run, straight, X, tolerance=1e-4)


@pytest.mark.parametrize("n", [0, 1, 2, 6])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_jacobians_of_cumulative_operations(name, n):
    cumulate, op = CUMULATIVE[name]

    def straight(x):
        return jnp.stack(prefixes(op, x)) if n else x

    def jacobians(x):
        return mj.jacrev(cumulate)(x), mj.jacfwd(cumulate)(x), mj.jacrev(straight)(x)

    reverse, forward, expected = mj.jit(jacobians)(
        RANDOM.uniform(0.5, 1.5, n).astype(np.float32)
    )
    np.testing.assert_allclose(reverse, expected, 1e-5, 1e-6)
    np.testing.assert_allclose(forward, expected, 1e-5, 1e-6)


def test_cumulative_operations_at_zeros_ties_and_infinities():
    x = np.array([2, 0, 3, 0], np.float32)
    expected = [[1, 0, 0, 0], [0, 2, 0, 0], [0, 6, 0, 0], [0, 0, 0, 0]]
    assert mj.jacrev(lax.cumprod)(x).tolist() == expected
    ties = mj.jacrev(lax.cummax)(np.array([1, 1, 2, 2], np.float32))
    assert ties.sum(1).tolist() == [1, 1, 1, 1]
    low = np.array([-np.inf, -np.inf, 1], np.float32)
    assert lax.cumlogsumexp(low).tolist() == [-np.inf, -np.inf, 1]
    assert not np.isnan(mj.jacrev(lax.cumlogsumexp)(low)).any()


# ----------------------------------------------------------------- general reductions

REDUCTIONS = {
    "product": (
        lambda x: lax.reduce(FEW * x, np.float32(1), lambda a, b: a * b, (0,)),
        lambda x: jnp.prod(FEW * x, 0),
    ),
    "logaddexp": (
        lambda x: lax.reduce(FEW * x, np.float32(-np.inf), jnp.logaddexp, (0,)),
        lambda x: jnp.log(jnp.exp(FEW * x).sum(0)),
    ),
    "window sum": (
        lambda x: lax.reduce_window(x, np.float32(0), lax.add, (2,), (1,), "SAME"),
        lambda x: jnp.stack([x[0] + x[1], x[1] + x[2], x[2]]),
    ),
    "window maximum": (
        lambda x: lax.reduce_window(x, np.float32(-np.inf), lax.max, (2,), (1,), "SAME"),
        lambda x: jnp.stack([jnp.maximum(x[0], x[1]), jnp.maximum(x[1], x[2]), x[2]]),
    ),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_general_reductions(name):
    agree(*REDUCTIONS[name], X, tolerance=1e-4)


def test_reductions_of_pairs_and_with_closures():
    """The largest element and its index; a value captured by the computation."""
    x = RANDOM.permutation(12).reshape(3, 4).astype(np.float32)
    at = np.broadcast_to(np.arange(4, dtype=np.int32), (3, 4))

    def larger(a, b):
        take = a[0] > b[0]
        return jnp.where(take, a[0], b[0]), jnp.where(take, a[1], b[1])

    best, where = lax.reduce((x, at), (np.float32(-1), np.int32(-1)), larger, (1,))
    assert best.tolist() == x.max(1).tolist() and where.tolist() == x.argmax(1).tolist()
    lanes = mj.vmap(
        lambda x, at: lax.reduce((x, at), (np.float32(-1), np.int32(-1)), larger, (0,))
    )(x, at)
    assert lanes[1].tolist() == where.tolist()
    assert lax.reduce(X, np.float32(0), lax.add, ()).tolist() == X.tolist()


# --------------------------------------------------------------- optimization_barrier


def test_optimization_barrier():
    def barred(x):
        a, tree = lax.optimization_barrier((jnp.sin(x), {"b": x, "none": None, "n": 3}))
        assert tree["none"] is None
        return a * tree["b"] * tree["n"]

    agree(barred, lambda x: jnp.sin(x) * x * 3, X)
    assert lax.optimization_barrier(()) == ()
    key = mj.random.key(0)
    same = lax.optimization_barrier(key)
    assert (mj.random.key_data(same) == mj.random.key_data(key)).all()
    jaxpr = mj.make_jaxpr(mj.grad(lambda x: lax.optimization_barrier(x * x).sum()))(X)
    assert names(jaxpr).count("optimization_barrier") == 2  # forward and backward
    with pytest.raises(TypeError, match="not a valid"):
        lax.optimization_barrier("a")
