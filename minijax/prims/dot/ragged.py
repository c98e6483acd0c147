"""Dot products of groups of rows, and of scaled blocks: ragged_dot, scaled_dot.

One axis of lhs, the ragged one, is divided into groups of given sizes.
    a free axis        each group has its own rhs: out[m, n] = lhs[m] . rhs[group(m)]
    a contracted axis  each group has its own sum: out[g, m, n]
    a batch axis       the groups have no effect
Rows beyond the last group produce zeros.  The first two are each other's derivatives.

Source: the CHLO dialect, ragged_dot; D. Rouhani et al., "Microscaling data formats for
deep learning", arXiv:2310.10537, for scaled blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...ir import core
from ...ir.core import ByPlatform, Primitive
from ...ir.facts import Facts
from ...passes.ad_util import is_linear
from ...passes.batch import move_lane
from ...passes.jvp import jvp_flat
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import defjvp
from ..math.algebraic import mul, sub
from ..math.cast import cast
from ..math.logic import bitwise_and, ge, lt, select
from ..reduce.cumulative import cumsum
from ..shape.creation import broadcasted_iota, zero_array
from ..shape.shapes import broadcast_in_dim, reshape, transpose
from ..sharding_specs import canonicalize_out_sharding
from . import precision as precisions
from .dot import (
    dot_axes,
    dot_general,
    dot_general_p,
    dot_shape,
    element_type,
    free_axes,
    product_dtype,
)

__all__ = (
    "RaggedDotDimensionNumbers",
    "ragged_dot_general_p",
    "ragged_dot_general",
    "ragged_dot",
    "scaled_dot_p",
    "scaled_dot",
)


class RaggedDotDimensionNumbers:
    """The contracting, batch and ragged axes of a ragged dot.

    Args:
      dot_dimension_numbers: as for `dot_general`.
      lhs_ragged_dimensions: the one axis of lhs that is divided into groups.
      rhs_group_dimensions: the axis of rhs for groups, if the ragged axis is free.

    >>> from minijax import lax
    >>> import minijax.numpy as jnp
    >>> numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])
    >>> x, blocks = jnp.ones((3, 2)), jnp.stack([jnp.eye(2), 5 * jnp.eye(2)])
    >>> lax.ragged_dot_general(x, blocks, jnp.array([1, 2]), numbers)
    Array([[1., 1.],
           [5., 5.],
           [5., 5.]], dtype=float32)
    """

    __slots__ = ("dot_dimension_numbers", "lhs_ragged_dimensions", "rhs_group_dimensions")

    def __init__(
        self,
        dot_dimension_numbers: Any,
        lhs_ragged_dimensions: Sequence[int],
        rhs_group_dimensions: Sequence[int],
    ) -> None:
        (ls, rs), (lb, rb) = dot_dimension_numbers
        self.dot_dimension_numbers = (
            (tuple(map(int, ls)), tuple(map(int, rs))),
            (tuple(map(int, lb)), tuple(map(int, rb))),
        )
        self.lhs_ragged_dimensions = tuple(map(int, lhs_ragged_dimensions))
        self.rhs_group_dimensions = tuple(map(int, rhs_group_dimensions))

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedDotDimensionNumbers) and (self._key() == other._key())

    def __repr__(self) -> str:
        fields = ", ".join(f"{n}={getattr(self, n)}" for n in self.__slots__)
        return f"RaggedDotDimensionNumbers({fields})"


_Numbers = RaggedDotDimensionNumbers

# ------------------------------------------------------------------- ragged_dot_general

ragged_dot_general_p = Primitive("ragged_dot_general")


def _mode(numbers: _Numbers) -> str:
    """Return the role of the ragged axis: 'free', 'contracting' or 'batch'."""
    (axis,) = numbers.lhs_ragged_dimensions
    (lhs_contracting, _), (lhs_batch, _) = numbers.dot_dimension_numbers
    return (
        "contracting" if axis in lhs_contracting else "batch" if axis in lhs_batch else "free"
    )


def _check(lhs: Any, rhs: Any, sizes: Any, numbers: _Numbers) -> int:
    """Return the number of groups; raise TypeError for invalid arguments."""
    name = "ragged_dot_general"
    if not dtypes.is_integer(sizes.dtype):
        raise TypeError(
            f"{name} requires that group_sizes.dtype is subtype of np.integer, got"
            f" {sizes.dtype}."
        )
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError(
            f"{name} expects exactly one lhs ragged dimension, got"
            f" {numbers.lhs_ragged_dimensions}."
        )
    (axis,) = numbers.lhs_ragged_dimensions
    if not 0 <= axis < lhs.ndim:
        raise TypeError(
            f"{name} requires lhs ragged dimension numbers to be nonnegative and less"
            f" than the number of axes of the lhs value, got {axis} for lhs of rank"
            f" {lhs.ndim}."
        )
    groups = numbers.rhs_group_dimensions
    for i in groups:
        if not 0 <= i < rhs.ndim:
            raise TypeError(
                f"{name} requires rhs group dimension numbers to be nonnegative and less"
                f" than the number of axes of the rhs value, got {i} for rhs of rank"
                f" {rhs.ndim}."
            )
    is_free = _mode(numbers) == "free"
    if len(groups) != is_free:
        what = "exactly one rhs group dimension when lhs ragged dimension is"
        what += " noncontracting."
        if not is_free:
            what = "zero group dimensions in the rhs when lhs ragged dimension is"
            what += " contracting or batch."
        raise errors.type_error(
            f"{name} requires {what}",
            which=f"{lhs.str_short(True)}, {rhs.str_short(True)}, {numbers}",
            why="rhs has a group for each group of rows, unless rows are summed.",
        )
    (_, contracting), (_, batch) = numbers.dot_dimension_numbers
    if {*groups} & {*contracting, *batch}:
        raise TypeError(
            f"{name} requires rhs group dimension numbers to be distinct from"
            " contracting and batch dimensions."
        )
    batch_shape = tuple(lhs.shape[i] for i in numbers.dot_dimension_numbers[1][0])
    if sizes.ndim < 1 or sizes.shape[:-1] not in ((), batch_shape):
        expected = (*batch_shape, rhs.shape[groups[0]]) if groups else (*batch_shape, "groups")
        raise errors.type_error(
            f"expected group_sizes to have shape {expected}, got {sizes.shape}.",
            why="It contains the number of rows of each group; batch axes may be omitted.",
        )
    count = int(sizes.shape[-1])
    if groups and rhs.shape[groups[0]] != count:
        raise TypeError(
            f"expected rhs group dimension size to be {count}, got {rhs.shape[groups[0]]}."
        )
    return count


def _axes_without(axes: Sequence[int], removed_axes: Sequence[int]) -> tuple[int, ...]:
    """Return axis numbers after the removal of other axes."""
    return tuple(a - sum(g < a for g in removed_axes) for a in axes)


def _ragged_abstract(
    lhs: Any,
    rhs: Any,
    sizes: Any,
    *,
    ragged_dot_dimension_numbers: _Numbers,
    precision: Any,
    preferred_element_type: Any,
    group_offset: Any,
    out_sharding: Any,
) -> Any:
    numbers = ragged_dot_dimension_numbers
    count = _check(lhs, rhs, sizes, numbers)
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    group_axes = numbers.rhs_group_dimensions
    one = shaped(tuple(n for i, n in enumerate(rhs.shape) if i not in group_axes), rhs.dtype)
    dims = (
        (lhs_contracting, _axes_without(rhs_contracting, group_axes)),
        (lhs_batch, _axes_without(rhs_batch, group_axes)),
    )
    shape = dot_shape(lhs, one, dims)
    dtype = product_dtype("ragged_dot_general", lhs.dtype, rhs.dtype, preferred_element_type)
    return shaped((count, *shape) if _mode(numbers) == "contracting" else shape, dtype)


def _separate_groups(x: Any, sizes: Any, axis: int, batch: Sequence[int]) -> Any:
    """Repeat x for each group along a new leading axis, with zeros outside of the group."""
    shape = tuple(core.aval_of(x).shape)
    count = core.aval_of(sizes).shape[-1]
    full_shape = (count, *shape)
    repeated = broadcast_in_dim(x, full_shape, tuple(range(1, len(full_shape))))
    sizes = cast(sizes, dtypes.int32)
    rank = len(core.aval_of(sizes).shape)
    ends = cumsum(sizes, rank - 1)
    starts = sub(ends, sizes)
    positions = broadcasted_iota(np.int32, full_shape, axis + 1)
    sizes_axes = (*(i + 1 for i in batch), 0) if rank > 1 else (0,)
    permutation = sorted(range(rank), key=sizes_axes.__getitem__)
    first, last = (
        broadcast_in_dim(transpose(v, permutation), full_shape, sorted(sizes_axes))
        for v in (starts, ends)
    )
    inside = bitwise_and(ge(positions, first), lt(positions, last))
    return select(inside, repeated, zero_array(core.aval_of(repeated)))


def _as_dense_dot(
    lhs: Any,
    rhs: Any,
    sizes: Any,
    *,
    ragged_dot_dimension_numbers: _Numbers,
    precision: Any,
    preferred_element_type: Any,
    **_: Any,
) -> Any:
    """Compute one dense dot, with zeros for rows outside of each group."""
    numbers = ragged_dot_dimension_numbers
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    (axis,), mode = numbers.lhs_ragged_dimensions, _mode(numbers)
    dims: Any = numbers.dot_dimension_numbers

    def up(axes: Sequence[int]) -> tuple[int, ...]:
        return tuple(a + 1 for a in axes)

    if mode == "free":
        lhs = _separate_groups(lhs, sizes, axis, lhs_batch)
        groups = numbers.rhs_group_dimensions
        dims = (
            ((0, *up(lhs_contracting)), (*groups, *rhs_contracting)),
            (up(lhs_batch), rhs_batch),
        )
    elif mode == "contracting":
        lhs = _separate_groups(lhs, sizes, axis, lhs_batch)
        rhs = _separate_groups(
            rhs, sizes, rhs_contracting[lhs_contracting.index(axis)], rhs_batch
        )
        dims = (
            (up(lhs_contracting), up(rhs_contracting)),
            ((0, *up(lhs_batch)), (0, *up(rhs_batch))),
        )
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=dims,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=None,
    )


def _ragged_transpose(
    ct, lhs, rhs, sizes, *, ragged_dot_dimension_numbers: _Numbers, **params
) -> list[Any]:
    numbers = ragged_dot_dimension_numbers
    if is_linear(lhs):
        return [_transpose_lhs(ct, lhs.aval, rhs, sizes, numbers, params), None, None]
    return [None, _transpose_rhs(ct, lhs, rhs.aval, sizes, numbers, params), None]


def _bind(a, b, sizes, dims, ragged: int, groups, params):
    numbers = _Numbers(dims, (ragged,), groups)
    return ragged_dot_general_p.bind(
        a, b, sizes, ragged_dot_dimension_numbers=numbers, **params
    )


def _arrange_axes(x: Any, axis_of_result: Sequence[int], aval: Any) -> Any:
    """Move axis i of x to axis_of_result[i], and cast it to the operand's dtype."""
    permutation = sorted(range(len(axis_of_result)), key=axis_of_result.__getitem__)
    return cast(transpose(x, permutation), aval.dtype)


