"""The face `minijax.extend.lowering`."""

from __future__ import annotations

from ..base.faces import face

_TABLE = {"views.lowering": "JaxIrContext LoweringRuleContext upstream_dialects"}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
