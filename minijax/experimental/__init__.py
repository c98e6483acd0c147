"""The public module `minijax.experimental`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "base.config": "disable_x64 enable_x64",
    "control.callbacks.callbacks": "io_callback",
    "surface.own_dtypes": "primal_tangent_dtype",
    "views.hijax": "cur_qdd",
    "views.numbers": "EArray",
}

_MODULES = (
    "array_serialization buffer_callback checkify colocated_python compilation_cache"
    " compute_on control_deps custom_partitioning fused hijax jet key_reuse layout"
    " mesh_utils multihost_utils ode pjit profiler random rnn roofline"
    " scheduling_groups serialize_executable shard_alike shard_map source_mapper sparse"
    " topologies transfer xla_metadata"
)

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, _MODULES)
