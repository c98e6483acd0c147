"""`scan` and `fori_loop` with a progress bar: the public ones.

With `progress='text'` the loop calls back about a hundred times in all, to draw a bar on
standard error; between two calls it pays for one comparison of the step's number.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import tree
from ..core import core
from ..ops import arithmetic, logic, shapes
from . import loops
from . import scanning as scans
from .branching import cond
from .debugging import debug_callback

_UPDATES = 100
_WIDTH = 30


class Bar:
    """A bar on standard error for a loop of `total` steps."""

    __slots__ = ("__name__", "start", "total")

    def __init__(self, total: int) -> None:
        self.total = total
        self.start = 0.0
        self.__name__ = "progress"

    def __call__(self, step: Any) -> None:
        done, now = int(step), time.monotonic()
        if done == 0 or not self.start:
            self.start = now
        filled = _WIDTH * done // max(self.total, 1)
        rate = done / (now - self.start) if now > self.start and done else 0.0
        sys.stderr.write(
            f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{self.total}"
            + (f"  {rate:.3g} steps/s" if rate else "")
            + ("\n" if done >= self.total else "")
        )
        sys.stderr.flush()


def _check(progress: Any) -> None:
    if progress not in (None, "text"):
        raise ValueError(f"progress={progress!r}: choose None or 'text'.")


def _report(bar: Bar, i: Any, n: int) -> None:
    """Call the bar at every hundredth part of `n` steps; `i` counts from 0."""
    every = max(1, n // _UPDATES)
    done = arithmetic.add(i, np.int32(1))
    last = logic.eq(done, np.int32(n))
    tick = logic.bitwise_or(
        logic.eq(arithmetic.rem(i, np.int32(every)), np.int32(0)), last
    )
    shown = logic.select_n(last, i, done)

    def draw(k: Any) -> Any:
        debug_callback(bar, k, ordered=True)
        return ()

    cond(tick, draw, lambda k: (), shown)


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None,
    length: int | None = None, reverse: bool = False, unroll: int | bool = 1,
    _split_transpose: bool = False, *, progress: str | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    if progress is None:
        return scans.scan(f, init, xs, length, reverse, unroll, _split_transpose)
    _check(progress)
    n = scans.scan_length(f, *tree.flatten(xs), length)
    bar = Bar(n)

    @functools.wraps(f)
    def step(carry: Any, row: Any) -> Any:
        i, x = row
        _report(bar, arithmetic.sub(np.int32(n - 1), i) if reverse else i, n)
        return f(carry, x)

    steps = shapes.iota(np.int32, n)
    return scans.scan(step, init, (steps, xs), n, reverse, unroll, _split_transpose)


scan.__doc__ = (
    (scans.scan.__doc__ or "").rstrip()
    + """

    Differs from JAX: `progress='text'` draws a progress bar on standard error.
    """
)


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *,
    unroll: int | bool | None = None, progress: str | None = None,
) -> Any:  # fmt: skip
    if progress is None:
        return loops.fori_loop(lower, upper, body_fun, init_val, unroll=unroll)
    _check(progress)
    first = core.concrete_or_error(int, lower, "fori_loop(progress=)")
    n = core.concrete_or_error(int, upper, "fori_loop(progress=)") - first
    bar = Bar(n)

    @functools.wraps(body_fun)
    def body(i: Any, val: Any) -> Any:
        _report(bar, arithmetic.sub(i, np.asarray(first, core.aval_of(i).dtype)), n)
        return body_fun(i, val)

    return loops.fori_loop(lower, upper, body, init_val, unroll=unroll)


fori_loop.__doc__ = (
    (loops.fori_loop.__doc__ or "").rstrip()
    + """

    Differs from JAX: `progress='text'` draws a progress bar on standard error.
    """
)
