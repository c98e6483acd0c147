"""The public module `minijax.interpreters.partial_eval`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "passes.stage": "DynamicJaxprTracer=JitTracer JaxprTracer=JitTracer",
    "views.partial": """
        PartialVal Val abstract_eval_fun close_jaxpr convert_constvars_jaxpr
        custom_partial_eval_rules trace_to_jaxpr_dynamic trace_to_jaxpr_nounits
    """,
    "views.rules": """
        dce_jaxpr dce_jaxpr_call_rule dce_jaxpr_closed_call_rule:=dce_jaxpr_call_rule
        dce_jaxpr_consts dce_rules
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