def _transpose_lhs(ct, aval, rhs, sizes, numbers: _Numbers, params):
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    (axis,), groups = numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions
    lhs_free = free_axes(aval.ndim, lhs_contracting, lhs_batch)
    rhs_free = free_axes(core.aval_of(rhs).ndim, rhs_contracting, rhs_batch, groups)
    n, mode = len(lhs_batch), _mode(numbers)
    first = n + (mode == "contracting")  # the first of ct's axes that are free axes of lhs
    batch = tuple(range(first - n, first))
    ct_free = tuple(range(first, first + len(lhs_free)))
    ct_other = tuple(range(first + len(lhs_free), first + len(lhs_free) + len(rhs_free)))
    sum_order = sorted(range(len(lhs_contracting)), key=rhs_contracting.__getitem__)
    contracting = tuple(lhs_contracting[i] for i in sum_order)  # in the order of rhs's axes
    if mode == "contracting":  # rows of rhs, each with its group's cotangent
        ragged = rhs_contracting[lhs_contracting.index(axis)]
        dims = ((rhs_free, ct_other), (rhs_batch, batch))
        out = _bind(rhs, ct, sizes, dims, ragged, (0,), params)
        return _arrange_axes(out, (*lhs_batch, *contracting, *lhs_free), aval)
    ragged = batch[lhs_batch.index(axis)] if mode == "batch" else ct_free[lhs_free.index(axis)]
    dims = ((ct_other, rhs_free), (batch, rhs_batch))
    out = _bind(ct, rhs, sizes, dims, ragged, groups, params)
    return _arrange_axes(out, (*lhs_batch, *lhs_free, *contracting), aval)


