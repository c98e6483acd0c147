"""Subscripts, `x.at`, take, where, and the functions about positions."""

import itertools
import warnings

import numpy as np
import pytest
from against_numpy import check, close, same
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import obeys

import minijax as mj
import minijax.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
IX = np.array([1, 0, 1])
J = np.array([[0, 2], [1, -1]])
MASK = X[0] % 3 == 0

SUBSCRIPTS = [
    0,
    -1,
    np.int64(1),
    slice(None),
    Ellipsis,
    None,
    (),
    slice(1, None),
    slice(None, None, -1),
    (0, 1, 2),
    (0, -1),
    (slice(None), 1),
    (..., -1),
    (0, ..., 1),
    (None, 0, None),
    (slice(None), slice(0, 2), slice(3, 0, -1)),
    (slice(None), slice(3, 0, -2), 1),
    (slice(None), slice(None, None, 2), slice(None, None, 3)),
    slice(5, 2),
    slice(0, 0),
    IX,
    (IX,),
    (slice(None), J),
    (IX, IX),
    (IX, slice(None), IX),
    (IX, None, IX),
    (0, IX),
    (IX, 0),
    (0, slice(None), IX),
    (slice(None), IX, IX),
    (slice(None), 0, J),
    (..., J),
    (IX[:, None], IX),
    (IX, slice(1, None)),
    (IX, slice(None), slice(None, None, -2)),
    (slice(None), J, slice(None, None, 2)),
    (1, MASK),
    (X > 5,),
    X > 5,
    (slice(None), X[0, :, 0] > 3),
    True,
    False,
    (None, True),
    np.array(1),
    (np.zeros(0, int),),
    (0, [1, 2]),
    (slice(None), np.array([True, False, True]), 1),
    ([0, 1], [1, 0], slice(1, 3)),
]


@pytest.mark.parametrize("index", SUBSCRIPTS, ids=str)
def test_reading_is_numpys(index):
    expected = X[index]
    x = jnp.asarray(X)
    for got in (x[index], mj.jit(lambda x: x[index])(x), x.at[index].get()):
        close(got, expected)


@pytest.mark.parametrize("index", SUBSCRIPTS, ids=str)
@pytest.mark.parametrize("op", ["set", "add", "multiply", "min"])
def test_writing_is_numpys(index, op):
    y = np.float32(10) + np.arange(X[index].size, dtype=np.float32).reshape(X[index].shape)
    expected = X.copy()
    if op == "set" and _repeats(index):
        y = np.full_like(y, 7)
    if op == "set":
        expected[index] = y
    else:
        ufunc = {"add": np.add, "multiply": np.multiply, "min": np.minimum}[op]
        ufunc.at(expected, index, y)
    x = jnp.asarray(X)
    for got in (
        getattr(x.at[index], op)(y),
        mj.jit(lambda x, y: getattr(x.at[index], op)(y))(x, y),
    ):
        close(got, expected, 1e-5)


def _repeats(index):
    numbers = np.arange(X.size).reshape(X.shape)[index]
    return len(np.unique(numbers)) < np.size(numbers)


@pytest.mark.parametrize(
    "index",
    [
        "i",
        "i, 1",
        "1, i",
        "i, i",
        "i, 1:",
        "..., i",
        ":, i, ::-1",
        "i, None, j",
        "j, i, 0",
        ":, j, i",
    ],
)
def test_traced_positions(index):
    i, j = np.int32(1), np.array([0, 2, -1], np.int32)
    expected = eval(f"x[{index}]", {"x": X % 7, "i": 1, "j": j % 2})
    read = eval(f"lambda x, i, j: x[{index}]")
    write = eval(f"lambda x, i, j, y: x.at[{index}].set(y)")
    x = jnp.asarray(X % 7)
    for got in (read(x, jnp.asarray(i), j % 2), mj.jit(read)(x, i, j % 2)):
        close(got, expected)
    full = (X % 7).copy()
    exec(f"x[{index}] = -1", {"x": full, "i": 1, "j": j % 2})
    close(mj.jit(write)(x, i, j % 2, -1.0), full)


@pytest.mark.parametrize(
    "index",
    [
        (1, slice(None), 2),
        (slice(None), IX),
        (IX, slice(1, None), J[:1, :1]),
        (slice(None), slice(None, None, -2), None),
        (IX[:, None], IX),
    ],
    ids=str,
)
def test_laws(index):
    obeys(lambda x: jnp.asarray(x)[index], X)
    y = np.cos(X[index])
    obeys(lambda x, y: jnp.asarray(x).at[index].add(y), X, y)
    if not _repeats(index):
        obeys(lambda x, y: jnp.asarray(x).at[index].set(y), X, y)


