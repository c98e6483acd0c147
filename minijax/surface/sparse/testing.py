"""Helpers for tests of sparse arrays: random arrays, layouts,
comparisons with dense ones."""

from __future__ import annotations

import functools
import itertools
import math
import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...api.jacobians import jacfwd, jacrev
from ...api.vmap import vmap
from ...base import tree
from ...control.calls.jit import jit
from ...prims import lax
from ...types import dtypes
from .. import jnp
from .api import todense
from .base import JAXSparse
from .bcoo import BCOO
from .bcsr import BCSR
from .sparsify import sparsify

__all__ = (
    "MATMUL_TOL",
    "is_sparse",
    "BatchedDotGeneralProperties",
    "SparseLayout",
    "SparseTestCase",
    "rand_bcoo",
    "rand_bcsr",
    "rand_sparse",
    "iter_subsets",
    "iter_sparse_layouts",
    "iter_bcsr_layouts",
)

MATMUL_TOL: dict[Any, float] = {
    np.float32: 1e-5,
    np.float64: 1e-10,
    np.complex64: 1e-5,
    np.complex128: 1e-10,
}
_TOLERANCE = {2: 1e-2, 4: 1e-5, 8: 1e-10}  # keyed by the bytes of a real number


class BatchedDotGeneralProperties(NamedTuple):
    """The shapes and dimension numbers of a batched sparse product."""

    lhs_shape: tuple[int, ...]
    rhs_shape: tuple[int, ...]
    n_batch: int
    n_dense: int
    dimension_numbers: Any


class SparseLayout(NamedTuple):
    """The number of axes of each kind."""

    n_batch: int
    n_dense: int
    n_sparse: int


def is_sparse(x: Any) -> bool:
    """Whether a value is a sparse array of any format.

    Args:
      x: any value.

    Returns:
      A bool.

    Example:
      >>> is_sparse(jnp.zeros(3))
      False
    """
    return isinstance(x, JAXSparse)


# ------------------------------------------------------------------------------ random

Maker = Callable[..., Any]


def _normal(rng: np.random.RandomState) -> Maker:
    """Return a function (shape, dtype) -> normal random numbers."""

    def draw(shape: Sequence[int], dtype: Any) -> Any:
        dtype = dtypes.canonical(dtype)
        x = 3 * rng.randn(*shape)
        if dtypes.is_complex(dtype):
            x = x + 3j * rng.randn(*shape)
        return np.asarray(x > 0 if dtypes.is_bool(dtype) else x).astype(dtype)

    return draw


def _random_sparse(
    shape: Sequence[int],
    dtype: Any,
    *,
    rng: np.random.RandomState,
    rand_method: Any,
    nse: float,
    n_batch: int,
    n_dense: int,
    by_rows: bool,
) -> Any:
    n_sparse = len(shape) - n_batch - n_dense
    if n_sparse < 0 or n_batch < 0 or n_dense < 0:
        raise ValueError(
            f"Invalid parameters: shape={shape} n_batch={n_batch} n_sparse={n_sparse}"
        )
    if by_rows and n_sparse != 2:
        raise ValueError(f"bcsr array must have 2 sparse dimensions; {n_sparse} is given.")
    batch, sizes = tuple(shape[:n_batch]), tuple(shape[n_batch : n_batch + n_sparse])
    count = math.ceil(nse * math.prod(sizes)) if 0 <= nse < 1 else int(nse)
    dense_shape = tuple(shape[n_batch + n_sparse :])
    data = jnp.array(rand_method(rng)((*batch, count, *dense_shape), dtype))
    draw = functools.partial(rng.randint, dtype=np.int32)
    if not by_rows:
        indices = draw(0, sizes, size=(*batch, count, n_sparse))
        return BCOO((data, jnp.array(indices)), shape=shape)
    columns = draw(0, sizes[1], size=(*batch, count))
    starts = np.sort(draw(0, count + 1, size=(*batch, sizes[0] + 1)), -1)
    starts[..., 0] = 0
    return BCSR((data, jnp.array(columns), jnp.array(starts)), shape=shape)


def rand_bcoo(
    rng: np.random.RandomState,
    rand_method: Maker = _normal,
    nse: float = 0.5,
    n_batch: int = 0,
    n_dense: int = 0,
) -> Maker:
    """Return a function that draws random BCOO arrays.

    Args:
      rng: NumPy's random state.
      rand_method: rng -> a function (shape, dtype) -> the elements.
      nse: the number of elements to store in each batch; below 1, a fraction of all.
      n_batch: the number of leading batch axes.
      n_dense: the number of trailing dense axes.

    Returns:
      A function (shape, dtype) -> BCOO array.

    Example:
      >>> rand_bcoo(np.random.RandomState(0), nse=3)((4, 5), np.float32)
      BCOO(float32[4, 5], nse=3)
    """
    return functools.partial(
        _random_sparse,
        rng=rng,
        rand_method=rand_method,
        nse=nse,
        n_batch=n_batch,
        n_dense=n_dense,
        by_rows=False,
    )


