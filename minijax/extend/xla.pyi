"""The public module `minijax.extend.xla`: user-defined compiler passes."""

from ..runtime.running.compiler_passes import PipelineStage as PipelineStage
from ..runtime.running.compiler_passes import clear_hlo_module_transformation as clear_hlo_module_transformation
from ..runtime.running.compiler_passes import register_hlo_module_transformation as register_hlo_module_transformation

__all__ = [
    "PipelineStage", "clear_hlo_module_transformation",
    "register_hlo_module_transformation"
]
