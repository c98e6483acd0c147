"""Compatibility with all supported versions of jaxlib.

jaxlib 0.10.2 to 0.12 are used through private names; each difference between them is hidden
here (result handlers, sharding hooks, host copies, dlpack). So are safeguards around calls
that would crash or return wrong results: `put` copies and never lets C++ choose a dtype.

No other module may branch on jaxlib's version.  Next: client.py.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxlib import utils as _utils  # type: ignore[attr-defined]

# Before the first client is created: suppress its INFO messages.
_utils.absl_set_min_log_level(1)

from jaxlib import __version__ as _version
from jaxlib import _jax as _jax
from jaxlib import xla_client as _xla_client

from ...base import config, errors
from ...types import dtypes

xc: Any = _xla_client
if TYPE_CHECKING:
    from types import ModuleType

    from ...types.aliases import Aval, NumPyArray
    from .jaxlib_types import (
        Buffer,
        Capsule,
        Client,
        CompileOptions,
        CoordinationClient,
        CoordinationService,
        CppSharding,
    )
    from .jaxlib_types import Device as Device
else:
    Device = _jax.Device
VERSION: int = xc._version
RELEASE: tuple[int, ...] = tuple(int(part) for part in _version.split(".") if part.isdecimal())
# 0.10.x is numbered 467; the interfaces below changed in 480.
_OLD = VERSION < 480

ArrayImpl = xc.ArrayImpl
DeviceList = xc.DeviceList
CopySemantics = xc.ArrayCopySemantics
GSPMDSharding: Any = xc.GSPMDSharding
HloSharding = xc.HloSharding
register_custom_call_partitioner = xc.register_custom_call_partitioner
REPLICATED = xc.OpSharding.Type.REPLICATED
UNREDUCED = getattr(xc.OpSharding.Type, "UNREDUCED", None)  # missing in the oldest version
RuntimeFailure = xc.XlaRuntimeError
SingleDeviceSharding: Any = xc.SingleDeviceSharding
pjit = _jax.pjit
ifrt_programs = _jax.ifrt_programs
PjitFunction = _jax.PjitFunction
inspecting = _jax.encode_inspect_sharding_callback
PjitFunctionCache = _jax.PjitFunctionCache
tree_registry = _jax.pytree.PyTreeRegistry
# With it, the caller may change the NumPy array as soon as the call returns.
_COPY = xc.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_ZERO_COPY = xc.HostBufferSemantics.ZERO_COPY
_batched_put = xc.batched_device_put


def real_jax() -> ModuleType | None:
    """Return the jax package if it is loaded in this process (not our alias of that name)."""
    package = sys.modules.get("jax")
    return package if getattr(package, "__package__", None) == "jax" else None


def _register_hooks() -> None:
    """Fill C++ slots that exist once per process, unless jax is loaded and has filled them."""
    if _OLD:
        for cls, rule in (
            (SingleDeviceSharding, lambda s, ndim: HloSharding.replicate()),
            (GSPMDSharding, lambda s, ndim: s._hlo_sharding),
        ):
            if not hasattr(cls, "_to_xla_hlo_sharding"):
                cls._to_xla_hlo_sharding = rule
    if real_jax() is None:
        post_hook = _jax.config.Config("minijax:post_hook", None)
        _jax.jax_jit.set_enable_x64_state(config.X64._cell)
        _jax.jax_jit.set_disable_jit_state(config.DISABLE_JIT._cell)
        _jax.jax_jit.set_post_hook_state(post_hook)


_register_hooks()


class _GarbageCollector:
    """Frees Python objects that C++ released while it could not touch them.

    Reading the attribute `start` or `stop`, named after the phases of Python's garbage
    collection, calls `collect_garbage`. All of this is C code: in Python code, an interrupt
    could be raised here and would be lost.
    """

    __slots__ = ()
    start = stop = property(defaultdict(_jax.collect_garbage).__missing__)


# Called with a phase and a dict, which `getattr` takes as the default value.
gc.callbacks.append(functools.partial(getattr, _GarbageCollector()))


def result_handler(aval: Aval, sharding: CppSharding, committed: bool) -> Any:
    """Return the C++ object that makes an ArrayImpl from one result of an execution."""
    if _OLD:
        return xc.array_result_handler(aval, sharding, committed, True)
    return xc.array_result_handler(aval, sharding, committed)


def put(
    x: np.ndarray[Any, Any], aval: Aval, sharding: CppSharding, device: Device, committed: bool
) -> Buffer:
    """Copy one NumPy array to one device; it must have the aval's dtype."""
    if not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    return _batched_put(aval, sharding, [x], [device], committed, False, _COPY, True)  # type: ignore[no-any-return]


