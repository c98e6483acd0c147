"""The public module `minijax.custom_derivatives`."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "control.rules.custom_gradient": "closure_convert custom_gradient linear_call",
    "control.rules.custom_jvp": "SymbolicZero custom_jvp custom_jvp_call_p zero_from_primal",
    "control.rules.custom_vjp": "CustomVJPPrimal custom_vjp custom_vjp_primal_tree_values",
    "control.rules.custom_vjp_call": "custom_vjp_call_p",
    "control.rules.remat_opt": "remat_opt_p",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
