"""Calls from compiled programs back into Python: pure ones, and ones with effects.

A callback is a custom call with an index into the executable's list of Python functions.
C++ copies the returned bytes unchecked, so every callback is wrapped: results are checked
for shape and dtype first.  Random keys are passed as their data.  An exception in a
callback reaches the user as `JaxRuntimeError`, whose text ends in the callback's own
traceback, both eagerly and compiled.

Next: debugging.py.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ...base import config, errors, tree
from ...base.source import function_text
from ...ir import core
from ...ir.core import Primitive, unsupported
from ...ir.facts import Facts
from ...ir.sharding_rules import DIFFERING, result_type
from ...passes import batch as batching
from ...passes.ad_util import core_ops, unmapped_aval
from ...passes.stage import StageTrace
from ...prims.shape import shapes
from ...runtime.arrays import array as arrays
from ...runtime.arrays import transfers
from ...runtime.arrays.operands import to_array
from ...runtime.backends import jaxlib_compat as compat
from ...runtime.lowering import context
from ...runtime.lowering.callback_errors import Failures
from ...runtime.running import device_assignment, dispatch
from ...runtime.running.device_put import put_result
from ...runtime.sharding import placement
from ...runtime.sharding.partition_spec import PartitionSpec
from ...runtime.sharding.shardings import OneOf, SingleDeviceSharding
from ...types import dtypes
from ...types.avals import shaped
from ..effects import effects
from ..loops.scan import scan_slices

# -------------------------------------------------------------------------- emission


def _host_argument(x: Any) -> Any:
    """Return a callback's argument: an `Array` over memory that the runtime owns."""
    return transfers.put_numpy(x)


def _checked(name: str, fun: Any, out: Sequence[Any], avals: Sequence[Any], x64: bool) -> Any:
    """Return results as arrays of the promised types; without x64, 64 bits become 32."""
    if len(out) != len(avals):
        raise RuntimeError(
            errors.message(
                f"Mismatched number of outputs from callback. Expected: {len(avals)},"
                f" Actual: {len(out)}",
                where=f"{name} of {function_text(fun)}",
                why="The promised types determine how many arrays the callback returns.",
            )
        )
    checked = []
    for i, (x, aval) in enumerate(zip(out, avals, strict=True)):
        value = np.asarray(x)
        if not dtypes.is_valid(value.dtype):
            raise TypeError(
                f"Dtype {value.dtype} is not a valid JAX array type. Only arrays of numeric"
                f" types are supported by JAX.\nWhere: {name} of {function_text(fun)},"
                f" return value #{i}"
            )
        got = value.dtype if x64 else dtypes.narrow(value.dtype)
        for what, expected, actual in (
            ("shape", aval.shape, value.shape),
            ("dtype", aval.dtype, got),
        ):
            if expected != actual:
                raise RuntimeError(
                    errors.message(
                        f"Incorrect output {what} for return value #{i}: Expected: {expected},"
                        f" Actual: {actual}",
                        where=f"{name} of {function_text(fun)}",
                        tries=[f"np.asarray(result, {aval.dtype.name!r}) in the callback"]
                        if what == "dtype"
                        else ["promise that shape"],
                    )
                )
        checked.append(np.asarray(value, aval.dtype, order="C"))
    return tuple(checked)


def _with_plain_text(e: Exception) -> Exception:
    """Return an exception whose text is a str: C++ reads it where nothing may raise.

    A user's `__str__` might raise or be interrupted there, which would end the process.
    """
    kind = type(e)
    if not isinstance(kind.__str__, FunctionType):
        return e
    try:
        text = str(e)
    except Exception as inner:
        text = f"<its __str__ raised {type(inner).__name__}>"
    plain_class: Any = type(kind.__name__, (Exception,), {"__module__": kind.__module__})
    plain_error: Exception = plain_class(text).with_traceback(e.__traceback__)
    return plain_error


