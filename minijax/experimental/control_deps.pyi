"""The public module `minijax.experimental.control_deps`: dependencies that order operations."""

from ..api.compiler_hints import control_dep as control_dep
from ..api.compiler_hints import schedule as schedule

__all__ = [
    "control_dep", "schedule"
]
