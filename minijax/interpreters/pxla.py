"""The public module `minijax.interpreters.pxla`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "runtime.sharding.mesh": "Mesh",
    "api.aot": "MeshComputation=Lowered MeshExecutable=Compiled",
    "runtime.sharding.shardings": "_UNSPECIFIED=UNSPECIFIED",
    "views.meshes": """
        ArrayMapping Index MeshAxisName are_hlo_shardings_equal
        array_mapping_to_axis_resources is_hlo_sharding_replicated op_sharding_to_indices
        thread_resources
    """,
    "views.results": """
        create_compile_options global_aval_to_result_handler global_avals_to_results_handler
        global_result_handlers
    """,
}

_OLD = "jax.interpreters.pxla.{} is deprecated as of JAX v0.8.2."

_WARNED = {
    _OLD: "ArrayMapping Index MeshComputation MeshExecutable _UNSPECIFIED"
    " are_hlo_shardings_equal array_mapping_to_axis_resources"
    " global_aval_to_result_handler global_avals_to_results_handler"
    " global_result_handlers is_hlo_sharding_replicated op_sharding_to_indices",
    f"{_OLD} Use jax.sharding.Mesh axis names directly.": "MeshAxisName",
    f"{_OLD} Please switch to using `with jax.set_mesh(mesh)` instead of `with mesh:` and"
    " then use `jax.sharding.get_abstract_mesh()` to get the current mesh.": "thread_resources",
}

_REMOVED_MESSAGE = "jax.interpreters.pxla.{} was removed in JAX v0.10.0."

_REMOVED = {
    _REMOVED_MESSAGE: "MapTracer PmapExecutable parallel_callable shard_args",
    f"{_REMOVED_MESSAGE} Please use `jax.shard_map` instead of `jax.pmap`.": """
        Chunked NoSharding Replicated ShardedAxis ShardingSpec Unstacked spec_to_indices
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, warned=_WARNED, removed=_REMOVED)