def _host_call(
    name: str, callback: Callable[..., Any], avals_out: Sequence[Any], after: bool
) -> Callable[..., Any]:
    """Return the function for the runtime: the callback, with its results checked.

    after: whether a token is the first operand and the first result.
    """
    fun, x64 = getattr(callback, "fun", callback), bool(config.X64.value)

    def call(*values: Any) -> Any:
        if after:
            values = values[1:]
        effects.inside.depth += 1
        try:
            with config.X64(x64):  # the runtime's threads have no setting of their own
                out = callback(*map(_host_argument, values))
        except Exception as e:
            raise _with_plain_text(e) from None
        finally:
            effects.inside.depth -= 1
        results = _checked(name, fun, out, avals_out, x64)
        return (None, *results) if after else results

    return call


def emit_callback(
    ctx: Any,
    name: str,
    callback: Callable[..., Any],
    args: Sequence[Any],
    *,
    ordered: bool,
    effect: bool,
    sharding: Any = None,
    partitioned: bool = False,
) -> list[Any]:
    """Emit the custom call of a Python function on flat values.

    sharding: a `OneOf`, the device that calls.  partitioned: each device calls, with its
    shards of the values.
    """
    avals_out = list(ctx.avals_out)
    if sharding is not None and ctx.manual:
        raise NotImplementedError(
            errors.message(
                f"{name}: callbacks do not support specifying sharding inside spmd"
                " computations",
                why="Each device of the mesh calls back, with its shard.",
                tries=["sharding=None"],
            )
        )
    token = ctx.token if ordered else None
    after = token is not None  # the token itself would keep the entire module alive
    call = _host_call(name, callback, avals_out, after)
    module = ctx.module
    target = {"cpu": "cpu_callback", "cuda": "gpu_callback"}
    if module.platform not in target:
        raise errors.error(
            NotImplementedError,
            f"{name}: Python callbacks are not supported on platform {module.platform}.",
            why="There, XLA calls Python by transfers to the host, which only a client with"
            " such a device compiles and runs, and which are untested here.",
            tries=["call the function between two programs", "run the program on the CPU"],
        )
    index = len(module.callbacks)
    run: Any = call
    if module.replicas * module.partitions > 1 or module.placement is not None:
        module.failures = failures = module.failures or Failures()
        run = failures.caught(call, [None, *avals_out] if after else avals_out)
    module.callbacks.append(run)
    by_parts = partitioned and ctx.placement is not None
    tokens = [token] if token is not None else []
    types = [*(t.type for t in tokens), *(ctx.type(a) for a in avals_out)]
    kind = "partitioned_python" if by_parts else "python"

    def emit(*values: Any, **attributes: Any) -> list[Any]:
        op = ctx.create(
            "stablehlo.custom_call",
            types,
            values,
            call_target_name=ctx.string(f"xla_ffi_{kind}_{target[module.platform]}"),
            api_version=ctx.i32(4),
            has_side_effect=ctx.bool(effect),
            backend_config=ctx.parse(f"{{index = {index} : ui64}}"),
            **attributes,
        )
        return list(op.results)

    if by_parts:
        return emit(*args, **_row_major_layouts(ctx), **ctx.on_one_device(0))
    if ctx.manual and not types:
        _call_once_per_shard(ctx, args, emit)
        return []
    if ctx.manual and effect and ctx.placement is not None:
        raise errors.error(
            NotImplementedError,
            f"{name}: callbacks are only supported in spmd computations when all mesh axes"
            " are partitioned manually (no partial automatic sharding).",
            why="It has results, and an effect that would happen on each device.",
            tries=["shard_map over all axes", "a callback without results"],
        )
    args = list(map(ctx.gathered, args, ctx.avals_in))
    i = 0
    if sharding is not None and module.placement is not None:
        i = _position(name, sharding, module.placement, bool(avals_out))
    results = emit(*tokens, *args, **ctx.on_one_device(len(types), i))
    if tokens:
        ctx.token = results.pop(0)
    return results


