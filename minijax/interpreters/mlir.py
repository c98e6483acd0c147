"""The public module `minijax.interpreters.mlir`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "runtime.sharding.mesh": "Mesh",
    "views.lowering": """
        LoweringRuleContext ModuleContext Token Value aval_to_ir_type aval_to_ir_types
        core_call_lowering dense_bool_array dense_bool_elements dense_int_array
        dense_int_elements dtype_to_ir_type flatten_ir_types flatten_ir_values i32_attr
        i64_attr ir ir_attribute ir_constant ir_constants lower_fun make_ir_context
        module_to_bytecode module_to_string ir_tree_registry ir_type_handlers
        register_constant_handler register_lowering shape_tensor token_type
        unflatten_ir_values_like_types
    """,
    "views.modules": """
        AxisContext ConstantHandler DEVICE_TO_DEVICE_TYPE LoweringParameters LoweringResult
        LoweringRule MeshAxisName RECV_FROM_HOST_TYPE SEND_TO_HOST_TYPE
        ShapePolyLoweringState TokenSet emit_python_callback jaxpr_subcomp
        lower_jaxpr_to_fun lower_jaxpr_to_module lowerable_effects merge_mlir_modules
    """,
    "views.meshes": "SPMDAxisContext ShardingContext",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
