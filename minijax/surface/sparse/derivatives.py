"""Derivatives with respect to the stored elements of sparse arguments.

The derivative has the sparsity of the argument.  `minijax.grad` would also differentiate
with respect to the indices.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...api import autodiff, jacobians
from ...base import errors, tree
from ...base.source import wraps
from .. import jnp
from .base import JAXSparse, with_data
from .bcoo import BCOO
from .bcsr import pairs_of
from .coo import COO, columns
from .csr import CSC, CSR

__all__ = ("value_and_grad", "grad", "jacfwd", "jacrev", "jacobian")

Fun = Callable[..., Any]


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


class _Arguments:
    """A call as a function of the data of some arguments."""

    def __init__(self, fun: Fun, args: Sequence[Any], argnums: Any, kwargs: Any) -> None:
        self.fun, self.kwargs = fun, kwargs
        self.args = list(args)
        self.single = not isinstance(argnums, (tuple, list))
        which = (argnums,) if self.single else argnums
        self.which = []
        for i in map(operator.index, which):
            if not -len(args) <= i < len(args):
                raise errors.value_error(
                    f"differentiating with respect to argnums={argnums} requires at least"
                    f" {i + 1 if i >= 0 else -i} positional arguments to be passed by the"
                    f" caller, but got only {len(args)} positional arguments."
                )
            self.which.append(i % len(args))
        selected = [self.args[i] for i in self.which]
        self.leaves, self.tree = tree.flatten(selected, is_leaf=_is_sparse)
        self.data = [x.data if _is_sparse(x) else x for x in self.leaves]

    def __call__(self, data: Sequence[Any]) -> Any:
        """Call the function with other data."""
        leaves = [
            with_data(x, d) if _is_sparse(x) else d
            for x, d in zip(self.leaves, data, strict=True)
        ]
        args = list(self.args)
        for i, arg in zip(self.which, tree.unflatten(self.tree, leaves), strict=True):
            args[i] = arg
        return self.fun(*args, **self.kwargs)

    def like_arguments(self, derivatives: Sequence[Any]) -> Any:
        """Return derivatives by the data as trees of sparse arrays like the arguments."""
        out = tree.unflatten(
            self.tree,
            [
                _derivative(x, d) if _is_sparse(x) else d
                for x, d in zip(self.leaves, derivatives, strict=True)
            ],
        )
        return out[0] if self.single else tuple(out)


def _derivative(x: Any, data: Any) -> Any:
    """Return an array with `data`, (..., *x.data.shape), at the positions of `x`."""
    batch_shape = data.shape[: data.ndim - x.data.ndim]
    if not batch_shape:
        return with_data(x, data)
    if isinstance(x, COO):
        x = BCOO((x.data, columns(x.row, x.col)), shape=x.shape)
    elif isinstance(x, (CSR, CSC)):
        pairs = pairs_of(x.indices, x.indptr)
        pairs = pairs[:, ::-1] if isinstance(x, CSC) else pairs
        x = BCOO((x.data, pairs), shape=x.shape)
    leaves, aux_data = x.tree_flatten()
    index_buffers = [jnp.broadcast_to(b, (*batch_shape, *b.shape)) for b in leaves[1:]]
    aux_data = {**aux_data, "shape": (*batch_shape, *x.shape)}
    return type(x).tree_unflatten(aux_data, (data, *index_buffers))


def value_and_grad(
    fun: Fun, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Fun:
    """Return a function that computes the value and gradient, by sparse arguments as well.

    Args:
      fun: a function of arrays and sparse arrays, which returns a scalar.
      argnums: the positional arguments to differentiate by.
      has_aux: whether `fun` returns a pair whose second element is auxiliary output.
      kwargs: further arguments of `minijax.value_and_grad`.

    Returns:
      A function of `fun`'s arguments, which returns (value, gradient); the gradient by a
      sparse array is stored at the positions of the array.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO.fromdense(jnp.array([[0., 2.], [3., 0.]]))
      >>> value, slope = value_and_grad(lambda m: (m @ jnp.arange(2.)).sum())(m)
      >>> value, slope.data
      (Array(2., dtype=float32), Array([1., 0.], dtype=float32))
    """

    @wraps(fun, about="Value and gradient of {fun}, by sparse arguments as well.")
    def value_and_grad_fun(*args: Any, **kw: Any) -> Any:
        call = _Arguments(fun, args, argnums, kw)
        run = autodiff.value_and_grad(call, has_aux=has_aux, **kwargs)
        out, derivatives = run(call.data)
        return out, call.like_arguments(derivatives)

    return value_and_grad_fun


def grad(
    fun: Fun, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Fun:
    """Return a function that computes the gradient, by sparse arguments as well.

    Args:
      fun: a function of arrays and sparse arrays, which returns a scalar.
      argnums: the positional arguments to differentiate by.
      has_aux: whether `fun` returns a pair whose second element is auxiliary output.
      kwargs: further arguments of `minijax.value_and_grad`.

    Returns:
      A function of `fun`'s arguments; the gradient by a sparse array is stored at the
      positions of the array.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO.fromdense(jnp.array([[0., 2.], [3., 0.]]))
      >>> grad(lambda m: (m @ jnp.arange(2.)).sum())(m)
      BCOO(float32[2, 2], nse=2)
    """
    both = value_and_grad(fun, argnums, has_aux, **kwargs)

    @wraps(fun, about="Gradient of {fun}, by sparse arguments as well.")
    def grad_fun(*args: Any, **kw: Any) -> Any:
        out, gradient = both(*args, **kw)
        return (gradient, out[1]) if has_aux else gradient

    return grad_fun


def _jacobian(transformation: Fun, fun: Fun, argnums: Any, has_aux: bool, kwargs: Any) -> Fun:
    @wraps(fun, about="Jacobian of {fun}, by sparse arguments as well.")
    def jacobian_fun(*args: Any, **kw: Any) -> Any:
        call = _Arguments(fun, args, argnums, kw)

        def dense(data: Any) -> Any:
            out = call(data)
            main = out[0] if has_aux else out
            if any(map(_is_sparse, tree.leaves(main, is_leaf=_is_sparse))):
                raise errors.type_error(
                    "a jacobian needs dense results: got a sparse array.",
                    tries=["sparse.todense(result)"],
                )
            return out

        jacobians_by_data = transformation(dense, has_aux=has_aux, **kwargs)(call.data)
        jacobians_by_data, aux = jacobians_by_data if has_aux else (jacobians_by_data, None)
        # `jacfwd` and `jacrev` of a list return a list at each leaf of the result.
        shape = tree.structure(call.data)
        is_row = lambda x: isinstance(x, list) and tree.structure(x) == shape
        out = tree.map(call.like_arguments, jacobians_by_data, is_leaf=is_row)
        return (out, aux) if has_aux else out

    return jacobian_fun


def jacfwd(
    fun: Fun, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Fun:
    """Return a function that computes the Jacobian in forward mode.

    Args:
      fun: a function of arrays and sparse arrays, whose results are arrays.
      argnums: the positional arguments to differentiate by.
      has_aux: whether `fun` returns a pair whose second element is auxiliary output.
      kwargs: further arguments of `minijax.jacfwd`.

    Returns:
      A function of `fun`'s arguments; the Jacobian by a sparse array is a sparse array,
      whose first batch axes are the axes of the result.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO.fromdense(jnp.array([[0., 2.], [3., 0.]]))
      >>> jacfwd(lambda m: m @ jnp.arange(2.))(m)
      BCOO(float32[2, 2, 2], nse=2, n_batch=1)
    """
    return _jacobian(jacobians.jacfwd, fun, argnums, has_aux, kwargs)


def jacrev(
    fun: Fun, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Fun:
    """Return a function that computes the Jacobian in reverse mode.

    Args:
      fun: a function of arrays and sparse arrays, whose results are arrays.
      argnums: the positional arguments to differentiate by.
      has_aux: whether `fun` returns a pair whose second element is auxiliary output.
      kwargs: further arguments of `minijax.jacrev`.

    Returns:
      A function of `fun`'s arguments; the Jacobian by a sparse array is a sparse array,
      whose first batch axes are the axes of the result.

    Example:
      >>> import minijax.numpy as jnp
      >>> m = BCOO.fromdense(jnp.array([[0., 2.], [3., 0.]]))
      >>> jacrev(lambda m: m @ jnp.arange(2.))(m)
      BCOO(float32[2, 2, 2], nse=2, n_batch=1)
    """
    return _jacobian(jacobians.jacrev, fun, argnums, has_aux, kwargs)


jacobian = jacrev
