"""BCOO: batched coordinates.  The class and the checks of its buffers.

An array of shape (batch..., sparse..., dense...) is stored as `data` of shape
(batch..., nse, dense...) and `indices` of shape (batch..., nse, number of sparse axes).
A batch axis of size 1 in a buffer is broadcast over all batches.  Indices out of bounds are
padding; elements with equal positions are added.

The operations are in bcoo_dense.py and the files after it.  methods.py makes them methods
of the class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...base import errors, tree
from ...base.util import split_list
from ...ir.core import Primitive, aval_of
from ...passes.ad_util import Zero, is_linear
from ...passes.batch import batch_flat, move_lane
from ...passes.stage import stage_closed
from ...passes.transpose import backward_pass
from ...prims import lax
from ...types import dtypes
from .. import jnp
from .base import BatchedSparse, Shape, SparseInfo
from .kernels import shape_of

__all__ = (
    "BCOO",
    "Properties",
    "check_bcoo",
    "check_indices",
    "check_integers",
    "fits",
    "in_front",
    "infos_in_front",
    "batched_by",
    "lowers_as",
    "linear_in_data",
    "transposed_by",
    "index_cotangent",
    "buffers",
    "elements",
)


class Properties(NamedTuple):
    """The number of axes of each kind and the number of stored elements."""

    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


def check_indices(indices: Any, shape: Sequence[int]) -> Properties:
    """Return the properties implied by indices; raise ValueError if they do not fit."""
    indices_shape = shape_of(indices)
    if len(indices_shape) < 2:
        raise errors.value_error(
            f"Invalid indices.shape={indices_shape} for shape={tuple(shape)}.",
            why="indices have the axes (batch..., nse, number of sparse axes).",
        )
    n_batch, n_sparse = len(indices_shape) - 2, indices_shape[-1]
    n_dense = len(shape) - n_batch - n_sparse
    if n_dense < 0:
        raise errors.value_error(
            f"Invalid indices.shape={indices_shape} for shape={tuple(shape)}.",
            why="the array has fewer axes than its batch and sparse axes together.",
        )
    if not fits(indices_shape[:n_batch], shape[:n_batch]):
        raise errors.value_error(
            "indices batch dimensions not compatible for"
            f" indices.shape={indices_shape}, shape={tuple(shape)}",
            why="a batch axis of a buffer has the array's size, or 1.",
        )
    return Properties(n_batch, n_sparse, n_dense, indices_shape[-2])


def check_bcoo(data: Any, indices: Any, shape: Sequence[int]) -> Properties:
    """Return the properties implied by buffers; raise ValueError if they do not fit."""
    props = check_indices(indices, shape)
    n_batch, n_sparse, n_dense, nse = props
    data_shape = shape_of(data)
    if not fits(data_shape[:n_batch], shape[:n_batch]):
        raise errors.value_error(
            "data batch dimensions not compatible for"
            f" data.shape={data_shape}, shape={tuple(shape)}",
            why="a batch axis of a buffer has the array's size, or 1.",
        )
    if data_shape[n_batch:] != (nse, *shape[n_batch + n_sparse :]):
        raise errors.value_error(
            f"Invalid data.shape={data_shape} for nse={nse}, n_batch={n_batch}, n_dense={n_dense}",
            which=f"indices.shape={shape_of(indices)}, shape={tuple(shape)}",
            why="data has the axes (batch..., nse, dense...).",
        )
    return props


def check_integers(name: str, **buffers: Any) -> None:
    """Raise TypeError unless all buffers are integers."""
    for buffer_name, x in buffers.items():
        if not dtypes.is_integer(aval_of(x).dtype):
            raise errors.type_error(
                f"{name}: {buffer_name} must be integers, got {aval_of(x).str_short(True)}."
            )


def fits(buffer_batch: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether each batch axis of a buffer has the array's size, or 1."""
    return len(buffer_batch) == len(shape) and all(
        m in (1, n) for m, n in zip(buffer_batch, shape, strict=True)
    )


