"""`pad`, in every mode of NumPy.

Axes are padded one after another.  Constants are one `pad` primitive.  Modes that copy use
slices, reversals and one concatenation per axis; `mean` and other statistics reduce first.

Next: edits.py, for delete and insert.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...ir.core import Tracer
from ...prims import lax
from ...prims.elementwise import const
from ...symbolic.dims import SymbolicDim
from ...types import dtypes
from . import moments, reductions
from ._common import *
from .functional import apply_along_axis
from .quantiles import median
from .ranges import _linspace

__all__ = ("pad",)

# The keyword arguments of each mode.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",),
    "edge": (),
    "wrap": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
}

Widths = tuple[tuple[int, int], ...]


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """Pad an array at its edges.

    Args:
      array: array or number.
      pad_width: number of elements to add: an int, (before, after), or one such pair per
        axis.
      mode: "constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp",
        "maximum", "mean", "median", "minimum", "empty", or a function
        (vector, pad pair, axis, kwargs) -> vector of a padded vector.
      kwargs: `constant_values`, `end_values`, `stat_length` (each: one value, a pair, or a
        pair per axis), `reflect_type` ("even" or "odd").

    Returns:
      An array of `array`'s dtype and rank, with each axis extended by its widths.

    Raises:
      TypeError: widths are not integers.
      ValueError: widths are negative or too many, or the mode does not have such an
        argument.
      NotImplementedError: an unknown mode.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.pad(jnp.array([1, 2]), (1, 2))
      Array([0, 1, 2, 0, 0], dtype=int32)
    """
    check_arraylike("pad", array)
    rank = len(shape_of(array))
    widths = pad_widths(pad_width, rank)
    if callable(mode):
        return _pad_by_function(array, widths, mode, kwargs)
    if mode not in _OPTIONS:
        raise NotImplementedError(
            f"Unimplemented padding mode {mode!r} for np.pad.\n"
            f"Try: one of {', '.join(_OPTIONS)}"
        )
    unknown = set(kwargs) - set(_OPTIONS[mode])
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {unknown}")
    if mode in ("constant", "linear_ramp"):
        name = _OPTIONS[mode][0]
        pad_values = kwargs.get(name, 0)
        if isinstance(pad_values, (tuple, list)):
            pad_values = pair_up(pad_values, rank)
        check_arraylike("pad", *_flat(pad_values))
        run = _pad_constant if mode == "constant" else _pad_ramp
        return run(array, pad_values, widths)
    if mode == "empty":
        return _pad_constant(array, 0, widths)
    if mode in ("reflect", "symmetric"):
        odd = _is_odd(kwargs.get("reflect_type", "even"))
        return _pad_reflected(array, widths, mode == "symmetric", odd)
    if mode in ("edge", "wrap"):
        return _pad_copied(array, widths, mode)
    lengths = kwargs.get("stat_length")
    if lengths is not None:
        lengths = pad_widths(lengths, rank, "stat_length")
        if any(n < 1 for pair in lengths for n in pair):
            raise ValueError("stat_length of 0 yields no value for padding")
    return _pad_statistic(array, widths, mode, lengths)


def _flat(x: Any) -> list[Any]:
    return [v for item in x for v in _flat(item)] if isinstance(x, tuple) else [x]


def _is_odd(kind: str) -> bool:
    if kind not in ("even", "odd"):
        raise ValueError(f"pad: reflect_type is 'even' or 'odd', got {kind!r}")
    return kind == "odd"


def pad_widths(user_value: Any, rank: int, name: str = "pad_width") -> Widths:
    """Return widths as one (before, after) per axis."""
    if isinstance(user_value, Tracer):
        user_value = concrete_or_error(None, user_value, f"It is the {name} of jnp.pad.")
    widths = np.asarray(user_value)
    sizes = (int, np.integer, SymbolicDim)
    if widths.dtype.kind not in "iu" and not all(isinstance(n, sizes) for n in widths.flat):
        raise TypeError(f"`{name}` must be of integral type.")
    if widths.shape not in ((), (1,), (2,), (1, 2), (rank, 2)):
        raise ValueError(
            f"jnp.pad: {name} with nd={rank} has unsupported shape {widths.shape}."
            f" Valid shapes are ({rank}, 2), (1, 2), (2,), (1,), or ()."
        )
    if (widths < 0).any():
        raise ValueError("index can't contain negative values")
    pairs = np.broadcast_to(widths, (rank, 2)).tolist()
    return tuple((before, after) for before, after in pairs)


def pair_up(values: Any, rank: int) -> Any:
    """Return values, given as (v,), (before, after) or pairs, as one pair per axis."""
    items = [tuple(v) if isinstance(v, (tuple, list)) else v for v in values]
    if not any(isinstance(v, tuple) for v in items):
        items = [tuple(items) * 2] if len(items) == 1 else [tuple(items)]
    items = [v if len(v) == 2 else v * 2 for v in items]
    if len(items) == 1:
        items *= rank
    if len(items) != rank or any(len(v) != 2 for v in items):
        raise ValueError(f"jnp.pad: {values!r} does not have one pair for each of {rank} axes.")
    return tuple(items)


# -------------------------------------------------------------------------- constants


@composite(static="widths")
def _pad_constant(x: Any, values: Any, widths: Widths) -> Any:
    dtype, weak = aval_of(x).dtype, aval_of(x).weak_type
    if not isinstance(values, tuple):
        if not shape_of(values):
            edges = tuple((b, a, 0) for b, a in widths)
            return lax.pad(x, convert(values, dtype, weak), edges)
        values = _unpacked(values, len(widths))
    for axis, ((before, after), pair) in enumerate(zip(widths, values, strict=True)):
        for width, value in zip(((before, 0), (0, after)), pair, strict=True):
            edges = tuple((*width, 0) if i == axis else (0, 0, 0) for i in range(len(widths)))
            if width != (0, 0):
                x = lax.pad(x, convert(value, dtype, weak), edges)
    return as_array(x)


def _unpacked(values: Any, rank: int) -> Any:
    """Return an array of values as pairs of scalars."""
    shape = shape_of(values)
    if shape == (1,):
        values = lax.broadcast_in_dim(values, (rank, 2), (1,))
    else:
        dims = tuple(range(2 - len(shape), 2))
        values = lax.broadcast_in_dim(values, (rank, 2), dims)
    rows = lax.unstack(values, 0)
    return tuple(tuple(lax.unstack(r, 0)) for r in rows)


@composite(static="widths")
def _pad_ramp(x: Any, ends: Any, widths: Widths) -> Any:
    rank = len(widths)
    if not isinstance(ends, tuple):
        ends = _unpacked(ends, rank) if shape_of(ends) else ((ends, ends),) * rank
    dtype = aval_of(x).dtype
    for axis, ((before, after), (low, high)) in enumerate(zip(widths, ends, strict=True)):
        size = shape_of(x)[axis]
        first = _one(x, 0, axis)
        last = _one(x, size - 1, axis)
        left, _ = _linspace(convert(low, dtype), first, before, False, dtype, axis)
        right, _ = _linspace(convert(high, dtype), last, after, False, dtype, axis)
        left, right = (convert(e, dtype, aval_of(x).weak_type) for e in (left, right))
        x = _join([left, x, lax.rev(right, (axis,))], axis)
    return as_array(x)


def _one(x: Any, position: int, axis: int) -> Any:
    """Return the element at a position along an axis, without that axis."""
    return lax.squeeze(lax.slice_in_dim(x, position, position + 1, axis=axis), (axis,))


def _join(pieces: list[Any], axis: int) -> Any:
    """Join the pieces that are not empty."""
    nonempty = [p for p in pieces if shape_of(p)[axis]]
    return lax.concatenate(nonempty or pieces[1:2], axis)


# --------------------------------------------------------------------- copied elements


@composite(static=("widths", "mode"))
def _pad_copied(x: Any, widths: Widths, mode: str) -> Any:
    for axis, (before, after) in enumerate(widths):
        size = shape_of(x)[axis]
        if before or after:
            _check_not_empty(size, mode)
            x = (_edge if mode == "edge" else _wrap)(x, axis, before, after)
    return as_array(x)


def _check_not_empty(size: int, mode: str) -> None:
    if size == 0:
        raise ValueError(f"Cannot apply {mode!r} padding to empty axis")


def _edge(x: Any, axis: int, before: int, after: int) -> Any:
    size = shape_of(x)[axis]

    def copies(position: int, n: int) -> Any:
        row = lax.slice_in_dim(x, position, position + 1, axis=axis)
        shape = (*shape_of(x)[:axis], n, *shape_of(x)[axis + 1 :])
        return lax.broadcast_in_dim(row, shape, tuple(range(len(shape))))

    return _join([copies(0, before), x, copies(size - 1, after)], axis)


def _wrap(x: Any, axis: int, before: int, after: int) -> Any:
    size = shape_of(x)[axis]
    left, right = before % size, after % size
    pieces = [lax.slice_in_dim(x, size - left, size, axis=axis)]
    pieces += [x] * (before // size + 1 + after // size)
    pieces.append(lax.slice_in_dim(x, 0, right, axis=axis))
    return _join(pieces, axis)


@composite(static=("widths", "symmetric", "odd"))
def _pad_reflected(x: Any, widths: Widths, symmetric: bool, odd: bool) -> Any:
    for axis, (before, after) in enumerate(widths):
        if before or after:
            _check_not_empty(shape_of(x)[axis], "symmetric" if symmetric else "reflect")
            x = _reflect(x, axis, before, after, symmetric, odd)
    return as_array(x)


def _reflect(x, axis: int, before: int, after: int, symmetric: bool, odd: bool):
    """Add mirror images at both ends until they are wide enough."""
    if shape_of(x)[axis] == 1 and not symmetric:
        return _edge(x, axis, before, after)
    while before or after:
        size = shape_of(x)[axis]
        skip = 0 if symmetric else 1
        left, right = min(before, size - skip), min(after, size - skip)
        pieces = [x]
        if left:
            image = lax.slice_in_dim(x, skip, skip + left, axis=axis)
            pieces.insert(0, _image(image, x, 0, axis, odd))
        if right:
            image = lax.slice_in_dim(x, size - skip - right, size - skip, axis=axis)
            pieces.append(_image(image, x, size - 1, axis, odd))
        x = lax.concatenate(pieces, axis)
        before, after = before - left, after - right
    return x


def _image(piece: Any, x: Any, position: int, axis: int, odd: bool) -> Any:
    """Reverse a piece; if `odd`, also reflect it in the value at the edge."""
    piece = lax.rev(piece, (axis,))
    if not odd:
        return piece
    edge = lax.slice_in_dim(x, position, position + 1, axis=axis)
    return lax.sub_p.bind(lax.mul(edge, const(edge, 2)), piece)


# ------------------------------------------------------------------------- statistics

_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": reductions.max,
    "minimum": reductions.min,
    "mean": moments.mean,
    "median": median,
}


@composite(static=("widths", "mode", "lengths"))
def _pad_statistic(x: Any, widths: Widths, mode: str, lengths: Any) -> Any:
    dtype = aval_of(x).dtype
    for axis, (before, after) in enumerate(widths):
        size = shape_of(x)[axis]
        left, right = (size, size) if lengths is None else lengths[axis]
        left, right = min(left, size), min(right, size)
        pieces = [x]
        if before:
            near = lax.slice_in_dim(x, 0, left, axis=axis)
            pieces.insert(0, _repeated(near, mode, axis, before, dtype))
        if after:
            near = lax.slice_in_dim(x, size - right, size, axis=axis)
            pieces.append(_repeated(near, mode, axis, after, dtype))
        x = lax.concatenate(pieces, axis)
    return as_array(x)


def _repeated(near: Any, mode: str, axis: int, n: int, dtype: Any) -> Any:
    """Return a statistic along an axis, repeated n times."""
    value = _STATISTICS[mode](near, axis=axis, keepdims=True)
    if dtypes.is_integer(dtype) and dtypes.is_float(aval_of(value).dtype):
        value = lax.round(value, lax.RoundingMethod.TO_NEAREST_EVEN)
    shape = (*shape_of(near)[:axis], n, *shape_of(near)[axis + 1 :])
    value = convert(value, dtype, aval_of(near).weak_type)
    return lax.broadcast_in_dim(value, shape, tuple(range(len(shape))))


def _pad_by_function(array, widths: Widths, fun, kwargs: dict[str, Any]):
    """Pad with zeros, then let the function fill them in, vector by vector."""
    out = _pad_constant(array, 0, widths)
    for axis, pair in enumerate(widths):
        out = apply_along_axis(fun, axis, out, pair, axis, kwargs)
    return out
