"""User-defined platforms, and user-defined passes in the compiler."""

import functools

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax.base import config
from minijax.extend import backend, xla
from minijax.runtime.backends import client
from minijax.runtime.running import compiler_passes
from minijax.views import private


@pytest.fixture(autouse=True)
def as_before():
    before = dict(client.factories)
    yield
    for name in set(client.factories) - set(before):
        client.factories.pop(name)
        client._clients.pop(name, None)


def missing():
    raise RuntimeError("no such thing")


def test_a_client_is_created_on_first_use():
    made = []
    make = lambda: made.append(1) or jax.devices("cpu")[0].client
    backend.register_backend_factory("own", make, priority=-1)
    backend.register_backend_factory("broken", missing, priority=-2)
    listed = private.module("jax._src.xla_bridge")._backend_factories
    assert listed["own"].priority == -1 and listed["own"].fail_quietly and not made
    assert {"cpu", "tpu"} < set(listed)
    where = jax.devices("own")[0]
    assert jax.jit(lambda x: x * 2)(jax.device_put(3.0, where)) == 6.0
    assert backend.get_backend("own") is where.client and len(made) == 1
    assert {"cpu", "own"} <= set(backend.backends()) and len(made) == 1
    with pytest.raises(RuntimeError, match="Backend own already initialized"):
        backend.register_backend_factory("own", make)
    with pytest.raises(RuntimeError, match="'broken' failed to initialize: no such"):
        jax.devices("broken")
    with pytest.raises(RuntimeError, match="Unknown backend nowhere"):
        jax.devices("nowhere")


def test_the_default_is_the_best_that_starts(monkeypatch):
    monkeypatch.setattr(client, "_default_name", None)
    monkeypatch.delenv("JAX_PLATFORM_NAME", raising=False)
    monkeypatch.setitem(client._clients, "own", jax.devices("cpu")[0].client)
    own = client.Factory(missing, 900, fail_quietly=True)
    monkeypatch.setitem(client.factories, "own", own)
    broken = client.Factory(missing, 901, fail_quietly=True)
    monkeypatch.setitem(client.factories, "broken", broken)
    with config.PLATFORMS(None):
        assert client.default_platform() == "own"


def test_an_experimental_platform_warns():
    make = lambda: jax.devices("cpu")[0].client
    backend.register_backend_factory("own", make, priority=-1, experimental=True)
    with pytest.warns(UserWarning, match="Platform 'own' is experimental"):
        jax.devices("own")


def test_compile_only_devices():
    class Topology:
        def __init__(self, name, **options):
            self.arguments = name, options

        def _make_compile_only_devices(self):
            return [self.arguments]

    backend.register_backend_factory("own", missing, make_topology=Topology)
    assert client.topology("own", "2x2", {"a": 1}) == [("2x2", {"a": 1})]


def test_caches_are_cleared_with_all_programs():
    square = functools.lru_cache(lambda x: x * x)
    backend.register_backend_cache(square, "squares")
    square(3)
    jax.clear_caches()
    assert square.cache_info().currsize == 0


@pytest.mark.parametrize("platforms", [None, "cpu", ["cpu"]])
@pytest.mark.parametrize("stage", list(xla.PipelineStage))
def test_passes_see_what_is_compiled(platforms, stage):
    modules = []
    options = {"name": "told", "stage": stage, "platforms": platforms}
    xla.register_hlo_module_transformation(modules.append, **options)
    try:
        assert jax.jit(lambda x: x * 3 + 1)(2.0) == 7.0
    finally:
        assert xla.clear_hlo_module_transformation(**options)
    seen = len(modules)
    assert seen and all(b"jit" in m for m in modules)
    assert jax.jit(lambda x: x * 3 + 2)(2.0) == 8.0 and len(modules) == seen
    assert not xla.clear_hlo_module_transformation(**options)


def test_a_pass_stays_for_the_other_platforms():
    registered, name = compiler_passes.registered, "stays"
    for platforms, left in ((None, None), (["cpu", "tpu"], ("tpu",))):
        xla.register_hlo_module_transformation(lambda m: m, name=name, platforms=platforms)
        try:
            assert xla.clear_hlo_module_transformation(name, platforms="cpu")
            assert [r[2] for r in registered if r[0] == name] == [left]
        finally:
            xla.clear_hlo_module_transformation(name)
        assert not registered


def test_a_pass_changes_programs():
    three, five = (np.float32(x).tobytes() for x in (3.0, 5.0))
    change = lambda module: module.replace(three, five)
    xla.register_hlo_module_transformation(change, name="five")
    try:
        assert jax.jit(lambda x: x * 3)(jnp.float32(2)) == 10.0
    finally:
        assert xla.clear_hlo_module_transformation("five")
    assert jax.jit(lambda x: x * 3)(jnp.float32(2)) == 6.0
    with pytest.raises(TypeError, match="stage must be a PipelineStage enum, got <cl"):
        xla.register_hlo_module_transformation(change, name="five", stage="late")
