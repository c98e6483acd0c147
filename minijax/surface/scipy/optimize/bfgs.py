"""Quasi-Newton methods: BFGS, which stores an inverse Hessian, and L-BFGS, which stores the
last steps.

Source: J. Nocedal, S. Wright, Numerical Optimization, algorithms 6.1 and 7.4; for complex
numbers: L. Sorber, M. Van Barel, L. De Lathauwer, SIAM J. Optim. 22(3), 2012.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ....base import errors
from ....control.loop_functions.while_loop import fori_loop, while_loop
from ....prims.dot.precision import Precision
from ....types import dtypes
from ... import jnp
from ...numpy import norms
from .line_search import dot, evaluate, line_search

__all__ = ("OptimizeResults", "bfgs", "lbfgs")


class OptimizeResults(NamedTuple):
    """The result of a minimization.

    Args:
      x: the solution, array [N].
      success: whether the gradient is small at x; for L-BFGS also true if the value stops
        decreasing (status 4).
      status: the reason for stopping: 0 success; for BFGS 1 the iteration limit, 3 and 5 no
        better step within an interval or beyond; for L-BFGS 1, 2, 3 the limit of
        iterations, evaluations or gradients, 4 too little progress, 5 no better step.
      fun, jac: the value and the gradient [N] at x.
      hess_inv: an estimate of the inverse Hessian [N, N], or None.
      nfev, njev, nit: numbers of evaluations, of gradients, of iterations.

    >>> from minijax.scipy.optimize import minimize
    >>> import minijax.numpy as jnp
    >>> found = minimize(lambda x: ((x - 2) ** 2).sum(), jnp.zeros(1), method='BFGS')
    >>> bool(found.success), found.x
    (True, Array([2.], dtype=float32))
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class MinimizerState(NamedTuple):
    """The state of a minimization; `memory` is the method's information about curvature."""

    k: Any
    evaluations: Any
    x: Any
    value: Any
    gradient: Any
    memory: Any
    converged: Any
    status: Any


def small(g: Any, norm: Any, gtol: Any) -> Any:
    """Whether a gradient is small enough."""
    return norms.norm(g, norm) < gtol


def begin(f: Callable[[Any], Any], x: Any, memory: Any, norm: Any, gtol: Any) -> MinimizerState:
    """Return the state at the initial point."""
    value, g = evaluate(f, x)
    return MinimizerState(0, 1, x, value, g, memory, small(g, norm, gtol), 0)


# -------------------------------------------------------------------------------- BFGS


class Curvature(NamedTuple):
    """The estimate of the inverse Hessian, and the value one step before."""

    H: Any
    before: Any


def bfgs(
    f: Callable[[Any], Any],
    x0: Any,
    maxiter: Any = None,
    norm: Any = np.inf,
    gtol: Any = 1e-5,
    line_search_maxiter: int = 10,
) -> OptimizeResults:
    """Minimize by the method of Broyden, Fletcher, Goldfarb and Shanno.

    Each update takes the nearest estimate of the inverse Hessian that maps the last change
    of the gradient to the last step.
    """
    if dtypes.is_complex(x0.dtype):
        raise errors.type_error(
            f"BFGS minimizes over real numbers, got x0 of dtype {x0.dtype}.",
            tries=["real and imaginary parts as one array"],
        )
    maxiter = 200 * x0.size if maxiter is None else maxiter

    def body(s: MinimizerState) -> MinimizerState:
        p = -jnp.dot(s.memory.H, s.gradient, precision=Precision.HIGHEST)
        # Expect the value to decrease as much as in the last step: see (3.60).
        first = 2.02 * (s.value - s.memory.before) / dot(s.gradient, p)
        first = jnp.where((first > 0) & (first < 1), first, 1)
        step = line_search(f, s.x, p, s.value, s.gradient, first, line_search_maxiter)
        point = step.point
        step_vector, gradient_change = point.t * p, point.gradient - s.gradient
        return MinimizerState(
            k=s.k + 1,
            evaluations=s.evaluations + step.evaluations,
            x=s.x + step_vector,
            value=point.value,
            gradient=point.gradient,
            memory=Curvature(bfgs_update(s.memory.H, step_vector, gradient_change), s.value),
            converged=small(point.gradient, norm, gtol),
            status=jnp.where(step.status > 0, 2 + step.status, 0),
        )

    def cond(s: MinimizerState) -> Any:
        return ~s.converged & (s.status == 0) & (s.k < maxiter)

    s = begin(f, x0, None, norm, gtol)
    before = s.value + norms.norm(s.gradient).astype(s.value.dtype) / 2
    s = s._replace(memory=Curvature(jnp.eye(x0.size, dtype=x0.dtype), before))
    s = while_loop(cond, body, s)
    status = jnp.where(s.k >= maxiter, 1, s.status)
    status = jnp.where(s.converged, 0, status)
    return OptimizeResults(
        s.x,
        s.converged,
        status,
        s.value,
        s.gradient,
        s.memory.H,
        s.evaluations,
        s.evaluations,
        s.k,
    )


