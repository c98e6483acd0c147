"""Starts of programs over several CPU devices are counted, in Python and in C++."""

import subprocess
import sys
import threading
import time

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


def together(n, run):
    """Run a function in `n` threads."""
    threads = [threading.Thread(target=run) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


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

    together(40, run)
    assert all((r == 28 + np.arange(8)).all() for r in results) and len(results) == 40


BEHIND_A_SLOW_PROGRAM = """
import threading

import numpy as np

import minijax as mj
from minijax.sharding import NamedSharding, PartitionSpec as P

mesh = mj.make_mesh((8,), ("x",))


def put(*values):
    return mj.device_put(np.array(values, np.int32), NamedSharding(mesh, P("x")))


@mj.jit
@mj.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
def slow(n):
    return mj.lax.fori_loop(0, n[0] * 10**8, lambda i, c: c * 3 + 1, n)


total = mj.jit(lambda x: x.sum() + x)
ones = put(*[1] * 8)
total(ones), total(ones), slow(ones * 0)
slow(put(*[0] * 7, 5))  # on one device: the threads of the others are free for starts
results = []
threads = [threading.Thread(target=lambda: results.append(total(ones))) for _ in range(40)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sum(int(r[0]) for r in results))
"""


def test_starts_of_many_threads_do_not_take_the_threads_of_programs():
    """Without the limit, XLA waits for ever after the slow program."""
    run = [sys.executable, "-c", BEHIND_A_SLOW_PROGRAM]
    done = subprocess.run(run, check=True, capture_output=True, text=True, timeout=120)
    assert int(done.stdout) == 40 * 9


@pytest.mark.parametrize("name", ["jit", "a tree of results", "compiled", "pmap"])
def test_few_threads_start_programs_in_cpp(name, monkeypatch):
    """Others start them in Python, where they wait for the lock."""
    start, pace = dict(starters())[name], pacing.pace_of(mj.devices())
    start()
    n = pacing._MOST_THREADS - pacing.starts_in_cpp()
    all_started, go, finished = threading.Barrier(13), threading.Event(), []

    def run():
        for _ in range(3):
            start()
        all_started.wait()
        go.wait()
        start()
        finished.append(pacing.starts_in_cpp())

    runner = threading.Thread(target=together, args=(12, run))
    runner.start()
    all_started.wait()
    with pacing._lock, monkeypatch.context() as patch:
        patch.setattr(pace, "next_wait", pace.next_wait + 100)  # none of these starts waits
        go.set()
        end = time.monotonic() + 5
        while len(finished) < n and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.1)
        assert finished == [True] * n
    runner.join()
    assert len(finished) == 12


def test_threads_that_ended_leave_their_place_to_others():
    start, rights = dict(starters())["jit"], []

    def run():
        start()
        rights.append(pacing.starts_in_cpp())

    for _ in range(2 * pacing._MOST_THREADS):
        together(1, run)
    assert all(rights)


def test_one_device_has_no_pace():
    assert pacing.pace_of(mj.devices()[:1]) is None
