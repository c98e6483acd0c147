"""Options of JAX's that can be nothing but what they are, by the reason why.

Setting one to what it is does nothing; anything else raises.  Next: config.py, the options
that do something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from . import option

_PALLAS = "there are no Pallas kernels here."
_PROCESSES = "arrays go to other processes by programs alone, over all their devices."
_EXPORT = "exported programs have one format."
_TF = "there is no jax2tf here."
_PROFILE = "programs are not compiled again by what a profile says."
_ONE_WAY = "there is one way of doing this, and no older or newer one beside it."
_MANUAL = "shard_map says so for itself, by check_vma."
_FRAMES = "an operation knows one place: the line of the program that asked for it."
_CHECKS = "jax.experimental.checkify finds these; there are no checks on devices."
_MOCKS = "programs are compiled for absent devices by topologies, not by mock clients."

# Options that choose between implementations in JAX: results are the same.  There is one
# implementation here, so that both values are accepted.
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
# Values that differ from JAX's defaults are what minijax does: reading them says so.
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
    "each process compiles its programs.": {
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
        "jax_debug_leaked_clients_on_clear_backends": False,
        "jax_use_magma": "auto",
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
    "there are CPUs, CUDA and TPUs here.": {
        "jax_rocm_visible_devices": "all",
        "jax_oneapi_visible_devices": "all",
    },
    "XLA logs what it has to say of programs of every size.": {
        "jax_compiler_detailed_logging_min_ops": 0
    },
    "clients are of this process.": {"jax_backend_target": ""},
}
# Other values that amount to the same.
_EQUIVALENT: dict[str, Callable[[Any], bool]] = {
    "jax_use_magma": lambda v: v == "off",
    "jax_backend_target": lambda v: v == "local",
    "jax_traceback_in_locations_limit": bool,
    "jax_tracer_error_num_traceback_frames": bool,
}


def _never(value: Any) -> bool:
    return False


def checked_options() -> Iterator[tuple[str, Any, Callable[[Any], Any]]]:
    """Name, value and check of each."""
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
