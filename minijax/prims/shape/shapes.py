"""Primitives that change an array's shape or the order of its axes, not its elements.

Each is one block: type, transpose, batch, lowering.  All are linear in operand 0, so their
jvp binds the same primitive (`linear_in_first`).  Types are checked in the type rule, which
runs once per combination of types.  Functions only normalise their arguments and return
operands unchanged where the operation would be a no-op.

Primitives that join and split arrays are in concatenation.py.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...base.util import canonical_axis
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import FORWARDS, SPLITS, Facts
from ...passes.ad_util import core_ops
from ...runtime.sharding.partition_spec import PartitionSpec
from ...symbolic.dims import SymbolicDim, is_negative
from ...text import tracer_errors
from ...types.avals import AbstractValue, shaped
from ...types.type_sharding import axes_in
from ..elementwise import (
    is_array,
    linear_in_first,
)
from ..sharding_specs import (
    add_lane_to_sharding,
    ambiguous_sharding_error,
    canonicalize_out_sharding,
    first_operand_specs,
    sharding_for_aval,
)

__all__ = (
    "broadcast_in_dim_p",
    "broadcast_in_dim",
    "broadcast",
    "broadcast_to_rank",
    "broadcast_shapes",
    "broadcast_like",
    "reshape_p",
    "reshape",
    "collapse",
    "transpose_p",
    "transpose",
    "squeeze_p",
    "squeeze",
    "expand_dims",
    "rev_p",
    "rev",
    "copy_p",
)

Rule = Callable[..., Any]


# ----------------------------------------------------------------------- helpers


def primitive(
    name: str,
    *,
    type: Rule,
    batch: Rule,
    lower: Rule,
    jvp: Rule | None = None,
    transpose: Rule | None = None,
    many: bool = False,
    specs: Rule | None = None,
    **facts: Any,
) -> Primitive:
    """Declare a primitive by its rules and facts; without `jvp` it is linear in operand 0."""
    prim = Primitive(name, multiple_results=many)
    prim.abstract = type
    prim.batch = batch
    prim.lower = lower
    prim.def_sharding(specs=specs)
    prim.facts = Facts(**facts)
    if jvp is None:
        linear_in_first(prim)
    else:
        prim.jvp = jvp
    if transpose is not None:
        prim.transpose = transpose
    return prim


def shape_of(x: Any) -> tuple[int, ...]:
    """Return the shape of a value."""
    return tuple(core.aval_of(x).shape)


def problem(
    error: type[Exception], what: str, *values: Any, why: str, tries: Sequence[str] = ()
) -> Exception:
    """Return an error in minijax's form about values or abstract values."""
    avals = [v if isinstance(v, AbstractValue) else core.aval_of(v) for v in values]
    return errors.error(
        error,
        what,
        which=", ".join(a.str_short(True) for a in avals) or None,
        where=core.stack_text(),
        why=why,
        tries=list(tries),
    )


type_problem = functools.partial(problem, TypeError)
value_problem = functools.partial(problem, ValueError)
shape_problem = functools.partial(problem, errors.ShapeError)


def int_tuple(values: Any, what: str) -> tuple[int, ...]:
    """Return a sequence as a tuple of ints; raise TypeError for anything else."""
    if isinstance(values, _NO_SEQUENCES):
        raise _shape_error(values, what)
    try:
        return tuple(map(operator.index, values))
    except TypeError:
        if isinstance(values, (tuple, list)) and builtins.any(
            isinstance(v, SymbolicDim) for v in values
        ):
            sizes: Any = (size_of(v, what) for v in values)
            return tuple(sizes)
        raise _shape_error(values, what) from None


# Iterables that may contain ints but are not shapes.
_NO_SEQUENCES = (str, bytes, dict, set, frozenset)


