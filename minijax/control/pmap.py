"""`pmap`: one program on many devices at once, on XLA's replicas.

Each device runs the whole program on its slice, with its own control flow; collectives
over the axis name are the only meeting points.  An operand mapped along an axis is cut
there, one slice a device; results are put together along their out axis.  A nested
pmap takes its devices out of the outer one's: replicas are counted row by row over the
axes, outermost first.

Next: ../api.
"""

from __future__ import annotations

import collections
import functools
import math
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ..base import errors, tree
from ..base.source import function_text
from ..core import core
from ..core.core import EVAL, STATE, Primitive, Tracer
from ..core.jaxpr import ClosedJaxpr, Equation, Jaxpr, jaxprs_effects, sub_jaxprs
from ..interpreters import batch as batching
from ..interpreters.algebra import Linear, Zero, lib, mapped_aval, unmapped_aval
from ..interpreters.dce import dce_jaxpr
from ..interpreters.jvp import jvp_jaxpr
from ..interpreters.linearize import linearize_jaxpr
from ..interpreters.transpose import transpose_jaxpr
from ..ops import arithmetic, collectives
from ..ops.slicing import dynamic_index_in_dim
from ..runtime import array as arrays
from ..runtime import client, dispatch, lower
from ..runtime import compile as compiler
from ..runtime import jaxlib_compat as compat
from ..runtime.array import Array
from ..runtime.sharding import PmapSharding
from ..types import dtypes
from ..types.avals import shaped
from . import common
from .jit import ArgNames, Call, Jitted, resolve_statics
from .named import axes_of

xla_pmap_p = Primitive("xla_pmap", multiple_results=True)
dispatch.host_driven.add(xla_pmap_p)
xla_pmap_p.effects = jaxprs_effects


class AxisName:
    """The name of a mapped axis that was given none."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<axis {id(self):#x}>"


def pmap_abstract(
    *avals: Any, call_jaxpr: ClosedJaxpr, axis_size: int, out_axes: Any, **_: Any
) -> list[Any]:
    return [
        unmapped_aval(axis_size, d, a)
        for d, a in zip(out_axes, call_jaxpr.out_avals, strict=True)
    ]


xla_pmap_p.abstract = pmap_abstract
xla_pmap_p.named_axes = lambda params: (
    axes_of(params["call_jaxpr"].jaxpr) - {params["axis_name"]}
)


def _inside(params: dict[str, Any]) -> Any:
    """The scope in which a pmap's jaxpr is traced."""
    return core.mapped_axis(params["axis_name"], params["axis_size"])


def _renew(
    params: dict[str, Any],
    jaxpr: ClosedJaxpr,
    in_axes: Sequence[Any],
    out_axes: Sequence[Any],
) -> dict[str, Any]:
    return {
        **params,
        "call_jaxpr": jaxpr,
        "in_axes": tuple(in_axes),
        "out_axes": tuple(out_axes),
        "donated_invars": (False,) * len(in_axes),
    }


def pmap_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    nonzero = common.nonzero_flags(tangents)
    with _inside(params):
        pushed, nz_out = jvp_jaxpr(params["call_jaxpr"], nonzero)
    in_axes, out_axes = params["in_axes"], params["out_axes"]
    t_axes = [d for d, nz in zip(in_axes, nonzero, strict=True) if nz]
    t_out = [d for d, nz in zip(out_axes, nz_out, strict=True) if nz]
    out = xla_pmap_p.bind(
        *primals, *common.pick_nonzero(tangents, nonzero),
        **_renew(params, pushed, [*in_axes, *t_axes], [*out_axes, *t_out]),
    )  # fmt: skip
    n = len(nz_out)
    return out[:n], common.spread(out[n:], nz_out, [core.aval_of(x) for x in out[:n]])


xla_pmap_p.jvp = pmap_jvp


