"""Products of arrays: dot, matmul, tensordot, inner, outer, vecdot, kron, cross.

A product with a sum is one `dot_general` of unconverted operands, which accumulates in the
common dtype.

Next: contraction.py, for `einsum`; diagonals.py; decompositions.py.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...ir import core
from ...prims import lax, promotion
from ...prims.dot.dot import element_type
from ...prims.dot.precision import canonical as canonical_precision
from ...prims.shape.shapes import broadcast_to, move_axis
from ...prims.sharding_specs import canonicalize_out_sharding
from ...types import dtypes
from ._common import (
    ArrayLike,
    DTypeLike,
    as_array,
    canonical_axis,
    check_arraylike,
    check_ranks,
    composite_along,
    convert,
    joint_shape,
    no_out,
    promote_args,
    promote_dtypes,
    strong_unless_scalar,
)

__all__ = (
    "dot",
    "matmul",
    "vdot",
    "inner",
    "outer",
    "tensordot",
    "vecdot",
    "matvec",
    "vecmat",
    "kron",
    "cross",
)

_PRODUCT = ("precision", "preferred_element_type", "out_sharding")


def product_type(name: str, a: Any, b: Any, preferred: Any) -> tuple[Any, bool]:
    """Return the dtype of a product, and whether it is weak."""
    if preferred is not None:
        return element_type(preferred, name), False
    x, y = core.aval_of(a), core.aval_of(b)
    return promotion.promote(((x.dtype, x.weak_type), (y.dtype, y.weak_type)))


def contract(
    a,
    b,
    summed: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
    precision=None,
    dtype=None,
    weak: bool = False,
    out_sharding=None,
):
    """Bind `dot_general`, and convert the result to a dtype and weak type."""
    out = lax.dot_general_p.bind(
        a,
        b,
        dimension_numbers=(
            (tuple(summed[0]), tuple(summed[1])),
            (tuple(batch[0]), tuple(batch[1])),
        ),
        precision=canonical_precision(precision),
        preferred_element_type=dtype,
        out_sharding=canonicalize_out_sharding("dot_general", out_sharding, a, b),
    )
    return convert(out, dtype, weak)


def product(x: Any, y: Any) -> Any:
    """Return the product of operands of one dtype; for bools, `and`."""
    both = dtypes.is_bool(core.aval_of(x).dtype)
    return lax.bitwise_and(x, y) if both else lax.mul(x, y)


# -------------------------------------------------------------------------- dot, matmul


@composite(static=_PRODUCT)
def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Any:
    """Return products summed over the last axis of `a` and the next to last of `b`.

    Args:
      a: array of shape (..., n), or a number.
      b: array of shape (n,) or (..., n, m), or a number.
      precision: precision of multiplications on accelerators (see `lax.dot_general`).
      preferred_element_type: dtype to accumulate in and to return.
      out_sharding: sharding of the result.

    Returns:
      Array of the other axes of `a`, then of `b`, in the common dtype or
      `preferred_element_type`.

    Raises:
      TypeError: unequal sizes of the summed axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.dot(jnp.array([1, 2]), jnp.array([3, 4]))
      Array(11, dtype=int32)
    """
    check_arraylike("dot", a, b)
    dtype, weak = product_type("dot", a, b, preferred_element_type)
    m, n = core.aval_of(a).ndim, core.aval_of(b).ndim
    summed = ((), ()) if not m or not n else ((m - 1,), (max(0, n - 2),))
    return contract(a, b, summed, ((), ()), precision, dtype, weak, out_sharding)


@composite(static=_PRODUCT)
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Any:
    """Return the matrix product; leading axes broadcast.

    Args:
      a: array of shape (n,) or (..., k, n).
      b: array of shape (n,) or (..., n, m).
      precision: precision of multiplications on accelerators (see `lax.dot_general`).
      preferred_element_type: dtype to accumulate in and to return.
      out_sharding: sharding of the result.

    Returns:
      Array of shape (..., k, m), without the axis that a vector lacks, in the common
      dtype or `preferred_element_type`.

    Raises:
      ValueError: a scalar operand, or leading axes that do not broadcast.
      TypeError: unequal sizes of the summed axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    check_arraylike("matmul", a, b)
    for i, x in enumerate((a, b)):
        if not core.aval_of(x).shape:
            raise errors.value_error(
                f"matmul input operand {i} must have ndim at least 1, but it has ndim 0",
                which=f"{x!r}"[:160],
                tries=["a * b to multiply by a number"],
            )
    dtype, weak = product_type("matmul", a, b, preferred_element_type)
    m, n = core.aval_of(a).ndim, core.aval_of(b).ndim
    if m <= 2 and n <= 2:
        summed = ((m - 1,), (max(0, n - 2),))
        return contract(a, b, summed, ((), ()), precision, dtype, weak, out_sharding)
    return _stacked_matmul(a, b, precision, dtype, weak, out_sharding)


