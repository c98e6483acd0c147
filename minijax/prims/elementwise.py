"""Declaration of elementwise primitives: one call sets every rule.

`nary` fills in the shape rule (equal shapes; a scalar or an axis of size 1 repeats),
the dtype rule, jvp, batch and lowering of an elementwise primitive; a linear one also
passes its transpose.  `defjvp` builds a jvp rule from one function per operand.

    sin_p = nary('sin', [INEXACT], lower='sine', jvp=[lambda t, ans, x: mul(t, cos(x))])

Operands reach a primitive without conversion: a Python scalar keeps its own dtype, and
unequal dtypes are an error.  Next: math/cast.py, math/logic.py, math/algebraic.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..base import errors
from ..ir import core
from ..ir.core import Primitive
from ..ir.facts import Facts
from ..passes import ad_util
from ..passes.ad_util import Zero, core_ops
from ..runtime.arrays.array import ARRAYS
from ..runtime.arrays.transfers import typed_constant
from ..symbolic.dims import SymbolicDim
from ..types import dtypes
from ..types.avals import ShapedArray, shaped
from .sharding_specs import elementwise_specs

__all__ = (
    "Rule", "KEY", "INT", "SIGNED", "FLOAT", "COMPLEX", "INEXACT", "NUMBER", "ANY", "BITS",
    "broadcast_shape", "check_kind", "same_dtype", "weak_if_operands", "defjvp", "linear_jvp",
    "linear_in_first", "zero_jvp", "batch_elementwise", "same_lanes", "broadcast_operands",
    "lower_elementwise", "emit_compare", "emit_precedes", "nary", "const",
    "derivative_constant", "filled", "is_array", "repeat_like", "unbroadcast",
)  # fmt: skip

Rule = Callable[..., Any]

BOOL = frozenset(("bool",))
KEY = frozenset(("key",))
INT = frozenset(("int", "uint"))
SIGNED = frozenset(("int",))
UNSIGNED = frozenset(("uint",))
FLOAT = frozenset(("float",))
COMPLEX = frozenset(("complex",))
INEXACT = FLOAT | COMPLEX
NUMBER = INT | INEXACT
ANY = NUMBER | BOOL
BITS = INT | BOOL


# ------------------------------------------------------------------ types of results


def broadcast_shape(name: str, avals: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape of an elementwise result: scalars and axes of size 1 repeat."""
    shape: tuple[int, ...] = avals[0].shape
    if all(a.shape == shape for a in avals):
        return shape
    ranks = {len(a.shape) for a in avals if a.shape}
    if len(ranks) == 1:
        columns = zip(*(a.shape for a in avals if a.shape), strict=True)
        out = []
        for sizes in columns:
            wide = {n for n in sizes if n != 1}
            if len(wide) > 1:
                break
            out.append(wide.pop() if wide else 1)
        else:
            return tuple(out)
    what = (
        f"{name} got incompatible shapes for broadcasting:"
        f" {', '.join(str(tuple(a.shape)) for a in avals)}."
    )
    if len(ranks) > 1:
        what = f"{name}: arrays must have the same number of dimensions, got {ranks}"
    raise errors.shape_error(
        what,
        which=", ".join(a.str_short(True) for a in avals),
        why="Shapes must be equal, except for scalars and axes of size 1.",
        tries=[f"minijax.numpy.{name} broadcasts as NumPy does", "lax.reshape"],
    )


def check_kind(name: str, aval, kinds: frozenset[str], position: int, n: int) -> None:
    """Raise TypeError unless the aval's dtype is of one of `kinds`."""
    if not isinstance(aval, ShapedArray):
        raise TypeError(f"{name} takes arrays, got {aval.str_short(True)}.")
    if dtypes.kind(aval.dtype) not in kinds:
        which = f" at position {position}" if n > 1 else ""
        raise errors.type_error(
            f"{name} does not accept dtype {aval.dtype}{which}. Accepted"
            f" dtypes{which} are subtypes of {categories(kinds)}.",
            which=aval.str_short(True),
            tries=["convert the argument with .astype(...)"],
        )


def categories(kinds: frozenset[str]) -> str:
    """Return NumPy's names of kinds of dtypes, as one text."""
    names = {"float": "floating", "complex": "complexfloating", "uint": "integer"}
    signed = "integer" if "uint" in kinds else "signedinteger"
    present = {signed if k == "int" else names.get(k, k) for k in kinds}
    display_order = ("signedinteger", "integer", "floating", "complexfloating", "bool")
    return ", ".join(
        [k for k in display_order if k in present] + sorted(present.difference(display_order))
    )


