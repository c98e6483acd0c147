"""Dot products of groups of rows, and of scaled blocks: ragged_dot, scaled_dot.

One axis of lhs, the ragged one, is divided into groups of given sizes.
    it is kept         each group meets its own rhs: out[m, n] = lhs[m] . rhs[group(m)]
    it is contracted   each group is summed apart: out[g, m, n]
    it is a batch axis the groups make no difference
Rows beyond the last group give zeros.  The first two are each other's derivatives.

Source: the CHLO dialect, ragged_dot; D. Rouhani et al., "Microscaling data formats for
deep learning", arXiv:2310.10537, for scaled blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...ir import core
from ...ir.core import Primitive
from ...passes.ad_util import is_linear
from ...passes.batch import move_lane
from ...passes.jvp import jvp_flat
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import defjvp
from ..explicit_sharding_rules import canonicalize_out_sharding
from ..math.algebraic import mul, sub
from ..math.cast import cast
from ..math.logic import bitwise_and, ge, lt, select
from ..reduce.cumulative import cumsum
from ..shape.creation import broadcasted_iota, zero_array
from ..shape.shapes import broadcast_in_dim, reshape, transpose
from . import precision as precisions
from .dot import (
    dot_axes,
    dot_general,
    dot_general_p,
    dot_shape,
    element_type,
    kept_axes,
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
    """Which axes a ragged dot contracts and batches, and which one is ragged.

    Args:
      dot_dimension_numbers: as for `dot_general`.
      lhs_ragged_dimensions: the one axis of lhs that is divided into groups.
      rhs_group_dimensions: the axis of rhs that counts groups, if that axis is kept.

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
    """'kept', 'summed' or 'batch': what becomes of the ragged axis."""
    (axis,) = numbers.lhs_ragged_dimensions
    (l_sum, _), (l_batch, _) = numbers.dot_dimension_numbers
    return "summed" if axis in l_sum else "batch" if axis in l_batch else "kept"


def _check(lhs: Any, rhs: Any, sizes: Any, numbers: _Numbers) -> int:
    """Return the number of groups."""
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
    kept = _mode(numbers) == "kept"
    if len(groups) != kept:
        what = "exactly one rhs group dimension when lhs ragged dimension is"
        what += " noncontracting."
        if not kept:
            what = "zero group dimensions in the rhs when lhs ragged dimension is"
            what += " contracting or batch."
        raise errors.type_error(
            f"{name} requires {what}",
            which=f"{lhs.str_short(True)}, {rhs.str_short(True)}, {numbers}",
            why="rhs has a group for each group of rows, unless these are summed.",
        )
    (_, used), (_, shared) = numbers.dot_dimension_numbers
    if {*groups} & {*used, *shared}:
        raise TypeError(
            f"{name} requires rhs group dimension numbers to be distinct from"
            " contracting and batch dimensions."
        )
    lead = tuple(lhs.shape[i] for i in numbers.dot_dimension_numbers[1][0])
    if sizes.ndim < 1 or sizes.shape[:-1] not in ((), lead):
        wanted = (*lead, rhs.shape[groups[0]]) if groups else (*lead, "groups")
        raise errors.type_error(
            f"expected group_sizes to have shape {wanted}, got {sizes.shape}.",
            why="it says how many rows each group has; the batch axes may be left out.",
        )
    count = int(sizes.shape[-1])
    if groups and rhs.shape[groups[0]] != count:
        raise TypeError(
            f"expected rhs group dimension size to be {count}, got {rhs.shape[groups[0]]}."
        )
    return count


def _without(axes: Sequence[int], gone: Sequence[int]) -> tuple[int, ...]:
    """Axes as they count when others are gone."""
    return tuple(a - sum(g < a for g in gone) for a in axes)


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
    (l_sum, r_sum), (l_batch, r_batch) = numbers.dot_dimension_numbers
    gone = numbers.rhs_group_dimensions
    one = shaped(tuple(n for i, n in enumerate(rhs.shape) if i not in gone), rhs.dtype)
    dims = ((l_sum, _without(r_sum, gone)), (l_batch, _without(r_batch, gone)))
    shape = dot_shape(lhs, one, dims)
    dtype = product_dtype("ragged_dot_general", lhs.dtype, rhs.dtype, preferred_element_type)
    return shaped((count, *shape) if _mode(numbers) == "summed" else shape, dtype)


