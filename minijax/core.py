"""The public module `minijax.core`."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "api.scopes": "ensure_compile_time_eval",
    "api.eval_shape": "get_aval=typeof",
    "base.errors": "InconclusiveDimensionOperation",
    "control.effects.effects": "Effect",
    "analysis.check": "JaxprTypeError check_jaxpr",
    "ir.core": "Tracer is_concrete pytype_aval_mappings=aval_rules valid_jaxtype:=is_value",
    "passes.ad_util": "aval_mapping_handlers=mappings",
    "views.attributes": "DebugInfo",
    "ir.jaxpr": "Atom ClosedJaxpr DropVar Jaxpr Literal Var eval_jaxpr no_effects",
    "types.avals": "AbstractToken AbstractValue ShapedArray abstract_token",
    "views.primitives": "CallPrimitive Primitive call call_impl jaxpr_as_fun",
    "views.programs": """
        Effects JaxprEqn JaxprPpContext JaxprPpSettings OutputType ParamDict Value
        concretization_function_error literalable_types new_jaxpr_eqn no_axis_name
    """,
    "views.rules": "custom_typechecks",
    "symbolic.dims": "max_dim min_dim",
    "views.traces": """
        Trace TraceTag concrete_or_error:=to_value eval_context find_top_trace gensym
        get_opaque_trace_state is_constant_dim is_constant_shape jaxprs_in_params
        mapped_aval nonempty_axis_env_DO_NOT_USE=nonempty_axis_env
        primal_dtype_to_tangent_dtype set_current_trace subjaxprs take_current_trace
        unmapped_aval unsafe_am_i_under_a_jit_DO_NOT_USE=unsafe_am_i_under_a_jit
        unsafe_am_i_under_a_vmap_DO_NOT_USE=unsafe_am_i_under_a_vmap
        unsafe_get_axis_names_DO_NOT_USE=unsafe_get_axis_names trace_ctx
    """,
}

_WARNED = {
    "jax.core.{} is deprecated. Use jax.extend.core.{}.": """
        CallPrimitive DebugInfo DropVar Effect Effects check_jaxpr concrete_or_error
        find_top_trace gensym get_opaque_trace_state jaxprs_in_params new_jaxpr_eqn
        no_effects primal_dtype_to_tangent_dtype valid_jaxtype
    """,
    "jax.core.{} is deprecated. Use jax.errors.{}.": """
        InconclusiveDimensionOperation JaxprTypeError
    """,
    "jax.core.{} is deprecated.": """
        JaxprPpContext JaxprPpSettings OutputType abstract_token aval_mapping_handlers call
        concretization_function_error custom_typechecks is_concrete is_constant_dim
        is_constant_shape literalable_types no_axis_name nonempty_axis_env_DO_NOT_USE
        pytype_aval_mappings trace_ctx unsafe_am_i_under_a_jit_DO_NOT_USE
        unsafe_am_i_under_a_vmap_DO_NOT_USE unsafe_get_axis_names_DO_NOT_USE
    """,
}

_REMOVED = {
    "jax.core.{} was deprecated in JAX v0.8.2 and removed in JAX v0.10.0.": "traverse_jaxpr_params"
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, warned=_WARNED, removed=_REMOVED)
