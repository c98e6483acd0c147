"""The public module `minijax.stages`."""

from .api.aot import ArgInfo as ArgInfo
from .api.aot import Compiled as Compiled
from .api.aot import CompilerOptions as CompilerOptions
from .api.aot import Lowered as Lowered
from .api.aot import Traced as Traced
from .control.calls.jitted import Jitted as Wrapped

__all__ = [
    "ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"
]
