"""The public module `minijax.interpreters.partial_eval`."""

from ..passes.stage import JitTracer as DynamicJaxprTracer
from ..passes.stage import JitTracer as JaxprTracer
from ..views.partial import PartialVal as PartialVal
from ..views.partial import Val as Val
from ..views.partial import abstract_eval_fun as abstract_eval_fun
from ..views.partial import close_jaxpr as close_jaxpr
from ..views.partial import convert_constvars_jaxpr as convert_constvars_jaxpr
from ..views.partial import custom_partial_eval_rules as custom_partial_eval_rules
from ..views.partial import trace_to_jaxpr_dynamic as trace_to_jaxpr_dynamic
from ..views.partial import trace_to_jaxpr_nounits as trace_to_jaxpr_nounits
from ..views.rules import dce_jaxpr as dce_jaxpr
from ..views.rules import dce_jaxpr_call_rule as dce_jaxpr_call_rule
from ..views.rules import dce_jaxpr_call_rule as dce_jaxpr_closed_call_rule
from ..views.rules import dce_jaxpr_consts as dce_jaxpr_consts
from ..views.rules import dce_rules as dce_rules

__all__ = [
    "DynamicJaxprTracer", "JaxprTracer", "PartialVal", "Val", "abstract_eval_fun",
    "close_jaxpr", "convert_constvars_jaxpr", "custom_partial_eval_rules", "dce_jaxpr",
    "dce_jaxpr_call_rule", "dce_jaxpr_closed_call_rule", "dce_jaxpr_consts",
    "dce_rules", "trace_to_jaxpr_dynamic", "trace_to_jaxpr_nounits"
]
