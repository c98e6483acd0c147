"""The public module `minijax.stages`."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "api.aot": "ArgInfo Compiled CompilerOptions Lowered Traced",
    "control.calls.jitted": "Wrapped=Jitted",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