def pmap_linearize(trace: Any, primals: Any, tangents: Any, **params: Any) -> Any:
    nonzero = common.nonzero_flags(tangents)
    in_axes, out_axes = params["in_axes"], params["out_axes"]
    with _inside(params):
        parts = linearize_jaxpr(params["call_jaxpr"], nonzero, forward_out=False)
    n, num_new = len(out_axes), parts.num_new
    out = xla_pmap_p.bind(
        *primals, **_renew(params, parts.primal, in_axes, [*out_axes, *[0] * num_new])
    )
    outs, new = out[:n], out[n:]
    avals = [core.aval_of(x) for x in outs]
    if not any(parts.nonzero_out):
        return outs, common.spread([], parts.nonzero_out, avals)
    residuals = parts.residual_values(primals, outs, new)
    res_axes = [in_axes[i] if where == "in" else 0 for where, i in parts.residuals]
    t_axes = [d for d, nz in zip(in_axes, nonzero, strict=True) if nz]
    t_out = [d for d, nz in zip(out_axes, parts.nonzero_out, strict=True) if nz]
    found = trace.process(
        xla_pmap_p,
        (*residuals, *common.pick_nonzero(tangents, nonzero)),
        _renew(params, parts.linear, [*res_axes, *t_axes], t_out),
    )
    return outs, common.spread(found, parts.nonzero_out, avals)


xla_pmap_p.linearize = pmap_linearize


def pmap_transpose(cts: Any, *args: Any, **params: Any) -> Any:
    linear = [type(x) is Linear for x in args]
    given = [type(ct) is not Zero for ct in cts]
    in_axes, out_axes = params["in_axes"], params["out_axes"]
    with _inside(params):
        turned, present = transpose_jaxpr(
            params["call_jaxpr"], linear, given, instantiate_out=False
        )
    ins = [x for x in args if type(x) is not Linear]
    ins_axes = [d for d, lin in zip(in_axes, linear, strict=True) if not lin]
    n = params["axis_size"]
    for ct, d, g in zip(cts, out_axes, given, strict=True):
        if g:
            # A result that all devices share took its cotangent n times: share it out.
            ins.append(ct if d is not None else arithmetic.mul(ct, 1.0 / n))
            ins_axes.append(d)
    lin_axes = [d for d, lin in zip(in_axes, linear, strict=True) if lin]
    out_d = [d for d, p in zip(lin_axes, present, strict=True) if p]
    found = xla_pmap_p.bind(
        *ins, **_renew(params, turned, ins_axes, [0 if d is None else d for d in out_d])
    )
    summed = iter(
        lib.sum(x, (0,)) if d is None else x for x, d in zip(found, out_d, strict=True)
    )
    there = iter(present)
    return [(next(summed) if next(there) else None) if lin else None for lin in linear]


xla_pmap_p.transpose = pmap_transpose


def pmap_batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
    in_axes = params["in_axes"]
    ins, lane_axes, batched = [], [], []
    for x, dim, mapped in zip(args, dims, in_axes, strict=True):
        batched.append(dim is not None)
        if dim is None:
            ins.append(x)
            lane_axes.append(mapped)
        else:
            # Lanes go last but inside each slice they come first: put them after the
            # mapped axis by moving the mapped axis to the front.
            x = batching.bring_front(x, axis.size, dim)
            if mapped is None:
                ins.append(x)
                lane_axes.append(None)
            else:
                ins.append(lib.move_axis(x, mapped + 1, 0))
                lane_axes.append(0)
    with _inside(params):
        lanes, out_b = batching.batch_jaxpr(params["call_jaxpr"], axis, batched)
    out_axes = [
        d if not b or d is None else 0
        for d, b in zip(params["out_axes"], out_b, strict=True)
    ]
    outs = xla_pmap_p.bind(*ins, **_renew(params, lanes, lane_axes, out_axes))
    out_dims: list[Any] = []
    placed = []
    for x, b, d in zip(outs, out_b, params["out_axes"], strict=True):
        if not b:
            placed.append(x)
            out_dims.append(None)
        elif d is None:
            placed.append(x)
            out_dims.append(0)
        else:  # (n, lanes, ...) -> lanes first, the mapped axis at d + 1
            x = lib.move_axis(x, 1, 0)
            placed.append(lib.move_axis(x, 1, d + 1))
            out_dims.append(0)
    return placed, out_dims


