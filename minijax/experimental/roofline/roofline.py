"""The public module `minijax.experimental.roofline.roofline`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "base.paired": "map=safe_map",
    "tools.rooflines": """
        RooflineResult RooflineRuleContext RooflineShape register_roofline
        register_standard_roofline roofline roofline_and_grad
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
