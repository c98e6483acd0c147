"""Shared helpers of minijax.numpy: promotion, conversion, axis and dtype arguments.

`promote_args` and related functions convert array-like operands to one dtype and one rank
with as few equations as possible: Python and NumPy scalars become literals, and arrays of
the right type are returned unchanged.  `as_array` makes an array of any array-like value.

This module must not know any NumPy function by name.  Next: ufuncs.py.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...base import config, errors, mixing
from ...base.source import stacklevel
from ...base.util import canonical_axis as canonical_axis
from ...control.arguments import concrete_or_error
from ...control.calls.jit import composite, jit
from ...ir import core
from ...ir.core import STATE, Tracer
from ...ir.core import aval_of as aval_of
from ...ir.jaxpr import Literal
from ...passes.stage import JitTracer, StageTrace
from ...prims import dtype_arguments, lax, promotion
from ...prims.math.cast import scalar
from ...prims.reshard import align_shardings, apply_out_sharding, drop_explicit_sharding
from ...prims.shape.shapes import int_tuple
from ...prims.sharding_specs import canonicalize_out_sharding
from ...runtime.arrays import array as arrays
from ...runtime.arrays import transfers
from ...runtime.arrays.array import ARRAYS, Array
from ...runtime.arrays.transfers import typed_constant
from ...symbolic.dims import SymbolicDim, broadcast_sizes
from ...types import dtypes
from ...types.avals import shaped
from ...types.type_sharding import TypeFlags

__all__ = (
    "ArrayLike", "DTypeLike", "Axis", "is_arraylike", "check_arraylike", "shape_of",
    "as_array", "typed_constant", "from_host", "convert", "strong_unless_scalar", "promote_dtypes",
    "promote_dtypes_inexact", "promote_dtypes_numeric", "promote_shapes",
    "lead_with_ones", "ranked", "check_ranks", "check_rank_promotion", "promote_pair",
    "promote_args", "promote_args_inexact", "promote_args_numeric", "wider",
    "joint_shape", "number", "broadcast_sizes", "broadcast_to", "broadcast_together",
    "choose", "sort_pair", "call_with_out_sharding", "canonical_axes", "has_items",
    "static_axis", "composite_along", "static_shape", "check_sizes", "static_dtype",
    "not_numeric", "not_broadcastable", "no_out", "once", "aval_of", "canonical_axis",
    "is_complex",
)  # fmt: skip

ArrayLike = Any
DTypeLike = Any
Axis = None | int | Sequence[int]

# `mixing` distinguishes the user's promotions from ours by the folders of the frames.
_root, _sep = __file__.rpartition("surface")[0], __file__.rpartition("numpy")[2][0]
mixing.functions.append(f"{_root}surface{_sep}")
mixing.transformations += [f"{_root}{package}{_sep}" for package in ("base", "control", "api")]
_ARRAYLIKE_TYPES = frozenset((Array, np.ndarray, bool, int, float, complex))


# --------------------------------------------------------------------------- operands


def is_arraylike(x: Any) -> bool:
    """Whether `x` is a valid operand: an array, a NumPy array or a number."""
    return type(x) in _ARRAYLIKE_TYPES or core.is_value(x)


def check_arraylike(name: str, *xs: Any) -> None:
    """Raise TypeError unless every operand of `name` is an array or a number."""
    for i, x in enumerate(xs):
        if type(x) not in _ARRAYLIKE_TYPES and not core.is_value(x):
            raise arraylike_error(name, x, i)


def _checked(name: str, xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the operands of `name`, with objects replaced by their arrays."""
    for i, x in enumerate(xs):
        if type(x) not in _ARRAYLIKE_TYPES and not isinstance(x, Tracer):
            if not core.is_value(x):
                raise arraylike_error(name, x, i)
            if (inner := core.unwrapped(x)) is not x:
                return _checked(name, (*xs[:i], inner, *xs[i + 1 :]))
    return xs


def arraylike_error(name: str, x: Any, position: int) -> TypeError:
    """Return the error for an operand that is not an array."""
    tries = ["jnp.asarray(...) around it"]
    if x is None:
        tries = ["leave the argument out, or pass an array"]
    return errors.type_error(
        f"{name} requires ndarray or scalar arguments, got {type(x)} at position {position}.",
        which=f"{x!r}"[:160],
        why="lists, tuples and objects are not converted silently.",
        tries=tries,
    )


