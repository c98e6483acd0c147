"""Collectives: lanes of vmap and replicas against NumPy, transposes, errors."""

import numpy as np
import pytest

import minijax as mj
from minijax.ir import core
from minijax.passes.ad_util import UndefinedPrimal
from minijax.passes.stage import stage_closed
from minijax.passes.transpose import backward_pass
from minijax.prims.collectives.all_gather import all_gather, all_to_all, psum_scatter, pswapaxes
from minijax.prims.collectives.pcast import pcast
from minijax.prims.collectives.permute import pbroadcast, ppermute, pshuffle, ragged_all_to_all
from minijax.prims.collectives.psum import axis_index, axis_size, pmax, pmean, pmin, psum
from minijax.prims.math.algebraic import add, mul
from minijax.prims.shape.shapes import copy, move_axis, reshape
from minijax.runtime.lowering.lower_jaxpr import lower_jaxpr
from minijax.runtime.sharding import placement as placements
from minijax.sharding import Mesh, NamedSharding, PartitionSpec
from minijax.types.avals import shaped

GROUPS = [[0, 2], [3, 1]]


# ------------------------------------------------------------------ two ways to run


def stage(fun, x, axes):
    aval = core.aval_of(x)
    one = shaped(aval.shape[len(axes) :], aval.dtype)
    with core.axis_env(axes):
        return stage_closed(lambda a: [fun(a)], [one])


def nested(transform, fun, axes):
    """`fun` under one map for each axis, the first outermost."""
    for name, size in reversed(axes):
        fun = transform(fun, axis_name=name, axis_size=size)
    return fun


def on_lanes(fun, x, axes):
    return np.asarray(mj.jit(nested(mj.vmap, fun, axes))(x))


def on_replicas(fun, x, axes):
    return np.asarray(nested(mj.pmap, fun, axes)(x))


RUNNERS = [on_lanes, on_replicas]
both = pytest.mark.parametrize("run", RUNNERS)


def data(shape, dtype="float32", seed=0):
    x = np.random.RandomState(seed).randint(-9, 9, shape)
    return x.astype(dtype)


# ------------------------------------------------------- the same in NumPy


def flat_groups(axes, names, groups):
    """Lists of replicas (indices into the flattened axes) that talk to each other."""
    sizes = [s for _, s in axes]
    order = [n for n, _ in axes]
    ids = np.arange(np.prod(sizes)).reshape(sizes)
    where = [order.index(n) for n in names]
    others = [i for i in range(len(sizes)) if i not in where]
    rows = ids.transpose(others + where).reshape(-1, int(np.prod([sizes[i] for i in where])))
    if groups is None:
        return rows.tolist()
    return [[row[i] for i in g] for row in rows.tolist() for g in groups]


def by_group(x, axes, names, groups, act):
    """act(values of one group) -> results of its members."""
    sizes = [s for _, s in axes]
    flat = x.reshape(-1, *x.shape[len(axes) :])
    out = {}
    for g in flat_groups(axes, names, groups):
        for i, y in zip(g, act(flat[g]), strict=True):
            out[i] = y
    y = np.stack([out[i] for i in range(len(flat))])
    return y.reshape(*sizes, *y.shape[1:])


def np_gather(vs, axis, tiled):
    join = np.concatenate if tiled else np.stack
    return [join(list(vs), axis)] * len(vs)


def np_scatter(vs, axis, tiled):
    parts = np.split(vs.sum(0), len(vs), axis)
    return parts if tiled else [np.squeeze(p, axis) for p in parts]


def np_exchange(vs, split, concat, tiled):
    n = len(vs)
    pieces = [np.split(v, n, split) for v in vs]
    out = []
    for k in range(n):
        received = [pieces[i][k] for i in range(n)]
        if tiled:
            out.append(np.concatenate(received, concat))
        else:
            out.append(np.stack([np.squeeze(m, split) for m in received], concat))
    return out


