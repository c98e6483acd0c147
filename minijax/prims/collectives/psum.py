"""Reductions over mapped axes, and the index along one: psum, pmax, pmin, axis_index.

    psum(x, 'i')    the sum of x over all lanes (vmap) or replicas (pmap) of axis 'i'

Axes may also be positions: then they are reduced like any array axis.  Under `vmap` a
named axis becomes the position of the lane axis, so one primitive serves both.  psum is
linear and, because every participant gets the sum, its own transpose.

Next: all_gather.py, collectives that move data.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...base import tree
from ...ir import core
from ...ir.core import Primitive, Tracer, unsupported
from ...ir.facts import Facts
from ...ir.sharding_rules import manual_axes
from ...runtime.arrays.array import Array
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import ANY, NUMBER, check_kind, linear_jvp
from ..math.algebraic import add, add_p, div, mul
from ..math.cast import cast, scalar
from ..math.order import max_p, min_p
from ..reduce.over_axes import reduce_max_p, reduce_min_p, reduce_sum_p, reduction_specs
from ..shape.concatenation import stack
from ..shape.creation import iota
from ..shape.shapes import broadcast_in_dim
from . import named_axes
from .named_axes import axis_tuple, names_only
from .pcast import (
    all_reduce,
    pcast_to_varying,
    psum_invariant_p,
    state_of,
    typed,
    unreduced_psum_p,
)

__all__ = (
    "psum_p",
    "pmax_p",
    "pmin_p",
    "psum",
    "pmean",
    "pmax",
    "pmin",
    "axis_index_p",
    "axis_index",
    "axis_size",
)

# --------------------------------------------------------- psum, pmax, pmin: the rules


def times(n: int, x: Any) -> Any:
    """Return the sum of `n` copies of `x`."""
    return mul(scalar(n, core.aval_of(x).dtype), x)


def _reduced(shape: Sequence[int], axes: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape without the positional axes among `axes`."""
    reduced_axes = [a for a in axes if isinstance(a, int)]
    for a in reduced_axes:
        if not 0 <= a < len(shape):
            raise ValueError(f"axis {a} is out of bounds for array of dimension {len(shape)}")
    return tuple(n for i, n in enumerate(shape) if i not in reduced_axes)


def _shift_axes(axes: Sequence[Any], name: Any = None) -> tuple[Any, ...]:
    """Return axes of one lane as axes of all lanes; the lane axis, `name`, is first."""
    return tuple(
        a + 1 if isinstance(a, int) else 0 if name is not None and a == name else a
        for a in axes
    )