def shape_tuple(shape: Any, what: str = "shape") -> tuple[int, ...]:
    """Return a shape as a tuple; one integer is the shape of an array of one axis."""
    one = isinstance(shape, (int, SymbolicDim))
    return int_tuple((shape,) if one else shape, what)


def size_of(value: Any, what: str) -> Any:
    """Return a size as an int or a `SymbolicDim`; raise TypeError for anything else."""
    return value if isinstance(value, SymbolicDim) else int_tuple([value], what)[0]


def _shape_error(values: Any, what: str) -> TypeError:
    text = f"Shapes must be 1D sequences of concrete values of integer type, got {values}."
    why = f"{what}: a shape is part of the program, not of its data."
    items = values if isinstance(values, (tuple, list)) else (values,)
    traced = [v for v in items if isinstance(v, core.Tracer)]
    if not traced:
        return errors.type_error(text, why=why, tries=["a tuple of Python ints"])
    tries = [
        "x.shape and NumPy functions of it, which are known while tracing",
        "static_argnums or static_argnames for arguments that are sizes",
    ]
    return TypeError(tracer_errors.needs_value(traced[0], core.STATE.trace, text, why, tries))


def check_sizes(name: str, what: str, sizes: Sequence[int]) -> None:
    """Raise ShapeError if any size is negative."""
    if is_negative(sizes):
        raise shape_problem(
            f"{name} {what} must have every element be nonnegative, got {sizes}.",
            why="Sizes and positions cannot be negative here.",
            tries=[f"compute {what} from x.shape"],
        )


def lane_first(x: Any, dim: int) -> Any:
    """Return `x` with its lane axis moved to the front."""
    return x if dim == 0 else core_ops.move_axis(x, dim, 0)


# ------------------------------------------------------------------- broadcast_in_dim


def _broadcast_type(x, *, shape, broadcast_dimensions, sharding):
    check_sizes("broadcast_in_dim", "shape", shape)
    check_sizes("broadcast_in_dim", "broadcast_dimensions", broadcast_dimensions)
    dims = broadcast_dimensions
    ndim = len(x.shape)
    if len(shape) < ndim:
        what = "target broadcast shape must have equal or higher rank to the operand"
        what += f" shape; got operand ndim {ndim} and target broadcast ndim"
        what += f" {len(shape)}."
        why = "No axis is dropped."
    elif len(dims) != ndim:
        what = "broadcast_dimensions must have length equal to operand ndim; got"
        what += f" broadcast_dimensions {dims} for operand ndim {ndim}."
        why = "Each axis needs a position."
    elif any(d >= len(shape) for d in dims):
        what = "broadcast_dimensions must be a subset of output dimensions,"
        what += f" got {dims} for operand ndim {ndim} and shape {shape}."
        why = "The result has fewer axes."
    elif any(n not in (1, shape[d]) for n, d in zip(x.shape, dims, strict=True)):
        what = "operand dimension sizes must either be 1, or be equal to their"
        what += " corresponding dimensions in the target broadcast shape; got operand"
        what += f" of shape {x.shape}, target broadcast shape {shape},"
        what += f" broadcast_dimensions {dims}"
        why = "An axis of size 1 repeats, and others keep their size."
    elif len(set(dims)) < len(dims):
        what = f"broadcast_dimensions must not contain duplicates, got {dims}"
        why = "Two axes cannot have the same position."
    else:
        return shaped(shape, x.dtype, x.weak_type)
    raise shape_problem(
        f"broadcast_in_dim {what}",
        x,
        why=why,
        tries=["minijax.numpy.broadcast_to, which aligns axes from the last"],
    )


