"""`pmap`: one program on many devices at once, on XLA's replicas.

Each device runs the whole program on its slice, with its own control flow; collectives
over the axis name are the only meeting points.  An operand mapped along an axis is cut
there, one slice a device; results are put together along their out axis.  A nested
pmap takes its devices out of the outer one's: replicas are counted row by row over the
axes, outermost first.  Of several processes each maps over its own devices: the axis has
the slices of all, operands and results those of this one.

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
from ...prims.shape.slicing import dynamic_index_in_dim
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


def _inside(params: dict[str, Any]) -> Any:
    """The scope in which a pmap's jaxpr is traced."""
    return core.mapped_axis(params["axis_name"], size_of(params))


def size_of(params: dict[str, Any]) -> int:
    """The size of a pmap's axis, over all processes."""
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
)
derived_dce: Any = xla_pmap_p.dce
xla_pmap_p.abstract = pmap_abstract
xla_pmap_p.named_axes = lambda params: (
    axes_of(params["call_jaxpr"].jaxpr) - {params["axis_name"]}
)


def pmap_transpose(cts: Any, *args: Any, **params: Any) -> Any:
    linear = [type(x) is UndefinedPrimal for x in args]
    given = nonzero_flags(cts)
    with _inside(params):
        turned, present = transpose_jaxpr(
            params["call_jaxpr"], linear, given, instantiate_out=False
        )
    still = [i for i, lin in enumerate(linear) if not lin]
    outs = pick(flagged_indices(linear), present)
    shared = [params["in_axes"][i] is None for i in outs]
    if any(shared):
        turned = _summed(turned, shared, params)
    ins = [args[i] for i in still]
    for i in flagged_indices(given):
        # A result that all devices share took its cotangent n times: share it out.
        one = params["out_axes"][i] is None
        ins.append(lax.mul(cts[i], 1.0 / size_of(params)) if one else cts[i])
    origins = [*still, *(~i for i in flagged_indices(given))], [~i for i in outs]
    _, new = xla_pmap_p.regions.rebuild(params, [turned], *origins)
    found = dict(zip(outs, xla_pmap_p.bind(*ins, **new), strict=True))
    return [found.get(i) for i in range(len(args))]


def _summed(closed: ClosedJaxpr, shared: Sequence[bool], params: dict[str, Any]) -> ClosedJaxpr:
    """A jaxpr with the sum over all devices of those outputs that go to a shared value."""

    def fun(*args: Any) -> list[Any]:
        outs = zip(closed(*args), shared, strict=True)
        return [lax.psum(x, params["axis_name"]) if s else x for x, s in outs]

    with _inside(params):
        return stage_closed(fun, closed.in_avals, name=closed.jaxpr.name)


xla_pmap_p.transpose = pmap_transpose


def pmap_dce(used: Sequence[bool], eqn: Equation) -> Equation | None:
    pruned = derived_dce(used, eqn)
    # One mapped operand must be left.
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
    """Inside another pmap: each replica takes its slice, and results are gathered."""
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


# The last axis of a replica program: the replicas that are left for pmaps further inside.
_REST = AxisName()
xla_pmap_p.lower = pmap_lower
xla_pmap_p.lowers_key_arrays = True


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


_REPLICAS = "_internal_pmap_axis_name"  # of meshes, where the user's axis has no name


