"""`minimize`: the least value of a function, by a method of this name.

Next: bfgs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....base import errors
from ... import jnp
from .bfgs import OptimizeResults, bfgs, lbfgs

__all__ = ("minimize",)

# A method, and which of its options a tolerance is.
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
      fun: function of (x, *args) to a real number, which has a gradient.
      x0: where to start: a float array [N] (or a complex one, of L-BFGS).
      args: further arguments of `fun`.
      method: "BFGS", or "l-bfgs-experimental-do-not-rely-on-this".
      tol: the size of the gradient where it ends (and of L-BFGS also the least progress
        of a step): the options `gtol` and `ftol`.
      options: of BFGS `maxiter`, `norm` (order of the gradient's norm, by default inf),
        `gtol` (by default 1e-5), `line_search_maxiter`; of L-BFGS `maxiter`, `norm`,
        `maxcor` (how many steps are kept), `ftol` (the least progress of a step,
        relative to the value where that is above 1), `gtol`, `maxfun`, `maxgrad`,
        `maxls`.

    Returns:
      `OptimizeResults`. Where no better step is found, x is the best so far.

    Raises:
      TypeError: `args` is no tuple, or an option that the method does not have.
      ValueError: an unknown method, or `x0` has another number of axes.

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
