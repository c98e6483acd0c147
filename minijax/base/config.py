"""Options: process-wide defaults, per-thread contexts.

Every option is one `Option`, kept in jaxlib's `Config` so that the C++ dispatcher
sees those that belong in its key.  An option is read with `OPTION.value`, set for
the process with `config.update('jax_...', v)` and for one thread and block with
`with OPTION(v):`.  Options that change what is traced carry `tracing=True`; their
values together are `trace_key()`, part of every cache of traces.

This room knows names and types of options, not what they do.  Next: errors.py.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from jaxlib import _jax

trace_key: Callable[[], Any] = _jax.config.trace_context


def _parse_bool(text: str) -> bool:
    low = text.lower()
    if low in ("y", "yes", "t", "true", "on", "1"):
        return True
    if low in ("n", "no", "f", "false", "off", "0", ""):
        return False
    raise ValueError(f"invalid truth value {text!r}")


class Option:
    """One option: `.value` reads it, `opt(v)` is a context manager for this thread."""

    __slots__ = ("__dict__", "_cell", "check", "name", "on_change")

    def __init__(
        self, name: str, default: Any, check: Callable[[Any], Any], *,
        in_key: bool = False, tracing: bool = False,
    ) -> None:  # fmt: skip
        env = os.environ.get(name.upper())
        if env is not None:
            kind = check is _as_bool
            default = _parse_bool(env) if kind else check(env if env != "" else None)
        self.name = name
        self.check = check
        self.on_change: Callable[[Any], None] | None = None
        self._cell = _jax.config.Config(
            "minijax:" + name,
            default,
            include_in_jit_key=in_key,
            include_in_trace_context=tracing,
        )

    @property
    def value(self) -> Any:
        return self._cell.value

    def update(self, value: Any) -> None:
        """Set the process-wide value."""
        value = self.check(value)
        if self.on_change is not None:
            self.on_change(value)
        self._cell.set_global(value)

    def swap(self, value: Any) -> Any:
        """Set this thread's value; returns what `swap_back` takes to undo it."""
        return self._cell.swap_local(value)

    def swap_back(self, before: Any) -> None:
        self._cell.set_local(before)

    @contextlib.contextmanager
    def __call__(self, value: Any = True) -> Iterator[None]:
        value = self.check(value)
        if self.on_change is not None:
            self.on_change(value)
        old = self.swap(value)
        try:
            yield
        finally:
            self.swap_back(old)


def _as_bool(value: Any) -> bool:
    if isinstance(value, str):
        return _parse_bool(value)
    if value is None:
        return False
    return bool(value)


def _as_int(value: Any) -> Any:
    return None if value is None else int(value)


def _as_float(value: Any) -> Any:
    return None if value is None else float(value)


