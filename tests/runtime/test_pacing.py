"""Starts of programs over several CPU devices are counted, in Python and in C++."""

import threading

import numpy as np
import pytest

import minijax as mj
from minijax.runtime.running import pacing
from minijax.sharding import NamedSharding
from minijax.sharding import PartitionSpec as P

MESH = mj.make_mesh((8,), ("x",))
SHARDED = NamedSharding(MESH, P("x"))
REPLICATED = NamedSharding(MESH, P())


def spread():
    return mj.device_put(np.arange(8, dtype=np.int32), SHARDED)


def add(x):
    return x + x


def starters():
    """Yield functions that start a program over the devices, in C++ or in Python."""
    x = spread()
    jitted, mapped = mj.jit(add), mj.pmap(add)
    compiled = jitted.lower(x).compile()
    rows = mapped(x)
    tree = mj.jit(lambda x: {"a": (x + x, x)})
    yield "jit", lambda: jitted(x)
    yield "a tree of results", lambda: tree(x)
    yield "compiled", lambda: compiled(x)
    yield "eager", lambda: x + x
    yield "pmap", lambda: mapped(rows)
    yield "pmap of the host's", lambda: mapped(np.arange(8, dtype=np.int32))
    yield "reshard", lambda: mj.device_put(x, REPLICATED)


@pytest.mark.parametrize("name", [name for name, _ in starters()])
def test_every_start_is_counted(name):
    start = dict(starters())[name]
    for _ in range(3):
        start()  # from now on C++ runs it
    pace = pacing.pace_of(mj.devices())
    before = pace.count()
    for _ in range(20):
        start()
    assert pace.count() > before + 20


def test_the_host_does_not_run_far_ahead():
    """Few programs are in progress, but more than one: the host does run ahead."""
    slow = mj.jit(
        lambda x, n: mj.lax.fori_loop(0, n, lambda i, c: c * 3 + 1, x), out_shardings=SHARDED
    )
    x, most = spread(), 0
    slow(x, 1).block_until_ready()
    for n in (10**7, 10**8, 10**9):  # at first a hundred times as long as a start takes
        started = []
        for _ in range(40):
            started.append(slow(x, n))
            most = max(most, sum(not y.is_ready() for y in started))
            if n > 10**7 and most > 2:  # before, a busy machine's host may be too slow
                break
        assert most < 24
        if most > 2:
            break
    assert most > 2


def test_a_program_that_fails_stops_no_other():
    def fails(x):
        raise ValueError("no such luck")

    bad = mj.jit(lambda x: mj.pure_callback(fails, mj.ShapeDtypeStruct(x.shape, x.dtype), x))
    x = spread()
    for _ in range(12):
        with pytest.raises(Exception, match="no such luck"):
            bad(x).block_until_ready()
    np.testing.assert_array_equal(mj.jit(add)(x), 2 * np.arange(8))


def test_many_threads_wait_with_the_first():
    """More threads than the limit allows for do not deadlock."""
    jitted, x = mj.jit(lambda x: x.sum() + x), spread()
    jitted(x)
    results = []

    def run():
        y = x
        for _ in range(30):
            y = jitted(x)
        results.append(np.asarray(y))

    threads = [threading.Thread(target=run) for _ in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all((r == 28 + np.arange(8)).all() for r in results) and len(results) == 20


def test_one_device_has_no_pace():
    assert pacing.pace_of(mj.devices()[:1]) is None
