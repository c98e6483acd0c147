"""minijax: JAX's interface on jaxlib's compiler.

Each name is loaded from its module when it is first used, so `import minijax` loads few
modules.  CONTRIBUTING.md describes the packages.
"""

from __future__ import annotations

from .base import above as _above
from .base.config import config as config
from .base.lazy_modules import lazy_module

__version__ = "0.1.0"
__version_info__ = (0, 1, 0)

_TABLE = {
    "base.config": """
        enable_x64 default_matmul_precision numpy_dtype_promotion numpy_rank_promotion
        default_prng_impl threefry_partitionable debug_nans debug_infs debug_key_reuse
        allow_f16_reductions log_compiles check_tracer_leaks checking_leaks enable_checks
        enable_custom_prng default_device disable_jit softmax_custom_jvp
        explain_cache_misses no_tracing legacy_prng_key transfer_guard
        transfer_guard_host_to_device transfer_guard_device_to_device
        transfer_guard_device_to_host array_garbage_collection_guard thread_guard
        no_execution remove_size_one_mesh_axis_from_type auto_pcast make_user_context
    """,
    "prims.shape.ds": "ds",
    "runtime.arrays.array": "Array Shard block_until_ready copy_to_host_async",
    "runtime.backends.client": "devices local_devices",
    "runtime.sharding.mesh": "make_mesh set_mesh",
    "runtime.sharding.partition_spec": "P=PartitionSpec",
    "runtime.sharding.shardings": "NamedSharding",
    "types.dtypes": "float0",
    "control.calls.jit": "clear_caches",
    "control.calls.remat": "checkpoint remat",
    "control.callbacks.callbacks": "pure_callback",
    "control.effects.effects": "effects_barrier",
    "control.refs.refs": "Ref empty_ref free_ref freeze new_ref",
    "control.rules.custom_gradient": "custom_gradient closure_convert",
    "control.rules.custom_jvp": "custom_jvp",
    "control.rules.custom_vjp": "custom_vjp",
    "api.aot": "jit",
    "api.autodiff": "grad value_and_grad jvp linearize",
    "api.devices": """
        device_put device_get device_count local_device_count default_backend process_index
        process_count process_indices device_put_replicated device_put_sharded host_count
        host_id host_ids live_arrays clear_backends print_environment_info Device
    """,
    "api.jacobians": "jacfwd jacrev jacobian hessian",
    "api.pmap": "pmap",
    "api.shard_map": "shard_map smap",
    "api.vjp": "vjp linear_transpose fwd_and_bwd",
    "api.scopes": "named_scope named_call ensure_compile_time_eval",
    "api.explicit_axes": "reshard",
    "api.eval_shape": "ShapeDtypeStruct eval_shape make_jaxpr typeof",
    "api.make_array": """
        make_array_from_callback make_array_from_process_local_data
        make_array_from_single_device_arrays
    """,
    "api.vmap": "vmap",
}
_MODULES = (
    "ad ad_checkpoint api_util checkpoint_policies cloud_tpu_init core custom_batching"
    " custom_derivatives debug distributed dlpack dtypes errors example_libraries"
    " experimental export extend ffi flatten_util image interpreters lax lib memory"
    " monitoring nn numpy ops profiler random ref scipy sharding stages test_util"
    " tools tree tree_util typing version"
)

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, _MODULES)

# Low layers call higher ones only through hooks: name -> modules that fill the hook.
_FILLED_BY = {
    "operations": "prims.core_ops",
    "surface": "surface.numpy.methods",
    "primitives": """
        prims.lax prims.lax_linalg prims.fft prims.dot.ragged prims.reduce.generic
        prims.reduce.reduce_window prims.reduce.window_reductions prims.random.generators
        surface.random.gammas control.branches.cond control.calls.pmap
        control.calls.shard_map control.calls.custom_partitioning prims.layout
        control.calls.remat control.callbacks.callbacks control.effects.checkify_errors
        control.callbacks.debugging control.callbacks.inspect_sharding control.effects.sinks
        control.loops.scan control.loops.while_loop control.rules.custom_gradient
        control.rules.custom_jvp control.rules.custom_solve control.rules.custom_vjp
        control.rules.remat_opt prims.stop_gradient surface.numpy.methods
    """,
    "rare_primitives": """
        api.compiler_hints api.xla_metadata control.calls.call_exported
        control.calls.composite control.callbacks.buffer_callback control.callbacks.ffi_call
        control.rules.custom_vmap prims.host_local prims.sizes surface.recurrent.lstm
        surface.sparse.api surface.sparse.bcoo_dense surface.sparse.bcoo_dot
        surface.sparse.bcoo_layout surface.sparse.bcsr_ops surface.sparse.coo
        surface.sparse.csr surface.sparse.direct surface.values views.primitives
    """,
    "evaluate": "runtime.running.dispatch",
    "evaluate_batched": "runtime.running.compiled_rules",
    "evaluate_jvp": "runtime.running.compiled_rules",
    "evaluate_linearized": "runtime.running.compiled_rules",
    "evaluate_transpose": "runtime.running.compiled_rules",
    "check_jaxpr": "analysis.check",
    "jaxpr_text": "text.printer",
    "equation_text": "text.printer",
    "reference": "control.refs.refs",
    "discharge_jaxpr": "control.refs.discharge",
    "started": "control.effects.effects",
    "dimension_value": "prims.sizes",
    "key_array": "surface.random.keys",
    "wrap_key_words": "prims.random.key_arrays",
    "jit_methods": "api.aot",
    "overridden": "views.lowering_overrides",
    "param_by_jax_name": "views.jax_params",
    "library_attribute": "views.attributes",
    "bind_params": "views.subfuns",
    "bind_functions": "views.subfuns",
    "tracer_errors": "text.tracer_errors",
    "no_sharding": "runtime.sharding.shardings",
    "public_manual_axes": "runtime.sharding.manual_axis_type",
    "array_namespace": "numpy",
    "first_nan": "tools.nan_finder",
}

for _name, _modules in _FILLED_BY.items():
    _above.homes[_name] = tuple(f"{__name__}.{module}" for module in _modules.split())
