"""Selection by masks and numbers: where, select, choose, compress ...

Where the number of true elements of a mask determines the result's shape, the mask must be
concrete, or `size` must be given.

Next: searching.py, for positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite
from ...ir import core
from ...ir.core import EVAL, STATE, aval_of
from ...prims import lax
from ...types import dtypes
from ...types.type_sharding import TypeFlags
from . import indexing, searching
from ._common import (
    ArrayLike,
    as_array,
    broadcast_sizes,
    broadcast_to,
    canonical_axis,
    check_arraylike,
    convert,
    no_out,
    promote_dtypes,
)
from ._common import choose as pick
from .creation import asarray

__all__ = ("where", "select", "choose", "extract", "compress", "piecewise")


def where(
    condition: Any,
    x: Any = None,
    y: Any = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Return `x` where the condition holds, else `y`; without both, `nonzero(condition)`.

    Args:
      condition: mask; numbers count as true if they are not zero.
      x, y: arrays or numbers; all three broadcast, `x` and `y` promote.
      size, fill_value: for the form with one argument; see `nonzero`.

    Returns:
      Array, or for one argument a tuple of index arrays.

    Raises:
      TypeError: one of `x` and `y` is missing.
      ValueError: `size` or `fill_value` is given with them.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.where(jnp.array([True, False]), 1., jnp.array([7., 8.]))
      Array([1., 8.], dtype=float32)

    Both branches and their derivatives are computed: a nan in the branch that is not
    selected still makes the gradient nan.
    """
    if x is None and y is None:
        check_arraylike("where", condition)
        return searching.nonzero(condition, size=size, fill_value=fill_value)
    if size is not None or fill_value is not None:
        raise ValueError(
            "size and fill_value arguments cannot be used in three-term where function."
        )
    if x is None or y is None:
        check_arraylike("where", condition, x, y)
    if STATE.trace is EVAL:
        return _where(condition, x, y)
    return three_way(condition, x, y)


def three_way(condition: Any, x: Any, y: Any) -> Any:
    """Evaluate `where` with three arguments."""
    check_arraylike("where", condition, x, y)
    mask, first, second = aval_of(condition), aval_of(x), aval_of(y)
    if mask.dtype is not dtypes.bool_:
        condition = as_mask(condition)
    if first is second and mask.shape == first.shape:
        return lax.select_n_p.bind(condition, y, x)
    shape = mask.shape or first.shape or second.shape
    fit = first.shape in ((), shape) and second.shape in ((), shape)
    if TypeFlags.has_sharded_types or not fit:
        return pick(condition, x, y)
    x, y = promote_dtypes(x, y)  # scalars and arrays of one shape
    if first.shape != shape:
        x = lax.broadcast_in_dim_p.bind(x, **repeat(shape))
    if second.shape != shape:
        y = lax.broadcast_in_dim_p.bind(y, **repeat(shape))
    return lax.select_n_p.bind(condition, y, x)


def repeat(shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the params that repeat a scalar to a shape."""
    return {"shape": shape, "broadcast_dimensions": (), "sharding": None}


_where = composite(three_way)


def as_mask(condition: Any) -> Any:
    """Return a condition as bools."""
    aval = core.aval_of(condition)
    if dtypes.is_bool(aval.dtype):
        return condition
    return lax.ne(condition, aval.dtype.type(0))


def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0
) -> Any:
    """Return for each element the choice of the first condition that is true.

    Args:
      condlist: bool arrays.
      choicelist: arrays, one for each condition.
      default: the value where all conditions are false.

    Returns:
      An array of the shape to which all broadcast, and of the choices' and the
      default's common dtype.

    Raises:
      ValueError: zero conditions, or a different number of choices.

    Example:
      >>> import minijax.numpy as jnp
      >>> x = jnp.arange(4)
      >>> jnp.select([x < 1, x > 2], [x, x * 10], default=-1)
      Array([ 0, -1, -1, 30], dtype=int32)
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            "condlist must have length equal to choicelist"
            f" ({len(condlist)} vs {len(choicelist)})"
        )
    if not len(condlist):
        raise ValueError("condlist must be non-empty")
    return _select(tuple(condlist), tuple(choicelist), default)