def _stacked_matmul(a, b, precision, dtype, weak: bool, out_sharding):
    """Return `matmul` of operands with leading axes.

    Leading axes of both operands are batch axes.  An axis that only one operand has (or has
    with size above 1) is a free axis of it, and transposed to its position afterwards.
    """
    shape_a, shape_b = core.aval_of(a).shape, core.aval_of(b).shape
    lead_a, lead_b = shape_a[:-2], shape_b[:-2]
    rank = max(len(lead_a), len(lead_b))
    batch_a, batch_b, drop_a, drop_b = [], [], [], []
    origin: list[str] = []  # of each leading axis of the result
    for i in range(rank):
        at_a, at_b = i - rank + len(lead_a), i - rank + len(lead_b)
        m = lead_a[at_a] if at_a >= 0 else None
        n = lead_b[at_b] if at_b >= 0 else None
        if m is None or n is None:
            origin.append("b" if m is None else "a")
        elif m == n:
            origin.append("both")
            batch_a.append(at_a)
            batch_b.append(at_b)
        elif m == 1:
            origin.append("b")
            drop_a.append(at_a)
        elif n == 1:
            origin.append("a")
            drop_b.append(at_b)
        else:
            raise errors.value_error(
                "Incompatible types for matmul arguments:"
                f" {errors.type_text(a)} and {errors.type_text(b)}",
                why=f"leading axes of sizes {m} and {n} do not broadcast.",
            )
    batch = (_without(batch_a, drop_a), _without(batch_b, drop_b))
    a = lax.squeeze(a, tuple(drop_a)) if drop_a else a
    b = lax.squeeze(b, tuple(drop_b)) if drop_b else b
    m, n = core.aval_of(a).ndim, core.aval_of(b).ndim
    vector_a, vector_b = len(shape_a) == 1, len(shape_b) == 1
    summed = ((m - 1,), (n - 1 if vector_b else n - 2,))
    out = contract(a, b, summed, batch, precision, dtype, weak, out_sharding)
    # The result has the batch axes, then leading and rows of a, then those of b.
    sources = {"both": iter(range(len(batch[0])))}
    free_a = origin.count("a")
    start = len(batch[0])
    sources["a"] = iter(range(start, start + free_a))
    rows = () if vector_a else (start + free_a,)
    start += free_a + len(rows)
    free_b = origin.count("b")
    sources["b"] = iter(range(start, start + free_b))
    columns = () if vector_b else (start + free_b,)
    permutation = (*(next(sources[o]) for o in origin), *rows, *columns)
    return (
        out
        if permutation == tuple(range(len(permutation)))
        else lax.transpose(out, permutation)
    )


def _without(axes: Sequence[int], dropped: Sequence[int]) -> tuple[int, ...]:
    """Renumber axes after others are dropped."""
    return tuple([i - sum(d < i for d in dropped) for i in axes])


@composite(static=("precision", "preferred_element_type"))
def vdot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Any:
    """Return the sum of the products of all elements, those of `a` conjugated.

    Args:
      a, b: arrays of one size.
      precision, preferred_element_type: as for `dot`.

    Returns:
      A number: array without axes, in the common dtype or `preferred_element_type`.

    Raises:
      TypeError: unequal sizes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.vdot(jnp.array([1, 2]), jnp.array([3, 4]))
      Array(11, dtype=int32)
    """
    check_arraylike("vdot", a, b)
    if dtypes.is_complex(core.aval_of(a).dtype):
        a = lax.conj(a)
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    return dot(flat(a), flat(b), **options)


def flat(x: Any) -> Any:
    """Return `x` with one axis."""
    return lax.reshape(x, (core.aval_of(x).size,))


