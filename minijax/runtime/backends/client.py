"""Clients and devices: the available platforms and the default device.

A client is created on first use. CPU is in process; CUDA and TPU are PJRT plugins, whose
libraries are loaded by path, because the plugins' own Python entry points need jax.
Third-party plugins: plugins.py. The default platform is the best available one: tpu, cuda,
cpu; `jax_platforms` overrides it.

This module does not know arrays.  Next: ../arrays/array.py.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import importlib
import importlib.util
import os
import pathlib
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...base import config, errors, util
from . import jaxlib_compat as compat
from . import plugins
from .cluster import state
from .plugins import load_plugin, user_options

if TYPE_CHECKING:
    from .jaxlib_types import Capsule, Client, ClientFactory, Device

_clients: dict[str, Any] = {}
# Reentrant: a factory or a callback may itself ask for a client.
_lock = threading.RLock()
cluster = state
_ALIASES = {"gpu": "cuda", "cuda": "cuda", "cpu": "cpu", "tpu": "tpu"}


def _num_cpu_devices() -> int:
    n = config.NUM_CPU_DEVICES.value
    if n is not None and n > 0:
        return int(n)
    for flag in os.environ.get("XLA_FLAGS", "").split():
        if flag.startswith("--xla_force_host_platform_device_count="):
            return int(flag.split("=")[1])
    return 1


def _check_device_count(value: Any) -> None:
    if "cpu" in _clients and value != _num_cpu_devices():
        raise errors.error(
            RuntimeError,
            "jax_num_cpu_devices was set after the devices were first used.",
            why="the number of virtual CPU devices is fixed when they are first used.",
            tries=["set it right after the import, before any array is made"],
        )


config.NUM_CPU_DEVICES.on_change = _check_device_count


def _check_asynchronous(value: Any) -> None:
    if "cpu" in _clients and value != _cpu_options.get("asynchronous"):
        raise errors.error(
            RuntimeError,
            "jax_cpu_enable_async_dispatch was set after the devices were first used.",
            why="the CPU client is created once.",
            tries=["set it right after the import, before any array is made"],
        )


_cpu_options: dict[str, Any] = {}  # options of the CPU client
config.CPU_ASYNC.on_change = _check_asynchronous


def _check_before_cuda(opt: Any) -> None:
    def check(value: Any) -> None:
        if "cuda" in _clients and value != opt.value:
            raise errors.error(
                RuntimeError,
                f"{opt.name} was set after the devices were first used.",
                why="the GPU client is created once.",
                tries=["set it right after the import, before any array is made"],
            )

    opt.on_change = check


_check_before_cuda(config.CUDA_DEVICES)
_check_before_cuda(config.CLIENT_OPTIONS)


def _make_cpu() -> Any:
    asynchronous = _cpu_options["asynchronous"] = bool(config.CPU_ASYNC.value)
    return compat.make_cpu_client(_num_cpu_devices(), asynchronous, **cluster.for_cpu())


_NVIDIA = (
    "cu13/lib/libcudart.so.13",
    "cu13/lib/libnvrtc.so.13",
    "cu13/lib/libnvJitLink.so.13",
    "cu13/lib/libcublasLt.so.13",
    "cu13/lib/libcublas.so.13",
    "cu13/lib/libcupti.so.13",
    "cu13/lib/libcusparse.so.12",
    "cu13/lib/libcusolver.so.12",
    "cu13/lib/libcufft.so.12",
    "cudnn/lib/libcudnn.so.9",
    "nccl/lib/libnccl.so.2",
    "nvshmem/lib/libnvshmem_host.so.3",
)


def _find_file(package: str, *parts: str) -> pathlib.Path | None:
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = pathlib.Path(folder, *parts)
        if path.exists():
            return path
    return None


def _load_nvidia_libraries() -> None:
    for name in _NVIDIA:
        path = _find_file("nvidia", *name.split("/"))
        if path is not None:
            try:
                ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue  # the client reports a missing library that it needs


def tpu_library() -> str:
    """Return the path of the TPU plugin's shared library; raise ImportError if there is
    none."""
    path = os.environ.get("TPU_LIBRARY_PATH")
    return path or str(importlib.import_module("libtpu").get_library_path())


def cuda_library() -> pathlib.Path | None:
    """Return the path of the CUDA plugin's shared library, or None."""
    if importlib.util.find_spec("jax_plugins") is None:
        return None
    return _find_file("jax_plugins", "xla_cuda13", "xla_cuda_plugin.so")