def _as_local_path(value: Any) -> Any:
    if value is not None and re.match(r"[A-Za-z][\w+.-]*://", os.fspath(value)):
        raise ValueError(
            f"jax_compilation_cache_dir={os.fspath(value)!r} is not a local directory.\n"
            "Why: compiled programs are kept in files of this machine only; the text"
            " would become the name of a folder here.\n"
            "Try: a path, such as a mounted bucket's."
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


def _as_is(value: Any) -> Any:
    return value


def _one_of(*choices: Any) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value not in choices:
            none = "None or " if None in choices else ""
            raise ValueError(
                f"new enum value must be {none}in"
                f" {[c for c in choices if c is not None]}, got {value} of type"
                f" {type(value)}."
            )
        return value

    return check


def _explicit_x64(value: Any) -> Any:
    if value == "allow":
        raise NotImplementedError(
            "jax_explicit_x64_dtypes='allow' is not supported.\n"
            "Why: programs have 64-bit types everywhere or nowhere.\n"
            "Try: jax_enable_x64, or dtypes of 32 bits."
        )
    return _one_of("warn", "error")(value)


_PRECISIONS = (
    None, "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
    "fastest", "F8_F8_F32", "F8_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_F32",
    "ANY_F8_ANY_F8_F32_FAST_ACCUM", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16",
    "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9",
    "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
)  # fmt: skip

_OPTIONS: dict[str, Option] = {}


def _option(name: str, default: Any, check: Callable[[Any], Any], **kw: Any) -> Option:
    opt = Option(name, default, check, **kw)
    _OPTIONS[name] = opt
    return opt


_traced = {"in_key": True, "tracing": True}
X64 = _option("jax_enable_x64", False, _as_bool, **_traced)
EXPLICIT_X64 = _option("jax_explicit_x64_dtypes", "warn", _explicit_x64, **_traced)
PROMOTION = _option(
    "jax_numpy_dtype_promotion", "standard", _one_of("standard", "strict"), **_traced
)
RANK_PROMOTION = _option(
    "jax_numpy_rank_promotion", "allow", _one_of("allow", "warn", "raise"), **_traced
)
MATMUL_PRECISION = _option(
    "jax_default_matmul_precision", None, _one_of(*_PRECISIONS), **_traced
)
DEFAULT_DTYPE_BITS = _option(
    "jax_default_dtype_bits", "64", _one_of("32", "64"), **_traced
)
PRNG_IMPL = _option(
    "jax_default_prng_impl",
    "threefry2x32",
    _one_of(
        "threefry2x32", "rbg", "unsafe_rbg", "threefry4x32", "philox2x32", "philox4x32"
    ),
    **_traced,
)
SEED_OFFSET = _option("jax_random_seed_offset", 0, _as_int, **_traced)
WIDE_GUMBEL = _option("jax_high_dynamic_range_gumbel", False, _as_bool, **_traced)
THREEFRY_PARTITIONABLE = _option(
    "jax_threefry_partitionable", True, _as_bool, **_traced
)
CUSTOM_PRNG = _option("jax_enable_custom_prng", False, _as_bool, **_traced)
DISABLE_JIT = _option("jax_disable_jit", False, _as_bool, **_traced)
DEBUG_NANS = _option("jax_debug_nans", False, _as_bool, **_traced)
DEBUG_INFS = _option("jax_debug_infs", False, _as_bool, **_traced)
CHECK_LEAKS = _option("jax_check_tracer_leaks", False, _as_bool, **_traced)
FOLDING = _option("eager_constant_folding", False, _as_bool, **_traced)
ENABLE_CHECKS = _option("jax_enable_checks", False, _as_bool, **_traced)
DEFAULT_DEVICE = _option("jax_default_device", None, _as_device, **_traced)
SOFTMAX_CUSTOM_JVP = _option("jax_softmax_custom_jvp", False, _as_bool, **_traced)
DISABLE_MOST_OPTIMIZATIONS = _option(
    "jax_disable_most_optimizations", False, _as_bool, **_traced
)
LOG_COMPILES = _option("jax_log_compiles", False, _as_bool)
EXPLAIN_MISSES = _option("jax_explain_cache_misses", False, _as_bool)
CHECK_STATIC_INDICES = _option("jax_check_static_indices", False, _as_bool)
NO_TRACING = _option("jax_no_tracing", False, _as_bool)
TRACEBACK_FILTERING = _option("jax_traceback_filtering", "auto", _as_is)
PLATFORMS = _option("jax_platforms", None, _as_is)
NUM_CPU_DEVICES = _option("jax_num_cpu_devices", -1, _as_int)
CPU_ASYNC = _option("jax_cpu_enable_async_dispatch", True, _as_bool)
CACHE_DIR = _option("jax_compilation_cache_dir", None, _as_local_path)
CACHE_ENABLED = _option("jax_enable_compilation_cache", True, _as_bool)
CACHE_MAX_SIZE = _option("jax_compilation_cache_max_size", -1, _as_int)
CACHE_MIN_TIME = _option("jax_persistent_cache_min_compile_time_secs", 0.0, _as_float)
CACHE_MIN_SIZE = _option("jax_persistent_cache_min_entry_size_bytes", 0, _as_int)

# The current mesh (a `Mesh`, or None) of `set_mesh`, and of `with mesh:`; no options of
# the user's.
MESH = Option("minijax_current_mesh", None, _as_is, **_traced)
ENTERED_MESH = Option("minijax_entered_mesh", None, _as_is, **_traced)

# Set (per thread) while a trace other than evaluation is current: the C++ dispatcher
# then misses, and the call reaches Python, where the trace gets it.
TRACING = _jax.config.Config("minijax:tracing", False, include_in_jit_key=True)

_OLD_NAMES = {"jax_platform_name": "jax_platforms"}


class Configuration:
    """The object behind `minijax.config`: attributes read, `update` writes.

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

    def update(self, name: str, value: Any) -> None:
        """Set option `name` for the whole process."""
        _find(name, AttributeError).update(value)

    def read(self, name: str) -> Any:
        """The current value of option `name`."""
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
        raise error(
            f"Unrecognized config option: {name}.\n"
            f"Try: one of {', '.join(sorted(_OPTIONS))}"
        )
    return opt


config = Configuration()

# The public context managers, by JAX's names.
enable_x64 = X64
default_matmul_precision = MATMUL_PRECISION
numpy_dtype_promotion = PROMOTION
numpy_rank_promotion = RANK_PROMOTION
default_prng_impl = PRNG_IMPL
threefry_partitionable = THREEFRY_PARTITIONABLE
debug_nans = DEBUG_NANS
debug_infs = DEBUG_INFS
log_compiles = LOG_COMPILES
explain_cache_misses = EXPLAIN_MISSES
no_tracing = NO_TRACING
check_tracer_leaks = checking_leaks = CHECK_LEAKS
enable_checks = ENABLE_CHECKS
enable_custom_prng = CUSTOM_PRNG
default_device = DEFAULT_DEVICE
softmax_custom_jvp = SOFTMAX_CUSTOM_JVP
disable_jit = DISABLE_JIT

# What each is for; where it is no bool, also the values that it takes, and one of them.
_BOOL = ("True or False", True)
_SAYS: dict[Option, tuple[Any, ...]] = {
    X64: ("Whether there are 64-bit types, which otherwise narrow to 32 bits.",),
    MATMUL_PRECISION: (
        "The precision of matrix products and convolutions that are asked for none.",
        "None: the platform's; 'default', 'high', 'highest', 'float32', 'F16_F16_F32' ..",
        "float32",
    ),
    PROMOTION: (
        "What happens to operands of different dtypes.",
        "'standard': they promote; 'strict': only weak types do, others raise",
        "strict",
    ),
    RANK_PROMOTION: (
        "What happens to operands of different ranks, which broadcast.",
        "'allow', 'warn' or 'raise'",
        "warn",
    ),
    PRNG_IMPL: (
        "The implementation of random keys that are made without `impl`.",
        "'threefry2x32', 'rbg', 'unsafe_rbg', 'philox4x32' ..",
        "rbg",
    ),
    THREEFRY_PARTITIONABLE: (
        "Whether each number that threefry draws comes of its own position alone.",
    ),
    DEBUG_NANS: ("Whether an operation that makes a nan raises FloatingPointError.",),
    DEBUG_INFS: ("Whether an operation that makes an inf raises FloatingPointError.",),
    LOG_COMPILES: ("Whether each compilation is logged, with its types.",),
    EXPLAIN_MISSES: (
        "Whether each new trace of a jitted function is logged, and why.",
    ),
    NO_TRACING: ("Whether a jitted function that is traced anew raises RuntimeError.",),
    CHECK_LEAKS: ("Whether a trace raises when values outlive it.",),
    ENABLE_CHECKS: ("Whether each jaxpr is checked when its trace ends.",),
    CUSTOM_PRNG: ("Whether `random.PRNGKey` makes opaque keys, as `random.key` does.",),
    DEFAULT_DEVICE: (
        "Where arrays are made that are not committed to a device.",
        "a device, or a platform such as 'cpu'; None: the default platform's first one",
        "cpu",
    ),
    SOFTMAX_CUSTOM_JVP: (
        "Whether the derivative of `nn.softmax` is made of its result alone.",
    ),
    DISABLE_JIT: ("Whether jitted functions run in Python, operation by operation.",),
}
for _opt, (_what, *_values) in _SAYS.items():
    _takes, _sample = _values or _BOOL
    _opt.__doc__ = f"""{_what}

    Args:
      value: {_takes}.

    Returns:
      A context manager: in its block, and in this thread, the option has that value.
      `config.update('{_opt.name}', value)` sets it for the process.

    Raises:
      ValueError: a value that the option does not take.

    Example:
      >>> import minijax as mj
      >>> with mj.{_opt.name.removeprefix("jax_")}({_sample!r}):
      ...     mj.config.{_opt.name}
      {_sample!r}
    """


def disable_x64() -> Any:
    """A context in which 64-bit types narrow to 32 bits.

    Returns:
      A context manager, for its block and this thread.

    Example:
      >>> import minijax as mj
      >>> with disable_x64():
      ...     str(mj.numpy.arange(2).dtype)
      'int32'
    """
    return enable_x64(False)
