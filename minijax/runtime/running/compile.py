"""Compilation of a StableHLO module to an executable, with caches in memory and on disk.

The disk cache's key is the program's bytes without locations, XLA's options, jaxlib's
version, the platform and the CPU's features. A program refers to its callbacks by index
only, so a cached program works with those of any process.  Next: dispatch.py.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import platform as host_platform
import struct
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...base import config, errors, monitoring, option, util
from ..backends import client as clients
from ..backends import jaxlib_compat as compat
from . import compiler_faults, compiler_passes, cross_process_checks, disk_cache

if TYPE_CHECKING:
    from os import PathLike

    from jaxlib.mlir import ir

    from ..backends.jaxlib_types import CompileOptions, Device, Executable

# Marks programs that refer to objects of this process; they are not cached on disk.
OF_THIS_PROCESS = "minijax:of-this-process:"


class Statistics:
    """Counts of the programs compiled and loaded in this process."""

    __slots__ = ("compiled", "loaded")

    def __init__(self) -> None:
        self.compiled = 0
        self.loaded = 0


statistics = Statistics()


@functools.lru_cache(maxsize=1)
def _machine_key() -> bytes:
    """Return what determines the generated code: jaxlib, CPU model and features, flags."""
    import jaxlib

    cpu = host_platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            text = f.read(8192).split("\n\n")[0]
        cpu += "".join(
            line for line in text.splitlines() if line.startswith(("flags", "model name"))
        )
    except OSError:
        cpu += host_platform.processor()
    env = [os.environ.get(k, "") for k in ("XLA_FLAGS", "LIBTPU_INIT_ARGS")]
    return "\0".join([jaxlib.__version__, cpu, *env]).encode()


def cache_key(bytecode: bytes, options: CompileOptions, devices: Sequence[Device]) -> str:
    """Return the name of a program in the disk cache."""
    client = devices[0].client
    digest = hashlib.blake2b(bytecode, digest_size=20)
    digest.update(options.SerializeAsString())
    digest.update(_machine_key())
    kinds = [d.device_kind for d in devices]
    digest.update(f"{client.platform}|{client.platform_version}|{kinds}".encode())
    return digest.hexdigest()


_caches: dict[Any, disk_cache.DiskCache | None] = {}


def _cache() -> disk_cache.DiskCache | None:
    if not config.CACHE_ENABLED.peek() or compiler_passes.registered:
        return None
    directory = config.CACHE_DIR.peek() or disk_cache.default_directory()
    limit = config.CACHE_MAX_SIZE.peek()
    size = 2 << 30 if limit is None else limit  # negative: no limit
    if size == 0:
        return None
    key = (directory, size)
    if key not in _caches:
        cache = None if directory is None else disk_cache.DiskCache(str(directory), size)
        _caches.setdefault(key, cache)
    return _caches[key]


def set_cache_dir(path: str | PathLike[str] | None) -> None:
    """Set the directory in which compiled programs are cached on disk.

    Args:
      path: a directory, created on the first write. It must be trusted: programs in it are
        run.

    Returns:
      None.

    Example:
      >>> import minijax as mj, tempfile
      >>> before = mj.config.jax_compilation_cache_dir
      >>> set_cache_dir(tempfile.mkdtemp())
      >>> mj.config.update("jax_compilation_cache_dir", before)
    """
    config.config.update("jax_compilation_cache_dir", str(path))


def reset_cache() -> None:
    """Forget which directories are in use, and the most recent programs.

    Files on disk stay, and the next compilations look them up again.

    Returns:
      None.

    Example:
      >>> reset_cache()
    """
    _caches.clear()
    _recent.clear()


def module_bytes(module: ir.Module) -> bytes:
    """Return the module as bytecode without locations."""
    from jaxlib.mlir import passmanager

    with module.context:
        clone = module.operation.clone(ip=False)
        passmanager.PassManager.parse("builtin.module(strip-debuginfo)").run(clone)
        return bytecode_of(clone)


def bytecode_of(operation: ir.Operation | ir.OpView) -> bytes:
    """Return an operation as bytecode."""
    out = io.BytesIO()
    operation.write_bytecode(out)
    return out.getvalue()


def _is_local(devices: Sequence[Any]) -> bool:
    """Whether all devices belong to this process."""
    me = devices[0].client.process_index()
    return all(d.process_index == me for d in devices)


@option.recorded
def compile_module(
    module: ir.Module,
    devices: Sequence[Device],
    *,
    replicas: int = 1,
    partitions: int = 1,
    callbacks: Sequence[Any] = (),
    overrides: dict[str, Any] | None = None,
    has_locations: bool = True,
    is_aot: bool = False,
) -> Executable:
    """Compile a module for `devices`, or load it from the disk cache.

    is_aot: whether the program is compiled ahead of time. It may never run, so other
      processes need not compile it.
    """
    client = devices[0].client
    if compat.is_compile_only(client):
        options = compat.compile_options(devices, replicas, partitions, overrides)
        return client.compile(module, compat.DeviceList(tuple(devices)), options)
    shared = clients.cluster.client is not None and not _is_local(devices)
    # Processes that share a program for GPUs compile it together, so none may load it.
    cache = None if shared and client.platform != "cpu" else _cache()
    stripped = has_locations and not config.CACHE_LOCATIONS.value
    bytecode = module_bytes(module) if stripped else bytecode_of(module.operation)
    overrides = compiler_faults.overrides_for(client.platform, module, bytecode, overrides)
    options = compat.compile_options(
        devices,
        replicas,
        partitions,
        overrides,
        config.DISABLE_MOST_OPTIMIZATIONS.value,
        None if cache is None or client.platform != "cuda" else cache.path,
    )
    device_list = compat.DeviceList(tuple(devices))
    private = OF_THIS_PROCESS.encode() in bytecode
    if shared and not is_aot and not private:
        cross_process_checks.check_same_program(module, bytecode, devices)
    if private or (callbacks and client.platform != "cpu"):
        cache = None  # only on CPUs are programs known to hold just the callbacks' indices
    key = cache_key(bytecode, options, devices)
    # With the client: after `clear_backends`, equal devices belong to a new one.
    recent = key, client, tuple(devices)
    # An executable holds its callbacks' functions, so an equal program needs its own.
    own = bool(callbacks or compiler_passes.registered)
    if not own and (cached := _recent.get(recent)) is not None:
        return cached  # type: ignore[no-any-return]
    executable = _compile_or_load(client, module, device_list, options, cache, key, callbacks)
    if own:
        return executable  # type: ignore[no-any-return]
    return util.remember(_recent, recent, executable, _RECENT)  # type: ignore[no-any-return]


def _compile(
    client: Any, module: Any, device_list: Any, options: Any, callbacks: Any = ()
) -> Any:
    return compat.with_lapack(
        client.compile_and_load, module, device_list, options, list(callbacks)
    )


def compile_anew(
    module: ir.Module,
    devices: Sequence[Device],
    partitions: int,
    overrides: dict[str, Any] | None,
) -> Executable:
    """Compile a module without the caches: a loaded executable cannot be serialized again."""
    client = devices[0].client
    overrides = compiler_faults.overrides_for(
        client.platform, module, bytecode_of(module.operation), overrides
    )
    options = compat.compile_options(
        devices, 1, partitions, overrides, config.DISABLE_MOST_OPTIMIZATIONS.value
    )
    statistics.compiled += 1
    device_list = compat.DeviceList(tuple(devices))
    return _compile(client, module, device_list, options)  # type: ignore[no-any-return]


def cost_of(executable: Executable) -> dict[str, float]:
    """Return XLA's estimate of a program's cost, as a dict."""
    try:
        return executable.cost_analysis()
    except compat.RuntimeFailure as e:
        if "UNIMPLEMENTED" not in str(e):
            raise
        (module,) = executable.hlo_modules()
        # For compile-only devices, the CPU client counts the operations.
        return compat._jax.hlo_module_cost_analysis(clients.backend("cpu"), module)  # type: ignore[no-any-return]


# The most recent executables by key: an equal program traced again is not compiled again.
# There are few, since each holds 100 kB of code.
_recent: dict[Any, Any] = util.cache({})
_RECENT = 64


_SECONDS = struct.Struct("<d")  # compile time, at the start of an entry
_in_use = False  # whether this process has used a cache directory


def _compile_or_load(
    client: Any,
    module: Any,
    device_list: Any,
    options: Any,
    cache: Any,
    key: str,
    callbacks: Sequence[Any],
) -> Any:
    global _in_use
    blob = None
    if cache is not None:
        if not _in_use:
            _in_use = True
            monitoring.record_event(monitoring.IN_USE)
        monitoring.record_event(monitoring.CACHE_REQUEST)
        began = time.perf_counter()
        blob = cache.get(key)
        monitoring.record_event(monitoring.CACHE_MISS if blob is None else monitoring.CACHE_HIT)
    if blob is not None:
        (seconds,) = _SECONDS.unpack(blob[:8].ljust(8, b"\0"))
        blob = blob[8:]
        try:
            loaded = compat.with_lapack(
                client.deserialize_executable, blob, device_list, options, list(callbacks)
            )
            statistics.loaded += 1
            took = time.perf_counter() - began
            monitoring.record_event_duration_secs(monitoring.SAVED, seconds - took)
            monitoring.record_event_duration_secs(monitoring.READING, took)
        except compat.RuntimeFailure as e:
            cache.remove(key)  # written by an incompatible runtime
            if config.CACHE_ERRORS.peek():
                raise errors.error(
                    RuntimeError,
                    "Error reading persistent compilation cache entry",
                    which=key,
                    why=str(e),
                ) from None
        else:
            if config.CACHE_CHECKED.peek():
                _check_contents(client, module, device_list, options, key, loaded, callbacks)
            return loaded
    start = time.perf_counter()
    executable = _compile(client, module, device_list, options, callbacks)
    seconds = time.perf_counter() - start
    statistics.compiled += 1
    if cache is not None and seconds >= (config.CACHE_MIN_TIME.peek() or 0.0):
        try:
            blob = client.serialize_executable(executable)
        except compat.RuntimeFailure:
            return executable  # some programs cannot be serialized
        if len(blob) >= (config.CACHE_MIN_SIZE.peek() or 0):
            is_written = cache.put(key, _SECONDS.pack(seconds) + blob)
            if not is_written and config.CACHE_ERRORS.peek():
                raise errors.error(
                    RuntimeError,
                    f"Error writing persistent compilation cache entry in {cache.path}",
                    why=cache.problem() or "the file could not be written.",
                    tries=["another jax_compilation_cache_dir"],
                )
    return executable


_checked: set[str] = set()


def _check_contents(
    client: Any,
    module: Any,
    device_list: Any,
    options: Any,
    key: str,
    loaded: Any,
    callbacks: Sequence[Any] = (),
) -> None:
    """Compile a loaded program again, once per process, and raise if the two differ."""
    if key in _checked:
        return
    _checked.add(key)
    fresh = _compile(client, module, device_list, options, callbacks)
    statistics.compiled += 1
    if _text(fresh) != _text(loaded):
        raise errors.error(
            RuntimeError,
            "Persistent compilation cache inconsistency: the cached program is not"
            " the one that compilation produces.",
            which=key,
            why="another compiler or machine has written to the directory.",
            tries=["an empty jax_compilation_cache_dir"],
        )


def _text(executable: Executable) -> str:
    return "\n".join(m.to_string() for m in executable.hlo_modules())
