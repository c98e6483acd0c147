"""The public module `minijax.interpreters.mlir`."""

from ..runtime.sharding.mesh import Mesh as Mesh
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
from ..views.lowering import ir_tree_registry as ir_tree_registry
from ..views.lowering import ir_type_handlers as ir_type_handlers
from ..views.lowering import lower_fun as lower_fun
from ..views.lowering import make_ir_context as make_ir_context
from ..views.lowering import module_to_bytecode as module_to_bytecode
from ..views.lowering import module_to_string as module_to_string
from ..views.lowering import register_constant_handler as register_constant_handler
from ..views.lowering import register_lowering as register_lowering
from ..views.lowering import shape_tensor as shape_tensor
from ..views.lowering import token_type as token_type
from ..views.lowering import unflatten_ir_values_like_types as unflatten_ir_values_like_types
from ..views.meshes import SPMDAxisContext as SPMDAxisContext
from ..views.meshes import ShardingContext as ShardingContext
from ..views.modules import AxisContext as AxisContext
from ..views.modules import ConstantHandler as ConstantHandler
from ..views.modules import DEVICE_TO_DEVICE_TYPE as DEVICE_TO_DEVICE_TYPE
from ..views.modules import LoweringParameters as LoweringParameters
from ..views.modules import LoweringResult as LoweringResult
from ..views.modules import LoweringRule as LoweringRule
from ..views.modules import MeshAxisName as MeshAxisName
from ..views.modules import RECV_FROM_HOST_TYPE as RECV_FROM_HOST_TYPE
from ..views.modules import SEND_TO_HOST_TYPE as SEND_TO_HOST_TYPE
from ..views.modules import ShapePolyLoweringState as ShapePolyLoweringState
from ..views.modules import TokenSet as TokenSet
from ..views.modules import emit_python_callback as emit_python_callback
from ..views.modules import jaxpr_subcomp as jaxpr_subcomp
from ..views.modules import lower_jaxpr_to_fun as lower_jaxpr_to_fun
from ..views.modules import lower_jaxpr_to_module as lower_jaxpr_to_module
from ..views.modules import lowerable_effects as lowerable_effects
from ..views.modules import merge_mlir_modules as merge_mlir_modules

__all__ = [
    "AxisContext", "ConstantHandler", "DEVICE_TO_DEVICE_TYPE", "LoweringParameters",
    "LoweringResult", "LoweringRule", "LoweringRuleContext", "Mesh", "MeshAxisName",
    "ModuleContext", "RECV_FROM_HOST_TYPE", "SEND_TO_HOST_TYPE", "SPMDAxisContext",
    "ShapePolyLoweringState", "ShardingContext", "Token", "TokenSet", "Value",
    "aval_to_ir_type", "aval_to_ir_types", "core_call_lowering", "dense_bool_array",
    "dense_bool_elements", "dense_int_array", "dense_int_elements", "dtype_to_ir_type",
    "emit_python_callback", "flatten_ir_types", "flatten_ir_values", "i32_attr",
    "i64_attr", "ir", "ir_attribute", "ir_constant", "ir_constants", "ir_tree_registry",
    "ir_type_handlers", "jaxpr_subcomp", "lower_fun", "lower_jaxpr_to_fun",
    "lower_jaxpr_to_module", "lowerable_effects", "make_ir_context",
    "merge_mlir_modules", "module_to_bytecode", "module_to_string",
    "register_constant_handler", "register_lowering", "shape_tensor", "token_type",
    "unflatten_ir_values_like_types"
]
