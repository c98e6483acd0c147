"""Comparisons, bits, and choice: eq .. ge, and or xor not, shifts, select, clamp.

Comparisons return bools, which have no derivative.  `select_n` and `clamp` return the tangent
of the operand that they chose.

This file contains no arithmetic.  Next: algebraic.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base import errors
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import READS, Facts, KeyUse
from ...passes.ad_util import Zero, core_ops, instantiate, is_linear
from ...passes.batch import lane_to_front, lane_to_front_unsharded
from ...runtime.lowering import context
from ...types import dtypes
from ...types.avals import shaped
from ..elementwise import *
from ..sharding_specs import equal_specs

__all__ = (
    "eq_p", "ne_p", "lt_p", "le_p", "gt_p", "ge_p", "eq", "ne", "lt", "le", "gt", "ge",
    "is_finite_p", "is_finite", "eq_to_p", "le_to_p", "lt_to_p", "and_p", "or_p",
    "xor_p", "not_p", "shift_left_p", "shift_right_arithmetic_p",
    "shift_right_logical_p", "population_count_p", "clz_p", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_not", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "population_count", "clz", "select_n_p", "select_n",
    "select", "clamp_p", "clamp",
)  # fmt: skip

ORDERED = ANY - COMPLEX

# ---- comparison


def _bool(*_: Any) -> Any:
    return dtypes.bool_


def lower_compare(direction: str, total: bool = False) -> Rule:
    """Return the lowering rule of a comparison, optionally in the total order of floats."""

    def rule(ctx: Any, x: Any, y: Any) -> Any:
        shape = ctx.avals_out[0].shape
        x, y = broadcast_operands(ctx, (x, y), shape)
        aval = shaped(shape, ctx.avals_in[0].dtype)
        return emit_compare(ctx, direction, x, y, aval, total)

    return rule


def comparison(name: str, accepts: frozenset[str], **facts: Any) -> Primitive:
    """Declare a comparison."""
    lower = lower_compare(name.upper())
    return nary(name, [accepts, accepts], lower=lower, out_dtype=_bool, **facts)


def key_comparison(name: str) -> Primitive:
    """Declare a comparison that also takes random keys, and compares all their words."""
    prim = comparison(name, ANY | KEY, lowers_key_arrays=True, uses_keys=READS)
    lower_numbers = prim.lower

    def words(x: Any, y: Any) -> Any:
        total: Any = None
        for i in range(core.aval_of(x).shape[-1]):
            one = prim.bind(word(x, i), word(y, i))
            join = and_p if name == "eq" else or_p
            total = one if total is None else join.bind(total, one)
        return total

    def word(x: Any, i: int) -> Any:
        shape = core.aval_of(x).shape
        return core_ops.reshape(core_ops.slice_axis(x, len(shape) - 1, i, i + 1), shape[:-1])

    def rule(ctx: Any, x: Any, y: Any) -> Any:
        if not dtypes.is_extended(ctx.avals_in[0].dtype):
            return lower_numbers(ctx, x, y)
        avals = [context.physical(a) for a in ctx.avals_in]
        return ctx.fun(words, x, y, avals=avals)[0]

    prim.lower = rule
    return prim


eq_p = key_comparison("eq")
ne_p = key_comparison("ne")
lt_p = comparison("lt", ORDERED)
le_p = comparison("le", ORDERED)
gt_p = comparison("gt", ORDERED)
ge_p = comparison("ge", ORDERED)


def eq(x: Any, y: Any) -> Any:
    r"""Whether :math:`x = y`, elementwise.

    Args:
      x, y: arrays of one dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      Bools of their joint shape.  Nothing equals nan.

    Example:
      >>> eq(1, 1)
      Array(True, dtype=bool, weak_type=True)
    """
    return eq_p.bind(x, y)


def ne(x: Any, y: Any) -> Any:
    r"""Whether :math:`x \neq y`, elementwise.

    Args:
      x, y: arrays of one dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      Bools of their joint shape.  nan differs from everything.

    Example:
      >>> ne(1, 1)
      Array(False, dtype=bool, weak_type=True)
    """
    return ne_p.bind(x, y)


def lt(x: Any, y: Any) -> Any:
    r"""Whether :math:`x < y`, elementwise.

    Args:
      x, y: arrays of one shape and dtype, not complex; scalars and axes of size 1
        repeat.

    Returns:
      Bools of their joint shape.  False for nan.

    Example:
      >>> lt(1., 2.)
      Array(True, dtype=bool, weak_type=True)
    """
    return lt_p.bind(x, y)


def le(x: Any, y: Any) -> Any:
    r"""Whether :math:`x \leq y`, elementwise.

    Args:
      x, y: arrays of one shape and dtype, not complex; scalars and axes of size 1
        repeat.

    Returns:
      Bools of their joint shape.  False for nan.

    Example:
      >>> le(2., 2.)
      Array(True, dtype=bool, weak_type=True)
    """
    return le_p.bind(x, y)


def gt(x: Any, y: Any) -> Any:
    r"""Whether :math:`x > y`, elementwise.

    Args:
      x, y: arrays of one shape and dtype, not complex; scalars and axes of size 1
        repeat.

    Returns:
      Bools of their joint shape.  False for nan.

    Example:
      >>> gt(1., 2.)
      Array(False, dtype=bool, weak_type=True)
    """
    return gt_p.bind(x, y)


def ge(x: Any, y: Any) -> Any:
    r"""Whether :math:`x \geq y`, elementwise.

    Args:
      x, y: arrays of one shape and dtype, not complex; scalars and axes of size 1
        repeat.

    Returns:
      Bools of their joint shape.  False for nan.

    Example:
      >>> ge(2., 2.)
      Array(True, dtype=bool, weak_type=True)
    """
    return ge_p.bind(x, y)


is_finite_p = nary("is_finite", [FLOAT], lower="is_finite", out_dtype=_bool)


def is_finite(x: Any) -> Any:
    """Whether elements are neither infinite nor nan.

    Args:
      x: an array of a float dtype.

    Returns:
      Bools of `x`'s shape.

    Example:
      >>> is_finite(float('inf'))
      Array(False, dtype=bool, weak_type=True)
    """
    return is_finite_p.bind(x)


# ---- comparison in the total order of floats: -nan < -inf .. -0 < 0 .. inf < nan

eq_to_p = nary("eq_to", [ORDERED, ORDERED], lower=lower_compare("EQ", True), out_dtype=_bool)
le_to_p = nary("le_to", [ORDERED, ORDERED], lower=lower_compare("LE", True), out_dtype=_bool)
lt_to_p = nary("lt_to", [ORDERED, ORDERED], lower=lower_compare("LT", True), out_dtype=_bool)

# ---- bits

and_p = nary("and", [BITS, BITS], lower="and")
or_p = nary("or", [BITS, BITS], lower="or")
xor_p = nary("xor", [BITS, BITS], lower="xor")
not_p = nary("not", [BITS], lower="not")
shift_left_p = nary("shift_left", [INT, INT], lower="shift_left")
shift_right_arithmetic_p = nary(
    "shift_right_arithmetic", [INT, INT], lower="shift_right_arithmetic"
)
shift_right_logical_p = nary("shift_right_logical", [INT, INT], lower="shift_right_logical")
population_count_p = nary("population_count", [INT], lower="popcnt")
clz_p = nary("clz", [INT], lower="count_leading_zeros")


def bitwise_and(x: Any, y: Any) -> Any:
    r"""Compute the bitwise and, :math:`x \wedge y`.

    Args:
      x, y: integers or bools of one dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> bitwise_and(6, 3)
      Array(2, dtype=int32, weak_type=True)
    """
    return and_p.bind(x, y)


def bitwise_or(x: Any, y: Any) -> Any:
    r"""Compute the bitwise or, :math:`x \vee y`.

    Args:
      x, y: integers or bools of one dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> bitwise_or(6, 3)
      Array(7, dtype=int32, weak_type=True)
    """
    return or_p.bind(x, y)


def bitwise_xor(x: Any, y: Any) -> Any:
    r"""Compute the bitwise exclusive or, :math:`x \oplus y`.

    Args:
      x, y: integers or bools of one dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> bitwise_xor(6, 3)
      Array(5, dtype=int32, weak_type=True)
    """
    return xor_p.bind(x, y)


def bitwise_not(x: Any) -> Any:
    r"""Compute the bitwise not, :math:`\neg x`.

    Args:
      x: an array of an integer dtype or bool.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> bitwise_not(6)
      Array(-7, dtype=int32, weak_type=True)
    """
    return not_p.bind(x)


def shift_left(x: Any, y: Any) -> Any:
    r"""Shift bits to the left, :math:`x \ll y`.

    A shift by at least the number of bits returns 0.

    Args:
      x, y: arrays of one integer dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> shift_left(3, 2)
      Array(12, dtype=int32, weak_type=True)
    """
    return shift_left_p.bind(x, y)


def shift_right_arithmetic(x: Any, y: Any) -> Any:
    r"""Shift bits to the right, :math:`x \gg y`, and repeat the sign bit.

    Args:
      x, y: arrays of one integer dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> shift_right_arithmetic(-8, 1)
      Array(-4, dtype=int32, weak_type=True)
    """
    return shift_right_arithmetic_p.bind(x, y)


def shift_right_logical(x: Any, y: Any) -> Any:
    r"""Shift bits to the right, :math:`x \gg y`, and fill with zeros.

    Args:
      x, y: arrays of one integer dtype and shape; scalars and axes of size 1 repeat.

    Returns:
      An array of their joint shape and dtype, weakly typed if both are.

    Example:
      >>> shift_right_logical(-8, 28)
      Array(15, dtype=int32, weak_type=True)
    """
    return shift_right_logical_p.bind(x, y)


def population_count(x: Any) -> Any:
    """Count the bits that are set in each element.

    Args:
      x: an array of an integer dtype.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> population_count(7)
      Array(3, dtype=int32, weak_type=True)
    """
    return population_count_p.bind(x)


def clz(x: Any) -> Any:
    """Count the leading zero bits of each element.

    Args:
      x: an array of an integer dtype.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> clz(1)
      Array(31, dtype=int32, weak_type=True)
    """
    return clz_p.bind(x)


# ---- choice

select_n_p = Primitive("select_n")
select_n_p.def_sharding(specs=equal_specs("select cases must have the same shardings", 1))


def select_abstract(which: Any, *cases: Any) -> Any:
    if dtypes.kind(which.dtype) not in ("bool", "int", "uint"):
        raise errors.type_error(
            f"select `which` must be boolean or integer type, got {which.dtype}.",
            which=which.str_short(True),
            why="It is the index of the case of each element.",
            tries=["a comparison such as lax.gt(x, 0.)", "which.astype(bool)"],
        )
    if dtypes.is_bool(which.dtype) and len(cases) > 2:
        raise errors.type_error(
            "select with boolean `which` cannot have > 2 cases.",
            which=f"{len(cases)} cases",
            why="A bool chooses between two cases.",
            tries=["an integer `which`, which counts the cases from 0"],
        )
    first = cases[0]
    for case in cases:
        if case.shape != first.shape:
            raise errors.type_error(
                f"select cases must have the same shapes, got {[c.shape for c in cases]}.",
                why="Each element of the result comes from one of the cases.",
                tries=["jnp.where, which broadcasts", "lax.broadcast_in_dim"],
            )
    if which.shape and which.shape != first.shape:
        raise errors.type_error(
            "select `which` must be scalar or have the same shape as cases, got"
            f" `which` shape {which.shape} but case shape {first.shape}.",
            why="It chooses for all elements together, or for each element.",
            tries=["jnp.where, which broadcasts", "lax.broadcast_in_dim"],
        )
    dtype = same_dtype("select", cases, "where")
    weak = all(c.weak_type for c in cases) and not dtypes.is_bool(dtype)
    return shaped(first.shape, dtype, weak)


def select_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    which, *cases = primals
    ans = select_n_p.bind(which, *cases)
    ts = tangents[1:]
    if all(type(t) is Zero for t in ts):
        return ans, Zero(core.aval_of(ans).to_tangent())
    zero: Any = None
    filled_in = []
    for t in ts:
        if type(t) is Zero:
            t = zero = instantiate(t) if zero is None else zero
        filled_in.append(t)
    return ans, select_n_p.bind(which, *filled_in)


def select_transpose(ct: Any, which: Any, *cases: Any) -> list[Any]:
    zeros = filled(ct, 0)
    cts: list[Any] = [None]
    for i, case in enumerate(cases):
        if not is_linear(case):
            cts.append(None)
        elif len(cases) > 2 or not dtypes.is_bool(core.aval_of(which).dtype):
            dtype = core.aval_of(which).dtype
            cts.append(select_n_p.bind(eq_p.bind(which, dtype.type(i)), zeros, ct))
        else:
            cts.append(
                select_n_p.bind(which, *(ct if i == j else zeros for j in range(len(cases))))
            )
    return cts


def select_batch(axis: Any, args: Sequence[Any], dims: Sequence[Any]) -> Any:
    shapes = [core.aval_of(x).shape for x in args]
    lined, lane = same_lanes(args, shapes, dims)
    if lined is not None and all(d is not None for d in dims[1:]):
        return select_n_p.bind(*lined), lane
    shared = dims[0] is None and not shapes[0]  # one choice for all
    if dims[0] is not None and len(shapes[0]) > 1 and not any(shapes[1:]):
        which = args[0]  # broadcast scalar cases that all lanes share
        shape = shapes[0]
        cases = [core_ops.broadcast_in_dim(x, shape, ()) for x in args[1:]]
        return select_n_p.bind(which, *cases), dims[0]
    which = args[0] if shared else lane_to_front_unsharded(args[0], axis, dims[0])
    cases = [
        lane_to_front_unsharded(x, axis, d) for x, d in zip(args[1:], dims[1:], strict=True)
    ]
    shape = core.aval_of(cases[0]).shape
    if not shared and len(shapes[0]) < len(shape) and dims[0] is not None:
        which = core_ops.broadcast_in_dim(which, shape, (0,))  # one choice per lane
    return select_n_p.bind(which, *cases), 0


def lower_select(ctx: Any, which: Any, *cases: Any) -> Any:
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    if len(cases) == 1:
        return cases[0]
    if dtypes.is_bool(aval.dtype):
        return ctx.op("select", out, which, cases[1], cases[0])
    return _select_between(ctx, which, aval, out, cases, 0)


def _select_between(ctx, which, aval, out, cases: Sequence[Any], first: int):
    """Emit a binary search: select between the lower and the upper half of the cases."""
    if len(cases) == 1:
        return cases[0]
    middle = len(cases) // 2
    bound = ctx.constant(first + middle, aval)
    below = emit_compare(ctx, "LT", which, bound, aval)
    low = _select_between(ctx, which, aval, out, cases[:middle], first)
    high = _select_between(ctx, which, aval, out, cases[middle:], first + middle)
    return ctx.op("select", out, below, low, high)


select_n_p.abstract = select_abstract
select_n_p.jvp = select_jvp
select_n_p.transpose = select_transpose
select_n_p.batch = select_batch
select_n_p.lower = lower_select
select_n_p.facts = Facts(
    elementwise=True,
    makes_no_nans=True,
    keeps_finite=True,
    uses_keys=lambda ins, params: KeyUse(
        dict.fromkeys(range(1, len(ins)), True), frozenset({0})
    ),
)


def select_n(which: Any, *cases: Any) -> Any:
    """Take each element from one of several arrays.

    Args:
      which: bools (the second case where true) or integers counting the cases from 0,
        of the shape of the cases or a scalar.
      cases: arrays of equal shapes and dtypes; two at most for a bool `which`.

    Returns:
      An array of the cases' shape and dtype.  Numbers out of range select the nearest
      case.

    Raises:
      TypeError: shapes or dtypes are incompatible.
      ValueError: there are no cases.

    Example:
      >>> select_n(True, 1, 2)
      Array(2, dtype=int32, weak_type=True)
    """
    if not cases:
        raise ValueError("select_n() must have at least one case")
    return select_n_p.bind(which, *cases)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Take each element from `on_true` where `pred` is true, otherwise from `on_false`.

    Args:
      pred: bools of the shape of the cases, or a scalar.
      on_true, on_false: arrays of equal shapes and dtypes.

    Returns:
      An array of the cases' shape and dtype.

    Raises:
      TypeError: shapes or dtypes are incompatible.

    Example:
      >>> select(True, 1, 2)
      Array(1, dtype=int32, weak_type=True)
    """
    return select_n_p.bind(pred, on_false, on_true)


