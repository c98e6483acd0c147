"""`shard_map`: one program on every device of a mesh, each on its shard of the operands.

Specs define how each operand is sharded over the mesh axes, and how the devices' results
are concatenated; along a mesh axis that its spec does not name, a value is replicated.  The
program sees its own shards and the names of the axes, over which collectives communicate.
Over axes that are not manual the compiler partitions the program, as it does outside.

Inside, types record the axes over which a value varies (`check_vma`), and derivatives
follow from that.  Without these types, a replicated value receives a cotangent from every
device: that of a result is divided among the devices, and those of an operand are summed.

Next: shard_map_types.py, specs and types at its boundary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...base import errors
from ...base.util import pick
from ...ir import core
from ...ir.jaxpr import ClosedJaxpr, axes_of
from ...ir.regions import Call
from ...ir.sharding_rules import joined, manual_axes
from ...passes.ad_util import UndefinedPrimal, nonzero_flags
from ...passes.batch import Axis, batch_jaxpr, lane_to_front
from ...passes.region_rules import def_region_rules, flagged_indices
from ...passes.stage import remembered, stage_closed
from ...passes.transpose import transpose_jaxpr
from ...prims import lax
from ...runtime.lowering.context import Lowering, captured_consts
from ...runtime.running import dispatch
from ...runtime.running.device_put import multi_device_sharding
from ...runtime.sharding.mesh import Mesh, mesh_made_current, with_manual_axes
from ...runtime.sharding.partition_spec import PartitionSpec
from ...runtime.sharding.partition_spec import axes_of as axes_of_entry
from ...runtime.sharding.placement import mesh_of, partitions
from ...runtime.sharding.shardings import NamedSharding
from ...types import dtypes
from ...types.avals import shaped
from ..refs.discharge import FunctionPrimitive
from .shard_map_types import (
    Stacked,
    cotangent_spec,
    placed,
    residual_spec,
    scope,
    shard_aval,
    shifted,
    unnamed,
    unshard_aval,
    vary_as,
)

shard_map_p = FunctionPrimitive("shard_map")


@contextmanager
def _inside(params: dict[str, Any]) -> Iterator[None]:
    """Enter the scope in which the program is traced."""
    mesh, manual = params["mesh"], params["newly_manual_axes"]
    axes = scope(mesh, manual, params["check_vma"])
    with core.axis_env(axes), mesh_made_current(with_manual_axes(mesh.abstract_mesh, manual)):
        yield


def_region_rules(
    shard_map_p,
    Call(
        "jaxpr",
        scope=_inside,
        operand_param="in_specs",
        result_param="out_specs",
        residual=residual_spec,
        shift=shifted,
    ),
    lowers_key_arrays=True,
)
shard_map_p.abstract = lambda *avals, **params: [
    unshard_aval(a, spec, params)
    for a, spec in zip(params["jaxpr"].out_avals, params["out_specs"], strict=True)
]
shard_map_p.named_axes = lambda params: (
    axes_of(params["jaxpr"].jaxpr) - params["newly_manual_axes"]
)


# -------------------------------------------------------------------------------- lanes

_batch_on_each_device = shard_map_p.batch  # all lanes on each device


def _batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
    names, closed = axes_of_entry(axis.spmd_name), params["jaxpr"]
    used = axes_of(closed.jaxpr)
    if not (names and params["newly_manual_axes"].issuperset(names)) or axis.name in used:
        return _batch_on_each_device(axis, args, dims, **params)
    specs = [placed(s) for s in (*params["in_specs"], *params["out_specs"])]
    if clash := {a for s in specs for e in s for a in axes_of_entry(e)} & {*names}:
        raise errors.value_error(
            "vmap spmd_axis_name cannot appear in shard_map in_specs, or out_specs.",
            which=f"spmd_axis_name={axis.spmd_name!r}, and {clash} in {specs}",
            why="vmap maps its lanes over this mesh axis.",
            tries=["another spmd_axis_name, or none"],
        )
    if clash := {*names} & set(used):
        raise errors.value_error(
            f"shard_map under vmap with spmd_axis_name={axis.spmd_name!r} uses the axis"
            f" {', '.join(map(str, clash))}.",
            why="vmap maps its lanes over this mesh axis, and lanes are independent.",
            tries=["another spmd_axis_name, or none"],
        )
    num_shards = math.prod(params["mesh"].shape[a] for a in names)
    if axis.size % num_shards:
        raise errors.value_error(
            f"vmap over {axis.size} lanes with spmd_axis_name={axis.spmd_name!r}: they are"
            f" not evenly divisible by its size, {num_shards}.",
            tries=["pad the lanes", "vmap without spmd_axis_name"],
        )
    batched = [d is not None for d in dims]
    ins = [
        lane_to_front(x, axis, d) if b else x
        for x, d, b in zip(args, dims, batched, strict=True)
    ]
    with _inside(params):
        inner = Axis(axis.name, axis.size // num_shards)
        lanes, out_batched = batch_jaxpr(closed, inner, batched, False)
        if params["check_vma"]:
            lanes = _varying_over(lanes, names, tuple(batched))
    sides = (("in_specs", batched), ("out_specs", out_batched))
    for what, flags in sides:
        params[what] = tuple(
            [
                shifted(s, axis.spmd_name) if f else s
                for s, f in zip(params[what], flags, strict=True)
            ]
        )
    if params["check_vma"]:
        lanes = vary_as(lanes, [placed(s) for s in params["out_specs"]])
    out = shard_map_p.bind(*ins, **{**params, "jaxpr": lanes})
    return out, [0 if b else None for b in out_batched]


@remembered
def _varying_over(
    closed: ClosedJaxpr, names: tuple[Any, ...], flags: tuple[bool, ...]
) -> ClosedJaxpr:
    """Return the program with its flagged inputs also varying over `names`."""
    like = shaped((), dtypes.bool_).update(manual=manual_axes(names))
    avals = [joined(a, like) if f else a for a, f in zip(closed.in_avals, flags, strict=True)]
    return stage_closed(lambda *xs: closed(*xs), avals, name=closed.jaxpr.name)


shard_map_p.batch = _batch

# -------------------------------------------------------------------------- transposing


def _transpose(cts: Any, *args: Any, **params: Any) -> Any:
    linear = [type(x) is UndefinedPrimal for x in args]
    nonzero_cts = nonzero_flags(cts)
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    with _inside(params):
        transposed, present = transpose_jaxpr(
            params["jaxpr"], linear, nonzero_cts, instantiate_out=False
        )
    nonlinear = [i for i, lin in enumerate(linear) if not lin]
    outs = pick(flagged_indices(linear), present)
    ins = [args[i] for i in nonlinear]
    if params["check_vma"]:
        ins += [cts[i] for i in flagged_indices(nonzero_cts)]
    else:
        shared = [tuple(n for n, _ in unnamed(in_specs[i], params)) for i in outs]
        if any(shared):
            transposed = _summed(transposed, shared, params)
        for i in flagged_indices(nonzero_cts):
            # A replicated result receives its cotangent once per device, so divide it.
            n = math.prod(k for _, k in unnamed(out_specs[i], params))
            ins.append(cts[i] if n == 1 else lax.mul(cts[i], 1.0 / n))
    origins = [*nonlinear, *(~i for i in flagged_indices(nonzero_cts))], [~i for i in outs]
    _, new = shard_map_p.regions.rebuild(params, [transposed], *origins)
    for what, num_nonlinear in (("in_specs", len(nonlinear)), ("out_specs", 0)):
        specs = new[what]
        ct_specs = map(cotangent_spec, specs[num_nonlinear:])
        new[what] = (*specs[:num_nonlinear], *ct_specs)
    cts_in = dict(zip(outs, shard_map_p.bind(*ins, **new), strict=True))
    return [cts_in.get(i) for i in range(len(args))]


def _summed(
    closed: ClosedJaxpr, shared: Sequence[tuple[Any, ...]], params: dict[str, Any]
) -> ClosedJaxpr:
    """Return a jaxpr that sums its outputs over the axes along which they are shared."""

    def fun(*args: Any) -> list[Any]:
        outs = zip(closed(*args), shared, strict=True)
        return [lax.psum(x, axes) if axes else x for x, axes in outs]

    with _inside(params):
        return stage_closed(fun, closed.in_avals, name=closed.jaxpr.name)


shard_map_p.transpose = _transpose


# -------------------------------------------------------------------- lowering, running


def _lower(ctx: Any, *args: Any, **params: Any) -> Any:
    closed, manual = params["jaxpr"], params["newly_manual_axes"]
    devices = ctx.module.placement.devices
    mesh = NamedSharding(params["mesh"], PartitionSpec()).on(devices).mesh
    if ctx.token is not None and any(getattr(e, "ordered", False) for e in closed.effects):
        raise errors.value_error(
            "The following ordered effects are not supported for more than 1 device:"
            " those inside of shard_map.",
            why="The devices of a mesh run in no particular order.",
            tries=["ordered=False"],
        )
    now_manual = ctx.manual | manual
    hidden = [c for c in captured_consts(closed) if id(c) in ctx.consts]
    in_specs = [placed(spec) for spec in params["in_specs"]]
    out_specs = [placed(spec) for spec in params["out_specs"]]
    ins = [(core.aval_of(c), PartitionSpec()) for c in hidden]
    ins += zip(ctx.avals_in, in_specs, strict=True)
    outs = list(zip(ctx.avals_out, out_specs, strict=True))
    shard_avals = [shard_aval(a, spec, mesh, manual) for a, spec in ins]

    def body(*values: Any) -> list[Any]:
        inner = Lowering(ctx.module, ctx.prefix)
        inner.axes, inner.manual, inner.loc = mesh.shape_tuple, now_manual, ctx.loc
        n = len(hidden)
        inner.consts = {id(c): v for c, v in zip(hidden, values[:n], strict=True)}
        inside = list(values[n:])
        for i, spec in enumerate(params["in_specs"]):
            if isinstance(spec, Stacked):
                inside[i] = inner.op("reshape", closed.in_avals[i], inside[i])
        out = inner.jaxpr(closed, *inside, scope="shard_map")
        for i, spec in enumerate(params["out_specs"]):
            if isinstance(spec, Stacked):
                out[i] = inner.op("reshape", shard_aval(*outs[i], mesh, manual), out[i])
        return out

    operands = [*(ctx.consts[id(c)] for c in hidden), *args]
    return ctx.manual_region(mesh, manual, operands, ins, outs, shard_avals, body)


shard_map_p.lower = _lower


def _impl(*args: Any, **params: Any) -> Any:
    """Run on concrete values, as a compiled program over the mesh."""
    mesh = params["mesh"]
    if not isinstance(mesh, Mesh):
        meshes = (
            mesh_of(sharding)
            for sharding in map(multi_device_sharding, args)
            if sharding is not None
        )
        operand_mesh = next(meshes, None)
        if operand_mesh is None:
            raise errors.value_error(
                "shard_map over an `AbstractMesh` needs an argument on the devices of a mesh.",
                tries=["mesh=Mesh(...)", "device_put the arguments over a mesh first"],
            )
        mesh = NamedSharding(mesh, PartitionSpec()).on(operand_mesh.flat).mesh
    outs: list[Any] = [None] * len(params["out_specs"])
    if params["newly_manual_axes"].issuperset(mesh.axis_names):  # otherwise XLA chooses
        outs = [NamedSharding(mesh, placed(s)) for s in params["out_specs"]]
    requested = partitions(mesh, [None] * len(args), outs)
    return dispatch.run(shard_map_p, args, params, requested)


shard_map_p.impl = _impl
