"""Progress bars of loops: `scan(progress='text')`, `fori_loop(progress='text')`.

The loop is divided into about a hundred blocks, each a loop without a bar; after each
block Python is called, to draw the bar on standard error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base import tree
from ...base.source import wraps
from ...ir import core
from ...passes.ad_util import core_ops
from ...prims import lax
from ...prims.math.cast import cast
from ..arguments import concrete_or_error
from ..callbacks.debugging import debug_callback

_BLOCKS = 100
_WIDTH = 30
_PAUSE = 0.05  # seconds between two drawings, which are slower than the calls


class Bar:
    """A bar on standard error for a loop of `total` steps."""

    __slots__ = ("__name__", "drawn", "start", "total")

    def __init__(self, total: int) -> None:
        self.total = total
        self.start = self.drawn = 0.0
        self.__name__ = "progress"

    def __call__(self, step: Any) -> None:
        done, now = int(step), time.monotonic()
        if done == 0 or not self.start:
            self.start = now
        elif done < self.total and now - self.drawn < _PAUSE:
            return
        self.drawn = now
        filled = _WIDTH * done // max(self.total, 1)
        rate = done / (now - self.start) if now > self.start and done else 0.0
        sys.stderr.write(
            f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{self.total}"
            + (f"  {rate:.3g} steps/s" if rate else "")
            + ("\n" if done >= self.total else "")
        )
        sys.stderr.flush()

    def show(self, done: Any) -> None:
        """Draw the bar when the program reaches this point."""
        debug_callback(self, done, ordered=True)


def wants_bar(progress: Any) -> bool:
    """Whether a bar is requested; ValueError for anything but None and 'text'."""
    if progress not in (None, "text"):
        raise ValueError(f"progress={progress!r}: choose None or 'text'.")
    return progress is not None


def _blocks(n: int) -> tuple[int, int, int]:
    """Return the steps of a block, the number of blocks, and the remaining steps."""
    size = max(1, n // _BLOCKS)
    return size, *divmod(n, size)


def scan_with_bar(
    run_part: Callable[..., tuple[Any, Any]], init: Any, xs: Any, n: int, reverse: bool
) -> tuple[Any, Any]:
    """Run a scan of `n` steps; `run_part(carry, slices, count)` runs fewer."""
    bar = Bar(n)
    size, blocks, left = _blocks(n)
    num_in_blocks = n - left  # the slices of all blocks; the remaining ones are the last

    def block(carry: Any, at: Any) -> tuple[Any, Any]:
        i, slices = at
        done = lax.mul(i, np.int32(size))
        bar.show(lax.sub(np.int32(n - size), done) if reverse else done)
        return run_part(carry, slices, size)

    def in_blocks(x: Any) -> Any:
        shape = core.aval_of(x).shape[1:]
        return core_ops.reshape(
            core_ops.slice_axis(x, 0, 0, num_in_blocks), (blocks, size, *shape)
        )

    def flatten_blocks(y: Any) -> Any:
        return core_ops.reshape(y, (num_in_blocks, *core.aval_of(y).shape[2:]))

    rest = tree.map(lambda x: core_ops.slice_axis(x, 0, num_in_blocks, n), xs)
    carry, last = init, None
    if left and reverse:
        carry, last = run_part(carry, rest, left)
    slices = lax.iota(np.int32, blocks), tree.map(in_blocks, xs)
    carry, ys = run_part(carry, slices, blocks, block)
    ys = tree.map(flatten_blocks, ys)
    if left and not reverse:
        carry, last = run_part(carry, rest, left)
    if left:
        ys = tree.map(lambda *pair: lax.concatenate(pair, 0), ys, last)
    bar.show(n)
    return carry, ys


def fori_with_bar(
    loop: Callable[..., Any],
    lower: Any,
    n: int,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
) -> Any:
    """Run a loop of `n` steps from `lower`; `loop(count, body, val)` runs one from 0."""
    first = concrete_or_error(int, lower, "fori_loop(progress=)")
    aval = core.aval_of(lower)
    bar = Bar(n)
    size, blocks, left = _blocks(n)

    def run_block(start: Any, count: int, val: Any) -> Any:
        @wraps(body_fun)
        def body(j: Any, val: Any) -> Any:
            return body_fun(lax.add(cast(j, aval.dtype, aval.weak_type), start), val)

        return loop(count, body, val)

    def block(b: Any, val: Any) -> Any:
        done = lax.mul(b, size)
        bar.show(done)
        return run_block(add_to_first(done), size, val)

    def add_to_first(done: Any) -> Any:
        return cast(lax.add(done, first), aval.dtype, aval.weak_type)

    val = loop(blocks, block, init_val)
    if left:
        val = run_block(add_to_first(blocks * size), left, val)
    bar.show(n)
    return val