# ---- clamp

clamp_p = Primitive("clamp")
clamp_p.def_sharding(specs=lambda specs, avals, outs, params: [specs[1]])


def clamp_abstract(low: Any, x: Any, high: Any) -> Any:
    check_kind("clamp", x, ORDERED | COMPLEX, 0, 3)
    for name, bound in (("min", low), ("max", high)):
        if bound.shape and bound.shape != x.shape:
            raise errors.type_error(
                f"clamp requires {name}.shape == operand.shape or {name}.shape =="
                f" (), got {name}.shape={bound.shape}, operand.shape={x.shape}.",
                why="A bound applies to all elements together, or to each element.",
                tries=["jnp.clip, which broadcasts", "lax.broadcast_in_dim"],
            )
    dtype = same_dtype("clamp", (low, x, high), "clip")
    weak = all(a.weak_type for a in (low, x, high)) and not dtypes.is_bool(dtype)
    return shaped(x.shape, dtype, weak)


def _mask_tangent(pred: Any, t: Any, ans: Any) -> Any:
    """Return the tangent where `pred` is true, and zero otherwise."""
    return select(pred, t, filled(ans, 0))


def _clamp_tangent(t: Any, ans: Any, low: Any, x: Any, high: Any) -> Any:
    inside = and_p.bind(gt_p.bind(x, low), lt_p.bind(x, high))
    return _mask_tangent(inside, t, ans)


