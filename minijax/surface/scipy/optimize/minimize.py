"""`minimize`: minimization of a function by a named method.

Next: bfgs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....base import errors
from ... import jnp
from .bfgs import OptimizeResults, bfgs, lbfgs

__all__ = ("minimize",)

# Each method, and the options that `tol` sets.
_METHODS: dict[str, tuple[Callable[..., OptimizeResults], tuple[str, ...]]] = {
    "bfgs": (bfgs, ("gtol",)),
    "l-bfgs-experimental-do-not-rely-on-this": (lbfgs, ("ftol", "gtol")),
}


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Minimize a function of an array.

    Args:
      fun: differentiable function of (x, *args) with a real scalar result.
      x0: the initial point, a float array [N] (complex arrays only for L-BFGS).
      args: further arguments of `fun`.
      method: "BFGS", or "l-bfgs-experimental-do-not-rely-on-this".
      tol: sets the option `gtol`, the size of the gradient at which to stop, and for
        L-BFGS also `ftol`, the least progress of a step.
      options: for BFGS `maxiter`, `norm` (order of the gradient's norm, by default inf),
        `gtol` (by default 1e-5), `line_search_maxiter`; for L-BFGS `maxiter`, `norm`,
        `maxcor` (the number of stored steps), `ftol` (the least progress of a step,
        relative to the value if that is above 1), `gtol`, `maxfun`, `maxgrad`, `maxls`.

    Returns:
      `OptimizeResults`.  If no better step is found, x is the best point so far.

    Raises:
      TypeError: `args` is not a tuple, or the method does not have an option.
      ValueError: the method is unknown, or `x0` does not have one axis.

    Example:
      >>> import minijax.numpy as jnp
      >>> found = minimize(lambda x: ((x - 2) ** 2).sum(), jnp.zeros(2), method="BFGS")
      >>> jnp.round(found.x, 4), bool(found.success)
      (Array([2., 2.], dtype=float32), True)

    Source: see bfgs.py and line_search.py.
    """
    if not isinstance(args, tuple):
        raise errors.type_error(
            f"args argument to jax.scipy.optimize.minimize must be a tuple, got {args}",
            tries=["(args,)"],
        )
    method_entry = _METHODS.get(method.lower())
    if method_entry is None:
        raise errors.value_error(
            f"Method {method} not recognized", tries=[", ".join(map(repr, _METHODS))]
        )
    solve, tolerances = method_entry
    x0 = jnp.asarray(x0)
    if x0.ndim != 1:
        raise errors.value_error(
            f"minimize: x0 must have one axis, got shape {x0.shape}.",
            tries=["flatten_util.ravel_pytree"],
        )
    tolerance_options = {} if tol is None else dict.fromkeys(tolerances, tol)
    return solve(lambda x: fun(x, *args), x0, **{**tolerance_options, **(options or {})})
