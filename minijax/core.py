"""The face `minijax.core`."""

from __future__ import annotations

from .base.faces import face

_TABLE = {
    "api.scopes": "ensure_compile_time_eval",
    "api.shapes": "get_aval=typeof",
    "base.errors": "InconclusiveDimensionOperation",
    "control.effects.effects": "Effect",
    "ir.check": "JaxprTypeError check_jaxpr",
    "ir.core":
        "Tracer is_concrete pytype_aval_mappings=aval_rules valid_jaxtype=is_value",
    "ir.jaxpr":
        "Atom ClosedJaxpr DebugInfo DropVar Jaxpr JaxprEqn=Equation Literal Var"
        " eval_jaxpr no_effects",
    "types.avals": "AbstractToken AbstractValue ShapedArray abstract_token",
    "views.primitives": "CallPrimitive Primitive call call_impl jaxpr_as_fun",
    "views.programs": "Effects ParamDict Value new_jaxpr_eqn",
    "types.dimensions": "max_dim min_dim",
    "views.traces":
        "Trace TraceTag concrete_or_error=to_value eval_context find_top_trace gensym"
        " get_opaque_trace_state is_constant_dim is_constant_shape jaxprs_in_params"
        " mapped_aval nonempty_axis_env_DO_NOT_USE=nonempty_axis_env"
        " primal_dtype_to_tangent_dtype set_current_trace subjaxprs take_current_trace"
        " unmapped_aval unsafe_am_i_under_a_jit_DO_NOT_USE=unsafe_am_i_under_a_jit"
        " unsafe_am_i_under_a_vmap_DO_NOT_USE=unsafe_am_i_under_a_vmap"
        " unsafe_get_axis_names_DO_NOT_USE=unsafe_get_axis_names trace_ctx",
}  # fmt: skip

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
