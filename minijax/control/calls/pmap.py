"""`pmap`: one program on many devices, as XLA replicas.

Each device runs the whole program on its slice, with its own control flow; replicas
interact only in collectives over the axis name.  A mapped operand is sharded along its
axis, one slice per device; results are concatenated along their out axis.  A nested pmap
uses some of the outer one's devices: replicas are numbered in row-major order over the
axes, outermost first. With several processes, each maps over its own devices: the axis
contains the slices of all processes, operands and results only those of this one.

Next: api/pmap.py, the function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ...base import errors, monitoring
from ...base.util import pick
from ...ir import core, hooks
from ...ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, axes_of, sub_jaxprs
from ...ir.regions import Call
from ...passes.ad_util import UndefinedPrimal, nonzero_flags, unmapped_aval
from ...passes.region_rules import def_region_rules, flagged_indices
from ...passes.stage import stage_closed
from ...passes.transpose import transpose_jaxpr
from ...prims import lax
from ...prims.gather.dynamic_slicing import dynamic_index_in_dim
from ...runtime.arrays import array as arrays
from ...runtime.backends import client
from ...runtime.backends import jaxlib_compat as compat
from ...runtime.lowering import context, lower_jaxpr
from ...runtime.running import compile as compiler
from ...runtime.running import dispatch, pacing
from ...runtime.sharding.mesh import Mesh
from ...runtime.sharding.partition_spec import PartitionSpec
from ...runtime.sharding.partitioned_placement import put_sharded
from ...runtime.sharding.shardings import NamedSharding, of_buffer
from ...types.avals import AbstractRef
from ..refs import discharge
from ..refs.discharge import FunctionPrimitive
from .cpp_dispatch import FastpathData, is_cpp_convertible, sees_x64

xla_pmap_p = FunctionPrimitive("xla_pmap")
core.host_driven.add(xla_pmap_p)


class AxisName:
    """The name of a mapped axis that the user did not name."""

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


def _inside(params: dict[str, Any]) -> Any:
    """Return the scope in which a pmap's jaxpr is traced."""
    return core.mapped_axis(params["axis_name"], size_of(params))


def size_of(params: dict[str, Any]) -> int:
    """Return the size of a pmap's axis, over all processes."""
    return params["global_axis_size"] or params["axis_size"]  # type: ignore[no-any-return]


def_region_rules(
    xla_pmap_p,
    Call(
        "call_jaxpr",
        scope=_inside,
        operand_param="in_axes",
        result_param="out_axes",
        residual=lambda params, aval: 0,
        shift=lambda d: d if d is None else d + 1,
        reset={"donated_invars": False},
    ),
    lowers_key_arrays=True,
)
derived_dce: Any = xla_pmap_p.dce
xla_pmap_p.abstract = pmap_abstract
xla_pmap_p.named_axes = lambda params: (
    axes_of(params["call_jaxpr"].jaxpr) - {params["axis_name"]}
)


def pmap_transpose(cts: Any, *args: Any, **params: Any) -> Any:
    linear = [type(x) is UndefinedPrimal for x in args]
    nonzero_cts = nonzero_flags(cts)
    with _inside(params):
        transposed, present = transpose_jaxpr(
            params["call_jaxpr"], linear, nonzero_cts, instantiate_out=False
        )
    nonlinear = [i for i, lin in enumerate(linear) if not lin]
    outs = pick(flagged_indices(linear), present)
    shared = [params["in_axes"][i] is None for i in outs]
    if any(shared):
        transposed = _summed(transposed, shared, params)
    ins = [args[i] for i in nonlinear]
    for i in flagged_indices(nonzero_cts):
        # A replicated result receives its cotangent once per device, so divide it.
        one = params["out_axes"][i] is None
        ins.append(lax.mul(cts[i], 1.0 / size_of(params)) if one else cts[i])
    origins = [*nonlinear, *(~i for i in flagged_indices(nonzero_cts))], [~i for i in outs]
    _, new = xla_pmap_p.regions.rebuild(params, [transposed], *origins)
    cts_in = dict(zip(outs, xla_pmap_p.bind(*ins, **new), strict=True))
    return [cts_in.get(i) for i in range(len(args))]


def _summed(closed: ClosedJaxpr, shared: Sequence[bool], params: dict[str, Any]) -> ClosedJaxpr:
    """Return a jaxpr that sums over all devices those outputs that go to shared values."""

    def fun(*args: Any) -> list[Any]:
        outs = zip(closed(*args), shared, strict=True)
        return [lax.psum(x, params["axis_name"]) if s else x for x, s in outs]

    with _inside(params):
        return stage_closed(fun, closed.in_avals, name=closed.jaxpr.name)


