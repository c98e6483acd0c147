"""The public module `minijax.experimental.ode`: ordinary differential equations."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "base.paired": "map=safe_map zip=safe_zip",
    "surface.ode.dormand_prince": """
        abs2 fit_4th_order_polynomial initial_step_size interp_fit_dopri mean_error_ratio
        optimal_step_size ravel_first_arg ravel_first_arg_ runge_kutta_step
    """,
    "surface.ode.odeint": "odeint",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
