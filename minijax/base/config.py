"""Options: process-wide defaults, and values for one thread and block.

`OPTION.value` reads an option, `config.update('jax_...', v)` sets it for the process, and
`with OPTION(v):` for one thread and block.  The values of all options that tracing has read
are `trace_key()`, part of the key of every cache of traces (option.py).

This package knows names and types of options, not their effect.  Next: errors.py.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

from . import errors, flags, option, unsupported_options
from .option import (
    Option,
    UserContext,
    as_bool,
    as_float,
    as_int,
    as_is,
    as_text,
    as_text_or_none,
    between,
    one_of,
)

TRACING = option.TRACING
trace_key = option.trace_key


def _as_local_path(value: Any) -> Any:
    path = as_text_or_none(value)
    if path is not None and re.match(r"[A-Za-z][\w+.-]*://", path):
        raise ValueError(
            f"jax_compilation_cache_dir={path!r} is not a local directory.\n"
            "Why: the cache stores compiled programs as files of this machine, so the text"
            " would become the name of a local folder.\n"
            "Try: a path, such as the path of a mounted bucket."
        )
    return value


def _as_device(value: Any) -> Any:
    named = value in ("cpu", "gpu", "cuda", "rocm", "tpu")
    if value is None or named or hasattr(value, "platform"):
        return value
    raise ValueError(
        "jax.default_device must be passed either a Device object (e.g."
        " `jax.devices('cpu')[0]`) or a platform name string like 'cpu' or 'gpu', got:"
        f" {value!r}"
    )


def _as_pattern(value: Any) -> Any:
    if value is not None:
        re.compile(value)
    return value or None


_DUMPS = ("stablehlo", "jaxpr")
_LEVELS = ("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_EFFORTS = ("UNKNOWN", "O0", "O1", "O2", "O3")
_XLA_CACHES = ("xla_gpu_kernel_cache_file", "xla_gpu_per_fusion_autotune_cache_dir")


def _listed(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return a text of comma-separated words, each checked to be one of the choices."""
    text = as_text(value)
    for word in filter(None, map(str.strip, text.split(","))):
        if word not in choices:
            raise errors.value_error(
                f"{name}={text!r}: {word!r} is not supported.",
                why=f"the choices are {', '.join(choices)}.",
            )
    return text


def _as_dump_modes(value: Any) -> str:
    return _listed("jax_dump_ir_modes", value, _DUMPS)


def _as_xla_caches(value: Any) -> str:
    choices = ("all", "none", *_XLA_CACHES)
    return _listed("jax_persistent_cache_enable_xla_caches", value, choices)


def _as_device_ids(value: Any) -> str:
    text = as_text(value) or "all"
    if text != "all" and not all(n.strip().isdigit() for n in text.split(",")):
        raise errors.value_error(
            f"jax_cuda_visible_devices={text!r} is not a list of devices.",
            tries=["'all'", "comma-separated numbers: '0,1'"],
        )
    return text


def _as_pairs(value: Any) -> Any:
    if isinstance(value, dict):
        value = ";".join(f"{name}:{setting}" for name, setting in value.items())
    for pair in filter(None, as_text(value).split(";")):
        if ":" not in pair:
            raise errors.value_error(
                f"jax_pjrt_client_create_options={value!r}: {pair!r} is not an option.",
                tries=["'name:value;name:value'"],
            )
    return value or None


_PRECISIONS = (
    None,
    "default",
    "high",
    "highest",
    "bfloat16",
    "tensorfloat32",
    "float32",
    "fastest",
    "F8_F8_F32",
    "F8_F8_F32_FAST_ACCUM",
    "ANY_F8_ANY_F8_F32",
    "ANY_F8_ANY_F8_F32_FAST_ACCUM",
    "F16_F16_F16",
    "F16_F16_F32",
    "BF16_BF16_BF16",
    "BF16_BF16_F32",
    "BF16_BF16_F32_X3",
    "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9",
    "TF32_TF32_F32",
    "TF32_TF32_F32_X3",
    "F32_F32_F32",
    "F64_F64_F64",
)

_OPTIONS: dict[str, Option] = {}