def rand_bcsr(
    rng: np.random.RandomState,
    rand_method: Maker = _normal,
    nse: float = 0.5,
    n_batch: int = 0,
    n_dense: int = 0,
) -> Maker:
    """Return a function that draws random BCSR arrays.

    Args:
      rng: NumPy's random state.
      rand_method: rng -> a function (shape, dtype) -> the elements.
      nse: the number of elements to store in each batch; below 1, a fraction of all.
      n_batch: the number of leading batch axes.
      n_dense: the number of trailing dense axes.

    Returns:
      A function (shape, dtype) -> BCSR array.

    Example:
      >>> rand_bcsr(np.random.RandomState(0), nse=3)((4, 5), np.float32)
      BCSR(float32[4, 5], nse=3)
    """
    return functools.partial(
        _random_sparse,
        rng=rng,
        rand_method=rand_method,
        nse=nse,
        n_batch=n_batch,
        n_dense=n_dense,
        by_rows=True,
    )


def rand_sparse(
    rng: np.random.RandomState,
    nse: float = 0.5,
    post: Maker = lambda x: x,
    rand_method: Maker = _normal,
) -> Maker:
    """Return a function that draws random NumPy arrays with many zeros.

    Args:
      rng: NumPy's random state.
      nse: the number of nonzero elements; below 1, a fraction of all.
      post: a function applied to the array.
      rand_method: rng -> a function (shape, dtype) -> the elements.

    Returns:
      A function (shape, dtype) -> `post` of an array.

    Example:
      >>> int((rand_sparse(np.random.RandomState(0), 3)((4, 5), np.float32) != 0).sum())
      3
    """

    def make(shape: Sequence[int], dtype: Any, nse: float = nse) -> Any:
        size = math.prod(shape)
        count = min(size, int(nse * size if 0 <= nse < 1 else nse))
        out = np.array(rand_method(rng)(shape, dtype))
        out.flat[rng.choice(size, size - count, replace=False)] = 0
        return post(out)

    return make


# ----------------------------------------------------------------------------- layouts


