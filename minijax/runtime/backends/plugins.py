"""Third-party platforms: PJRT plugins, by the path of their library.

A plugin is registered by name in one of two ways. The environment variable
`PJRT_NAMES_AND_LIBRARY_PATHS` lists plugins (`name:path,name:path`; a path may be that of a
JSON file with `library_path` and `create_options`). Or a module's `initialize()` calls
`client.register_plugin`. The module is in the namespace package `jax_plugins`, or an
installed package names it as entry point of the group `jax_plugins`. Such modules import
jax, so they are used only under the alias. A library is loaded when its devices are first
used.

Next: client.py.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ...base import config, errors
from . import jaxlib_compat as compat
from .cluster import state

if TYPE_CHECKING:
    from .jaxlib_types import Capsule, Client, Topology

_GROUP = "jax_plugins"
_OURS = ("xla_cuda12", "xla_cuda13")  # loaded by path: see client.py


_loaded: dict[str, Any] = {}  # capsules of the plugins' C APIs, by platform
_on_loading: list[Callable[[Any], None]] = []


def load_plugin(name: str, path: str) -> Capsule:
    """Return the C API of a plugin's library, as jaxlib takes it; load it once."""
    if name not in _loaded:
        _loaded[name] = compat.xc.load_pjrt_plugin_dynamically(name, path)
        for callback in _on_loading:
            callback(_loaded[name])
    return _loaded[name]


def watch_plugins(callback: Callable[[Capsule], None]) -> None:
    """Call `callback` with the C API of each plugin: loaded ones now, later ones on
    loading."""
    _on_loading.append(callback)
    for api in list(_loaded.values()):
        callback(api)


def user_options() -> dict[str, Any]:
    """Return the user's options for a plugin's client: `name:value;name:value`."""
    pairs = filter(None, (config.CLIENT_OPTIONS.value or "").split(";"))
    return {name.strip(): value for name, value in (p.split(":", 1) for p in pairs)}


def make_client(name: str, options: Any, path: str | None = None) -> Client:
    """Return a new client of a plugin; load its library if there is a path."""
    if path is not None:
        load_plugin(name, path)
    xc = compat.xc
    if not xc.pjrt_plugin_initialized(name):
        xc.initialize_pjrt_plugin(name)
    values = options() if callable(options) else options
    return xc.make_c_api_client(name, {**(values or {}), **user_options()}, state.client)  # type: ignore[no-any-return]


def topology_of(api: Capsule, name: str, **options: Any) -> Topology:
    """Return the topology of this name from a plugin's C API."""
    return compat._jax.get_c_api_topology(api, name, options)  # type: ignore[no-any-return]


def discover(register: Callable[..., Any]) -> None:
    """Register the plugins of the environment variable and of modules, once."""
    _from_environment(register)
    _from_modules("jax" in sys.modules and compat.real_jax() is None)


@functools.cache
def _from_environment(register: Callable[..., Any]) -> None:
    setting = os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "")
    for entry in filter(None, setting.split(",")):
        name, colon, path = entry.partition(os.pathsep)
        if not (name and colon and path):
            warnings.warn(
                f"invalid value {entry!r} in env var PJRT_NAMES_AND_LIBRARY_PATHS: {setting}",
                stacklevel=2,
            )
            continue
        options = None
        if path.endswith(".json"):
            json = importlib.import_module("json")  # rarely needed
            with open(path, encoding="utf-8") as file:
                contents = json.load(file)
            if "library_path" not in contents:
                raise errors.value_error(
                    'PJRT plugin config file should contain "library_path" field.', which=path
                )
            path, options = contents["library_path"], contents.get("create_options")
        register(
            name,
            functools.partial(make_client, name, options, path),
            priority=400,
            fail_quietly=False,
            experimental=True,
        )


@functools.cache
def _from_modules(aliased: bool) -> None:
    """Call `initialize()` of each plugin module."""
    for name in dict.fromkeys(_modules()) if aliased else ():
        try:
            importlib.import_module(name).initialize()
        except Exception as e:  # the other plugins are still registered
            warnings.warn(
                f"the JAX plugin {name} is not registered: {type(e).__name__}: {e}",
                stacklevel=2,
            )


def _modules() -> Iterator[str]:
    # Imported here, since they take as long as the rest of a client's creation.
    metadata = importlib.import_module("importlib.metadata")
    pkgutil = importlib.import_module("pkgutil")
    spec = importlib.util.find_spec(_GROUP)
    folders = (spec.submodule_search_locations if spec else None) or ()
    for _, name, _ in pkgutil.iter_modules(folders):
        if name not in _OURS:
            yield f"{_GROUP}.{name}"
    for entry in metadata.entry_points(group=_GROUP):
        if entry.value.rpartition(".")[2] not in _OURS:
            yield entry.value