def _call_once_per_shard(ctx: Any, args: Sequence[Any], emit: Callable[..., Any]) -> None:
    """Emit a call that one device makes for each shard along the manual mesh axes."""
    placement = ctx.placement
    if placement is None:  # all axes are manual
        emit(*args)
        return
    sizes = placement.mesh.shape_tuple
    rest = frozenset(a for a, _ in sizes) - ctx.manual
    ins = [(a, PartitionSpec()) for a in ctx.avals_in]

    def by_the_first(*values: Any) -> list[Any]:
        u32, i32 = shaped((), dtypes.uint32), shaped((), dtypes.int32)
        number = ctx.op("partition_id", u32)
        total, stride = ctx.constant(0, u32), 1
        for axis, n in reversed(sizes):
            if axis in rest:
                coordinate = ctx.op("divide", u32, number, ctx.constant(stride, u32))
                coordinate = ctx.op("remainder", u32, coordinate, ctx.constant(n, u32))
                total = ctx.op("add", u32, total, coordinate)
            stride *= n
        index = ctx.op("convert", i32, total)  # all values but 0 take the last branch
        ctx.case(index, [lambda: emit(*values), list], [])
        return []

    ctx.manual_region(placement.mesh, rest, args, ins, [], ctx.avals_in, by_the_first)


def _row_major_layouts(ctx: Any) -> dict[str, Any]:
    """Return the layouts of a call without results, which XLA's partitioner requires."""
    ranks = (len(context.physical(a).shape) for a in ctx.avals_in)
    layouts = ((n, [*range(n - 1, -1, -1)] or "") for n in ranks)
    ins = ", ".join(f"dense<{layout}> : tensor<{n}xindex>" for n, layout in layouts)
    return {"operand_layouts": ctx.parse(f"[{ins}]"), "result_layouts": ctx.parse("[]")}


def _position(name: str, sharding: Any, program_placement: Any, results: bool) -> int:
    """Return the position of the calling device among those of the program."""
    (device,) = sharding.devices
    if device not in program_placement.devices:
        raise errors.value_error(
            f"{name}: its sharding names {device}, which does not run the program.",
            tries=[f"sharding=SingleDeviceSharding({program_placement.device})"],
        )
    if not results:
        return int(program_placement.devices.index(device))
    # XLA loses results except the first device's, which calls for those of its process.
    if device.process_index != program_placement.device.process_index:
        raise errors.error(
            NotImplementedError,
            f"{name}: its sharding names {device}, of another process than the first device's.",
            why="XLA loses results that are not computed on the first device.",
            tries=[f"a device of the process of {program_placement.device}"],
        )
    return 0


def stage_callback(prim: Primitive) -> Callable[..., Any]:
    """Return the `stage` rule of a primitive whose params hold a user's function.

    The cache of result types would keep the function, and what it refers to, alive.
    """

    def stage(trace: StageTrace, args: Sequence[Any], params: Any) -> Any:
        atoms = [trace.atom(x) for x in args]
        avals = [a.aval for a in atoms]
        out = result_type(prim, avals, params)
        if out is DIFFERING:
            return stage(trace, core_ops.match_varying_axes(prim, args, avals), params)
        return trace.record(prim, atoms, params, out)

    return stage


class FlatCallback:
    """A user's function on the leaves of its arguments."""

    __slots__ = ("fun", "in_tree")

    def __init__(self, fun: Callable[..., Any], in_tree: Any) -> None:
        self.fun = fun
        self.in_tree = in_tree

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = tree.unflatten(self.in_tree, leaves)
        return tree.leaves(self.fun(*args, **kwargs))

    def __repr__(self) -> str:
        return f"_FlatCallback(callback_func={self.fun}, in_tree={self.in_tree})"

    def __hash__(self) -> int:
        # By identity: a user's callable need not be hashable, or may define `==` itself.
        return hash((id(self.fun), self.in_tree))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FlatCallback) and (
            self.fun is other.fun and self.in_tree == other.in_tree
        )


