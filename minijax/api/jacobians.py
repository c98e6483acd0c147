"""Jacobians and Hessians: `vmap` of forward or reverse mode over a basis.

One stacked axis of basis vectors covers all leaves of a pytree: it is split into a piece
for each leaf before and after.  Next: jet.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import errors, tree
from ..base.source import wraps
from ..control.arguments import check_callable
from ..ir import core
from ..ir.sharding_rules import ordered, union
from ..passes.ad_util import core_ops
from ..prims.collectives.pcast import pcast_to_varying, vary_as
from ..prims.math.cast import convert_element_type_p
from ..prims.shape.concatenation import split_p
from ..runtime.arrays.transfers import typed_constant
from ..types import dtypes
from .autodiff import (
    about_derivative,
    check_argnums,
    check_inputs,
    check_output,
    jvp,
    partial_argnums,
)
from .vjp import vjp
from .vmap import vmap

if TYPE_CHECKING:
    from ..types.aliases import Aval, Shape, Value


def standard_basis(leaves: Sequence[Value]) -> list[Value]:
    """Return for each leaf its part of a stack of unit tangents of all leaves."""
    avals = [core.aval_of(x) for x in leaves]
    sizes = [a.size for a in avals]
    total = sum(sizes)
    if len({a.dtype for a in avals}) == 1:
        pieces = split_along(core_ops.eye(total, total, 0, avals[0].dtype), 1, sizes)
    else:
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        pieces = [
            core_ops.eye(total, a.size, -start, a.dtype)
            for a, start in zip(avals, starts, strict=True)
        ]
    out = []
    for a, piece in zip(avals, pieces, strict=True):
        x = core_ops.reshape(piece, (total, *a.shape))
        out.append(weak_as(x, a))
    return out


def weak_as(x: Value, aval: Aval) -> Value:
    """Return `x`, weakly typed if `aval` is."""
    if not aval.weak_type or core.aval_of(x).weak_type:
        return x
    return convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=True, sharding=None)


def split_along(x: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
    """Split `x` along an axis."""
    if len(sizes) == 1:
        return [x]
    return list(split_p.bind(x, sizes=tuple(sizes), axis=axis))


def zero_derivative(shape: Shape, like: Value) -> Value:
    """Return the zero derivative of, or with respect to, a non-differentiable value."""
    if dtypes.is_extended(like.dtype) or like.dtype == dtypes.float0:
        return np.zeros(shape, dtypes.float0)
    return weak_as(core_ops.broadcast_in_dim(typed_constant(0, like.dtype), shape, ()), like)


def _split_axis(x: Any, axis: int, leaves: Sequence[Any], like: Any) -> list[Any]:
    """Split the stacked basis axis into one piece per leaf, of the leaf's shape."""
    shape = core.aval_of(x).shape
    avals = [core.aval_of(leaf) for leaf in leaves]
    if core.aval_of(x).dtype == dtypes.float0:
        return [
            zero_derivative((*shape[:axis], *a.shape, *shape[axis + 1 :]), like) for a in avals
        ]
    pieces = split_along(x, axis, [a.size for a in avals])
    return [
        core_ops.reshape(piece, (*shape[:axis], *a.shape, *shape[axis + 1 :]))
        for piece, a in zip(pieces, avals, strict=True)
    ]