@functools.cache
def _register_cuda_calls(api: Any) -> None:
    """Register the routines of the plugin's wheel with its compiler, once."""
    xc = compat.xc
    ext = importlib.import_module("jax_cuda13_plugin.cuda_plugin_extension")
    xc.register_custom_type_handler("CUDA", functools.partial(ext.register_custom_type, api))
    xc.register_custom_call_handler(
        "CUDA", functools.partial(ext.register_custom_call_target, api)
    )
    for name, value in ext.ffi_types().items():
        xc.register_custom_type(name, value, platform="CUDA")
    for name, value in ext.ffi_handlers().items():
        xc.register_custom_call_target(name, value, platform="CUDA", api_version=1)
    for sub in ("_solver", "_linalg", "_prng", "_sparse", "_hybrid", "_triton"):
        module = importlib.import_module("jax_cuda13_plugin." + sub)
        for name, value in module.registrations().items():
            xc.register_custom_call_target(name, value, platform="CUDA", api_version=1)
            xc.register_custom_call_as_batch_partitionable(name, c_api=api)


def _make_cuda() -> Any:
    xc = compat.xc
    path = cuda_library()
    if path is None:
        raise RuntimeError("the CUDA plugin is not installed: pip install minijax[cuda13]")
    _load_nvidia_libraries()
    api = load_plugin("cuda", str(path))
    if not xc.pjrt_plugin_initialized("cuda"):
        xc.initialize_pjrt_plugin("cuda")
    _register_cuda_calls(api)
    options = dict(xc.generate_pjrt_gpuset_options())
    options.update(cluster.for_cuda())
    if config.CUDA_DEVICES.value != "all":
        options["visible_devices"] = list(map(int, config.CUDA_DEVICES.value.split(",")))
    options.update(user_options())
    return xc.make_c_api_client("cuda", options, cluster.client)


def topology(platform: str, name: str, options: dict[str, Any]) -> list[Device]:
    """Return compile-only devices of a topology, which the plugin makes from its name.

    Raises:
      RuntimeError: the plugin's wheel is not installed.
      NotImplementedError: the platform has no plugin.
    """
    xc = compat.xc
    kind = _ALIASES.get(platform, platform)
    make_topology = factories[kind].make_topology if kind in factories else None
    if make_topology is not None:
        return list(make_topology(name, **options)._make_compile_only_devices())
    if kind == "tpu":
        if not _has_tpu():  # otherwise libtpu queries the cloud's metadata server
            os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
            os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")  # no device to share
            os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")
            os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
        try:
            path = tpu_library()
        except ImportError:
            raise errors.error(
                RuntimeError,
                "JAX TPU support not installed; cannot generate TPU topology.",
                tries=["pip install libtpu"],
            ) from None
    elif kind == "cuda":
        library = cuda_library()
        if library is None:
            raise errors.error(
                RuntimeError,
                "The CUDA plugin is not installed; cannot generate CUDA topology.",
                tries=["pip install --no-deps jax-cuda13-pjrt"],
            )
        path = str(library)
    else:
        raise NotImplementedError(f"topology not implemented for {platform}")
    api = load_plugin(kind, path)
    if not xc.pjrt_plugin_initialized(kind):
        xc.initialize_pjrt_plugin(kind)
    if kind == "cuda" and importlib.util.find_spec("jax_cuda13_plugin") is not None:
        _register_cuda_calls(api)
    description = compat._jax.get_c_api_topology(api, name, options)
    return list(description._make_compile_only_devices())


def _make_tpu() -> Any:
    xc, _jax = compat.xc, compat._jax
    load_plugin("tpu", tpu_library())
    if not xc.pjrt_plugin_initialized("tpu"):
        xc.initialize_pjrt_plugin("tpu")
    return _jax.get_c_api_client("tpu", user_options(), cluster.client, None, False, True)


def _has_tpu() -> bool:
    return bool(
        importlib.util.find_spec("libtpu") is not None
        and (os.path.exists("/dev/accel0") or os.path.exists("/dev/vfio/0"))
    )


def _has_cuda() -> bool:
    return bool(os.path.exists("/dev/nvidia0")) and cuda_library() is not None


@dataclasses.dataclass(frozen=True)
class Factory:
    """How to create a platform's client. The default platform has the highest priority.

    fail_quietly: whether another platform becomes the default if this one fails.
    is_available: whether to try it as the default.
    """

    factory: ClientFactory
    priority: int
    fail_quietly: bool = False
    experimental: bool = False
    c_api: Capsule | None = None
    make_topology: Callable[..., Any] | None = None
    is_available: Callable[[], bool] = lambda: True


factories: dict[str, Factory] = {
    "cpu": Factory(_make_cpu, 0),
    "cuda": Factory(_make_cuda, 200, is_available=_has_cuda),
    "tpu": Factory(_make_tpu, 300, is_available=_has_tpu),
}