def result_avals(shapes: Any) -> tuple[tuple[Any, ...], Any]:
    """Return types and tree of `result_shape_dtypes`."""
    leaves, out_tree = tree.flatten(shapes)
    out = []
    for s in leaves:
        dtype_in = s.dtype
        if dtypes.is_extended(dtype_in):
            raise TypeError(
                errors.message(
                    f"Cannot interpret {str(dtype_in)!r} as a data type.",
                    which="result_shape_dtypes",
                    why="A callback returns NumPy arrays, which cannot hold random keys.",
                    tries=["the key's data (uint32), and jax.random.wrap_key_data"],
                )
            )
        dtype = dtypes.canonical(dtype_in)
        if not dtypes.is_valid(dtype):
            raise TypeError(
                f"Dtype {dtype} is not a valid JAX array type. Only arrays of numeric"
                " types are supported by JAX.\nWhich: result_shape_dtypes"
            )
        if dtype != dtype_in:
            raise ValueError(
                "result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is"
                f" disabled: {dtype_in}."
            )
        out.append(shaped(tuple(s.shape), dtype))
    return tuple(out), out_tree


def flat_call(
    name: str, callback: Callable[..., Any], shapes: Any, args: Any, kwargs: Any
) -> tuple[list[Any], FlatCallback, tuple[Any, ...], Any]:
    """Flatten a call: operands, flat callback, types and tree of the results."""
    leaves, in_tree = tree.flatten((args, kwargs))
    for i, x in enumerate(leaves):
        if not core.is_value(x):
            path = tree.keystr(tree.leaves_with_path((args, kwargs))[i][0][1:])
            raise TypeError(
                errors.message(
                    f"Error interpreting argument to {name} as a JAX value. The"
                    f" problematic value is of type {type(x)} and was passed to {name} at"
                    f" position {i}.",
                    which=f"argument {path} of {function_text(callback)}",
                    tries=["functools.partial of the callback for non-array arguments"],
                )
            )
    avals, out_tree = result_avals(shapes)
    return leaves, FlatCallback(callback, in_tree), avals, out_tree


def _run_on_host(name: str, callback: Any, args: Sequence[Any], avals: Any) -> list[Any]:
    """Evaluate a callback without a program; results have the operands' placement."""
    target = device_assignment.common_placement(args, name)
    fun = getattr(callback, "fun", callback)
    try:
        out = callback(*host_arguments(args, target))
        values = _checked(name, fun, out, avals, bool(config.X64.value))
    except Exception as e:
        raise compat.RuntimeFailure(
            f"INTERNAL: CpuCallback error calling callback: {traceback.format_exc()}"
        ) from e
    buffers = [put_result(v, a, target) for v, a in zip(values, avals, strict=True)]
    for check in dispatch.checks:
        check(name, buffers)
    return buffers


def host_arguments(args: Sequence[Any], target: Any) -> list[Any]:
    """Return the operands of an evaluated callback, all as arrays."""
    if target.mesh is not None:
        target = placement.default_placement()
    return [x if type(x) in arrays.ARRAYS else to_array(x, target.uncommitted) for x in args]


# ----------------------------------------------------------------------- pure_callback

pure_callback_p = Primitive("pure_callback", multiple_results=True)
pure_callback_p.facts = Facts(makes_no_nans=True, lowers_key_arrays=True)
pure_callback_p.abstract = lambda *avals, result_avals, **params: list(result_avals)
pure_callback_p.stage = stage_callback(pure_callback_p)
pure_callback_p.impl = lambda *args, callback, result_avals, **params: _run_on_host(
    "pure_callback", callback, args, result_avals
)
pure_callback_p.jvp = unsupported(
    "Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while"
    " taking gradients.",
    ValueError,
)
pure_callback_p.transpose = pure_callback_p.jvp


def callback_batch(
    prim: Primitive, axis: Any, args: Any, dims: Any, *, callback: Any, **params: Any
) -> Any:
    """Batch a primitive that calls a user's function."""
    where = function_text(getattr(callback, "fun", callback))

    def bind(args: Any, dims: Any, avals: Any) -> Any:
        return prim.bind(*args, **{**params, "callback": callback, "result_avals": avals})

    avals, method = params["result_avals"], params["vmap_method"]
    return batch_by(method, prim, bind, axis, args, dims, avals, where)


