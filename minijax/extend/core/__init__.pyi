"""The public module `minijax.extend.core`."""

from ...analysis.check import JaxprTypeError as JaxprTypeError
from ...analysis.check import check_jaxpr as check_jaxpr
from ...base.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from ...control.effects.effects import Effect as Effect
from ...ir.core import is_value as valid_jaxtype
from ...ir.jaxpr import ClosedJaxpr as ClosedJaxpr
from ...ir.jaxpr import DropVar as DropVar
from ...ir.jaxpr import Jaxpr as Jaxpr
from ...ir.jaxpr import Literal as Literal
from ...ir.jaxpr import Var as Var
from ...ir.jaxpr import no_effects as no_effects
from ...types.avals import AbstractToken as AbstractToken
from ...views.attributes import DebugInfo as DebugInfo
from ...views.primitives import CallPrimitive as CallPrimitive
from ...views.primitives import Primitive as Primitive
from ...views.primitives import call_impl as call_impl
from ...views.primitives import jaxpr_as_fun as jaxpr_as_fun
from ...views.programs import Effects as Effects
from ...views.programs import JaxprEqn as JaxprEqn
from ...views.programs import Token as Token
from ...views.programs import array_types as array_types
from ...views.programs import new_jaxpr_eqn as new_jaxpr_eqn
from ...views.traces import Trace as Trace
from ...views.traces import TraceTag as TraceTag
from ...views.traces import find_top_trace as find_top_trace
from ...views.traces import gensym as gensym
from ...views.traces import get_opaque_trace_state as get_opaque_trace_state
from ...views.traces import jaxprs_in_params as jaxprs_in_params
from ...views.traces import mapped_aval as mapped_aval
from ...views.traces import nonempty_axis_env as nonempty_axis_env_DO_NOT_USE
from ...views.traces import primal_dtype_to_tangent_dtype as primal_dtype_to_tangent_dtype
from ...views.traces import set_current_trace as set_current_trace
from ...views.traces import subjaxprs as subjaxprs
from ...views.traces import take_current_trace as take_current_trace
from ...views.traces import to_value as concrete_or_error
from ...views.traces import unmapped_aval as unmapped_aval
from ...views.traces import unsafe_am_i_under_a_jit as unsafe_am_i_under_a_jit_DO_NOT_USE
from ...views.traces import unsafe_am_i_under_a_vmap as unsafe_am_i_under_a_vmap_DO_NOT_USE
from ...views.traces import unsafe_get_axis_names as unsafe_get_axis_names_DO_NOT_USE
from . import primitives as primitives

__all__ = [
    "AbstractToken", "CallPrimitive", "ClosedJaxpr", "DebugInfo", "DropVar", "Effect",
    "Effects", "InconclusiveDimensionOperation", "Jaxpr", "JaxprEqn", "JaxprTypeError",
    "Literal", "Primitive", "Token", "Trace", "TraceTag", "Var", "array_types",
    "call_impl", "check_jaxpr", "concrete_or_error", "find_top_trace", "gensym",
    "get_opaque_trace_state", "jaxpr_as_fun", "jaxprs_in_params", "mapped_aval",
    "new_jaxpr_eqn", "no_effects", "nonempty_axis_env_DO_NOT_USE",
    "primal_dtype_to_tangent_dtype", "primitives", "set_current_trace", "subjaxprs",
    "take_current_trace", "unmapped_aval", "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE", "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype"
]