def shape_of(x: Any) -> tuple[int, ...]:
    """Return the shape of an array-like value."""
    return aval_of(x).shape


def is_complex(x: Any) -> bool:
    """Whether the dtype of an array-like value is complex."""
    return dtypes.is_complex(aval_of(x).dtype)


def as_array(x: Any) -> Any:
    """Return an array-like value as an Array or tracer; Python numbers stay weakly typed."""
    x = arrays.adopted(x)
    if type(x) in ARRAYS or isinstance(x, Tracer):
        return x
    custom = getattr(x, "__jax_array__", None)
    if custom is not None:
        return as_array(custom())
    aval = aval_of(x)
    if isinstance(x, np.ndarray):
        x = x.astype(aval.dtype, copy=False)
    return from_host(x, aval)


def from_host(x: Any, aval: Any) -> Any:
    """Return a host value as an array of type `aval`; a staged scalar becomes a literal."""
    if not aval.shape and STATE.trace is not core.EVAL:
        for trace in core.trace_stack():
            if type(trace) is StageTrace:  # not a subclass: those record tangents
                if trace.folds:  # constant folding needs the value, not a literal
                    break
                literal = x if aval.weak_type else np.asarray(x, aval.dtype)[()]
                return JitTracer(trace, aval, Literal(literal, aval))  # type: ignore
    return transfers.put_numpy(x, aval)


# -------------------------------------------------------------------------- conversion


def convert(x: Any, dtype: Any, weak: bool = False) -> Any:
    """Convert `x` to a dtype and weak type; a host scalar becomes a literal."""
    aval = aval_of(x)
    if aval.dtype == dtype and aval.weak_type == weak:
        return x
    if not aval.shape:  # a scalar: avoid an equation if its value is a literal
        host = x
        if type(x) is JitTracer and type(x.variable) is Literal:
            host = x.variable.val
        if not isinstance(host, (Array, Tracer)):
            literal = scalar_literal(host, aval, dtype, weak)
            if literal is not None:
                return literal if host is x else as_array(literal)
    return lax.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak, sharding=None)


def strong_unless_scalar(x: Any) -> Any:
    """Return `x`, strongly typed if it has axes, as a constant of its shape would make it."""
    aval = aval_of(x)
    return convert(x, aval.dtype) if aval.weak_type and aval.shape else x


def scalar_literal(x: Any, aval: Any, dtype: Any, weak: bool) -> Any:
    """Return a host scalar of type `dtype`, or None if Python has no such type."""
    if hasattr(x, "__jax_array__") or dtypes.is_extended(dtype):
        return None
    value = scalar(np.asarray(x, aval.dtype), dtype)
    if not weak:
        return value
    value = value.item()
    kind = type(value)
    if kind is not bool and dtypes.scalar_dtype(kind) == dtype:
        return value
    return None


def joint_type(xs: Sequence[Any], types: Sequence[Any]) -> tuple[Any, bool]:
    """Return the promoted dtype and weak type; NumPy scalars alone do not cause 64 bits."""
    dtype, weak = promotion.promote(tuple([(a.dtype, a.weak_type) for a in types]))
    if dtypes.narrow(dtype) is not dtype and not config.X64.value:
        for x, a in zip(xs, types, strict=True):
            if dtypes.narrow(a.dtype) is not a.dtype and not isinstance(x, np.generic):
                return dtype, weak
        dtype = dtypes.narrow(dtype)
    return dtype, weak


def promote_dtypes(*xs: Any) -> Sequence[Any]:
    """Convert operands to their common dtype in the promotion lattice."""
    types = [aval_of(x) for x in xs]
    dtype, weak = types[0].dtype, types[0].weak_type
    for a in types:
        if a.dtype is not dtype or a.weak_type is not weak:
            break
    else:
        return xs
    dtype, weak = joint_type(xs, types)
    return [convert(x, dtype, weak) for x in xs]


def promote_dtypes_inexact(*xs: Any) -> Sequence[Any]:
    """Convert operands to their common dtype; integers and bools become floats."""
    types = [aval_of(x) for x in xs]
    dtype, weak = joint_type(xs, types)
    dtype = dtypes.to_inexact(dtype)
    return [convert(x, dtype, weak) for x in xs]


