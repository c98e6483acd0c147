r"""Runge-Kutta steps of orders 5 and 4, by Dormand and Prince.

For y' = f(y, t), with seven slopes k at nodes within a step h,

.. math:: y_1 = y_0 + h \sum_i b_i k_i, \quad e = h \sum_i (b_i - \hat b_i) k_i

e is the difference from a formula of order 4, and the slope at y_1 is the first slope of
the next step.  Between both ends a polynomial of degree 4 approximates the solution.

Source: J. Dormand, P. Prince, A family of embedded Runge-Kutta formulae, J. Comput. Appl.
Math. 6, 1980; L. Shampine, Some practical Runge-Kutta formulas, Math. Comp. 46, 1986
(the middle); E. Hairer, S. Norsett, G. Wanner, Solving Ordinary Differential Equations I,
section II.4 (sizes of steps).

Next: odeint.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...control.loop_functions.while_loop import fori_loop
from ...prims.dot.precision import Precision
from ...types import dtypes
from .. import jnp, ravel
from ..numpy import norms
from ..numpy._common import promote_dtypes_inexact

__all__ = (
    "abs2",
    "fit_4th_order_polynomial",
    "initial_step_size",
    "interp_fit_dopri",
    "mean_error_ratio",
    "optimal_step_size",
    "ravel_first_arg",
    "ravel_first_arg_",
    "runge_kutta_step",
)

Derivative = Callable[[Any, Any], Any]

# The nodes of the slopes in a step, and the weights of previous slopes in the value there.
NODES = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1])
STAGES = np.array(
    [
        [0, 0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
    ]
)
# The weights of slopes in the result, in the formula of order 4, and in the midpoint.
FIFTH = STAGES[6]
FOURTH = np.array(
    [1951 / 21600, 0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60]
)
MIDDLE = 0.5 * np.array(
    [
        6025192743 / 30085553152,
        0,
        51252292925 / 65400821598,
        -2691868925 / 45128329728,
        187940372067 / 1594534317056,
        -1776094331 / 19743644256,
        11237099 / 235043384,
    ]
)


def weighted_sum(weights: Any, k: Any) -> Any:
    """Return the weighted sum of slopes."""
    return jnp.dot(jnp.asarray(weights, k.dtype), k, precision=Precision.HIGHEST)


def runge_kutta_step(func: Derivative, y0: Any, f0: Any, t0: Any, dt: Any) -> Any:
    """Compute one step of the formulas.

    Args:
      func: y' as a function of (y, t), of vectors.
      y0, f0: vectors [N]: the value and its slope, at the time t0.
      t0, dt: the time and the step, numbers.

    Returns:
      (y1, f1, error, k): value and slope after the step, the difference of the two
      formulas, and all slopes [7, N].

    Example:
      >>> import minijax.numpy as jnp
      >>> t, h = jnp.zeros(()), jnp.float32(0.1)
      >>> one = jnp.ones(1)
      >>> jnp.round(runge_kutta_step(lambda y, t: y, one, one, t, h)[0], 5)
      Array([1.10517], dtype=float32)
    """
    h = dt.astype(f0.dtype)
    nodes, stages = jnp.asarray(NODES, dt.dtype), jnp.asarray(STAGES, f0.dtype)

    def body(i: Any, k: Any) -> Any:
        slope = func(y0 + h * weighted_sum(stages[i], k), t0 + dt * nodes[i])
        return k.at[i].set(slope)

    k = jnp.zeros((7, f0.shape[0]), f0.dtype).at[0].set(f0)
    k = fori_loop(1, 7, body, k)
    y1 = y0 + h * weighted_sum(FIFTH, k)
    return y1, k[-1], h * weighted_sum(FIFTH - FOURTH, k), k


def fit_4th_order_polynomial(y0: Any, y1: Any, y_mid: Any, dy0: Any, dy1: Any, dt: Any) -> Any:
    r"""Fit a polynomial of degree 4 to values at 0, 1/2, 1, and slopes at 0 and 1.

    Args:
      y0, y1, y_mid: vectors: values at both ends and in the middle.
      dy0, dy1: slopes at both ends, with respect to time.
      dt: the length of the interval.

    Returns:
      Five coefficients, highest power first.

    Example:
      >>> import minijax.numpy as jnp
      >>> x = [jnp.float32(v) for v in (0, 1, 1 / 16, 0, 4, 1)]  # t^4
      >>> [float(c) for c in fit_4th_order_polynomial(*x)]
      [1.0, 0.0, 0.0, 0.0, 0.0]
    """
    h = dt.astype(y0.dtype)
    left, right = h * dy0, h * dy1
    rise, middle = y1 - y0, y_mid - y0
    # p(x) - y0 - left x = x^2 (A + B x + C x^2) has two known values and a known slope.
    u, v, w = rise - left, 4 * (middle - left / 2), right - left
    # A + B + C = u, A + B/2 + C/4 = v, 2 A + 3 B + 4 C = w
    top = 2 * (w - 4 * u + 2 * v)
    cubic = 2 * (u - v) - 1.5 * top
    return top, cubic, u - cubic - top, left, y0


def interp_fit_dopri(y0: Any, y1: Any, k: Any, dt: Any) -> Any:
    """Fit the polynomial that approximates the solution within a step.

    Args:
      y0, y1: vectors [N]: values before and after it.
      k: the slopes [7, N], from `runge_kutta_step`.
      dt: the step.

    Returns:
      Array [5, N] of coefficients, highest power first, in the elapsed fraction of the
      step.

    Example:
      >>> import minijax.numpy as jnp
      >>> interp_fit_dopri(jnp.zeros(1), jnp.ones(1), jnp.ones((7, 1)), jnp.ones(()))[3]
      Array([1.], dtype=float32)
    """
    middle = y0 + dt.astype(y0.dtype) * weighted_sum(MIDDLE, k)
    return jnp.stack(fit_4th_order_polynomial(y0, y1, middle, k[0], k[-1], dt))


# ----------------------------------------------------------------------- sizes of steps


def initial_step_size(
    fun: Derivative, t0: Any, y0: Any, order: Any, rtol: Any, atol: Any, f0: Any
) -> Any:
    """Return an initial step size, for which an Euler step would be accurate enough.

    Args:
      fun: y' as a function of (y, t), of vectors.
      t0, y0, f0: the initial time, value and slope.
      order: the order of the formula.
      rtol, atol: relative and absolute tolerance of a step.

    Returns:
      A float.

    Example:
      >>> import minijax.numpy as jnp
      >>> one = jnp.ones(1)
      >>> initial_step_size(lambda y, t: y, 0., one, 4, 0., 1e-4, one) < 0.2
      Array(True, dtype=bool)
    """
    y0, f0 = promote_dtypes_inexact(y0, f0)
    scale = (atol + jnp.abs(y0) * rtol).astype(y0.dtype)
    d0, d1 = norms.norm(y0 / scale), norms.norm(f0 / scale)
    small = (d0 < 1e-5) | (d1 < 1e-5)
    h0 = jnp.where(small, 1e-6, 0.01 * d0 / jnp.where(small, 1, d1))
    f1 = fun(y0 + h0.astype(y0.dtype) * f0, t0 + h0)
    d2 = norms.norm((f1 - f0) / scale) / h0
    curvature = jnp.maximum(d1, d2)
    is_flat = curvature <= 1e-15
    h1 = (0.01 / jnp.where(is_flat, 1, curvature)) ** (1 / (order + 1))
    h1 = jnp.where(is_flat, jnp.maximum(1e-6, h0 * 1e-3), h1)
    return jnp.minimum(100 * h0, h1)


def abs2(x: Any) -> Any:
    """Return the square of the absolute value.

    Args:
      x: array or number.

    Returns:
      A real array.

    Example:
      >>> float(abs2(3. + 4j))
      25.0
    """
    x = jnp.asarray(x)
    return x.real**2 + x.imag**2 if dtypes.is_complex(x.dtype) else x**2


def mean_error_ratio(error_estimate: Any, rtol: Any, atol: Any, y0: Any, y1: Any) -> Any:
    """Return the root mean square of errors relative to the tolerance.

    Args:
      error_estimate: vector [N].
      rtol, atol: relative and absolute tolerance.
      y0, y1: values before and after the step.

    Returns:
      A float; the step is accepted if it is at most 1.

    Example:
      >>> import minijax.numpy as jnp
      >>> one = jnp.ones(2)
      >>> mean_error_ratio(one, 0.25, 0.25, one, -one)
      Array(2., dtype=float32)
    """
    tolerance = atol + rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1))
    return jnp.sqrt(jnp.mean(abs2(error_estimate / tolerance.astype(error_estimate.dtype))))


def optimal_step_size(
    last_step: Any,
    mean_error_ratio: Any,
    safety: Any = 0.9,
    ifactor: Any = 10.0,
    dfactor: Any = 0.2,
    order: Any = 5.0,
) -> Any:
    """Return the step size whose estimated error just meets the tolerance.

    Args:
      last_step: the last step size.
      mean_error_ratio: its error, relative to the tolerance.
      safety: a safety factor of the step size.
      ifactor, dfactor: the largest and the smallest factor of the change.
      order: the order of the formula.

    Returns:
      A float: not less than `last_step` if that was accepted.

    Example:
      >>> optimal_step_size(1., 32.)
      Array(0.45, dtype=float32, weak_type=True)
    """
    good = mean_error_ratio < 1
    exact = mean_error_ratio == 0
    factor = jnp.where(exact, 1.0, mean_error_ratio) ** (-1.0 / order) * safety
    factor = jnp.clip(factor, jnp.where(good, 1.0, dfactor), ifactor)
    return last_step * jnp.where(exact, ifactor, factor)


# ------------------------------------------------------------------------ trees as vectors


def ravel_first_arg(f: Callable[..., Any], unravel: Any, debug_info: Any = None) -> Any:
    """Convert a function of a tree to one whose first argument and result are vectors.

    Args:
      f: a function from a tree, and other arguments, to a tree of the same structure.
      unravel: function from a vector to the tree (see `flatten_util.ravel_pytree`).
      debug_info: set as the new function's `debug_info`.

    Returns:
      The new function.

    Example:
      >>> import minijax.numpy as jnp
      >>> ravel_first_arg(lambda t, s: [s * t[0]], lambda x: [x])(jnp.ones(2), 3.)
      Array([3., 3.], dtype=float32)
    """

    flat = ravel_first_arg_(f, unravel)
    flat.debug_info = debug_info  # type: ignore[attr-defined]
    return flat


def ravel_first_arg_(fun: Callable[..., Any], *gen_static_args: Any) -> Callable[..., Any]:
    """Compute `ravel_first_arg` without `debug_info`.

    Args:
      fun: a function from a tree, and other arguments, to a tree of the same structure.
      gen_static_args: the function from a vector to the tree.

    Returns:
      The new function.

    Raises:
      ValueError: `gen_static_args` is not a single function.

    Example:
      >>> import minijax.numpy as jnp
      >>> ravel_first_arg_(lambda t: t, lambda x: {"a": x})(jnp.ones(2))
      Array([1., 1.], dtype=float32)
    """
    (unravel,) = gen_static_args

    def flat(y_flat: Any, *args: Any) -> Any:
        return ravel.ravel_pytree(fun(unravel(y_flat), *args))[0]

    return flat