@tree.register_pytree_node_class
class BCOO(BatchedSparse):
    """A sparse array by batched coordinates.

    Args:
      args: `(data, indices)`: data of shape (batch..., nse, dense...), integer indices of
        shape (batch..., nse, number of sparse axes).
      shape: the shape of the array, (batch..., sparse..., dense...).
      indices_sorted: promises that the indices of each batch ascend.
      unique_indices: promises that no index of a batch occurs twice.

    Raises:
      ValueError: the buffers do not fit `shape`.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO((jnp.array([1., 2.]), jnp.array([[0, 1], [1, 0]])), shape=(2, 3))
      >>> m
      BCOO(float32[2, 3], nse=2)
      >>> m.todense()
      Array([[0., 1., 0.],
             [2., 0., 0.]], dtype=float32)
    """

    _buffer_names = ("data", "indices")
    # Set by methods.py.
    reshape: Callable[..., Any]
    astype: Callable[..., Any]
    sum: Callable[..., Any]
    sort_indices: Callable[..., Any]

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices = map(jnp.asarray, args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        super().__init__(args, shape=shape)
        check_integers("BCOO", indices=self.indices)
        check_bcoo(self.data, self.indices, self.shape)

    @property
    def nse(self) -> int:
        """The number of stored elements in each batch."""
        return int(shape_of(self.indices)[-2])

    @property
    def n_batch(self) -> int:
        """The number of batch axes, which come first."""
        return len(shape_of(self.indices)) - 2

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes, which come next."""
        return int(shape_of(self.indices)[-1])

    def _axes(self) -> tuple[Shape, Shape, Shape]:
        """Return the sizes of batch, sparse and dense axes."""
        shapes = split_list(self.shape, [self.n_batch, self.n_sparse])
        return tuple(map(tuple, shapes))  # type: ignore[return-value]

    def transpose(self, axes: Any = None) -> Any:
        """Return the array with permuted axes."""
        raise NotImplementedError

    def todense(self) -> Any:
        """Return the array as a dense one."""
        raise NotImplementedError


def buffers(data: Any, indices: Any, info: SparseInfo) -> BCOO:
    """Return the array of these buffers, without checks: the caller knows that they fit."""
    return BCOO.tree_unflatten(info._asdict(), (data, indices))


# ------------------------------------------------------ helpers for rules of primitives


def in_front(axis: Any, x: Any, dim: int | None) -> Any:
    """Return a buffer with its lane axis first, of size 1 if all lanes share the buffer."""
    return lax.expand_dims(x, (0,)) if dim is None else move_lane(x, axis, dim, 0)


def infos_in_front(axis: Any, info: SparseInfo) -> SparseInfo:
    """Return the static information of the array that holds all lanes."""
    return info._replace(shape=(axis.size, *info.shape))


def batched_by(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a batch rule that maps a function of the operands over the lanes."""

    def batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
        def flat(*xs: Any) -> Sequence[Any]:
            out = fun(*xs, **params)
            single.append(not isinstance(out, (tuple, list)))
            return (out,) if single[-1] else out

        single: list[bool] = []
        outs, out_dims = batch_flat(flat, axis, args, dims)
        return (outs[0], out_dims[0]) if single[-1] else (outs, out_dims)

    return batch


def lowers_as(prim: Primitive, fun: Callable[..., Any]) -> None:
    """Lower a primitive as a function of its operands."""

    def lower(ctx: Any, *xs: Any, **params: Any) -> Any:
        out = ctx.fun(lambda *ys: fun(*ys, **params), *xs)
        return out if prim.multiple_results else out[0]

    prim.lower = lower


def transposed_by(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a transpose rule that transposes the operations of a function."""

    def transpose(cts: Any, *args: Any, **params: Any) -> list[Any]:
        avals = [x.aval if is_linear(x) else aval_of(x) for x in args]
        pairs = zip(args, avals, strict=True)
        index_cotangent(*(x for x, a in pairs if not dtypes.is_inexact(a.dtype)))
        closed = stage_closed(lambda *xs: as_list(fun(*xs, **params)), avals)
        return backward_pass(closed.jaxpr, closed.consts, args, as_list(cts))

    return transpose


def as_list(x: Any) -> list[Any]:
    """Return one result, or several, as a list."""
    return list(x) if isinstance(x, (tuple, list)) else [x]


def linear_in_data(prim: Primitive, fun: Callable[..., Any]) -> None:
    """Set jvp and transpose of a primitive that maps (data, indices) to the same pair.

    `fun` is the primitive as a function.
    """

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        outs = prim.bind(*primals, **params)
        ts = [Zero(aval_of(x).to_tangent()) for x in outs]
        if type(tangents[0]) is not Zero:
            ts[0] = prim.bind(tangents[0], *primals[1:], **params)[0]
        return outs, ts

    prim.jvp = jvp
    prim.transpose = transposed_by(fun)


def index_cotangent(*indices: Any) -> None:
    """Raise ValueError if a transpose is taken with respect to indices."""
    if any(map(is_linear, indices)):
        raise ValueError("Cannot transpose with respect to sparse indices")


def elements(shape: Sequence[int]) -> int:
    """Return the number of elements of an array of this shape."""
    return math.prod(shape)
