"""The public module `minijax.extend.xla`: user-defined compiler passes."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "runtime.running.compiler_passes": """
        PipelineStage clear_hlo_module_transformation register_hlo_module_transformation
    """
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
