"""The public module `minijax.profiler`: profiles of time and memory."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "api.profiler": """
        ProfileData ProfileEvent ProfileOptions ProfilePlane StepTraceAnnotation
        TraceAnnotation annotate_function device_memory_profile register_subprocess
        save_device_memory_profile start_server start_trace stop_server stop_trace trace
    """
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