def np_permute(vs, perm):
    out = [np.zeros_like(vs[0]) for _ in vs]
    for s, t in perm:
        out[t] = vs[s]
    return out


ONE = (("i", 4),)
TWO = (("i", 2), ("j", 3))
NAMES = [
    (ONE, ("i",), None),
    (ONE, ("i",), GROUPS),
    (TWO, ("i", "j"), None),
    (TWO, ("j", "i"), None),
    (TWO, ("j",), None),
    (TWO, ("i",), None),
]


@both
@pytest.mark.parametrize("axes, names, groups", NAMES)
@pytest.mark.parametrize("fun", ["sum", "max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16"])
def test_reductions(run, axes, names, groups, fun, dtype):
    x = data([*(s for _, s in axes), 2, 3], dtype)
    prim = {"sum": psum, "max": pmax, "min": pmin}
    got = run(lambda v: prim[fun](v, names, axis_index_groups=groups), x, axes)
    expected = by_group(x, axes, names, groups, lambda vs: [getattr(np, fun)(vs, 0)] * len(vs))
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, expected)


@both
def test_groups_of_unequal_size(run):
    groups = [[0, 3, 1], [2]]
    x = data((4, 5))
    got = run(lambda v: psum(v, "i", axis_index_groups=groups), x, ONE)
    expected = by_group(x, ONE, ("i",), groups, lambda vs: [vs.sum(0)] * len(vs))
    np.testing.assert_array_equal(got, expected)


@both
@pytest.mark.parametrize("axes", [(0,), ("i", 1), (1, "i", 0), (0, 1)])
def test_positional_axes(run, axes):
    x = data((4, 2, 3))
    got = run(lambda v: psum(v, axes), x, ONE)
    where = tuple(0 if a == "i" else a + 1 for a in axes)
    expected = x.sum(tuple(w for w in where if w))
    if "i" in axes:
        expected = np.broadcast_to(expected.sum(0), expected.shape)
    np.testing.assert_array_equal(got, expected)


@both
@pytest.mark.parametrize("axes, names, groups", NAMES)
@pytest.mark.parametrize(
    "axis, tiled", [(0, False), (1, False), (2, False), (0, True), (1, True)]
)
def test_all_gather(run, axes, names, groups, axis, tiled):
    x = data([*(s for _, s in axes), 2, 3])
    got = run(
        lambda v: all_gather(v, names, axis=axis, tiled=tiled, axis_index_groups=groups),
        x,
        axes,
    )
    expected = by_group(x, axes, names, groups, lambda vs: np_gather(vs, axis, tiled))
    np.testing.assert_array_equal(got, expected)


@both
@pytest.mark.parametrize("axes, names, groups", NAMES)
@pytest.mark.parametrize("axis, tiled", [(0, False), (1, False), (0, True), (1, True)])
def test_psum_scatter(run, axes, names, groups, axis, tiled):
    n = len(flat_groups(axes, names, groups)[0])
    shape = [5, 5]
    shape[axis] = n * (2 if tiled else 1)
    x = data([*(s for _, s in axes), *shape])
    got = run(
        lambda v: psum_scatter(
            v, names, scatter_dimension=axis, tiled=tiled, axis_index_groups=groups
        ),
        x,
        axes,
    )
    expected = by_group(x, axes, names, groups, lambda vs: np_scatter(vs, axis, tiled))
    np.testing.assert_array_equal(got, expected)


@both
@pytest.mark.parametrize("axes, names, groups", NAMES)
@pytest.mark.parametrize("split, concat", [(0, 0), (0, 1), (1, 0), (2, 0), (0, 2), (2, 2)])
@pytest.mark.parametrize("tiled", [False, True])
def test_all_to_all(run, axes, names, groups, split, concat, tiled):
    n = len(flat_groups(axes, names, groups)[0])
    shape = [2, 3, 2]
    shape[split] = n * (2 if tiled else 1)
    x = data([*(s for _, s in axes), *shape])
    got = run(
        lambda v: all_to_all(v, names, split, concat, tiled=tiled, axis_index_groups=groups),
        x,
        axes,
    )
    expected = by_group(
        x, axes, names, groups, lambda vs: np_exchange(vs, split, concat, tiled)
    )
    np.testing.assert_array_equal(got, expected)