@composite
def _select(conditions: Any, choices: Any, default: Any) -> Any:
    check_arraylike("select", *conditions, *choices, default)
    conditions = [as_mask(c) for c in conditions]
    shape = broadcast_sizes(*(core.aval_of(x).shape for x in (*conditions, *choices, default)))
    out, *cases = promote_dtypes(default, *choices)
    for condition, case in zip(reversed(conditions), reversed(cases), strict=True):
        out = pick(condition, case, out)
    return broadcast_to(out, shape)


def choose(a: ArrayLike, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """Return for each element of `a` the element of the choice with that number.

    Args:
      a: integer array.
      choices: array or sequence of arrays that broadcast with `a`.
      out: not supported.
      mode: for numbers out of range: 'raise' (concrete arrays only), 'wrap' or 'clip'.

    Returns:
      An array of the shape to which `a` and the choices broadcast, and of the choices'
      common dtype.

    Raises:
      ValueError: a number out of range, `a` of another dtype, or an unknown mode.
      ConcretizationTypeError: 'raise' and a traced `a`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.choose(jnp.array([1, 0]), [jnp.array([1, 2]), jnp.array([3, 4])])
      Array([3, 2], dtype=int32)
    """
    no_out("choose", out)
    check_arraylike("choose", a)
    a = core.unwrapped(a)
    if not dtypes.is_integer(core.aval_of(a).dtype):
        raise ValueError("`a` array must be integer typed")
    n = len(choices)
    if mode == "raise":
        concrete_or_error(
            None, a, "jnp.choose with mode='raise' needs its numbers; use 'wrap' or 'clip'."
        )
        numbers = np.asarray(a)
        if ((numbers < 0) | (numbers >= n)).any():
            raise ValueError(f"invalid entry in choice array: numbers must be in [0, {n})")
    elif mode not in ("wrap", "clip"):
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    return _choose(a, tuple(choices), mode)


@composite(static=("mode",))
def _choose(a: Any, choices: Any, mode: str) -> Any:
    check_arraylike("choose", *choices)
    choices = promote_dtypes(*choices)
    shape = broadcast_sizes(*(core.aval_of(x).shape for x in (a, *choices)))
    n = len(choices)
    a = convert(broadcast_to(a, shape), dtypes.int_default())
    a = a % n if mode == "wrap" else a.clip(0, n - 1)
    cases = [broadcast_to(x, shape) for x in choices]
    out = cases[0] if n == 1 else lax.select_n(convert(a, dtypes.int32), *cases)
    return convert(out, core.aval_of(out).dtype)


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: Any = 0
) -> Any:
    """Return the elements where a mask is true, as an array of one axis.

    Args:
      condition: a mask of the size of `arr`.
      arr: array.
      size: number of elements to return, required for traced masks.
      fill_value: the value of missing elements, up to `size`.

    Returns:
      An array of `arr`'s dtype, shape (count,) or (size,).

    Raises:
      ValueError: the mask selects an element beyond the last one.
      ConcretizationTypeError: a traced mask without `size`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.extract(jnp.array([True, False, True]), jnp.array([1, 2, 3]))
      Array([1, 3], dtype=int32)
    """
    check_arraylike("extract", condition, arr)
    return compress(flat(condition), flat(arr), size=size, fill_value=fill_value)


