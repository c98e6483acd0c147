"""The public module `minijax.experimental.hijax`: composite types and primitives."""

from ..passes.ad_util import Zero as Zero
from ..passes.ad_util import instantiate as instantiate_zeros
from ..passes.ad_util import is_linear as is_undefined_primal
from ..types.avals import AbstractRef as AbstractRef
from ..types.avals import AbstractValue as AbstractValue
from ..types.avals import ShapedArray as ShapedArray
from ..views.hijax import AvalMutableQDD as AvalMutableQDD
from ..views.hijax import AvalQDD as AvalQDD
from ..views.hijax import HiPrimitive as HiPrimitive
from ..views.hijax import HiPspec as HiPspec
from ..views.hijax import HiType as HiType
from ..views.hijax import MutableHiType as MutableHiType
from ..views.hijax import VJPHiPrimitive as VJPHiPrimitive
from ..views.hijax import aval_method as aval_method
from ..views.hijax import aval_property as aval_property
from ..views.hijax import control_flow_allowed_effects as control_flow_allowed_effects
from ..views.hijax import register_hitype as register_hitype

__all__ = [
    "AbstractRef", "AbstractValue", "AvalMutableQDD", "AvalQDD", "HiPrimitive",
    "HiPspec", "HiType", "MutableHiType", "ShapedArray", "VJPHiPrimitive", "Zero",
    "aval_method", "aval_property", "control_flow_allowed_effects", "instantiate_zeros",
    "is_undefined_primal", "register_hitype"
]
