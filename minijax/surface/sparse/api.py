"""Functions for sparse arrays of every format: `todense`, `empty`, `eye`, `random_bcoo`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...api.vmap import vmap
from ...base import errors, tree
from ...base.util import split_list
from ...ir.core import Primitive, aval_of
from ...passes.ad_util import Zero
from ...types import dtypes
from ...types.avals import shaped
from .. import jnp
from ..random.choosing import choice
from ..random.keys import split
from ..random.sampling import uniform
from .base import JAXSparse
from .bcoo import BCOO, batched_by, lowers_as, transposed_by
from .bcsr import BCSR
from .coo import COO
from .csr import CSC, CSR
from .tracing import sparse_rules_bcoo, sparse_rules_bcsr

__all__ = ("todense_p", "todense", "empty", "eye", "random_bcoo")

# ----------------------------------------------------------------------------- todense

todense_p = Primitive("todense")


def todense(arr: Any) -> Any:
    """Return a sparse or dense array as a dense one.

    Args:
      arr: a sparse array of any format, or an array.

    Returns:
      An array.  Unlike the method `todense`, this function also accepts the tracers of
      sparse arrays inside a sparsified function.

    Raises:
      TypeError: `arr` is not an array.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.experimental import sparse
      >>> f = sparse.sparsify(lambda m: todense(m) + 1)
      >>> f(sparse.BCOO.fromdense(jnp.array([0., 2.])))
      Array([1., 3.], dtype=float32)
    """
    if not isinstance(arr, JAXSparse):
        arr = jnp.asarray(arr)
    bufs, shape = tree.flatten(arr)
    return todense_p.bind(*bufs, tree=shape)


def _todense(*bufs: Any, tree: Any) -> Any:
    arr = _rebuilt(tree, bufs)
    return arr.todense() if isinstance(arr, JAXSparse) else arr


_rebuilt = tree.unflatten


def _todense_type(*bufs: Any, tree: Any) -> Any:
    arr = _rebuilt(tree, bufs)
    return shaped(tuple(arr.shape), bufs[0].dtype, not arr.shape and bufs[0].weak_type)


todense_p.abstract = _todense_type


def _todense_jvp(primals: Any, tangents: Any, *, tree: Any) -> Any:
    out = todense_p.bind(*primals, tree=tree)
    if type(tangents[0]) is Zero:
        return out, Zero(aval_of(out).to_tangent())
    return out, todense_p.bind(tangents[0], *primals[1:], tree=tree)


todense_p.jvp = _todense_jvp
todense_p.transpose = transposed_by(_todense)
todense_p.batch = batched_by(_todense)
lowers_as(todense_p, _todense)
for rules in (sparse_rules_bcoo, sparse_rules_bcsr):
    rules[todense_p] = lambda x, *, tree: x.todense()

# -------------------------------------------------------------------------- empty, eye

_FORMATS: dict[str, Any] = {"bcsr": BCSR, "bcoo": BCOO, "coo": COO, "csr": CSR, "csc": CSC}


def _format(name: str) -> Any:
    if name not in _FORMATS:
        raise ValueError(
            f"sparse_format={name!r} not recognized; must be one of {list(_FORMATS)}"
        )
    return _FORMATS[name]


def empty(
    shape: Sequence[int],
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> Any:
    """Return a sparse array without stored elements.

    Args:
      shape: the shape of the array.
      dtype: the dtype of its elements; float32 by default.
      index_dtype: the dtype of the indices.
      sparse_format: 'bcoo', 'bcsr', 'coo', 'csr' or 'csc'.
      kwds: for 'bcoo' and 'bcsr': `n_batch`, `n_dense`, and `nse`, the number of elements
        to allocate.

    Returns:
      A sparse array of this format.

    Raises:
      ValueError: the format is unknown, or it has no arrays of this shape.

    Example:
      >>> empty((2, 3))
      BCOO(float32[2, 3], nse=0)
    """
    cls = _format(sparse_format)
    return cls._empty(tuple(shape), dtype=dtype, index_dtype=index_dtype, **kwds)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> Any:
    """Return a sparse matrix with ones on a diagonal.

    Args:
      N: the number of rows.
      M: the number of columns; `N` by default.
      k: the diagonal; positive values are above the main one.
      dtype: the dtype of its elements; float32 by default.
      index_dtype: the dtype of the indices.
      sparse_format: 'bcoo', 'bcsr', 'coo', 'csr' or 'csc'.
      kwds: for 'bcoo': `n_batch` and `n_dense`.

    Returns:
      A sparse matrix of this format.

    Raises:
      ValueError: the format is unknown.

    Example:
      >>> eye(2, 3, k=1).indices
      Array([[0, 1],
             [1, 2]], dtype=int32)
    """
    cls = _format(sparse_format)
    N = operator.index(N)
    M = N if M is None else operator.index(M)
    k = operator.index(k)
    return cls._eye(N, M, k, dtype=dtype, index_dtype=index_dtype, **kwds)


# ------------------------------------------------------------------------------ random


def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = jnp.float64,
    indices_dtype: Any = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = uniform,
    **kwds: Any,
) -> Any:
    """Return a random BCOO array.

    Args:
      key: a key.
      shape: the shape of the array.
      dtype: the dtype of its elements.
      indices_dtype: the dtype of the indices (default: the dtype of Python ints).
      nse: the number of elements to store in each batch; below 1, a fraction of all.
      n_batch: the number of leading batch axes.
      n_dense: the number of trailing dense axes.
      unique_indices: whether no index occurs twice.
      sorted_indices: whether indices ascend.
      generator: function that draws the elements: (key, shape, dtype, **kwds) -> array.
      kwds: further arguments of `generator`.

    Returns:
      A BCOO array.

    Raises:
      ValueError: `nse` exceeds the size, the layout is invalid, or `indices_dtype` is too
        small for the indices.

    Example:
      >>> import minijax as mj
      >>> random_bcoo(mj.random.key(0), (4, 5), nse=3, dtype='float32')
      BCOO(float32[4, 5], nse=3)
    """
    shape = tuple(map(operator.index, shape))
    n_batch, n_dense = operator.index(n_batch), operator.index(n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > len(shape):
        raise ValueError(f"Invalid n_batch={n_batch}, n_dense={n_dense} for shape={shape}")
    n_sparse = len(shape) - n_batch - n_dense
    batch_shape, sparse_shape, dense_shape = map(
        tuple, split_list(list(shape), [n_batch, n_sparse])
    )
    size = math.prod(sparse_shape)
    if not 0 <= nse <= size:
        raise ValueError(f"got nse={nse}, expected to be between 0 and {size}")
    if 0 < nse < 1:
        nse = math.ceil(nse * size)
    count = operator.index(nse)  # type: ignore[arg-type]
    index = dtypes.canonical(int if indices_dtype is None else indices_dtype)
    if size > jnp.iinfo(index).max:
        raise errors.value_error(
            f"indices_dtype={index} does not have enough range to generate sparse"
            f" indices of size {size}."
        )

    def indices_of(key: Any) -> Any:
        if not sparse_shape:
            return jnp.zeros((count, 0), index)
        flat = choice(key, size, shape=(count,), replace=not unique_indices)
        return jnp.column_stack(jnp.unravel_index(flat.astype(index), sparse_shape))

    keys = split(key, math.prod(batch_shape) + 1)
    data = generator(keys[0], shape=(*batch_shape, count, *dense_shape), dtype=dtype, **kwds)
    indices = vmap(indices_of)(keys[1:]).reshape((*batch_shape, count, n_sparse))
    mat = BCOO((data, indices), shape=shape)
    return mat.sort_indices() if sorted_indices else mat