def _transpose_rhs(ct, lhs, aval, sizes, numbers: _Numbers, params):
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    (axis,), groups = numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions
    lhs_free = free_axes(core.aval_of(lhs).ndim, lhs_contracting, lhs_batch)
    rhs_free = free_axes(aval.ndim, rhs_contracting, rhs_batch, groups)
    n, mode = len(lhs_batch), _mode(numbers)
    first = n + (mode == "contracting")
    batch = tuple(range(first - n, first))
    ct_free = tuple(range(first, first + len(lhs_free)))
    dims = ((lhs_free, ct_free), (lhs_batch, batch))
    group_dims = (0,) if mode == "contracting" else ()
    out = _bind(lhs, ct, sizes, dims, axis, group_dims, params)
    contracting = tuple(
        rhs_contracting[i]
        for i in sorted(range(len(rhs_contracting)), key=lhs_contracting.__getitem__)
    )
    return _arrange_axes(out, (*groups, *rhs_batch, *contracting, *rhs_free), aval)


def _ragged_batch(axis, args, dims, *, ragged_dot_dimension_numbers: _Numbers, **params):
    numbers = ragged_dot_dimension_numbers
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    lhs, rhs, sizes = args
    n = len(lhs_batch)
    if core.aval_of(sizes).ndim - (dims[2] is not None) == 1 and n:
        # Repeat group sizes that all batch elements share, so that each has its own.
        shape = core.aval_of(sizes).shape
        count = shape[1 - dims[2]] if dims[2] is not None else shape[0]
        batch_shape = tuple(core.aval_of(lhs).shape[_lane_free(i, dims[0])] for i in lhs_batch)
        if dims[2] is not None:
            sizes = move_lane(sizes, axis, dims[2], 0)
            sizes = broadcast_in_dim(sizes, (axis.size, *batch_shape, count), (0, n + 1))
            dims = (dims[0], dims[1], 0)
        else:
            sizes = broadcast_in_dim(sizes, (*batch_shape, count), (n,))
    lane_first = [
        move_lane(x, axis, d, 0) for x, d in zip((lhs, rhs, sizes), dims, strict=True)
    ]

    def up(axes: Sequence[int]) -> tuple[int, ...]:
        return tuple(a + 1 for a in axes)

    batched_numbers = _Numbers(
        (
            (up(lhs_contracting), up(rhs_contracting)),
            ((0, *up(lhs_batch)), (0, *up(rhs_batch))),
        ),
        up(numbers.lhs_ragged_dimensions),
        up(numbers.rhs_group_dimensions),
    )
    out = ragged_dot_general_p.bind(
        *lane_first, ragged_dot_dimension_numbers=batched_numbers, **params
    )
    return out, 1 if _mode(numbers) == "contracting" else 0