def _option(name: str, default: Any, check: Callable[[Any], Any]) -> Option:
    opt = Option(name, default, check)
    _OPTIONS[name] = opt
    return opt


# ------------------------------------------------------------------- values and traces

X64 = _option("jax_enable_x64", False, as_bool)
EXPLICIT_X64 = _option("jax_explicit_x64_dtypes", "warn", one_of("warn", "error", "allow"))
PROMOTION = _option("jax_numpy_dtype_promotion", "standard", one_of("standard", "strict"))
RANK_PROMOTION = _option("jax_numpy_rank_promotion", "allow", one_of("allow", "warn", "raise"))
MATMUL_PRECISION = _option("jax_default_matmul_precision", None, one_of(*_PRECISIONS))
DEFAULT_DTYPE_BITS = _option("jax_default_dtype_bits", "64", one_of("32", "64"))
PRNG_IMPL = _option(
    "jax_default_prng_impl",
    "threefry2x32",
    one_of("threefry2x32", "rbg", "unsafe_rbg", "threefry4x32", "philox2x32", "philox4x32"),
)
SEED_OFFSET = _option("jax_random_seed_offset", 0, as_int)
WIDE_GUMBEL = _option("jax_high_dynamic_range_gumbel", False, as_bool)
THREEFRY_PARTITIONABLE = _option("jax_threefry_partitionable", True, as_bool)
CUSTOM_PRNG = _option("jax_enable_custom_prng", False, as_bool)
LEGACY_KEYS = _option("jax_legacy_prng_key", "allow", one_of("allow", "warn", "error"))
DISABLE_JIT = _option("jax_disable_jit", False, as_bool)
DEBUG_NANS = _option("jax_debug_nans", False, as_bool)
DEBUG_INFS = _option("jax_debug_infs", False, as_bool)
DEBUG_KEY_REUSE = _option("jax_debug_key_reuse", False, as_bool)
CHECK_LEAKS = _option("jax_check_tracer_leaks", False, as_bool)
# Not a user's option: the attributes of `set_xla_metadata`, as a part of the name stack.
METADATA = Option("xla_metadata", "", as_text)
FOLDING = _option("eager_constant_folding", False, as_bool)
ENABLE_CHECKS = _option("jax_enable_checks", False, as_bool)
AUTO_PCAST = _option("jax_auto_pcast", True, as_bool)
DEFAULT_DEVICE = _option("jax_default_device", None, _as_device)
SOFTMAX_CUSTOM_JVP = _option("jax_softmax_custom_jvp", True, as_bool)
PRECISE_SLOPES = _option("minijax_precise_slopes", True, as_bool)
DISABLE_MOST_OPTIMIZATIONS = _option("jax_disable_most_optimizations", False, as_bool)
F16_REDUCTIONS = _option("jax_allow_f16_reductions", True, as_bool)
UNCHECKED_BWD = _option("jax_disable_bwd_checks", False, as_bool)
CHECK_STATIC_INDICES = _option("jax_check_static_indices", False, as_bool)
NO_TRACING = _option("jax_no_tracing", False, as_bool)
NO_MESH_CONTEXT = _option("jax_disallow_mesh_context_manager", False, as_bool)
# Types never include axes of size 1, so both values are accepted.
NO_UNIT_AXES = _option("jax_remove_size_one_mesh_axis_from_type", False, as_bool)

# ------------------------------------------------------------- logs, warnings, tracebacks