def put_owned(
    x: np.ndarray[Any, Any], aval: Aval, sharding: CppSharding, device: Device, committed: bool
) -> Buffer:
    """Put an array without a copy; its memory must never be written again."""
    return _batched_put(aval, sharding, [x], [device], committed, False, _ZERO_COPY, True)  # type: ignore[no-any-return]


def put_shards(
    aval: Aval,
    sharding: CppSharding,
    shards: Sequence[NumPyArray],
    devices: Sequence[Device],
    are_distinct: bool = False,
) -> Buffer:
    """Return an array of type `aval` from one NumPy array per device.

    are_distinct: whether the caller knows that no two of them share memory, and none is
      empty.
    """
    arrays = list(shards)
    if are_distinct:
        return _batched_put(aval, sharding, arrays, list(devices), True, False, _COPY, True)  # type: ignore[no-any-return]
    if any(x.size == 0 for x in arrays):  # C++ fails on empty arrays
        alone = [SingleDeviceSharding(d) for d in devices]
        return assemble(
            aval,
            sharding,
            [put(x, aval, s, d, True) for x, s, d in zip(arrays, alone, devices, strict=True)],
        )
    seen: set[int] = set()
    replicated = all(x.shape == aval.shape for x in arrays)
    for i, x in enumerate(arrays):  # C++ fails if some arrays, but not all, share memory
        at = x.__array_interface__["data"][0]
        if at in seen and not replicated:
            arrays[i] = x.copy()
        seen.add(at)
    return _batched_put(aval, sharding, arrays, list(devices), True, False, _COPY, True)  # type: ignore[no-any-return]


def copy_to(arr: Buffer, device: Device, sharding: CppSharding) -> Buffer:
    """Copy a single-device array to another device of the same client."""
    return copy_shards(arr, (device,), sharding)


def copy_shards(arr: Buffer, devices: Sequence[Device], sharding: CppSharding) -> Buffer:
    """Copy each shard of an array to a device, or to another memory of its device."""
    (out,) = xc.batched_copy_array_to_devices_with_sharding(
        [arr], [DeviceList(tuple(devices))], [sharding], [xc.ArrayCopySemantics.ALWAYS_COPY]
    )
    return out  # type: ignore[no-any-return]


def with_aval(arr: Buffer, aval: Aval, sharding: CppSharding) -> Buffer:
    """Return the same buffers with another aval."""
    return arr._rewrap_with_aval_and_sharding(aval, sharding)  # type: ignore[no-any-return]


def assemble(aval: Aval, sharding: CppSharding, shards: Sequence[Buffer]) -> Buffer:
    """Return a global array of single-device arrays."""
    return ArrayImpl(aval, sharding, list(shards), True, True)  # type: ignore[no-any-return]


def to_host(arr: Buffer) -> np.ndarray[Any, Any]:
    """Return a single-device array as a read-only NumPy array, if possible without a copy.

    C++'s own reader searches for jax when it first reads an array: this takes 50
    microseconds if jax is not installed, and imports jax if it is.
    """
    dtype = arr.aval.dtype
    if arr.platform() == "cpu":
        if dtype in _BUFFER_DTYPES:
            return _view(arr)
        if dtypes.bits_of(dtype) in (8, 16):
            return _borrow(arr, dtype)
    return arr._single_device_array_to_np_array_did_copy()[0]  # type: ignore[no-any-return]