def _lane_free(i: int, lane: int | None) -> int:
    """Return axis i of one lane as an axis of the operand with its lane axis."""
    return i if lane is None else i + (i >= lane)


def _ragged_lower(ctx: Any, *operands: Any, **params: Any) -> Any:
    return ctx.fun(lambda *xs: _as_dense_dot(*xs, **params), *operands)[0]


def _ragged_lower_chlo(
    ctx, lhs, rhs, sizes, *, ragged_dot_dimension_numbers: _Numbers, precision, **params
):
    left, right = ctx.avals_in[:2]
    if left.dtype != right.dtype or precisions.algorithm(
        precision, ctx.platform, left.dtype, right.dtype
    ):
        return _ragged_lower(
            ctx,
            lhs,
            rhs,
            sizes,
            precision=precision,
            ragged_dot_dimension_numbers=ragged_dot_dimension_numbers,
            **params,
        )
    numbers = ragged_dot_dimension_numbers
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    pair = ("DEFAULT", "DEFAULT") if precision is None else [p.name for p in precision]
    return ctx.chlo(
        "ragged_dot",
        ctx.avals_out[0],
        lhs,
        rhs,
        sizes,
        ragged_dot_dimension_numbers=ctx.parse(
            f"#chlo.ragged_dot<lhs_batching_dimensions = {list(lhs_batch)},"
            f" rhs_batching_dimensions = {list(rhs_batch)},"
            f" lhs_contracting_dimensions = {list(lhs_contracting)},"
            f" rhs_contracting_dimensions = {list(rhs_contracting)},"
            f" lhs_ragged_dimensions = {list(numbers.lhs_ragged_dimensions)},"
            f" rhs_group_dimensions = {list(numbers.rhs_group_dimensions)}>"
        ),
        precision_config=ctx.parse(f"[#chlo<precision {pair[0]}>, #chlo<precision {pair[1]}>]"),
    )


