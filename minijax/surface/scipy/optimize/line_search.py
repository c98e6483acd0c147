r"""A line search for a step that satisfies the strong Wolfe conditions.

With phi(t) = f(x + t p), the search finds a step t with

.. math:: \phi(t) \le \phi(0) + c_1 t \phi'(0), \quad |\phi'(t)| \le c_2 |\phi'(0)|

An interval from `low`, the best step so far, to `high` contains such steps.  While `high`
is infinite, steps grow.  Then a step inside the interval is tried: the minimum of a cubic
or a parabola through known values, or the midpoint.  Both phases are one loop, whose body
evaluates f and its gradient once.

Source: J. Nocedal, S. Wright, Numerical Optimization, algorithms 3.5 and 3.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ....api.autodiff import value_and_grad
from ....control.loop_functions.while_loop import while_loop
from ....prims.dot.precision import Precision
from ....types import dtypes
from ... import jnp

C1, C2 = 1e-4, 0.9
_ZOOMS = 30  # the largest number of steps tried inside an interval


class Point(NamedTuple):
    """A step with the value, slope and gradient of f; `gradient` points uphill."""

    t: Any
    value: Any
    slope: Any
    gradient: Any


class Search(NamedTuple):
    """The state of the search."""

    low: Point
    high: Point
    previous: Point  # the end of the interval that was replaced last
    num_growing: Any  # the steps tried without an upper end; `num_zooms`: with one
    num_zooms: Any
    is_found: Any


class LineSearchResult(NamedTuple):
    """The result of a search: the best point; a status 0, 1 or 3; the evaluations."""

    point: Point
    status: Any
    evaluations: Any


def dot(x: Any, y: Any) -> Any:
    """Return the real inner product."""
    return jnp.real(jnp.vdot(x, y, precision=Precision.HIGHEST))


def evaluate(f: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """Return f(x) and its direction of steepest ascent."""
    value, slope = value_and_grad(f)(x)
    return value, jnp.conj(slope)


def line_search(
    f: Callable[[Any], Any], x: Any, p: Any, value: Any, gradient: Any, first: Any, maxiter: int
) -> LineSearchResult:
    """Find a step from x along the descent direction p.

    Args:
      f: the function.
      x, p: arrays of one shape and dtype.
      value, gradient: the value and the gradient of f at x.
      first: the first step to try.
      maxiter: the largest number of doublings.
    """
    real = dtypes.real_of(x.dtype)
    slope = dot(gradient, p)
    start = Point(jnp.zeros((), real), value, slope, gradient)
    at_infinity = start._replace(t=jnp.full((), jnp.inf, real))
    # Treat values that differ only by rounding as equal.
    slack = 2 * float(jnp.finfo(value.dtype).eps) * jnp.abs(value)

    def point_at(t: Any) -> Point:
        value, g = evaluate(f, x + t.astype(x.dtype) * p)
        return Point(t, value.astype(start.value.dtype), dot(g, p), g)

    def body(s: Search) -> Search:
        bounded = jnp.isfinite(s.high.t)
        growing = jnp.where(s.num_growing == 0, first, 2 * s.low.t)
        trial = point_at(jnp.where(bounded, between(s), growing).astype(real))
        # These comparisons are false for nan, so nan counts as too high.
        decreases_enough = trial.value <= value + C1 * trial.t * slope + slack
        is_too_high = ~(decreases_enough & (trial.value <= s.low.value + slack))
        is_found = ~is_too_high & (jnp.abs(trial.slope) <= -C2 * slope)
        is_reversed = ~is_too_high & (trial.slope * jnp.sign(s.high.t - s.low.t) >= 0)
        return Search(
            low=choose(is_too_high, s.low, trial),
            high=choose(is_too_high, trial, choose(is_reversed, s.low, s.high)),
            previous=choose(is_too_high | is_reversed, s.high, s.low),
            num_growing=s.num_growing + ~bounded,
            num_zooms=s.num_zooms + bounded,
            is_found=is_found,
        )

    def cond(s: Search) -> Any:
        return ~s.is_found & ~growth_failed(s) & ~zoom_failed(s)

    def growth_failed(s: Search) -> Any:
        return jnp.isinf(s.high.t) & (s.num_growing >= maxiter)

    def zoom_failed(s: Search) -> Any:
        eps = float(jnp.finfo(real).eps)
        narrow = jnp.abs(s.high.t - s.low.t) <= eps * jnp.maximum(s.high.t, s.low.t)
        return (s.num_zooms >= _ZOOMS) | (jnp.isfinite(s.high.t) & narrow)

    not_found = jnp.zeros((), bool)
    s = while_loop(cond, body, Search(start, at_infinity, start, 0, 0, not_found))
    status = jnp.where(s.is_found, 0, jnp.where(growth_failed(s), 3, 1))
    return LineSearchResult(s.low, status, s.num_growing + s.num_zooms)


def choose(mask: Any, x: Point, y: Point) -> Point:
    """Select one of two points."""
    return Point(*[jnp.where(mask, a, b) for a, b in zip(x, y, strict=True)])


def between(s: Search) -> Any:
    """Return the first of three candidate steps that is well inside the interval."""
    low, high = s.low, s.high
    end = jnp.where(jnp.isfinite(high.t), high.t, low.t)
    width = jnp.abs(end - low.t)
    left, right = jnp.minimum(low.t, end), jnp.maximum(low.t, end)

    def inside(t: Any, margin: float) -> Any:
        return (t > left + margin * width) & (t < right - margin * width)

    cubic, parabola = least_of_cubic(low, high, s.previous), least_of_parabola(low, high)
    out = jnp.where(inside(parabola, 0.1), parabola, (left + right) / 2)
    return jnp.where(inside(cubic, 0.2) & (s.num_zooms > 0), cubic, out)


def least_of_parabola(a: Point, b: Point) -> Any:
    """Return the minimizer of the parabola through a, with its slope, and b,
    or infinity."""
    d = b.t - a.t
    ok = (d != 0) & jnp.isfinite(d)
    d = jnp.where(ok, d, 1)
    curvature = (b.value - a.value - a.slope * d) / d**2
    ok &= curvature != 0
    return jnp.where(ok, a.t - a.slope / (2 * jnp.where(ok, curvature, 1)), jnp.inf)


def least_of_cubic(a: Point, b: Point, c: Point) -> Any:
    """Return the minimizer of the cubic through a, with its slope, b and c, or infinity.

    With u = t - a the cubic is a.value + a.slope u + B u^2 + A u^3.
    """
    u, v = b.t - a.t, c.t - a.t
    ok = (u != 0) & (v != 0) & (u != v) & jnp.isfinite(u) & jnp.isfinite(v)
    u, v = jnp.where(ok, u, 1), jnp.where(ok, v, 2)
    x = (b.value - a.value - a.slope * u) / u**2  # B + A u
    y = (c.value - a.value - a.slope * v) / v**2  # B + A v
    ok &= jnp.isfinite(x) & jnp.isfinite(y)
    x, y = jnp.where(ok, x, 0), jnp.where(ok, y, 1)
    A = (x - y) / (u - v)
    B = x - A * u
    square = B * B - 3 * A * a.slope
    ok &= (A != 0) & (square >= 0)
    root = jnp.sqrt(jnp.where(ok, square, 1))
    return jnp.where(ok, a.t + (root - B) / (3 * jnp.where(ok, A, 1)), jnp.inf)
