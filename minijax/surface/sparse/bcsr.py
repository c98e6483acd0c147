"""BCSR: batched compressed sparse rows.  The class and its conversion to BCOO.

An array of shape (batch..., rows, columns, dense...) is stored as `data` of shape
(batch..., nse, dense...), the column of each element, `indices` of shape (batch..., nse),
and the start of each row, `indptr` of shape (batch..., rows + 1).  Elements after
`indptr[-1]` are padding.

Next: bcsr_ops.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...base import errors, tree
from ...ir.core import aval_of
from ...prims import lax, promotion
from .. import jnp
from .base import BatchedSparse
from .bcoo import BCOO, check_integers, fits
from .bcoo_layout import bcoo_sort_indices
from .kernels import *

__all__ = (
    "BCSR",
    "BCSRProperties",
    "check_bcsr",
    "rows_of",
    "starts_of",
    "pairs_of",
    "to_bcoo",
    "from_bcoo",
)


class BCSRProperties(NamedTuple):
    """The numbers of batch and dense axes and the number of stored elements."""

    n_batch: int
    n_dense: int
    nse: int


def check_bcsr(data: Any, indices: Any, indptr: Any, shape: Sequence[int]) -> BCSRProperties:
    """Return the properties implied by buffers; raise ValueError if they do not fit.

    `data` is None before it has been computed.
    """
    shape = tuple(shape)
    indices_shape = shape_of(indices)
    if not indices_shape:
        raise errors.value_error("BCSR indices have at least one axis; got a scalar.")
    n_batch, nse = len(indices_shape) - 1, indices_shape[-1]
    n_dense = len(shape) - n_batch - 2
    if n_dense < 0 or len(shape_of(indptr)) != n_batch + 1:
        raise errors.value_error(
            f"Invalid indices.shape={indices_shape}, indptr.shape={shape_of(indptr)} for"
            f" shape={shape}",
            why="indices have the axes (batch..., nse), and indptr (batch..., rows + 1).",
        )
    for name, x in (("data", data), ("indices", indices), ("indptr", indptr)):
        if x is not None and not fits(shape_of(x)[:n_batch], shape[:n_batch]):
            raise errors.value_error(
                f"{name} batch dimensions not compatible for {name}.shape={shape_of(x)},"
                f" shape={shape}",
                why="a batch axis of a buffer has the array's size, or 1.",
            )
    if data is not None and shape_of(data)[n_batch:] != (nse, *shape[n_batch + 2 :]):
        raise errors.value_error(
            f"Invalid data.shape={shape_of(data)} for nse={nse}, n_batch={n_batch},"
            f" n_dense={n_dense}",
            which=f"indices.shape={indices_shape}, shape={shape}",
            why="data has the axes (batch..., nse, dense...).",
        )
    if shape_of(indptr)[-1] != shape[n_batch] + 1:
        raise errors.value_error(
            "indptr shape must match the matrix shape plus 1.",
            which=f"indptr.shape={shape_of(indptr)}, shape={shape}",
        )
    return BCSRProperties(n_batch, n_dense, nse)


@tree.register_pytree_node_class
class BCSR(BatchedSparse):
    """A sparse array by batched compressed rows.

    Args:
      args: `(data, indices, indptr)`: data of shape (batch..., nse, dense...), integer
        columns of shape (batch..., nse), and starts of rows, of shape
        (batch..., rows + 1).
      shape: the shape of the array, (batch..., rows, columns, dense...).
      indices_sorted: promises that the columns of each row ascend.
      unique_indices: promises that no position of a batch occurs twice.

    Raises:
      ValueError: the buffers do not fit `shape`.

    Example:
      >>> import minijax.numpy as jnp
      >>> parts = jnp.array([1., 2.]), jnp.array([1, 0]), jnp.array([0, 1, 2])
      >>> BCSR(parts, shape=(2, 3)).todense()
      Array([[0., 1., 0.],
             [2., 0., 0.]], dtype=float32)
    """

    indptr: Any
    _buffer_names = ("data", "indices", "indptr")
    # Set by methods.py.
    to_bcoo: Callable[..., Any]

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        super().__init__(args, shape=shape)
        check_integers("BCSR", indices=self.indices, indptr=self.indptr)
        check_bcsr(self.data, self.indices, self.indptr, self.shape)

    @property
    def nse(self) -> int:
        """The number of stored elements in each batch."""
        return int(shape_of(self.indices)[-1])

    @property
    def n_batch(self) -> int:
        """The number of batch axes, which come first."""
        return len(shape_of(self.indices)) - 1

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes: rows and columns."""
        return 2

    @property
    def _sparse_shape(self) -> tuple[int, ...]:
        return tuple(self.shape[self.n_batch : self.n_batch + 2])

    def transpose(self, axes: Any = None) -> Any:
        """Raise NotImplementedError: compressed rows cannot be transposed."""
        raise NotImplementedError(
            "Transpose is not implemented. BCSR stores rows: use mat.to_bcoo().transpose()."
        )

    def todense(self) -> Any:
        """Return the array as a dense one."""
        raise NotImplementedError


