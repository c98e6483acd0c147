"""The face `minijax.interpreters.mlir`."""

from ..runtime.mesh import Mesh as Mesh
from ..views.lowering import LoweringRuleContext as LoweringRuleContext
from ..views.lowering import ModuleContext as ModuleContext
from ..views.lowering import Token as Token
from ..views.lowering import Value as Value
from ..views.lowering import aval_to_ir_type as aval_to_ir_type
from ..views.lowering import aval_to_ir_types as aval_to_ir_types
from ..views.lowering import core_call_lowering as core_call_lowering
from ..views.lowering import dense_bool_array as dense_bool_array
from ..views.lowering import dense_bool_elements as dense_bool_elements
from ..views.lowering import dense_int_array as dense_int_array
from ..views.lowering import dense_int_elements as dense_int_elements
from ..views.lowering import dtype_to_ir_type as dtype_to_ir_type
from ..views.lowering import flatten_ir_types as flatten_ir_types
from ..views.lowering import flatten_ir_values as flatten_ir_values
from ..views.lowering import i32_attr as i32_attr
from ..views.lowering import i64_attr as i64_attr
from ..views.lowering import ir as ir
from ..views.lowering import ir_attribute as ir_attribute
from ..views.lowering import ir_constant as ir_constant
from ..views.lowering import ir_constants as ir_constants
from ..views.lowering import lower_fun as lower_fun
from ..views.lowering import make_ir_context as make_ir_context
from ..views.lowering import module_to_bytecode as module_to_bytecode
from ..views.lowering import module_to_string as module_to_string
from ..views.lowering import register_lowering as register_lowering
from ..views.lowering import shape_tensor as shape_tensor
from ..views.lowering import token_type as token_type
from ..views.lowering import unflatten_ir_values_like_types as unflatten_ir_values_like_types

__all__ = [
    "LoweringRuleContext", "Mesh", "ModuleContext", "Token", "Value", "aval_to_ir_type",
    "aval_to_ir_types", "core_call_lowering", "dense_bool_array", "dense_bool_elements",
    "dense_int_array", "dense_int_elements", "dtype_to_ir_type", "flatten_ir_types",
    "flatten_ir_values", "i32_attr", "i64_attr", "ir", "ir_attribute", "ir_constant",
    "ir_constants", "lower_fun", "make_ir_context", "module_to_bytecode",
    "module_to_string", "register_lowering", "shape_tensor", "token_type",
    "unflatten_ir_values_like_types"
]
