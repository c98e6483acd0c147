"""Failures on some of several devices: clear errors, and other programs continue."""

import threading

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.errors import JaxRuntimeError
from minijax.sharding import Mesh, NamedSharding
from minijax.sharding import PartitionSpec as P

VALUE = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.fixture(scope="module")
def over():
    mesh = Mesh(np.array(mj.devices()).reshape(4, 2), ("x", "y"))
    return lambda *spec: NamedSharding(mesh, P(*spec))


@pytest.fixture
def x(over):
    return mj.device_put(VALUE, over("x", "y"))


@pytest.mark.parametrize("kind", ["delete", "assembled", "key"])
def test_deleting_a_shard_deletes_the_array(kind, x, over):
    if kind == "assembled":
        parts = [mj.device_put(VALUE[i : i + 1], d) for i, d in enumerate(mj.devices())]
        mesh = Mesh(np.array(mj.devices()), ("i",))
        array = mj.make_array_from_single_device_arrays(
            (8, 4), NamedSharding(mesh, P("i")), parts
        )
    elif kind == "key":
        array = mj.device_put(mj.random.split(mj.random.key(0), 8), over("x"))
        parts = [s.data for s in array.addressable_shards]
    else:
        array = mj.device_put(VALUE, over("y"))
        parts = [s.data for s in array.addressable_shards]
    other = parts[2]
    parts[3].delete()
    assert array.is_deleted() and other.is_deleted()
    for use in (lambda: mj.jit(lambda v: v[0])(array), lambda: array[1], array.devices):
        try:
            use()
        except RuntimeError as e:
            assert "Array has been deleted" in str(e)
    with pytest.raises(RuntimeError, match="deleted"):
        mj.device_put(array, over())
    np.testing.assert_array_equal(x + 1, VALUE + 1)


def fails(v):
    raise KeyError("the host says no")


SHAPE = mj.ShapeDtypeStruct((8, 4), np.float32)
PROGRAMS = {  # each with a collective that waits for the device whose callback fails
    "jit": lambda v: mj.pure_callback(fails, SHAPE, v).sum(),
    "loop": lambda v: lax.fori_loop(
        0, 3, lambda i, c: mj.pure_callback(fails, SHAPE, c) + c.sum(), v
    ),
    "ordered": lambda v: mj.experimental.io_callback(fails, SHAPE, v, ordered=True).sum(0),
    "debug": lambda v: (mj.debug.callback(fails, v), v.sum())[1],
    "wrong shape": lambda v: mj.pure_callback(lambda v: v[0], SHAPE, v).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_callback_that_fails_stops_no_other_device(name, x):
    f = mj.jit(PROGRAMS[name])
    says = "Incorrect output shape" if name == "wrong shape" else "the host says no"
    for _ in range(2):
        with pytest.raises(JaxRuntimeError, match=says):
            f(x)
    with pytest.raises(JaxRuntimeError, match=says):
        f.lower(x).compile()(x)
    np.testing.assert_array_equal(x.sum(0), VALUE.sum(0))
    mj.effects_barrier()


def test_a_callback_that_fails_on_one_replica():
    def some(v):
        if v[0] > 12:
            raise KeyError("the host says no")
        return v

    row = mj.ShapeDtypeStruct((4,), np.float32)
    f = mj.pmap(lambda v: lax.psum(mj.pure_callback(some, row, v), "i"), "i")
    with pytest.raises(JaxRuntimeError, match="the host says no"):
        f(VALUE)
    small = np.minimum(VALUE, 12)
    np.testing.assert_array_equal(f(small)[0], small.sum(0))


def test_runs_concurrent_with_a_failing_one(x):
    """A run fails because of its own or a concurrent run's callbacks; no result is wrong."""

    def some(v):
        if np.asarray(v)[0, 0] < 0:
            raise KeyError("the host says no")
        return v

    f = mj.jit(lambda v: mj.pure_callback(some, SHAPE, v) + v.sum())
    expected, bad = np.asarray(f(x)), mj.device_put(-1 - VALUE, x.sharding)
    wrong = []

    def run(v, fine):
        for _ in range(10):
            try:
                out = np.asarray(f(v))
            except JaxRuntimeError:
                continue
            if not (fine and (out == expected).all()):
                wrong.append(out)

    threads = [threading.Thread(target=run, args=(v, v is x)) for v in (x, bad, x, bad)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("where", ["jit", "eager"])
def test_too_little_memory(where, x, over):
    def large(v):
        return jnp.broadcast_to(v.sum(), (1 << 46,))

    with pytest.raises(JaxRuntimeError, match="Out of memory"):
        if where == "jit":
            mj.block_until_ready(mj.jit(large, out_shardings=over("x"))(x))
        else:
            mj.block_until_ready(large(x))
    np.testing.assert_array_equal(x + 1, VALUE + 1)