xla_pmap_p.transpose = pmap_transpose


def pmap_dce(used: Sequence[bool], eqn: Equation) -> Equation | None:
    pruned = derived_dce(used, eqn)
    # At least one mapped operand must remain.
    if pruned is None or not eqn.ins or set(pruned.params["in_axes"]) - {None}:
        return pruned
    return eqn


xla_pmap_p.dce = pmap_dce


def pmap_lower(
    ctx: Any,
    *args: Any,
    call_jaxpr: ClosedJaxpr,
    axis_name: Any,
    axis_size: int,
    in_axes: Any,
    out_axes: Any,
    **_: Any,
) -> Any:
    """Lower a nested pmap: each replica takes its slice, and results are gathered."""
    if not ctx.axes:
        raise NotImplementedError("minijax bug: a pmap reached a single-device program")
    avals = list(ctx.avals_in)
    saved = ctx.axes
    *outer, (_, rest) = saved
    ctx.axes = (*outer, (axis_name, axis_size), (_REST, rest // axis_size))
    try:

        def run(*xs: Any) -> list[Any]:
            i = lax.axis_index(axis_name)
            slices = [
                x if d is None else dynamic_index_in_dim(x, i, d, keepdims=False)
                for x, d in zip(xs, in_axes, strict=True)
            ]
            outs = call_jaxpr(*slices)
            return [
                x if d is None else lax.all_gather(x, axis_name, axis=d)
                for x, d in zip(outs, out_axes, strict=True)
            ]

        return ctx.fun(run, *args, avals=avals)
    finally:
        ctx.axes = saved


# The last axis of a replica program: the replicas reserved for pmaps further inside.
_REST = AxisName()
xla_pmap_p.lower = pmap_lower


# ------------------------------------------------------------------------- running it


def inner_replicas(jaxpr: Jaxpr) -> int:
    """Return how many replicas the nested pmaps need: each takes an equal share."""
    need = 1
    for eqn in jaxpr.eqns:
        for sub in sub_jaxprs(eqn.params):
            below = inner_replicas(sub)
            if eqn.primitive is xla_pmap_p:
                below *= eqn.params["axis_size"]
            need = math.lcm(need, below)
    return need


_REPLICAS = "_internal_pmap_axis_name"  # in meshes, where the user's axis is unnamed


def shard_program(
    closed: ClosedJaxpr,
    axis_name: Any,
    size: int,
    in_axes: Sequence[Any],
    out_axes: Sequence[Any],
) -> ClosedJaxpr:
    """Return a program of slices as one of shards, where the mapped axis has size 1."""

    def fun(*shards: Any) -> list[Any]:
        ins = [
            x if d is None else lax.squeeze(x, (d,))
            for x, d in zip(shards, in_axes, strict=True)
        ]
        outs = zip(closed(*ins), out_axes, strict=True)
        return [y if d is None else lax.expand_dims(y, (d,)) for y, d in outs]

    avals = [
        unmapped_aval(1, d, a) if d is not None else a
        for a, d in zip(closed.in_avals, in_axes, strict=True)
    ]
    axes = (*core.STATE.axes, (axis_name, size))
    return core.within_axes(axes, stage_closed, fun, avals, name=closed.jaxpr.name)


class ReplicatedProgram:
    """A lowered replica program, with its devices and operand shardings.

    Operands and results are arrays over a mesh of this process's devices; the shard of each
    replica contains its slice.  Replicas that are reserved for nested pmaps have equal
    shards.
    """

    __slots__ = (
        "acts",
        "consts",
        "devices",
        "executable",
        "handlers",
        "layouts",
        "lowered",
        "mesh",
        "name",
        "originals",
        "out_avals",
        "out_axes",
        "pace",
        "per_slice",
        "size",
        "start",
    )

    def __init__(
        self,
        closed: ClosedJaxpr,
        name: str,
        devices: Sequence[Any],
        axis_name: Any,
        size: int,
        local_slices: slice,
        in_axes: Sequence[Any],
        out_axes: Sequence[Any],
        donated: Sequence[bool],
    ) -> None:
        # Programs are cached by the ids of their constants, which must stay alive for that.
        self.originals = closed.consts
        self.per_slice = inner_replicas(closed.jaxpr)
        total = size * self.per_slice
        self.devices = tuple(devices[:total])
        grid = np.array(self.devices, dtype=object).reshape(size, self.per_slice)[local_slices]
        label = _REPLICAS if isinstance(axis_name, AxisName) else axis_name
        if self.per_slice > 1:
            self.mesh = Mesh(grid, (label, _REST))
        else:
            self.mesh = Mesh(grid[:, 0], (label,))
        self.layouts: dict[int | None, NamedSharding] = {}
        self.size = size
        self.out_axes = tuple(out_axes)
        self.acts = any(getattr(e, "runs", True) for e in closed.effects)
        sharded = shard_program(closed, axis_name, size, in_axes, out_axes)
        self.out_avals = [
            a if d is None else unmapped_aval(len(grid), d, b)
            for a, b, d in zip(sharded.out_avals, closed.out_avals, out_axes, strict=True)
        ]
        self.name = f"pmap({name})"
        dispatch.note_compiling(self.name, sharded)
        with monitoring.stage(monitoring.LOWERING, self.name):
            self.lowered = lower_jaxpr.lower_jaxpr(
                sharded,
                name,
                client.platform_of(self.devices[0].client),
                replicas=total,
                donated=donated if any(donated) else (),
                axes=((axis_name, size), (_REST, self.per_slice)),
                ordered=any(getattr(e, "ordered", False) for e in closed.effects),
            )
        self.acts |= self.lowered.failures is not None
        stored = map(context.physical, self.out_avals)
        self.handlers = [
            compat.result_handler(a, self.layout(d).cpp_sharding(len(a.shape)), True)
            for a, d in zip(stored, out_axes, strict=True)
        ]

    def compile(
        self, overrides: dict[str, Any] | None = None, is_aot: bool = False
    ) -> ReplicatedProgram:
        """Compile the program, and return self."""
        with monitoring.stage(monitoring.COMPILING, self.name):
            self.executable = compiler.compile_module(
                self.lowered.module,
                self.devices,
                replicas=len(self.devices),
                callbacks=self.lowered.callbacks,
                overrides=overrides,
                is_aot=is_aot,
            )
        self.consts = [self.placement(c, None) for c in self.lowered.consts]
        self.pace = pacing.pace_of(self.devices)
        self.start = self.executable.execute_sharded
        if self.pace is not None:
            self.start = pacing.paced(self.start, self.pace)
        return self

    def layout(self, axis: int | None) -> NamedSharding:
        """Return the sharding of a value along `axis`; None: replicated."""
        sharding = self.layouts.get(axis)
        if sharding is None:
            sharding = self.layouts[axis] = self._layout(axis)
        return sharding

    def _layout(self, axis: int | None) -> NamedSharding:
        spec = () if axis is None else (*[None] * axis, self.mesh.axis_names[0])
        return NamedSharding(self.mesh, PartitionSpec(*spec))

    def placement(self, x: Any, axis: int | None) -> Any:
        """Put a value on the devices, sharded along `axis` or replicated."""
        return put_sharded(x, self.layout(axis))

    def __call__(
        self, args: Sequence[Any], in_axes: Sequence[Any], donated: Sequence[bool]
    ) -> list[Any]:
        """Run on global operands; donated ones are consumed if sharded as required."""
        out = self.run([self.placement(x, d) for x, d in zip(args, in_axes, strict=True)])
        return list(map(arrays.wrap, out, self.out_avals))

    def has_operand_sharding(self, x: Any, axis: int | None) -> bool:
        """Whether an operand is already sharded as required."""
        if type(x) not in arrays.ARRAYS or arrays.foreign(x):
            return False
        x = arrays.base_array(x)
        ndim, required = len(x.aval.shape), self.layout(axis)
        if x._sharding is required.cpp_sharding(ndim):
            return True
        return bool(of_buffer(x).is_equivalent_to(required, ndim))

    def fast_path(
        self,
        leaves: Sequence[Any],
        in_axes: Sequence[Any],
        result: Any,
        starts_in_cpp: bool,
    ) -> FastpathData | None:
        """Return the data for C++ to run the program; None if an operand must be moved.

        starts_in_cpp: `pacing.starts_in_cpp()` when the call began.
        """
        if self.acts or (dispatch.checks and dispatch.is_nan_check_enabled()):
            return None
        if self.pace is not None and not starts_in_cpp:
            return None
        in_shardings = [b._sharding for b in self.consts]
        for x, d in zip(leaves, in_axes, strict=True):
            if self.has_operand_sharding(x, d):
                in_shardings.append(x._sharding)
            elif is_cpp_convertible(x) and sees_x64():
                in_shardings.append(self.layout(d).cpp_sharding(np.ndim(x)))
            else:
                return None
        out_avals = list(map(context.physical, self.out_avals))
        out_shardings = [
            self.layout(d).cpp_sharding(len(a.shape))
            for d, a in zip(self.out_axes, out_avals, strict=True)
        ]
        return FastpathData(
            self.executable,
            pacing.result_tree(result, self.pace),
            in_shardings,
            out_shardings,
            out_avals,
            [True] * len(out_avals),
            [True] * len(in_shardings),
            [None] * len(in_shardings),
            self.consts,
        )

    def run(self, buffers: Sequence[Any]) -> list[Any]:
        if dispatch.was_execution_forbidden:
            dispatch.check_execution_allowed("sharded computation")
        failures = self.lowered.failures
        with nullcontext() if failures is None else failures.watched():
            results = self.start([*self.consts, *buffers], with_tokens=self.acts)
            out = results.consume_with_handlers(self.handlers)
            token: Any = results.consume_token() if self.acts else None
            if failures is not None:
                token.block_until_ready()
        if self.acts:
            hooks.started.call(token)
        for check in dispatch.checks:
            check("sharded computation", out)
        return out


def pmap_impl(*args: Any, **params: Any) -> list[Any]:
    """Run a pmap on concrete values."""
    program = program_of(params)
    return program(args, params["in_axes"], params["donated_invars"])


def program_of(params: dict[str, Any]) -> ReplicatedProgram:
    """Return the program of a pmap, cached with its jaxpr."""
    closed: ClosedJaxpr = params["call_jaxpr"]
    devices = choose_devices(params["devices"], params["backend"])
    programs = dispatch.programs_of(closed.jaxpr)
    axes = params["in_axes"], params["out_axes"]
    key = (closed, tuple(devices), *axes, params["donated_invars"])
    program = programs.get(key)
    if program is None:
        program = programs[key] = lower_pmap(devices, params).compile()
    return program  # type: ignore[no-any-return]


xla_pmap_p.impl = pmap_impl


def discharge_refs_of_params(params: dict[str, Any]) -> tuple[dict[str, Any], list[bool]]:
    """Return the params of a pmap that takes values instead of references, and the flags of
    the references it writes to: their final values are extra results."""
    closed = params["call_jaxpr"]
    needs_discharge = [isinstance(a, AbstractRef) for a in closed.in_avals]
    if not any(needs_discharge):
        return params, needs_discharge
    with _inside(params):
        flat, written = discharge.discharge_jaxpr(closed, needs_discharge)
    outs = [*range(len(closed.out_avals)), *(~i for i in flagged_indices(written))]
    _, new = xla_pmap_p.regions.rebuild(params, [flat], range(len(needs_discharge)), outs)
    return new, written


def lower_pmap(devices: Sequence[Any], params: dict[str, Any]) -> ReplicatedProgram:
    """Return the replica program of a pmap; ValueError if there are too few devices."""
    closed, name, size = (params[k] for k in ("call_jaxpr", "name", "axis_size"))
    global_size, per_slice = size_of(params), inner_replicas(closed.jaxpr)
    num_replicas, local_slices = global_size * per_slice, slice(None)
    if global_size > size:
        devices, local_slices = _devices_per_process(devices, size * per_slice, size)
    if num_replicas > len(devices):
        raise ValueError(
            errors.message(
                f"compiling computation that requires {num_replicas} logical devices, but only"
                f" {len(devices)} XLA devices are available.",
                which=f"pmap of {name}",
                tries=[
                    "a smaller mapped axis",
                    "minijax.config.update('jax_num_cpu_devices', 8) before first use",
                ],
            )
        )
    return ReplicatedProgram(
        closed,
        name,
        devices,
        params["axis_name"],
        global_size,
        local_slices,
        params["in_axes"],
        params["out_axes"],
        params["donated_invars"],
    )


def _devices_per_process(
    devices: Sequence[Any], count: int, size: int
) -> tuple[Sequence[Any], slice]:
    """Return the first `count` devices of each process, and this one's range of slices."""
    by_process: dict[int, list[Any]] = {}
    for d in devices:
        by_process.setdefault(d.process_index, []).append(d)
    row = sorted(by_process).index(devices[0].client.process_index())
    chosen = [d for _, own in sorted(by_process.items()) for d in own[:count]]
    return chosen, slice(row * size, (row + 1) * size)


def choose_devices(devices: Any, backend: Any) -> list[Any]:
    """Return the devices that a pmap may use, in order."""
    if devices is not None:
        return list(devices)
    if client.cluster.client is not None:
        return client.devices(backend)
    return list(client.local_devices(backend=backend))


def processes_of(devices: Any, backend: Any) -> int:
    """Return the number of processes that a pmap spans if it is not nested."""
    if client.cluster.client is None:
        return 1
    return len({d.process_index for d in choose_devices(devices, backend)})