def same_dtype(name: str, avals: Sequence[Any], similar: str = "") -> Any:
    """Return the dtype of all avals; TypeError if they differ."""
    dtype = avals[0].dtype
    for a in avals:
        if a.dtype != dtype:
            dtype_names = ", ".join(str(getattr(a.dtype, "name", a.dtype)) for a in avals)
            similar = similar or SIMILAR.get(name, "")
            tip = f" (Tip: jnp.{similar} is a similar function that does automatic type"
            tip += " promotion on inputs)."
            raise errors.type_error(
                f"lax.{name} requires arguments to have the same dtypes, got"
                f" {dtype_names}.{tip if similar else ''}",
                which=", ".join(a.str_short(True) for a in avals),
                why="lax functions do not promote.",
                tries=["lax.convert_element_type(x, dtype)"],
            )
    return dtype


SIMILAR = {
    "concatenate": "concatenate",
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "max": "maximum",
    "min": "minimum",
    "atan2": "arctan2",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "shift_left": "left_shift",
    "shift_right_arithmetic": "right_shift",
    "shift_right_logical": "right_shift",
    "rem": "remainder",
    "nextafter": "nextafter",
    "pow": "power",
}


def weak_if_operands(rule: Rule) -> Rule:
    """Wrap a type rule so that its results are weakly typed if all operands are."""

    @functools.wraps(rule)
    def abstract(*avals: Any, **params: Any) -> Any:
        out = rule(*avals, **params)
        weak = all(a.weak_type for a in avals)
        if isinstance(out, list):
            return [a.update(weak_type=weak) for a in out]
        return out.update(weak_type=weak)

    return abstract


# ------------------------------------------------------------------------------- jvp


def defjvp(prim: Primitive, rules: Sequence[Rule | None]) -> None:
    """Set the jvp of a single-result primitive from one rule per operand.

    rule(tangent, ans, *primals, **params) returns that operand's term of the tangent.  None
    means that the result does not depend on the operand differentiably.
    """

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], /, **params: Any) -> Any:
        ans = prim.bind(*primals, **params)
        total: Any = None
        for rule, t in zip(rules, tangents, strict=True):
            if rule is not None and type(t) is not Zero:
                contribution = rule(t, ans, *primals, **params)
                total = contribution if total is None else ad_util.add(total, contribution)
        if total is None:
            total = Zero(core.aval_of(ans).to_tangent())
        return ans, total

    prim.jvp = jvp


def linear_jvp(prim: Primitive) -> None:
    """Set the jvp of a primitive that is linear in all operands together."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], /, **params: Any) -> Any:
        ans = prim.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            return ans, Zero(core.aval_of(ans).to_tangent())
        return ans, prim.bind(*map(ad_util.instantiate, tangents), **params)

    prim.jvp = jvp
    prim.def_sharding(linear_in="together")


def linear_in_first(prim: Primitive, transpose: Rule | None = None) -> None:
    """Set jvp (and transpose) of a primitive linear in operand 0, the rest constant."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], /, **params: Any) -> Any:
        ans = prim.bind(*primals, **params)
        t = tangents[0]
        if type(t) is Zero:
            return ans, Zero(core.aval_of(ans).to_tangent())
        return ans, prim.bind(t, *primals[1:], **params)

    prim.jvp = jvp
    prim.def_sharding(linear_in="first")
    if transpose is not None:
        prim.transpose = transpose