LOG_COMPILES = _option("jax_log_compiles", False, as_bool)
LOG_RESIDUALS = _option("jax_log_checkpoint_residuals", False, as_bool)
EXPLAIN_MISSES = _option("jax_explain_cache_misses", False, as_bool)
LOGGING_LEVEL = _option("jax_logging_level", "NOTSET", one_of(None, *_LEVELS))
LOG_MODULES = _option("jax_debug_log_modules", "", as_text)
CONSTANTS_BYTES = _option("jax_captured_constants_warn_bytes", 2_000_000_000, as_int)
CONSTANTS_FRAMES = _option("jax_captured_constants_report_frames", 0, as_int)
USE_COLOR = _option("jax_pprint_use_color", True, as_bool)
DUMP_TO = _option("jax_dump_ir_to", "", as_text)
DUMP_MODES = _option("jax_dump_ir_modes", "stablehlo", _as_dump_modes)
DUMP_LOCATIONS = _option("jax_include_debug_info_in_dumps", True, as_bool)
SOURCE_FILES = _option("jax_hlo_source_file_canonicalization_regex", None, _as_pattern)
TRACEBACK_FILTERING = _option(
    "jax_traceback_filtering",
    "auto",
    one_of("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"),
)
TRACEBACK_TO_RUNTIME = _option(
    "jax_send_traceback_to_runtime", "off", one_of("off", "on", "full")
)

# ------------------------------------------------------------------- devices and transfers

