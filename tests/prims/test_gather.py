"""Gather and scatter: against loops, laws, modes, types, errors."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from laws import obeys, same, total

import minijax as mj
from minijax import lax
from minijax.lax import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers

SCATTERS = {
    "scatter": lambda old, new: new,
    "scatter_add": lambda old, new: old + new,
    "scatter_sub": lambda old, new: old - new,
    "scatter_mul": lambda old, new: old * new,
    "scatter_min": np.minimum,
    "scatter_max": np.maximum,
}


def f32(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def windows(shape, indices, dims, sizes, mode):
    """For each index vector: its place among the indices, and the window, or None."""
    index_map, batching, index_batching = dims[2:]
    for position in np.ndindex(indices.shape[:-1]):
        start = [0] * len(shape)
        for d, i in zip(index_map, indices[position], strict=True):
            start[d] = int(i)
        for d, b in zip(batching, index_batching, strict=True):
            start[d] = position[b]
        bounds = [n - m for n, m in zip(shape, sizes, strict=True)]
        inside = all(0 <= i <= b for i, b in zip(start, bounds, strict=True))
        if not inside and mode == "clip":
            start = [min(max(i, 0), b) for i, b in zip(start, bounds, strict=True)]
            inside = True
        box = tuple(slice(i, i + m) for i, m in zip(start, sizes, strict=True))
        yield position, box if inside else None


def result_index(position, offset, rank):
    """Return the position of an index vector's window in the result (or updates)."""
    where, rest = [], iter(position)
    for d in range(rank):
        where.append(slice(None) if d in offset else next(rest))
    return tuple(where)


def dropped_axes(dims):
    return tuple(sorted((*dims[1], *dims[3])))


def loop_gather(x, indices, dims, sizes, mode, fill=np.nan):
    offset = dims[0]
    rank = len(offset) + indices.ndim - 1
    inner = [m for d, m in enumerate(sizes) if d not in dropped_axes(dims)]
    outer = iter(indices.shape[:-1])
    inner = iter(inner)
    shape = [next(inner) if d in offset else next(outer) for d in range(rank)]
    out = np.full(shape, fill).astype(x.dtype)
    for position, box in windows(x.shape, indices, dims, sizes, mode):
        if box is not None:
            piece = x[box].squeeze(dropped_axes(dims))
            out[result_index(position, offset, rank)] = piece
    return out


def loop_scatter(x, indices, updates, dims, sizes, mode, combine):
    out = x.copy()
    for position, box in windows(x.shape, indices, dims, sizes, mode):
        if box is not None:
            new = updates[result_index(position, dims[0], updates.ndim)]
            new = np.expand_dims(new, dropped_axes(dims))
            out[box] = combine(out[box], new)
    return out


# name -> (operand's shape, index vectors, dimension numbers, window's sizes)
SCATTER_CASES = {
    "rows": ((4, 3), [[0], [2], [3]], ((1,), (0,), (0,)), (1, 3)),
    "columns": ((4, 3), [[2], [0]], ((0,), (1,), (1,)), (4, 1)),
    "points": ((4, 3), [[0, 2], [3, 1], [1, 1]], ((), (0, 1), (0, 1)), (1, 1)),
    "turned_points": ((4, 3), [[2, 0], [1, 3]], ((), (0, 1), (1, 0)), (1, 1)),
    "boxes": ((5, 4), [[0, 0], [3, 1]], ((1, 2), (), (0, 1)), (2, 3)),
    "one_box": ((5, 4), [2], ((0, 1), (), (0,)), (2, 4)),
    "grid": ((4, 3), [[[0], [1]], [[3], [2]]], ((1,), (0,), (0,)), (1, 3)),
    "no_index": ((4, 3), np.zeros((1, 0), np.int32), ((1, 2), (), ()), (4, 2)),
    "along": ((2, 4, 3), [[[0], [3]], [[1], [2]]], ((2,), (1,), (1,), (0,), (0,)), (1, 1, 3)),
    "along_turned": (
        (4, 2, 3),
        [[[0], [3], [2]], [[1], [2], [0]]],
        ((), (0,), (0,), (1, 2), (0, 1)),
        (1, 1, 1),
    ),
    "nowhere": ((4, 3), np.zeros((0, 1), np.int32), ((1,), (0,), (0,)), (1, 3)),
}
UNIQUE = [name for name in SCATTER_CASES if name != "nowhere"]


def place(name):
    shape, indices, dims, sizes = SCATTER_CASES[name]
    dims = GatherDimensionNumbers(*dims)
    return shape, np.array(indices, np.int32), dims, sizes


def updates_for(indices, dims, sizes):
    """Updates of the right shape."""
    x = np.zeros([max(n, 1) * 9 for n in sizes])
    return f32(*loop_gather(x, indices * 0, dims, sizes, "clip").shape)