def _apart(x: Any, sizes: Any, axis: int, batch: Sequence[int]) -> Any:
    """x once for each group, a new leading axis, with zeros outside of the group."""
    shape = tuple(core.aval_of(x).shape)
    count = core.aval_of(sizes).shape[-1]
    whole = (count, *shape)
    spread = broadcast_in_dim(x, whole, tuple(range(1, len(whole))))
    sizes = cast(sizes, dtypes.int32)
    rank = len(core.aval_of(sizes).shape)
    ends = cumsum(sizes, rank - 1)
    starts = sub(ends, sizes)
    places = broadcasted_iota(np.int32, whole, axis + 1)
    at = (*(i + 1 for i in batch), 0) if rank > 1 else (0,)
    order = sorted(range(rank), key=at.__getitem__)
    first, last = (
        broadcast_in_dim(transpose(v, order), whole, sorted(at)) for v in (starts, ends)
    )
    inside = bitwise_and(ge(places, first), lt(places, last))
    return select(inside, spread, zero_array(core.aval_of(spread)))


def _written_out(
    lhs: Any,
    rhs: Any,
    sizes: Any,
    *,
    ragged_dot_dimension_numbers: _Numbers,
    precision: Any,
    preferred_element_type: Any,
    **_: Any,
) -> Any:
    """One dense dot, with zeros where rows and groups do not belong together."""
    numbers = ragged_dot_dimension_numbers
    (l_sum, r_sum), (l_batch, r_batch) = numbers.dot_dimension_numbers
    (axis,), mode = numbers.lhs_ragged_dimensions, _mode(numbers)
    dims: Any = numbers.dot_dimension_numbers

    def up(axes: Sequence[int]) -> tuple[int, ...]:
        return tuple(a + 1 for a in axes)

    if mode == "kept":
        lhs = _apart(lhs, sizes, axis, l_batch)
        groups = numbers.rhs_group_dimensions
        dims = (((0, *up(l_sum)), (*groups, *r_sum)), (up(l_batch), r_batch))
    elif mode == "summed":
        lhs = _apart(lhs, sizes, axis, l_batch)
        rhs = _apart(rhs, sizes, r_sum[l_sum.index(axis)], r_batch)
        dims = ((up(l_sum), up(r_sum)), ((0, *up(l_batch)), (0, *up(r_batch))))
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


def _arranged(x: Any, places: Sequence[int], aval: Any) -> Any:
    """Return the operand whose axis places[i] is axis i of x, in the operand's dtype."""
    order = sorted(range(len(places)), key=places.__getitem__)
    return cast(transpose(x, order), aval.dtype)


def _transpose_lhs(ct, aval, rhs, sizes, numbers: _Numbers, params):
    (l_sum, r_sum), (l_batch, r_batch) = numbers.dot_dimension_numbers
    (axis,), groups = numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions
    l_kept = kept_axes(aval.ndim, l_sum, l_batch)
    r_kept = kept_axes(core.aval_of(rhs).ndim, r_sum, r_batch, groups)
    n, mode = len(l_batch), _mode(numbers)
    first = n + (mode == "summed")  # of the axes of ct that lhs kept
    batch = tuple(range(first - n, first))
    kept = tuple(range(first, first + len(l_kept)))
    summed = tuple(range(first + len(l_kept), first + len(l_kept) + len(r_kept)))
    sum_order = sorted(range(len(l_sum)), key=r_sum.__getitem__)
    sums = tuple(l_sum[i] for i in sum_order)  # in the order of rhs's axes
    if mode == "summed":  # rows of rhs, each with its group's cotangent
        ragged = r_sum[l_sum.index(axis)]
        dims = ((r_kept, summed), (r_batch, batch))
        out = _bind(rhs, ct, sizes, dims, ragged, (0,), params)
        return _arranged(out, (*l_batch, *sums, *l_kept), aval)
    ragged = batch[l_batch.index(axis)] if mode == "batch" else kept[l_kept.index(axis)]
    dims = ((summed, r_kept), (batch, r_batch))
    out = _bind(ct, rhs, sizes, dims, ragged, groups, params)
    return _arranged(out, (*l_batch, *l_kept, *sums), aval)


def _transpose_rhs(ct, lhs, aval, sizes, numbers: _Numbers, params):
    (l_sum, r_sum), (l_batch, r_batch) = numbers.dot_dimension_numbers
    (axis,), groups = numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions
    l_kept = kept_axes(core.aval_of(lhs).ndim, l_sum, l_batch)
    r_kept = kept_axes(aval.ndim, r_sum, r_batch, groups)
    n, mode = len(l_batch), _mode(numbers)
    first = n + (mode == "summed")
    batch = tuple(range(first - n, first))
    kept = tuple(range(first, first + len(l_kept)))
    dims = ((l_kept, kept), (l_batch, batch))
    own = (0,) if mode == "summed" else ()
    out = _bind(lhs, ct, sizes, dims, axis, own, params)
    sums = tuple(r_sum[i] for i in sorted(range(len(r_sum)), key=l_sum.__getitem__))
    return _arranged(out, (*groups, *r_batch, *sums, *r_kept), aval)


