"""Profiles, and events that programs may listen to."""

import gzip
import json
import socket
import threading
import urllib.request

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import monitoring, profiler
from minijax.experimental.profiler import get_profiled_instructions_proto
from minijax.runtime.running import compile as compiler


def work():
    return mj.jit(lambda x: jnp.sin(x @ x).sum())(jnp.ones((50, 50)))


def test_a_profile_names_what_was_annotated(tmp_path):
    load = profiler.annotate_function(lambda: work(), name="my load")

    with profiler.trace(tmp_path, create_perfetto_trace=True):
        for i in range(2):
            with profiler.StepTraceAnnotation("train", step_num=i):
                load()
        with pytest.raises(RuntimeError, match="already been started"):
            profiler.start_trace(tmp_path)
    (path,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    data = profiler.ProfileData.from_file(str(path))
    names = [e.name for plane in data.planes for line in plane.lines for e in line.events]
    assert names.count("train") == 2
    assert names.count("my load") == 2
    assert get_profiled_instructions_proto(str(path.parent)) == b""  # it is the CPU's
    with pytest.raises(RuntimeError, match=r"NOT_FOUND: .*nowhere; No such file"):
        get_profiled_instructions_proto(str(path.parent / "nowhere"))
    (path,) = tmp_path.glob("plugins/profile/*/perfetto_trace.json.gz")
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    assert any(e.get("name") == "train" for e in events)
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()


def test_options_of_profiles(tmp_path):
    options = profiler.ProfileOptions()
    options.host_tracer_level = 0
    profiler.start_trace(str(tmp_path), profiler_options=options)
    with profiler.TraceAnnotation("load"):
        work()
    profiler.stop_trace()
    (path,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    data = profiler.ProfileData.from_file(str(path))
    assert not any(
        e.name == "load" for p in data.planes for line in p.lines for e in line.events
    )


def test_a_link_to_perfetto(tmp_path, capfd):
    """The file is handed over once, to that page alone; then the program goes on."""
    profiler.start_trace(tmp_path, create_perfetto_link=True)
    work()
    ended = threading.Thread(target=profiler.stop_trace)
    ended.start()
    output = ""
    for _ in range(600):
        output += capfd.readouterr().out
        if "url=" in output or not ended.is_alive():
            break
        ended.join(0.1)
    url = output.strip().partition("url=")[2]
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(url + "x")
    with urllib.request.urlopen(url) as answer:
        assert answer.headers["Access-Control-Allow-Origin"] == "https://ui.perfetto.dev"
        assert "traceEvents" in json.loads(gzip.decompress(answer.read()))
    ended.join(60)
    assert not ended.is_alive()


def test_servers():
    with socket.socket() as s:
        s.bind(("", 0))
        port = s.getsockname()[1]
    with pytest.raises(ValueError, match="No active profiler server"):
        profiler.stop_server()
    profiler.start_server(port)
    with pytest.raises(ValueError, match="Only one profiler server"):
        profiler.start_server(port)
    profiler.stop_server()


def test_memory(tmp_path):
    array = jnp.ones(1000)
    profiler.save_device_memory_profile(tmp_path / "memory.prof", backend="cpu")
    text = gzip.decompress((tmp_path / "memory.prof").read_bytes())
    assert b"buffer" in text and array.size == 1000


def test_listeners_are_called():
    heard = []
    listeners = {
        "event": (monitoring.register_event_listener, monitoring.unregister_event_listener),
        "duration": (
            monitoring.register_event_duration_secs_listener,
            monitoring.unregister_event_duration_listener,
        ),
        "span": (
            monitoring.register_event_time_span_listener,
            monitoring.unregister_event_time_span_listener,
        ),
        "scalar": (monitoring.register_scalar_listener, monitoring.unregister_scalar_listener),
    }
    calls = {
        kind: lambda *args, kind=kind, **more: heard.append((kind, args, more))
        for kind in listeners
    }
    for kind, (register, _) in listeners.items():
        register(calls[kind])
    monitoring.record_event("/a", x=1)
    monitoring.record_event_duration_secs("/b", 0.5)
    monitoring.record_event_time_span("/c", 1.0, 1.5)
    monitoring.record_scalar("/d", 2, y="z")
    assert heard == [
        ("event", ("/a",), {"x": 1}),
        ("duration", ("/b", 0.5), {}),
        ("span", ("/c", 1.0, 1.5), {}),
        ("scalar", ("/d", 2), {"y": "z"}),
    ]
    heard.clear()

    def doubled(x):
        return x * 2.0625

    mj.jit(doubled)(np.ones(3))
    took = {
        args[0]: more["fun_name"] for kind, args, more in heard if kind == "duration" and more
    }
    assert took == {
        "/jax/core/compile/jaxpr_trace_duration": "doubled",
        "/jax/core/compile/jaxpr_to_mlir_module_duration": "jit(doubled)",
        "/jax/core/compile/backend_compile_duration": "jit(doubled)",
    }
    for kind, (_, unregister) in listeners.items():
        unregister(calls[kind])
        with pytest.raises(AssertionError, match="is not registered"):
            unregister(calls[kind])
    heard.clear()
    mj.jit(lambda x: doubled(x) + 1)(np.ones(3))
    assert not heard


def test_the_disk_cache_records_events(tmp_path, monkeypatch):
    heard, seconds = [], {}
    monkeypatch.setattr(compiler, "_in_use", False)
    monitoring.register_event_listener(lambda event, **_: heard.append(event))
    monitoring.register_event_duration_secs_listener(
        lambda event, took, **_: seconds.setdefault(event, took)
    )
    before = mj.config.jax_compilation_cache_dir
    mj.config.update("jax_compilation_cache_dir", str(tmp_path))
    try:
        for _ in range(2):
            mj.clear_caches()
            mj.jit(lambda x: x * 3.0625)(np.ones(3))
    finally:
        mj.config.update("jax_compilation_cache_dir", before)
        monitoring.clear_event_listeners()
    folder = "/jax/compilation_cache/"
    request_events = [folder + "compile_requests_use_cache"]
    assert heard == [
        folder + "tasks_using_cache",
        *request_events,
        folder + "cache_misses",
        *request_events,
        folder + "cache_hits",
    ]
    saved, reading = "compile_time_saved_sec", "cache_retrieval_time_sec"
    compiling = seconds["/jax/core/compile/backend_compile_duration"]
    assert 0 < seconds[folder + saved] + seconds[folder + reading] <= compiling
