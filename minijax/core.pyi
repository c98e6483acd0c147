"""The public module `minijax.core`."""

from .analysis.check import JaxprTypeError as JaxprTypeError
from .analysis.check import check_jaxpr as check_jaxpr
from .api.eval_shape import typeof as get_aval
from .api.scopes import ensure_compile_time_eval as ensure_compile_time_eval
from .base.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from .control.effects.effects import Effect as Effect
from .ir.core import Tracer as Tracer
from .ir.core import aval_rules as pytype_aval_mappings
from .ir.core import is_concrete as is_concrete
from .ir.core import is_value as valid_jaxtype
from .ir.jaxpr import Atom as Atom
from .ir.jaxpr import ClosedJaxpr as ClosedJaxpr
from .ir.jaxpr import DropVar as DropVar
from .ir.jaxpr import Jaxpr as Jaxpr
from .ir.jaxpr import Literal as Literal
from .ir.jaxpr import Var as Var
from .ir.jaxpr import eval_jaxpr as eval_jaxpr
from .ir.jaxpr import no_effects as no_effects
from .passes.ad_util import mappings as aval_mapping_handlers
from .symbolic.dims import max_dim as max_dim
from .symbolic.dims import min_dim as min_dim
from .types.avals import AbstractToken as AbstractToken
from .types.avals import AbstractValue as AbstractValue
from .types.avals import ShapedArray as ShapedArray
from .types.avals import abstract_token as abstract_token
from .views.attributes import DebugInfo as DebugInfo
from .views.primitives import CallPrimitive as CallPrimitive
from .views.primitives import Primitive as Primitive
from .views.primitives import call as call
from .views.primitives import call_impl as call_impl
from .views.primitives import jaxpr_as_fun as jaxpr_as_fun
from .views.programs import Effects as Effects
from .views.programs import JaxprEqn as JaxprEqn
from .views.programs import JaxprPpContext as JaxprPpContext
from .views.programs import JaxprPpSettings as JaxprPpSettings
from .views.programs import OutputType as OutputType
from .views.programs import ParamDict as ParamDict
from .views.programs import Value as Value
from .views.programs import concretization_function_error as concretization_function_error
from .views.programs import literalable_types as literalable_types
from .views.programs import new_jaxpr_eqn as new_jaxpr_eqn
from .views.programs import no_axis_name as no_axis_name
from .views.rules import custom_typechecks as custom_typechecks
from .views.traces import Trace as Trace
from .views.traces import TraceTag as TraceTag
from .views.traces import eval_context as eval_context
from .views.traces import find_top_trace as find_top_trace
from .views.traces import gensym as gensym
from .views.traces import get_opaque_trace_state as get_opaque_trace_state
from .views.traces import is_constant_dim as is_constant_dim
from .views.traces import is_constant_shape as is_constant_shape
from .views.traces import jaxprs_in_params as jaxprs_in_params
from .views.traces import mapped_aval as mapped_aval
from .views.traces import nonempty_axis_env as nonempty_axis_env_DO_NOT_USE
from .views.traces import primal_dtype_to_tangent_dtype as primal_dtype_to_tangent_dtype
from .views.traces import set_current_trace as set_current_trace
from .views.traces import subjaxprs as subjaxprs
from .views.traces import take_current_trace as take_current_trace
from .views.traces import to_value as concrete_or_error
from .views.traces import trace_ctx as trace_ctx
from .views.traces import unmapped_aval as unmapped_aval
from .views.traces import unsafe_am_i_under_a_jit as unsafe_am_i_under_a_jit_DO_NOT_USE
from .views.traces import unsafe_am_i_under_a_vmap as unsafe_am_i_under_a_vmap_DO_NOT_USE
from .views.traces import unsafe_get_axis_names as unsafe_get_axis_names_DO_NOT_USE

__all__ = [
    "AbstractToken", "AbstractValue", "Atom", "CallPrimitive", "ClosedJaxpr",
    "DebugInfo", "DropVar", "Effect", "Effects", "InconclusiveDimensionOperation",
    "Jaxpr", "JaxprEqn", "JaxprPpContext", "JaxprPpSettings", "JaxprTypeError",
    "Literal", "OutputType", "ParamDict", "Primitive", "ShapedArray", "Trace",
    "TraceTag", "Tracer", "Value", "Var", "abstract_token", "aval_mapping_handlers",
    "call", "call_impl", "check_jaxpr", "concrete_or_error",
    "concretization_function_error", "custom_typechecks", "ensure_compile_time_eval",
    "eval_context", "eval_jaxpr", "find_top_trace", "gensym", "get_aval",
    "get_opaque_trace_state", "is_concrete", "is_constant_dim", "is_constant_shape",
    "jaxpr_as_fun", "jaxprs_in_params", "literalable_types", "mapped_aval", "max_dim",
    "min_dim", "new_jaxpr_eqn", "no_axis_name", "no_effects",
    "nonempty_axis_env_DO_NOT_USE", "primal_dtype_to_tangent_dtype",
    "pytype_aval_mappings", "set_current_trace", "subjaxprs", "take_current_trace",
    "trace_ctx", "unmapped_aval", "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE", "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype"
]