def _ragged_batch(axis, args, dims, *, ragged_dot_dimension_numbers: _Numbers, **params):
    numbers = ragged_dot_dimension_numbers
    (l_sum, r_sum), (l_batch, r_batch) = numbers.dot_dimension_numbers
    lhs, rhs, sizes = args
    n = len(l_batch)
    if core.aval_of(sizes).ndim - (dims[2] is not None) == 1 and n:
        # Groups that all batch elements share, as each one's own.
        shape = core.aval_of(sizes).shape
        count = shape[1 - dims[2]] if dims[2] is not None else shape[0]
        lead = tuple(core.aval_of(lhs).shape[_lane_free(i, dims[0])] for i in l_batch)
        if dims[2] is not None:
            sizes = move_lane(sizes, axis, dims[2], 0)
            sizes = broadcast_in_dim(sizes, (axis.size, *lead, count), (0, n + 1))
            dims = (dims[0], dims[1], 0)
        else:
            sizes = broadcast_in_dim(sizes, (*lead, count), (n,))
    lined = [move_lane(x, axis, d, 0) for x, d in zip((lhs, rhs, sizes), dims, strict=True)]

    def up(axes: Sequence[int]) -> tuple[int, ...]:
        return tuple(a + 1 for a in axes)

    more = _Numbers(
        ((up(l_sum), up(r_sum)), ((0, *up(l_batch)), (0, *up(r_batch)))),
        up(numbers.lhs_ragged_dimensions),
        up(numbers.rhs_group_dimensions),
    )
    out = ragged_dot_general_p.bind(*lined, ragged_dot_dimension_numbers=more, **params)
    return out, 1 if _mode(numbers) == "summed" else 0


def _lane_free(i: int, lane: int | None) -> int:
    """Axis i of one lane, among those of all."""
    return i if lane is None else i + (i >= lane)


def _ragged_lower(ctx: Any, *operands: Any, **params: Any) -> Any:
    return ctx.fun(lambda *xs: _written_out(*xs, **params), *operands)[0]


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
    (l_sum, r_sum), (l_batch, r_batch) = numbers.dot_dimension_numbers
    pair = ("DEFAULT", "DEFAULT") if precision is None else [p.name for p in precision]
    return ctx.chlo(
        "ragged_dot",
        ctx.avals_out[0],
        lhs,
        rhs,
        sizes,
        ragged_dot_dimension_numbers=ctx.parse(
            f"#chlo.ragged_dot<lhs_batching_dimensions = {list(l_batch)},"
            f" rhs_batching_dimensions = {list(r_batch)},"
            f" lhs_contracting_dimensions = {list(l_sum)},"
            f" rhs_contracting_dimensions = {list(r_sum)},"
            f" lhs_ragged_dimensions = {list(numbers.lhs_ragged_dimensions)},"
            f" rhs_group_dimensions = {list(numbers.rhs_group_dimensions)}>"
        ),
        precision_config=ctx.parse(f"[#chlo<precision {pair[0]}>, #chlo<precision {pair[1]}>]"),
    )


def _ragged_axes(ins: Sequence[Any], outs: Sequence[Any], params: Any) -> list[Any]:
    """As of a dot product, each row with the rhs of all groups."""
    numbers = params["ragged_dot_dimension_numbers"]
    gone = numbers.rhs_group_dimensions
    (l_sum, r_sum), batches = numbers.dot_dimension_numbers
    dims = ((l_sum, (*r_sum, *gone)), batches)
    lhs, rhs = dot_axes(ins[:2], outs, {"dimension_numbers": dims})
    groups = [None] * (_mode(numbers) == "summed")
    return [[*groups, *lhs], [*groups, *rhs], [None] * outs[0].ndim]


