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
from typing import Any

import numpy as np

from ...base import errors
from ...base.util import pick
from ...ir import core
from ...ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, axes_of, sub_jaxprs
from ...ir.regions import Call
from ...passes.ad_util import UndefinedPrimal, nonzero_flags, unmapped_aval
from ...passes.region_rules import def_region_rules, flagged_indices
from ...passes.stage import remembered, stage_closed
from ...passes.transpose import transpose_jaxpr
from ...prims import lax
from ...prims.gather.dynamic_slicing import dynamic_index_in_dim
from ...runtime.backends import client
from ...runtime.running.device_put import put_operands
from ...runtime.running.dispatch import run_program
from ...runtime.running.program import Options, Program, Request
from ...runtime.sharding import placement as placements
from ...runtime.sharding.mesh import Mesh
from ...runtime.sharding.partition_spec import PartitionSpec
from ...runtime.sharding.placement import Placement
from ...runtime.sharding.shardings import NamedSharding
from ...types.avals import AbstractRef
from ..refs import discharge
from ..refs.discharge import FunctionPrimitive
from .jit_primitive import program_of

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


@remembered
def _prepared(
    closed: ClosedJaxpr,
    devices: tuple[Any, ...],
    axis_name: Any,
    axis_size: int,
    global_axis_size: int | None,
    in_axes: tuple[Any, ...],
    out_axes: tuple[Any, ...],
    name: str,
) -> tuple[ClosedJaxpr, Placement]:
    """Return a pmap's program of shards, and the placement of its replicas.

    Operands and results are arrays over a mesh of this process's devices; the shard of each
    replica contains its slice.  Replicas that are reserved for nested pmaps have equal
    shards.

    Raises:
      ValueError: there are too few devices.
    """
    per_slice = inner_replicas(closed.jaxpr)
    size, local_slices = global_axis_size or axis_size, slice(None)
    chosen: Sequence[Any] = devices
    if size > axis_size:
        chosen, local_slices = _devices_per_process(devices, axis_size * per_slice, axis_size)
    if size * per_slice > len(chosen):
        raise ValueError(
            errors.message(
                f"compiling computation that requires {size * per_slice} logical devices, but"
                f" only {len(chosen)} XLA devices are available.",
                which=f"pmap of {name}",
                tries=[
                    "a smaller mapped axis",
                    "minijax.config.update('jax_num_cpu_devices', 8) before first use",
                ],
            )
        )
    used = tuple(chosen[: size * per_slice])
    grid = np.array(used, dtype=object).reshape(size, per_slice)[local_slices]
    label = _REPLICAS if isinstance(axis_name, AxisName) else axis_name
    mesh = Mesh(grid, (label, _REST)) if per_slice > 1 else Mesh(grid[:, 0], (label,))
    along = {
        d: NamedSharding(mesh, PartitionSpec(*_entries(d, label)))
        for d in (*in_axes, *out_axes)
    }
    ins, outs = [along[d] for d in in_axes], [along[d] for d in out_axes]
    axes = (axis_name, size), (_REST, per_slice)
    sharded = shard_program(closed, axis_name, size, in_axes, out_axes)
    return sharded, placements.replicas(used, mesh, ins, outs, axes)


def _entries(axis: int | None, label: Any) -> tuple[Any, ...]:
    """Return the entries of the spec of a value that is sharded along `axis`; None: none."""
    return () if axis is None else (*[None] * axis, label)


def request_of(params: dict[str, Any], compiler: tuple[Any, ...] = ()) -> Request:
    """Return the request for a pmap's program."""
    devices = tuple(choose_devices(params["devices"], params["backend"]))
    names = "axis_name", "axis_size", "global_axis_size", "in_axes", "out_axes", "name"
    what = (params[k] for k in names)
    sharded, placement = _prepared(params["call_jaxpr"], devices, *what)
    options = Options(params["name"], "pmap", keep_unused=True, compiler=compiler)
    return Request(sharded, placement, params["donated_invars"], options)


def run(args: Sequence[Any], params: dict[str, Any]) -> tuple[Program, list[Any]]:
    """Run a pmap on concrete values; return its program as well.

    Donated operands are consumed if they are sharded as required.
    """
    program = program_of(request_of(params))
    buffers = put_operands(args, program.placement)
    return program, program.wrap(run_program(program, buffers, LABEL))


LABEL = "sharded computation"  # in messages, as in JAX


def pmap_impl(*args: Any, **params: Any) -> list[Any]:
    return run(args, params)[1]


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
