"""State shared by threads: caches, registries, barriers, modules loaded on first use."""

import itertools
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import minijax as mj
from minijax.base import above, util
from minijax.control.calls import cache_misses
from minijax.control.calls import jitted as jitting
from minijax.control.effects import checkify_errors, effects
from minijax.passes import ad_util
from minijax.runtime.running import compile as compiler
from minijax.runtime.running import dispatch
from minijax.runtime.sharding import shardings

X = np.array([1.0, 2.0, 3.0], np.float32)
AVAL = mj.core.ShapedArray((3,), np.dtype("float32"))


@pytest.fixture
def eager_switches():
    """Let threads switch as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*jobs):
    """Run functions concurrently, each in a thread; raise the first error."""
    gate, failures = threading.Barrier(len(jobs)), []

    def run(job):
        gate.wait()
        try:
            job()
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


# ------------------------------------------------------------------------------- caches


class Contested(dict):
    """A dictionary from which another thread removes each entry just before it is removed."""

    def pop(self, key, *default):
        super().pop(key, None)
        return super().pop(key, *default)


def test_entries_are_evicted_concurrently():
    cache = Contested({i: i for i in range(8)})
    assert util.remember(cache, "new", 1, 8) == 1
    assert list(cache) == [2, 3, 4, 5, 6, 7, "new"]
    assert util.remember(cache, "new", 2, 8) == 1  # the value of the first thread


def test_many_threads_remember(eager_switches):
    cache = {}

    def work():
        for i in range(3000):
            util.remember(cache, object(), i, 16)

    together(*[work] * 8, lambda: [cache.clear() for _ in range(200)])
    assert len(cache) <= 16 + 8


def test_executables_are_evicted_concurrently(monkeypatch):
    recent = Contested({i: None for i in range(compiler._RECENT)})
    monkeypatch.setattr(compiler, "_recent", recent)
    np.testing.assert_allclose(mj.jit(lambda x: x - 71.5)(X), X - 71.5)
    assert 0 in recent or len(recent) < compiler._RECENT


def test_live_objects_are_listed_concurrently():
    class Thing:
        pass

    things = [Thing() for _ in range(5)]
    living = util.WeakIdentitySet()
    for x in things + things:
        living.add(x)
    assert len(living) == 5
    for _ in living:  # as another thread may
        things.append(Thing())
        living.add(things[-1])
    assert set(living) == set(things)
    del things[3:], x, _
    assert set(living) == set(things)
    living.clear()
    assert list(living) == []


def test_live_objects_are_listed_while_they_are_added(eager_switches):
    class Thing:
        pass

    living, things, done = util.WeakIdentitySet(), [], threading.Event()

    def grow():
        while not done.is_set():
            things.append(Thing())
            living.add(things[-1])
            if len(things) > 3000:
                things.clear()

    def count():
        try:
            assert all(len(list(living)) <= 3001 for _ in range(300))
        finally:
            done.set()

    together(grow, count)


def test_caches_are_cleared_during_tracing(eager_switches):
    done = threading.Event()

    def trace():
        for i in itertools.count():
            f = mj.jit(lambda x, i=i: x + i)
            assert f.trace(X).jaxpr.out_avals[0].shape == (3,)
            if done.is_set():
                return

    def clear():
        try:
            for _ in range(60):
                mj.clear_caches()
        finally:
            done.set()

    together(*[trace] * 4, clear)


def test_misses_are_explained_during_tracing(monkeypatch):
    jitted = jitting.Jitted(lambda x: x * 2, jitting.NO_STATICS)
    jitted.cpp(1.0)
    known = cache_misses.compared

    def from_known(jitted, key, now):
        jitted.traces["another", len(jitted.traces)] = None  # by another thread
        return known(jitted, key, now)

    monkeypatch.setattr(cache_misses, "compared", from_known)
    call = jitted.split((X,), {})
    cache = cache_misses.differences(jitted, call, (AVAL,))
    assert cache == ["x: known ~float32[], now float32[3]"]


def test_one_trace_for_all_threads():
    jitted = jitting.Jitted(lambda x: x * 3, jitting.NO_STATICS)
    call = jitted.split((X,), {})
    cache = []
    together(*[lambda: cache.append(jitted.trace_avals(call, (AVAL,)))] * 8)
    assert len(jitted.traces) == 1
    assert len({id(x) for x in cache}) == 1


def test_traces_and_programs_are_bounded(monkeypatch):
    monkeypatch.setattr(jitting, "_MOST_TRACES", 8)
    monkeypatch.setattr(dispatch, "_MOST_PROGRAMS", 8)
    monkeypatch.setattr(dispatch, "_programs", {})
    jitted = jitting.Jitted(lambda x, n: x + n, jitting.Statics((1,), ()))
    for n in range(20):
        jitted.trace(jitted.split((X, n), {}))
    assert 0 < len(jitted.traces) <= 8
    for n in range(9):
        mj.lax.full_like(X, n)
        mj.lax.broadcast(X, (n,))
    assert 0 < len(dispatch._programs) <= 8


# -------------------------------------------------------------------- numbers and places


def test_each_check_has_its_own_number(eager_switches):
    sites = [
        [
            checkify_errors.CheckSite(checkify_errors.NaNError, f"{k} {i}", None, (), None)
            for i in range(2000)
        ]
        for k in range(8)
    ]
    before = len(checkify_errors._sites)
    together(
        *[
            lambda own_sites=own_sites: [checkify_errors.code_of(s) for s in own_sites]
            for own_sites in sites
        ]
    )
    for site in itertools.chain(*sites):
        assert checkify_errors._sites[checkify_errors.code_of(site)] is site
    for site in itertools.chain(*sites):
        del checkify_errors._codes[site]
    del checkify_errors._sites[before:]


def test_equal_shardings_are_one_object(monkeypatch):
    class Unseen(dict):
        def get(self, key, default=None):  # another thread is just adding it
            return None

    monkeypatch.setattr(shardings, "_cpp_shardings", Unseen())
    mesh = mj.sharding.Mesh(np.array(mj.local_devices()[:2]), ("x",))
    layout = mj.NamedSharding(mesh, mj.P("x"))
    assert layout.cpp_sharding(2) is layout.cpp_sharding(2)


# ------------------------------------------------------------------------------ barriers


class Token:
    """Stand-in for a running program."""

    def __init__(self, fails=False, ends=None):
        self.waits, self.fails, self.ends = 0, fails, ends

    def block_until_ready(self):
        self.waits += 1
        if self.ends is not None:
            assert self.ends.wait(300)
        if self.fails:
            raise RuntimeError("it failed")


@pytest.fixture
def no_effects():
    mj.effects_barrier()
    yield
    effects._pending.clear()
    effects._failures.clear()


def test_two_barriers_wait_for_the_same_programs(no_effects):
    token = Token(ends=threading.Event())
    effects.note_effects(token)
    first, second = (threading.Thread(target=mj.effects_barrier) for _ in range(2))
    for n, thread in enumerate((first, second), 1):
        thread.start()
        while thread.is_alive() and token.waits < n:
            time.sleep(0.001)
    assert token.waits == 2 and second.is_alive()
    token.ends.set()
    first.join()
    second.join()


def test_no_program_is_forgotten_before_it_is_done(no_effects):
    tokens = [Token() for _ in range(700)]
    for t in tokens:
        effects.note_effects(t)
        assert len(effects._pending) <= effects._MOST_PENDING
    mj.effects_barrier()
    assert [t.waits for t in tokens] == [1] * 700
    assert not effects._pending


def test_a_callback_waits_for_no_program(no_effects):
    tokens, waits = [Token() for _ in range(300)], []

    def host(x):
        for t in tokens:
            effects.note_effects(t)
        waits.extend(t.waits for t in tokens)

    mj.jit(lambda x: (mj.debug.callback(host, x), x + 1)[1])(X)
    mj.effects_barrier()
    assert waits == [0] * 300
    assert [t.waits for t in tokens] == [1] * 300


def test_a_failure_is_raised_once_and_hides_no_other_program(no_effects):
    tokens = [Token(fails=i in (1, 3)) for i in range(5)]
    for t in tokens:
        effects.note_effects(t)
    with pytest.raises(RuntimeError, match="it failed"):
        mj.effects_barrier()
    assert [t.waits for t in tokens] == [1] * 5
    mj.effects_barrier()
    effects.note_effects(Token(fails=True))
    for _ in range(300):
        effects.note_effects(Token())
    with pytest.raises(RuntimeError, match="it failed"):
        mj.effects_barrier()
    mj.effects_barrier()


# ------------------------------------------------------------- modules, forks, processes


def python(program, **env):
    """Return what a program prints in a separate process."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_threads_meet_at_the_first_use():
    out, err = python("""
import threading, sys, numpy as np, minijax as mj
sys.setswitchinterval(1e-6)
x = np.ones((3, 3), np.float32)
eye = lambda: mj.numpy.eye(3)
uses = [
    lambda: mj.numpy.linalg.inv(x + eye()),
    lambda: mj.random.normal(mj.random.key(0)),
    lambda: mj.nn.relu(x),
    lambda: mj.lax.add(x, x),
    lambda: mj.numpy.fft.fft(x),
    lambda: mj.grad(lambda x: (x * x).sum())(x),
    lambda: mj.device_put(x)[0] + 1,
    lambda: mj.vmap(lambda r: r @ r)(x),
    lambda: mj.jit(lambda x: x.at[0].set(2))(x),
    lambda: mj.checkpoint(mj.numpy.sin)(x),
    lambda: mj.lax.linalg.cholesky(x + eye()),
    lambda: mj.make_jaxpr(lambda x: x.T)(x),
    lambda: mj.tree.map(lambda x: x, [x]),
    lambda: mj.experimental.io_callback(lambda: None, None),
    lambda: mj.eval_shape(lambda x: x, x),
    lambda: mj.debug.print("{}", x.size, ordered=True),
]
gate = threading.Barrier(len(uses)); failures = []
def run(use):
    gate.wait()
    try: mj.block_until_ready(use())
    except BaseException as e: failures.append(repr(e))
threads = [threading.Thread(target=run, args=(u,)) for u in uses]
[t.start() for t in threads]; [t.join() for t in threads]
print(failures)
""")
    assert out == "9\n[]\n", err