def register_backend_factory(
    name: str,
    factory: ClientFactory,
    *,
    priority: int = 0,
    fail_quietly: bool = True,
    experimental: bool = False,
    make_topology: Callable[..., Any] | None = None,
    c_api: Capsule | None = None,
) -> None:
    """Register a function that creates the client of a user-defined platform.

    Args:
      name: the name of the platform.
      factory: creates the client on first use.
      priority: the platform with the highest priority is the default; CPU has 0, GPUs 200,
        TPUs 300.
      fail_quietly: whether another platform becomes the default if this one fails.
      experimental: whether to warn on first use.
      make_topology: (name, options) -> a topology of compile-only devices.
      c_api: the PJRT C API of its plugin, as jaxlib takes it.

    Raises:
      RuntimeError: the platform is already in use.

    Example:
      >>> import minijax as mj
      >>> register_backend_factory('mine', lambda: mj.devices('cpu')[0].client)
      >>> mj.devices('mine')[0].platform
      'cpu'
    """
    global _default_name
    with _lock:
        if name in _clients:
            raise RuntimeError(f"Backend {name} already initialized")
        factories[name] = Factory(
            factory, priority, fail_quietly, experimental, c_api, make_topology
        )
        if not _clients:
            _default_name = None


def register_plugin(
    plugin_name: str,
    *,
    priority: int = 400,
    library_path: str | None = None,
    options: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
    c_api: Capsule | None = None,
    factory: ClientFactory | None = None,
    make_topology: Callable[..., Any] | None = None,
) -> Any:
    """Load a PJRT plugin and register it as a platform.

    Args:
      plugin_name: the name of the platform, as in `devices(name)`.
      priority: as for `register_backend_factory`.
      library_path: the path of its shared library.
      options: options of its client: a mapping, or a function that returns one.
      c_api: a capsule of its C API, instead of a path.
      factory: a function that creates its client, instead of options.
      make_topology: as for `register_backend_factory`.

    Returns:
      A capsule of its C API.

    Raises:
      ValueError: neither or both of library path and C API; or both factory and options.
    """
    if bool(library_path) is bool(c_api):
        raise errors.value_error(
            f"{'Both' if c_api else 'Neither'} library_path and c_api are provided when"
            f" registering PJRT plugin {plugin_name}",
            tries=["library_path='/path/to/plugin.so'"],
        )
    if factory is not None and options is not None:
        raise errors.value_error(
            "Cannot provide both 'factory' and 'options' when registering PJRT plugin.",
            which=f"the plugin {plugin_name!r}",
        )
    if library_path:
        c_api = load_plugin(plugin_name, str(library_path))
    else:
        compat.xc.load_pjrt_plugin_with_c_api(plugin_name, c_api)
    register_backend_factory(
        plugin_name,
        factory or functools.partial(plugins.make_client, plugin_name, options),
        priority=priority,
        fail_quietly=False,
        experimental=True,
        c_api=c_api,
        make_topology=make_topology or functools.partial(plugins.topology_of, c_api),
    )
    return c_api


def _platforms() -> list[str]:
    chosen = config.PLATFORMS.value or os.environ.get("JAX_PLATFORM_NAME")
    if chosen:
        return [_platform(p) for p in chosen.split(",") if p]
    plugins.discover(register_backend_factory)
    available = [(f.priority, name) for name, f in factories.items() if f.is_available()]
    return [name for _, name in sorted(available, key=lambda pair: -pair[0])]


def _platform(name: str) -> str:
    resolved = name if name in factories else _ALIASES.get(name)
    if resolved is None:
        plugins.discover(register_backend_factory)
        resolved = name if name in factories else None
    if resolved is None:
        raise RuntimeError(
            f"Unknown backend {name}. Available backends are"
            f" {sorted(_clients) or ['cpu']}\n"
            f"Try: one of {', '.join(sorted({*_ALIASES, *factories}))}."
        )
    return resolved


_default_name: str | None = None


def default_platform() -> str:
    """Return the default platform."""
    global _default_name
    if _default_name is None or config.PLATFORMS.value:
        _default_name = next(filter(_can_be_default, _platforms()))
    return _default_name


def _can_be_default(name: str) -> bool:
    """Whether a platform can be the default.

    True without a check if the user chose it, or if it must not fail quietly: `backend`
    then raises.
    """
    if config.PLATFORMS.value or not factories[name].fail_quietly:
        return True
    try:
        backend(name)
    except RuntimeError:
        return False
    return True


def backend(platform: str | Client | None = None) -> Client:
    """Return the client of a platform; a client is returned unchanged."""
    if platform is not None and not isinstance(platform, str):
        return platform
    name = default_platform() if platform is None else _platform(platform)
    client = _clients.get(name)
    if client is None:
        with _lock:
            # Check again: another thread may have created it meanwhile.
            client = _clients.get(name)
            if client is None:
                _watch_forks()
                try:
                    client = _clients[name] = factories[name].factory()
                except (ImportError, RuntimeError) as e:
                    raise RuntimeError(f"Backend '{name}' failed to initialize: {e}") from e
                if factories[name].experimental:
                    warnings.warn(
                        f"Platform '{name}' is experimental and not all JAX functionality"
                        " may be correctly supported!",
                        stacklevel=2,
                    )
                for callback in _client_callbacks:
                    callback(name, client)
    return client


