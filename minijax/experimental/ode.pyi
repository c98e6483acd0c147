"""The public module `minijax.experimental.ode`: ordinary differential equations."""

from ..base.paired import safe_map as map
from ..base.paired import safe_zip as zip
from ..surface.ode.dormand_prince import abs2 as abs2
from ..surface.ode.dormand_prince import fit_4th_order_polynomial as fit_4th_order_polynomial
from ..surface.ode.dormand_prince import initial_step_size as initial_step_size
from ..surface.ode.dormand_prince import interp_fit_dopri as interp_fit_dopri
from ..surface.ode.dormand_prince import mean_error_ratio as mean_error_ratio
from ..surface.ode.dormand_prince import optimal_step_size as optimal_step_size
from ..surface.ode.dormand_prince import ravel_first_arg as ravel_first_arg
from ..surface.ode.dormand_prince import ravel_first_arg_ as ravel_first_arg_
from ..surface.ode.dormand_prince import runge_kutta_step as runge_kutta_step
from ..surface.ode.odeint import odeint as odeint

__all__ = [
    "abs2", "fit_4th_order_polynomial", "initial_step_size", "interp_fit_dopri", "map",
    "mean_error_ratio", "odeint", "optimal_step_size", "ravel_first_arg",
    "ravel_first_arg_", "runge_kutta_step", "zip"
]