def test_deferred_operations_work_in_all_threads_and_after_an_interrupt(monkeypatch):
    lib, loading, gate = ad_util.CoreOps(), threading.Event(), threading.Lock()

    def load(name):
        assert name == "operations"
        if not loading.is_set():
            loading.set()
            raise KeyboardInterrupt
        with gate:  # as an import holds its module's lock
            time.sleep(0.02)
            lib.add = max

    monkeypatch.setattr(above, "load", load)
    with pytest.raises(KeyboardInterrupt):
        lib.add(1, 2)
    cache = []
    together(*[lambda: cache.append(lib.add(1, 2))] * 4)
    assert cache == [2] * 4
    with pytest.raises(AttributeError, match="nothing"):
        lib.nothing(1)


FORK = """
import os, subprocess, sys, warnings, minijax as mj
def forks():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        if (child := os.fork()) == 0:
            os._exit(0)
        os.waitpid(child, 0)
    # Python 3.12 and later also warn of forks, with another class.
    ours = [w for w in seen if w.category is RuntimeWarning]
    return [(w.category.__name__, str(w.message)) for w in ours]
print(forks())
mj.numpy.ones(3); mj.device_put(1.0, mj.devices("cpu")[0])
print(forks())
subprocess.run([sys.executable, "-c", ""], check=True)
"""


def test_a_fork_after_use_warns():
    before, after = python(FORK)[0].splitlines()
    assert before == "[]"
    assert eval(after) == [
        (  # recorded from JAX 0.10.2
            "RuntimeWarning",
            "os.fork() was called. os.fork() is incompatible with multithreaded code, and JAX"
            " is multithreaded, so this will likely lead to a deadlock.",
        )
    ]


SPAWN = """
import multiprocessing, numpy as np, minijax as mj
def work(x):
    return np.asarray(mj.jit(lambda x: mj.numpy.sin(x) + x)(x))
if __name__ == "__main__":
    x = np.arange(3, dtype=np.float32)
    here = work(x)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert all((here == y).all() for y in pool.map(work, [mj.numpy.asarray(x)] * 4))
    print("ok")
"""


def test_processes_are_spawned_after_use(tmp_path):
    path = tmp_path / "spawning.py"
    path.write_text(SPAWN)
    out, _ = python(f"import runpy; runpy.run_path({str(path)!r}, run_name='__main__')")
    assert out == "ok\n"