def wider(x: Any, y: Any) -> Any:
    """Return the common dtype of two inexact dtypes, also where promotion is not allowed."""
    if dtypes.is_complex(x) or dtypes.is_complex(y):
        return dtypes.complex_of(wider(dtypes.real_of(x), dtypes.real_of(y)))
    if x != y and x.itemsize == y.itemsize:
        return dtypes.float32
    return max(x, y, key=lambda dtype: dtype.itemsize)


def promote_dtypes_numeric(*xs: Any) -> Sequence[Any]:
    """Convert operands to their common dtype; bools become int32."""
    types = [aval_of(x) for x in xs]
    dtype, weak = joint_type(xs, types)
    if dtypes.is_bool(dtype):
        dtype = dtypes.int32
    return [convert(x, dtype, weak) for x in xs]


# ------------------------------------------------------------------------------ shapes


def promote_shapes(name: str, *xs: Any) -> Sequence[Any]:
    """Return operands of one rank, with leading axes of size 1; scalars stay scalars."""
    shapes = [aval_of(x).shape for x in xs]
    first = shapes[0]
    for s in shapes:
        if s != first:
            break
    else:
        return xs
    ranks = {len(s) for s in shapes if s}
    if len(ranks) < 2:
        return xs
    check_rank_promotion(name, shapes)
    broadcast_shapes_of(name, *xs)
    rank = max(ranks)
    return [lead_with_ones(x, s, rank) for x, s in zip(xs, shapes, strict=True)]


def lead_with_ones(x: Any, shape: tuple[int, ...], rank: int) -> Any:
    """Return `x` with leading axes of size 1 up to `rank`, unless it is a scalar."""
    missing = rank - len(shape)
    if not shape or not missing:
        return x
    return lax.broadcast_in_dim(x, (1,) * missing + shape, tuple(range(missing, rank)))


def ranked(*xs: Any) -> list[Any]:
    """Return operands of one rank without the rank check of `promote_shapes`."""
    shapes = [aval_of(x).shape for x in xs]
    rank = max(map(len, shapes))
    return [lead_with_ones(x, s, rank) for x, s in zip(xs, shapes, strict=True)]


def check_ranks(
    name: str, batch_shapes: Sequence[tuple[int, ...]], shapes: Sequence[tuple[int, ...]]
) -> None:
    """Apply `check_rank_promotion` to the parts of the operands' shapes that broadcast."""
    if len({*map(len, batch_shapes)}) > 1:
        check_rank_promotion(name, batch_shapes, shapes)


def check_rank_promotion(
    name: str,
    shapes: Sequence[tuple[int, ...]],
    full_shapes: Sequence[tuple[int, ...]] | None = None,
) -> None:
    """Warn or raise if operands differ in rank, according to jax_numpy_rank_promotion.

    `full_shapes` are the operands' shapes, if `shapes` are only parts of them.
    """
    mode = config.RANK_PROMOTION.value
    if mode == "allow":
        return
    if not mixing.by_user(functools.partial(_mixes_ranks, shapes, full_shapes)):
        return
    text = " ".join(map(str, shapes))
    if mode == "raise":
        raise errors.value_error(
            f"Operands could not be broadcast together for {name} on shapes {text}"
            " and with the config option jax_numpy_rank_promotion='raise'.",
            why="their ranks differ.",
            tries=["x[None] or jnp.expand_dims to make the ranks equal"],
        )
    warnings.warn(
        f"Following NumPy automatic rank promotion for {name} on shapes {text}. Set the"
        " jax_numpy_rank_promotion config option to 'allow' to disable this warning.",
        stacklevel=stacklevel(),
    )


def _mixes_ranks(
    shapes: Sequence[tuple[int, ...]],
    full_shapes: Sequence[tuple[int, ...]] | None,
    leaves: Sequence[Any],
) -> bool:
    """Whether two of the values are operands whose `shapes` differ in rank."""
    # Operands are matched by shape, since they may have been copied or converted since.
    passed = [getattr(x, "shape", None) or () for x in leaves]
    ranks, missing = set(), False
    for batch_shape, shape in zip(shapes, full_shapes or shapes, strict=True):
        if shape in passed:
            passed.remove(shape)
            if shape:
                ranks.add(len(batch_shape))
        else:
            missing = True
    if full_shapes and missing:  # as under vmap, where operands have fewer axes
        ranks = {len(getattr(x, "shape", None) or ()) for x in leaves} - {0}
    return len(ranks) > 1


