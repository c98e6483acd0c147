"""The face `minijax.extend.lowering`."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {"views.lowering": "JaxIrContext LoweringRuleContext upstream_dialects"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