def bfgs_update(H: Any, s: Any, y: Any) -> Any:
    """Update H so that H y = s, unless the curvature along s is not positive: (6.17)."""
    curvature = dot(s, y)
    ok = curvature > 0
    rho = 1 / jnp.where(ok, curvature, 1)
    Hy = jnp.dot(H, y, precision=Precision.HIGHEST)
    mixed = jnp.outer(s, Hy)
    new = H - rho * (mixed + mixed.T)
    new = new + rho * (1 + rho * dot(y, Hy)) * jnp.outer(s, s)
    return jnp.where(ok & jnp.isfinite(rho), new, H)


# ------------------------------------------------------------------------------ L-BFGS


class Steps(NamedTuple):
    """The last steps, the latest one last, and the scale of the inverse Hessian."""

    steps: Any
    gradient_changes: Any
    rhos: Any
    scale: Any


def lbfgs(
    f: Callable[[Any], Any],
    x0: Any,
    maxiter: Any = None,
    norm: Any = np.inf,
    maxcor: int = 10,
    ftol: Any = 2.220446049250313e-09,
    gtol: Any = 1e-5,
    maxfun: Any = None,
    maxgrad: Any = None,
    maxls: int = 20,
) -> OptimizeResults:
    """Minimize by limited-memory BFGS, which uses the last `maxcor` steps."""
    if maxiter is None and maxfun is None and maxgrad is None:
        maxiter = 200 * x0.size
    limits = [(1, maxiter), (2, maxfun), (3, maxgrad)]
    real = dtypes.real_of(x0.dtype)

    def body(s: MinimizerState) -> MinimizerState:
        p = -times_hessian_inverse(s.memory, s.gradient)
        step = line_search(f, s.x, p, s.value, s.gradient, 1.0, maxls)
        point = step.point
        step_vector, gradient_change = point.t.astype(p.dtype) * p, point.gradient - s.gradient
        k, evaluations = s.k + 1, s.evaluations + step.evaluations
        # Relative to the larger value, as in SciPy.
        size = jnp.maximum(jnp.maximum(abs(s.value), abs(point.value)), 1)
        status = jnp.where(s.value - point.value <= ftol * size, 4, 0)
        for code, limit in reversed(limits):
            if limit is not None:
                reached = (k if code == 1 else evaluations) >= limit
                status = jnp.where(reached, code, status)
        status = jnp.where(step.status > 0, 5, status)
        return MinimizerState(
            k=k,
            evaluations=evaluations,
            x=s.x + step_vector,
            value=point.value,
            gradient=point.gradient,
            memory=with_step(s.memory, step_vector, gradient_change),
            converged=small(point.gradient, norm, gtol),
            status=status,
        )

    def cond(s: MinimizerState) -> Any:
        return ~s.converged & (s.status == 0)

    history = jnp.zeros((maxcor, x0.size), x0.dtype)
    memory = Steps(history, history, jnp.zeros(maxcor, real), jnp.ones((), real))
    s = begin(f, x0, memory, norm, gtol)
    if maxiter is not None:
        s = s._replace(status=jnp.where(maxiter <= 0, 1, s.status))
    s = while_loop(cond, body, s)
    status = jnp.where(s.converged, 0, s.status)
    success = s.converged | (status == 4)
    return OptimizeResults(
        s.x,
        success,
        status,
        s.value,
        jnp.conj(s.gradient),
        None,
        s.evaluations,
        s.evaluations,
        s.k,
    )


def with_step(memory: Steps, step_vector: Any, gradient_change: Any) -> Steps:
    """Return the memory with the newest step added and the oldest removed."""
    curvature = dot(step_vector, gradient_change)
    ok = curvature > 0
    rho = jnp.where(ok, 1 / jnp.where(ok, curvature, 1), 0)
    scale = jnp.where(
        ok, curvature / jnp.where(ok, dot(gradient_change, gradient_change), 1), memory.scale
    )
    pairs = (
        (memory.steps, step_vector),
        (memory.gradient_changes, gradient_change),
        (memory.rhos, rho),
    )
    steps, gradient_changes, rhos = (
        jnp.concatenate([old[1:], new[None]]) for old, new in pairs
    )
    return Steps(steps, gradient_changes, rhos, scale)


def times_hessian_inverse(memory: Steps, q: Any) -> Any:
    """Multiply q by the estimate of the inverse Hessian; missing steps have rho 0."""
    n = len(memory.rhos)

    def backward_pass(j: Any, carry: Any) -> Any:
        q, coefficients = carry
        i = n - 1 - j
        coefficient = memory.rhos[i] * dot(memory.steps[i], q)
        return q - coefficient * memory.gradient_changes[i], coefficients.at[i].set(coefficient)

    def forward_pass(i: Any, q: Any) -> Any:
        coefficient = memory.rhos[i] * dot(memory.gradient_changes[i], q)
        return q + (coefficients[i] - coefficient) * memory.steps[i]

    q, coefficients = fori_loop(0, n, backward_pass, (q, jnp.zeros_like(memory.rhos)))
    return fori_loop(0, n, forward_pass, memory.scale * q)