def _ragged_axes(ins: Sequence[Any], outs: Sequence[Any], params: Any) -> list[Any]:
    """Return `axes_of` a dot product in which each row uses the rhs of all groups."""
    numbers = params["ragged_dot_dimension_numbers"]
    group_axes = numbers.rhs_group_dimensions
    (lhs_contracting, rhs_contracting), batches = numbers.dot_dimension_numbers
    dims = ((lhs_contracting, (*rhs_contracting, *group_axes)), batches)
    lhs, rhs = dot_axes(ins[:2], outs, {"dimension_numbers": dims})
    groups = [None] * (_mode(numbers) == "contracting")
    return [[*groups, *lhs], [*groups, *rhs], [None] * outs[0].ndim]


ragged_dot_general_p.abstract = _ragged_abstract
defjvp(
    ragged_dot_general_p,
    [
        lambda t, ans, a, b, s, **p: ragged_dot_general_p.bind(t, b, s, **p),
        lambda t, ans, a, b, s, **p: ragged_dot_general_p.bind(a, t, s, **p),
        None,
    ],
)
ragged_dot_general_p.transpose = _ragged_transpose
ragged_dot_general_p.batch = _ragged_batch
ragged_dot_general_p.lower = ByPlatform(_ragged_lower_chlo, cpu=_ragged_lower)
ragged_dot_general_p.facts = Facts(axes_of=_ragged_axes)


