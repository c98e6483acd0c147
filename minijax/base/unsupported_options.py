"""JAX's options with one supported value in minijax, grouped by the reason.

Setting an option to its supported value has no effect; any other value raises.  Next:
config.py, the options with an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from . import option

_PALLAS = "minijax has no Pallas kernels."
_PROCESSES = "device_put does not send arrays to other processes; compiled programs do."
_EXPORT = "Exported.serialize writes one version of the format."
_TF = "minijax has no jax2tf."
_PROFILE = "minijax does not recompile programs with data from profiles."
_ONE_WAY = "minijax has one implementation of this."
_MANUAL = "each call of shard_map chooses by its argument check_vma."
_FRAMES = "an operation records one source location: the user's line."
_CHECKS = "jax.experimental.checkify detects these errors; programs do not raise on devices."
_MOCKS = "jax.experimental.topologies describes absent devices; there are no mock clients."

# Options that select one of several implementations in JAX, with equal results.  minijax has
# one implementation, so both values are accepted.
ACCEPTED_EITHER_WAY = {
    "jax_custom_vjp3": False,
    "jax_remat3": False,
    "jax_scan3": False,
    "jax_refs_to_pins": False,
    "jax_use_direct_linearize": True,
    "jax_threefry_gpu_kernel_lowering": False,
    "jax_bcoo_cusparse_lowering": False,
    "jax_ragged_dot_use_ragged_dot_instruction": True,
    "jax_ragged_dot_use_gpu_pallas_triton_lowering": False,
    "jax_export_ignore_forward_compatibility": False,
}
# The values are minijax's behaviour, also where they differ from JAX's defaults.
_TABLE: dict[str, dict[str, Any]] = {
    _PALLAS: {
        "jax_pallas_enable_debug_checks": False,
        "jax_pallas_poison_buffers": False,
        "jax_pallas_use_mosaic_gpu": True,
        "jax_pallas_verbose_errors": False,
        "jax_mosaic_allow_hlo": False,
        "jax_use_emit_pipeline_primitive": False,
    },
    _PROCESSES: {
        "jax_cross_host_transfer_socket_address": "",
        "jax_cross_host_transfer_timeout_seconds": None,
        "jax_cross_host_transfer_transfer_size": None,
        "jax_cross_host_transport_addresses": "",
        "jax_force_dcn_cross_host_transfers": False,
    },
    "each process compiles its own programs.": {
        "jax_share_binary_between_hosts": False,
        "jax_share_binary_between_hosts_timeout_ms": 1_200_000,
    },
    _EXPORT: {"jax_serialization_version": 0},
    _TF: {
        "jax2tf_associative_scan_reductions": False,
        "jax2tf_default_native_serialization": True,
    },
    _PROFILE: {
        "jax_enable_pgle": False,
        "jax_pgle_aggregation_percentile": 90,
        "jax_pgle_profiling_runs": 3,
        "jax_compilation_cache_expect_pgle": False,
    },
    _ONE_WAY: {
        "jax_use_simplified_jaxpr_constants": False,
        "jax_mutable_array_checks": True,
        "jax_use_shardy_partitioner": True,
        "jax_embedded_constants_max_bytes": 32,
        "jax_remove_custom_partitioning_ptr_from_cache_key": False,
    },
    "lax.linalg.qr and lax.linalg.eig choose by an argument of each call.": {
        "jax_use_magma": "auto",
    },
    "clear_backends does not search for leaked clients.": {
        "jax_debug_leaked_clients_on_clear_backends": False,
    },
    _MANUAL: {"check_vma": False, "jax_disable_vmap_shmap_error": False},
    _FRAMES: {
        "jax_include_full_tracebacks_in_locations": False,
        "jax_traceback_in_locations_limit": 1,
        "jax_source_url_schema": None,
        "jax_tracer_error_num_traceback_frames": 1,
    },
    _CHECKS: {
        "jax_error_checking_behavior_nan": "ignore",
        "jax_error_checking_behavior_divide": "ignore",
        "jax_error_checking_behavior_oob": "ignore",
        "jax_experimental_unsafe_xla_runtime_errors": False,
    },
    _MOCKS: {"jax_mock_gpu_topology": "", "mock_num_gpu_processes": 0},
    "minijax supports CPUs, CUDA GPUs and TPUs; other devices need a plugin.": {
        "jax_rocm_visible_devices": "all",
        "jax_oneapi_visible_devices": "all",
    },
    "XLA logs details of programs of every size.": {"jax_compiler_detailed_logging_min_ops": 0},
    "clients run in this process.": {"jax_backend_target": ""},
}
# Other values with the same meaning.
_EQUIVALENT: dict[str, Callable[[Any], bool]] = {
    "jax_use_magma": lambda v: v == "off",
    "jax_backend_target": lambda v: v == "local",
    "jax_traceback_in_locations_limit": bool,
    "jax_tracer_error_num_traceback_frames": bool,
}


def _never(value: Any) -> bool:
    return False


def checked_options() -> Iterator[tuple[str, Any, Callable[[Any], Any]]]:
    """Yield the name, the supported value and the check of each option."""
    kinds: dict[type, Callable[[Any], Any]] = {
        bool: option.as_bool,
        int: option.as_int,
        str: option.as_text,
        type(None): option.as_is,
    }
    for why, options in _TABLE.items():
        for name, supported in options.items():
            is_equivalent, kind = _EQUIVALENT.get(name, _never), kinds[type(supported)]
            yield name, supported, option.only(name, supported, is_equivalent, why, kind)
