"""The public module `minijax.extend.lowering`."""

from ..views.lowering import JaxIrContext as JaxIrContext
from ..views.lowering import LoweringRuleContext as LoweringRuleContext
from ..views.lowering import upstream_dialects as upstream_dialects

__all__ = [
    "JaxIrContext", "LoweringRuleContext", "upstream_dialects"
]
