"""Updates: `x.at[subscript].set(y)` and other methods, which return a new array.

A write is a scatter.  In eager mode, a write at fixed positions within bounds is a slice
update with the positions as operands, so that a loop over `x.at[i]` compiles once.
Positions out of bounds are not written, unless a `mode` is given.

Next: indexing.py, for reading.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import config, errors
from ...control.calls.jit import composite
from ...ir import core
from ...ir.core import EVAL, STATE
from ...prims import lax, promotion
from ...runtime.arrays.array import Array, ArrayImpl
from ...types import dtypes
from . import indexing, subscripts
from ._common import (
    as_array,
    call_with_out_sharding,
    convert,
    not_broadcastable,
    promote_dtypes,
)
from .creation import asarray
from .subscripts import NEW, POINT, SPAN, IndexPlan

_VALUE_TYPES = frozenset((Array, int, float, bool, complex))
_DROP = lax.GatherScatterMode.FILL_OR_DROP
_INT = 2**31 - 1

# Operations: the scatter, and its function of one element and one value.
_OPS: dict[str, tuple[Callable[..., Any], Callable[[Any, Any], Any]]] = {
    "set": (lax.scatter, lambda old, new: new),
    "add": (lax.scatter_add, lax.add),
    "sub": (lax.scatter_sub, lax.sub),
    "mul": (lax.scatter_mul, lax.mul),
    "min": (lax.scatter_min, lax.min),
    "max": (lax.scatter_max, lax.max),
}


class _IndexUpdateHelper:
    """`x.at`: index it, then call a method on the selected elements.

    >>> import minijax.numpy as jnp
    >>> jnp.zeros(3).at[1].set(5.)
    Array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, subscript: Any) -> _IndexUpdateRef:
        return _IndexUpdateRef(self.array, subscript)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


