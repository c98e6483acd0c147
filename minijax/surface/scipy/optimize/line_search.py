r"""A step along a line that fulfils Wolfe's conditions.

With phi(t) = f(x + t p), a step t is wanted for which

.. math:: \phi(t) \le \phi(0) + c_1 t \phi'(0), \quad |\phi'(t)| \le c_2 |\phi'(0)|

An interval from `low`, the best step so far, to `high` contains such steps. While `high`
is infinite, steps grow; then a place in the interval is tried, at the least value of the
cubic or parabola through what is known, or in the middle. Both are one loop, which
evaluates f and its gradient once in its body.

Source: J. Nocedal, S. Wright, Numerical Optimization, algorithms 3.5 and 3.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ....api.autodiff import value_and_grad
from ....control.loops.while_loop import while_loop
from ....prims.dot.precision import Precision
from ....types import dtypes
from ... import jnp

C1, C2 = 1e-4, 0.9
_ZOOMS = 30  # places that are tried in an interval


class Point(NamedTuple):
    """A step, and f there; `gradient` points uphill."""

    t: Any
    value: Any
    slope: Any
    gradient: Any


class Search(NamedTuple):
    """Where the search stands."""

    low: Point
    high: Point
    previous: Point  # the end of the interval that was given up last
    num_growing: Any  # how often a step was tried without an upper end, and with one
    num_zooms: Any
    is_found: Any


class Step(NamedTuple):
    """What a search gives: the best place; 0, 1 or 3 for what ended it; evaluations."""

    point: Point
    status: Any
    evaluations: Any


def dot(x: Any, y: Any) -> Any:
    """The real inner product."""
    return jnp.real(jnp.vdot(x, y, precision=Precision.HIGHEST))


def evaluate(f: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """f(x), and the direction in which it grows fastest."""
    value, slope = value_and_grad(f)(x)
    return value, jnp.conj(slope)


def line_search(
    f: Callable[[Any], Any], x: Any, p: Any, value: Any, gradient: Any, first: Any, maxiter: int
) -> Step:
    """A step from x along p, which leads downhill.

    Args:
      f: the function.
      x, p: arrays of one shape and dtype.
      value, gradient: of f at x.
      first: the step to try first.
      maxiter: how often it may be doubled.
    """
    real = dtypes.real_of(x.dtype)
    slope = dot(gradient, p)
    start = Point(jnp.zeros((), real), value, slope, gradient)
    at_infinity = start._replace(t=jnp.full((), jnp.inf, real))
    # Values that differ by rounding are the same.
    slack = 2 * float(jnp.finfo(value.dtype).eps) * jnp.abs(value)

    def point_at(t: Any) -> Point:
        value, g = evaluate(f, x + t.astype(x.dtype) * p)
        return Point(t, value.astype(start.value.dtype), dot(g, p), g)

    def body(s: Search) -> Search:
        bounded = jnp.isfinite(s.high.t)
        growing = jnp.where(s.num_growing == 0, first, 2 * s.low.t)
        trial = point_at(jnp.where(bounded, between(s), growing).astype(real))
        # What is not a number is too high.
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
    return Step(s.low, status, s.num_growing + s.num_zooms)


def choose(which: Any, x: Point, y: Point) -> Point:
    """One of two places."""
    return Point(*[jnp.where(which, a, b) for a, b in zip(x, y, strict=True)])


def between(s: Search) -> Any:
    """A step inside of the interval: the first of three guesses that is well inside."""
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
    """Where the parabola through a, with its slope, and b is least; infinity if nowhere."""
    d = b.t - a.t
    ok = (d != 0) & jnp.isfinite(d)
    d = jnp.where(ok, d, 1)
    curvature = (b.value - a.value - a.slope * d) / d**2
    ok &= curvature != 0
    return jnp.where(ok, a.t - a.slope / (2 * jnp.where(ok, curvature, 1)), jnp.inf)


def least_of_cubic(a: Point, b: Point, c: Point) -> Any:
    """Where the cubic through a, with its slope, b and c is least; infinity if nowhere.

    In u = t - a it is a.value + a.slope u + B u^2 + A u^3.
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
