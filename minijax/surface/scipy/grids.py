"""`RegularGridInterpolator`: interpolation on a grid with arbitrary line positions.

Next: coordinates.py, for nodes at integer positions.
"""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any

import numpy as np

from ...base import errors, tree
from .. import jnp
from ..numpy._common import as_array, check_arraylike, promote_dtypes_inexact

__all__ = ("RegularGridInterpolator",)

_METHODS = ("linear", "nearest")


def check_method(method: str) -> str:
    """Return the name of a method; raise ValueError for an unknown one."""
    if method not in _METHODS:
        raise errors.value_error(
            f"method {method!r} is not defined",
            tries=["one of " + ", ".join(map(repr, _METHODS))],
        )
    return method


class RegularGridInterpolator:
    """A function of n numbers that interpolates values on a grid.

    Within a cell of the grid it is linear in each number, or constant around the nearest
    corner.  It is a pytree of the grid, the values and the fill value, and works with all
    transformations.

    Args:
      points: n one-dimensional arrays: the positions of the grid lines along each axis, in
        ascending or descending order.
      values: array whose first n axes belong to the grid; the results have the others.
      method: 'linear' or 'nearest'.
      bounds_error: not supported, because positions are unknown while tracing.
      fill_value: the value outside the grid; None extrapolates the outermost cells.

    Raises:
      ValueError: an unknown method, more points than axes, or a fill value whose dtype
        cannot be cast to the dtype of the values.
      NotImplementedError: `bounds_error` is true.

    Example:
      >>> import minijax.numpy as jnp
      >>> f = RegularGridInterpolator([jnp.array([0., 2.])], jnp.array([1., 5.]))
      >>> f(jnp.array([0.5, 2., 3.]))
      Array([ 2.,  5., nan], dtype=float32)
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        self.method = check_method(method)
        self.bounds_error = bounds_error
        if bounds_error:
            raise errors.error(
                NotImplementedError,
                "`bounds_error` takes no effect under JIT",
                tries=["fill_value=jnp.nan, and test the result for nan"],
            )
        check_arraylike("RegularGridInterpolator", values, *points)
        self.grid = tuple(map(jnp.asarray, points))
        (self.values,) = promote_dtypes_inexact(as_array(values))
        if len(self.grid) > self.values.ndim:
            raise ValueError(
                f"there are {len(self.grid)} point arrays, but values has"
                f" {self.values.ndim} dimensions"
            )
        if fill_value is not None:
            check_arraylike("RegularGridInterpolator", fill_value)
            fill_value = jnp.asarray(fill_value)
            if not jnp.can_cast(fill_value.dtype, self.values.dtype, "same_kind"):
                raise ValueError(
                    "fill_value must be either 'None' or of a type compatible with"
                    f" values: got {fill_value.dtype} and {self.values.dtype}"
                )
        self.fill_value = fill_value

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """Return the interpolated values at positions.

        Args:
          xi: array [..., n] of positions, or a tuple of n arrays that broadcast.
          method: 'linear' or 'nearest' (default: the method of the interpolator).

        Returns:
          An array with the axes of the positions, followed by the other axes of the values.

        Raises:
          ValueError: the number of coordinates is not n, or the method is unknown.
        """
        method = check_method(self.method if method is None else method)
        n = len(self.grid)
        columns, shape = coordinates(xi, n)
        cells = [cell(g, x) for g, x in zip(self.grid, columns, strict=True)]
        trailing = (1,) * (self.values.ndim - n)
        if method == "nearest":
            at = tuple(jnp.where(y <= 0.5, i, i + 1) for i, y in cells)
            out = self.values[at]
        else:
            out = 0.0
            for corner in itertools.product(*[[(i, 1 - y), (i + 1, y)] for i, y in cells]):
                at, weights = zip(*corner, strict=True)
                weight = functools.reduce(operator.mul, weights)
                out = out + self.values[at] * weight.reshape(shape + trailing)
        if self.fill_value is not None:
            outside = [
                (x < jnp.minimum(g[0], g[-1])) | (x > jnp.maximum(g[0], g[-1]))
                for g, x in zip(self.grid, columns, strict=True)
            ]
            is_outside = functools.reduce(operator.or_, outside).reshape(shape + trailing)
            out = jnp.where(is_outside, self.fill_value, out)
        return out


def coordinates(xi: Any, n: int) -> tuple[list[Any], tuple[int, ...]]:
    """Return the coordinates of positions, as n arrays of one shape, and that shape."""
    if isinstance(xi, tuple) and len(xi) == 1:
        (xi,) = xi
    if isinstance(xi, tuple):
        xi = jnp.stack(jnp.broadcast_arrays(*xi), -1).astype(float)
    check_arraylike("RegularGridInterpolator", xi)
    xi = as_array(xi)
    if xi.ndim == 1:
        xi = xi.reshape(-1, n)
    if xi.shape[-1:] != (n,):
        raise ValueError(
            f"the requested sample points xi have dimension {xi.shape[-1:]}, but this"
            f" RegularGridInterpolator has dimension {n}"
        )
    return [xi[..., k] for k in range(n)], xi.shape[:-1]


def cell(grid: Any, x: Any) -> tuple[Any, Any]:
    """Return the index of the grid line before x, and the fraction of the cell up to x."""
    sign = jnp.where(grid[-1] < grid[0], -1, 1)
    i = jnp.searchsorted(sign * grid, sign * x) - 1
    i = jnp.clip(i, 0, grid.size - 2)
    return i, (x - grid[i]) / (grid[i + 1] - grid[i])


def _rebuilt(aux_data: Any, children: Any) -> RegularGridInterpolator:
    self = object.__new__(RegularGridInterpolator)
    self.method, self.bounds_error = aux_data
    self.grid, self.values, self.fill_value = children
    return self


tree.register_pytree_node(
    RegularGridInterpolator,
    lambda f: ((f.grid, f.values, f.fill_value), (f.method, f.bounds_error)),
    _rebuilt,
)
