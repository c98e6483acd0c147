"""The public module `minijax.experimental.hijax`: composite types and primitives."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "passes.ad_util": "Zero instantiate_zeros:=instantiate is_undefined_primal:=is_linear",
    "types.avals": "AbstractRef AbstractValue ShapedArray",
    "views.hijax": """
        AvalMutableQDD AvalQDD HiPrimitive HiPspec HiType MutableHiType VJPHiPrimitive
        aval_method aval_property control_flow_allowed_effects register_hitype
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