class _IndexUpdateRef:
    """`x.at[subscript]`: a reference to elements of an array.

    Every method returns a new array and does not change `x`.  `mode` is the treatment of
    positions out of bounds: 'drop' (the default), 'clip', 'fill' (for `get`) or
    'promise_in_bounds'.  `indices_are_sorted` and `unique_indices` are promises to the
    compiler.

    >>> import minijax.numpy as jnp
    >>> x = jnp.arange(3.)
    >>> x.at[jnp.array([0, 0])].add(1.)
    Array([2., 1., 2.], dtype=float32)
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        wrap_negative_indices: bool = True,
        out_sharding: Any = None,
    ) -> Any:
        """Return the elements, or with `mode='fill'` the fill value (nan) out of bounds."""
        return indexing.get(
            self.array,
            self.index,
            indices_are_sorted,
            unique_indices,
            mode,
            fill_value,
            wrap_negative_indices,
            out_sharding,
        )

    def set(self, values: Any, **options: Any) -> Any:
        """Replace the elements by `values`."""
        return update(self.array, self.index, values, "set", **options)

    def add(self, values: Any, **options: Any) -> Any:
        """Add `values`; repeated positions add up."""
        return update(self.array, self.index, values, "add", **options)

    def subtract(self, values: Any, **options: Any) -> Any:
        """Subtract `values`; repeated positions add up."""
        return update(self.array, self.index, values, "sub", **options)

    def multiply(self, values: Any, **options: Any) -> Any:
        """Multiply the elements by `values`."""
        return update(self.array, self.index, values, "mul", **options)

    mul = multiply

    def min(self, values: Any, **options: Any) -> Any:
        """Keep the smaller of element and value."""
        return update(self.array, self.index, values, "min", **options)

    def max(self, values: Any, **options: Any) -> Any:
        """Keep the larger of element and value."""
        return update(self.array, self.index, values, "max", **options)

    def divide(self, values: Any, **options: Any) -> Any:
        """Divide the elements by `values`."""
        return self.array / update(_ones(self.array), self.index, values, "mul", **options)

    def power(self, values: Any, **options: Any) -> Any:
        """Raise the elements to the power `values`."""
        return self.array ** update(_ones(self.array), self.index, values, "mul", **options)

    def apply(self, func: Callable[[Any], Any], **options: Any) -> Any:
        """Apply `func` to each element, once per occurrence of its position."""
        return apply(self.array, self.index, func, **options)


def _ones(x: Any) -> Any:
    return lax.full_like(x, 1)


# ----------------------------------------------------------------------------- updates


def update(
    x,
    subscript,
    y,
    op: str,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode=None,
    out_sharding=None,
    wrap_negative_indices: bool = True,
):
    """Return `x` with `y` written to (or combined into) the elements at `subscript`."""
    if type(y) not in _VALUE_TYPES:
        y = as_array(y) if core.is_value(y) else asarray(y)
    mode = indexing.mode_of(mode, _DROP)
    dtype = x.dtype
    if type(y) is int and y > _INT and dtypes.is_unsigned(dtype):
        y = dtype.type(y)  # the default int dtype may be too narrow
    elif type(y) is bool and dtypes.is_integer(dtype):
        y = int(y) if config.PROMOTION.value == "strict" else y  # as in JAX
    # An array of the same dtype always passes.
    if type(y) is not ArrayImpl or y.aval.dtype is not dtype:
        check_dtypes(dtype, x.weak_type, core.aval_of(y))
    eager = STATE.trace is EVAL and type(x) is ArrayImpl
    is_default = eager and wrap_negative_indices and out_sharding is None
    if is_default and type(subscript) is int and x.shape:
        n = x.shape[0]
        i = subscript + n if subscript < 0 else subscript
        if 0 <= i < n:
            return _write_row(x, i, y, op)
    plan, leaves = subscripts.parse(subscript, x.shape, eager, wrap_negative_indices)
    how = mode, indices_are_sorted, unique_indices
    if out_sharding is not None:
        xs = [x, y, *leaves]
        return call_with_out_sharding("scatter", out_sharding, _write_first, xs, plan, op, *how)
    if eager and is_static_window(plan, leaves):
        return _write_slice(x, leaves, y, plan, op)
    return (_write if eager else write)(x, leaves, y, plan, op, *how)


def _write_first(xs: Sequence[Any], plan: IndexPlan, *options: Any) -> Any:
    return write(xs[0], xs[2:], xs[1], plan, *options)


def check_dtypes(dtype: Any, weak: bool, y: Any) -> None:
    """Warn when values of type `y` do not fit an array of `dtype`."""
    joint, _ = promotion.promote(((dtype, weak), (y.dtype, y.weak_type)))
    if joint != dtype:
        warnings.warn(
            "scatter inputs have incompatible types: cannot safely cast value from"
            f" dtype={y.dtype} to dtype={dtype} with"
            " jax_numpy_dtype_promotion=standard. In future JAX releases this will"
            " result in an error.",
            FutureWarning,
            stacklevel=4,
        )


def is_static_window(plan: IndexPlan, leaves: Sequence[Any]) -> bool:
    """Whether a plan is one window at fixed positions, all of it inside the array."""
    if plan.arrays:
        return False
    remaining_leaves = iter(leaves)
    axis = 0
    for e in plan.entries:
        if e[0] == NEW:
            continue
        if e[0] == SPAN:
            if e[3] != 1 and e[2] != 1:
                return False
            if e[1] is None:
                i = next(remaining_leaves)
                if type(i) is not int or not 0 <= i <= plan.operand[axis] - e[2]:
                    return False
        else:
            i = next(remaining_leaves)
            if type(i) is not int or not 0 <= i < plan.operand[axis]:
                return False
        axis += 1
    return True


def write_slice(x: Any, leaves: Sequence[Any], y: Any, plan: IndexPlan, op: str) -> Any:
    """Write a window, whose positions are operands, with slices only."""
    remaining_leaves = iter(leaves)
    starts: list[Any] = []
    sizes: list[int] = []
    shape: list[int] = []
    new: list[int] = []
    flips: list[int] = []
    for e in plan.entries:
        if e[0] == NEW:
            new.append(len(shape) + len(new))
            continue
        if e[0] == SPAN:
            _, start, size, _, flip = e
            if flip:
                flips.append(len(shape))
            shape.append(size)
        else:
            start, size = None, 1
        start = next(remaining_leaves) if start is None else np.int32(start)
        starts.append(lax.convert_element_type(start, dtypes.int32))
        sizes.append(size)
    if 0 in sizes:  # an empty window: shapes of values are not checked
        return x
    dtype, weak = x.dtype, x.weak_type
    x, y = operands(x, y, op)
    y = lax.reshape(arrange(y, shape, new, flips), tuple(sizes))
    if op != "set":
        y = _OPS[op][1](lax.dynamic_slice_p.bind(x, *starts, slice_sizes=tuple(sizes)), y)
    return convert(lax.dynamic_update_slice_p.bind(x, y, *starts), dtype, weak)


_write_slice = composite(write_slice, static=("plan", "op"))


@composite(static=("op",))
def _write_row(x: Any, i: Any, y: Any, op: str) -> Any:
    spans = tuple((SPAN, 0, n, 1, False) for n in x.shape[1:])
    plan = IndexPlan(((POINT, None), *spans), x.shape, False)
    return write_slice(x, (i,), y, plan, op)


def operands(x: Any, y: Any, op: str) -> tuple[Any, Any]:
    """Convert to one dtype: the array's for `set`, else the common one."""
    if op == "set":
        return x, convert(y, x.dtype)
    x, y = promote_dtypes(x, y)
    return x, convert(y, x.dtype)


