"""Queries about dtypes and registered classes, and sums of products, for libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..api.check_grads import Tolerance
from ..base import tree
from ..ir import core
from ..runtime.arrays.array import KeyArray, under_key
from ..surface.numpy._common import convert, promote_dtypes_inexact
from ..surface.numpy.contraction import einsum
from ..surface.numpy.dtype_info import finfo
from ..surface.numpy.linear_solve import Factors, solve_factored
from ..types import dtypes

DType = np.dtype


class _OfOwnDType(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return type(x) is KeyArray and dtypes.rules_of(x.dtype) is not None


class EArray(metaclass=_OfOwnDType):
    """An array of a library's extended dtype, made from its type and its stored numbers."""

    def __new__(cls, aval: Any, data: Any) -> Any:
        return under_key(data, aval.dtype)


def dtype_of(x: Any) -> Any:
    """Return the dtype of a value or a type, as in arrays made from it."""
    if x is None:
        raise ValueError(f"Invalid argument to dtype: {x}.")
    if isinstance(x, (str, type, np.dtype)):
        return dtypes.canonical(dtypes.as_dtype(x))
    of_value = getattr(x, "dtype", None) if hasattr(x, "shape") else None
    if isinstance(x, (np.ndarray, np.generic)) or of_value is None:
        if not core.is_value(x):
            raise TypeError(f"Cannot determine dtype of {x}")
        return core.aval_of(x).dtype
    return of_value


def supports_inf(dtype: Any) -> bool:
    """Whether a floating dtype has infinities."""
    kind = np.dtype(dtype)
    with np.errstate(all="ignore"):
        return bool(np.isinf(np.array(np.inf).astype(kind).astype(np.float64)))


def promote_dtypes_complex(*args: Any) -> list[Any]:
    """Promote operands to arrays of one complex dtype."""
    arrays = promote_dtypes_inexact(*args)
    return [convert(x, dtypes.complex_of(x.dtype)) for x in arrays]


def check_close(
    xs: Any, ys: Any, atol: Tolerance = None, rtol: Tolerance = None, err_msg: str = ""
) -> None:
    """Assert that trees of numbers agree, by default up to rounding.

    The tolerance is that of the coarser of the two dtypes, times the number of elements.
    """

    def close(x: Any, y: Any) -> None:
        pair = np.asarray(x), np.asarray(y)
        assert np.shape(x) == np.shape(y), f"{np.shape(x)}, {np.shape(y)} {err_msg}"
        kinds = [dtypes.canonical(v.dtype) for v in pair]
        relative, absolute = (
            max(_allowed(k, tolerance) for k in kinds) * max(pair[0].size, 1)
            for tolerance in (rtol, atol)
        )
        x, y = (v if v.dtype.kind in "biufc" else v.astype(np.float32) for v in pair)
        np.testing.assert_allclose(x, y, relative, absolute, err_msg=err_msg)

    tree.map(close, xs, ys)


# The rounding error of one number, by dtype.
_ROUNDING = {
    dtypes.bfloat16: 1e-2,
    dtypes.float16: 1e-3,
    dtypes.float32: 1e-6,
    dtypes.complex64: 1e-6,
    dtypes.float64: 1e-15,
    dtypes.complex128: 1e-15,
}


def _allowed(kind: Any, tolerance: Tolerance) -> float:
    if tolerance is not None and not isinstance(tolerance, Mapping):
        return tolerance
    limits = {dtypes.as_dtype(k): limit for k, limit in (tolerance or {}).items()}
    rough = 1e-1 if dtypes.is_float(kind) else 0.0
    return limits.get(kind, _ROUNDING.get(kind, rough))


class Node(NamedTuple):
    """How to flatten a node of a tree, and how to rebuild it."""

    to_iter: Callable[[Any], tuple[Any, Any]]
    from_iter: Callable[[Any, Iterable[Any]], Any]


_NODE = Node(
    lambda node: tree.flatten(node, is_leaf=lambda x: x is not node),
    lambda form, children: tree.unflatten(form, list(children)),
)


class _Registry(Mapping[type, Any]):
    """The table of classes that are nodes of trees."""

    def __contains__(self, kind: object) -> bool:
        return isinstance(kind, type) and tree.is_tree_node(kind)

    def __getitem__(self, kind: type) -> Any:
        if kind not in self:
            raise KeyError(kind)
        return _NODE

    def __iter__(self) -> Iterator[type]:
        raise TypeError("classes of nodes can only be looked up one by one")

    def __len__(self) -> int:
        raise TypeError("classes of nodes can only be looked up one by one")


_registry = _Registry()
__all__ = ["DType", "check_close", "finfo", "supports_inf"]


def einsum_along(
    operands: Sequence[Any],
    contractions: Sequence[tuple[Any, ...]],
    precision: Any,
    preferred_element_type: Any,
    _dot_general: Callable[..., Any] | None = None,
    out_sharding: Any = None,
) -> Any:
    """Compute a sum of products along a path of `opt_einsum`.

    Args:
      operands: arrays.
      contractions: for each step (positions of its operands, the summed axes, subscripts);
        its result becomes the last operand of the next step.
      precision, preferred_element_type, _dot_general, out_sharding: as of `numpy.einsum`;
        `out_sharding` applies to the final result.
    """
    remaining = list(operands)
    options = {"preferred_element_type": preferred_element_type, "precision": precision}
    for i, (positions, _, subscripts, *_) in enumerate(contractions, 1):
        taken = [remaining.pop(place) for place in positions]
        sharding = out_sharding if i == len(contractions) else None
        remaining.append(
            einsum(
                subscripts,
                *taken,
                _dot_general=_dot_general,
                out_sharding=sharding,
                **options,
            )
        )
    return remaining[0]


def lu_solve(lu: Any, permutation: Any, b: Any, trans: int = 0) -> Any:
    """Solve A x = b, given `lax.linalg.lu`'s factors and permutation of A.

    trans: 1 to solve with the transposed matrix, 2 with the adjoint.
    """
    lu, b = promote_dtypes_inexact(lu, b)
    factors, vector = Factors(lu, permutation, None), b.ndim == lu.ndim - 1
    x = solve_factored(factors, b[..., None] if vector else b, trans)
    return x[..., 0] if vector else x