def zero_jvp(prim: Primitive) -> None:
    """Set the jvp of a primitive whose results have zero tangents."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], /, **params: Any) -> Any:
        ans = prim.bind(*primals, **params)
        if prim.multiple_results:
            return ans, [Zero(core.aval_of(x).to_tangent()) for x in ans]
        return ans, Zero(core.aval_of(ans).to_tangent())

    prim.jvp = jvp


# ----------------------------------------------------------------- batch and lowering


def batch_elementwise(prim: Primitive) -> None:
    """Set the batch rule: align the lane axes, and broadcast shared operands."""

    def batch(axis, args: Sequence[Any], dims: Sequence[Any], /, **params):
        shapes = [core.aval_of(x).shape for x in args]
        lined, lane = same_lanes(args, shapes, dims)
        if lined is None:
            rank = max(len(s) - (d is not None) for s, d in zip(shapes, dims, strict=True))
            lined, lane = [], 0
            for x, d, s in zip(args, dims, shapes, strict=True):
                if d is None:
                    # The primitive broadcasts scalars; a shared array needs a lane axis.
                    lined.append(expand(x, (0,)) if s else x)
                else:
                    lined.append(x if d == 0 else core_ops.move_axis(x, d, 0))
            for i, (d, s) in enumerate(zip(dims, shapes, strict=True)):
                if d is not None and len(s) <= rank:  # its lanes have fewer axes
                    lined[i] = expand(lined[i], range(len(s), rank + 1))
        return prim.bind(*lined, **params), lane

    prim.batch = batch


def expand(x: Any, axes: Sequence[int]) -> Any:
    """Return `x` with axes of size 1 at these ascending positions of the result."""
    shape = list(core.aval_of(x).shape)
    for i in axes:
        shape.insert(i, 1)
    dims = tuple(i for i in range(len(shape)) if i not in axes)
    return core_ops.broadcast_in_dim(x, tuple(shape), dims)


def same_lanes(
    args: Sequence[Any], shapes: Sequence[Any], dims: Sequence[Any]
) -> tuple[Sequence[Any] | None, int]:
    """Return the operands if their lane axes are aligned, or None; and a lane axis."""
    lane, shape = next((d, s) for d, s in zip(dims, shapes, strict=True) if d is not None)
    for d, s in zip(dims, shapes, strict=True):
        if (d != lane or s != shape) and (d is not None or s):
            return None, lane
    return args, lane


def broadcast_operands(ctx, operands: Sequence[Any], shape: Sequence[int]) -> list[Any]:
    """Emit the repetition of scalars and size-1 axes to `shape`."""
    out = []
    for x, aval in zip(operands, ctx.avals_in, strict=True):
        if aval.shape == shape:
            out.append(x)
        elif not aval.shape:
            out.append(ctx.repeat(x, shaped(tuple(shape), aval.dtype)))
        else:
            wide = shaped(tuple(shape), aval.dtype)
            dims = ctx.i64s(range(len(shape)))
            out.append(ctx.op("broadcast_in_dim", wide, x, broadcast_dimensions=dims))
    return out


def lower_elementwise(op: str) -> Rule:
    """Return a lowering rule that emits `stablehlo.<op>`, or `op` if its name has a dot."""
    full = op if "." in op else "stablehlo." + op

    def lower(ctx: Any, /, *operands: Any, **params: Any) -> Any:
        out = ctx.avals_out[0]
        shape = out.shape
        for a in ctx.avals_in:
            if a.shape != shape:
                operands = tuple(broadcast_operands(ctx, operands, shape))
                break
        return ctx.create(full, [ctx.type(out)], operands).result

    return lower


def emit_compare(ctx, direction: str, x, y, aval, total: bool = False):
    """Emit a comparison (EQ, NE, LT ...) of two values of type `aval`.

    total: whether floats are compared in their total order, in which NaN equals itself.
    """
    kind = _COMPARE_KINDS[dtypes.kind(aval.dtype)]
    if total and kind == "FLOAT":
        kind = "TOTALORDER"
    return ctx.op(
        "compare",
        shaped(aval.shape, dtypes.bool_),
        x,
        y,
        comparison_direction=ctx.parse(f"#stablehlo<comparison_direction {direction}>"),
        compare_type=ctx.parse(f"#stablehlo<comparison_type {kind}>"),
    )


def emit_precedes(ctx: Any, direction: str, x: Any, y: Any, aval: Any) -> Any:
    """Emit GT or LT; complex numbers are ordered by real part, then imaginary part."""
    if not dtypes.is_complex(aval.dtype):
        return emit_compare(ctx, direction, x, y, aval)
    part_aval = shaped(aval.shape, dtypes.real_of(aval.dtype))
    flags = shaped(aval.shape, dtypes.bool_)
    xr, yr = (ctx.op("real", part_aval, z) for z in (x, y))
    xi, yi = (ctx.op("imag", part_aval, z) for z in (x, y))
    tie = emit_compare(ctx, "EQ", xr, yr, part_aval)
    by_real = emit_compare(ctx, direction, xr, yr, part_aval)
    by_imag = emit_compare(ctx, direction, xi, yi, part_aval)
    return ctx.op("select", flags, tie, by_imag, by_real)


_COMPARE_KINDS = {
    "bool": "UNSIGNED",
    "int": "SIGNED",
    "uint": "UNSIGNED",
    "float": "FLOAT",
    "complex": "FLOAT",
    "float0": "UNSIGNED",
}


def nary(
    name: str,
    accepts: Sequence[frozenset[str]],
    *,
    lower: str | Rule,
    jvp: Sequence[Rule | None] | None = None,
    transpose: Rule | None = None,
    out_dtype: Callable[..., Any] | None = None,
    same: bool = True,
    **facts: Any,
) -> Primitive:
    """Declare an elementwise primitive with one operand for each item of `accepts`.

    jvp: one rule per operand (see `defjvp`), or None if the tangent is always zero.
    out_dtype(*avals) returns the result's dtype (default: the first operand's).  `same`
    requires equal dtypes.  A result is weakly typed if all operands are.  `facts` are its
    `Facts` besides `elementwise`.
    """
    prim = Primitive(name)
    prim.facts = Facts(elementwise=True, **facts)
    n = len(accepts)

    def abstract(*avals: Any, **params: Any) -> Any:
        for i, (a, kinds) in enumerate(zip(avals, accepts, strict=True)):
            check_kind(name, a, kinds, i, n)
        dtype = same_dtype(name, avals) if same else avals[0].dtype
        if out_dtype is not None:
            dtype = out_dtype(*avals)
        weak = all(a.weak_type for a in avals)
        return shaped(broadcast_shape(name, avals), dtype, weak)

    prim.abstract = abstract
    if jvp is None:
        zero_jvp(prim)
    else:
        defjvp(prim, jvp)
    if transpose is not None:
        prim.transpose = transpose
    batch_elementwise(prim)
    prim.def_sharding(specs=elementwise_specs(name))
    prim.lower = lower_elementwise(lower) if isinstance(lower, str) else lower
    return prim


# ---------------------------------------------------------- constants and cotangents


def is_array(x: Any) -> bool:
    """Whether `x` is an array or a tracer, which a no-op may return unchanged."""
    return type(x) in ARRAYS or isinstance(x, core.Tracer)


def const(x: Any, value: Any) -> Any:
    """Return the scalar `value` in the dtype of `x`, weakly typed if `x` is."""
    aval = core.aval_of(x)
    dtype = aval.dtype
    if aval.weak_type:
        kind = _PYTHON_KIND[dtypes.kind(dtype)]
        if dtypes.scalar_dtype(kind) == dtype:
            return value if isinstance(value, SymbolicDim) else kind(value)
    return typed_constant(value, dtype)


def derivative_constant(x: Any, value: Any) -> Any:
    """Return `const(x, value)`, but weakly typed only if `x` is a scalar, as in JAX."""
    aval = core.aval_of(x)
    return typed_constant(value, aval.dtype) if aval.shape else const(x, value)


_PYTHON_KIND: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "uint": int,
    "float": float,
    "complex": complex,
}


def filled(x: Any, value: Any) -> Any:
    """Return an array of `value` with the shape and dtype of `x`."""
    scalar, shape = const(x, value), core.aval_of(x).shape
    return core_ops.broadcast_in_dim(scalar, shape, ()) if shape else scalar


def repeat_like(t: Any, ans: Any) -> Any:
    """Return a tangent broadcast to the shape of the result."""
    shape, t_shape = core.aval_of(ans).shape, core.aval_of(t).shape
    if t_shape == shape:
        return t
    dims = tuple(i for i, n in enumerate(t_shape) if n == shape[i])
    if len(dims) < len(t_shape):
        t = core_ops.reshape(t, tuple(shape[i] for i in dims))
    return core_ops.broadcast_in_dim(t, shape, dims)


def unbroadcast(x: Any, aval: Any) -> Any:
    """Sum a cotangent over the axes along which an operand of type `aval` was broadcast."""
    shape = core.aval_of(x).shape
    if shape == aval.shape:
        return x
    if not aval.shape:
        return core_ops.sum(x, tuple(range(len(shape))))
    axes = tuple(i for i, (m, n) in enumerate(zip(shape, aval.shape, strict=True)) if m != n)
    return core_ops.reshape(core_ops.sum(x, axes), aval.shape)