ragged_dot_general_p.axes_of = _ragged_axes
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
ragged_dot_general_p.lower = _ragged_lower_chlo
ragged_dot_general_p.lower_by_platform["cpu"] = _ragged_lower


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
    """Return a dot product one axis of which is divided into groups.

    Args:
      lhs, rhs: arrays.
      group_sizes: integers [groups], or [batch.., groups].
      ragged_dot_dimension_numbers: a `RaggedDotDimensionNumbers`.
      precision, preferred_element_type, out_sharding: as in `dot_general`.
      group_offset: must be None.

    Returns:
      As `dot_general`, with an axis of groups in front if the ragged axis is
      contracted.

    Raises:
      TypeError: no `RaggedDotDimensionNumbers`, or shapes do not fit.
      NotImplementedError: `group_offset` is given.

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
            "ragged_dot_general takes RaggedDotDimensionNumbers, got"
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
    """Rows times matrices, each group of rows its own: out[i] = lhs[i] rhs[group(i)].

    Args:
      lhs: [m, k].
      rhs: [groups, k, n].
      group_sizes: integers [groups]: so many rows, one group after the other.
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
    (l_sum, r_sum), _ = dimension_numbers
    for side, x, scale, summed in (
        ("lhs", lhs, lhs_scale, l_sum),
        ("rhs", rhs, rhs_scale, r_sum),
    ):
        fits = x.ndim == scale.ndim and all(
            n == k if i not in summed else k > 0 and n % k == 0
            for i, (n, k) in enumerate(zip(x.shape, scale.shape, strict=False))
        )
        if not fits:
            raise errors.type_error(
                f"scaled_dot {side} of shape {x.shape} cannot have a scale of shape"
                f" {scale.shape}.",
                why="sizes are equal, but those of contracted axes, where the"
                " scale's must divide the operand's.",
            )
    shape = dot_shape(lhs, rhs, dimension_numbers)
    return shaped(shape, preferred_element_type)


def _rescaled(x: Any, scale: Any, dtype: Any) -> Any:
    """x times its scale, each element of which holds for a block."""
    shape, blocks = core.aval_of(x).shape, core.aval_of(scale).shape
    split = [n for a, b in zip(shape, blocks, strict=True) for n in (b, a // max(b, 1))]
    wide = broadcast_in_dim(cast(scale, dtype), tuple(split), tuple(range(0, len(split), 2)))
    return mul(cast(x, dtype), reshape(wide, shape))


def _scaled_written_out(
    lhs, rhs, lhs_scale, rhs_scale, *, dimension_numbers, preferred_element_type
):
    dtype = preferred_element_type
    left, right = _rescaled(lhs, lhs_scale, dtype), _rescaled(rhs, rhs_scale, dtype)
    return dot_general(left, right, dimension_numbers, preferred_element_type=dtype)


def _scaled_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    (out,), (out_t,) = jvp_flat(
        lambda *xs: [_scaled_written_out(*xs, **params)], primals, tangents
    )
    return out, out_t


def _scaled_batch(axis, args, dims, *, dimension_numbers, **params):
    (l_sum, r_sum), (l_batch, r_batch) = dimension_numbers
    lined = [move_lane(x, axis, d, 0) for x, d in zip(args, dims, strict=True)]

    def up(axes: Sequence[int]) -> tuple[int, ...]:
        return tuple(a + 1 for a in axes)

    numbers = ((up(l_sum), up(r_sum)), ((0, *up(l_batch)), (0, *up(r_batch))))
    return scaled_dot_p.bind(*lined, dimension_numbers=numbers, **params), 0


scaled_dot_p.abstract = _scaled_abstract
scaled_dot_p.jvp = _scaled_jvp
scaled_dot_p.batch = _scaled_batch
scaled_dot_p.lower = lambda ctx, *xs, **params: ctx.fun(
    lambda *vs: _scaled_written_out(*vs, **params), *xs
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
    """Return the dot product of arrays that are stored with a scale for each block.

    Args:
      lhs, rhs: arrays, usually of a narrow dtype.
      lhs_scale, rhs_scale: their scales: of the same sizes, but along contracted axes
        of sizes that divide (default: no scaling).
      dimension_numbers: as in `dot_general` (default: of matrices, or of matrices with
        one batch axis in front).
      preferred_element_type: in which to multiply and return (default: bfloat16).

    Returns:
      An array of the axes of `dot_general`, of dtype `preferred_element_type`.

    Raises:
      TypeError: an operand of rank 1, or of rank above 3, without `dimension_numbers`;
        or scales do not fit.

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
    (l_sum, r_sum), (l_batch, r_batch) = dimension_numbers
    numbers = (
        (tuple(map(int, l_sum)), tuple(map(int, r_sum))),
        (tuple(map(int, l_batch)), tuple(map(int, r_batch))),
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
    """Return the given scale, or ones."""
    if scale is not None:
        return scale
    shape = core.aval_of(x).shape
    ones = tuple(1 if i in summed else n for i, n in enumerate(shape))
    return np.ones(ones, dtypes.as_dtype("float8_e8m0fnu"))
