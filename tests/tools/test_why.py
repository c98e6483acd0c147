"""`tools.why` and `tools.watch`: what was traced and compiled, and for which difference."""

import threading

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import tools


def changes(log, kind="trace"):
    return [
        [(c["path"], c["known"], c["now"]) for c in e.changes]
        for e in log.events
        if e.kind == kind
    ]


def test_each_trace_is_compared_with_the_nearest_earlier_one():
    f = mj.jit(lambda params, x, n: params["w"] * x * n, static_argnums=2)
    w = {"w": jnp.ones(2)}
    f(w, 1.0, 2)
    f({"w": jnp.ones(3)}, 1.0, 2)
    f(w, jnp.ones(2), 2)
    f({"w": jnp.ones(2), "b": 1}, 1.0, 2)
    f(w, 1.0, 3)
    log = tools.why(f, w, 4, 3)
    assert changes(log)[:3] == [
        [],
        [("params['w']", "float32[2]", "float32[3]")],
        [("x", "~float32[]", "float32[2]")],
    ]
    ((path, _, _),) = changes(log)[3]
    assert path == "params"
    assert changes(log)[4] == [("", "((2, 2),)", "((2, 3),)")]
    assert changes(log, "call") == [[("x", "~float32[]", "~int32[]")]]
    assert all(e.seconds > 0 for e in log.events if e.kind != "call")
    assert len(changes(log, "compile")) == 5
    with pytest.raises(TypeError, match="needs a jitted function"):
        tools.why(len)


def test_a_program_is_compiled_again_for_other_devices():
    f = mj.jit(lambda x: x + 1)
    f(jnp.ones(2))
    f(mj.device_put(jnp.ones(2), mj.devices()[1]))
    (_, second) = changes(tools.why(f), "compile")
    assert {"placement"} == {c["what"] for e in tools.why(f).events for c in e.changes}
    assert second[0][0] == ""


def test_a_log_of_a_program():
    def inner(x):
        return x * 3.0

    with tools.watch() as log:
        for _ in range(2):
            mj.jit(lambda x: mj.jit(inner)(x) - 2.0)(jnp.float32(2))
    mj.jit(lambda x: x + 3)(1.0)
    traces = [e for e in log.events if e.kind == "trace"]
    assert [(e.name, e.depth) for e in traces] == [
        ("<lambda>", 0),
        ("inner", 1),
        ("<lambda>", 0),
    ]
    assert traces[2].reason.startswith("a new function of the same code")
    assert "test_why.py" in traces[0].called
    compiled = [e for e in log.events if e.kind == "compile"]
    assert len(compiled) == 2
    assert compiled[1].origin == "cache"
    assert log.seconds == sum(e.seconds for e in log.events if not e.depth)
    assert log.to_dict()["events"][0]["kind"] == "trace"
    assert "3 traces and 2 compiles" in str(log)


def test_at_most_eight_arguments_are_shown():
    f = mj.jit(lambda *xs: sum(xs))
    f(*[1.0] * 8)
    f(*[1.0] * 10)
    eight = ", ".join(["f32[]"] * 8)
    shown = [e.signature for e in tools.why(f).events if e.kind == "trace"]
    assert shown == [f"({eight})", f"({eight}, ... 2 more)"]


def test_threads_are_distinguished():
    both, functions = threading.Barrier(2), []
    for k in range(2):

        def f(x, k=k):
            both.wait(60)  # so that neither trace ends before the other has begun
            return x * (k + 2.5)

        functions.append(mj.jit(f))
    with tools.watch() as log:
        threads = [threading.Thread(target=f, args=(1.0,)) for f in functions]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert sorted(e.kind for e in log.events) == ["compile"] * 2 + ["trace"] * 2
    assert {e.depth for e in log.events} == {0}


def test_the_text_of_a_log():
    f = mj.jit(lambda x: x * 7.0)
    f(jnp.ones(2))
    f(jnp.ones(3))
    head, *events = str(tools.why(f)).splitlines()
    assert head.startswith("2 traces and 2 compiles, ")
    pairs = [line.split(" ms  ", 1) for line in events]
    assert [what for _, what in pairs][::2] == [
        "trace <lambda>(f32[2]): the first call",
        "trace <lambda>(f32[3]): x: known float32[2], now float32[3]",
    ]
    took = [e.seconds for e in tools.why(f).events]
    assert [float(ms) for ms, _ in pairs] == pytest.approx([1e3 * s for s in took], abs=0.051)
