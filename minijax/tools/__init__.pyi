"""The tools: functions that inspect programs, and the `jax` alias (layer 11)."""

from ..control.calls.remat_budget import budget as budget
from ..tools.coloring import sparse_hessian as sparse_hessian
from ..tools.coloring import sparse_jacobian as sparse_jacobian
from ..tools.coloring import sparsity as sparsity
from ..tools.costs import Roofline as Roofline
from ..tools.costs import cost as cost
from ..tools.jaxpr_diff import diff as diff
from ..tools.memory_report import memory as memory
from ..tools.nan_finder import nans as nans
from ..tools.recompiles import watch as watch
from ..tools.recompiles import why as why
from ..tools.residuals_report import plan_remat as plan_remat
from ..tools.residuals_report import residuals as residuals
from ..tools.stages_page import show as show
from ..tools.verifier import verify as verify

__all__ = [
    "Roofline", "budget", "cost", "diff", "memory", "nans", "plan_remat", "residuals",
    "show", "sparse_hessian", "sparse_jacobian", "sparsity", "verify", "watch", "why"
]