def _view(arr: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(memoryview(arr))
    except BufferError:
        block_all([arr])  # raises the error of the program that failed
        raise


# The dtypes of the buffer protocol.
_BUFFER_DTYPES = frozenset(map(np.dtype, "?bBhHiIqQefdFD"))


class _DLTensor(ctypes.Structure):
    """The beginning of a DLManagedTensor (dlpack.h)."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
    )


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.POINTER(_DLTensor)
_capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


# Kinds of dtypes by DLDataTypeCode (dlpack.h).
_DLPACK_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_DLPACK_FLOATS = {
    7: "float8_e3m4",
    8: "float8_e4m3",
    9: "float8_e4m3b11fnuz",
    10: "float8_e4m3fn",
    11: "float8_e4m3fnuz",
    12: "float8_e5m2",
    13: "float8_e5m2fnuz",
    14: "float8_e8m0fnu",
    17: "float4_e2m1fn",
}


def shape_and_dtype(capsule: Capsule) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and dtype of the tensor in a DLPack capsule."""
    tensor = _capsule_pointer(capsule, b"dltensor").contents
    name = _DLPACK_FLOATS.get(tensor.code)
    if name is None:
        kind = _DLPACK_KINDS[tensor.code]
        name = kind if kind == "bool" else f"{kind}{tensor.bits}"
    return tuple(tensor.shape[: tensor.ndim]), np.dtype(name)


def _borrow(arr: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Return the memory of a CPU array whose dtype the buffer protocol lacks."""
    capsule = to_dlpack(arr, None, None, False)
    address = _capsule_pointer(capsule, b"dltensor").contents.data
    size = arr.aval.size * dtype.itemsize
    value = np.zeros(arr.aval.shape, dtype)
    if size:
        memory = (ctypes.c_char * size).from_address(address)
        memory._lender = capsule  # keeps the array's memory alive
        value = np.frombuffer(memory, dtype).reshape(arr.aval.shape)
    value.flags.writeable = False
    return value


def shards_of(arr: Buffer) -> list[Buffer]:
    """Return the single-device arrays of a sharded array.

    C++ searches for a module of jax once for each of them. If jax is not in use, a None
    entry in `sys.modules` ends the search early: nothing is imported, and eight shards take
    70 microseconds instead of 800.
    """
    if "jax" in sys.modules:
        return arr._arrays  # type: ignore[no-any-return]
    modules: Any = sys.modules
    modules[_SEARCHED_MODULE] = None
    try:
        return arr._arrays  # type: ignore[no-any-return]
    finally:
        modules.pop(_SEARCHED_MODULE, None)


_SEARCHED_MODULE = "jax._src.sharding_impls"


def shards_to_host(arr: Buffer, aval: Aval) -> list[np.ndarray[Any, Any]]:
    """Return the shards of an array, each of type `aval`, as NumPy arrays like `to_host`."""
    shards = shards_of(arr)
    if aval.dtype in _BUFFER_DTYPES and shards and shards[0].platform() == "cpu":
        return list(map(_view, shards))
    return [to_host(with_aval(part, aval, part._sharding)) for part in shards]


def to_dlpack(
    arr: Buffer, stream: int | None, max_version: tuple[int, int] | None, copied: bool
) -> Capsule:
    """Return a dlpack capsule of a single-device array."""
    if VERSION >= 505:
        return _jax.buffer_to_dlpack_managed_tensor(arr, stream, max_version, copied)
    return _jax.buffer_to_dlpack_managed_tensor(arr, stream)


def from_dlpack(capsule: Capsule, device: Device, stream: int | None = None) -> Buffer:
    """Return the array of a dlpack capsule; the caller must set its aval."""
    return _jax.dlpack_managed_tensor_to_buffer(capsule, device, stream)  # type: ignore[no-any-return]


def block_all(arrays: list[Buffer]) -> None:
    """Wait for several arrays."""
    xc.batched_block_until_ready(arrays)


def compile_options(
    devices: Sequence[Device],
    replicas: int,
    partitions: int,
    overrides: dict[str, Any] | None,
    disable_optimizations: bool = False,
    caches: str | None = None,
) -> CompileOptions:
    """Return XLA's options for a program on `devices`, replicas major.

    caches: the directory in which XLA may keep its own cache files.
    """
    options = xc.CompileOptions()
    options.num_replicas, options.num_partitions = replicas, partitions
    build = options.executable_build_options
    build.use_spmd_partitioning = True
    build.use_shardy_partitioner = True
    ids = np.array([d.id for d in devices], np.int32).reshape(replicas, partitions)
    options.device_assignment = xc.DeviceAssignment.create(ids)
    if disable_optimizations:
        debug = build.debug_options
        debug.xla_backend_optimization_level = 0
        debug.xla_llvm_disable_expensive_passes = True
        debug.xla_test_all_input_layouts = False
    remaining = dict(overrides or {})
    for name, opt in _EFFORTS.items():
        value = remaining.pop(name, opt.value)
        if not hasattr(build, name):  # removed in 0.11
            if value:
                raise errors.value_error(
                    f"this jaxlib does not support {name}.",
                    why="the setting was removed from its compiler.",
                    tries=["jax_optimization_level", "jaxlib 0.10.2"],
                )
            continue
        setattr(build, name, _LEVELS[value] if isinstance(value, str) else value)
    if not config.REMAT_PASS.value:
        build.debug_options.xla_disable_hlo_passes = "rematerialization"
    if config.PROFILE_VERSION.value:
        options.profile_version = config.PROFILE_VERSION.value
    if caches is not None:
        _use_xla_caches(build.debug_options, caches)
    if remaining:
        options.env_option_overrides = list(remaining.items())
    return options


_EFFORTS = {
    "optimization_level": config.OPTIMIZATION,
    "memory_fitting_level": config.FITTING,
    "exec_time_optimization_effort": config.RUN_EFFORT,
    "memory_fitting_effort": config.MEMORY_EFFORT,
}
# XLA's numbers (ExecutionOptions.EffortLevel in xla.proto).
_LEVELS = {"UNKNOWN": 0, "O0": 9, "O1": 19, "O2": 29, "O3": 39}


_PARALLEL = "xla_gpu_enable_llvm_module_compilation_parallelism"


def _use_xla_caches(debug: Any, directory: str) -> None:
    """Enable XLA's own cache files for GPUs in the directory of compiled programs."""
    chosen = {w.strip() for w in config.XLA_CACHES.value.split(",")}
    everything = "all" in chosen
    name = "xla_gpu_kernel_cache_file"
    if everything or name in chosen:
        debug.xla_gpu_kernel_cache_file = os.path.join(directory, name)
        if hasattr(debug, _PARALLEL):  # the default in later versions
            setattr(debug, _PARALLEL, True)
    name = "xla_gpu_per_fusion_autotune_cache_dir"
    if everything or name in chosen:
        debug.xla_gpu_per_fusion_autotune_cache_dir = os.path.join(directory, name)
        debug.xla_gpu_experimental_autotune_cache_mode = _jax.AutotuneCacheMode.UPDATE


@functools.cache
def xla_flags() -> frozenset[str]:
    """Return the names of the options in `XLA_FLAGS`, which XLA has read."""
    flags = os.environ.get("XLA_FLAGS", "").split()
    return frozenset(flag.lstrip("-").partition("=")[0] for flag in flags)


def coordination_service(
    address: str, count: int, heartbeat: int, shutdown: int, recoverable: bool
) -> CoordinationService:
    """Return the service through which `count` processes connect; times are in seconds."""
    return _jax.get_distributed_runtime_service(  # type: ignore[no-any-return]
        address,
        count,
        heartbeat_timeout=heartbeat,
        shutdown_timeout=shutdown,
        recoverable=recoverable,
    )


def coordination_client(
    address: str, me: int, timeout: int, heartbeat: int, shutdown: int
) -> CoordinationClient:
    """Return a client of the service, not yet connected."""
    return _jax.get_distributed_runtime_client(  # type: ignore[no-any-return]
        address,
        me,
        init_timeout=timeout,
        heartbeat_timeout=heartbeat,
        shutdown_timeout=shutdown,
        shutdown_on_destruction=False,
        use_compression=True,
    )


def preemption_manager(client: CoordinationClient) -> Any:
    """Return the manager that agrees on a step at which to save once a process is
    preempted."""
    manager = _jax.create_preemption_sync_manager()
    manager.initialize(client)
    return manager


def gloo_collectives(client: CoordinationClient, hostname: str | None) -> Any:
    """Return collectives over TCP, between processes on CPUs."""
    return _jax.make_gloo_tcp_collectives(client, hostname=hostname)


def mpi_collectives() -> Any:
    """Return collectives over MPI, between processes on CPUs."""
    return _jax.make_mpi_collectives()


def make_cpu_client(num_devices: int, asynchronous: bool, **distributed: Any) -> Client:
    """Return a client of the CPU platform."""
    return xc.make_cpu_client(num_devices=num_devices, asynchronous=asynchronous, **distributed)  # type: ignore[no-any-return]


def is_compile_only(client: Client) -> bool:
    """Whether a client has compile-only devices: it compiles and cannot load programs."""
    return type(client).__name__ == "CompileOnlyPyClient"


_lapack_ready = False


def register_lapack() -> None:
    """Register the LAPACK routines with XLA on CPU, on first use, since this imports scipy."""
    global _lapack_ready
    if _lapack_ready:
        return
    from jaxlib import lapack

    lapack._lapack.initialize()
    for name, capsule, version in lapack.registrations()["cpu"]:
        xc.register_custom_call_target(name, capsule, platform="cpu", api_version=version)
        xc.register_custom_call_as_batch_partitionable(name)
    _lapack_ready = True


def with_lapack(make: Callable[..., Any], *args: Any) -> Any:
    """Return `make(*args)`; register LAPACK and retry if the program calls it.

    This happens for programs that were exported or serialized elsewhere, or call LAPACK by
    name.
    """
    try:
        return make(*args)
    except RuntimeFailure as e:
        if _lapack_ready or "No FFI handler registered" not in str(e):
            raise
        register_lapack()
        return make(*args)
