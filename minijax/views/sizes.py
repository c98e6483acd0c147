"""Functions of sizes and shapes from JAX's internals; sizes may be symbolic.

Arithmetic of symbolic dimensions is in symbolic/dims.py.  Next: traces.py.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Union

from ..api.eval_shape import typeof
from ..base import errors
from ..base.util import canonical_axis
from ..symbolic import dims
from ..symbolic.dims import SymbolicDim, divided, max_dim
from ..types.dtypes import scalar_dtype
from ..types.sizes import size_of

DimSize = Union[int, Any]  # noqa: UP007 (libraries read its origin)
Shape = Sequence[DimSize]


def canonicalize_dim(d: Any, context: str = "") -> DimSize:
    """Return a size as an int, or unchanged if it is symbolic."""
    return canonicalize_shape((d,), context)[0]


def canonicalize_shape(shape: Any, context: str = "") -> tuple[DimSize, ...]:
    """Return a shape, or one size, as a tuple of ints and symbolic dimensions."""
    try:
        sizes = shape if isinstance(shape, Sequence) else [operator.index(shape)]
        return tuple(d if isinstance(d, SymbolicDim) else operator.index(d) for d in sizes)
    except TypeError:
        raise TypeError(
            "Shapes must be 1D sequences of concrete values of integer type, got"
            f" {shape!r}.{f' {context}.' if context else ''}"
        ) from None


def dimension_as_value(d: DimSize) -> Any:
    """Return a symbolic size as a number of the program; integers unchanged."""
    if isinstance(d, SymbolicDim):
        return d.dimension_as_value()
    return d if hasattr(d, "dtype") else operator.index(d)


def is_dim(v: Any) -> bool:
    """Whether a value can be a size."""
    return isinstance(v, SymbolicDim) or hasattr(type(v), "__index__")


def definitely_equal(x: Any, y: Any) -> bool:
    """Whether two sizes are known to be equal."""
    return x is y or bool(x == y)


def definitely_equal_one_of_dim(d1: DimSize, dlist: Sequence[DimSize]) -> bool:
    """Whether a size is known to equal one of several."""
    return any(definitely_equal(d1, d) for d in dlist)


def definitely_equal_shape(s1: Shape, s2: Shape) -> bool:
    """Whether two shapes are known to be equal."""
    return len(s1) == len(s2) and all(map(definitely_equal, s1, s2))


def is_empty_shape(s: Shape) -> bool:
    """Whether an array of this shape is known to have no elements."""
    return any(definitely_equal(d, 0) for d in s)


def divide_shape_sizes(s1: Shape, s2: Shape) -> DimSize:
    """Return how many times an array of shape `s2` fits into one of shape `s1`.

    Raises:
      InconclusiveDimensionOperation: it does not fit evenly.
    """
    sizes = []
    for shape in (s1, s2):
        size: Any = 1
        for d in shape:
            size = size * d
        sizes.append(size)
    if definitely_equal(sizes[0], sizes[1]):
        return 1
    count, rest = divided(*sizes)
    if not definitely_equal(rest, 0):
        raise errors.InconclusiveDimensionOperation(
            f"Cannot divide evenly the sizes of shapes {tuple(s1)} and {tuple(s2)}. The"
            f" remainder {rest} should be 0."
        )
    return count  # type: ignore[no-any-return]


def dilate_dim(d: DimSize, dilation: DimSize) -> DimSize:
    """Return the size of an axis with `dilation - 1` elements between neighbours."""
    if definitely_equal(dilation, 1):
        return d
    return 0 if definitely_equal(d, 0) else 1 + dilation * (d - 1)


def stride_dim(d: DimSize, window_size: DimSize, window_stride: DimSize) -> DimSize:
    """Return the number of windows of a size and a stride that fit into an axis."""
    return max_dim(divided(d - window_size, window_stride)[0] + 1, 0)


def concrete_dim_or_error(val: Any, context: str = "") -> DimSize:
    """Return a size that must be concrete or symbolic."""
    return size_of(canonicalize_dim(val, context))


def dim_value_dtype() -> Any:
    """Return the dtype of sizes as numbers of the program."""
    return scalar_dtype(int)


def dim_value_aval() -> Any:
    """Return the type of sizes as numbers of the program."""
    return typeof(0)


def dim_constant(ct: int) -> Any:
    """Return a number of the dtype of sizes."""
    return dim_value_dtype().type(ct)


def canonicalize_axis_tuple(
    axis: Any, ndim: int, allow_duplicate: bool = False
) -> tuple[int, ...]:
    """Return axes as non-negative ints: all of them for None.

    Raises:
      ValueError: one is out of bounds, or repeated.
    """
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, Sequence) else (axis,)
    canonical = tuple(canonical_axis(a, ndim) for a in axes)
    if not allow_duplicate and len(set(canonical)) != len(canonical):
        raise ValueError(f"repeated axis: {axis}")
    return canonical


is_symbolic_dim = dims.is_symbolic_dim