@both
@pytest.mark.parametrize("axes, names", [(a, n) for a, n, g in NAMES if g is None])
@pytest.mark.parametrize("kind", ["full", "part", "none", "one"])
@pytest.mark.parametrize("dtype", ["float32", "bool", "int8"])
def test_ppermute(run, axes, names, kind, dtype):
    n = len(flat_groups(axes, names, None)[0])
    perm = {
        "full": [(i, (i + 1) % n) for i in range(n)],
        "none": [],
        "part": [(i, i + 1) for i in range(n - 1)],
        "one": [(n - 1, 0)],
    }[kind]
    x = data([*(s for _, s in axes), 3], dtype)
    got = run(lambda v: ppermute(v, names, perm), x, axes)
    expected = by_group(x, axes, names, None, lambda vs: np_permute(vs, perm))
    np.testing.assert_array_equal(got, expected)


@both
@pytest.mark.parametrize("axes, names", [(a, n) for a, n, g in NAMES if g is None])
def test_pbroadcast(run, axes, names):
    x = data([*(s for _, s in axes), 3])
    got = run(lambda v: pbroadcast(v, names, 1), x, axes)
    expected = by_group(x, axes, names, None, lambda vs: [vs[1]] * len(vs))
    np.testing.assert_array_equal(got, expected)


@both
def test_pshuffle_and_pswapaxes(run):
    x = data((4, 4, 2))
    got = run(lambda v: pshuffle(v, "i", [3, 0, 2, 1]), x, ONE)
    np.testing.assert_array_equal(got, x[[3, 0, 2, 1]])
    got = run(lambda v: pshuffle(v, "i", [1, 0]), x, ONE)  # the others get zeros
    np.testing.assert_array_equal(got, [x[1], x[0], 0 * x[0], 0 * x[0]])
    got = run(lambda v: pswapaxes(v, "i", 0), x, ONE)
    np.testing.assert_array_equal(got, x.swapaxes(0, 1))


@both
@pytest.mark.parametrize("x64", [False, True])
def test_axis_index(run, x64):
    x = np.zeros((2, 3), np.int32)
    for names in ("i", "j", ("i", "j"), ("j", "i")):
        with mj.enable_x64(x64):
            got = run(lambda v, n=names: add(axis_index(n), v), x, TWO)
        expected = {
            "i": np.arange(2)[:, None] + x,
            "j": np.arange(3)[None] + x,
            ("i", "j"): np.arange(6).reshape(2, 3),
            ("j", "i"): np.arange(6).reshape(3, 2).T,
        }[names]
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, expected)


@both
def test_pmean(run):
    x = data((4, 3))
    got = run(lambda v: pmean(v, "i"), x, ONE)
    np.testing.assert_allclose(got, np.broadcast_to(x.mean(0), x.shape), rtol=1e-6)
    got = run(lambda v: pmean(v, "i"), x.astype("int8"), ONE)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, np.broadcast_to(x.mean(0), x.shape), rtol=1e-6)
    got = run(lambda v: pmean(v, "i", axis_index_groups=GROUPS), x, ONE)
    expected = by_group(x, ONE, ("i",), GROUPS, lambda vs: [vs.mean(0)] * 2)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@both