@pytest.mark.parametrize("name", SCATTER_CASES)
def test_gather(name):
    shape, indices, dims, sizes = place(name)
    x = f32(*shape)
    for mode in (None, "clip", "fill"):
        got = lax.gather(x, indices, dims, sizes, mode=mode)
        same(got, loop_gather(x, indices, dims, sizes, mode))
    obeys(lambda x, i: lax.gather(x, i, dims, sizes, mode="clip"), x, indices)
    obeys(lambda x: lax.gather(x, indices, dims, sizes), x)


@pytest.mark.parametrize("op", SCATTERS)
@pytest.mark.parametrize("name", SCATTER_CASES)
def test_scatter(name, op):
    shape, indices, dims, sizes = place(name)
    x, updates = f32(*shape), updates_for(indices, dims, sizes) + 0.5
    scatter, into = getattr(lax, op), ScatterDimensionNumbers(*dims)
    for mode in (None, "clip"):
        got = scatter(x, indices, updates, into, mode=mode)
        expected = loop_scatter(x, indices, updates, dims, sizes, mode, SCATTERS[op])
        same(got, expected, rtol=1e-6)

    def fun(x, u, i):
        return scatter(x, i, u, into, unique_indices=op == "scatter_mul")

    unique = name != "boxes"  # they overlap
    lanes = op in ("scatter", "scatter_add") or name == "rows"
    derivatives = unique or op != "scatter_mul"
    obeys(fun, x, updates, indices, derivatives=derivatives, lanes=lanes)


@pytest.mark.parametrize("op", SCATTERS)
def test_out_of_bounds(op):
    x, indices = f32(4, 3), np.array([[-1], [4], [9], [-7], [2]], np.int32)
    dims, updates = GatherDimensionNumbers((1,), (0,), (0,)), f32(5, 3) + 1
    for mode in ("clip", "fill"):
        got = lax.gather(x, indices, dims, (1, 3), mode=mode)
        same(got, loop_gather(x, indices, dims, (1, 3), mode))
        into = ScatterDimensionNumbers(*dims)
        if mode == "clip" and op == "scatter":
            continue  # rows written twice
        got = getattr(lax, op)(x, indices, updates, into, mode=mode)
        expected = loop_scatter(x, indices, updates, dims, (1, 3), mode, SCATTERS[op])
        same(got, expected, rtol=1e-6)

    def drop(x, u):
        return getattr(lax, op)(
            x, indices, u, into, mode="drop", unique_indices=op == "scatter_mul"
        )

    obeys(drop, x, updates, lanes=op == "scatter_add")
    obeys(lambda x: lax.gather(x, indices, dims, (1, 3), mode="fill", fill_value=2), x)


FILLS = {
    "float32": np.nan,
    "bfloat16": np.nan,
    "float8_e4m3fn": np.nan,
    "complex64": np.nan,
    "int8": -128,
    "int32": -(2**31),
    "uint8": 255,
    "uint32": 2**32 - 1,
    "bool": True,
    "int4": -8,
}
POINTS = GatherDimensionNumbers((), (0,), (0,))
INTO_POINTS = ScatterDimensionNumbers((), (0,), (0,))