def promote_pair(name: str, x: Any, y: Any) -> Sequence[Any]:
    """Return `promote_args(name, x, y)`, with shortcuts for the most common operands."""
    if isinstance(x, Tracer):
        if isinstance(y, Tracer):
            if x.aval is y.aval:
                return x, y
        elif (scalar := literal_for_aval(y, x.aval)) is not None:
            return x, scalar
    elif isinstance(y, Tracer) and (scalar := literal_for_aval(x, y.aval)) is not None:
        return scalar, y
    return promote_args(name, x, y)


def literal_for_aval(x: Any, aval: Any) -> Any:
    """Return a Python number as a literal of type `aval`, or None if promotion is needed."""
    kind = type(x)
    if dtypes.narrow(aval.dtype) is not aval.dtype and not config.X64.value:
        return None  # promotion decides between 32 bits and the requested 64
    if kind is float:
        if aval.dtype not in _FLOATING:
            return None
    elif kind is not int or not -(2**31) <= x < 2**31:  # larger ints may need 64 bits
        return None
    elif aval.dtype not in _FLOATING:
        return small_integer(x, aval)
    return float(x) if aval.weak_type else aval.dtype.type(x)


def small_integer(x: int, aval: Any) -> Any:
    """Return a Python int as a literal of an integer type, or None if it does not fit."""
    if aval.dtype not in _INTEGRAL:
        return None
    if aval.weak_type:
        return x
    try:
        return aval.dtype.type(x)
    except OverflowError:
        return None


_FLOATING = frozenset((dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64))
_INTEGRAL = frozenset((*dtypes.SIGNED, *dtypes.UNSIGNED))


def _promoted(name: str, promote: Callable[..., Any], xs: Sequence[Any]) -> Sequence[Any]:
    """Promote operands to one dtype; ElementError if one has a dtype such as random keys."""
    try:
        return promote(*xs)
    except promotion.OpaqueDtypeError as e:
        dtype_names = ", ".join(str(aval_of(x).dtype) for x in xs)
        raise errors.error(
            errors.ElementError,
            f"{name} does not accept dtypes {dtype_names}.",
            why="random keys and integer tangents (float0) are not numeric.",
            tries=["random.key_data(key), the numbers inside"],
        ) from e


def number(n: Any, dtype: Any) -> Any:
    """Return a size as a scalar of this dtype; a symbolic dimension becomes a value."""
    return convert(n, dtype) if isinstance(n, SymbolicDim) else typed_constant(n, dtype)


def promote_args(name: str, *xs: Any) -> Sequence[Any]:
    """Promote array-like operands to one dtype and rank."""
    xs = _checked(name, xs)
    return promote_shapes(name, *_promoted(name, promote_dtypes, xs))


def promote_args_inexact(name: str, *xs: Any) -> Sequence[Any]:
    """Promote array-like operands to one rank and one float or complex dtype."""
    xs = _checked(name, xs)
    return promote_shapes(name, *_promoted(name, promote_dtypes_inexact, xs))


def promote_args_numeric(name: str, *xs: Any) -> Sequence[Any]:
    """Promote array-like operands to one rank and one dtype that is not bool."""
    xs = _checked(name, xs)
    return promote_shapes(name, *_promoted(name, promote_dtypes_numeric, xs))


def broadcast_shapes_of(name: str, *xs: Any) -> tuple[int, ...]:
    """Return the shape that array-like operands broadcast to."""
    shapes = [aval_of(x).shape for x in xs]
    first = shapes[0]
    if all(s == first for s in shapes):
        return first
    try:
        return broadcast_sizes(*shapes)
    except ValueError:
        raise errors.shape_error(
            f"{name}: Incompatible shapes for broadcasting: {', '.join(map(str, shapes))}.",
            why="aligned at the last axis, sizes must be equal or 1.",
            tries=["x[:, None] or jnp.expand_dims to align the axes"],
        ) from None