def test_unbatched_operands(run):
    """Arguments without a lane axis."""
    shared = data((4, 6), seed=3)
    every = np.stack([shared] * 4)
    x = np.zeros((4, 1), np.float32)
    for fun, expected in (
        (lambda c: psum(c, "i"), [4 * shared] * 4),
        (lambda c: pmax(c, "i"), [shared] * 4),
        (
            lambda c: psum(c, "i", axis_index_groups=[[0, 1, 2], [3]]),
            [3 * shared] * 3 + [shared],
        ),
        (lambda c: all_gather(c, "i"), np_gather(every, 0, False)),
        (lambda c: all_gather(c, "i", axis=1, tiled=True), np_gather(every, 1, True)),
        (lambda c: psum_scatter(c, "i"), np_scatter(every, 0, False)),
        (lambda c: all_to_all(c, "i", 0, 1), np_exchange(every, 0, 1, False)),
        (lambda c: ppermute(c, "i", [(0, 1)]), np_permute(every, [(0, 1)])),
        (lambda c: pbroadcast(c, "i", 2), [shared] * 4),
    ):
        got = run(lambda v, f=fun: add(f(traced(shared)), reshape(v, ())), x, ONE)
        np.testing.assert_array_equal(got, np.stack(expected))


def traced(c):
    """`c` as a value that does not vary (a plain constant would be folded)."""
    return mul(copy(c), np.float32(1))


# ------------------------------------------------------------------- ragged_all_to_all


def plan(groups):
    """Return how many rows i sends to j, and the offsets of consecutive slices at both ends."""
    sizes = np.random.RandomState(0).randint(0, 4, (4, 4))
    for i, j in np.ndindex(4, 4):
        if not any(i in g and j in g for g in groups):
            sizes[i, j] = 0
    return sizes, np.cumsum(sizes, 1) - sizes, np.cumsum(sizes, 0) - sizes


@pytest.mark.parametrize("transform", [mj.vmap, mj.pmap])
@pytest.mark.parametrize("groups", [None, GROUPS])
def test_ragged_all_to_all(transform, groups):
    sizes, starts, targets = plan(groups or [range(4)])
    peers = [next(list(g) for g in groups or [range(4)] if i in g) for i in range(4)]
    x, out, ct = (data((4, 16, 2), seed=k) for k in range(3))
    tables = [
        np.stack([table[i, peers[i]] for i in range(4)]).astype(np.int32)
        for table in (starts, sizes, targets, sizes.T)
    ]

    def exchange(*args):
        return ragged_all_to_all(*args, axis_name="i", axis_index_groups=groups)

    def with_cotangents(ct, x, out, *tables):
        y, back = mj.vjp(lambda x, out: exchange(x, out, *tables), x, out)
        return y, *back(ct)

    expected = out.copy()
    for i, j in np.ndindex(4, 4):
        k, s, t = sizes[i, j], starts[i, j], targets[i, j]
        expected[j, t : t + k] = x[i, s : s + k]
    y, x_ct, out_ct = transform(with_cotangents, axis_name="i")(ct, x, out, *tables)
    np.testing.assert_array_equal(y, expected)
    got = np.vdot(x_ct, x) + np.vdot(out_ct, out)
    np.testing.assert_allclose(got, np.vdot(ct, expected), rtol=1e-5)
    # An independent lane axis.
    lanes = mj.vmap(exchange, (1, None, None, None, None, None))
    y = transform(lanes, axis_name="i")(np.stack([x, 2 * x], 2), out, *tables)
    np.testing.assert_array_equal(np.asarray(y)[:, 0], expected)


def test_ragged_all_to_all_is_an_operation_on_other_platforms():
    x, k = shaped((6, 2), np.dtype("f4")), shaped((4,), np.dtype("i4"))
    with core.axis_env(ONE):
        closed = stage_closed(
            lambda *a: [ragged_all_to_all(*a, axis_name="i")], [x, x, k, k, k, k]
        )
        devices = mj.devices()[:4]
        every = [NamedSharding(Mesh(devices, "i"), PartitionSpec())] * 6
        placement = placements.replicas(devices, every[0].mesh, every, every[:1], ONE)
        module = lower_jaxpr(closed, "f", "cuda", placement=placement).module
        for bad, text in (((x, x, k, k, k, x), "integer"), ((x, k, k, k, k, k), "equal")):
            with pytest.raises(ValueError, match=text):
                stage_closed(lambda *a: [ragged_all_to_all(*a, axis_name="i")], bad)
    assert module.operation.verify()
    assert "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>" in str(module)


