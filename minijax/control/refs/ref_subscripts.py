"""Subscripts of references: the static part in a program, and the operands.

`split_subscript(shape, idx)` returns an `Index`, which is data of an equation, and its dynamic
entries.  Slices are static; integers may be values: scalars are clamped to the array's
bounds, arrays are broadcast together as in NumPy.

This module uses the methods of arrays, not of references.  Next: refs.py.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir import core
from ...ir.core import Tracer
from ...passes.ad_util import core_ops
from ...prims.gather.dynamic_slicing import dynamic_update_slice
from ...prims.shape.ds import Slice
from ...types import dtypes


class Span(NamedTuple):
    """A static slice along an axis of size `n`."""

    start: int
    size: int
    stride: int
    n: int

    def __str__(self) -> str:
        end = self.start + self.size
        return f"{self.start or ''}:{'' if end == self.n else end}"


class Window(NamedTuple):
    """A slice of fixed size along an axis of size `n`; an operand is its start."""

    size: int
    stride: int
    n: int


class _DynamicEntry:
    """A placeholder for an operand among an index's entries."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


DYNAMIC = _DynamicEntry()


class Index(NamedTuple):
    """A subscript of an array of `shape`: an int, a `Span` or `DYNAMIC` for each axis."""

    entries: tuple[Any, ...]
    shape: tuple[int, ...]

    def subscript(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        """Return the subscript for arrays."""
        it = iter(operands)
        return tuple(
            next(it)
            if e is DYNAMIC
            else _inside(e, n)
            if type(e) is int
            else Slice(next(it), e.size, e.stride)
            if type(e) is Window
            else slice(e.start, e.start + e.size * e.stride, e.stride)
            for e, n in zip(self.entries, self.shape, strict=True)
        )

    def result_shape(self, operand_shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """Return the shape of the selected elements."""
        probe = np.broadcast_to(np.zeros((), bool), self.shape)
        it = iter(operand_shapes)
        index = [
            np.zeros(next(it), np.int64)
            if e is DYNAMIC
            else _inside(e, n)
            if type(e) is int
            else _any_window(e, next(it))
            if type(e) is Window
            else slice(e.start, e.start + e.size * e.stride, e.stride)
            for e, n in zip(self.entries, self.shape, strict=True)
        ]
        return probe[tuple(index)].shape

    def text(self, operands: Sequence[str]) -> str:
        """Return the text for an equation: `1,:,b`."""
        it = iter(operands)
        return ",".join(
            next(it)
            if e is DYNAMIC
            else _window_text(e, next(it))
            if type(e) is Window
            else str(e)
            for e in self.entries
        )


def _any_window(window: Window, _: Any) -> slice:
    """Return a slice of a window's size."""
    return slice(0, window.size * window.stride, window.stride)


def _window_text(window: Window, at: str) -> str:
    end = f":{window.stride}" if window.stride != 1 else ""
    return f"{at}:{at}+{window.size}{end}"


def _inside(at: int, n: int) -> int:
    """Return an integer index clamped to the bounds; negative ones count from the end."""
    return max(0, min(at + n if at < 0 else at, n - 1))


def split_subscript(
    shape: tuple[int, ...], idx: Any, strict: bool = True
) -> tuple[Index | None, list[Any]]:
    """Return the index of a subscript, None for the full array, and its operands.

    strict: ValueError for an integer beyond the end, if no index is an array; otherwise
    it is clamped to the bounds, as traced integers are.
    """
    items = list(idx) if type(idx) is tuple else [] if idx is None else [idx]
    if not items or (len(items) == 1 and items[0] is Ellipsis):
        return None, []
    dots = [i for i, e in enumerate(items) if e is Ellipsis]
    if len(dots) > 1:
        raise ValueError("Only one ellipsis is supported.")
    if dots:
        fill = len(shape) - len(items) + 1
        items[dots[0] : dots[0] + 1] = [slice(None)] * max(fill, 0)
    if len(items) > len(shape):
        raise ValueError(
            f"`indices` must not be longer than `shape`: indices={tuple(items)}, shape={shape}"
        )
    items += [slice(None)] * (len(shape) - len(items))
    entries: list[Any] = []
    operands: list[Any] = []
    for e, n in zip(items, shape, strict=True):
        entry = _entry(e, n)
        if entry is DYNAMIC:
            operands.append(e)
        elif type(entry) is Window:
            operands.append(e.start)
        entries.append(entry)
    strict = strict and not any(core.aval_of(i).shape for i in operands)
    for entry, n in zip(entries, shape, strict=True):
        if type(entry) is int and entry >= n and (strict or not n):
            raise ValueError(f"Out of bound indexer: idx={entry}, dim={n}.")
    return Index(tuple(entries), shape), operands


def _entry(e: Any, n: int) -> Any:
    if isinstance(e, slice):
        return _span(e, n)
    if isinstance(e, Slice):
        if isinstance(e.start, Tracer) and e.start.concrete() is None:
            return Window(e.size, e.stride, n)
        span = Span(int(e.start), e.size, e.stride, n)
        if span.start < 0 or span.start + (e.size - 1) * e.stride >= n:
            raise ValueError(
                f"Out of bound slice: start={span.start}, size={e.size},"
                f" stride={e.stride}, dim={n}."
            )
        return span
    if isinstance(e, (list, str)) or e is None:
        raise TypeError(
            f"Argument {e!r} of type {type(e)} is not a valid JAX type: it cannot index a"
            " reference.\nTry: an integer, a slice or an array of integers"
        )
    aval = core.aval_of(e)
    if dtypes.is_bool(aval.dtype) and aval.shape:
        raise IndexError(
            "Too many indices: masks do not index references, for what they take out has"
            " no shape of its own.\nTry: ref[...] = jnp.where(mask, x, ref[...])"
        )
    if not (dtypes.is_integer(aval.dtype) or dtypes.is_bool(aval.dtype)):
        raise TypeError(
            f"a reference is indexed by integers, slices and arrays of integers, got"
            f" {aval.str_short(False)}."
        )
    if aval.shape or (isinstance(e, Tracer) and e.concrete() is None):
        return DYNAMIC
    return int(e)


def _span(e: slice, n: int) -> Span:
    step = 1 if e.step is None else operator.index(e.step)
    if step < 1:
        raise ValueError(f"slice must have a step >= 1 (found: {step})")
    start, stop, _ = e.indices(n)
    size = max(0, -(-(stop - start) // step))
    if start >= n and n and size == 0 and e.start is not None:
        raise ValueError(f"Out of bound slice: start={start}, dim={n}.")
    return Span(start, size, step, n)


def read(x: Any, index: Index | None, operands: Sequence[Any]) -> Any:
    """Return the elements of an array at an index."""
    return x if index is None else x[index.subscript(operands)]


def write(x: Any, index: Index, operands: Sequence[Any], value: Any, how: str) -> Any:
    """Return an array with its elements at an index `set`, or with a value to `add`."""
    has_arrays = any(core.aval_of(i).shape for i in operands)
    if has_arrays or any(getattr(e, "stride", 1) != 1 for e in index.entries):
        return getattr(x.at[index.subscript(operands)], how)(value)
    # A contiguous block, whose start is clamped so that it fits.
    it = iter(operands)
    at: list[Any] = []
    sizes: list[int] = []
    for e, n in zip(index.entries, index.shape, strict=True):
        is_dynamic = e is DYNAMIC or type(e) is Window
        fixed = e.start if type(e) is Span else None if is_dynamic else _inside(e, n)
        at.append(next(it) if is_dynamic else fixed)
        sizes.append(getattr(e, "size", 1))
    if how == "add":
        value = core_ops.add(read(x, index, operands), value)
    box = core_ops.reshape(value, tuple(sizes))
    return dynamic_update_slice(x, box, at)