def _vary(operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Make the result invarying along the axes, unless groups have their own results."""
    (manual,) = operands
    if params["axis_index_groups"] is not None:
        return manual
    left = set(manual.varying).difference(params["axes"])
    return manual_axes(left, manual.unreduced, manual.reduced)


def _reduction(name: str, combine: Primitive, reduce_p: Primitive, **facts: Any) -> Primitive:
    """Declare a primitive that reduces over named and positional axes."""
    prim = Primitive(name)
    prim.def_sharding(
        specs=lambda specs, avals, outs, params: reduction_specs(
            specs, avals, outs, {"axes": params["axes"]}
        )
    )
    kinds = NUMBER if reduce_p is reduce_sum_p else ANY

    def abstract(x: Any, *, axes: Any, axis_index_groups: Any) -> Any:
        check_kind(name, x, kinds, 0, 1)
        core.axis_size(names_only(axes))
        return shaped(_reduced(x.shape, axes), x.dtype)

    def over_lanes(axis, args, dims, *, axes, axis_index_groups):
        (x,), (d,) = args, dims
        if len(names_only(axes)) < len(axes):
            x, d, axes = named_axes.all_lanes(axis, x, d), 0, _shift_axes(axes)
        return prim.bind(x, axes=axes, axis_index_groups=axis_index_groups), d

    def over_name(axis, args, dims, *, axes, axis_index_groups):
        (x,), (d,) = args, dims
        named_axes.lone_groups(axis_index_groups, axes)
        if axis_index_groups is not None:
            return in_groups(axis, x, d, axis_index_groups), 0
        if d is not None:
            x, axes = named_axes.all_lanes(axis, x, d), _shift_axes(axes, axis.name)
            return prim.bind(x, axes=axes, axis_index_groups=None), None
        rest = tuple(a for a in axes if a != axis.name)
        if rest:
            x = prim.bind(x, axes=rest, axis_index_groups=None)
        return (times(axis.size, x) if prim is psum_p else x), None

    def in_groups(axis: Any, x: Any, d: int | None, groups: Any) -> Any:
        x = named_axes.all_lanes(axis, x, d)
        sums = [
            prim.bind(named_axes.take_lanes(x, g), axes=(0,), axis_index_groups=None)
            for g in groups
        ]
        return named_axes.take_lanes(stack(sums), named_axes.group_of(groups))

    def lower(ctx: Any, x: Any, *, axes: Any, axis_index_groups: Any) -> Any:
        (aval,) = ctx.avals_in
        names = names_only(axes)
        if len(names) < len(axes):
            positions = tuple(a for a in axes if isinstance(a, int))
            (x,) = ctx.fun(
                lambda v: reduce_p.bind(v, axes=positions, out_sharding=None), x, avals=[aval]
            )
        if not names:
            return x
        return all_reduce(ctx, x, names, axis_index_groups, combine)

    prim.abstract = abstract
    prim.jvp = unsupported(f"Differentiation rule for {name!r} not implemented")
    named_axes.def_named(prim, "axes", over_lanes, over_name)
    prim.def_sharding(manual=_vary)
    prim.lower = lower
    prim.facts = Facts(**facts)
    return prim


# -------------------------------------------------------------------- psum, pmax, pmin

psum_p = _reduction("psum", add_p, reduce_sum_p, keeps_nans=True)
pmax_p = _reduction("pmax", max_p, reduce_max_p)
pmin_p = _reduction("pmin", min_p, reduce_min_p)


def _psum_transpose(ct: Any, x: Any, *, axes: Any, axis_index_groups: Any) -> list[Any]:
    names = names_only(axes)
    if len(names) < len(axes):
        shape = x.aval.shape
        broadcast_dims = tuple(i for i in range(len(shape)) if i not in axes)
        ct = broadcast_in_dim(ct, shape, broadcast_dims)
    return [psum_p.bind(ct, axes=names, axis_index_groups=axis_index_groups)]


linear_jvp(psum_p)
psum_p.transpose = _psum_transpose


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Sum over a mapped axis; every participant gets the result.

    Args:
      x: a pytree of arrays or numbers.  Booleans are counted.
      axis_name: the name of an axis of `vmap`, `pmap` or `shard_map`, or a sequence of
        names and positions.
      axis_index_groups: lists of indices along the axis; each group has its own sum.

    Returns:
      The sums, with the shape of x.  A constant is multiplied by the axis's size, so that
      `psum(1, axis_name)` is this size, a Python int.

    Raises:
      NameError: a name is not in scope.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.vmap(lambda x: x / psum(x, 'i'), axis_name='i')(jnp.array([1.0, 3.0]))
      Array([0.25, 0.75], dtype=float32)
    """
    axes = axis_tuple(axis_name)
    groups = named_axes.canonical_groups(axis_index_groups, axes)
    return tree.map(lambda leaf: _psum_leaf(leaf, axes, groups), x)


def _psum_leaf(x: Any, axes: tuple[Any, ...], groups: Any) -> Any:
    if not axes:
        return x
    if dtypes.is_bool(core.aval_of(x).dtype):
        x = cast(x, dtypes.int32)
    # All participants have the same constant, so its sum needs no communication.
    if not isinstance(x, Tracer) and _folds(axes, groups):
        size = named_axes.group_size(axes, groups)
        if isinstance(x, Array):
            return times(size, x)
        if isinstance(x, (np.ndarray, np.generic)):
            return x * x.dtype.type(size)  # type: ignore[operator]  # of any scalar
        return size * x
    typed_axes = typed(axes)
    if not typed_axes:
        return psum_p.bind(x, axes=axes, axis_index_groups=groups)
    if groups is not None:
        return psum_p.bind(pcast_to_varying(x, axes), axes=axes, axis_index_groups=groups)
    prim = _SUMS.get(state_of(x, typed_axes, "jax.lax.psum"), psum_invariant_p)
    rest = tuple(a for a in axes if a not in typed_axes)
    if rest:
        x = psum_p.bind(x, axes=rest, axis_index_groups=None)
    return prim.bind(
        pcast_to_varying(x, typed_axes) if prim is psum_invariant_p else x, axes=typed_axes
    )


_SUMS = {"unreduced": unreduced_psum_p}


def _folds(axes: tuple[Any, ...], groups: Any) -> bool:
    """Whether the sum of a constant is a multiple of it that is known while tracing."""
    if groups is not None:
        return len({len(g) for g in groups}) == 1
    return len(names_only(axes)) == len(axes)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Average over a mapped axis; every participant gets the result.

    Args:
      x: a pytree of arrays or numbers.
      axis_name, axis_index_groups: as for `psum`.

    Returns:
      A pytree like `x`, of arrays of the same shapes; integers and bools become floats.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.vmap(lambda x: x - pmean(x, 'i'), axis_name='i')(jnp.array([1.0, 3.0]))
      Array([-1.,  1.], dtype=float32)
    """
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    one: Any = 1
    n = psum(one, axis_name, axis_index_groups=axis_index_groups)
    return tree.map(lambda leaf: _divide(leaf, n), total)


def _divide(x: Any, n: Any) -> Any:
    if type(x) in dtypes.PYTHON_SCALARS and not isinstance(n, Tracer):
        return x / n
    dtype = dtypes.to_inexact(core.aval_of(x).dtype)
    return div(cast(x, dtype, core.aval_of(x).weak_type), cast(n, dtype))


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the largest value over a mapped axis to every participant.

    Args:
      x: a pytree of arrays or numbers.
      axis_name, axis_index_groups: as for `psum`.

    Returns:
      A pytree like `x`, of arrays of the same shapes and dtypes.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.vmap(lambda x: pmax(x, 'i'), axis_name='i')(jnp.array([1.0, 3.0]))
      Array([3., 3.], dtype=float32)
    """
    return _extreme(pmax_p, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the smallest value over a mapped axis to every participant.

    Args:
      x: a pytree of arrays or numbers.
      axis_name, axis_index_groups: as for `psum`.

    Returns:
      A pytree like `x`, of arrays of the same shapes and dtypes.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.vmap(lambda x: pmin(x, 'i'), axis_name='i')(jnp.array([1.0, 3.0]))
      Array([1., 1.], dtype=float32)
    """
    return _extreme(pmin_p, x, axis_name, axis_index_groups)


def _extreme(prim: Primitive, x: Any, axis_name: Any, axis_index_groups: Any) -> Any:
    axes = axis_tuple(axis_name)
    groups = named_axes.canonical_groups(axis_index_groups, axes)
    return tree.map(
        lambda leaf: prim.bind(
            pcast_to_varying(leaf, axes), axes=axes, axis_index_groups=groups
        ),
        x,
    )


# ------------------------------------------------------------ index and size of an axis

axis_index_p = Primitive("axis_index")


def _index_batch(axis: Any, args: Any, dims: Any, *, axis_name: Any) -> Any:
    return iota(np.int32, axis.size), 0


def _index_lower(ctx: Any, *, axis_name: Any) -> Any:
    names = [name for name, _ in ctx.axes]
    if axis_name not in names:
        core.axis_size(axis_name)
        raise TypeError(f"minijax bug: the axis {axis_name!r} has no replicas")
    position = len(names) - 1 - names[::-1].index(axis_name)
    sizes = [n for _, n in ctx.axes]
    u32 = shaped((), dtypes.uint32)
    kind = "partition_id" if ctx.module.is_partitioned else "replica_id"

    def index() -> Any:
        device_id = ctx.op(kind, u32)
        device_id = ctx.op(
            "divide", u32, device_id, ctx.constant(prod(sizes[position + 1 :]), u32)
        )
        device_id = ctx.op("remainder", u32, device_id, ctx.constant(sizes[position], u32))
        return ctx.op("convert", shaped((), dtypes.int32), device_id)

    # A device's index exists only where all axes are manual.
    return ctx.op_of_each_device(index, shaped((), dtypes.int32))


axis_index_p.abstract = lambda *, axis_name: shaped((), dtypes.int32)
axis_index_p.jvp = unsupported("axis_index has no operand to differentiate by")
axis_index_p.batch = _index_batch
axis_index_p.named_axes = named_axes.uses("axis_name")
axis_index_p.def_sharding(
    manual=lambda kinds, params: manual_axes(typed([params["axis_name"]]))
)
axis_index_p.lower = _index_lower


def axis_index(axis_name: Any) -> Any:
    """Return this lane's (or replica's) index along a mapped axis.

    Args:
      axis_name: the name of a mapped axis; or several: the index in their row-major
        order.

    Returns:
      An int32 scalar, from 0.

    Raises:
      NameError: a name is not in scope.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.vmap(lambda x: x + axis_index('i'), axis_name='i')(jnp.zeros(3, int))
      Array([0, 1, 2], dtype=int32)
    """
    if not isinstance(axis_name, (tuple, list)):
        core.axis_size(axis_name)
        return axis_index_p.bind(axis_name=axis_name)
    index: Any = np.int32(0)
    inner = 1
    for name in reversed(axis_name):
        index = add(index, mul(axis_index(name), np.int32(inner)))
        inner *= core.axis_size(name)
    return index


def axis_size(axis_name: Any) -> int:
    """Return the size of a mapped axis.

    Args:
      axis_name: the name of a mapped axis; or several: the product of their sizes.

    Returns:
      A Python int.

    Raises:
      NameError: a name is not in scope.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.vmap(lambda x: x * axis_size('i'), axis_name='i')(jnp.ones(3))
      Array([3., 3., 3.], dtype=float32)
    """
    return core.axis_size(axis_name)