def arrange(y, shape: Sequence[int], new: Sequence[int], flips: Sequence[int]):
    """Repeat values to the shape that they replace, in its axis order and direction."""
    full = list(shape)
    for i in new:
        full.insert(i, 1)
    y = repeat_to(y, tuple(full))
    if new:
        y = lax.squeeze(y, tuple(new))
    return lax.rev(y, tuple(flips)) if flips else y


def repeat_to(y: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast `y` to `shape`; ShapeError if it does not fit."""
    old = core.aval_of(y).shape
    while len(old) > len(shape) and old[0] == 1:
        old = old[1:]
    if old != core.aval_of(y).shape:
        y = lax.reshape(y, old)
    missing = len(shape) - len(old)
    if missing < 0 or any(m not in (1, n) for m, n in zip(old, shape[missing:], strict=True)):
        raise errors.ShapeError(not_broadcastable(y, shape))
    return (
        y if old == shape else lax.broadcast_in_dim(y, shape, tuple(range(missing, len(shape))))
    )


def write(
    x,
    leaves: Sequence[Any],
    y,
    plan: IndexPlan,
    op: str,
    mode: lax.GatherScatterMode,
    indices_are_sorted: bool,
    unique_indices: bool,
):
    """Write by a scatter."""
    at = subscripts.locate(plan, leaves)
    shape, dtype, weak = x.shape, x.dtype, x.weak_type
    if 0 in at.shape:
        return x
    x, y = operands(x, y, op)
    y = arrange(y, at.shape, at.new, at.reversed)
    if not at.indexed and at.sizes == plan.operand:
        return convert(_OPS[op][1](x, y), dtype, weak)
    if len(shape) != len(plan.operand):
        x = lax.reshape(x, plan.operand)
    x = _OPS[op][0](
        x,
        at.indices,
        y,
        scatter_numbers(at),
        indices_are_sorted=indices_are_sorted or at.distinct,
        unique_indices=unique_indices or at.distinct,
        mode=mode,
    )
    return convert(x if x.shape == shape else lax.reshape(x, shape), dtype, weak)


_write = composite(write, static=("plan", "op", "mode", "indices_are_sorted", "unique_indices"))


def scatter_numbers(at: subscripts.ElementIndices) -> lax.ScatterDimensionNumbers:
    """Return the dimension numbers of a scatter to a location."""
    return lax.ScatterDimensionNumbers(
        update_window_dims=at.windows,
        inserted_window_dims=at.collapsed,
        scatter_dims_to_operand_dims=at.indexed,
    )


def apply(
    x,
    subscript,
    func: Callable[[Any], Any],
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode=None,
    wrap_negative_indices: bool = True,
):
    """Return `x` with `func` applied to the elements at `subscript`."""
    plan, leaves = subscripts.parse(subscript, x.shape, False, wrap_negative_indices)
    at = subscripts.locate(plan, leaves)
    if 0 in at.shape:
        return x
    out = lax.scatter_apply(
        x if x.shape == plan.operand else lax.reshape(x, plan.operand),
        at.indices,
        func,
        scatter_numbers(at),
        update_shape=at.shape,
        indices_are_sorted=indices_are_sorted or at.distinct,
        unique_indices=unique_indices or at.distinct,
        mode=indexing.mode_of(mode, _DROP),
    )
    return out if out.shape == x.shape else lax.reshape(out, x.shape)