def batch_by(
    method: str | None,
    prim: Primitive,
    bind: Callable[..., Any],
    axis: Any,
    args: Any,
    dims: Any,
    avals: Sequence[Any],
    where: str,
) -> Any:
    """Call an opaque function for all lanes, by one of the `VMAP_METHODS`.

    `bind(args, dims, avals)` calls it once: `dims` has 0 for operands with a leading axis
    in addition to those of one lane, None for others; `avals` are the types of results.
    """
    n = axis.size
    if method in ("broadcast_all", "expand_dims", "legacy_vectorized"):
        ins = []
        for x, d in zip(args, dims, strict=True):
            if d is not None:
                ins.append(batching.lane_to_front(x, n, d))
            elif method == "broadcast_all":
                ins.append(batching.lane_to_front(x, n, None))
            elif method == "expand_dims":
                ins.append(shapes.expand_dims(x, (0,)))
            else:
                ins.append(x)
        bare = method == "legacy_vectorized"
        lane_dims = [None if bare and d is None else 0 for d in dims]
        out = bind(ins, lane_dims, tuple(unmapped_aval(n, 0, a) for a in avals))
        return out, [0] * len(out)
    if method in ("sequential", "sequential_unrolled"):

        def one(*xs: Any) -> Any:
            return bind(xs, [None] * len(xs), avals)

        return over_lanes(one, axis, args, dims, unrolled=method.endswith("unrolled"))
    raise NotImplementedError(
        errors.message(
            f"vmap is only supported for the {prim} primitive when vmap_method is one"
            f" of {', '.join(map(repr, VMAP_METHODS[:-1]))}, or {VMAP_METHODS[-1]!r}. Got"
            " vmap_method=None.",
            where=where,
            tries=["vmap_method='sequential'", "'broadcast_all' if it supports batches"],
        )
    )


VMAP_METHODS = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)


def check_method(method: Any) -> None:
    """Raise ValueError unless `method` is one of `VMAP_METHODS` or None."""
    if method is not None and method not in VMAP_METHODS:
        raise ValueError(
            "vmap_method must be on of the allowed methods"
            f" {[*VMAP_METHODS, None]}, but got: {method}"
        )


def over_lanes(
    fun: Callable[..., Any],
    axis: Any,
    args: Sequence[Any],
    dims: Sequence[Any],
    *,
    unrolled: bool,
) -> Any:
    """Apply a flat function lane after lane, in a loop or unrolled."""
    batched = [
        batching.lane_to_front(x, axis, d)
        for x, d in zip(args, dims, strict=True)
        if d is not None
    ]

    def call(*slices: Any) -> Any:
        it = iter(slices)
        return fun(*(x if d is None else next(it) for x, d in zip(args, dims, strict=True)))

    out = scan_slices(call, batched, axis.size, axis.size if unrolled else 1)
    return out, [0] * len(out)


pure_callback_p.batch = functools.partial(callback_batch, pure_callback_p)
pure_callback_p.lower = lambda ctx, *args, callback, sharding, **params: emit_callback(
    ctx, "pure_callback", callback, args, ordered=False, effect=False, sharding=sharding
)


