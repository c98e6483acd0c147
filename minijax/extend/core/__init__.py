"""The public module `minijax.extend.core`."""

from __future__ import annotations

from ...base.lazy_modules import lazy_module

_TABLE = {
    "base.errors": "InconclusiveDimensionOperation",
    "control.effects.effects": "Effect",
    "analysis.check": "JaxprTypeError check_jaxpr",
    "ir.core": "valid_jaxtype:=is_value",
    "views.attributes": "DebugInfo",
    "ir.jaxpr": "ClosedJaxpr DropVar Jaxpr Literal Var no_effects",
    "types.avals": "AbstractToken",
    "views.primitives": "CallPrimitive Primitive call_impl jaxpr_as_fun",
    "views.programs": "Effects JaxprEqn Token array_types new_jaxpr_eqn",
    "views.traces": """
        Trace TraceTag concrete_or_error:=to_value find_top_trace gensym
        get_opaque_trace_state jaxprs_in_params mapped_aval
        nonempty_axis_env_DO_NOT_USE=nonempty_axis_env primal_dtype_to_tangent_dtype
        set_current_trace subjaxprs take_current_trace unmapped_aval
        unsafe_am_i_under_a_jit_DO_NOT_USE=unsafe_am_i_under_a_jit
        unsafe_am_i_under_a_vmap_DO_NOT_USE=unsafe_am_i_under_a_vmap
        unsafe_get_axis_names_DO_NOT_USE=unsafe_get_axis_names
    """,
}

_MODULES = "primitives"

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, _MODULES)
