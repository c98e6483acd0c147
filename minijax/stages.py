"""The public module `minijax.stages`."""

from __future__ import annotations

from .base.lazy_modules import face

_TABLE = {
    "api.aot": "ArgInfo Compiled CompilerOptions Lowered Traced",
    "control.calls.jitted": "Wrapped=Jitted",
}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
