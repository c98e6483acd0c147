"""Clients and devices: which platforms there are, and where things run by default.

A client is made on first use.  CPU is in process; CUDA and TPU are PJRT plugins, whose
libraries are loaded by path (the plugins' own Python entry points need jax), as are those
of others: plugins.py.  The
default platform is the best that is there: tpu, cuda, cpu; `jax_platforms` overrides.

This room knows no arrays.  Next: ../arrays/array.py.
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
from typing import Any

from ...base import config, errors
from . import jaxlib_compat as compat
from . import plugins
from .cluster import state
from .plugins import load_plugin, user_options

_clients: dict[str, Any] = {}
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
            why="the number of virtual CPU devices is fixed by the first computation.",
            tries=["set it right after the import, before any array is made"],
        )


config.NUM_CPU_DEVICES.on_change = _check_device_count


def _check_asynchronous(value: Any) -> None:
    if "cpu" in _clients and value != _cpu_options.get("asynchronous"):
        raise errors.error(
            RuntimeError,
            "jax_cpu_enable_async_dispatch was set after the devices were first used.",
            why="the client of the CPU is made once.",
            tries=["set it right after the import, before any array is made"],
        )


_cpu_options: dict[str, Any] = {}  # what the CPU's client was asked for
config.CPU_ASYNC.on_change = _check_asynchronous


def _before_cuda(opt: Any) -> None:
    def check(value: Any) -> None:
        if "cuda" in _clients and value != opt.value:
            raise errors.error(
                RuntimeError,
                f"{opt.name} was set after the devices were first used.",
                why="the client of GPUs is made once.",
                tries=["set it right after the import, before any array is made"],
            )

    opt.on_change = check


_before_cuda(config.CUDA_DEVICES)
_before_cuda(config.CLIENT_OPTIONS)


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


def _find(package: str, *parts: str) -> pathlib.Path | None:
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = pathlib.Path(folder, *parts)
        if path.exists():
            return path
    return None


def _load_nvidia_libraries() -> None:
    for name in _NVIDIA:
        path = _find("nvidia", *name.split("/"))
        if path is not None:
            try:
                ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue  # a missing one is reported by the client that needs it


def tpu_library() -> str:
    """The TPU plugin's shared library; ImportError if there is none."""
    path = os.environ.get("TPU_LIBRARY_PATH")
    return path or str(importlib.import_module("libtpu").get_library_path())


def cuda_library() -> pathlib.Path | None:
    """The CUDA plugin's shared library, if its wheel is installed."""
    if importlib.util.find_spec("jax_plugins") is None:
        return None
    return _find("jax_plugins", "xla_cuda13", "xla_cuda_plugin.so")


@functools.cache
def _register_cuda_calls(api: Any) -> None:
    """Make the routines of the plugin's wheel known to its compiler, once."""
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


