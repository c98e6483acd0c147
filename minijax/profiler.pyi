"""The public module `minijax.profiler`: profiles of time and memory."""

from .api.profiler import ProfileData as ProfileData
from .api.profiler import ProfileEvent as ProfileEvent
from .api.profiler import ProfileOptions as ProfileOptions
from .api.profiler import ProfilePlane as ProfilePlane
from .api.profiler import StepTraceAnnotation as StepTraceAnnotation
from .api.profiler import TraceAnnotation as TraceAnnotation
from .api.profiler import annotate_function as annotate_function
from .api.profiler import device_memory_profile as device_memory_profile
from .api.profiler import register_subprocess as register_subprocess
from .api.profiler import save_device_memory_profile as save_device_memory_profile
from .api.profiler import start_server as start_server
from .api.profiler import start_trace as start_trace
from .api.profiler import stop_server as stop_server
from .api.profiler import stop_trace as stop_trace
from .api.profiler import trace as trace

__all__ = [
    "ProfileData", "ProfileEvent", "ProfileOptions", "ProfilePlane",
    "StepTraceAnnotation", "TraceAnnotation", "annotate_function",
    "device_memory_profile", "register_subprocess", "save_device_memory_profile",
    "start_server", "start_trace", "stop_server", "stop_trace", "trace"
]
