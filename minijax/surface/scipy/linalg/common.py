"""Helpers of minijax.scipy.linalg: operands, stacks of matrices, triangles.

Functions accept single matrices and stacks of them: a function of one matrix is mapped over
leading axes by `jnp.vectorize`, which adds nothing for single matrices.
SciPy's options (`overwrite_a`, `check_finite` ...) are accepted everywhere without effect:
arrays are immutable, and a compiled function cannot raise depending on its values.

Next: solves.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....base import errors
from ....ir.core import aval_of
from ....prims import lax_linalg
from ....types import dtypes
from ... import jnp
from ...numpy._common import check_arraylike, is_complex, promote_dtypes_inexact
from ...numpy.decompositions import adjoint, eps_of, identity, precise, transpose_matrices

__all__ = (
    "operands",
    "numbers",
    "square_pair",
    "is_complex",
    "real_dtype",
    "complex_dtype",
    "check_squares",
    "are_vectors",
    "solve_upper",
    "over_stacks",
    "adjoint",
    "eps_of",
    "identity",
    "precise",
    "transpose_matrices",
)


def operands(*xs: Any) -> Sequence[Any]:
    """Convert array-likes and lists to arrays of one inexact dtype."""
    return promote_dtypes_inexact(*(jnp.asarray(x) for x in xs))


def numbers(name: str, *xs: Any) -> Sequence[Any]:
    """Convert arrays and numbers, but not lists, to arrays of one inexact dtype."""
    check_arraylike(f"jax.scipy.linalg.{name}", *xs)
    return operands(*xs)


def real_dtype(x: Any) -> Any:
    """Return the dtype of an array's real part."""
    return dtypes.real_of(aval_of(x).dtype)


def complex_dtype(x: Any) -> Any:
    """Return the complex dtype of an array's precision; complex64 for half precision."""
    return dtypes.complex_of(aval_of(x).dtype)


def check_squares(x: Any, message: str) -> None:
    """Raise ValueError with `message` unless an array is a stack of square matrices."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise errors.value_error(
            message, which=errors.type_text(x), why="the last two axes must have equal sizes."
        )


def square_pair(x: Any, y: Any, names: str) -> None:
    """Raise ValueError unless two arrays are stacks of square matrices of one shape."""
    for name, a in zip([*names], (x, y), strict=True):
        check_squares(
            a, f"expected {name} to be a (batched) square matrix, got {name}.shape={a.shape}"
        )
    if x.shape != y.shape:
        first, second = [*names]
        raise errors.value_error(
            f"expected {first} and {second} to be the same shape, got"
            f" {first}.shape={x.shape} {second}.shape={y.shape}",
            why="the direction of the derivative must have the shape of the matrix.",
        )


def are_vectors(name: str, matrix: Any, b: Any) -> bool:
    """Whether `b` is a vector or, which is deprecated, a stack of vectors."""
    shape = np.shape(b)
    if len(shape) < 2 or np.shape(matrix)[:-1] != shape:
        return len(shape) == 1
    warnings.warn(
        f"jax.scipy.linalg.{name}: batched 1D solves with b.ndim > 1 are deprecated, and"
        " in the future will be treated as a batched 2D solve. Use b[..., None], and"
        " .squeeze(-1) of the result, to avoid this warning.",
        FutureWarning,
        stacklevel=3,
    )
    return True


def solve_upper(upper: Any, b: Any) -> Any:
    """Solve U x = b for a vector b."""
    return lax_linalg.triangular_solve(upper, b, left_side=True, lower=False)


def over_stacks(fun: Any, signature: str, *xs: Any) -> Any:
    """Apply a function of single matrices to stacks of matrices."""
    if all(x.ndim == 2 for x in xs):
        return fun(*xs)
    return jnp.vectorize(fun, signature=signature)(*xs)