xla_pmap_p.batch = pmap_batch


def pmap_dce(used: Sequence[bool], eqn: Equation) -> Equation | None:
    p = eqn.params
    if not any(used) and not eqn.effects:
        return None
    closed = p["call_jaxpr"]
    pruned, used_in = dce_jaxpr(closed.jaxpr, used)
    in_axes = [d for d, u in zip(p["in_axes"], used_in, strict=True) if u]
    if in_axes and all(d is None for d in in_axes):
        return eqn
    out_axes = [d for d, u in zip(p["out_axes"], used, strict=True) if u]
    return eqn.replace(
        invars=[v for v, u in zip(eqn.invars, used_in, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        params=_renew(p, ClosedJaxpr(pruned, closed.consts), in_axes, out_axes),
    )


xla_pmap_p.dce = pmap_dce


def pmap_lower(
    ctx: Any, *args: Any, call_jaxpr: ClosedJaxpr, axis_name: Any, axis_size: int,
    in_axes: Any, out_axes: Any, **_: Any,
) -> Any:  # fmt: skip
    """Inside another pmap: each replica takes its slice, and results are gathered."""
    if not ctx.axes:
        raise NotImplementedError("minijax bug: a pmap reached a single-device program")
    avals = list(ctx.avals_in)
    saved = ctx.axes
    *outer, (_, rest) = saved
    ctx.axes = (*outer, (axis_name, axis_size), (_REST, rest // axis_size))
    try:

        def run(*xs: Any) -> list[Any]:
            i = collectives.axis_index(axis_name)
            slices = [
                x if d is None else dynamic_index_in_dim(x, i, d, keepdims=False)
                for x, d in zip(xs, in_axes, strict=True)
            ]
            outs = call_jaxpr(*slices)
            return [
                x if d is None else collectives.all_gather(x, axis_name, axis=d)
                for x, d in zip(outs, out_axes, strict=True)
            ]

        return ctx.fun(run, *args, avals=avals)
    finally:
        ctx.axes = saved


# The last axis of a replica program: the replicas that are left for pmaps further inside.
_REST = AxisName()
xla_pmap_p.lower = pmap_lower
lower.keys_aware.add(xla_pmap_p)


# ------------------------------------------------------------------------- running it


def inner_replicas(jaxpr: Jaxpr) -> int:
    """How many replicas the pmaps nested in a jaxpr need: each takes an equal part."""
    need = 1
    for eqn in jaxpr.eqns:
        for sub in sub_jaxprs(eqn.params):
            below = inner_replicas(sub)
            if eqn.primitive is xla_pmap_p:
                below *= eqn.params["axis_size"]
            need = math.lcm(need, below)
    return need


class Replicas:
    """A compiled replica program: where it runs and how its operands are laid out."""

    __slots__ = ("closed", "collective", "consts", "devices", "executable", "handlers", "inner",
                 "out_axes", "per_slice", "program_keepalive", "size")  # fmt: skip

    def __init__(
        self, closed: ClosedJaxpr, name: str, devices: Sequence[Any], axis_name: Any,
        size: int, out_axes: Sequence[Any], donated: Sequence[bool],
    ) -> None:  # fmt: skip
        self.closed = closed
        self.per_slice = inner_replicas(closed.jaxpr)
        total = size * self.per_slice
        self.devices = tuple(devices[:total])
        self.size = size
        self.out_axes = tuple(out_axes)
        self.collective = bool(axes_of(closed.jaxpr)) or self.per_slice > 1
        lowered = lower.lower_jaxpr(
            closed, name, client.platform_of(self.devices[0].client), replicas=total,
            donated=donated if any(donated) else (), axes=((axis_name, size), (_REST, self.per_slice)),
            ordered=any(getattr(e, "ordered", False) for e in closed.effects),
        )  # fmt: skip
        self.executable = compiler.compile_module(
            lowered.module, self.devices, replicas=total, callbacks=lowered.callbacks
        )
        self.program_keepalive = lowered.keepalive
        self.consts = [self.place(c, None) for c in lowered.consts]
        self.handlers = [
            compat.result_handler(
                whole, self.layout(0).internal(len(whole.shape)), True
            )
            for whole in (
                unmapped_aval(total, 0, lower.physical(a)) for a in closed.out_avals
            )
        ]

    def layout(self, axis: int) -> PmapSharding:
        return PmapSharding(self.devices, axis)

    def place(self, x: Any, axis: int | None) -> Any:
        """A value cut along `axis` (or repeated), one piece on each device."""
        if type(x) in arrays.ARRAYS:
            if x._b.is_deleted():
                raise RuntimeError(arrays.deleted_message(x.aval))
            if axis is not None and self.per_slice == 1:
                where = arrays.placement_of(x._b)
                if where is None and x.sharding == self.layout(axis):
                    return x._b
            x = _numbers(x)
        aval = core.aval_of(x)
        value = np.asarray(x, aval.dtype)
        if axis is None:
            parts = [value] * len(self.devices)
            whole = shaped((len(parts), *value.shape), aval.dtype)
        else:
            rows = np.moveaxis(value, axis, 0)
            parts = [
                np.asarray(rows[i // self.per_slice], order="C")
                for i in range(len(self.devices))
            ]
            whole = shaped((len(parts), *rows.shape[1:]), aval.dtype)
        layout = self.layout(0).internal(len(whole.shape))
        part = shaped(whole.shape[1:], aval.dtype)
        return compat.put_shards(whole, part, layout, parts, self.devices)

    def run(self, buffers: Sequence[Any]) -> list[Any]:
        if self.collective and self.devices[0].platform == "cpu":
            in_flight.make_room()
        out = self.executable.execute_sharded(
            [*self.consts, *buffers]
        ).consume_with_handlers(self.handlers)
        if self.collective and self.devices[0].platform == "cpu":
            in_flight.add(out)
        return out  # type: ignore[no-any-return]

    def result(self, buffer: Any, axis: int | None, aval: Any) -> Any:
        """A result of type `aval`, assembled along `axis`; None: what all share."""
        if axis is not None and self.per_slice == 1:
            whole = unmapped_aval(self.size, axis, aval)
            stored = lower.physical(whole)
            sharding = self.layout(axis).internal(len(stored.shape))
            return arrays.wrap(compat.with_aval(buffer, stored, sharding), whole)
        shards = buffer._arrays
        if axis is None:
            first = shards[0]
            where = arrays.placement(self.devices[0])
            stored = lower.physical(aval)
            return arrays.wrap(compat.with_aval(first, stored, where.committed), aval)
        devices = self.devices[:: self.per_slice]
        whole = unmapped_aval(self.size, axis, aval)
        stored = lower.physical(whole)
        sharding = PmapSharding(devices, axis).internal(len(stored.shape))
        parts = shards[:: self.per_slice]
        return arrays.wrap(compat.assemble(stored, sharding, parts), whole)


def _numbers(x: Array) -> Any:
    """The value of an array on the host; keys as the numbers under them."""
    if dtypes.is_extended(x.dtype):
        return arrays.host_value(arrays.base_array(x)._b)
    return arrays.host_value(x._b)


class InFlight:
    """Results of collective programs on CPU that may not have been computed yet.

    XLA's CPU thread pool can deadlock when many such programs wait for one another.
    """

    def __init__(self, limit: int) -> None:
        self.queue: collections.deque[Any] = collections.deque()
        self.limit = limit
        self.lock = threading.Lock()

    def make_room(self) -> None:
        while True:
            with self.lock:
                if len(self.queue) < self.limit:
                    return
                waiting = self.queue.popleft()
            live = [b for b in waiting if not b.is_deleted()]
            if live:
                compat.block_all(live)

    def add(self, buffers: Sequence[Any]) -> None:
        with self.lock:
            self.queue.append(list(buffers))


in_flight = InFlight(2)
_compiled: dict[Any, Replicas] = {}


def pmap_impl(*args: Any, **params: Any) -> list[Any]:
    """Run a pmap on concrete values."""
    closed: ClosedJaxpr = params["call_jaxpr"]
    devices = choose_devices(params["devices"], params["backend"])
    key = (closed.jaxpr, tuple(map(id, closed.consts)), tuple(devices), params["out_axes"],
           params["donated_invars"])  # fmt: skip
    program = _compiled.get(key)
    if program is None:
        need = params["axis_size"] * inner_replicas(closed.jaxpr)
        if need > len(devices):
            raise ValueError(
                errors.message(
                    f"compiling computation that requires {need} logical devices, but only"
                    f" {len(devices)} XLA devices are available.",
                    which=f"pmap of {params['name']}",
                    tries=[
                        "a smaller mapped axis",
                        "minijax.config.update('jax_num_cpu_devices', 8) before first use",
                    ],
                )
            )
        program = _compiled[key] = Replicas(
            closed, params["name"], devices, params["axis_name"], params["axis_size"],
            params["out_axes"], params["donated_invars"],
        )  # fmt: skip
    buffers = [
        program.place(x, d) for x, d in zip(args, params["in_axes"], strict=True)
    ]
    out = program.run(buffers)
    for x, d in zip(args, params["donated_invars"], strict=True):
        if d and type(x) in arrays.ARRAYS and not x._b.is_deleted():
            x._b.delete()
    return [
        program.result(b, d, a)
        for b, d, a in zip(out, params["out_axes"], closed.out_avals, strict=True)
    ]


xla_pmap_p.impl = pmap_impl


def choose_devices(devices: Any, backend: Any) -> list[Any]:
    """The devices that a pmap may use, in order."""
    if devices is not None:
        return list(devices)
    return list(client.local_devices(backend_name=backend))


# ------------------------------------------------------------------------ the function


def pmap(
    fun: Callable[..., Any], axis_name: Hashable | None = None, *, in_axes: Any = 0,
    out_axes: Any = 0, static_broadcasted_argnums: Any = (), devices: Any = None,
    backend: str | None = None, axis_size: int | None = None, donate_argnums: Any = (),
    global_arg_shapes: Any = None,
) -> Callable[..., Any]:  # fmt: skip
    """Run a function on several devices at once, each on its slice of the arguments.

    Args:
      fun: the function of one slice; it is compiled.
      axis_name: a name for the mapped axis, for collectives (`lax.psum`).
      in_axes: the axis of each argument that is spread over devices, or None for one
        that all share; a pytree prefix.  Its size is the number of devices used.
      out_axes: where the mapped axis goes in results; None: the first device's result.
      static_broadcasted_argnums: compile-time constants.
      devices: the devices to use, in order; backend: a platform's name.
      axis_size: the number of slices, checked against the arguments.
      donate_argnums: arguments whose memory may be reused.

    Raises:
      ValueError: sizes do not match, or there are too few devices.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.pmap(lambda x: x + 1)(jnp.zeros((1, 2)))
      Array([[1., 1.]], dtype=float32)

    Differs from JAX: runs on XLA replicas, and nests.
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}.")
    if global_arg_shapes is not None:
        raise TypeError("pmap: global_arg_shapes was removed from JAX; drop it.")
    statics = resolve_statics(fun, static_broadcasted_argnums, None, "static")
    donate = resolve_statics(fun, donate_argnums, None, "donate")
    jitted = Jitted(fun, statics._replace(names=()), donate._replace(names=()))
    name = AxisName() if axis_name is None else axis_name
    fixed = frozenset(statics.nums)
    chosen = None if devices is None else tuple(devices)

    def prepare(args: tuple[Any, ...], kwargs: Any) -> Any:
        call = jitted.split(args, kwargs)
        axes = in_axes
        if isinstance(axes, list):
            axes = tuple(axes)
        if isinstance(axes, tuple):
            if len(axes) != len(args):
                raise ValueError(
                    f"pmap in_axes must have one entry for each positional argument: got"
                    f" {len(axes)} for {len(args)} arguments."
                )
            axes = tuple(a for i, a in enumerate(axes) if i not in fixed)
        dims = tree.flatten_axes("pmap in_axes", call.in_tree, (axes, 0))
        dims = _normalise(fun, call, dims)
        size = _common_size(fun, call, dims, axis_size)
        avals = tuple(
            mapped_aval(size, d, core.aval_of(x))
            for x, d in zip(call.leaves, dims, strict=True)
        )
        with core.mapped_axis(name, size):
            traced = jitted.trace_avals(call, avals)
        out_dims = tree.flatten_axes("pmap out_axes", traced.out_tree, out_axes)
        out_dims = [
            d if d is None or d >= 0 else d + a.ndim + 1
            for d, a in zip(out_dims, traced.jaxpr.out_avals, strict=True)
        ]
        n = len(traced.hoisted)
        params = {
            "call_jaxpr": traced.jaxpr, "axis_name": name, "axis_size": size,
            "global_axis_size": None, "devices": chosen, "backend": backend,
            "name": jitted.name, "in_axes": (*[None] * n, *dims),
            "out_axes": tuple(out_dims),
            "donated_invars": (*[False] * n, *jitted.donated(call)),
        }  # fmt: skip
        return call, traced, params

    @functools.wraps(fun)
    def pmapped(*args: Any, **kwargs: Any) -> Any:
        call, traced, params = prepare(args, kwargs)
        if STATE.trace is EVAL:
            for x in call.leaves:
                if isinstance(x, Tracer):
                    raise core.leak_error(x)
        out = xla_pmap_p.bind(*traced.hoisted, *call.leaves, **params)
        return tree.unflatten(traced.out_tree, out)

    pmapped.prepare = prepare  # type: ignore[attr-defined]
    return pmapped


def _label(fun: Any, call: Call, i: int) -> str:
    return ArgNames(fun, call.in_tree, call.positions)[i]


def _normalise(fun: Any, call: Call, dims: Sequence[Any]) -> list[int | None]:
    out: list[int | None] = []
    for i, (x, d) in enumerate(zip(call.leaves, dims, strict=True)):
        if d is None:
            out.append(None)
            continue
        shape = getattr(core.aval_of(x), "shape", ())
        if not -len(shape) <= d < len(shape):
            raise ValueError(
                errors.message(
                    f"pmap was requested to map its argument along axis {d}, which implies"
                    f" that its rank should be at least {d + 1 if d >= 0 else -d}, but is"
                    f" only {len(shape)} (its shape is {shape}).",
                    which=_label(fun, call, i),
                    where=function_text(fun),
                    tries=["in_axes=None for arguments that all devices share"],
                )
            )
        out.append(d % len(shape))
    return out


def _common_size(
    fun: Any, call: Call, dims: Sequence[Any], axis_size: int | None
) -> int:
    found: dict[int, int] = {}
    for i, (x, d) in enumerate(zip(call.leaves, dims, strict=True)):
        if d is not None:
            found.setdefault(core.aval_of(x).shape[d], i)
    if not found:
        if axis_size is not None:
            return axis_size
        raise ValueError(
            errors.message(
                "pmap must have at least one argument that is mapped over devices.",
                where=function_text(fun),
                tries=["in_axes=0 for an argument", "axis_size=..."],
            )
        )
    if len(found) > 1 or (axis_size is not None and axis_size not in found):
        lines = [
            f"axis {dims[i]} of argument {_label(fun, call, i)} has size {n}"
            for n, i in found.items()
        ]
        if axis_size is not None:
            lines.append(f"axis_size is {axis_size}")
        raise ValueError(
            errors.message(
                "pmap got inconsistent sizes for array axes to be mapped:\n  * "
                + "\n  * ".join(lines),
                where=function_text(fun),
            )
        )
    return next(iter(found))