_watching = False


def _watch_forks() -> None:
    """Warn of forks from the first client on: a child process lacks its threads."""
    global _watching
    if not _watching and hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_warn_of_fork)
        _watching = True


def _warn_of_fork() -> None:
    warnings.warn(
        "os.fork() was called. os.fork() is incompatible with multithreaded code, and JAX"
        " is multithreaded, so this will likely lead to a deadlock.",
        RuntimeWarning,
        stacklevel=2,
    )


_client_callbacks: list[Callable[[str, Any], None]] = []


def started_clients() -> list[tuple[str, Client]]:
    """Return the platforms whose clients have been created, with their clients."""
    return list(_clients.items())


def watch_clients(callback: Callable[[str, Client], None]) -> None:
    """Call `callback` with the name and client of each platform: existing and later ones."""
    with _lock:
        _client_callbacks.append(callback)
        for name, client in started_clients():
            callback(name, client)


def existing_client(platform: str) -> Client | None:
    """Return the client of a platform, or None if it has not been created."""
    return _clients.get(platform)


def started() -> bool:
    """Whether any client has been created."""
    return bool(_clients)


def clear_backends() -> None:
    """Forget all clients: the next use creates new ones.

    Returns:
      None; existing arrays keep their old client.

    Example:
      >>> import minijax as mj
      >>> mj.clear_backends()  # doctest: +SKIP
    """
    global _default_name
    with _lock:
        _clients.clear()
        _default_name = None
        _first_device.cache_clear()  # type: ignore[attr-defined]


_backend = backend


def devices(backend: str | Client | None = None) -> list[Device]:
    """Return all devices of a platform, including those of other processes.

    Args:
      backend: a platform such as 'cpu', or a client; None: the default one.

    Returns:
      A list of devices, sorted by process and id; in the client's order if
      `jax_sort_devices_by_process_index` is off.

    Raises:
      RuntimeError: there is no such platform.

    >>> devices('cpu')[0].platform
    'cpu'
    """
    all_devices = list(_backend(backend).devices())
    if config.SORT_DEVICES.value:
        all_devices.sort(key=lambda d: (d.process_index, d.id))
    return all_devices


def ids_of(device_list: Sequence[Device]) -> tuple[str | None, list[int]]:
    """Return what a pickle contains for devices: their platform and ids."""
    return platform_of(device_list[0]) if device_list else None, [d.id for d in device_list]


def devices_of(platform: str | None, ids: Iterable[int]) -> tuple[Device, ...]:
    """Return the devices with these ids, the inverse of `ids_of`."""
    by_id = {d.id: d for d in devices(platform)}
    return tuple([by_id[i] for i in ids])


def local_devices(
    process_index: int | None = None,
    backend: str | Client | None = None,
    host_id: int | None = None,
) -> list[Device]:
    """Return the devices of one process (by default this one).

    Args:
      process_index: which process; None: this one.
      backend: a platform such as 'cpu', or a client; None: the default one.
      host_id: the old name of `process_index`.

    Returns:
      A list of devices.

    Raises:
      ValueError: there is no such process.
      RuntimeError: there is no such platform.

    Example:
      >>> local_devices(backend='cpu')[0].platform
      'cpu'
    """
    client = _backend(backend)
    if process_index is None:
        process_index = host_id
    if process_index is None:
        process_index = client.process_index()
    if not 0 <= process_index < process_count(client):
        raise ValueError(f"Unknown process_index {process_index}")
    return [d for d in client.devices() if d.process_index == process_index]


def process_count(platform: str | Client | None = None) -> int:
    """Return the number of processes that share the platform."""
    return 1 + max((d.process_index for d in backend(platform).devices()), default=0)


@util.cached(8)
def _first_device(name: str) -> Any:
    return backend(name).local_devices()[0]


def default_device() -> Device:
    """Return the device of new uncommitted values."""
    chosen = config.DEFAULT_DEVICE.value
    if chosen is None:
        return _first_device(default_platform())  # type: ignore[no-any-return]
    if isinstance(chosen, str):
        return _first_device(_platform(chosen))  # type: ignore[no-any-return]
    return chosen  # type: ignore[no-any-return]


def platform_of(client: Client | Device) -> str:
    """Return the platform of a client or device: 'cpu', 'cuda', 'tpu' or a plugin's name."""
    name = str(client.platform)
    return "cuda" if name == "gpu" else name