def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    r"""Make a function that returns the Jacobian, by forward mode: one pass per column.

    `vmap` computes all columns together.

    Args:
      fun: a function of arrays to a tree of arrays, or to (result, aux) with `has_aux`.
      argnums: which positional argument(s) to differentiate with respect to.
      has_aux: `fun` also returns data that is not differentiated.
      holomorphic: `fun` is holomorphic; inputs and outputs are complex.

    Returns:
      A function with `fun`'s arguments whose result has, for each output leaf of shape
      `s` and each chosen input leaf of shape `t`, an array of shape `s + t` and of the
      output's dtype; for integer outputs it is zeros.  With `has_aux` the result is
      (Jacobian, aux).

    Raises:
      TypeError: inputs are not real (complex with `holomorphic`).
      ValueError: `argnums` names an argument twice, or one before the first.

    Example:
      >>> import minijax as mj
      >>> mj.jacfwd(lambda x: x ** 2)(mj.numpy.array([1., 2.]))
      Array([[2., 0.],
             [0., 4.]], dtype=float32)
    """
    check_callable(fun)
    argnums = check_argnums(argnums)

    @wraps(fun, about=about_derivative("Jacobian", argnums))
    def jacfun(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = partial_argnums(fun, argnums, args, kwargs)
        leaves, in_tree = check_inputs(chosen, "jacfwd", holomorphic, False)
        aux: list[Any] = []
        kinds: list[Any] = []

        def push(*tangents: Any) -> Any:
            out = jvp(partial, chosen, tree.unflatten(in_tree, tangents), has_aux=has_aux)
            aux[:] = out[2:]
            kinds[:] = map(core.aval_of, tree.leaves(out[0]))
            return (out[1], out[2]) if has_aux else out[1]

        basis = standard_basis(leaves)
        if has_aux:
            jac, aux_value = vmap(push, out_axes=(-1, None))(*basis)
        else:
            jac, aux_value = vmap(push, out_axes=-1)(*basis), None
        columns, out_tree = tree.flatten(jac)
        for x in columns:
            aval = core.aval_of(x)
            if holomorphic and not dtypes.is_complex(aval.dtype):
                check_output(aval, "jacfwd", True)
        pieces = [
            _split_axis(x, core.aval_of(x).ndim - 1, leaves, kind)
            for x, kind in zip(columns, kinds, strict=True)
        ]
        result = tree.unflatten(out_tree, [tree.unflatten(in_tree, p) for p in pieces])
        if isinstance(argnums, int):
            result = _take_first(result, jac)
        return (result, aux_value) if has_aux else result

    return jacfun


def _take_first(result: Any, like: Any) -> Any:
    """Drop the 1-tuple of chosen arguments under each leaf of `like`."""
    treedef = tree.structure(like)
    return tree.unflatten(treedef, [x[0] for x in treedef.flatten_up_to(result)])


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    varying: bool | None = None,
) -> Callable[..., Any]:
    r"""Make a function that returns the Jacobian, by reverse mode: one pass per row.

    `vmap` computes all rows together.

    Args:
      fun: a function of arrays to a tree of arrays, or to (result, aux) with `has_aux`.
      argnums: which positional argument(s) to differentiate with respect to.
      has_aux: `fun` also returns data that is not differentiated.
      holomorphic: `fun` is holomorphic; inputs and outputs are complex.
      allow_int: integer inputs get Jacobians of zeros instead of an error.
      varying: for use in `shard_map`, if all devices share an input and outputs differ
        between devices.  True: each device gets its own Jacobian, as from `jacfwd`.  False:
        all devices get the sum of the Jacobians, as from `grad`.

    Returns:
      A function with `fun`'s arguments whose result has, for each output leaf of shape
      `s` and each chosen input leaf of shape `t`, an array of shape `s + t` and of the
      input's dtype.  With `has_aux` the result is (Jacobian, aux).

    Raises:
      TypeError: inputs have no gradient, or outputs are not real (complex with
        `holomorphic`).
      ValueError: `argnums` names an argument twice, or one before the first; or outputs
        vary along an axis of `shard_map` along which an input does not, and `varying` is
        None.

    Example:
      >>> import minijax as mj
      >>> mj.jacrev(lambda x: x ** 2)(mj.numpy.array([1., 2.]))
      Array([[2., 0.],
             [0., 4.]], dtype=float32)
    """
    check_callable(fun)
    argnums = check_argnums(argnums)

    @wraps(fun, about=about_derivative("Jacobian", argnums))
    def jacfun(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = partial_argnums(fun, argnums, args, kwargs)
        check_inputs(chosen, "jacrev", holomorphic, allow_int)
        out = vjp(partial, *chosen, has_aux=has_aux)
        y, pull = out[:2]
        out_leaves, out_tree = tree.flatten(y)
        for x in out_leaves:
            check_output(core.aval_of(x), "jacrev", holomorphic)
        if varying is not False and (axes := _shared_along(chosen, out_leaves)):
            if varying is None:
                raise _own_or_sum(chosen, out_leaves, axes)
            varying_args = tree.map(lambda x: pcast_to_varying(x, axes), chosen)
            out = vjp(partial, *varying_args, has_aux=has_aux)
            y, pull = out[:2]
            out_leaves = tree.leaves(y)
        basis = [
            vary_as(x, core.aval_of(row).to_ct_aval().type_sharding.manual)
            for x, row in zip(standard_basis(out_leaves), out_leaves, strict=True)
        ]
        jac = vmap(lambda *cts: pull(tree.unflatten(out_tree, cts)))(*basis)
        if isinstance(argnums, int):
            jac = jac[0]
        # From "input tree of stacked rows" to "output tree of input trees".
        stacked, jac_tree = tree.flatten(jac)
        kinds = [core.aval_of(x) for x in tree.leaves(chosen)]
        split = [
            [weak_as(piece, kind) for piece in _split_axis(x, 0, out_leaves, kind)]
            for x, kind in zip(stacked, kinds, strict=True)
        ]
        outs = [tree.unflatten(jac_tree, column) for column in zip(*split, strict=True)]
        result = tree.unflatten(out_tree, outs)
        return (result, out[2]) if has_aux else result

    return jacfun


def _shared_along(ins: Any, outs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the axes of `shard_map` along which outputs vary and some input does not."""
    kinds = [core.aval_of(x).type_sharding.manual for x in outs]
    varying = union(kinds)
    if not varying:
        return ()
    each = [core.aval_of(x).type_sharding.manual for x in tree.leaves(ins)]
    return ordered(a for a in varying if any(all(a not in n for n in k) for k in each))


def _own_or_sum(ins: Any, outs: Sequence[Any], axes: Sequence[Any]) -> Exception:
    """Return the error for a Jacobian that could be each device's own or the sum."""
    return errors.value_error(
        f"jacrev: the output varies along {', '.join(map(repr, axes))} of the mesh, and"
        " an input does not.",
        which=f"{_types(tree.leaves(ins))} -> {_types(outs)}",
        where=core.stack_text(),
        why="the Jacobian could be each device's own, as from `jacfwd`, or the sum over the"
        " devices, as from `grad`.",
        tries=["varying=True: each device's own", "varying=False: the sum"],
    )


def _types(values: Sequence[Any]) -> str:
    return ", ".join(core.aval_of(x).str_short(True) for x in values)


def jacobian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    varying: bool | None = None,
) -> Callable[..., Any]:
    """Make a function that returns the Jacobian by reverse mode: another name of `jacrev`.

    Args:
      fun: a function of arrays to a pytree of arrays.
      argnums: which argument(s) to differentiate with respect to.
      has_aux: whether `fun` returns (output, auxiliary data).
      holomorphic: `fun` is holomorphic; inputs and outputs are complex.
      allow_int: allow integer inputs; their derivatives have dtype float0.
      varying: as for `jacrev`.

    Returns:
      A function with `fun`'s arguments that returns the Jacobian, of shape output +
      input for each pair of leaves.

    Raises:
      TypeError: an input or output is not differentiable.

    Example:
      >>> import minijax as mj
      >>> mj.jacobian(lambda x: 2 * x)(1.)
      Array(2., dtype=float32, weak_type=True)
    """
    return jacrev(fun, argnums, has_aux, holomorphic, allow_int, varying=varying)


def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    varying: bool = False,
) -> Callable[..., Any]:
    r"""Make a function that returns the Hessian, by forward mode over reverse mode.

    The Hessian is :math:`\partial^2 f / \partial x_i \partial x_j`.

    Args:
      fun: a function of arrays to a tree of arrays, or to (result, aux) with `has_aux`.
      argnums: which positional argument(s) to differentiate with respect to.
      has_aux: `fun` also returns data that is not differentiated.
      holomorphic: `fun` is holomorphic; inputs and outputs are complex.
      varying: as for `jacrev`, but by default the sum over devices, as from `grad`.

    Returns:
      A function with `fun`'s arguments whose result has, for each output leaf of shape
      `s` and each pair of chosen input leaves of shapes `t` and `u`, an array of shape
      `s + t + u`.  With `has_aux` it is (Hessian, aux).

    Raises:
      TypeError: inputs or outputs are not real (complex with `holomorphic`).

    Example:
      >>> import minijax as mj
      >>> mj.hessian(lambda x: (x ** 3).sum())(mj.numpy.array([1., 2.]))
      Array([[ 6.,  0.],
             [ 0., 12.]], dtype=float32)
    """
    return jacfwd(
        jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic, varying=varying),
        argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
    )
