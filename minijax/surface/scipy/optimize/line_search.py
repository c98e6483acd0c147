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


class Place(NamedTuple):
    """A step, and f there; `gradient` points uphill."""

    t: Any
    value: Any
    slope: Any
    gradient: Any


class Search(NamedTuple):
    """Where the search stands."""

    low: Place
    high: Place
    before: Place  # the end of the interval that was given up last
    grown: Any  # how often a step was tried without an upper end, and with one
    zoomed: Any
    found: Any


class Step(NamedTuple):
    """What a search gives: the best place; 0, 1 or 3 for what ended it; evaluations."""

    place: Place
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
    start = Place(jnp.zeros((), real), value, slope, gradient)
    nowhere = start._replace(t=jnp.full((), jnp.inf, real))
    # Values that differ by rounding are the same.
    slack = 2 * float(jnp.finfo(value.dtype).eps) * jnp.abs(value)

    def there(t: Any) -> Place:
        value, g = evaluate(f, x + t.astype(x.dtype) * p)
        return Place(t, value.astype(start.value.dtype), dot(g, p), g)

    def body(s: Search) -> Search:
        bounded = jnp.isfinite(s.high.t)
        growing = jnp.where(s.grown == 0, first, 2 * s.low.t)
        here = there(jnp.where(bounded, between(s), growing).astype(real))
        # What is not a number is too high.
        enough = here.value <= value + C1 * here.t * slope + slack
        rises = ~(enough & (here.value <= s.low.value + slack))
        found = ~rises & (jnp.abs(here.slope) <= -C2 * slope)
        turns = ~rises & (here.slope * jnp.sign(s.high.t - s.low.t) >= 0)
        return Search(
            low=choose(rises, s.low, here),
            high=choose(rises, here, choose(turns, s.low, s.high)),
            before=choose(rises | turns, s.high, s.low),
            grown=s.grown + ~bounded,
            zoomed=s.zoomed + bounded,
            found=found,
        )

    def cond(s: Search) -> Any:
        return ~s.found & ~grown_out(s) & ~worn_out(s)

    def grown_out(s: Search) -> Any:
        return jnp.isinf(s.high.t) & (s.grown >= maxiter)

    def worn_out(s: Search) -> Any:
        eps = float(jnp.finfo(real).eps)
        narrow = jnp.abs(s.high.t - s.low.t) <= eps * jnp.maximum(s.high.t, s.low.t)
        return (s.zoomed >= _ZOOMS) | (jnp.isfinite(s.high.t) & narrow)

    none = jnp.zeros((), bool)
    s = while_loop(cond, body, Search(start, nowhere, start, 0, 0, none))
    status = jnp.where(s.found, 0, jnp.where(grown_out(s), 3, 1))
    return Step(s.low, status, s.grown + s.zoomed)


def choose(which: Any, x: Place, y: Place) -> Place:
    """One of two places."""
    return Place(*[jnp.where(which, a, b) for a, b in zip(x, y, strict=True)])


def between(s: Search) -> Any:
    """A step inside of the interval: the first of three guesses that is well inside."""
    low, high = s.low, s.high
    end = jnp.where(jnp.isfinite(high.t), high.t, low.t)
    width = jnp.abs(end - low.t)
    left, right = jnp.minimum(low.t, end), jnp.maximum(low.t, end)

    def inside(t: Any, share: float) -> Any:
        return (t > left + share * width) & (t < right - share * width)

    cubic, parabola = least_of_cubic(low, high, s.before), least_of_parabola(low, high)
    out = jnp.where(inside(parabola, 0.1), parabola, (left + right) / 2)
    return jnp.where(inside(cubic, 0.2) & (s.zoomed > 0), cubic, out)


def least_of_parabola(a: Place, b: Place) -> Any:
    """Where the parabola through a, with its slope, and b is least; infinity if nowhere."""
    d = b.t - a.t
    ok = (d != 0) & jnp.isfinite(d)
    d = jnp.where(ok, d, 1)
    bend = (b.value - a.value - a.slope * d) / d**2
    ok &= bend != 0
    return jnp.where(ok, a.t - a.slope / (2 * jnp.where(ok, bend, 1)), jnp.inf)


def least_of_cubic(a: Place, b: Place, c: Place) -> Any:
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