def _broadcast_transpose(ct, x, *, shape, broadcast_dimensions, sharding) -> list[Any]:
    old = x.aval.shape
    repeated_dims = [(d, i) for i, d in enumerate(broadcast_dimensions) if old[i] != 1]
    operand_dims = {d for d, _ in repeated_dims}
    axes = tuple(d for d in range(len(shape)) if d not in operand_dims)
    out = core_ops.sum(ct, axes) if axes else ct
    operand_axes = [
        i for _, i in sorted(repeated_dims)
    ]  # the operand's axes in the order of `out`
    if operand_axes != sorted(operand_axes):
        out = transpose(out, tuple(np.argsort(operand_axes).tolist()))
    return [expand_dims(out, [i for i, n in enumerate(old) if n == 1])]


def _broadcast_batch(axis, args, dims, *, shape, broadcast_dimensions, sharding):
    x = lane_first(args[0], dims[0])
    out = broadcast_in_dim_p.bind(
        x,
        shape=(axis.size, *shape),
        broadcast_dimensions=(0, *(d + 1 for d in broadcast_dimensions)),
        sharding=add_lane_to_sharding(axis, sharding, 0),
    )
    return out, 0


def _broadcast_lower(ctx, x, *, shape, broadcast_dimensions, sharding):
    dims = ctx.i64s(broadcast_dimensions)
    return ctx.op("broadcast_in_dim", ctx.avals_out[0], x, broadcast_dimensions=dims)


def _broadcast_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    spec: list[Any] = [None] * len(outs[0].shape)
    for d, entry in zip(params["broadcast_dimensions"], specs[0], strict=True):
        spec[d] = entry
    return [tuple(spec)]


broadcast_in_dim_p = primitive(
    "broadcast_in_dim",
    type=_broadcast_type,
    transpose=_broadcast_transpose,
    batch=_broadcast_batch,
    lower=_broadcast_lower,
    specs=_broadcast_specs,
    data_movement="in order",
    makes_no_nans=True,
    keeps_nans=True,
    keeps_finite=True,
    uses_keys=FORWARDS,
    pretty={"shape": ..., "broadcast_dimensions": (), "sharding": ...},
)
broadcast_in_dim_p.def_sharding(request="sharding")


def broadcast_in_dim(
    operand: Any, shape: Any, broadcast_dimensions: Any, *, out_sharding: Any = None
) -> Any:
    """Repeat an array to `shape`; its axis i becomes axis `broadcast_dimensions[i]`.

    Args:
      operand: an array; an axis has size 1 or the size of the axis that it becomes.
      shape: the shape of the result.
      broadcast_dimensions: one axis of the result for each axis of `operand`.
      out_sharding: the sharding of the result (None: the compiler's choice).

    Returns:
      An array of `shape` and `operand`'s dtype.

    Raises:
      TypeError: the shapes are incompatible.

    Example:
      >>> import minijax.numpy as jnp
      >>> broadcast_in_dim(jnp.arange(3), (2, 3), (1,)).shape
      (2, 3)
    """
    shape = int_tuple(shape, "shape")
    dims = int_tuple(broadcast_dimensions, "broadcast_dimensions")
    old = core.aval_of(operand).shape
    same = shape == old and dims == tuple(range(len(shape)))
    if same and out_sharding is None and is_array(operand):
        return operand
    sharding = canonicalize_out_sharding("broadcast_in_dim", out_sharding, operand)
    return broadcast_in_dim_p.bind(
        operand, shape=shape, broadcast_dimensions=dims, sharding=sharding
    )


