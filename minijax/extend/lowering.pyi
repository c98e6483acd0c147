"""The face `minijax.extend.lowering`."""

from ..views.lowering import LoweringRuleContext as LoweringRuleContext

__all__ = [
    "LoweringRuleContext"
]