def _check_callback(name: str, callback: Any, sharding: Any) -> OneOf | None:
    """Return the device from which a callback is called, or None."""
    if not callable(callback):
        raise TypeError(f"Expected a callable value, got {callback!r}.")
    if sharding is None:
        return None
    if not isinstance(sharding, SingleDeviceSharding):
        raise NotImplementedError(
            errors.message(
                f"{name} only supports SingleDeviceSharding, but got {type(sharding)}",
                why="It is called once, with global values, from one device.",
                tries=["sharding=None", "shard_map or pmap, whose devices each call back"],
            )
        )
    return OneOf(sharding.devices[0], memory_kind=sharding.memory_kind)


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a pure Python function from compiled code.

    Args:
      callback: takes arrays, returns NumPy arrays of the promised types.  It may be
        called any number of times, or not at all.
      result_shape_dtypes: a pytree of values with `shape` and `dtype`.
      args, kwargs: pytrees of arrays, passed to the callback.
      sharding: a `SingleDeviceSharding`, the device of the program that calls; None: its
        first one.
      vmap_method: how `vmap` calls it: 'sequential', 'sequential_unrolled',
        'expand_dims', 'broadcast_all', 'legacy_vectorized'; None: `vmap` raises.

    Returns:
      A tree of arrays of the types of `result_shape_dtypes`.

    Raises:
      JaxRuntimeError: the callback raised, or a result has another shape or dtype than
        promised; its text has the traceback.
      ValueError: `vmap_method` is unknown, or a result has 64 bits without x64.
      TypeError: `callback` is not callable, or an argument is not an array.
      NotImplementedError: a `sharding` over several devices, or inside `shard_map`,
        where each device calls.

    Example:
      >>> import minijax as mj, numpy as np
      >>> mj.pure_callback(np.sin, mj.ShapeDtypeStruct((), 'float32'), np.float32(0.))
      Array(0., dtype=float32)
    """
    device = _check_callback("pure_callback", callback, sharding)
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(
            "vmap_method must be on of the allowed methods"
            f" {[*VMAP_METHODS, None]}, but got: {vmap_method}"
        )
    leaves, flat, avals, out_tree = flat_call(
        "pure_callback", callback, result_shape_dtypes, args, kwargs
    )
    out = pure_callback_p.bind(
        *leaves, callback=flat, result_avals=avals, sharding=device, vmap_method=vmap_method
    )
    return tree.unflatten(out_tree, out)


# ------------------------------------------------------------------------- io_callback

io_callback_p = Primitive("io_callback", multiple_results=True)
io_callback_p.facts = Facts(makes_no_nans=True, lowers_key_arrays=True)
io_callback_p.abstract = lambda *avals, result_avals, **params: list(result_avals)
io_callback_p.effects = lambda params: effects.set_of(
    effects.ordered_io_effect if params["ordered"] else effects.io_effect
)
io_callback_p.stage = stage_callback(io_callback_p)
io_callback_p.impl = lambda *args, callback, result_avals, **params: _run_on_host(
    "io_callback", callback, args, result_avals
)
io_callback_p.jvp = unsupported(
    "IO callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while"
    " taking gradients.",
    ValueError,
)
io_callback_p.transpose = io_callback_p.jvp


def io_callback_batch(axis: Any, args: Any, dims: Any, *, ordered: bool, **params: Any) -> Any:
    if ordered:
        raise ValueError("Cannot `vmap` ordered IO callback.")
    return over_lanes(
        lambda *xs: io_callback_p.bind(*xs, ordered=False, **params),
        axis,
        args,
        dims,
        unrolled=False,
    )


io_callback_p.batch = io_callback_batch
io_callback_p.lower = lambda ctx, *args, callback, sharding, ordered, **_: emit_callback(
    ctx, "io_callback", callback, args, ordered=ordered, effect=True, sharding=sharding
)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with side effects from compiled code: once per run.

    Args:
      callback: takes arrays, returns NumPy arrays of the promised types.
      result_shape_dtypes: a pytree of values with `shape` and `dtype`; None for none.
      args, kwargs: pytrees of arrays, passed to the callback.
      sharding: a `SingleDeviceSharding`, the device of the program that calls; None: its
        first one.
      ordered: the calls happen in the program's order (on each replica).

    Returns:
      A tree of arrays of the types of `result_shape_dtypes`.

    Raises:
      JaxRuntimeError: the callback raised, or a result has another shape or dtype than
        promised; its text has the traceback.
      ValueError: a result has 64 bits without x64.
      TypeError: `callback` is not callable, or an argument is not an array.
      NotImplementedError: a `sharding` over several devices, or inside `shard_map`,
        where each device calls.

    Example:
      >>> import minijax as mj, numpy as np
      >>> io_callback(lambda: np.int32(7), mj.ShapeDtypeStruct((), 'int32'))
      Array(7, dtype=int32)
    """
    device = _check_callback("io_callback", callback, sharding)
    leaves, flat, avals, out_tree = flat_call(
        "io_callback", callback, result_shape_dtypes, args, kwargs
    )
    out = io_callback_p.bind(
        *leaves, callback=flat, result_avals=avals, sharding=device, ordered=ordered
    )
    return tree.unflatten(out_tree, out)
