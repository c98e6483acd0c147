"""Helpers of matrix rules: products, adjoints, triangles, masks.

All work on the last two axes and any leading axes.  Products use the highest precision,
which derivatives of factorizations need.

Next: solve.py, lu.py, qr.py, spectral.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...ir import core
from ...ir.core import ByPlatform, Primitive, unsupported
from ...passes.batch import move_lane
from ...types import dtypes
from ..dot.dot import dot_general
from ..dot.precision import Precision
from ..elementwise import INEXACT, check_kind, const, filled
from ..math.algebraic import add, div
from ..math.cast import scalar
from ..math.logic import eq, ge, gt, le, lt, select
from ..math.order import conj, real
from ..shape.creation import broadcasted_iota
from ..shape.diagonals import sliced
from ..shape.shapes import broadcast_in_dim, shape_of, transpose

__all__ = (
    "shape_of",
    "check_matrix",
    "batch_matrices",
    "linearize_in_given_basis",
    "no_jvp",
    "only_on",
    "matmul",
    "inner",
    "transpose_matrix",
    "is_complex",
    "conjugate",
    "adjoint",
    "real_part",
    "symmetrized",
    "columns",
    "lower_triangle",
    "upper_triangle",
    "strictly_lower",
    "strictly_upper",
    "split_lower",
    "diagonal_of",
    "identity",
    "matrix_flops",
)

# ------------------------------------------------------------------- shapes and checks


def check_matrix(
    name: str, aval, *, square: bool = False, position: int = 0, first: bool = False
) -> None:
    """Raise TypeError or ShapeError unless the aval is of (square) inexact matrices."""
    check_kind(name, aval, INEXACT, position, 1)
    if aval.ndim < 2:
        raise errors.shape_error(
            f"Input {position} to {name} must have rank at least 2, but got"
            f" shape={aval.shape}.",
            which=aval.str_short(True),
            why="The last two axes are the axes of a matrix.",
        )
    if square and aval.shape[-1] != aval.shape[-2]:
        raise errors.shape_error(
            f"The {'first ' * first}input to {name} must be a square matrix. Got shape"
            f" {aval.shape}.",
            which=aval.str_short(True),
        )


def linearize_in_given_basis(jvp: Callable[..., Any]) -> Callable[..., Any]:
    """Return the linearize rule of a frame of vectors, from its jvp rule.

    The aligned basis depends on the unknown tangent, so it is not used.  Where the vectors
    of equal values would rotate, the tangent is NaN.
    """

    def linearize(trace: Any, primals: Any, tangents: Any, **params: Any) -> Any:
        with core.current(trace):
            return jvp(primals, tangents, turn=False, **params)

    return linearize


def batch_matrices(prim: Primitive, vectors: bool = False) -> None:
    """Set the batch rule: the lane axis becomes a leading axis.

    vectors: the first operand may be a vector.
    """

    def batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
        first = core.aval_of(args[0])
        if not vectors and dims[0] is not None and first.ndim < 3:
            shape = tuple(n for i, n in enumerate(first.shape) if i != dims[0])
            check_matrix(prim.name, first.update(shape=shape))
        lined = [move_lane(x, axis, d, 0) for x, d in zip(args, dims, strict=True)]
        out = prim.bind(*lined, **params)
        return out, [0] * len(out) if prim.multiple_results else 0

    prim.batch = batch


def no_jvp(prim: Primitive) -> None:
    """Declare that a factorization has no derivative."""
    prim.jvp = unsupported(f"Differentiation rule for {prim.name!r} not implemented")


def only_on(prim: Primitive, lower: Callable[..., Any], *platforms: str) -> None:
    """Set the lowering on some platforms; raise on all others."""

    def missing(ctx: Any, *_: Any, **__: Any) -> Any:
        raise errors.error(
            NotImplementedError,
            f"{prim.name} is not implemented on {ctx.platform}.",
            why="No matrix library of that platform has it.",
            tries=[f"run it on {' or '.join(platforms)}"],
        )

    prim.lower = ByPlatform(missing, **dict.fromkeys(platforms, lower))


# ----------------------------------------------------------------------------- products


def matmul(a: Any, b: Any) -> Any:
    """Return a b."""
    n = len(shape_of(a))
    batch_axes = tuple(range(n - 2))
    numbers = (((n - 1,), (n - 2,)), (batch_axes, batch_axes))
    return dot_general(a, b, numbers, Precision.HIGHEST)


def inner(a: Any, b: Any) -> Any:
    """Return a^H b, without a transpose of a as a value or as a residual."""
    n = len(shape_of(a))
    batch_axes = tuple(range(n - 2))
    numbers = (((n - 2,), (n - 2,)), (batch_axes, batch_axes))
    return dot_general(conjugate(a), b, numbers, Precision.HIGHEST)


def transpose_matrix(x: Any) -> Any:
    """Return the transpose."""
    n = len(shape_of(x))
    return transpose(x, (*range(n - 2), n - 1, n - 2))


def is_complex(x: Any) -> bool:
    return dtypes.is_complex(core.aval_of(x).dtype)


def conjugate(x: Any) -> Any:
    """Return the complex conjugate; x itself if it is real."""
    return conj(x) if is_complex(x) else x


def adjoint(x: Any) -> Any:
    """Return the conjugate transpose."""
    return conjugate(transpose_matrix(x))


def real_part(x: Any) -> Any:
    return real(x) if is_complex(x) else x


def symmetrized(x: Any) -> Any:
    """Return (x + adjoint x) / 2."""
    total = add(x, adjoint(x))
    return div(total, const(total, 2))


def columns(x: Any, v: Any, product: Callable[[Any, Any], Any]) -> Any:
    """Return each column of x times (or divided by) an element of v."""
    shape = shape_of(x)
    return product(x, broadcast_in_dim(v, shape, (*range(len(shape) - 2), len(shape) - 1)))


def rows(x: Any, v: Any, product: Callable[[Any, Any], Any]) -> Any:
    """Return each row of x times (or divided by) an element of v."""
    shape = shape_of(x)
    return product(x, broadcast_in_dim(v, shape, tuple(range(len(shape) - 1))))


# -------------------------------------------------------------------------------- masks


def _mask(shape: Sequence[int], compare: Callable[[Any, Any], Any], k: int = 0) -> Any:
    """Return where compare(row + k, column) holds."""
    m, n = shape[-2:]
    row = broadcasted_iota(np.int32, (m, n), 0)
    row = add(row, np.int32(k))
    mask = compare(row, broadcasted_iota(np.int32, (m, n), 1))
    if len(shape) == 2:
        return mask
    return broadcast_in_dim(mask, tuple(shape), (len(shape) - 2, len(shape) - 1))


def lower_triangle(x: Any, k: int = 0) -> Any:
    """Return x with zeros above the k-th diagonal."""
    return select(_mask(shape_of(x), ge, k), x, filled(x, 0))


def upper_triangle(x: Any, k: int = 0) -> Any:
    """Return x with zeros below the k-th diagonal."""
    return select(_mask(shape_of(x), le, k), x, filled(x, 0))


def strictly_lower(x: Any) -> Any:
    """Return x with zeros on and above the diagonal."""
    return select(_mask(shape_of(x), gt), x, filled(x, 0))


def strictly_upper(x: Any) -> Any:
    """Return x with zeros on and below the diagonal."""
    return select(_mask(shape_of(x), lt), x, filled(x, 0))


def split_lower(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return x strictly below the diagonal, and a function that zeroes this part of y."""
    below = _mask(shape_of(x), gt)
    return select(below, x, filled(x, 0)), lambda y: select(below, filled(y, 0), y)


def diagonal_of(x: Any) -> Any:
    """Return the diagonals of matrices that are not sharded, as in factorizations."""
    return sliced(x, shape_of(x), 0)


def identity(shape: Sequence[int], dtype: Any) -> Any:
    """Return identity matrices of a shape."""
    mask = _mask(shape, eq)
    one = broadcast_in_dim(scalar(1, dtype), tuple(shape), ())
    return select(mask, one, filled(one, 0))


def matrix_flops(leading: float, rest: float = 0.0) -> Any:
    """Return the `flops` rule of an algorithm on m x n matrices, m >= n: a m n^2 + b n^3.

    Source: Golub & Van Loan, Matrix Computations, 4th edition.
    """

    def flops(ins: Sequence[Any], outs: Any, params: Any) -> float:
        *batch_shape, m, n = ins[0].shape
        m, n = max(m, n), min(m, n)
        return math.prod(batch_shape) * (leading * m * n**2 + rest * n**3)

    return flops