@pytest.mark.parametrize("dtype", FILLS)
def test_dtypes(dtype):
    fill, dtype = FILLS[dtype], np.dtype(getattr(ml_dtypes, dtype, dtype))
    x, i = np.array([0, 1, 1]).astype(dtype), np.array([[2], [5], [0]], np.int32)
    expected = np.array([1, fill, 0], np.complex64 if dtype.kind == "c" else None)
    same(lax.gather(x, i, POINTS, (1,), mode="fill"), expected.astype(dtype))
    same(lax.scatter(x, i[:1], x[:1], INTO_POINTS), np.array([0, 1, 0]).astype(dtype))
    if dtype.kind != "b":
        twice = np.array([[0], [0]], np.int32)
        got = lax.scatter_add(x, twice, x[1:], INTO_POINTS)
        same(got, np.array([2, 1, 1]).astype(dtype))
    same(lax.scatter_max(x, i[2:], x[1:2], INTO_POINTS), np.ones(3).astype(dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64"])
def test_index_dtypes(dtype):
    x = f32(300)
    with mj.enable_x64(dtype == "int64"):
        i = np.array([[-1], [100]]).astype(dtype)
        first = int(i[0, 0])
        if 0 <= first < 300:
            expected = x[[first, 100]]
        else:
            expected = np.array([np.nan, x[100]], np.float32)
        same(lax.gather(x, i, POINTS, (1,), mode="fill"), expected)
        clipped = x[[min(max(first, 0), 299), 100]]
        same(lax.gather(x, i, POINTS, (1,), mode="clip"), clipped)
        into = x.copy()
        into[[min(max(first, 0), 299), 100]] = 7
        got = lax.scatter(x, i, np.full(2, 7, np.float32), INTO_POINTS, mode="clip")
        same(got, into)


def test_the_derivative_of_writing_twice_follows_the_value():
    x, i = np.zeros(4, np.float32), np.array([[1], [1], [3]], np.int32)
    u = np.array([5.0, 6.0, 7.0], np.float32)
    out, moved = mj.jvp(lambda u: lax.scatter(x, i, u, INTO_POINTS), (u,), (u,))
    np.testing.assert_array_equal(out, moved)
    out = np.asarray(out)
    assert out[1] in (5.0, 6.0) and out[3] == 7.0
    (cotangent,) = mj.vjp(lambda u: lax.scatter(x, i, u, INTO_POINTS), u)[1](moved)
    assert sorted(np.asarray(cotangent).tolist()) == sorted([0.0, float(out[1]), 7.0])


@pytest.mark.parametrize("op", ["scatter_min", "scatter_max"])
def test_equal_winners_share(op):
    x, u = np.float32([1, 2, 0]), np.float32([1, 1, 9])
    if op == "scatter_max":
        x, u = -x, -u
    i = np.array([[0], [0], [1]], np.int32)
    fun = getattr(lax, op)
    pull = mj.vjp(lambda x, u: fun(x, i, u, INTO_POINTS), x, u)[1]
    for_x, for_u = pull(np.float32([3, 5, 7]))
    np.testing.assert_allclose(for_x, [1, 5, 7])
    np.testing.assert_allclose(for_u, [1, 1, 0])


def test_scatter_apply():
    x, i = f32(5), np.array([[1], [3]], np.int32)
    got = lax.scatter_apply(x, i, lax.sin, INTO_POINTS, update_shape=(2,))
    expected = x.copy()
    expected[[1, 3]] = np.sin(x[[1, 3]])
    same(got, expected, rtol=1e-6)

    def fun(x):
        return lax.scatter_apply(x, i, lax.sin, INTO_POINTS, update_shape=(2,))

    obeys(fun, x, derivatives=False, lanes=False)
    lanes = mj.vmap(fun, 1)(np.stack([x, x + 1], 1))
    same(lanes, np.stack([fun(x), fun(x + 1)]), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="scatter_apply JVP"):
        mj.grad(lambda x: total(fun(x)))(x)
    for func, kind in ((lambda v: 1, r"i32\[\]"), (lambda v: x, r"f32\[5\]")):
        with pytest.raises(ValueError, match=rf"must return f32\[\], got {kind}"):
            lax.scatter_apply(x, i, func, INTO_POINTS, update_shape=(2,))


def test_index_take():
    x = f32(4, 3, 5)
    i, j = np.array([0, -1, 6], np.int32), np.array([2, 4, -5], np.int32)
    same(lax.index_take(x, (i,), (1,)), np.moveaxis(x[:, i % 3], 1, 0))
    got = lax.index_take(x, (i, j), (0, 2))
    same(got, np.stack([x[a % 4, :, b % 5] for a, b in zip(i, j, strict=True)]))
    obeys(lambda x: lax.index_take(x, (j, i), (2, 0)), x)


def test_lanes_of_lanes():
    x, i = f32(2, 3, 4, 5), (np.arange(12).reshape(2, 3, 2, 1) % 4).astype(np.int32)
    dims = GatherDimensionNumbers((1,), (0,), (0,))

    def rows(x, i):
        return lax.gather(x, i, dims, (1, 5))

    got = mj.vmap(mj.vmap(rows))(x, i)
    each = [rows(x[k], i[k]) for k in itertools.product(range(2), range(3))]
    same(got, np.stack(each).reshape(2, 3, 2, 5))
    (eqn,) = mj.make_jaxpr(mj.vmap(mj.vmap(rows)))(x, i).eqns
    assert eqn.params["dimension_numbers"].operand_batching_dims == (0, 1)


def test_keys_are_gathered():
    keys = mj.random.split(mj.random.key(0), 4)
    i = np.array([[2], [0]], np.int32)
    data = np.asarray(mj.random.key_data(keys))
    got = mj.random.key_data(lax.gather(keys, i, POINTS, (1,)))
    np.testing.assert_array_equal(got, data[[2, 0]])
    put = lax.scatter(keys, i, lax.slice(keys, (1,), (3,)), INTO_POINTS)
    expected = data.copy()
    expected[[2, 0]] = data[1:3]
    np.testing.assert_array_equal(mj.random.key_data(put), expected)


def test_modes():
    modes = GatherScatterMode
    names = {"clip": modes.CLIP, "promise_in_bounds": modes.PROMISE_IN_BOUNDS}
    names |= {"fill": modes.FILL_OR_DROP, "drop": modes.FILL_OR_DROP, None: modes(2)}
    assert {name: modes.from_any(name) for name in names} == names
    assert repr(modes.CLIP) == "<GatherScatterMode.CLIP: 1>"


def test_weak_types():
    weak, i = lax.broadcast(1.0, (1,)), np.zeros((1, 1), np.int32)
    assert lax.gather(weak, i, POINTS, (1,)).weak_type
    assert lax.scatter(weak, i, f32(1), INTO_POINTS).weak_type
    assert not lax.scatter_add(f32(3), i, weak, INTO_POINTS).weak_type


x, i, u = f32(4, 3, 2), np.zeros((2, 1), np.int32), f32(2, 3, 2)
GATHER_ERRORS = {
    "float": (dict(i=f32(2, 1)), ValueError, "integer type"),
    "scalar": (dict(i=np.int32(0)), TypeError, "leaf dimension"),
    "sizes": (dict(s=(1, 3)), TypeError, "one slice size"),
    "size": (dict(s=(1, 4, 2)), TypeError, "Slice size at index 1"),
    "collapsed": (dict(s=(2, 3, 2)), TypeError, "collapse slice dims"),
    "map_length": (dict(d=((1, 2), (0,), (0, 1))), TypeError, "must be equal"),
    "map_range": (dict(d=((1, 2), (0,), (3,))), TypeError, "start_index_map"),
    "offset_order": (dict(d=((2, 1), (0,), (0,))), TypeError, "sorted"),
    "offset_twice": (dict(d=((1, 1), (0,), (0,))), TypeError, "repeat"),
    "offset_range": (dict(d=((1, 5), (0,), (0,))), TypeError, "valid range"),
    "missing": (dict(d=((1,), (0,), (0,))), TypeError, "explicitly collapsed"),
    "batching_pairs": (dict(d=((1,), (1,), (1,), (0,), ())), TypeError, "equal numbers"),
    "batching_sizes": (dict(d=((1,), (1,), (1,), (0,), (0,))), TypeError, "same shape"),
    "batching_role": (
        dict(d=((1,), (0,), (0,), (0,), (0,)), i=np.zeros((4, 1), int)),
        TypeError,
        "disjoint",
    ),
    "mode": (dict(mode="wrap"), ValueError, "Unknown gather mode"),
    "one_hot": (dict(mode="one_hot"), ValueError, "one_hot"),
}
SCATTER_ERRORS = {
    "float": (dict(i=f32(2, 1)), ValueError, "integer type"),
    "dtype": (dict(u=u.astype(int)), TypeError, "same dtypes"),
    "rank": (dict(u=u[0]), TypeError, "must be of rank 3"),
    "count": (dict(u=f32(3, 3, 2)), TypeError, "scatter dimension 0"),
    "window": (dict(u=f32(2, 4, 2)), TypeError, "window dimensions"),
    "roles": (dict(d=((1,), (0,), (0,)), u=f32(2, 3)), TypeError, "window of size 2"),
    "inserted": (dict(d=((1, 2), (5,), (0,))), TypeError, "inserted_window_dims"),
    "map": (dict(d=((1, 2), (0,), (0, 1))), TypeError, "must be equal"),
}


@pytest.mark.parametrize("name", GATHER_ERRORS)
def test_gather_errors(name):
    case, error, text = GATHER_ERRORS[name]
    dims = GatherDimensionNumbers(*case.get("d", ((1, 2), (0,), (0,))))
    with pytest.raises(error, match=text):
        lax.gather(x, case.get("i", i), dims, case.get("s", (1, 3, 2)), mode=case.get("mode"))


@pytest.mark.parametrize("name", SCATTER_ERRORS)
def test_scatter_errors(name):
    case, error, text = SCATTER_ERRORS[name]
    dims = ScatterDimensionNumbers(*case.get("d", ((1, 2), (0,), (0,))))
    with pytest.raises(error, match=text):
        lax.scatter(x, case.get("i", i), case.get("u", u), dims)


def test_other_errors():
    with pytest.raises(TypeError, match="traced fill_value"):
        mj.jit(lambda v: lax.gather(x[:, 0, 0], i, POINTS, (1,), mode="fill", fill_value=v))(
            1.0
        )
    flags = np.ones(3, bool)
    with pytest.raises(TypeError, match="does not accept dtype bool"):
        lax.scatter_add(flags, i, flags[:2], INTO_POINTS)
    with pytest.raises(NotImplementedError, match="unique_indices=True"):
        mj.grad(lambda u: total(lax.scatter_mul(f32(3), i, u, INTO_POINTS)))(f32(2))
    with pytest.raises(NotImplementedError, match="close over Tracers"):
        mj.jit(lambda c: lax.scatter_apply(f32(3), i, lambda v: v * c, INTO_POINTS))(2.0)
