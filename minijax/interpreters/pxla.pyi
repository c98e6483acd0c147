"""The public module `minijax.interpreters.pxla`."""

from ..api.aot import Compiled as MeshExecutable
from ..api.aot import Lowered as MeshComputation
from ..runtime.sharding.mesh import Mesh as Mesh
from ..runtime.sharding.shardings import UNSPECIFIED as _UNSPECIFIED
from ..views.meshes import ArrayMapping as ArrayMapping
from ..views.meshes import Index as Index
from ..views.meshes import MeshAxisName as MeshAxisName
from ..views.meshes import are_hlo_shardings_equal as are_hlo_shardings_equal
from ..views.meshes import array_mapping_to_axis_resources as array_mapping_to_axis_resources
from ..views.meshes import is_hlo_sharding_replicated as is_hlo_sharding_replicated
from ..views.meshes import op_sharding_to_indices as op_sharding_to_indices
from ..views.meshes import thread_resources as thread_resources
from ..views.results import create_compile_options as create_compile_options
from ..views.results import global_aval_to_result_handler as global_aval_to_result_handler
from ..views.results import global_avals_to_results_handler as global_avals_to_results_handler
from ..views.results import global_result_handlers as global_result_handlers

__all__ = [
    "ArrayMapping", "Index", "Mesh", "MeshAxisName", "MeshComputation",
    "MeshExecutable", "_UNSPECIFIED", "are_hlo_shardings_equal",
    "array_mapping_to_axis_resources", "create_compile_options",
    "global_aval_to_result_handler", "global_avals_to_results_handler",
    "global_result_handlers", "is_hlo_sharding_replicated", "op_sharding_to_indices",
    "thread_resources"
]