def test_vmapped_positions():
    obeys(lambda x, i: jnp.asarray(x)[i], X, np.int32(1))
    obeys(lambda x, i, y: jnp.asarray(x).at[i].add(y), X, np.int32(1), X[0])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_subscripts(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    items = []
    for n in shape:
        items.append(
            data.draw(
                st.one_of(
                    st.integers(-n, n - 1),
                    st.slices(n),
                    st.lists(st.integers(-n, n - 1), min_size=2, max_size=2).map(np.array),
                )
            )
        )
        if data.draw(st.booleans()):
            items.insert(data.draw(st.integers(0, len(items))), None)
    index = tuple(items[: data.draw(st.integers(0, len(items)))])
    if sum(i is not None for i in index) > len(shape):
        return
    close(jnp.asarray(x)[index], x[index])
    close(mj.jit(lambda x: x[index])(x), x[index])


def test_out_of_bounds():
    x = jnp.arange(4.0)
    close(x[9], 3.0)
    close(x[-9], 0.0)
    close(mj.jit(lambda x: (x[9], x[-9]))(x)[0], 3.0)
    close(x[jnp.array([9, -9])], [3, 0])
    far = jnp.array([1, 9, -9])
    close(x.at[far].get(mode="fill", fill_value=7), [1, 7, 7])
    assert np.isnan(x.at[9].get(mode="fill"))
    close(x.at[far].get(fill_value=7), [1, 3, 0])  # it is ignored without its mode
    close(x.at[far].get(mode="clip"), [1, 3, 0])
    close(x.at[far].set(9.0), [0, 9, 2, 3])
    close(x.at[9].set(9.0), [0, 1, 2, 3])
    close(x.at[far].set(9.0, mode="clip"), [9, 9, 2, 9])
    close(x.at[-1].set(9.0, wrap_negative_indices=False), [0, 1, 2, 3])
    close(x.at[jnp.array([-1])].add(9.0, wrap_negative_indices=False), [0, 1, 2, 3])
    empty = jnp.zeros((2, 0, 3))
    for index in (0, -1, jnp.array(0), np.int32(0)):
        with pytest.raises(IndexError, match="out of bounds for axis 1 with size 0"):
            empty[:, index]
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 0"):
            mj.jit(lambda x, i: x[i])(empty[0], index)
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 0"):
        mj.vmap(lambda i: empty[0][i])(jnp.arange(2))
    assert empty[0][jnp.arange(0)].shape == (0, 3)


def test_at_methods():
    x, i = jnp.array([1.0, 2.0, 4.0]), jnp.array([0, 0, 2])
    close(x.at[i].add(1.0), [3, 2, 5])
    close(x.at[i].subtract(1.0), [-1, 2, 3])
    close(x.at[i].mul(2.0), [4, 2, 8])
    close(x.at[i].divide(2.0), [0.25, 2, 2])
    close(x.at[i[1:]].power(2.0), [1, 2, 16])
    close(x.at[i].max(3.0), [3, 2, 4])
    close(x.at[i].apply(lambda v: v + 1), [3, 2, 5])
    close(x.at[1:].apply(jnp.sin), [1, np.sin(2), np.sin(4)])
    close(x, [1, 2, 4])


def test_types_of_writes():
    x = jnp.arange(4)
    assert x.at[0].set(7).dtype == x.dtype
    assert jnp.asarray(2.0).at[()].set(3).weak_type
    with pytest.warns(FutureWarning, match="scatter inputs have incompatible types"):
        y = x.at[0].add(2.7)
    assert y.dtype == jnp.int32 and int(y[0]) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jnp.zeros(2).at[0].set(1)
        jnp.zeros(2, jnp.float16).at[0].set(np.float16(1))
    with pytest.raises(ValueError, match="Incompatible types for broadcasting"):
        jnp.zeros((3, 2)).at[0].set(jnp.zeros(3))


def test_eager_positions_compile_once(monkeypatch):
    from minijax.runtime.running import compile as compiler

    x = jnp.asarray(np.arange(60.0).reshape(20, 3))
    x[3], x[3:5], x.at[3].set(1.0), x.at[1, 2].add(1.0)
    calls = []
    real = compiler.compile_module
    monkeypatch.setattr(
        compiler, "compile_module", lambda *a, **k: calls.append(1) or real(*a, **k)
    )
    for i in range(20):
        x[i], x[-i], x.at[i].set(2.0), x.at[i, 1].add(1.0)
        if i < 18:
            x[i : i + 2]
    assert not calls


def test_jaxprs_of_basic_indexing():
    def primitives(f, *args):
        return [e.primitive.name for e in mj.make_jaxpr(f)(*args).eqns]

    x = jnp.asarray(X)
    assert primitives(lambda x: x[0], x) == ["slice", "squeeze"]
    assert primitives(lambda x: x[:, 1:3], x) == ["slice"]
    assert primitives(lambda x: x[:], x) == []
    assert primitives(lambda x: x[::-1], x) == ["rev"]
    assert primitives(lambda x: x[None], x) == ["broadcast_in_dim"]
    assert primitives(lambda x, i: x[i], x, 1)[-2:] == ["dynamic_slice", "squeeze"]
    assert primitives(lambda x, i: x[i], x, IX)[-1] == "gather"
    assert "scatter-add" in primitives(lambda x, i: x.at[i].add(1.0), x, IX)


ERRORS = [
    ("x[0, 0, 0, 0]", IndexError, "Too many indices: array is 3-dimensional, but 4"),
    ("x[..., ...]", IndexError, "single ellipsis"),
    ("x[[0, 1]]", TypeError, "non-tuple sequence"),
    ("x['a']", TypeError, "string indexing"),
    ("x[1.0]", TypeError, "must have integer or boolean type"),
    ("x[object()]", IndexError, "only integers, slices"),
    ("x[x[0, 0] > 1]", IndexError, "boolean index did not match"),
    ("x[np.arange(2), np.arange(3)]", ValueError, "Incompatible shapes for broadcasting"),
    ("x[1.5:]", TypeError, "cannot be interpreted as an integer"),
    ("x.at[0].set(1, mode='zz')", ValueError, "mode"),
]


@pytest.mark.parametrize("text, kind, match", ERRORS)
def test_errors(text, kind, match):
    with pytest.raises(kind, match=match):
        eval(text, {"x": jnp.asarray(X), "np": np})


def test_errors_while_tracing():
    with pytest.raises(mj.errors.NonConcreteBooleanIndexError, match="boolean indices"):
        mj.jit(lambda x: x[x > 1])(X)
    with pytest.raises(IndexError, match="Slice entries must be static integers"):
        mj.jit(lambda x, i: x[i:])(X, 1)
    with pytest.raises(TypeError, match="immutable"):
        jnp.zeros(2)[0] = 1.0
    with pytest.raises(AttributeError):
        del jnp.zeros(2)[0]


def test_iteration():
    x = jnp.asarray(X)
    assert [r.shape for r in x] == [(3, 4)] * 2
    _, b = mj.jit(lambda x: tuple(x))(x)
    close(b, X[1])
    with pytest.raises(TypeError, match="0-d"):
        iter(jnp.float32(1))
    assert 3.0 in jnp.arange(4.0) and 9 not in jnp.arange(4)


# -------------------------------------------------------------- take, where and friends


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_take(axis):
    check("take", X, np.array([[0, 1], [1, -1]]), axis=axis)
    check("take", X, 1, axis=axis)
    check("take", X, IX, axis=axis, mode="wrap")
    obeys(lambda x: jnp.take(x, IX, axis=axis), X)


def test_take_modes():
    x = jnp.arange(3.0)
    close(jnp.take(x, jnp.array([0, 9]), fill_value=7), [0, 7])
    assert np.isnan(jnp.take(x, 9))
    close(jnp.take(jnp.arange(3), 9), np.iinfo(np.int32).min)
    close(jnp.take(x, jnp.array([-1, 9]), mode="clip"), [0, 2])
    for bad, kind in [({"mode": "raise"}, NotImplementedError), ({"mode": "zz"}, ValueError)]:
        with pytest.raises(kind):
            jnp.take(x, 0, **bad)
    with pytest.raises(IndexError, match="non-empty"):
        jnp.take(jnp.zeros((0, 3)), 0, axis=0)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_take_along_axis(axis):
    order = np.argsort(np.sin(X), axis)
    check("take_along_axis", X, order, axis)
    few = np.take(order, [0], axis)
    check("take_along_axis", X, few, axis)
    obeys(lambda x: jnp.take_along_axis(x, order, axis), X)
    check("put_along_axis", X, few, 5.0, axis, inplace=False, ref=_put_along_axis)


def _put_along_axis(a, i, v, axis, inplace):
    a = a.copy()
    np.put_along_axis(a, i, v, axis)
    return a


def test_where_and_select():
    y = np.cos(X)
    check("where", X > 5, X, y)
    check("where", X[0] > 5, X, np.float32(2))
    check("where", X, y, 1.5)
    assert jnp.where(True, 1, 2.0).weak_type
    obeys(lambda x, y: jnp.where(X > 5, x, y), X, y)
    check("select", [X > 20, X > 3], [X, y], 7.0)
    close(jnp.choose(np.array([0, 2, 1]), [IX, IX + 5, IX * 3]), [1, 0, 6])
    close(jnp.choose(np.array([0, 4, -1]), [IX, IX + 5, IX * 3], mode="clip"), [1, 0, 1])
    close(mj.jit(lambda n: jnp.choose(n, [IX, IX + 5], mode="wrap"))(IX), [6, 0, 6])
    check("piecewise", X, [X < 3, X > 9], [0.0, lambda v: v * 2, 5.0])
    check("compress", np.array([True, False, True]), X, axis=1, jit=False)
    check("extract", X > 3, X, jit=False)
    few = mj.jit(lambda m, x: jnp.compress(m, x, axis=0, size=2, fill_value=9))
    close(few(np.array([False, True]), X[:, :2, 0]), [[12, 16], [9, 9]])
    with pytest.raises(TypeError, match="where requires"):
        jnp.where(X > 1, 1)


def test_nonzero():
    for name in ("nonzero", "flatnonzero", "argwhere"):
        check(name, X % 3, jit=False)
    got = mj.jit(lambda x: jnp.nonzero(x, size=4, fill_value=9))(np.array([3, 0, 5, 0]))
    same(got, [[0, 2, 9, 9]])
    same(jnp.nonzero(X % 3, size=3), [i[:3] for i in np.nonzero(X % 3)])
    close(jnp.argwhere(jnp.array([0, 1]), size=2, fill_value=-1), [[1], [-1]])
    with pytest.raises(mj.errors.ConcretizationTypeError, match="size argument"):
        mj.jit(jnp.nonzero)(X)
    with pytest.raises(ValueError, match="0d"):
        jnp.nonzero(1.0)


@pytest.mark.parametrize("method", ["scan", "scan_unrolled", "sort", "compare_all"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(method, side):
    a = np.array([1, 1, 2, 5, np.nan], np.float32)
    v = np.array([[0, 1, 1.5], [5, 9, np.nan]], np.float32)
    expected = np.searchsorted(a, v, side)
    close(jnp.searchsorted(a, v, side, method=method), expected)
    close(mj.jit(lambda a, v: jnp.searchsorted(a, v, side, method=method))(a, v), expected)
    close(jnp.searchsorted(a, np.float32(2), side, method=method), 3 if side == "right" else 2)
    ints = np.array([3, 1, 2])
    close(
        jnp.searchsorted(ints, 2, side, sorter=np.argsort(ints), method=method),
        np.searchsorted(ints, 2, side, sorter=np.argsort(ints)),
    )


def test_digitize():
    bins = np.array([0.0, 3.0, 7.0], np.float32)
    for b, right in itertools.product((bins, bins[::-1].copy()), (False, True)):
        check("digitize", X, b, right)


def test_flat_positions():
    at = np.array([[0, 5], [23, 7]])
    check("unravel_index", at, (2, 3, 4))
    check_eager_index = jnp.ravel_multi_index(np.unravel_index(at, (2, 3, 4)), (2, 3, 4))
    close(check_eager_index, at)
    same(jnp.unravel_index(jnp.array([-1, 99]), (2, 3)), [[1, 1], [2, 2]])
    close(jnp.ravel_multi_index((jnp.array([5]), jnp.array([-1])), (2, 3), mode="clip"), [3])
    with pytest.raises(ValueError, match="invalid entry"):
        jnp.ravel_multi_index((jnp.array([5]),), (2,))


def test_writers():
    x = jnp.arange(6.0).reshape(2, 3)
    close(
        jnp.put(x, jnp.array([0, 5]), jnp.array([7.0, 8.0]), inplace=False),
        [[7, 1, 2], [3, 4, 8]],
    )
    close(jnp.place(x, x > 2, jnp.array([7.0, 8.0]), inplace=False), [[0, 1, 2], [7, 8, 7]])
    close(jnp.fill_diagonal(x, 9.0, inplace=False), [[9, 1, 2], [3, 9, 5]])
    close(x[jnp.ix_(jnp.array([1, 0]), jnp.array([2]))], [[5], [2]])
    for name in ("put", "place"):
        with pytest.raises(ValueError, match="in-place"):
            getattr(jnp, name)(x, x > 1, 1.0)
    with pytest.raises(NotImplementedError, match="inplace=False"):
        jnp.fill_diagonal(x, 1.0)


def test_static_positions_are_checked_on_request():
    """Recorded from JAX 0.10.2: reads raise, writes and chosen modes do not."""
    x, y = jnp.arange(3.0), jnp.ones((2, 3))
    refused = {
        "index 5 out of bounds for axis 0 with size 3": [
            lambda: x[5],
            lambda: x[np.int64(5)],
            lambda: x[None, 5],
            lambda: mj.jit(lambda: x[5])(),
            lambda: x.at[5].get(),
            lambda: x.at[5].get(mode="promise_in_bounds"),
        ],
        "index -4 out of bounds for axis 0 with size 3": [lambda: x[-4]],
        "index 3 out of bounds for axis 1 with size 3": [
            lambda: y[0, 3],
            lambda: y[..., 3],
            lambda: y[np.array([0]), 3],
        ],
    }
    accepted = [
        lambda: x[-3],
        lambda: x[1:9],
        lambda: x[np.array([7])],
        lambda: x[jnp.array(7)],
        lambda: mj.jit(lambda i: x[i])(7),
        lambda: x.at[7].get(mode="clip"),
        lambda: x.at[7].get(mode="fill"),
        lambda: x.at[7].set(1.0),
        lambda: x[True],
    ]
    mj.config.update("jax_check_static_indices", True)
    try:
        for words, calls in refused.items():
            for call in calls:
                with pytest.raises(IndexError, match=words):
                    call()
        for call in accepted:
            call()
    finally:
        mj.config.update("jax_check_static_indices", False)
    assert x[5] == 2.0


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x[jnp.zeros(0, int)],
        lambda x: x[jnp.zeros(2, int), None],
        lambda x: jnp.take_along_axis(x, jnp.zeros(0, int), 0),
        lambda x: x.at[jnp.array([1])].divide(jnp.float32(2)),
        lambda x: x.at[0].power(2),
    ],
)
def test_reads_and_writes_keep_weak_types(read):
    weak = jnp.broadcast_to(1.0, (3,))
    assert read(weak).weak_type
    assert not read(weak.astype("float32")).weak_type


@pytest.mark.parametrize(
    "mask, shape", (((0,), (0, 4)), ((0, 4), (0,)), ((3, 0), (0,)), ((0, 0), (0,)))
)
def test_empty_masks_select_nothing(mask, shape):
    x, mask = jnp.arange(12.0).reshape(3, 4), np.zeros(mask, bool)
    assert x[mask].shape == mj.jit(lambda x: x[mask])(x).shape == shape
    assert (x.at[mask].set(9.0) == x).all()
    with pytest.raises(IndexError, match="boolean index did not match shape"):
        _ = x[np.zeros((2,), bool)]


@pytest.mark.parametrize(
    "index, instead",
    (
        ([0, 1], "array"),
        ([], "array"),
        ([True], "array"),
        ([[0, 1]], "tuple"),
        ([slice(0, 1)], "tuple"),
        ([None], "tuple"),
        ([np.zeros(1, int)], "tuple"),
    ),
)
def test_lists_as_indices_are_refused(index, instead):
    phrase = rf"Using a non-tuple sequence .* use `arr\[{instead}\(seq\)\]`"
    with pytest.raises(TypeError, match=phrase):
        _ = jnp.zeros((3, 4))[index]
    assert jnp.zeros((3, 4, 5))[((0, 1), (1, 2))].shape == (2, 5)


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit])
@pytest.mark.parametrize(
    "at", [np.zeros(0, int), slice(0, 0), np.zeros(3, bool), np.zeros((0, 2), int)]
)
def test_empty_writes_change_nothing(wrap, at):
    x = jnp.arange(3.0)
    for y in (1.0, jnp.ones(2), jnp.ones((5, 0)), jnp.ones((2, 3))):
        for op in ("set", "add", "power"):
            result = wrap(lambda x, y, op=op: getattr(x.at[at], op)(y))(x, y)
            assert result.dtype == x.dtype and result.tolist() == [0, 1, 2]
