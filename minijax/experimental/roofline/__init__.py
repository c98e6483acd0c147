"""The public module `minijax.experimental.roofline`: estimated costs of functions per device."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module
from . import roofline

del roofline  # it stays loaded, so it cannot replace the function of the same name later

_TABLE = {
    "tools.rooflines": """
        RooflineResult RooflineRuleContext RooflineShape register_roofline
        register_standard_roofline roofline roofline_and_grad
    """
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
