"""Helpers of the Krylov solvers: trees as vectors, operators, derivatives.

A vector is any pytree of arrays.  An operator is a matrix, an object with `@`, or a
function of vectors.  `implicit` solves A x = b and differentiates it by another solve, not
through the steps of the first one.

Next: conjugate.py.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ....api.vjp import linear_transpose
from ....base import errors, tree
from ....control.rules.custom_solve import custom_linear_solve
from ....prims.dot.precision import Precision
from ....types import dtypes
from ... import jnp
from ...numpy._common import as_array, convert, is_arraylike

Vector = Any
Operator = Callable[[Vector], Vector]


# ----------------------------------------------------------------------------- vectors


def dot(x: Vector, y: Vector) -> Any:
    """Return the inner product, with the first factor conjugated."""
    products = tree.map(functools.partial(jnp.vdot, precision=Precision.HIGHEST), x, y)
    return sum(tree.leaves(products)[1:], tree.leaves(products)[0])


def squared(x: Vector) -> Any:
    """Return the inner product of a vector with itself, a real number."""
    return jnp.real(dot(x, x))


def norm(x: Vector) -> Any:
    """Return the Euclidean norm."""
    return jnp.sqrt(squared(x))


def plus(x: Vector, a: Any, y: Vector) -> Vector:
    """Return x + a y, in the dtypes of x."""

    def leaf(x: Any, y: Any) -> Any:
        out = x + a * y
        return out if dtypes.is_complex(out.dtype) else out.astype(x.dtype)

    return tree.map(leaf, x, y)


def minus(x: Vector, y: Vector) -> Vector:
    """Return x - y."""
    return tree.map(operator.sub, x, y)


def zeros(x: Vector) -> Vector:
    """Return the zero vector with the structure of x."""
    return tree.map(jnp.zeros_like, x)


def identity(x: Vector) -> Vector:
    """Return x: the default preconditioner."""
    return x


# --------------------------------------------------------------------------- operators


def as_operator(A: Any) -> Operator:
    """Convert a function, a square matrix or an object with `@` to a
    function of vectors."""
    if callable(A):
        return A  # type: ignore[no-any-return]
    if np.isscalar(A) or not (is_arraylike(A) or hasattr(A, "__matmul__")):
        raise errors.type_error(
            f"linear operator must be either a function or ndarray: {A}",
            tries=["jnp.asarray(A)", "lambda x: A @ x"],
        )
    shape = jnp.shape(A) if is_arraylike(A) else A.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"linear operator must be a square matrix, but has shape: {shape}")
    if is_arraylike(A):
        return functools.partial(jnp.dot, as_array(A), precision=Precision.HIGHEST)
    return functools.partial(operator.matmul, A)


def transposed(M: Operator, like: Vector) -> Operator:
    """Return the transpose of a linear function, or the function if that fails.

    A preconditioner affects only the speed of a solve, so any approximation is valid.
    """
    try:
        transpose_fun = linear_transpose(M, like)
        tree.map(jnp.shape, transpose_fun(like))
    except (TypeError, ValueError, NotImplementedError):
        return M
    return lambda x: transpose_fun(x)[0]


# ----------------------------------------------------------------------------- systems


def check_guess(x0: Vector, b: Vector) -> None:
    """Raise ValueError unless the initial guess has the tree and shapes of `b`."""
    if tree.structure(x0) != tree.structure(b):
        raise ValueError(
            "x0 and b must have matching tree structure:"
            f" {tree.structure(x0)} vs {tree.structure(b)}"
        )
    shapes = [[jnp.shape(x) for x in tree.leaves(v)] for v in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"arrays in x0 and b must have matching shapes: {shapes[0]} vs {shapes[1]}"
        )


def size(x: Vector) -> int:
    """Return the number of elements of a vector."""
    return sum(leaf.size for leaf in tree.leaves(x))


def as_vector(x: Any) -> Vector:
    """Convert a tree of array-likes to strongly typed float or complex arrays."""

    def leaf(x: Any) -> Any:
        x = as_array(x)
        return convert(x, dtypes.to_inexact(x.dtype))

    return tree.map(leaf, x)


def implicit(
    solve: Callable[..., Vector], A: Any, b: Any, x0: Any, M: Any, *, hermitian: bool
) -> Vector:
    """Return the solution of A x = b by `solve(A, b, x0, M)`.

    The transpose rule solves the transposed system, from zeros.  `hermitian` means that A
    and M are self-adjoint.
    """
    A = as_operator(A)
    M = identity if M is None else as_operator(M)
    b = as_vector(b)
    start = zeros(b)
    if x0 is not None:
        x0 = as_vector(x0)
        check_guess(x0, b)
        start = tree.map(lambda x, y: x.astype(y.dtype), x0, b)
    symmetric = hermitian and not any(dtypes.is_complex(x.dtype) for x in tree.leaves(b))

    def transpose_solve(vecmat: Operator, ct: Vector) -> Vector:
        preconditioner = M if symmetric or M is identity else transposed(M, ct)
        return solve(vecmat, ct, zeros(ct), preconditioner)

    return custom_linear_solve(
        A, b, lambda A, b: solve(A, b, start, M), transpose_solve, symmetric=symmetric
    )