def joint_shape(op: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the broadcast shape; raise the operation's ShapeError if there is none."""
    try:
        return broadcast_sizes(*shapes)
    except ValueError:
        raise errors.shape_error(
            f"{op} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}.",
            why="aligned at the last axis, sizes must be equal or 1.",
        ) from None


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Repeat `x` to `shape`, which it must broadcast to."""
    old = aval_of(x).shape
    if old == shape:
        return x
    missing = len(shape) - len(old)
    return lax.broadcast_in_dim(x, shape, tuple(range(missing, len(shape))))


def broadcast_together(shape: tuple[int, ...], *xs: Any) -> list[Any]:
    """Repeat values to `shape`; if any is repeated, give all of them the same sharding."""
    out = [broadcast_to(x, shape) for x in xs]
    if TypeFlags.has_sharded_types and any(x is not y for x, y in zip(xs, out, strict=True)):
        return align_shardings("broadcast_shardings", out)
    return out


def call_with_out_sharding(
    name: str, out_sharding: Any, fun: Callable[..., Any], xs: Sequence[Any], *options: Any
) -> Any:
    """Call `fun(xs, *options)` with its result sharded as `out_sharding`.

    Inside `fun`, types have no explicit sharding, and the compiler moves data as needed.
    `fun` must be one program: the results of separate operations would get XLA's sharding.
    """
    if all(aval_of(x).type_sharding.explicit is None for x in xs):
        return apply_out_sharding(name, fun(xs, *options), out_sharding)
    target_sharding = canonicalize_out_sharding(name, out_sharding, *xs)
    if isinstance(STATE.trace, StageTrace):
        return _call_with_out_sharding(name, target_sharding, fun, xs, options)
    out = _compiled_call_with_out_sharding(name, target_sharding, fun, list(xs), options)
    return apply_out_sharding(name, out, out_sharding)


def _call_with_out_sharding(
    name: str, target_sharding: Any, fun: Any, xs: Sequence[Any], options: Any
) -> Any:
    return apply_out_sharding(
        name, fun(list(map(drop_explicit_sharding, xs)), *options), target_sharding
    )


_compiled_call_with_out_sharding = jit(
    _call_with_out_sharding, static_argnames=("name", "target_sharding", "fun", "options")
)


def choose(which: Any, x: Any, y: Any) -> Any:
    """Return `x` where `which` is true and `y` elsewhere, after promotion and broadcasting."""
    x, y = promote_dtypes(x, y)
    shape = broadcast_shapes_of("where", which, x, y)
    if aval_of(which).shape:
        which, x, y = broadcast_together(shape, which, x, y)
    else:
        x, y = broadcast_together(shape, x, y)
    return lax.select_n_p.bind(which, y, x)


def sort_pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the smaller and the larger of two real operands of one dtype.

    Use it where a smooth symmetric function sorts its arguments: at ties, derivatives of
    every order are taken of one branch.  `lax.min` and `lax.max` average the branches at
    ties, which makes second derivatives of such functions wrong.
    """
    swap = lax.ge(x, y)
    return choose(swap, y, x), choose(swap, x, y)


# --------------------------------------------------------------------------- arguments


def canonical_axes(axis: Any, ndim: int, what: str = "axis") -> tuple[int, ...]:
    """Return axes as a tuple of distinct non-negative ints; None means all axes."""
    if axis is None:
        return tuple(range(ndim))
    if not has_items(axis):
        return (canonical_axis(axis, ndim, what),)
    items = tuple(axis)
    axes = tuple([canonical_axis(a, ndim, what) for a in items])
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in {what!r}: {items}")
    return axes


def has_items(axis: Any) -> bool:
    """Whether an axis argument holds several axes: a sequence, an array, a range ..."""
    if type(axis) is int or isinstance(axis, str) or getattr(axis, "ndim", 1) == 0:
        return False
    return isinstance(axis, Iterable)


def static_axis(axis: Any) -> Any:
    """Return an axis argument in hashable form: None, an int or a tuple of ints."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, Tracer):
        axis = concrete_or_error(None, axis, "The axis argument must be known statically.")
    return tuple(map(operator.index, axis)) if has_items(axis) else operator.index(axis)


def composite_along(*static: str, position: int = 1) -> Callable[[Any], Any]:
    """Declare a `composite` along an axis, which may also be an array of one number.

    `static` names the arguments, besides `axis`, that are not arrays.
    """

    def declare(fun: Any) -> Any:
        compiled = composite(fun, static=("axis", *static))

        @functools.wraps(fun)
        def public(*args: Any, **kwargs: Any) -> Any:
            if len(args) > position:
                axis = args[position]
                if axis is not None and type(axis) is not int:
                    axis = operator.index(axis)
                    args = (*args[:position], axis, *args[position + 1 :])
            elif type(axis := kwargs.get("axis")) is not int and axis is not None:
                kwargs["axis"] = operator.index(axis)
            return compiled(*args, **kwargs)

        return public

    return declare


def static_shape(shape: Any, name: str = "shape") -> tuple[int, ...]:
    """Return a shape argument as a tuple of ints; an int means one axis."""
    if type(shape) is tuple and {*map(type, shape)} <= _INTS:  # not bool, nor a SymbolicDim
        return shape
    if (
        not isinstance(shape, (tuple, list, np.ndarray, Array))
        and not hasattr(shape, "__iter__")
    ) or not getattr(shape, "shape", (1,)):
        shape = (shape,)
    return int_tuple(shape, name)


_INTS = {int}


def check_sizes(shape: Sequence[int], name: str) -> None:
    """Raise ShapeError if a size is negative."""
    if any(n < 0 for n in shape):
        raise errors.ShapeError(
            f"{name} shape must have every element be nonnegative, got {tuple(shape)}."
        )


def static_dtype(dtype: Any, name: str) -> Any:
    """Return a dtype argument as an np.dtype that arrays can have; None stays None."""
    if dtype is None:
        return None
    np_dtype = dtype
    if not isinstance(dtype, np.dtype):
        dtypes.check_dtype_argument(dtype, name)
        np_dtype = getattr(dtype, "dtype", None)
    if isinstance(np_dtype, np.dtype) and np_dtype in _SAFE:
        return np_dtype
    return dtype_arguments.requested_dtype(dtype, name)


# Dtypes of at most 32 bits, which `requested_dtype` would return without a warning.
_SAFE = frozenset(
    (
        dtypes.bool_,
        *dtypes.SIGNED[:-1],
        *dtypes.UNSIGNED[:-1],
        dtypes.float16,
        dtypes.bfloat16,
        dtypes.float32,
        dtypes.complex64,
    )
)


def not_numeric(x: Any, dtype: Any) -> str:
    """Return the message for a value whose elements are not numeric."""
    return errors.message(
        f"Value '{str(x)[:80]}' with dtype {dtype} is not a valid JAX array type. Only"
        " arrays of numeric types are supported by JAX.",
        tries=["a nested list of numbers", "encode strings and objects as integers"],
    )


def not_broadcastable(x: Any, shape: tuple[int, ...]) -> str:
    """Return the message for a value that does not broadcast to a shape."""
    aval = aval_of(x)
    requested = shaped(shape, aval.dtype, aval.weak_type)
    what = (
        f"Incompatible types for broadcasting: input type={aval.str_short(False)} and"
        f" requested type={requested.str_short(False)}"
    )
    if len(aval.shape) > len(shape):
        what = "Cannot broadcast to shape with fewer dimensions:"
        what += f" arr_shape={aval.shape} shape={shape}"
    return errors.message(
        what,
        why="aligned at the last axis, sizes must be equal or 1.",
        tries=["x[:, None] or jnp.expand_dims to align the axes", "x.sum(axis)"],
    )


def no_out(name: str, out: Any) -> None:
    """Raise NotImplementedError if `out` is given: arrays are immutable."""
    if out is not None:
        raise NotImplementedError(
            f"The 'out' argument to jnp.{name} is not supported.\n"
            "Why: arrays are immutable.\nTry: use the result."
        )


# ----------------------------------------------------------------------- one operand


def once(op: Callable[..., Any], *static: str) -> Callable[..., Any]:
    """Return a function that applies `op` to tracers and calls it compiled on other values."""
    compiled = composite(op, static=static)

    def apply(x: Any, *params: Any) -> Any:
        return op(x, *params) if isinstance(x, Tracer) else compiled(x, *params)

    return apply