PLATFORMS = _option("jax_platforms", None, as_text_or_none)
NUM_CPU_DEVICES = _option("jax_num_cpu_devices", -1, as_int)
CPU_ASYNC = _option("jax_cpu_enable_async_dispatch", True, as_bool)
CUDA_DEVICES = _option("jax_cuda_visible_devices", "all", _as_device_ids)
CLIENT_OPTIONS = _option("jax_pjrt_client_create_options", None, _as_pairs)
SORT_DEVICES = _option("jax_sort_devices_by_process_index", True, as_bool)
CPU_COLLECTIVES = _option("jax_cpu_collectives_implementation", "gloo", one_of("gloo", "mpi"))
LOCAL_TOPOLOGY = _option("jax_cpu_get_local_topology_timeout_minutes", 2, as_int)
GLOBAL_TOPOLOGY = _option("jax_cpu_get_global_topology_timeout_minutes", 5, as_int)
CHECK_PROXIES = _option("jax_check_proxy_envs", True, as_bool)
DISTRIBUTED_DEBUG = _option("jax_distributed_debug", False, as_bool)
PREEMPTION = _option("jax_enable_preemption_service", True, as_bool)
COMPARE_PROGRAMS = _option("minijax_compare_programs", True, as_bool)
RECOVERABLE = _option("jax_enable_recoverability", False, as_bool)
_levels = one_of(None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")
GUARDS = {
    direction: _option(f"jax_transfer_guard_{direction}", None, _levels)
    for direction in ("host_to_device", "device_to_device", "device_to_host")
}
TRANSFER_GUARD = _option("jax_transfer_guard", None, _levels)
GARBAGE_GUARD = _option(
    "jax_array_garbage_collection_guard", None, one_of(None, "allow", "log", "fatal")
)
THREAD_GUARD = _option("jax_thread_guard", False, as_bool)
NO_EXECUTION = _option("jax_no_execution", False, as_bool)

# --------------------------------------------------------------- the compiler and its cache

OPTIMIZATION = _option("jax_optimization_level", "UNKNOWN", one_of(*_EFFORTS))
FITTING = _option("jax_memory_fitting_level", "O2", one_of(*_EFFORTS))
RUN_EFFORT = _option("jax_exec_time_optimization_effort", 0.0, between(-1, 1))
MEMORY_EFFORT = _option("jax_memory_fitting_effort", 0.0, between(-1, 1))
REMAT_PASS = _option("jax_compiler_enable_remat_pass", True, as_bool)
IEEE_ARITHMETIC = _option("minijax_ieee_arithmetic", False, as_bool)
PROFILE_VERSION = _option("jax_xla_profile_version", 0, as_int)
CACHE_DIR = _option("jax_compilation_cache_dir", None, _as_local_path)
CACHE_ENABLED = _option("jax_enable_compilation_cache", True, as_bool)
CACHE_MAX_SIZE = _option("jax_compilation_cache_max_size", 2 << 30, as_int)
CACHE_MIN_TIME = _option("jax_persistent_cache_min_compile_time_secs", 0.0, as_float)
CACHE_MIN_SIZE = _option("jax_persistent_cache_min_entry_size_bytes", 0, as_int)
CACHE_LOCATIONS = _option("jax_compilation_cache_include_metadata_in_key", False, as_bool)
CACHE_CHECKED = _option("jax_compilation_cache_check_contents", False, as_bool)
CACHE_ERRORS = _option("jax_raise_persistent_cache_errors", False, as_bool)
EXPORT_VERSION = _option("jax_export_calling_convention_version", 10, as_int)
XLA_CACHES = _option("jax_persistent_cache_enable_xla_caches", "none", _as_xla_caches)
# A change of one of these clears all caches of traces and programs.  Such a change is rare,
# so these options are not part of any key.
RENEWING = (
    OPTIMIZATION,
    FITTING,
    RUN_EFFORT,
    MEMORY_EFFORT,
    REMAT_PASS,
    PROFILE_VERSION,
    CACHE_LOCATIONS,
    XLA_CACHES,
    SOURCE_FILES,
    IEEE_ARITHMETIC,
)

for _name, _default, _check in unsupported_options.checked_options():
    _option(_name, _default, _check)
for _name, _default in unsupported_options.ACCEPTED_EITHER_WAY.items():
    _option(_name, _default, as_bool)

# The current mesh (a `Mesh`, or None) of `set_mesh`, and of `with mesh:`; not options of
# the user.
MESH = Option("minijax_current_mesh", None, as_is)
ENTERED_MESH = Option("minijax_entered_mesh", None, as_is)
# Whether `auto_axes` or `explicit_axes` derived the current mesh from another one, over
# which arrays are still sharded.
RECAST_MESH = Option("minijax_recast_mesh", False, as_is)

_OLD_NAMES = {"jax_platform_name": "jax_platforms", "jax_xla_backend": "jax_platforms"}


def _guard_all(value: Any, local: bool) -> None:
    """Apply the value of `jax_transfer_guard` to transfers in all directions."""
    if value is not None and not local:
        for opt in GUARDS.values():
            opt.update(value)


TRANSFER_GUARD.watch(_guard_all)


class Config:
    """The object `minijax.config`: attributes read options, `update` sets them.

    >>> import minijax as mj
    >>> mj.config.jax_enable_x64
    False
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _find(name, AttributeError).value

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_OPTIONS]

    def update(self, name: str, value: Any) -> None:
        """Set option `name` for the whole process."""
        _find(name, AttributeError).update(value)
        flags.set_flag(_OLD_NAMES.get(name, name), value)

    def config_with_absl(self) -> None:
        """Define an absl flag for each option, such as `--jax_enable_x64`.

        `absl.app.run` then sets options from the command line; `update` sets the flags.

        Raises:
          ImportError: absl-py is not installed.

        Example:
          >>> import minijax as mj
          >>> mj.config.config_with_absl()  # doctest: +SKIP
          >>> absl.app.run(main)  # doctest: +SKIP
        """
        flags.define(_OPTIONS, _OLD_NAMES, self.update)

    def parse_flags_with_absl(self) -> None:
        """Set options from the `--jax_...` flags of the command line immediately.

        Only the first call has an effect; other flags are left to the program.

        Raises:
          ImportError: absl-py is not installed.
          ValueError: an option does not accept the value of its flag.

        Example:
          >>> import minijax as mj
          >>> mj.config.parse_flags_with_absl()  # doctest: +SKIP
        """
        self.config_with_absl()
        flags.parse(self.update)

    def read(self, name: str) -> Any:
        """Return the current value of option `name`."""
        return _find(name, AttributeError).value

    @property
    def values(self) -> dict[str, Any]:
        """All options and their current values."""
        return {name: opt.value for name, opt in _OPTIONS.items()}

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit types are enabled."""
        return bool(X64.value)


def _find(name: str, error: type[Exception]) -> Option:
    name = _OLD_NAMES.get(name, name)
    opt = _OPTIONS.get(name) or _OPTIONS.get("jax_" + name)
    if opt is None:
        import difflib

        similar = difflib.get_close_matches(name, _OPTIONS, 3, 0.5)
        raise errors.error(
            error,
            f"Unrecognized config option: {name}",
            tries=similar or ["minijax.config.values, which lists all options"],
        )
    return opt


config = Config()

# The public context managers, by their names in JAX.
enable_x64 = X64
default_matmul_precision = MATMUL_PRECISION
numpy_dtype_promotion = PROMOTION
numpy_rank_promotion = RANK_PROMOTION
default_prng_impl = PRNG_IMPL
threefry_partitionable = THREEFRY_PARTITIONABLE
debug_nans = DEBUG_NANS
debug_infs = DEBUG_INFS
debug_key_reuse = DEBUG_KEY_REUSE
allow_f16_reductions = F16_REDUCTIONS
log_compiles = LOG_COMPILES
explain_cache_misses = EXPLAIN_MISSES
no_tracing = NO_TRACING
check_tracer_leaks = checking_leaks = CHECK_LEAKS
enable_checks = ENABLE_CHECKS
enable_custom_prng = CUSTOM_PRNG
default_device = DEFAULT_DEVICE
softmax_custom_jvp = SOFTMAX_CUSTOM_JVP
legacy_prng_key = LEGACY_KEYS
transfer_guard_host_to_device = GUARDS["host_to_device"]
transfer_guard_device_to_device = GUARDS["device_to_device"]
transfer_guard_device_to_host = GUARDS["device_to_host"]
array_garbage_collection_guard = GARBAGE_GUARD
thread_guard = THREAD_GUARD
no_execution = NO_EXECUTION
remove_size_one_mesh_axis_from_type = NO_UNIT_AXES
auto_pcast = AUTO_PCAST

# A sentence for each; for options other than bools also their values and an example.
_BOOL = ("True or False", True)
_DESCRIPTIONS: dict[Option, tuple[Any, ...]] = {
    X64: ("Whether 64-bit types exist; otherwise they are converted to 32 bits.",),
    MATMUL_PRECISION: (
        "The precision of matrix products and convolutions without an explicit precision.",
        "None: the platform's default; 'default', 'high', 'highest', 'float32', 'F16_F16_F32' ..",
        "float32",
    ),
    PROMOTION: (
        "The treatment of operands of different dtypes.",
        "'standard': promote them; 'strict': promote only weak types, otherwise raise",
        "strict",
    ),
    RANK_PROMOTION: (
        "The treatment of operands of different ranks.",
        "'allow', 'warn' or 'raise' when they broadcast",
        "warn",
    ),
    PRNG_IMPL: (
        "The implementation of random keys that are created without `impl`.",
        "'threefry2x32', 'rbg', 'unsafe_rbg', 'philox4x32' ..",
        "rbg",
    ),
    THREEFRY_PARTITIONABLE: (
        "Whether threefry computes each number from its own position only.",
    ),
    DEBUG_KEY_REUSE: ("Whether using a random key twice raises KeyReuseError.",),
    F16_REDUCTIONS: ("Whether float16 sums are allowed; otherwise they raise ValueError.",),
    DEBUG_NANS: ("Whether an operation that produces a nan raises FloatingPointError.",),
    DEBUG_INFS: ("Whether an operation that produces an inf raises FloatingPointError.",),
    LOG_COMPILES: ("Whether each compilation is logged, with its types.",),
    EXPLAIN_MISSES: (
        "Whether each new trace of a jitted function is logged, with the reason.",
    ),
    NO_TRACING: ("Whether tracing a jitted function raises RuntimeError.",),
    CHECK_LEAKS: ("Whether a trace raises when values outlive it.",),
    ENABLE_CHECKS: ("Whether each jaxpr is checked when its trace ends.",),
    CUSTOM_PRNG: ("Whether `random.PRNGKey` returns opaque keys, as `random.key` does.",),
    DEFAULT_DEVICE: (
        "The device of new uncommitted arrays.",
        "a device, or a platform such as 'cpu'; None: the default platform's first device",
        "cpu",
    ),
    SOFTMAX_CUSTOM_JVP: (
        "Whether the derivative of `nn.softmax` is computed from its result only, which is"
        " accurate even if one share is nearly 1.",
    ),
    PRECISE_SLOPES: (
        "Whether the derivatives of `tanh` and `logistic` keep their relative precision"
        " where the functions saturate. If not, they are computed from the results, as in"
        " JAX: compiled gradients of networks keep one array less per layer, and jaxprs of"
        " derivatives contain only JAX's primitives.",
    ),
    LEGACY_KEYS: (
        "The treatment of raw (integer) keys in random functions.",
        "'allow', 'warn' or 'error'",
        "warn",
    ),
    **{
        opt: (
            f"Whether values may move {' '.join(direction.split('_'))}.",
            "'allow' or None; 'log' and 'disallow' apply to transfers without `device_put`"
            " or `device_get`; 'log_explicit' and 'disallow_explicit' to all",
            "log",
        )
        for direction, opt in GUARDS.items()
    },
    GARBAGE_GUARD: (
        "The treatment of arrays that the garbage collector frees as part of a cycle.",
        "'allow' or None; 'log'; 'fatal' aborts the process",
        "log",
    ),
    THREAD_GUARD: ("Whether only this thread may run programs of several processes.",),
    NO_EXECUTION: ("Whether running a compiled function raises RuntimeError.",),
    NO_UNIT_AXES: ("Whether types leave out mesh axes of size 1; minijax always does.",),
    AUTO_PCAST: ("Whether operands that vary over different mesh axes are converted.",),
}
for _opt, (_what, *_values) in _DESCRIPTIONS.items():
    _takes, _sample = _values or _BOOL
    _opt.__doc__ = f"""{_what}

    Args:
      new_val: {_takes}.

    Returns:
      A context manager: in its block, and in this thread, the option has that value.
      `config.update('{_opt.name}', value)` sets it for the process.

    Raises:
      ValueError: the option does not accept the value.

    Example:
      >>> import minijax as mj
      >>> with mj.{_opt.name.removeprefix("jax_")}({_sample!r}):
      ...     mj.config.{_opt.name}
      {_sample!r}
    """


def make_user_context(default_value: Any = None) -> UserContext:
    """Create a value on which traced programs depend, as they depend on options.

    Args:
      default_value: the value outside all blocks; all values must be hashable.

    Returns:
      A context manager: `with context(v):` sets its `value` to `v` in the block and thread.
      Jitted functions are traced again for each value.

    Raises:
      TypeError: a value that is not hashable.

    Example:
      >>> import minijax as mj
      >>> scale = make_user_context(1.0)
      >>> f = mj.jit(lambda x: x * scale.value)
      >>> with scale(3.0):
      ...     print(f(2.0), scale.value)
      6.0 3.0
      >>> print(f(2.0))
      2.0
    """
    hash(default_value)
    return UserContext(f"minijax_user_context_{next(_contexts)}", default_value)


_contexts = itertools.count()


@contextlib.contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """Run jitted functions in Python, operation by operation.

    Args:
      disable: True or False.

    Returns:
      A context manager, for its block and this thread.

    Example:
      >>> import minijax as mj
      >>> with disable_jit():
      ...     mj.jit(lambda x: type(x) is float)(1.0)
      True
    """
    with DISABLE_JIT(disable):
        yield


@contextlib.contextmanager
def transfer_guard(new_val: str | None) -> Iterator[None]:
    """Set whether values may move between the host and devices, or between devices.

    Args:
      new_val: 'allow' or None; 'log' or 'disallow': log, or raise at, transfers without
        `device_put` or `device_get`; 'log_explicit' or 'disallow_explicit': log, or raise
        at, all transfers.

    Returns:
      A context manager, for its block and this thread.

    Raises:
      ValueError: the option does not accept the value.

    Example:
      >>> import minijax as mj, numpy as np
      >>> with transfer_guard('disallow'):
      ...     y = mj.device_put(np.arange(3)) + mj.numpy.ones(3)
      >>> print(y)
      [1. 2. 3.]
    """
    with contextlib.ExitStack() as stack:
        for opt in GUARDS.values():
            stack.enter_context(opt(new_val))
        yield


def disable_x64() -> Any:
    """Return a context in which 64-bit types are converted to 32 bits.

    Returns:
      A context manager, for its block and this thread.

    Example:
      >>> import minijax as mj
      >>> with disable_x64():
      ...     str(mj.numpy.arange(2).dtype)
      'int32'
    """
    return enable_x64(False)