def iter_subsets(s: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
    """Iterate over all subsets of a sequence.

    Args:
      s: a sequence.

    Returns:
      An iterator over tuples, small ones first.

    Example:
      >>> list(iter_subsets("ab"))
      [(), ('a',), ('b',), ('a', 'b')]
    """
    sizes = range(len(s) + 1)
    return itertools.chain.from_iterable(itertools.combinations(s, n) for n in sizes)


def iter_sparse_layouts(shape: Sequence[int], min_n_batch: int = 0) -> Iterator[SparseLayout]:
    """Iterate over all layouts of BCOO arrays of a shape.

    Args:
      shape: the shape.
      min_n_batch: the smallest number of batch axes.

    Returns:
      An iterator over layouts.

    Example:
      >>> [tuple(x) for x in iter_sparse_layouts((3,))]
      [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    """
    rank = len(shape)
    for n_batch in range(min_n_batch, rank + 1):
        for n_dense in range(rank + 1 - n_batch):
            yield SparseLayout(n_batch, n_dense, rank - n_batch - n_dense)


def iter_bcsr_layouts(shape: Sequence[int], min_n_batch: int = 0) -> Iterator[SparseLayout]:
    """Iterate over all layouts of BCSR arrays of a shape.

    Args:
      shape: the shape.
      min_n_batch: the smallest number of batch axes.

    Returns:
      An iterator over layouts.

    Example:
      >>> [tuple(x) for x in iter_bcsr_layouts((3, 4, 5))]
      [(0, 1, 2), (1, 0, 2)]
    """
    for n_batch in range(min_n_batch, len(shape) - 1):
        yield SparseLayout(n_batch, len(shape) - 2 - n_batch, 2)


# -------------------------------------------------------------------------- comparisons


def _dense(out: Any) -> Any:
    return tree.map(todense, out, is_leaf=is_sparse)


def _close(
    x: Any, y: Any, check_dtypes: bool, atol: float | None, rtol: float | None, text: str
) -> None:
    """Raise AssertionError unless two trees of arrays are approximately equal."""
    xs, ys = tree.leaves_with_path(x), tree.leaves(y)
    assert tree.structure(x) == tree.structure(y), text
    for (path, a), b in zip(xs, ys, strict=True):
        leaf_name = f"{text} {tree.keystr(path)}".strip()
        a, b = jnp.asarray(a), jnp.asarray(b)
        if check_dtypes:
            assert a.dtype == b.dtype, f"{leaf_name}: {a.dtype} is not {b.dtype}"
        inexact = dtypes.is_inexact(a.dtype)
        default_tol = _TOLERANCE.get(dtypes.real_of(a.dtype).itemsize, 0.0) if inexact else 0.0
        wide = np.complex128 if dtypes.is_complex(a.dtype) else np.float64
        first, second = (np.asarray(z).astype(wide) for z in (a, b))
        np.testing.assert_allclose(
            first,
            second,
            err_msg=leaf_name,
            atol=default_tol if atol is None else atol,
            rtol=default_tol if rtol is None else rtol,
        )


class SparseTestCase(unittest.TestCase):
    """Tests that compare functions of sparse arrays with functions of dense ones."""

    def rng(self) -> np.random.RandomState:
        """Return a random state that is the same in each run of a test."""
        return np.random.RandomState(sum(map(ord, self.id())) % 2**32)

    def assertSparseArraysEquivalent(
        self,
        x: Any,
        y: Any,
        *,
        check_dtypes: bool = True,
        atol: float | None = None,
        rtol: float | None = None,
        canonicalize_dtypes: bool = True,
        err_msg: str = "",
    ) -> None:
        """Assert that both have the same layout and approximately the same data."""
        del canonicalize_dtypes  # arrays have canonical dtypes
        self.assertEqual(tree.structure(x), tree.structure(y))
        _close(tree.leaves(x), tree.leaves(y), check_dtypes, atol, rtol, err_msg)

    def _CheckAgainstDense(
        self,
        dense_op: Maker,
        sparse_op: Maker,
        args_maker: Maker,
        check_jit: bool = True,
        check_dtypes: bool = True,
        tol: float | None = None,
        atol: float | None = None,
        rtol: float | None = None,
        canonicalize_dtypes: bool = True,
    ) -> None:
        """Assert that a sparse operation agrees with the dense one."""
        del canonicalize_dtypes
        atol, rtol = (tol if x is None else x for x in (atol, rtol))
        args = args_maker()
        expected = dense_op(*_dense(args))
        out = sparse_op(*args)
        _close(expected, _dense(out), check_dtypes, atol, rtol, "")
        if check_jit:
            jitted_out = jit(sparse_op)(*args)
            self.assertSparseArraysEquivalent(out, jitted_out, atol=atol, rtol=rtol)

    def _CheckGradsSparse(
        self,
        dense_fun: Maker,
        sparse_fun: Maker,
        args_maker: Maker,
        *,
        argnums: Sequence[int] | None = None,
        modes: Sequence[str] = ("fwd", "rev"),
        atol: float | None = None,
        rtol: float | None = None,
    ) -> None:
        """Assert that Jacobians by the data of the arguments agree."""
        self.assertLessEqual(set(modes), {"fwd", "rev"})
        args = args_maker()
        leaves, in_tree = tree.flatten(args)
        counts = [len(tree.leaves(arg)) for arg in args]
        first = np.cumsum([0, *counts[:-1]]).tolist()
        which = first if argnums is None else [first[i] for i in argnums]

        def dense(*leaves: Any) -> Any:
            return dense_fun(*_dense(tree.unflatten(in_tree, leaves)))

        def sparse(*leaves: Any) -> Any:
            return _dense(sparse_fun(*tree.unflatten(in_tree, leaves)))

        for mode, jac in (("rev", jacrev), ("fwd", jacfwd)):
            if mode in modes:
                expected = jac(dense, argnums=which)(*leaves)
                _close(expected, jac(sparse, argnums=which)(*leaves), True, atol, rtol, mode)

    def _random_bdims(self, *args: int) -> list[int]:
        rng = self.rng()
        return [rng.randint(0, arg + 1) for arg in args]

    def _CheckBatchingSparse(
        self,
        dense_fun: Maker,
        sparse_fun: Maker,
        args_maker: Maker,
        *,
        batch_size: int = 3,
        bdims: Sequence[int | None] | None = None,
        check_jit: bool = False,
        check_dtypes: bool = True,
        tol: float | None = None,
        atol: float | None = None,
        rtol: float | None = None,
        canonicalize_dtypes: bool = True,
    ) -> None:
        """Assert that both agree under `vmap` over random batch axes."""
        if bdims is None:
            ranks = [arg.n_batch if is_sparse(arg) else arg.ndim for arg in args_maker()]
            bdims = self._random_bdims(*ranks)

        def batch(xs: Sequence[Any], axis: int) -> Any:
            widen = sparsify(lambda x: lax.expand_dims(x, [axis]))
            return sparsify(lambda *xs: lax.concatenate(xs, axis))(*map(widen, xs))

        def batched() -> list[Any]:
            args_by_position = zip(*(args_maker() for _ in range(batch_size)), strict=True)
            return [
                xs[0] if axis is None else batch(xs, axis)
                for xs, axis in zip(args_by_position, bdims, strict=True)
            ]

        self._CheckAgainstDense(
            vmap(dense_fun, tuple(bdims)),
            vmap(sparse_fun, tuple(bdims)),
            batched,
            check_dtypes=check_dtypes,
            tol=tol,
            atol=atol,
            rtol=rtol,
            check_jit=check_jit,
            canonicalize_dtypes=canonicalize_dtypes,
        )
