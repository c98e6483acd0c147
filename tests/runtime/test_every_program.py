"""Programs of every origin have the same services, since all are made by one pipeline."""

import logging

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import export
from minijax.base import monitoring
from minijax.experimental.layout import Format, Layout
from minijax.runtime.backends import jaxlib_compat as compat
from minijax.runtime.running import compile as compiler
from minijax.runtime.running import program as programs
from minijax.sharding import AxisType, Mesh, NamedSharding, SingleDeviceSharding
from minijax.sharding import PartitionSpec as P

X = np.arange(32, dtype=np.float32).reshape(4, 8)
MESH = Mesh(mj.devices()[:4], ("a",), axis_types=(AxisType.Auto,))
ONE = SingleDeviceSharding(mj.devices()[0])
ROWS, COLUMNS = NamedSharding(MESH, P("a")), NamedSharding(MESH, P(None, "a"))


def wave(x):
    return jnp.tanh(x) * 3


def in_layout(x):
    return mj.device_put(x, Format(Layout((1, 0)), x.sharding))


# Origin -> the operand's sharding, the function that runs a program on it, and whether that
# runs a function of the user.
ORIGINS = {
    "operation": (ONE, jnp.tanh, False),
    "rule": (ONE, lambda x: mj.jvp(jnp.tanh, (x,), (x,)), False),
    "jit": (ONE, lambda x: mj.jit(wave)(x), True),
    "ahead of time": (ONE, lambda x: mj.jit(wave).lower(x).compile()(x), True),
    "export": (ONE, lambda x: export.export(mj.jit(wave))(x).call(x), True),
    "layout": (ONE, in_layout, False),
    "operation over a mesh": (ROWS, jnp.tanh, False),
    "jit over a mesh": (ROWS, lambda x: mj.jit(wave)(x), True),
    "shard_map": (
        ROWS,
        lambda x: mj.shard_map(wave, mesh=MESH, in_specs=P("a"), out_specs=P("a"))(x),
        True,
    ),
    "pmap": (ROWS, lambda x: mj.pmap(wave)(x), True),
    "pmap ahead of time": (ROWS, lambda x: mj.pmap(wave).lower(x).compile()(x), True),
    "resharding": (ROWS, lambda x: mj.device_put(x, COLUMNS), False),
    "layout over a mesh": (ROWS, in_layout, False),
}


@pytest.fixture(params=ORIGINS)
def origin(request):
    """Return a function that runs the programs of one origin anew, and their requests."""
    sharding, run, _ = ORIGINS[request.param]
    x = mj.device_put(X, sharding)

    def anew():
        mj.clear_caches()
        return mj.block_until_ready(run(x))

    yield anew
    mj.clear_caches()


@pytest.fixture
def lowered(monkeypatch):
    """Return the list of the modules that are lowered from now on."""
    made = []
    real = programs.Lowered.__init__

    def init(self, *args):
        real(self, *args)
        made.append(self)

    monkeypatch.setattr(programs.Lowered, "__init__", init)
    return made


@pytest.fixture
def made(monkeypatch):
    """Return the list of the programs that are made from now on."""
    made = []
    real = programs.Program.__init__

    def init(self, *args):
        real(self, *args)
        made.append(self)

    monkeypatch.setattr(programs.Program, "__init__", init)
    return made


def test_cost_and_memory(origin, made):
    origin()
    assert made
    for program in made:
        assert program.cost_analysis()["bytes accessed"] > 0
        assert program.memory_analysis().output_size_in_bytes > 0


def test_names(origin, made, lowered):
    """The profiler shows the name of the module."""
    origin()
    names = [x.request.options.name for x in lowered]
    for program in made:
        assert program.as_text().startswith(tuple(f"HloModule jit_{name}," for name in names))


def test_compiler_options(origin, lowered, monkeypatch):
    origin()
    used = []
    real = compat.compile_options

    def record(devices, replicas, parts, overrides, *rest):
        used.append(overrides)
        return real(devices, replicas, parts, overrides, *rest)

    monkeypatch.setattr(compat, "compile_options", record)
    option = {"xla_cpu_enable_fast_math": True}
    assert lowered
    for one in lowered:
        assert not one.module.consts
        programs.compile_lowered(one, (), option)
        assert used.pop()["xla_cpu_enable_fast_math"] is True


def test_disk_cache(origin, tmp_path):
    before = mj.config.jax_compilation_cache_dir
    mj.config.update("jax_compilation_cache_dir", str(tmp_path))
    try:
        origin()
        compiled, loaded = compiler.statistics.compiled, compiler.statistics.loaded
        origin()
    finally:
        mj.config.update("jax_compilation_cache_dir", before)
    assert compiler.statistics.compiled == compiled
    assert compiler.statistics.loaded > loaded


def test_logs_and_events(origin, lowered, made, caplog):
    events = []
    listener = lambda event, seconds, **more: events.append((event, more.get("fun_name")))
    mj.monitoring.register_event_duration_secs_listener(listener)
    try:
        with mj.log_compiles(), caplog.at_level(logging.WARNING):
            origin()
    finally:
        mj.monitoring.unregister_event_duration_listener(listener)
    labels = [x.request.options.label for x in lowered]
    assert labels
    for label in labels:
        assert f"Compiling {label} with global shapes and types" in caplog.text
        assert (monitoring.LOWERING, label) in events
    compiled = [label for event, label in events if event == monitoring.COMPILING]
    assert len(compiled) == len(made) and set(compiled) <= set(labels)


def test_pacing(origin, made):
    origin()
    for program in made:
        assert (program.pace is not None) == (len(program.placement.devices) > 1)


def test_transfer_guard(origin):
    origin()
    with mj.transfer_guard("disallow"):
        origin()


def broken(x):
    raise ValueError("the callback is broken")


@pytest.mark.parametrize("name", [k for k, v in ORIGINS.items() if v[2] and k != "export"])
def test_failures_of_callbacks(name, monkeypatch):
    def calls_back(x):
        return mj.pure_callback(broken, mj.ShapeDtypeStruct(x.shape, x.dtype), x)

    sharding, run, _ = ORIGINS[name]
    monkeypatch.setitem(globals(), "wave", calls_back)
    with pytest.raises(Exception, match="the callback is broken"):
        mj.block_until_ready(run(mj.device_put(X, sharding)))


def test_effects(capfd):
    for name, (sharding, run, has_function) in ORIGINS.items():
        if has_function and name != "export":
            with pytest.MonkeyPatch.context() as patch:
                patch.setitem(globals(), "wave", lambda x: mj.debug.print("seen {}", x.sum()))
                run(mj.device_put(X, sharding))
                mj.effects_barrier()
            assert "seen" in capfd.readouterr().out, name