def topology(platform: str, name: str, options: dict[str, Any]) -> list[Any]:
    """Devices that are not there, to compile for: the plugin makes them of a description.

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
        if not _has_tpu():  # it would ask machines of the cloud what it runs on
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
    """What makes a platform's client, and when it is the default: the highest priority.

    there: whether to try it as the default.
    fail_quietly: whether another is the default where it fails.
    """

    factory: Callable[[], Any]
    priority: int
    fail_quietly: bool = False
    experimental: bool = False
    c_api: Any = None
    make_topology: Callable[..., Any] | None = None
    is_available: Callable[[], bool] = lambda: True


factories: dict[str, Factory] = {
    "cpu": Factory(_make_cpu, 0),
    "cuda": Factory(_make_cuda, 200, is_available=_has_cuda),
    "tpu": Factory(_make_tpu, 300, is_available=_has_tpu),
}


def register_backend_factory(
    name: str,
    factory: Callable[[], Any],
    *,
    priority: int = 0,
    fail_quietly: bool = True,
    experimental: bool = False,
    make_topology: Callable[..., Any] | None = None,
    c_api: Any = None,
) -> None:
    """Say how the client of a platform of one's own is made.

    Args:
      name: the platform's.
      factory: makes the client, when it is first used.
      priority: the platform of the highest one is the default; that of the CPU has 0, of
        GPUs 200, of TPUs 300.
      fail_quietly: whether another platform is the default where this one fails.
      experimental: whether to warn when it is first used.
      make_topology: (name, options) -> devices that are not there, to compile for.
      c_api: the functions of its plugin, as jaxlib takes them.

    Raises:
      RuntimeError: the platform is in use.

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
    c_api: Any = None,
    factory: Callable[[], Any] | None = None,
    make_topology: Callable[..., Any] | None = None,
) -> Any:
    """Load a PJRT plugin, and make it known as a platform.

    Args:
      plugin_name: what the platform is called, as for `devices(name)`.
      priority: as of `register_backend_factory`.
      library_path: its shared library.
      options: for its client: names and values, or a function that gives them.
      c_api: its functions, in a capsule, in place of a path.
      factory: what makes its client, in place of options.
      make_topology: as of `register_backend_factory`.

    Returns:
      Its functions, in a capsule.

    Raises:
      ValueError: neither library nor functions, or both; or a factory and options.
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
    """The platform on which things run by default."""
    global _default_name
    if _default_name is None or config.PLATFORMS.value:
        _default_name = next(filter(_can_be_default, _platforms()))
    return _default_name


def _can_be_default(name: str) -> bool:
    """Whether a platform can be the default; an error where it is to be and cannot."""
    if config.PLATFORMS.value or not factories[name].fail_quietly:
        return True
    try:
        backend(name)
    except RuntimeError:
        return False
    return True


def backend(platform: Any = None) -> Any:
    """The client of a platform (by name; a client is handed back)."""
    if platform is not None and not isinstance(platform, str):
        return platform
    name = default_platform() if platform is None else _platform(platform)
    client = _clients.get(name)
    if client is None:
        with _lock:
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
    """From the first client on, warn of forks: its threads are not in the child."""
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


def started_clients() -> list[tuple[str, Any]]:
    """The platforms that have clients by now, and those."""
    return list(_clients.items())


def watch_clients(callback: Callable[[str, Any], None]) -> None:
    """Call `callback` with each platform and client: with those there are, and later ones."""
    with _lock:
        _client_callbacks.append(callback)
        for name, client in started_clients():
            callback(name, client)


def existing_client(platform: str) -> Any:
    """The client of a platform, if there is one by now."""
    return _clients.get(platform)


def started() -> bool:
    """Whether there is a client of any platform."""
    return bool(_clients)


def clear_backends() -> None:
    """Forget all clients: the next use makes new ones.

    Returns:
      None; arrays made before stay with their old client.

    Example:
      >>> import minijax as mj
      >>> mj.clear_backends()  # doctest: +SKIP
    """
    global _default_name
    with _lock:
        _clients.clear()
        _default_name = None
        _first_device.cache_clear()


_backend = backend


def devices(backend: Any = None) -> list[Any]:
    """All devices of a platform, those of other processes too.

    Args:
      backend: a platform such as 'cpu', or a client; None: the default one.

    Returns:
      A list of devices: those of the first process first, by their ids; with
      `jax_sort_devices_by_process_index` off, in the order of the client.

    Raises:
      RuntimeError: there is no such platform.

    >>> devices('cpu')[0].platform
    'cpu'
    """
    all_devices = list(_backend(backend).devices())
    if config.SORT_DEVICES.value:
        all_devices.sort(key=lambda d: (d.process_index, d.id))
    return all_devices


def ids_of(device_list: Sequence[Any]) -> tuple[Any, list[int]]:
    """What a pickle has in the place of devices: their platform, and who they are."""
    return platform_of(device_list[0]) if device_list else None, [d.id for d in device_list]


def devices_of(platform: Any, ids: Iterable[int]) -> tuple[Any, ...]:
    """The devices that `ids_of` told."""
    by_id = {d.id: d for d in devices(platform)}
    return tuple([by_id[i] for i in ids])


def local_devices(
    process_index: int | None = None, backend: Any = None, host_id: Any = None
) -> list[Any]:
    """The devices of one process (this one by default).

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


def process_count(platform: Any = None) -> int:
    """How many processes share the platform."""
    return 1 + max((d.process_index for d in backend(platform).devices()), default=0)


@functools.lru_cache(maxsize=8)
def _first_device(name: str) -> Any:
    return backend(name).local_devices()[0]


def default_device() -> Any:
    """The device on which uncommitted values are made."""
    chosen = config.DEFAULT_DEVICE.value
    if chosen is None:
        return _first_device(default_platform())
    if isinstance(chosen, str):
        return _first_device(_platform(chosen))
    return chosen


def platform_of(client: Any) -> str:
    """'cpu', 'cuda' or 'tpu'."""
    name = str(client.platform)
    return "cuda" if name == "gpu" else name
