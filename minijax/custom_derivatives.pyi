"""The public module `minijax.custom_derivatives`."""

from .control.rules.custom_gradient import closure_convert as closure_convert
from .control.rules.custom_gradient import custom_gradient as custom_gradient
from .control.rules.custom_gradient import linear_call as linear_call
from .control.rules.custom_jvp import SymbolicZero as SymbolicZero
from .control.rules.custom_jvp import custom_jvp as custom_jvp
from .control.rules.custom_jvp import custom_jvp_call_p as custom_jvp_call_p
from .control.rules.custom_jvp import zero_from_primal as zero_from_primal
from .control.rules.custom_vjp import CustomVJPPrimal as CustomVJPPrimal
from .control.rules.custom_vjp import custom_vjp as custom_vjp
from .control.rules.custom_vjp import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values
from .control.rules.custom_vjp_call import custom_vjp_call_p as custom_vjp_call_p
from .control.rules.remat_opt import remat_opt_p as remat_opt_p

__all__ = [
    "CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient",
    "custom_jvp", "custom_jvp_call_p", "custom_vjp", "custom_vjp_call_p",
    "custom_vjp_primal_tree_values", "linear_call", "remat_opt_p", "zero_from_primal"
]
