"""An interrupt may come anywhere; whatever was begun is as if it had not been.

Python looks for signals where a function begins and after each call.  `interrupted` raises
KeyboardInterrupt at the n-th of those places in the files that say what is current.
"""

import _thread
import dis
import functools
import gc
import operator
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.base import config
from minijax.base.util import WeakIdentityCache
from minijax.experimental.jet import jet
from minijax.ir.core import EVAL, STATE

X = np.array([0.5, 0.25], np.float32)
FILES = (
    "ir/core.py",
    "passes/",
    "control/rules/custom",
    "control/calls/jit",
    "control/calls/jit_primitive.py",
    "api/vjp.py",
    "api/autodiff.py",
    "api/vmap.py",
    "api/jet.py",
    "contextlib.py",
)


@functools.cache
def places(code):
    """The offsets of a function at which Python may have looked for signals."""
    lines, call = set(), None
    for op in dis.get_instructions(code):
        if op.opname == "RESUME" or (
            call and handlers(code, call) == handlers(code, op.offset)
        ):  # an exception raised here is caught where one of the call is
            lines.add(op.offset)
        call = op.offset if op.opname.startswith("CALL") else None
    return lines


def handlers(code, offset):
    """Who catches exceptions at a place of a function."""
    table = dis.Bytecode(code).exception_entries
    return [e.target for e in table if e.start <= offset < e.end]


@functools.cache
def watched(file):
    return any(part in file for part in FILES)


def interrupted(fun, at):
    """The `at`-th place to which `fun()` comes, and is interrupted; None if it ends."""
    left, where = at, None

    def come(code, offset):
        nonlocal left, where
        if offset in places(code):
            left -= 1
            if left == 0:
                watch(None)
                where = f"{code.co_filename}:{code.co_name} {offset}"
                raise KeyboardInterrupt

    watch(come)
    try:
        fun()
    except KeyboardInterrupt:
        pass
    finally:
        watch(None)
    return where


def watch(come):
    """Have `come(code, offset)` called before each instruction of FILES; None: no more."""
    if sys.version_info >= (3, 12):
        watch_by_monitoring(come)
    else:
        sys.settrace(come and functools.partial(enter, come))


def enter(come, frame, event, arg):
    if not watched(frame.f_code.co_filename):
        return None
    frame.f_trace_opcodes, frame.f_trace_lines = True, False

    def step(frame, event, arg):
        if event == "opcode":
            come(frame.f_code, frame.f_lasti)
        return step

    return step


def watch_by_monitoring(come):
    monitoring, tool = sys.monitoring, 4
    starts, instructions = monitoring.events.PY_START, monitoring.events.INSTRUCTION
    if come is None:
        if monitoring.get_tool(tool) is not None:
            monitoring.register_callback(tool, instructions, None)
            monitoring.set_events(tool, 0)
            for code in entered:
                monitoring.set_local_events(tool, code, 0)
            entered.clear()
            monitoring.free_tool_id(tool)
        return

    def start(code, offset):
        if watched(code.co_filename) and code not in entered:
            entered.append(code)
            monitoring.set_local_events(tool, code, instructions)

    monitoring.use_tool_id(tool, "interrupts")
    monitoring.register_callback(tool, starts, start)
    monitoring.register_callback(tool, instructions, come)
    monitoring.set_events(tool, starts)


entered = []  # functions that are watched now


def square(x):
    return x * x


def with_jvp():
    f = mj.custom_jvp(square)
    f.defjvp(lambda p, t: (f(p[0]), 2 * p[0] * t[0]))
    return f


def with_vjp():
    f = mj.custom_vjp(square)
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (2 * x * ct,))
    return f


def total(f):
    return lambda x: f(x).sum()


WORK = {
    "stage": lambda: mj.make_jaxpr(lambda x: mj.jit(square)(x) + 1)(X),
    "jvp": lambda: mj.jvp(lambda x: square(x), (X,), (X,)),
    "grad": lambda: mj.grad(lambda x: square(x).sum())(X),
    "vmap": lambda: mj.vmap(lambda x: lax.psum(x * x, "i"), axis_name="i")(X),
    "jit of grad of vmap": lambda: mj.make_jaxpr(mj.grad(total(mj.vmap(square))))(X),
    "custom jvp": lambda: mj.make_jaxpr(mj.grad(total(with_jvp())))(X),
    "custom vjp": lambda: mj.make_jaxpr(mj.grad(total(with_vjp())))(X),
    "scan": lambda: mj.make_jaxpr(
        mj.grad(lambda x: lax.scan(lambda c, _: (c * c, None), x, None, 2)[0].sum())
    )(X),
    "jet": lambda: jet(lambda x: x * x, (X,), ((X,),)),
    "scopes": lambda: mj.make_jaxpr(mj.named_call(square, name="square"))(X),
}


@pytest.fixture(autouse=True)
def start_clean():
    yield
    STATE.trace, STATE.axes, STATE.names, STATE.source = EVAL, (), "", None
    config.TRACING.set_local(False)


def state():
    return STATE.trace, STATE.axes, STATE.names, STATE.source, config.TRACING.value


