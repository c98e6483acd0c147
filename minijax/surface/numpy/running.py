"""Running sums and products along an axis.

Next: reductions.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...control.calls.jit import composite
from ...prims import dtype_arguments, lax
from ...types import dtypes
from ._common import *
from ._function_tables import row
from .reductions import strong, wide_int

__all__ = ("cumsum", "cumprod", "cumulative_sum", "cumulative_prod")

# ------------------------------------------------------------------------- running sums


def running(name: str, op: Callable[..., Any], a, axis, dtype, wide: bool = False):
    """Return a running sum or product."""
    check_arraylike(name, a)
    dtype = static_dtype(dtype, name)
    a = as_array(a)
    if axis is None or not a.shape:
        if axis is not None:
            canonical_axis(axis, 1)
        a, axis = lax.reshape(a, (a.size,)), 0
    input_dtype, at = a.dtype, canonical_axis(axis, a.ndim)
    if dtype is None:
        dtype = wide_int(input_dtype) if wide or dtypes.is_bool(input_dtype) else input_dtype
        if dtypes.is_bool(input_dtype):
            dtype_arguments.check_holds(name, a.shape[at], dtype)
    if dtypes.is_bool(dtype):  # any, or all, of the elements so far
        counted = convert(convert(a, dtype), dtypes.int32)
        return convert(op(counted, axis=at), dtype)
    return op(strong(a, dtype), axis=at)


def running_function(compute: Any, name: str, module: str, summary: str, example: str) -> Any:
    """Return a public function with the signature of `cumsum`, computed by `compute`."""
    arg_docs = {
        "axis": "the axis; None for the flattened array.",
        "dtype": "dtype to convert to first; by default bools become integers.",
    }
    shape = "An array of `dtype`, of `a`'s shape; of shape (a.size,) if `axis` is None."
    raises = "ValueError: the axis does not exist."

    @composite(static=("axis", "dtype"))
    @row(name, module, summary, shape, example, raises=raises, **arg_docs)
    def fun(
        a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
    ) -> Any:
        no_out(name, out)
        return compute(a, axis, dtype)

    return fun


cumsum = running_function(
    functools.partial(running, "cumsum", lax.cumsum),
    "cumsum",
    __name__,
    "Return the running sum along an axis.",
    "[1, 2, 3] -> [1, 3, 6]",
)
cumprod = running_function(
    functools.partial(running, "cumprod", lax.cumprod),
    "cumprod",
    __name__,
    "Return the running product along an axis.",
    "[1, 2, 3] -> [1, 2, 6]",
)


_NOUNS = {"cumulative_sum": "sum", "cumulative_prod": "product"}


def _cumulative(name: str, op, neutral: int, x, axis, dtype, include: bool):
    check_arraylike(name, x)
    x = as_array(x)
    if not x.shape:
        raise ValueError(
            f"The input must be non-scalar to take a cumulative {_NOUNS[name]}, however a"
            " scalar value or scalar array was given."
        )
    if axis is None:
        if x.ndim > 1:
            raise ValueError(
                f"The input array has rank {x.ndim}, however axis was not set to an"
                " explicit value. The axis argument is only optional for one-dimensional"
                " arrays.\nTry: axis=0, or jnp.ravel(x)."
            )
        axis = 0
    axis = canonical_axis(axis, x.ndim)
    out = running(name, op, x, axis, dtype, wide=not neutral)
    if not include:
        return out
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return lax.concatenate(
        [lax.broadcast_in_dim(typed_constant(neutral, out.dtype), shape, ()), out], axis
    )


@composite_along("dtype", "include_initial")
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Any:
    """Return the running sum along an axis, as the array API standard defines it.

    Args:
      x: array of at least one axis.
      axis: the axis; it is optional for an array of one axis.
      dtype: dtype to convert to first.
      include_initial: start with 0.

    Returns:
      An array of `x`'s shape (one longer along `axis` with `include_initial`), of
      `dtype` or of `x`'s; small integers and bools widen to the default integers.

    Raises:
      ValueError: a scalar, or `axis` is None for an array of several axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
      Array([0, 1, 3, 6], dtype=int32)
    """
    return _cumulative("cumulative_sum", lax.cumsum, 0, x, axis, dtype, include_initial)


@composite_along("dtype", "include_initial")
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Any:
    """Return the running product along an axis, as the array API standard defines it.

    Args:
      x: array of at least one axis.
      axis: the axis; it is optional for an array of one axis.
      dtype: dtype to convert to first.
      include_initial: start with 1.

    Returns:
      An array of `x`'s shape (one longer along `axis` with `include_initial`), of
      `dtype` or of `x`'s; bools become the default integers.

    Raises:
      ValueError: a scalar, or `axis` is None for an array of several axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.cumulative_prod(jnp.array([1, 2, 3]), include_initial=True)
      Array([1, 1, 2, 6], dtype=int32)
    """
    return _cumulative("cumulative_prod", lax.cumprod, 1, x, axis, dtype, include_initial)