def of_parts(
    closed: ClosedJaxpr,
    axis_name: Any,
    size: int,
    in_axes: Sequence[Any],
    out_axes: Sequence[Any],
) -> ClosedJaxpr:
    """A program of slices as one of parts of whole values: the mapped axis has size 1."""

    def fun(*parts: Any) -> list[Any]:
        ins = [
            x if d is None else lax.squeeze(x, (d,))
            for x, d in zip(parts, in_axes, strict=True)
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
    """A replica program, lowered: where it runs and how its operands are laid out.

    Operands and results are arrays over a mesh of this process's devices, of which each
    replica has the part with its slice; replicas that are left for pmaps inside have equal
    parts.
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
        mine: slice,
        in_axes: Sequence[Any],
        out_axes: Sequence[Any],
        donated: Sequence[bool],
    ) -> None:
        self.originals = closed.consts  # alive, as long as programs are found by them
        self.per_slice = inner_replicas(closed.jaxpr)
        total = size * self.per_slice
        self.devices = tuple(devices[:total])
        grid = np.array(self.devices, dtype=object).reshape(size, self.per_slice)[mine]
        label = _REPLICAS if isinstance(axis_name, AxisName) else axis_name
        if self.per_slice > 1:
            self.mesh = Mesh(grid, (label, _REST))
        else:
            self.mesh = Mesh(grid[:, 0], (label,))
        self.layouts: dict[int | None, NamedSharding] = {}
        self.size = size
        self.out_axes = tuple(out_axes)
        self.acts = any(getattr(e, "runs", True) for e in closed.effects)
        parts = of_parts(closed, axis_name, size, in_axes, out_axes)
        self.out_avals = [
            a if d is None else unmapped_aval(len(grid), d, b)
            for a, b, d in zip(parts.out_avals, closed.out_avals, out_axes, strict=True)
        ]
        self.name = f"pmap({name})"
        dispatch.note_compiling(self.name, parts)
        with monitoring.stage(monitoring.LOWERING, self.name):
            self.lowered = lower_jaxpr.lower_jaxpr(
                parts,
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
        self, overrides: dict[str, Any] | None = None, ahead: bool = False
    ) -> ReplicatedProgram:
        """Make it ready to run."""
        with monitoring.stage(monitoring.COMPILING, self.name):
            self.executable = compiler.compile_module(
                self.lowered.module,
                self.devices,
                replicas=len(self.devices),
                callbacks=self.lowered.callbacks,
                overrides=overrides,
                is_aot=ahead,
            )
        self.consts = [self.placement(c, None) for c in self.lowered.consts]
        self.pace = pacing.pace_of(self.devices)
        self.start = self.executable.execute_sharded
        if self.pace is not None:
            self.start = pacing.paced(self.start, self.pace)
        return self

    def layout(self, axis: int | None) -> NamedSharding:
        """How a value lies that is cut along `axis`, or that all replicas share."""
        found = self.layouts.get(axis)
        if found is None:
            found = self.layouts[axis] = self._layout(axis)
        return found

    def _layout(self, axis: int | None) -> NamedSharding:
        cut = () if axis is None else (*[None] * axis, self.mesh.axis_names[0])
        return NamedSharding(self.mesh, PartitionSpec(*cut))

    def placement(self, x: Any, axis: int | None) -> Any:
        """A value cut along `axis` (or repeated), one part on each device."""
        return put_sharded(x, self.layout(axis))

    def __call__(
        self, args: Sequence[Any], in_axes: Sequence[Any], donated: Sequence[bool]
    ) -> list[Any]:
        """Run on whole operands; of donated ones those go that lay in place already."""
        out = self.run([self.placement(x, d) for x, d in zip(args, in_axes, strict=True)])
        return list(map(arrays.wrap, out, self.out_avals))

    def has_operand_sharding(self, x: Any, axis: int | None) -> bool:
        """Whether an operand lies in place already."""
        if type(x) not in arrays.ARRAYS or arrays.foreign(x):
            return False
        x = arrays.base_array(x)
        ndim, want = len(x.aval.shape), self.layout(axis)
        if x._sharding is want.cpp_sharding(ndim):
            return True
        return bool(of_buffer(x).is_equivalent_to(want, ndim))

    def fast_path(
        self, leaves: Sequence[Any], in_axes: Sequence[Any], result: Any
    ) -> FastpathData | None:
        """What lets C++ run the program by itself: operands lie in place or on the host."""
        if self.acts or (dispatch.checks and dispatch.is_nan_check_enabled()):
            return None
        given = [b._sharding for b in self.consts]
        for x, d in zip(leaves, in_axes, strict=True):
            if self.has_operand_sharding(x, d):
                given.append(x._sharding)
            elif is_cpp_convertible(x) and sees_x64():
                given.append(self.layout(d).cpp_sharding(np.ndim(x)))
            else:
                return None
        whole = list(map(context.physical, self.out_avals))
        lie = [
            self.layout(d).cpp_sharding(len(a.shape))
            for d, a in zip(self.out_axes, whole, strict=True)
        ]
        return FastpathData(
            self.executable,
            pacing.result_tree(result, self.pace),
            given,
            lie,
            whole,
            [True] * len(whole),
            [True] * len(given),
            [None] * len(given),
            self.consts,
        )

    def run(self, buffers: Sequence[Any]) -> list[Any]:
        if dispatch.barred:
            dispatch.check_barred("sharded computation")
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
    """The program of a pmap, kept with its jaxpr."""
    closed: ClosedJaxpr = params["call_jaxpr"]
    devices = choose_devices(params["devices"], params["backend"])
    known = dispatch.programs_of(closed.jaxpr)
    axes = params["in_axes"], params["out_axes"]
    key = (closed, tuple(devices), *axes, params["donated_invars"])
    program = known.get(key)
    if program is None:
        program = known[key] = lower_pmap(devices, params).compile()
    return program  # type: ignore[no-any-return]


xla_pmap_p.impl = pmap_impl


def discharge_refs_of_params(params: dict[str, Any]) -> tuple[dict[str, Any], list[bool]]:
    """The params of a pmap that takes values for references, and gives what those hold in
    the end that it writes to; and which of the operands these are."""
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
    """The replica program of a pmap; ValueError if there are too few devices."""
    closed, name, size = (params[k] for k in ("call_jaxpr", "name", "axis_size"))
    whole, per_slice = size_of(params), inner_replicas(closed.jaxpr)
    need, mine = whole * per_slice, slice(None)
    if whole > size:
        devices, mine = _rows(devices, size * per_slice, size)
    if need > len(devices):
        raise ValueError(
            errors.message(
                f"compiling computation that requires {need} logical devices, but only"
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
        whole,
        mine,
        params["in_axes"],
        params["out_axes"],
        params["donated_invars"],
    )


def _rows(devices: Sequence[Any], count: int, size: int) -> tuple[Sequence[Any], slice]:
    """The first `count` devices of each process, and which slices are this one's."""
    by_process: dict[int, list[Any]] = {}
    for d in devices:
        by_process.setdefault(d.process_index, []).append(d)
    row = sorted(by_process).index(devices[0].client.process_index())
    chosen = [d for _, own in sorted(by_process.items()) for d in own[:count]]
    return chosen, slice(row * size, (row + 1) * size)


def choose_devices(devices: Any, backend: Any) -> list[Any]:
    """The devices that a pmap may use, in order."""
    if devices is not None:
        return list(devices)
    if client.cluster.client is not None:
        return client.devices(backend)
    return list(client.local_devices(backend=backend))


def processes_of(devices: Any, backend: Any) -> int:
    """Over how many processes a pmap goes that is no part of another."""
    if client.cluster.client is None:
        return 1
    return len({d.process_index for d in choose_devices(devices, backend)})