@pytest.mark.parametrize("name", WORK)
# Python itself swallows what interrupts a generator that is being closed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_everywhere(name):
    clean = (EVAL, (), "", None, False)
    WORK[name]()
    assert state() == clean
    # Everywhere takes minutes: MINIJAX_INTERRUPTS=1; else at every so-maniest place.
    stride = int(os.environ.get("MINIJAX_INTERRUPTS", 7))
    at = 1
    while where := interrupted(WORK[name], at):
        assert state() == clean, where
        at += stride
    assert at > stride
    np.testing.assert_allclose(mj.jit(with_jvp())(X), X * X)
    np.testing.assert_allclose(mj.grad(total(with_vjp()))(X), 2 * X)


# Python only reports an interrupt that comes while it frees something.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_signals_while_it_works():
    def bother():
        while not done:  # an Event could be left locked
            time.sleep(0.013)
            os.kill(os.getpid(), signal.SIGINT)

    done, hits, runs = False, 0, 0
    thread = threading.Thread(target=bother)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        while not done:
            try:
                while hits < 60:
                    f = lambda x, n=runs: jnp.sin(x) * n
                    mj.make_jaxpr(mj.vmap(mj.grad(f)))(X)
                    runs += 1
                done = True
            except KeyboardInterrupt:
                hits += 1
    finally:
        while thread.is_alive():
            try:
                done = True
                thread.join()
            except KeyboardInterrupt:
                pass
        signal.signal(signal.SIGINT, before)
    assert state() == (EVAL, (), "", None, False)
    np.testing.assert_allclose(mj.jit(mj.vmap(mj.grad(jnp.sin)))(X), np.cos(X), rtol=1e-6)


IMPORTS = """
import sys, threading
by_cpp = []
def watch(event, args):
    if event == "import" and args[0].startswith("jaxlib.mlir.dialects."):
        if threading.current_thread().name != "load_uninterrupted":
            by_cpp.append(args[0])
sys.addaudithook(watch)
import minijax as mj, minijax.numpy as jnp
mj.debug.print("{}", 1, ordered=True)
mj.jit(lambda x: jnp.linalg.qr(jnp.sort(x)))(jnp.ones((2, 2)))
mj.grad(lambda x: mj.lax.scan(lambda c, x: (c * x, c), 1., x)[0])(jnp.ones(3))
mj.random.normal(mj.random.key(0))
mj.effects_barrier()
print(by_cpp, "jaxlib.mlir.dialects.stablehlo" in sys.modules)
"""


def test_nothing_is_imported_by_cpp():
    """There an interrupt ends the process: exceptions do not pass through it.

    Nor by the main thread, where one would leave a dialect registered and not loaded.
    """
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[] True"


HALF_IMPORTED = """
import os, signal
from jaxlib.mlir._mlir_libs import _mlir
from minijax.runtime.lowering.mlir_context import load_dialect
register, hits = _mlir.register_dialect, []
def interrupted(cls):
    out = register(cls)
    os.kill(os.getpid(), signal.SIGINT)
    return out
_mlir.register_dialect = interrupted
for name in ("builtin", "func", "sdy", "stablehlo"):
    try:
        load_dialect(name)
    except KeyboardInterrupt:
        hits.append(name)
_mlir.register_dialect = register
import minijax as mj
f = mj.jit(lambda x: x + mj.random.normal(mj.random.key(0)))
print({"func", "stablehlo"} <= {*hits}, f(1.0).shape)
"""


def test_a_dialect_outlives_an_interrupt_while_it_loads():
    done = subprocess.run(
        [sys.executable, "-c", HALF_IMPORTED], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "True ()"


class Callable:
    """Owns nothing that is remembered of it: a table keeps that."""

    def __call__(self, x):
        return x * 2


@pytest.mark.parametrize("ends", ["collection", "function"])
def test_no_interrupt_is_lost_where_things_die(ends):
    """What runs while objects die is C: an interrupt waits for the code around."""
    jitted = mj.jit(lambda x: x - 1)
    jitted(1.0)  # all is loaded
    gc.collect()
    callbacks = [c for c in gc.callbacks if isinstance(c, functools.partial)]
    assert callbacks  # what minijax does then
    others = [c for c in gc.callbacks if c not in callbacks]
    for c in others:  # of other packages
        gc.callbacks.remove(c)
    memos = WeakIdentityCache("of_tests", lambda value: isinstance(value, str))
    dying = [lambda x: x * 2, functools.partial(square), mj.jit(square), Callable()]
    for f in dying:
        memos.of(f)["key"] = "what is remembered with it"
        assert memos.of(f).get("key") == "what is remembered with it"
        if ends == "collection":  # what is remembered may refer to it
            memos.of(f)["itself"] = f.itself = f
    del f
    assert len(memos._memos) == 3 and len(memos._tables) == 1
    gc.disable()
    if ends == "collection":
        dying.clear()
    die = gc.collect if ends == "collection" else dying.clear
    try:
        with pytest.raises(KeyboardInterrupt):
            # From C to C: no Python code runs between, where it would be raised.
            list(map(operator.call, [_thread.interrupt_main, die]))
            time.sleep(0)
        left = 0 if ends == "collection" else 1  # the jitted one, which is in a cycle
        assert len(memos._memos) == left and not memos._tables
    finally:
        gc.enable()
        gc.callbacks.extend(others)
    assert jitted(3.0) == 2.0