@composite(static=("precision", "preferred_element_type"))
def inner(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Any:
    """Return products summed over the last axes of both arrays.

    Args:
      a, b: arrays whose last axes have one size, or numbers.
      precision, preferred_element_type: as for `dot`.

    Returns:
      Array of the other axes of `a`, then of `b`, in the common dtype or
      `preferred_element_type`.

    Raises:
      TypeError: unequal sizes of the last axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.inner(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    check_arraylike("inner", a, b)
    m, n = core.aval_of(a).ndim, core.aval_of(b).ndim
    if not m or not n:
        x, y = promote_args("inner", a, b)
        if preferred_element_type is not None:
            dtype = element_type(preferred_element_type, "inner")
            x, y = convert(x, dtype), convert(y, dtype)
        return product(x, y)
    dtype, weak = product_type("inner", a, b, preferred_element_type)
    return contract(a, b, ((m - 1,), (n - 1,)), ((), ()), precision, dtype, weak)


@composite
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Any:
    """Return all products of an element of `a` and an element of `b`.

    Args:
      a, b: arrays, which are flattened.
      out: not supported.

    Returns:
      Array of shape (a.size, b.size), in the common dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4]))
      Array([[3, 4],
             [6, 8]], dtype=int32)
    """
    no_out("outer", out)
    check_arraylike("outer", a, b)
    a, b = flat(a), flat(b)
    m, n = core.aval_of(a).size, core.aval_of(b).size
    a, b = promote_args("outer", a, b)
    a, b = lax.broadcast_in_dim(a, (m, 1), (0,)), lax.broadcast_in_dim(b, (1, n), (1,))
    return product(a, b)


def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Any:
    """Return products summed over chosen pairs of axes.

    Args:
      a, b: arrays.
      axes: number of last axes of `a` and first axes of `b` to sum over, or a pair of axes
        or of lists of axes.
      precision, preferred_element_type, out_sharding: as for `dot`.

    Returns:
      Array of the other axes of `a`, then of `b`, in the common dtype or
      `preferred_element_type`.

    Raises:
      TypeError: axes that do not match.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.tensordot(jnp.ones((2, 3)), jnp.ones((3, 4)), axes=1).shape
      (2, 4)
    """
    options = (precision, preferred_element_type, out_sharding)
    return _tensordot(a, b, _hashable_axes(axes), *options)


def _hashable_axes(axes: Any) -> Any:
    try:
        if isinstance(axes, (tuple, list)) and len(axes) == 2:
            return tuple(
                [
                    tuple(map(operator.index, x))
                    if isinstance(x, (tuple, list, np.ndarray))
                    else (operator.index(x),)
                    for x in axes
                ]
            )
        return operator.index(axes)
    except TypeError:
        raise TypeError(
            "tensordot axes argument must be an int, a pair of ints, or a pair of"
            f" lists/tuples of ints; got {axes!r}."
        ) from None


@composite(static=("axes", "precision", "preferred", "out_sharding"))
def _tensordot(a, b, axes, precision, preferred, out_sharding):
    check_arraylike("tensordot", a, b)
    m, n = core.aval_of(a).ndim, core.aval_of(b).ndim
    if isinstance(axes, int):
        if axes > min(m, n):
            raise TypeError(
                f"Number of tensordot axes (axes {axes}) exceeds input ranks"
                f" ({core.aval_of(a).shape} and {core.aval_of(b).shape})"
            )
        axes = (tuple(range(m - axes, m)), tuple(range(axes)))
    if len(axes[0]) != len(axes[1]):
        raise TypeError(
            f"tensordot requires axes lists to have equal length, got {axes[0]} and {axes[1]}."
        )
    summed = (
        tuple([canonical_axis(i, m) for i in axes[0]]),
        tuple([canonical_axis(i, n) for i in axes[1]]),
    )
    dtype, weak = product_type("tensordot", a, b, preferred)
    return contract(a, b, summed, ((), ()), precision, dtype, weak, out_sharding)


@composite_along("precision", "preferred_element_type", position=2)
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Any:
    """Return products summed over one axis, `x1` conjugated; other axes broadcast.

    Args:
      x1, x2: arrays whose axes `axis` have one size.
      axis: the axis to sum over.
      precision, preferred_element_type: as for `dot`.

    Returns:
      Array of the other axes, in the common dtype or `preferred_element_type`.

    Raises:
      ValueError: unequal sizes along `axis`, or other axes that do not broadcast.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.vecdot(jnp.ones((2, 3)), jnp.arange(3.))
      Array([3., 3.], dtype=float32)
    """
    check_arraylike("vecdot", x1, x2)
    shapes = core.aval_of(x1).shape, core.aval_of(x2).shape
    at = [canonical_axis(axis, len(s)) for s in shapes]
    if shapes[0][at[0]] != shapes[1][at[1]]:
        raise ValueError(
            f"axes must match; got shapes {shapes[0]} and {shapes[1]} with axis={axis}"
        )
    check_ranks("vecdot", [s[1:] for s in shapes], shapes)
    if dtypes.is_complex(core.aval_of(x1).dtype):
        x1 = lax.conj(x1)
    x1, x2 = (move_axis(x, i, len(s) - 1) for x, i, s in zip((x1, x2), at, shapes))
    *batch_shape, n = core.aval_of(x1).shape
    row = lax.broadcast_in_dim(
        x1, (*batch_shape, 1, n), (*range(len(shapes[0]) - 1), len(shapes[0]))
    )
    column = lax.broadcast_in_dim(
        x2, (*core.aval_of(x2).shape, 1), tuple(range(len(shapes[1])))
    )
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    if len(shapes[0]) == 1 or len(shapes[1]) == 1:
        vectors = (x1, x2) if len(shapes[1]) == 1 else (x2, x1)
        return matmul(*vectors, **options)
    out = matmul(row, column, **options)
    return lax.squeeze(out, (out.ndim - 2, out.ndim - 1))


def _check_core(name: str, x: Any, rank: int, signature: str) -> None:
    shape = core.aval_of(x).shape
    if len(shape) < rank:
        raise ValueError(
            f"{name}: input with shape {shape} does not have enough dimensions for all"
            f" core dimensions ('n', 'm') on vectorized function with"
            f" excluded=frozenset() and signature={signature!r}"
        )


def _check_sums(name: str, x1: Any, x2: Any, axis: int, core_name: str) -> None:
    """Raise ValueError unless the summed axes, the last of `x1`, have one size."""
    m, n = core.aval_of(x1).shape[-1], core.aval_of(x2).shape[axis]
    if m != n:
        raise errors.value_error(
            f"{name}: inconsistent size for core dimension {core_name!r}: {n} vs {m}",
            which=f"{errors.type_text(x1)} and {errors.type_text(x2)}",
            why="these axes are summed together.",
        )


@composite
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """Multiply matrices by vectors; leading axes broadcast.

    Args:
      x1: matrices, shape (..., m, n).
      x2: vectors, shape (..., n).

    Returns:
      Vectors, shape (..., m), in the common dtype.

    Raises:
      ValueError: too few axes, or unequal sizes of the summed axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.matvec(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    check_arraylike("matvec", x1, x2)
    _check_core("matvec", x1, 2, "(n,m),(m)->(n)")
    _check_core("matvec", x2, 1, "(n,m),(m)->(n)")
    _check_sums("matvec", x1, x2, -1, "m")
    shapes = core.aval_of(x1).shape, core.aval_of(x2).shape
    check_ranks("matvec", [shapes[0][:-2], shapes[1][:-1]], shapes)
    rank = len(shapes[1])
    if rank == 1:
        return matmul(x1, x2)
    if len(shapes[0]) == 2:  # one matrix for all vectors
        return matmul(x2, lax.transpose(x1, (1, 0)))
    shape = core.aval_of(x2).shape
    out = matmul(x1, lax.broadcast_in_dim(x2, (*shape, 1), tuple(range(rank))))
    return lax.squeeze(out, (out.ndim - 1,))


@composite
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """Multiply conjugated vectors by matrices; leading axes broadcast.

    Args:
      x1: vectors, shape (..., n).
      x2: matrices, shape (..., n, m).

    Returns:
      Vectors, shape (..., m), in the common dtype.

    Raises:
      ValueError: too few axes, or unequal sizes of the summed axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.vecmat(jnp.array([1, 1]), jnp.array([[1, 2], [3, 4]]))
      Array([4, 6], dtype=int32)
    """
    check_arraylike("vecmat", x1, x2)
    _check_core("vecmat", x1, 1, "(n),(n,m)->(m)")
    _check_core("vecmat", x2, 2, "(n),(n,m)->(m)")
    _check_sums("vecmat", x1, x2, -2, "n")
    shapes = core.aval_of(x1).shape, core.aval_of(x2).shape
    check_ranks("vecmat", [shapes[0][:-1], shapes[1][:-2]], shapes)
    if dtypes.is_complex(core.aval_of(x1).dtype):
        x1 = lax.conj(x1)
    shape = core.aval_of(x1).shape
    if len(shape) == 1 or len(shapes[1]) == 2:
        return matmul(x1, x2)
    rank = len(shape)
    row = lax.broadcast_in_dim(x1, (*shape[:-1], 1, shape[-1]), (*range(rank - 1), rank))
    out = matmul(row, x2)
    return lax.squeeze(out, (out.ndim - 2,))


# ------------------------------------------------------------------------- kron, cross


@composite
def kron(a: ArrayLike, b: ArrayLike) -> Any:
    """Return the Kronecker product: blocks of `b`, scaled by the elements of `a`.

    Args:
      a, b: arrays; the one of smaller rank gets leading axes of size 1.

    Returns:
      Array of the larger rank and the common dtype; each size is the product of both.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.kron(jnp.array([1, 10]), jnp.array([1, 2]))
      Array([ 1,  2, 10, 20], dtype=int32)
    """
    check_arraylike("kron", a, b)
    a, b = promote_dtypes(a, b)
    s, t = core.aval_of(a).shape, core.aval_of(b).shape
    if not s or not t:
        return product(a, b)
    rank = max(len(s), len(t))
    s, t = (1,) * (rank - len(s)) + s, (1,) * (rank - len(t)) + t
    # Each axis of the result starts as a pair of axes: the outer of a, the inner of b.
    wide_a = tuple([n for m in s for n in (m, 1)])
    wide_b = tuple([n for m in t for n in (1, m)])
    x, y = lax.reshape(a, wide_a), lax.reshape(b, wide_b)
    return lax.reshape(product(x, y), tuple(m * n for m, n in zip(s, t, strict=True)))


@composite(static=("axisa", "axisb", "axisc", "axis"))
def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Any:
    """Return the cross product of vectors of 2 or 3 components.

    Args:
      a, b: arrays of vectors; a missing third component is 0; other axes broadcast.
      axisa, axisb: the axes of the components.
      axisc: the axis of the components of the result.
      axis: replaces all three.

    Returns:
      Array of vectors, or of numbers if both have 2 components, in the common dtype.

    Raises:
      ValueError: vectors of other lengths.
      TypeError: other axes that do not broadcast.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    """
    check_arraylike("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = _components(a, axisa), _components(b, axisb)
    x, y = promote_dtypes(x, y)
    *lead_x, m = core.aval_of(x).shape
    *lead_y, n = core.aval_of(y).shape
    batch_shape = joint_shape("mul", tuple(lead_x), tuple(lead_y))
    rank = len(batch_shape)

    def split_components(v: Any, count: int) -> list[Any]:
        v = broadcast_to(v, (*batch_shape, count))
        return [lax.slice_in_dim(v, i, i + 1, axis=rank) for i in range(count)]

    xs, ys = split_components(x, m), split_components(y, n)
    if m == n == 2:
        return lax.squeeze(lax.sub(lax.mul(xs[0], ys[1]), lax.mul(xs[1], ys[0])), (rank,))
    for v in (xs, ys):
        if len(v) == 2:
            v.append(lax.full_like(v[0], 0))
    out = [
        lax.sub(lax.mul(xs[i], ys[j]), lax.mul(xs[j], ys[i]))
        for i, j in ((1, 2), (2, 0), (0, 1))
    ]
    vectors = strong_unless_scalar(lax.concatenate(out, rank))
    return move_axis(vectors, rank, canonical_axis(axisc, rank + 1))


def _components(x: Any, axis: int) -> Any:
    """Return vectors with their components on the last axis."""
    shape = core.aval_of(x).shape
    at = canonical_axis(axis, len(shape))
    if shape[at] not in (2, 3):
        raise ValueError(
            "Dimension must be either 2 or 3 for cross product:"
            f" axis {axis} of shape {shape} has size {shape[at]}."
        )
    return move_axis(as_array(x), at, len(shape) - 1)
