"""The public module `minijax.experimental.roofline`: what functions cost each device."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module
from . import roofline

del roofline  # a function here: loaded, the module takes its name no more

_TABLE = {
    "tools.rooflines": """
        RooflineResult RooflineRuleContext RooflineShape register_roofline
        register_standard_roofline roofline roofline_and_grad
    """
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
