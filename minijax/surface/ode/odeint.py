r"""`odeint`: solutions of ordinary differential equations, and their derivatives.

In the backward pass, the adjoint a(t) of the solution obeys the equation

.. math:: \dot a = -a^T \partial f / \partial y

It is solved from the last time to the first, together with the solution itself and the
cotangents of the arguments of f.  Memory does not grow with the number of steps.

Source: R. Chen, Y. Rubanova, J. Bettencourt, D. Duvenaud, Neural Ordinary Differential
Equations, 2018, appendix B.

Next: dormand_prince.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...api.vjp import vjp
from ...api.vmap import vmap
from ...base import config, errors, tree
from ...control.body_staging import kept_by
from ...control.calls.jit import jit
from ...control.loop_functions.scan import scan
from ...control.loop_functions.while_loop import while_loop
from ...control.rules.custom_gradient import closure_convert
from ...control.rules.custom_vjp import custom_vjp
from ...ir import core
from .. import jnp
from ..ravel import ravel_pytree
from .dormand_prince import (
    initial_step_size,
    interp_fit_dopri,
    mean_error_ratio,
    optimal_step_size,
    ravel_first_arg,
    runge_kutta_step,
)

__all__ = ("odeint",)


class SolverState(NamedTuple):
    """The state of the solution at t: value, slope, next step size, and the last step."""

    y: Any
    f: Any
    t: Any
    dt: Any
    before: Any
    polynomial: Any


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: Any = 1.4e-8,
    atol: Any = 1.4e-8,
    mxstep: Any = np.inf,
    hmax: Any = np.inf,
) -> Any:
    r"""Solve :math:`\dot y = f(y, t)` from y0 by the method of Dormand and Prince.

    It is differentiable in reverse mode by y0, t, `args`, and values that `func` closes
    over.

    Args:
      func: y' as a function (y, t, *args); it returns a tree like `y0`.
      y0: the initial value: an array, or a pytree of arrays.
      t: array [T] of floats: increasing times; y0 is the value at the first time.
      args: further arguments of `func`: pytrees of arrays.
      rtol, atol: relative and absolute tolerance of a step.
      mxstep: the largest number of attempted steps from each time to the next.
      hmax: the largest step size.

    Returns:
      A tree like `y0`: the values at all times, along a new first axis of size T.

    Raises:
      TypeError: times are not floats, or an argument is not an array.

    Example:
      >>> import minijax.numpy as jnp
      >>> y = odeint(lambda y, t: -y, jnp.array(1.), jnp.array([0., 1., 2.]))
      >>> [round(float(v), 4) for v in y]
      [1.0, 0.3679, 0.1353]

    Source: see the module and dormand_prince.py.
    """
    for arg in tree.leaves(args):
        if not core.is_value(arg) and not isinstance(arg, (bool, int, float, complex)):
            raise errors.type_error(
                f"The contents of odeint *args must be arrays or scalars, but got {arg}.",
                tries=["a function that closes over it"],
            )
    if not hasattr(t, "dtype") or not jnp.issubdtype(t.dtype, jnp.floating):
        raise errors.type_error(
            f"t must be an array of floats, but got {t}.", tries=["jnp.asarray(t, float)"]
        )
    converted, consts = closure_convert(func, y0, t[0], *args)
    # Cached with the function, so that repeated calls do not trace and compile again.
    solve = kept_by(converted, _jitted_solver, rtol, atol, mxstep, hmax)
    return solve(y0, t, *args, *consts)


def _jitted_solver(*fixed):
    return jit(partial(_odeint, *fixed))


def _odeint(func, rtol, atol, mxstep, hmax, y0, ts, *args):
    y0, unravel = ravel_pytree(y0)
    flat = ravel_first_arg(func, unravel)
    with config.default_matmul_precision("highest"):
        return vmap(unravel)(solution(flat, rtol, atol, mxstep, hmax, y0, ts, *args))


@partial(custom_vjp, nondiff_argnums=(0, 1, 2, 3, 4))
def solution(func, rtol, atol, mxstep, hmax, y0, ts, *args):
    """Return the values [T, N] at all times."""
    f = lambda y, t: func(y, t, *args)

    def attempt(carry: tuple[Any, SolverState]) -> tuple[Any, SolverState]:
        tried, s = carry
        y, slope, error, k = runge_kutta_step(f, s.y, s.f, s.t, s.dt)
        ratio = mean_error_ratio(error, rtol, atol, s.y, y)
        dt = jnp.clip(optimal_step_size(s.dt, ratio), 0, hmax).astype(s.dt.dtype)
        polynomial = interp_fit_dopri(s.y, y, k, s.dt)
        accepted = SolverState(y, slope, s.t + s.dt, dt, s.t, polynomial)
        retry = s._replace(dt=dt)
        good = ratio <= 1
        selected = [jnp.where(good, a, b) for a, b in zip(accepted, retry, strict=True)]
        return tried + 1, SolverState(*selected)

    def advance(s: SolverState, target: Any) -> tuple[SolverState, Any]:
        def not_done(carry: tuple[Any, SolverState]) -> Any:
            tried, s = carry
            return (s.t < target) & (tried < mxstep) & (s.dt > 0)

        _, s = while_loop(not_done, attempt, (0, s))
        fraction = (target - s.before) / (s.t - s.before)
        return s, jnp.polyval(s.polynomial, fraction.astype(s.polynomial.dtype))

    f0 = f(y0, ts[0])
    dt = initial_step_size(f, ts[0], y0, 4, rtol, atol, f0)
    dt = jnp.clip(dt, 0, hmax).astype(ts.dtype)
    start = SolverState(y0, f0, ts[0], dt, ts[0], jnp.stack([y0] * 5))
    _, ys = scan(advance, start, ts[1:])
    return jnp.concatenate([y0[None], ys])


def solution_fwd(func, rtol, atol, mxstep, hmax, y0, ts, *args):
    ys = solution(func, rtol, atol, mxstep, hmax, y0, ts, *args)
    return ys, (ys, ts, args)


def solution_bwd(func, rtol, atol, mxstep, hmax, residuals, ct):
    ys, ts, args = residuals

    def adjoint_dynamics(state: Any, s: Any, *args: Any) -> Any:
        """Return the derivatives, by s = -t, of the solution, the adjoint and the
        cotangents of time and arguments."""
        y, ct_y, *_ = state
        slope, pull = vjp(func, y, -s, *args)
        return -slope, *pull(ct_y)

    def step_back(carry: Any, i: Any) -> Any:
        ct_y, ct_t, ct_args = carry
        # The derivative of the value at time t[i] by t[i] is its slope.
        time_ct = jnp.dot(func(ys[i], ts[i], *args), ct[i]).real.astype(ts.dtype)
        _, ct_y, ct_t, *ct_args = odeint(
            adjoint_dynamics,
            (ys[i], ct_y, ct_t - time_ct, *ct_args),
            jnp.stack([-ts[i], -ts[i - 1]]),
            *args,
            rtol=rtol,
            atol=atol,
            mxstep=mxstep,
            hmax=hmax,
        )
        ct_y, ct_t, ct_args = tree.map(lambda x: x[1], (ct_y, ct_t, ct_args))
        return (ct_y + ct[i - 1], ct_t, ct_args), time_ct

    with config.default_matmul_precision("highest"):
        start = (ct[-1], jnp.zeros((), ts.dtype), [tree.map(jnp.zeros_like, a) for a in args])
        time_indices = jnp.arange(len(ts) - 1, 0, -1)
        (ct_y, ct_t, ct_args), time_cts = scan(step_back, start, time_indices)
    return ct_y, jnp.concatenate([ct_t[None], time_cts[::-1]]), *ct_args


solution.defvjp(solution_fwd, solution_bwd)
