"""Third-party PJRT plugins, from the environment variable and from modules.

No plugin library is available: clients are jaxlib's own, and paths do not exist. Messages
were recorded from JAX 0.10.2.
"""

import json
import os
import subprocess
import sys

import pytest

import minijax as mj
from minijax.runtime.backends import client, plugins

MODULES = """
import warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter('always')
    import jax
    from jax._src import xla_bridge
    print(jax.default_backend(), len(jax.devices('by_module')), len(jax.devices('named')))
print([str(w.message) for w in told if 'plugin' in str(w.message)])
"""

BY_MODULE = """
from jaxlib import xla_client
from jax.extend.backend import register_backend_factory

def initialize():
    register_backend_factory(
        NAME, lambda: xla_client.make_cpu_client(num_devices=N), priority=N)
"""


def run(code, **env):
    """Return the lines that a program prints under the alias."""
    command = ["-m", "minijax.tools.alias", "-c", code]
    environment = {
        k: v for k, v in os.environ.items() if k not in ("JAX_PLATFORMS", "XLA_FLAGS")
    }
    done = subprocess.run(
        [sys.executable, *command], env=environment | env, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_modules_of_plugins(tmp_path):
    """A module of the namespace, one that a package names, and one that fails."""
    folder = tmp_path / "jax_plugins"
    folder.mkdir()
    write = lambda path, n, name: path.write_text(
        BY_MODULE.replace("NAME", repr(name)).replace("N)", f"{n})")
    )
    write(folder / "mine.py", 2, "by_module")
    write(tmp_path / "other_plugin.py", 5, "named")
    (folder / "broken.py").write_text("def initialize():\n    raise OSError('no driver')")
    info = tmp_path / "other_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other_plugin\nVersion: 1")
    (info / "entry_points.txt").write_text("[jax_plugins]\nit = other_plugin\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    lines = run(MODULES, PYTHONPATH=path)
    assert lines[0] == "cpu 2 5"
    assert "broken is not registered: OSError: no driver" in lines[1]


@pytest.fixture
def fresh(monkeypatch):
    """Read the environment again; remove what it registers afterwards."""
    monkeypatch.setattr(client, "factories", dict(client.factories))
    plugins._from_environment.cache_clear()
    yield lambda setting: monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", setting)
    plugins._from_environment.cache_clear()


def test_paths_in_the_environment(fresh, tmp_path):
    setting = tmp_path / "plugin.json"
    path = str(tmp_path / "no.so")
    setting.write_text(json.dumps({"library_path": path, "create_options": {"a": 1}}))
    fresh(f"one{os.pathsep}/nowhere/one.so,two{os.pathsep}{setting},three")
    with pytest.warns(UserWarning, match="invalid value 'three' in env var PJRT_NAMES"):
        plugins.discover(client.register_backend_factory)
    registered = {name: client.factories[name] for name in ("one", "two")}
    assert {n: p.factory.args for n, p in registered.items()} == {
        "one": ("one", None, "/nowhere/one.so"),
        "two": ("two", {"a": 1}, path),
    }
    assert [p.priority for p in registered.values()] == [400, 400]
    assert registered["one"].experimental and not registered["one"].fail_quietly
    with pytest.raises(RuntimeError, match=r"'one' failed to initialize: .*/nowhere/one"):
        mj.devices("one")
    with pytest.raises(RuntimeError, match=r"Try: one of cpu, cuda, gpu, one, tpu, two"):
        mj.devices("three")


def test_a_file_without_a_path(fresh, tmp_path):
    setting = tmp_path / "plugin.json"
    setting.write_text("{}")
    fresh(f"one{os.pathsep}{setting}")
    with pytest.raises(ValueError, match='should contain "library_path" field'):
        mj.devices("one")


def test_registered_plugins():
    with pytest.raises(ValueError, match="Neither library_path"):
        client.register_plugin("one")
    with pytest.raises(ValueError, match="Both library_path and c_api"):
        client.register_plugin("one", library_path="/one.so", c_api=object())
    with pytest.raises(ValueError, match="Cannot provide both 'factory' and 'options'"):
        client.register_plugin(
            "one", library_path="/one.so", options={"a": 1}, factory=lambda: None
        )
