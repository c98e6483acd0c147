"""The tools: functions that inspect programs, and the `jax` alias (layer 11).

Each tool is a function of this module and a command:
`python -m minijax.tools nans script.py:function`.
"""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "control.calls.remat_budget": "budget",
    "tools.coloring": "sparse_hessian sparse_jacobian sparsity",
    "tools.costs": "Roofline cost",
    "tools.memory_report": "memory",
    "tools.residuals_report": "plan_remat residuals",
    "tools.nan_finder": "nans",
    "tools.jaxpr_diff": "diff",
    "tools.stages_page": "show",
    "tools.recompiles": "watch why",
    "tools.verifier": "verify",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
