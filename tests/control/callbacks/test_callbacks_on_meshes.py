"""Callbacks of programs over several devices: who calls, how often, with which parts.

Numbers of calls and what they see were recorded from JAX 0.10.2, but for `ordered=True`,
which JAX refuses there.
"""

import numpy as np
import pytest

import minijax as mj
from minijax import lax
from minijax.sharding import AxisType, NamedSharding, SingleDeviceSharding
from minijax.sharding import PartitionSpec as P

MESH = mj.make_mesh((4,), ("x",), axis_types=(AxisType.Auto,))
GRID = mj.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
X = np.arange(8, dtype=np.float32)
SHARDED = mj.device_put(X, NamedSharding(MESH, P("x")))
REPLICATED = mj.device_put(X, NamedSharding(MESH, P()))
TYPE = mj.ShapeDtypeStruct((8,), np.float32)
ROWS = [[0, 1], [2, 3], [4, 5], [6, 7]]


def pure(x, **kw):
    return mj.pure_callback(lambda v: np.asarray(v) * 2, x, x, **kw)


def effectful(x, **kw):
    return mj.experimental.io_callback(lambda v: np.asarray(v) * 2, x, x, **kw)


@pytest.mark.parametrize("call", [pure, effectful])
@pytest.mark.parametrize("x", [SHARDED, REPLICATED], ids=["cut", "whole"])
def test_the_device_that_calls(call, x):
    for device in MESH.devices.flat[::2]:
        sharding = SingleDeviceSharding(device)
        out = mj.jit(lambda x, sharding=sharding: call(x, sharding=sharding))(x)
        assert out.tolist() == (X * 2).tolist()


def test_a_device_that_does_not_run_the_program():
    far = SingleDeviceSharding(mj.devices()[5])
    with pytest.raises(ValueError, match="its sharding names cpu:5"):
        mj.jit(lambda x: pure(x, sharding=far))(SHARDED)
    near, other = (SingleDeviceSharding(d) for d in mj.devices()[:2])
    with pytest.raises(ValueError, match="incompatible devices"):
        mj.jit(lambda x: pure(x, sharding=other), in_shardings=near)(X)


def test_a_call_without_results_is_made_by_the_device_that_is_named():
    seen, sharding = [], SingleDeviceSharding(MESH.devices.flat[2])

    def f(x):
        mj.experimental.io_callback(
            lambda v: seen.append(v.tolist()), None, x, sharding=sharding
        )
        return x

    lowered = mj.jit(f).lower(SHARDED)
    assert "@maximal_mesh_2 = <[], device_ids=[2]>" in lowered.as_text()
    lowered.compile()(SHARDED)
    mj.effects_barrier()
    assert seen == [X.tolist()]


@pytest.mark.parametrize("call", [pure, effectful])
def test_shardings_that_are_refused(call):
    with pytest.raises(NotImplementedError, match="only supports SingleDeviceSharding"):
        call(X, sharding=NamedSharding(MESH, P()))
    sharding = SingleDeviceSharding(mj.devices()[0])
    f = mj.shard_map(
        lambda x: call(x, sharding=sharding), mesh=MESH, in_specs=P("x"), out_specs=P("x")
    )
    with pytest.raises(NotImplementedError, match="specifying sharding inside spmd"):
        f(X)


def test_effects_with_results_where_some_axes_are_automatic():
    f = mj.shard_map(effectful, mesh=GRID, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    with pytest.raises(NotImplementedError, match="when all mesh axes are partitioned man"):
        mj.jit(f)(X)


def seen_by(wrap, x, **kw):
    """What a debug callback in a function sees, each call on its own."""
    seen = []

    def f(x):
        mj.debug.callback(lambda v: seen.append(np.asarray(v).tolist()), x, **kw)
        return x + 1

    mj.block_until_ready(wrap(f)(x))
    mj.effects_barrier()
    return sorted(seen)


def over(mesh, spec, **kw):
    return lambda f: mj.jit(mj.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec, **kw))


SQUARE = mj.device_put(X.reshape(2, 4), NamedSharding(GRID, P("x", "y")))
SEEN = {
    "jit": (mj.jit, SHARDED, {}, [X.tolist()]),
    "parts": (mj.jit, SHARDED, {"partitioned": True}, ROWS),
    "parts of a square": (
        mj.jit,
        SQUARE,
        {"partitioned": True},
        [[[0, 1]], [[2, 3]], [[4, 5]], [[6, 7]]],
    ),
    "parts of one device": (mj.jit, X, {"partitioned": True}, [X.tolist()]),
    "evaluated": (lambda f: f, SHARDED, {"partitioned": True}, [X.tolist()]),
    "shard_map": (over(MESH, P("x")), X, {}, ROWS),
    "shard_map along one axis": (
        over(GRID, P("x"), axis_names={"x"}),
        X,
        {},
        [[0, 1, 2, 3], [4, 5, 6, 7]],
    ),
    "shard_map along the other": (
        over(GRID, P("y"), axis_names={"y"}),
        X,
        {},
        [[0, 1, 2, 3], [4, 5, 6, 7]],
    ),
    "pmap": (mj.pmap, X.reshape(4, 2), {}, ROWS),
    "in order": (mj.jit, SHARDED, {"ordered": True}, [X.tolist()]),
    "a loop": (
        lambda f: mj.jit(lambda x: lax.fori_loop(0, 2, lambda i, x: f(x), x)),
        SHARDED,
        {"partitioned": True},
        [[i, i + 1] for i in range(8)],
    ),
}


@pytest.mark.parametrize("name", SEEN)
def test_what_is_seen(name):
    wrap, x, options, expected = SEEN[name]
    assert seen_by(wrap, x, **options) == expected


@pytest.mark.parametrize(
    "wrap, options",
    [(mj.jit, {"partitioned": True}), (over(MESH, P("x")), {})],
    ids=["parts", "shard_map"],
)
def test_devices_have_no_order_among_them(wrap, options):
    words = "ordered effects are not supported for more than 1 device"
    with pytest.raises(ValueError, match=words):
        seen_by(wrap, SHARDED, ordered=True, **options)


def test_prints_of_parts(capsys):
    def f(x):
        mj.debug.print("{} of {s}", x, s=x.sum(), partitioned=True)
        return x

    mj.jit(f)(SHARDED)
    mj.effects_barrier()
    lines = sorted(capsys.readouterr().out.splitlines())
    assert lines == [f"[{a}. {b}.] of 28.0" for a, b in ROWS]
