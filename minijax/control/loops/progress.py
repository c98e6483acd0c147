"""`scan` and `fori_loop` with a progress bar: the public ones.

With `progress='text'` the loop is cut into about a hundred blocks, each a loop of its own
that knows nothing of the bar; between two of them Python is called, to draw it on standard
error.
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
from ...passes.algebra import lib
from ...prims import lax
from ...prims.math.cast import cast
from ...prims.shape import shapes
from ...prims.shape.concatenation import concatenate
from ..effects.debugging import debug_callback
from . import scanning as scans
from . import while_loop

_BLOCKS = 100
_WIDTH = 30
_PAUSE = 0.05  # seconds: drawing costs more than the call does


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
        """Draw, when the program gets here."""
        debug_callback(self, done, ordered=True)


def _check(progress: Any) -> None:
    if progress not in (None, "text"):
        raise ValueError(f"progress={progress!r}: choose None or 'text'.")


def _block_size(n: int) -> int:
    return max(1, n // _BLOCKS)


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None,
    length: int | None = None, reverse: bool = False, unroll: int | bool = 1,
    _split_transpose: bool = False, *, progress: str | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    if progress is None:
        return scans.scan(f, init, xs, length, reverse, unroll, _split_transpose)
    _check(progress)
    n = scans.scan_length(f, *tree.flatten(xs), length)
    bar, size = Bar(n), _block_size(n)
    blocks, left = divmod(n, size)
    whole = n - left  # the rows of all blocks; those left over are the last ones

    def part(carry: Any, rows: Any, count: int) -> tuple[Any, Any]:
        return scans.scan(f, carry, rows, count, reverse, unroll, _split_transpose)

    def block(carry: Any, at: Any) -> tuple[Any, Any]:
        i, rows = at
        bar.show(lax.mul(i, np.int32(size)) if not reverse else _done_before(i))
        return part(carry, rows, size)

    def _done_before(i: Any) -> Any:
        return lax.sub(np.int32(n - size), lax.mul(i, np.int32(size)))

    def in_blocks(x: Any) -> Any:
        shape = core.aval_of(x).shape[1:]
        return lib.reshape(lib.slice_axis(x, 0, 0, whole), (blocks, size, *shape))

    def in_a_row(y: Any) -> Any:
        return lib.reshape(y, (whole, *core.aval_of(y).shape[2:]))

    rest = tree.map(lambda x: lib.slice_axis(x, 0, whole, n), xs)
    carry, last = init, None
    if left and reverse:
        carry, last = part(carry, rest, left)
    numbers = shapes.iota(np.int32, blocks)
    carry, ys = scans.scan(
        block, carry, (numbers, tree.map(in_blocks, xs)), blocks, reverse
    )
    ys = tree.map(in_a_row, ys)
    if left and not reverse:
        carry, last = part(carry, rest, left)
    if left:
        ys = tree.map(lambda *parts: concatenate(parts, 0), ys, last)
    bar.show(n)
    return carry, ys


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
        return while_loop.fori_loop(lower, upper, body_fun, init_val, unroll=unroll)
    _check(progress)
    first = core.concrete_or_error(int, lower, "fori_loop(progress=)")
    n = core.concrete_or_error(int, upper, "fori_loop(progress=)") - first
    if n <= 0:
        return while_loop.fori_loop(lower, upper, body_fun, init_val, unroll=unroll)
    bar, size = Bar(n), _block_size(n)
    blocks, left = divmod(n, size)
    aval = core.aval_of(lower)

    def part(start: Any, count: int, val: Any) -> Any:
        @wraps(body_fun)
        def body(j: Any, val: Any) -> Any:
            return body_fun(lax.add(cast(j, aval.dtype, aval.weak_type), start), val)

        return while_loop.fori_loop(0, count, body, val, unroll=unroll)

    def block(b: Any, val: Any) -> Any:
        done = lax.mul(b, size)
        bar.show(done)
        return part(add_to_first(done), size, val)

    def add_to_first(done: Any) -> Any:
        return cast(lax.add(done, first), aval.dtype, aval.weak_type)

    val = while_loop.fori_loop(0, blocks, block, init_val)
    if left:
        val = part(add_to_first(blocks * size), left, val)
    bar.show(n)
    return val


fori_loop.__doc__ = (
    (while_loop.fori_loop.__doc__ or "").rstrip()
    + """

    Differs from JAX: `progress='text'` draws a progress bar on standard error.
    """
)