def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Compute a dot product with one axis divided into groups.

    Args:
      lhs, rhs: arrays.
      group_sizes: integers [groups], or [batch.., groups].
      ragged_dot_dimension_numbers: a `RaggedDotDimensionNumbers`.
      precision, preferred_element_type, out_sharding: as in `dot_general`.
      group_offset: must be None.

    Returns:
      An array as from `dot_general`, with a leading axis of groups if the ragged axis is
      contracted.

    Raises:
      TypeError: not a `RaggedDotDimensionNumbers`, or shapes are incompatible.
      NotImplementedError: `group_offset` is not None.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, y, n = jnp.ones((3, 1)), jnp.ones((3, 1)), jnp.array([1, 2])
      >>> numbers = RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
      >>> ragged_dot_general(x, y, n, numbers)[:, 0, 0]
      Array([1., 2.], dtype=float32)
    """
    if group_offset is not None:
        raise NotImplementedError(
            "ragged_dot_general with a group_offset is not implemented.\nTry: slice the"
            " groups of rhs before"
        )
    if not isinstance(ragged_dot_dimension_numbers, RaggedDotDimensionNumbers):
        raise errors.type_error(
            "ragged_dot_general requires RaggedDotDimensionNumbers, got"
            f" {ragged_dot_dimension_numbers!r}."
        )
    return ragged_dot_general_p.bind(
        lhs,
        rhs,
        group_sizes,
        ragged_dot_dimension_numbers=ragged_dot_dimension_numbers,
        precision=precisions.canonical(precision),
        preferred_element_type=element_type(preferred_element_type, "ragged_dot_general"),
        group_offset=None,
        out_sharding=canonicalize_out_sharding("ragged_dot_general", out_sharding, lhs, rhs),
    )


_ROWS_BY_GROUP = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Multiply each group of rows by its own matrix: out[i] = lhs[i] rhs[group(i)].

    Args:
      lhs: [m, k].
      rhs: [groups, k, n].
      group_sizes: integers [groups]: the numbers of rows of consecutive groups.
      precision, preferred_element_type, group_offset, out_sharding: as in
        `ragged_dot_general`.

    Returns:
      [m, n], of the wider dtype or `preferred_element_type`; zeros in rows beyond the
      last group.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, w = jnp.ones((3, 1)), jnp.array([[[2.0]], [[3.0]]])
      >>> ragged_dot(x, w, jnp.array([1, 2]))[:, 0]
      Array([2., 3., 3.], dtype=float32)
    """
    return ragged_dot_general(
        lhs,
        rhs,
        group_sizes,
        _ROWS_BY_GROUP,
        precision,
        preferred_element_type,
        group_offset,
        out_sharding,
    )


# --------------------------------------------------------------------------- scaled_dot

scaled_dot_p = Primitive("scaled_dot")


def _scaled_abstract(
    lhs, rhs, lhs_scale, rhs_scale, *, dimension_numbers, preferred_element_type
):
    (lhs_contracting, rhs_contracting), _ = dimension_numbers
    for side, x, scale, summed in (
        ("lhs", lhs, lhs_scale, lhs_contracting),
        ("rhs", rhs, rhs_scale, rhs_contracting),
    ):
        fits = x.ndim == scale.ndim and all(
            n == k if i not in summed else k > 0 and n % k == 0
            for i, (n, k) in enumerate(zip(x.shape, scale.shape, strict=False))
        )
        if not fits:
            raise errors.type_error(
                f"scaled_dot {side} of shape {x.shape} cannot have a scale of shape"
                f" {scale.shape}.",
                why="Sizes must be equal, except along contracted axes, where the"
                " scale's size must divide the operand's.",
            )
    shape = dot_shape(lhs, rhs, dimension_numbers)
    return shaped(shape, preferred_element_type)