def flat(x: Any) -> Any:
    """Return an array with one axis."""
    x = as_array(x)
    return lax.reshape(x, (x.size,))


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Any:
    """Return the slices along an axis where a mask is true.

    Args:
      condition: a mask of one axis; elements beyond its end count as False.
      a: array.
      axis: the axis; None for the flattened array.
      size: number of slices to return, required for traced masks.
      fill_value: the value of missing elements, up to `size`.
      out: not supported.

    Returns:
      An array of `a`'s dtype, with the number of selected slices, or `size`, along the
      axis.

    Raises:
      ValueError: the mask is not a vector, or is too long; `size` is larger than the axis.
      ConcretizationTypeError: a traced mask without `size`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.compress(jnp.array([True, False]), jnp.array([[1, 2], [3, 4]]), axis=1)
      Array([[1],
             [3]], dtype=int32)
    """
    no_out("compress", out)
    check_arraylike("compress", condition, a, fill_value)
    condition, a = as_mask(as_array(condition)), as_array(a)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1D array")
    if axis is None:
        axis, a = 0, flat(a)
    axis = canonical_axis(axis, a.ndim)
    n = condition.shape[0]
    if n > a.shape[axis]:
        condition, beyond = condition[: a.shape[axis]], condition[a.shape[axis] :]
        if core.is_concrete(beyond) and np.asarray(beyond).any():
            raise ValueError("condition contains entries that are out of bounds")
    if size is None:
        return a[(slice(None),) * axis + (searching.nonzero(condition)[0],)]
    n = min(n, a.shape[axis])
    if not 0 <= size <= n:
        raise ValueError(
            "size must be positive and not greater than the size of the array axis;"
            f" got {size=} for a.shape[axis]={n}"
        )
    at = searching.nonzero(condition, size=size, fill_value=a.shape[axis])[0]
    taken = indexing.take(a, at, axis, mode="clip")
    valid = at < a.shape[axis]
    valid = lax.reshape(valid, (size, *(1 for _ in a.shape[axis + 1 :])))
    return _where(valid, taken, convert(fill_value, a.dtype))


def piecewise(
    x: ArrayLike,
    condlist: Any,
    funclist: Sequence[ArrayLike | Callable[..., Any]],
    *args: Any,
    **kw: Any,
) -> Any:
    """Evaluate a piecewise-defined function.

    Args:
      x: array.
      condlist: masks; the last true one decides.
      funclist: for each mask a function of `x` or a number, and optionally one more for
        elements where all masks are false (default: 0).
      *args, **kw: passed on to the functions.

    Returns:
      Array of the dtype of `x`, of the shape to which it and the masks broadcast.

    Raises:
      ValueError: the number of functions is not the number of masks, or one more.

    Example:
      >>> import minijax.numpy as jnp
      >>> x = jnp.array([-2., 0., 3.])
      >>> jnp.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v * v])
      Array([2., 0., 9.], dtype=float32)
    """
    check_arraylike("piecewise", x)
    x = as_array(x)
    masks = [asarray(c) for c in _mask_list(condlist, x)]
    n, k = len(masks), len(funclist)
    if k == n:
        pieces = [0, *funclist]
    elif k == n + 1:
        pieces = [funclist[-1], *funclist[:-1]]
    else:
        raise ValueError(
            f"with {n} condition(s), either {n} or {n + 1} functions are expected; got {k}"
        )
    results = [f(x, *args, **kw) if callable(f) else f for f in pieces]
    shape = broadcast_sizes(x.shape, *[m.shape for m in masks])
    cases = [broadcast_to(convert(as_array(r), x.dtype), shape) for r in results]
    out = cases[0]
    for mask, case in zip(masks, cases[1:], strict=True):
        out = lax.select_n(broadcast_to(as_mask(mask), shape), out, case)
    return out


def _mask_list(condlist: Any, x: Any) -> Any:
    """Return the masks; a single one that fits `x` is read as a list of one."""
    first = core.unwrapped(condlist[0]) if len(condlist) else condlist
    fits = x.ndim and len(condlist) in (1, x.shape[-1])
    if not hasattr(first, "__len__") and np.ndim(first) == 0 and fits:
        return [condlist]
    return condlist