# ---------------------------------------------------------------- other lanes, mixtures


@pytest.mark.parametrize("lane", [0, 1, 2])
@pytest.mark.parametrize(
    "fun",
    [
        lambda v: psum(v, "i"),
        lambda v: psum(v, ("i", 0)),
        lambda v: pmax(v, (1,)),
        lambda v: all_gather(v, "i", axis=0),
        lambda v: all_gather(v, "i", axis=1),
        lambda v: all_gather(v, "i", axis=2),
        lambda v: all_gather(v, "i", axis=1, tiled=True),
        lambda v: psum_scatter(v, "i", scatter_dimension=0),
        lambda v: psum_scatter(v, "i", scatter_dimension=1, tiled=True),
        lambda v: all_to_all(v, "i", 0, 1),
        lambda v: all_to_all(v, "i", 1, 0, tiled=True),
        lambda v: ppermute(v, "i", [(0, 1), (3, 0)]),
        lambda v: pbroadcast(v, "i", 3),
    ],
)
def test_lanes_of_another_axis(fun, lane):
    """A lane axis in addition to replicas: lanes are independent."""
    x = data((4, 4, 4, 8))  # replica, lane, 4, 8

    def mapped(v):
        return mj.vmap(fun, in_axes=lane)(move_axis(v, 0, lane))

    got = on_replicas(mapped, x, ONE)
    expected = np.stack([on_lanes(fun, x[:, k], ONE) for k in range(4)], 1)
    np.testing.assert_array_equal(got, expected)


LINEAR = {
    "psum": lambda v: psum(v, "i"),
    "psum groups": lambda v: psum(v, "i", axis_index_groups=GROUPS),
    "psum positions": lambda v: psum(v, ("i", 1)),
    "all_gather": lambda v: all_gather(v, "i", axis=1),
    "all_gather tiled": lambda v: all_gather(v, "i", axis=1, tiled=True),
    "psum_scatter": lambda v: psum_scatter(v, "i"),
    "psum_scatter tiled": lambda v: psum_scatter(v, "i", scatter_dimension=1, tiled=True),
    "all_to_all": lambda v: all_to_all(v, "i", 0, 1),
    "all_to_all tiled": lambda v: all_to_all(v, "i", 1, 0, tiled=True),
    "ppermute": lambda v: ppermute(v, "i", [(0, 1), (3, 0)]),
    "pbroadcast": lambda v: pbroadcast(v, "i", 2),
}


@both
@pytest.mark.parametrize("name", LINEAR)
def test_transpose_by_inner_product(run, name):
    fun = LINEAR[name]
    x = data((4, 4, 8))
    y = run(fun, x, ONE)
    ct = data(y.shape, seed=1)
    closed = stage(fun, x, ONE)
    aval = closed.in_avals[0]

    def back(v):
        (out,) = backward_pass(closed.jaxpr, closed.consts, [UndefinedPrimal(aval)], [v])
        return out

    x_ct = run(back, ct, ONE)
    assert x_ct.shape == x.shape
    np.testing.assert_allclose(np.vdot(ct, y), np.vdot(x_ct, x), rtol=1e-5)


@both
@pytest.mark.parametrize("name", LINEAR)
def test_jvp_is_the_function_itself(run, name):
    fun = LINEAR[name]
    x, t = data((4, 4, 8)), np.float32(2)

    def tangent(v):
        return mj.jvp(fun, (v,), (mul(v, t),))[1]

    np.testing.assert_array_equal(run(tangent, x, ONE), 2 * run(fun, x, ONE))


# -------------------------------------------------------------------- constants, errors


def in_scope(fun):
    with core.mapped_axis("i", 4):
        return fun()


