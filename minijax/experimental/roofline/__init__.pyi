"""The public module `minijax.experimental.roofline`: estimated costs of functions per device."""

from ...tools.rooflines import RooflineResult as RooflineResult
from ...tools.rooflines import RooflineRuleContext as RooflineRuleContext
from ...tools.rooflines import RooflineShape as RooflineShape
from ...tools.rooflines import register_roofline as register_roofline
from ...tools.rooflines import register_standard_roofline as register_standard_roofline
from ...tools.rooflines import roofline as roofline
from ...tools.rooflines import roofline_and_grad as roofline_and_grad

__all__ = [
    "RooflineResult", "RooflineRuleContext", "RooflineShape", "register_roofline",
    "register_standard_roofline", "roofline", "roofline_and_grad"
]