def _low_tangent(t: Any, ans: Any, low: Any, x: Any, high: Any) -> Any:
    used = and_p.bind(gt_p.bind(low, x), lt_p.bind(low, high))
    return _mask_tangent(used, _broadcast_bound(t, ans), ans)


def _high_tangent(t: Any, ans: Any, low: Any, x: Any, high: Any) -> Any:
    return _mask_tangent(lt_p.bind(high, x), _broadcast_bound(t, ans), ans)


def _broadcast_bound(t: Any, ans: Any) -> Any:
    """Broadcast a scalar bound's tangent to the shape of the result."""
    shape = core.aval_of(ans).shape
    return t if core.aval_of(t).shape == shape else core_ops.broadcast_in_dim(t, shape, ())


def clamp_batch(axis: Any, args: Sequence[Any], dims: Sequence[Any]) -> Any:
    shapes = [core.aval_of(x).shape for x in args]
    lined, lane = same_lanes(args, shapes, dims)
    if lined is not None and dims[1] is not None:
        return clamp_p.bind(*lined), lane
    x = lane_to_front(args[1], axis, dims[1])
    shape = core.aval_of(x).shape
    bounds = []
    for i in (0, 2):
        scalar = dims[i] is None and not shapes[i]
        bounds.append(
            core_ops.broadcast_in_dim(args[i], shape, ())
            if scalar
            else lane_to_front(args[i], axis, dims[i])
        )
    for k, bound in enumerate(bounds):
        if len(core.aval_of(bound).shape) < len(shape):  # one bound per lane
            bounds[k] = core_ops.broadcast_in_dim(bound, shape, (0,))
    return clamp_p.bind(bounds[0], x, bounds[1]), 0


clamp_p.abstract = clamp_abstract
defjvp(clamp_p, [_low_tangent, _clamp_tangent, _high_tangent])
clamp_p.batch = clamp_batch
clamp_p.lower = lower_elementwise("clamp")
clamp_p.facts = Facts(elementwise=True, makes_no_nans=True, keeps_finite=True)


def clamp(min: Any, x: Any, max: Any) -> Any:
    r"""Move elements into a range: :math:`\max(min, \min(x, max))`.

    Args:
      min, max: bounds of the dtype of `x`, of its shape or scalars.
      x: an array of numbers; complex ones are compared by their real parts, and have
        no derivative.

    Returns:
      An array of `x`'s shape and dtype.  Where min exceeds max, it is max.

    Raises:
      TypeError: shapes or dtypes are incompatible.

    Example:
      >>> clamp(0, 7, 5)
      Array(5, dtype=int32, weak_type=True)
    """
    return clamp_p.bind(min, x, max)