def test_sums_of_constants_fold():
    assert in_scope(lambda: psum(1, "i")) == 4
    assert in_scope(lambda: psum(2.5, "i", axis_index_groups=GROUPS)) == 5.0
    assert in_scope(lambda: psum(True, "i")) == 4
    got = in_scope(lambda: psum({"a": np.ones(2, np.int8)}, "i"))["a"]
    assert got.dtype == np.int8 and (got == 4).all()
    assert in_scope(lambda: pmean(3, "i")) == 3.0
    assert in_scope(lambda: axis_size("i")) == 4
    with core.mapped_axis("j", 3):
        assert in_scope(lambda: psum(1, ("i", "j"))) == 12


def test_booleans_are_counted():
    x = np.array([True, False, True, True])
    got = on_lanes(lambda v: psum(v, "i"), x, ONE)
    assert got.dtype == np.int32 and (got == 3).all()


@pytest.mark.parametrize(
    "fun",
    [
        lambda: psum(1.0, "q"),
        lambda: axis_index("q"),
        lambda: axis_size("q"),
        lambda: all_gather(1.0, "q"),
        lambda: ppermute(1.0, "q", []),
        lambda: all_to_all(np.ones(4), "q", 0, 0),
        lambda: pbroadcast(1.0, "q", 0),
        lambda: pmax(1.0, "q"),
        lambda: psum_scatter(np.ones(4), "q"),
        lambda: pcast(1.0, "q", to="varying"),
    ],
)
def test_unbound_names(fun):
    with pytest.raises(NameError, match="unbound axis name: q"):
        in_scope(fun)


@pytest.mark.parametrize(
    "fun, error, text",
    [
        (
            lambda x: psum(x, "i", axis_index_groups=[[0, 1], [1, 2]]),
            ValueError,
            "cover all indices exactly once",
        ),
        (lambda x: psum(x, ("i", 0), axis_index_groups=GROUPS), ValueError, "just named axes"),
        (
            lambda x: all_gather(x, "i", axis_index_groups=[[0, 1, 2], [3]]),
            ValueError,
            "same size",
        ),
        (lambda x: all_gather(x, "i", to="unreduced"), ValueError, "unexpected `to`"),
        (lambda x: all_to_all(x, "i", 0, 1), ValueError, "4 and 3 respectively"),
        (lambda x: all_to_all(x, "i", 0, 1, tiled=True), ValueError, "divisible"),
        (lambda x: psum_scatter(x, "i"), ValueError, "must match shard count 4"),
        (lambda x: psum_scatter(x, "i", tiled=True), ValueError, "divisible"),
        (lambda x: ppermute(x, "i", [(0, 1), (0, 2)]), ValueError, "unique"),
        (lambda x: ppermute(x, "i", [(0, 4)]), ValueError, "indices below 4"),
        (lambda x: pshuffle(x, "i", [0, 2]), ValueError, "permutation"),
        (lambda x: psum(x, "i", axis_index_groups=[range(4), ()]), ValueError, "empty group"),
        (lambda x: pbroadcast(x, "i", 4), ValueError, "not an index below 4"),
        (lambda x: psum(x, 5), ValueError, "out of bounds"),
        (lambda x: pcast(x, "i", to="invarying"), ValueError, "unexpected `to`"),
    ],
)
def test_errors(fun, error, text):
    with pytest.raises(error, match=text):
        stage(fun, np.ones((4, 3, 5), np.float32), ONE)


def test_pmax_has_no_derivative():
    with pytest.raises(NotImplementedError, match="pmax"):
        in_scope(lambda: mj.jvp(lambda v: pmax(v, "i"), (1.0,), (1.0,)))


def test_sizes_are_not_cached_across_scopes():
    """The type of a tiled exchange depends on the size of the axis in scope."""
    for n in (2, 4):
        with core.axis_env((("i", n),)):
            closed = stage_closed(
                lambda v: [all_to_all(v, "i", 0, 1, tiled=True)],
                [shaped((8, 3), np.dtype("float32"))],
            )
        assert closed.out_avals[0].shape == (8 // n, 3 * n)