def _rescaled(x: Any, scale: Any, dtype: Any) -> Any:
    """Multiply x by its scale, which has one element per block."""
    shape, blocks = core.aval_of(x).shape, core.aval_of(scale).shape
    split = [n for a, b in zip(shape, blocks, strict=True) for n in (b, a // max(b, 1))]
    wide = broadcast_in_dim(cast(scale, dtype), tuple(split), tuple(range(0, len(split), 2)))
    return mul(cast(x, dtype), reshape(wide, shape))


def _as_scaled_product(
    lhs, rhs, lhs_scale, rhs_scale, *, dimension_numbers, preferred_element_type
):
    dtype = preferred_element_type
    left, right = _rescaled(lhs, lhs_scale, dtype), _rescaled(rhs, rhs_scale, dtype)
    return dot_general(left, right, dimension_numbers, preferred_element_type=dtype)


def _scaled_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    (out,), (out_t,) = jvp_flat(
        lambda *xs: [_as_scaled_product(*xs, **params)], primals, tangents
    )
    return out, out_t


def _scaled_batch(axis, args, dims, *, dimension_numbers, **params):
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    lane_first = [move_lane(x, axis, d, 0) for x, d in zip(args, dims, strict=True)]

    def up(axes: Sequence[int]) -> tuple[int, ...]:
        return tuple(a + 1 for a in axes)

    numbers = (
        (up(lhs_contracting), up(rhs_contracting)),
        ((0, *up(lhs_batch)), (0, *up(rhs_batch))),
    )
    return scaled_dot_p.bind(*lane_first, dimension_numbers=numbers, **params), 0


scaled_dot_p.abstract = _scaled_abstract
scaled_dot_p.jvp = _scaled_jvp
scaled_dot_p.batch = _scaled_batch
scaled_dot_p.lower = lambda ctx, *xs, **params: ctx.fun(
    lambda *vs: _as_scaled_product(*vs, **params), *xs
)[0]


def scaled_dot(
    lhs: Any,
    rhs: Any,
    *,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    dimension_numbers: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Compute the dot product of arrays that have a scale for each block.

    Args:
      lhs, rhs: arrays, usually of a narrow dtype.
      lhs_scale, rhs_scale: their scales, of the same sizes, except along contracted axes,
        where the scale's size divides the operand's (default: no scaling).
      dimension_numbers: as in `dot_general` (default: of matrices, or of matrices with a
        leading batch axis).
      preferred_element_type: the dtype to multiply in and return (default: bfloat16).

    Returns:
      An array with the axes of `dot_general`'s result, of dtype `preferred_element_type`.

    Raises:
      TypeError: an operand has rank 1, or rank above 3, without `dimension_numbers`; or
        scales have incompatible shapes.

    Example:
      >>> import minijax.numpy as jnp
      >>> x, s = jnp.ones((2, 4)), jnp.array([[1.0, 2.0], [3.0, 4.0]])
      >>> scaled_dot(x, jnp.ones((4, 1)), lhs_scale=s, preferred_element_type=jnp.float32)
      Array([[ 6.],
             [14.]], dtype=float32)
    """
    if dimension_numbers is None:
        rank = core.aval_of(lhs).ndim
        if rank not in (2, 3):
            raise TypeError(f"scaled_dot of an array of rank {rank} needs dimension_numbers.")
        batch = tuple(range(rank - 2))
        dimension_numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    numbers = (
        (tuple(map(int, lhs_contracting)), tuple(map(int, rhs_contracting))),
        (tuple(map(int, lhs_batch)), tuple(map(int, rhs_batch))),
    )
    dtype = element_type(preferred_element_type, "scaled_dot") or dtypes.bfloat16
    return scaled_dot_p.bind(
        lhs,
        rhs,
        _scale(lhs, lhs_scale, numbers[0][0]),
        _scale(rhs, rhs_scale, numbers[0][1]),
        dimension_numbers=numbers,
        preferred_element_type=dtype,
    )


def _scale(x: Any, scale: Any, summed: Sequence[int]) -> Any:
    """Return the scale of `x`, or ones."""
    if scale is not None:
        return scale
    shape = core.aval_of(x).shape
    ones = tuple(1 if i in summed else n for i, n in enumerate(shape))
    return np.ones(ones, dtypes.as_dtype("float8_e8m0fnu"))