# ------------------------------------------------------------------------------- rows


def rows_of(indptr: Any, nse: int) -> Any:
    """Return the row of each stored element, (..., nse), from `indptr`, (..., rows + 1).

    An element's row is the number of rows that end before it.  Padding gets the row one
    past the last.
    """
    shape, dtype = shape_of(indptr), aval_of(indptr).dtype
    batch, axis = shape[:-1], len(shape) - 1
    if not nse:
        return lax.full((*batch, 0), 0, dtype)
    last = lax.slice_in_dim(indptr, 1, shape[-1], 1, axis)
    one = lax.full(shape_of(last), 1, dtype)
    ended = add_up(one, lax.expand_dims(last, (axis + 1,)), batch, (nse,))
    return lax.cumsum(ended, axis)


def starts_of(rows: Any, size: int) -> Any:
    """Return `indptr`, (..., size + 1), from the sorted rows of elements, (..., nse)."""
    shape, dtype = shape_of(rows), aval_of(rows).dtype
    batch, axis = shape[:-1], len(shape) - 1
    one = lax.full(shape, 1, dtype)
    counts = add_up(one, lax.expand_dims(rows, (axis + 1,)), batch, (size,))
    first = lax.full((*batch, 1), 0, dtype)
    return lax.concatenate([first, lax.cumsum(counts, axis)], axis)


def pairs_of(indices: Any, indptr: Any) -> Any:
    """Return the row and column of each stored element, (..., nse, 2)."""
    rows = rows_of(indptr, shape_of(indices)[-1])
    axis = len(shape_of(indices))
    dtype = promotion.promote(((aval_of(indices).dtype, False), (aval_of(rows).dtype, False)))[
        0
    ]
    batch = span(shape_of(indices)[:-1], shape_of(rows)[:-1])
    columns = [
        lax.expand_dims(broadcast_to_batch(lax.convert_element_type(x, dtype), batch), (axis,))
        for x in (rows, indices)
    ]
    return lax.concatenate(columns, axis)


def to_bcoo(mat: BCSR) -> BCOO:
    """Convert a BCSR array to BCOO."""
    return BCOO(
        (mat.data, pairs_of(mat.indices, mat.indptr)),
        shape=mat.shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def from_bcoo(arr: BCOO) -> BCSR:
    """Convert a BCOO array with two sparse axes to BCSR."""
    if arr.n_sparse != 2:
        raise NotImplementedError(
            f"BSCR.from_bcoo requires n_sparse=2; got arr.n_sparse={arr.n_sparse}"
        )
    if not arr.indices_sorted:
        arr = bcoo_sort_indices(arr)
    n = arr.n_batch
    rows, columns = (
        lax.squeeze(lax.slice_in_dim(arr.indices, i, i + 1, 1, n + 1), (n + 1,)) for i in (0, 1)
    )
    return BCSR((arr.data, columns, starts_of(rows, arr.shape[n])), shape=arr.shape)