def broadcast(operand: Any, sizes: Any, *, out_sharding: Any = None) -> Any:
    """Repeat an array along new leading axes of the given sizes.

    Args:
      operand: an array of any shape and dtype.
      sizes: the sizes of the new axes.
      out_sharding: the sharding of the result (None: the compiler's choice).

    Returns:
      An array of `operand`'s dtype and shape `(*sizes, *operand.shape)`.

    Example:
      >>> import minijax.numpy as jnp
      >>> broadcast(jnp.arange(3), (2,))
      Array([[0, 1, 2],
             [0, 1, 2]], dtype=int32)
    """
    sizes = int_tuple(sizes, "sizes")
    if not sizes and out_sharding is None and is_array(operand):
        return operand
    old = core.aval_of(operand).shape
    shape = (*sizes, *old)
    return broadcast_in_dim_p.bind(
        operand,
        shape=shape,
        broadcast_dimensions=tuple(range(len(sizes), len(shape))),
        sharding=canonicalize_out_sharding("broadcast", out_sharding, operand),
    )


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """Add leading axes of size 1 until the array has `rank` axes.

    Args:
      x: an array of any shape and dtype.
      rank: the least number of axes.

    Returns:
      An array of `x`'s dtype; `x` itself if it has at least `rank` axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> broadcast_to_rank(jnp.arange(3), 2).shape
      (1, 3)
    """
    ndim = len(core.aval_of(x).shape)
    if ndim >= rank:
        return x
    return expand_dims(x, tuple(range(rank - ndim)))


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """Return the shape to which arrays of these shapes broadcast, by NumPy's rules.

    Args:
      shapes: sequences of sizes, aligned from the last axis; an axis of size 1 repeats.

    Returns:
      A tuple of ints; () for no shapes.

    Raises:
      ValueError: the shapes do not broadcast.
      TypeError: a size is negative.

    Example:
      >>> broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    tuples = [int_tuple(s, "a shape") for s in shapes]
    for s in tuples:
        if s and min(s) < 0:
            raise TypeError(
                "Only non-negative indices are allowed when broadcasting static shapes,"
                f" but got shape {s}."
            )
    rank = max(map(len, tuples), default=0)
    out = []
    for sizes in zip(*((1,) * (rank - len(s)) + s for s in tuples), strict=True):
        wide = set(sizes) - {1}
        if len(wide) > 1:
            raise value_problem(
                f"Incompatible shapes for broadcasting: shapes={tuples}.",
                why=f"One axis has the sizes {sorted(wide)}; only 1 repeats.",
            )
        out.append(wide.pop() if wide else 1)
    return tuple(out)


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast `x` to `shape`, with axes aligned from the last."""
    ndim = len(core.aval_of(x).shape)
    return broadcast_in_dim(x, shape, range(len(shape) - ndim, len(shape)))


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """Broadcast `arr` to the shape of `like_arr`, with axes aligned from the last.

    Args:
      arr: an array; an axis has size 1 or the size of `like_arr`'s axis.
      like_arr: an array; only its shape is used.

    Returns:
      An array of `arr`'s dtype and `like_arr`'s shape.

    Example:
      >>> import minijax.numpy as jnp
      >>> broadcast_like(jnp.arange(2), jnp.zeros((2, 2)))
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    return broadcast_to(arr, core.aval_of(like_arr).shape)


# ---------------------------------------------------------------------------- reshape


def _reshape_type(x: Any, *, new_sizes: Any, dimensions: Any, sharding: Any) -> Any:
    if any(n < 0 for n in new_sizes):
        raise type_problem(
            f"reshape new_sizes must all be positive, got {new_sizes}.",
            x,
            why="lax.reshape does not infer sizes.",
            tries=["minijax.numpy.reshape, which accepts one -1"],
        )
    out = shaped(new_sizes, x.dtype, x.weak_type)
    if out.size != x.size:
        raise type_problem(
            "reshape total size must be unchanged, got new_sizes"
            f" {new_sizes} (total size {out.size}) for shape {x.shape}"
            f" (total size {x.size}).",
            x,
            why="A reshape keeps the number of elements.",
        )
    if dimensions is not None and sorted(dimensions) != list(range(len(x.shape))):
        raise type_problem(
            "reshape dimensions must be a permutation of operand dimensions, got"
            f" dimensions {dimensions} for shape {x.shape}.",
            x,
            why="`dimensions` is the order in which axes are read.",
        )
    return out


def _reshape_transpose(ct, x, *, new_sizes, dimensions, sharding) -> list[Any]:
    old = x.aval.shape
    if dimensions is None:
        target_sharding = sharding_for_aval(x.aval.to_ct_aval(), ct)
        return [reshape_p.bind(ct, new_sizes=old, dimensions=None, sharding=target_sharding)]
    ct = reshape(ct, tuple(old[d] for d in dimensions))
    return [transpose(ct, tuple(np.argsort(dimensions).tolist()))]


def _reshape_batch(axis, args, dims, *, new_sizes, dimensions, sharding):
    x = lane_first(args[0], dims[0])
    if dimensions is not None:
        dimensions = (0, *(d + 1 for d in dimensions))
    out = reshape_p.bind(
        x,
        new_sizes=(axis.size, *new_sizes),
        dimensions=dimensions,
        sharding=add_lane_to_sharding(axis, sharding, 0),
    )
    return out, 0


def _reshape_lower(ctx, x, *, new_sizes, dimensions, sharding):
    if dimensions is not None:
        old = ctx.avals_in[0]
        transposed = shaped(tuple(old.shape[d] for d in dimensions), old.dtype)
        x = ctx.op("transpose", transposed, x, permutation=ctx.i64s(dimensions))
    return ctx.op("reshape", ctx.avals_out[0], x)


def _reshape_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    """Give merged axes the mesh axes of all their parts, and the first part of a split axis
    its mesh axes.

    Axes are processed in groups of equal size products, with a single axis on one side.
    """
    (spec,), (x,), (out,) = specs, avals, outs
    sizes = specs.mesh.shape
    if params["dimensions"] is not None:
        spec = tuple(spec[d] for d in params["dimensions"])
        x = x.update(shape=tuple(x.shape[d] for d in params["dimensions"]))
    out_spec: list[Any] = [None] * len(out.shape)

    def not_supported() -> Exception:
        return ambiguous_sharding_error(
            "This reshape is not supported. Please specify the sharding of the output"
            " via the `out_sharding` argument of jax.lax.reshape. Got operand type:"
            f" {x.update(explicit=None).str_short(False)} with spec"
            f" {PartitionSpec(*spec)},"
            f" new sizes: {out.shape}",
            why="Unless a sharded axis is the first of a merged one, shards must move.",
            tries=["lax.reshape(x, sizes, out_sharding=...)"],
        )

    for ins, into in _reshape_groups(x.shape, out.shape):
        entries = [spec[i] for i in ins]
        if not any(entries):
            continue
        n = len([c for c in entries if c is not None])
        if None in entries[:n] or len(ins) > 1 < len(into):
            raise not_supported()
        axes = [a for c in entries for a in axes_in(c)]
        for i in into:  # the next axis is also sharded if shards of this one have size 1
            num_shards, mesh_axes = 1, []
            while axes and not out.shape[i] % (num_shards * sizes[axes[0]]):
                num_shards *= sizes[axes[0]]
                mesh_axes.append(axes.pop(0))
            out_spec[i] = tuple(mesh_axes) if len(mesh_axes) > 1 else (mesh_axes or [None])[0]
            if num_shards != out.shape[i]:
                break
        if axes:
            raise not_supported()
    return [tuple(out_spec)]


def _reshape_groups(old: Any, new: Any) -> Iterator[tuple[list[int], list[int]]]:
    """Yield groups of axes before and after a reshape, the smallest of equal size products.

    Axes of size 1 are not in any group.
    """
    left = [i for i, n in enumerate(old) if n != 1]
    right = [i for i, n in enumerate(new) if n != 1]
    while left and right:
        ins, into = [left.pop(0)], [right.pop(0)]
        a, b = old[ins[0]], new[into[0]]
        while a != b and (left if a < b else right):
            if a < b:
                ins.append(left.pop(0))
                a *= old[ins[-1]]
            else:
                into.append(right.pop(0))
                b *= new[into[-1]]
        yield ins, into


reshape_p = primitive(
    "reshape",
    type=_reshape_type,
    transpose=_reshape_transpose,
    batch=_reshape_batch,
    lower=_reshape_lower,
    specs=_reshape_specs,
    data_movement="in order",
    makes_no_nans=True,
    keeps_nans=True,
    keeps_finite=True,
    uses_keys=FORWARDS,
)
reshape_p.def_sharding(request="sharding")


def reshape(
    operand: Any, new_sizes: Any, dimensions: Any = None, *, out_sharding: Any = None
) -> Any:
    """Change the shape of an array; elements keep their row-major order.

    Args:
      operand: an array of any shape and dtype.
      new_sizes: the shape of the result, of the same total size; no -1.
      dimensions: the order in which to read the operand's axes (None: ascending).
      out_sharding: the sharding of the result (None: the compiler's choice).

    Returns:
      An array of shape `new_sizes` and `operand`'s dtype.

    Raises:
      TypeError: the total sizes differ, or `dimensions` is not a permutation.

    Example:
      >>> import minijax.numpy as jnp
      >>> reshape(jnp.arange(6), (2, 3)).shape
      (2, 3)
    """
    new_sizes = shape_tuple(new_sizes, "new_sizes")
    old = core.aval_of(operand).shape
    if dimensions is not None:
        dimensions = int_tuple(dimensions, "dimensions")
        if dimensions == tuple(range(len(old))):
            dimensions = None
    same = old == new_sizes and dimensions is None
    if same and out_sharding is None and is_array(operand):
        return operand
    return reshape_p.bind(
        operand,
        new_sizes=new_sizes,
        dimensions=dimensions,
        sharding=canonicalize_out_sharding("reshape", out_sharding, operand),
    )


def collapse(operand: Any, start_dimension: int, stop_dimension: Any = None) -> Any:
    """Merge the axes from `start_dimension` up to `stop_dimension` into one.

    Args:
      operand: an array of any shape and dtype.
      start_dimension, stop_dimension: the first axis to merge, and the axis after the last
        (None: the end); negative ones count from the end.

    Returns:
      An array of `operand`'s dtype; for an empty range, with a new axis of size 1.

    Raises:
      ValueError: `stop_dimension` is before `start_dimension`.

    Example:
      >>> import minijax.numpy as jnp
      >>> collapse(jnp.zeros((2, 3, 4)), 0, 2).shape
      (6, 4)
    """
    shape = core.aval_of(operand).shape
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if stop < start:
        raise value_problem(
            f"Invalid dimension range passed to collapse: {shape}[{start}:{stop}]",
            operand,
            why="The range must ascend.",
        )
    merged = math.prod(shape[start:stop])
    return reshape(operand, (*shape[:start], merged, *shape[stop:]))


# -------------------------------------------------------------------------- transpose


def _transpose_type(x: Any, *, permutation: Any) -> Any:
    if sorted(permutation) != list(range(len(x.shape))):
        raise type_problem(
            "transpose permutation isn't a permutation of operand dimensions, got"
            f" permutation {permutation} for operand shape {x.shape}.",
            x,
            why="Each axis must occur once, as a number from 0.",
        )
    return shaped(tuple(x.shape[d] for d in permutation), x.dtype, x.weak_type)


def _transpose_transpose(ct: Any, x: Any, *, permutation: Any) -> list[Any]:
    return [transpose(ct, tuple(np.argsort(permutation).tolist()))]


def _transpose_batch(axis: Any, args: Any, dims: Any, *, permutation: Any) -> Any:
    lane = dims[0]
    permutation_ = (lane, *(d + (d >= lane) for d in permutation))
    return transpose(args[0], permutation_), 0


def _transpose_lower(ctx: Any, x: Any, *, permutation: Any) -> Any:
    permutation_attr = ctx.i64s(permutation)
    return ctx.op("transpose", ctx.avals_out[0], x, permutation=permutation_attr)


transpose_p = primitive(
    "transpose",
    type=_transpose_type,
    transpose=_transpose_transpose,
    batch=_transpose_batch,
    lower=_transpose_lower,
    specs=lambda specs, avals, outs, params: [
        tuple(specs[0][d] for d in params["permutation"])
    ],
    data_movement="moved",
    makes_no_nans=True,
    keeps_nans=True,
    keeps_finite=True,
    uses_keys=SPLITS,  # keys change positions
)


def transpose(operand: Any, permutation: Any) -> Any:
    """Permute an array's axes.

    Args:
      operand: an array of any shape and dtype.
      permutation: for each axis of the result, the axis of `operand`; non-negative.

    Returns:
      An array of `operand`'s dtype.

    Raises:
      TypeError: `permutation` does not contain each axis once.

    Example:
      >>> import minijax.numpy as jnp
      >>> transpose(jnp.zeros((2, 3, 4)), (2, 0, 1)).shape
      (4, 2, 3)
    """
    axes = int_tuple(permutation, "permutation")
    if is_array(operand) and axes == tuple(range(len(operand.aval.shape))):
        return operand
    return transpose_p.bind(operand, permutation=axes)


def move_axis(x: Any, src: int, dst: int) -> Any:
    """Return `x` with its axis `src` at position `dst`; both count from 0."""
    axes = list(range(len(core.aval_of(x).shape)))
    axes.insert(dst, axes.pop(src))
    return transpose(x, axes)


# --------------------------------------------------------------- squeeze, expand_dims


def _squeeze_type(x: Any, *, dimensions: Any) -> Any:
    if any(x.shape[d] != 1 for d in dimensions):
        raise value_problem(
            "cannot select an axis to squeeze out which has size not equal to one, got"
            f" shape={x.shape} and dimensions={dimensions}.",
            x,
            why="Dropping a larger axis would drop elements.",
            tries=["x[0] for one of the elements", "lax.reshape to merge axes"],
        )
    shape = tuple(n for i, n in enumerate(x.shape) if i not in dimensions)
    return shaped(shape, x.dtype, x.weak_type)


def _squeeze_transpose(ct: Any, x: Any, *, dimensions: Any) -> list[Any]:
    return [expand_dims(ct, dimensions)]


def _squeeze_batch(axis: Any, args: Any, dims: Any, *, dimensions: Any) -> Any:
    x = lane_first(args[0], dims[0])
    return squeeze_p.bind(x, dimensions=tuple(d + 1 for d in dimensions)), 0


def _squeeze_lower(ctx: Any, x: Any, *, dimensions: Any) -> Any:
    return ctx.op("reshape", ctx.avals_out[0], x)


squeeze_p = primitive(
    "squeeze",
    type=_squeeze_type,
    transpose=_squeeze_transpose,
    batch=_squeeze_batch,
    lower=_squeeze_lower,
    specs=lambda specs, avals, outs, params: [
        tuple(s for i, s in enumerate(specs[0]) if i not in params["dimensions"])
    ],
    data_movement="in order",
    makes_no_nans=True,
    keeps_nans=True,
    keeps_finite=True,
    uses_keys=FORWARDS,
)


def squeeze(array: Any, dimensions: Any) -> Any:
    """Drop axes of size 1.

    Args:
      array: an array of any shape and dtype.
      dimensions: the axes to drop; negative ones count from the end.

    Returns:
      An array of the same elements and dtype without these axes.

    Raises:
      ValueError: an axis has another size, is repeated, or does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> squeeze(jnp.zeros((1, 3, 1)), (0, 2)).shape
      (3,)
    """
    ndim = len(core.aval_of(array).shape)
    axes = tuple(sorted(canonical_axis(d, ndim) for d in dimensions))
    if len(set(axes)) < len(axes):
        raise value_problem(
            f"dimensions are not unique: {axes}", why="An axis is dropped once."
        )
    if not axes and is_array(array):
        return array
    return squeeze_p.bind(array, dimensions=axes)


def expand_dims(array: Any, dimensions: Any) -> Any:
    """Insert axes of size 1.

    Args:
      array: an array of any shape and dtype.
      dimensions: their positions in the result; negative ones count from its end.

    Returns:
      An array of the same elements and dtype with these new axes.

    Raises:
      ValueError: a position is repeated or does not exist.

    Example:
      >>> import minijax.numpy as jnp
      >>> expand_dims(jnp.zeros(3), (0, 2)).shape
      (1, 3, 1)
    """
    old = core.aval_of(array).shape
    positions = tuple(dimensions)
    ndim = len(old) + len(positions)
    new = {canonical_axis(d, ndim) for d in positions}
    if len(new) < len(positions):
        raise value_problem(
            f"repeated axis in lax.expand_dims: {positions}",
            why="Each new axis needs its own position.",
        )
    broadcast_dims = tuple(i for i in range(ndim) if i not in new)
    shape = [1] * ndim
    for i, n in zip(broadcast_dims, old, strict=True):
        shape[i] = n
    return broadcast_in_dim(array, shape, broadcast_dims)


# -------------------------------------------------------------------------------- rev


def _rev_type(x: Any, *, dimensions: Any) -> Any:
    check_sizes("rev", "dimensions", dimensions)
    if len(set(dimensions)) < len(dimensions):
        what, why = f"must be unique, got {dimensions}.", "An axis is reversed once"
    elif any(d >= len(x.shape) for d in dimensions):
        what = (
            f"must all be less than operand ndim, got dimensions {dimensions} for"
            f" operand ndim {len(x.shape)}."
        )
        why = f"It has {len(x.shape)}"
    else:
        return x
    raise type_problem(f"rev dimensions {what}", x, why=why + ".")


def _rev_batch(axis: Any, args: Any, dims: Any, *, dimensions: Any) -> Any:
    lane = dims[0]
    moved = tuple(d + (d >= lane) for d in dimensions)
    return rev_p.bind(args[0], dimensions=moved), lane


def _rev_lower(ctx: Any, x: Any, *, dimensions: Any) -> Any:
    axes = ctx.i64s(dimensions)
    return ctx.op("reverse", ctx.avals_out[0], x, dimensions=axes)


rev_p: Primitive = primitive(
    "rev",
    type=_rev_type,
    transpose=lambda ct, x, *, dimensions: [rev_p.bind(ct, dimensions=dimensions)],
    batch=_rev_batch,
    lower=_rev_lower,
    specs=first_operand_specs,
    data_movement="moved",
    makes_no_nans=True,
    keeps_nans=True,
    keeps_finite=True,
    uses_keys=SPLITS,  # keys change positions
)


def rev(operand: Any, dimensions: Any) -> Any:
    """Reverse the order of elements along `dimensions`.

    Args:
      operand: an array of any shape and dtype.
      dimensions: the axes, non-negative, each once.

    Returns:
      An array of `operand`'s shape and dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> rev(jnp.arange(3), (0,))
      Array([2, 1, 0], dtype=int32)
    """
    return rev_p.bind(operand, dimensions=int_tuple(dimensions, "dimensions"))


# ------------------------------------------------------------------------------- copy

copy_p: Primitive = primitive(
    "copy",
    type=lambda x: x,
    transpose=lambda ct, x: [copy_p.bind(ct)],
    batch=lambda axis, args, dims: (copy_p.bind(args[0]), dims[0]),
    lower=lambda ctx, x: x,
    specs=first_operand_specs,
    data_movement="in order",
    makes_no_nans=True,
    keeps_nans=True,
    keeps_finite=True,
    uses_keys=FORWARDS,
)


def copy(x: Any) -> Any:
    """Return a new array with the same elements."""
    return copy_p.bind(x)
