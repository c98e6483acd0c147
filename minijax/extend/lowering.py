"""The public module `minijax.extend.lowering`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"views.lowering": "JaxIrContext LoweringRuleContext upstream_dialects"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
