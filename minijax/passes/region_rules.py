"""The rules of primitives that hold programs, derived from their regions.

`def_region_rules(prim, region)` defines the rules of a call, or of a choice between
branches: each transformation is the same equation with transformed programs.  All branches
get the same tangents, cotangents and lane axes, and share slots for their residuals.  A
primitive with a special rule sets it afterwards.

This package names no operation.  Next: ../runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.depth import partial
from ..base.util import pick
from ..ir import core
from ..ir.core import Primitive
from ..ir.facts import Facts
from ..ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Var, eval_jaxpr, jaxprs_axes, no_effects
from ..ir.regions import Bodies, Origins, Params, Region
from ..ir.sharding_rules import joined
from ..types.avals import same_type
from ..types.type_sharding import UNSHARDED
from .ad_util import (
    UndefinedPrimal,
    Zero,
    instantiate,
    nonzero_flags,
    pick_nonzero,
    with_zeros,
)
from .batch import Axis, batch_jaxpr, lane_to_front
from .dce import dce_jaxpr, results_depend
from .jvp import jvp_jaxpr
from .linearize import linearize_jaxpr
from .stage import remembered, stage_closed
from .transpose import transpose_jaxpr

Source = tuple[str, int]  # the origin of a residual: see `LinearizedJaxpr`


def describe(prim: Primitive, region: Region) -> None:
    """Set the region of a primitive, and the types and effects that follow from it."""
    prim.regions = region
    prim.abstract = partial(_abstract, region)
    prim.effects = lambda params: no_effects.union(
        *[b.jaxpr.effects for b in region.bodies(params)]
    )
    prim.named_axes = jaxprs_axes


def _abstract(region: Region, *avals: Any, **params: Any) -> Sequence[Any]:
    outs: Sequence[Any] = region.bodies(params)[0].out_avals
    chosen = avals[: region.index]
    # Devices may choose different branches, so results vary along the axes of the index.
    if any(a.type_sharding is not UNSHARDED for a in chosen):
        return [joined(a, *chosen) for a in outs]
    return outs


def def_region_rules(prim: Primitive, region: Region, **facts: Any) -> None:
    """Define the rules and facts of a primitive that holds programs."""
    describe(prim, region)
    prim.jvp = partial(_jvp, prim, region)
    prim.linearize = partial(_linearize, prim, region)
    prim.transpose = partial(_transpose, prim, region)
    prim.batch = partial(_batch, prim, region)
    prim.dce = partial(_dce, region)
    prim.facts = Facts(depends=partial(_depends, region), **facts)


def union(flags: Sequence[Sequence[bool]]) -> list[bool]:
    """Return, for each position, whether any of the lists is true there."""
    return [any(column) for column in zip(*flags, strict=True)]


def transform_consistently(
    bodies: Bodies, transform: Callable[[ClosedJaxpr, Any], tuple[ClosedJaxpr, list[bool]]]
) -> tuple[Bodies, list[bool]]:
    """Transform programs so that they have the same results; return them and their flags.

    transform: (body, force) -> (program, flags of the results that it has); results flagged
        in `force` are always present.
    """
    transformed = [transform(b, False) for b in bodies]
    flags = union([f for _, f in transformed])
    return [
        new if f == flags else transform(b, flags)[0]
        for b, (new, f) in zip(bodies, transformed, strict=True)
    ], flags


def bind(
    prim: Primitive,
    region: Region,
    params: Params,
    bodies: Bodies,
    index: Sequence[Any],
    args: Sequence[Any],
    ins: Origins,
    outs: Origins,
    keep: bool = False,
) -> Any:
    """Apply the primitive with other programs: see `Region.rebuild`."""
    first, new = region.rebuild(params, bodies, ins, outs, keep)
    return prim.bind(*index, *first, *args, **new)


def flagged_indices(flags: Sequence[bool]) -> list[int]:
    """Return the indices of the flags that are set."""
    return [i for i, f in enumerate(flags) if f]


def _jvp(prim: Primitive, region: Region, primals: Any, tangents: Any, **params: Any) -> Any:
    k = region.index
    nonzero = nonzero_flags(tangents[k:])
    with region.scope(params):
        jvp_bodies, nz_out = transform_consistently(
            region.bodies(params), lambda b, force: jvp_jaxpr(b, nonzero, force)
        )
    args = [*primals[k:], *pick_nonzero(tangents[k:], nonzero)]
    n = len(nz_out)
    out = bind(
        prim,
        region,
        params,
        jvp_bodies,
        primals[:k],
        args,
        [*range(len(nonzero)), *flagged_indices(nonzero)],
        [*range(n), *flagged_indices(nz_out)],
    )
    return out[:n], with_zeros(out[n:], nz_out, map(core.aval_of, out[:n]))


# --------------------------------------------------------------------------- linearize


def _linearize(
    prim: Primitive, region: Region, trace: Any, primals: Any, tangents: Any, **params: Any
) -> Any:
    index, ops = primals[: region.index], primals[region.index :]
    tangents = tangents[region.index :]
    nonzero = nonzero_flags(tangents)
    with region.scope(params):
        primal, read, linear, nz_out = _linearize_bodies(
            region.bodies(params), nonzero, forward_out=not region.result_param
        )
    n = len(nz_out)
    outs_from = [*range(n), *[None] * (len(primal[0].out_avals) - n)]
    out = bind(prim, region, params, primal, index, ops, range(len(ops)), outs_from)
    outs, new = out[:n], out[n:]
    avals = map(core.aval_of, outs)
    if not any(nz_out):
        return outs, with_zeros((), nz_out, avals)
    pools = {"in": ops, "out": outs, "new": new}
    residuals = [pools[pool][i] for pool, i in read]
    ins = [i if pool == "in" else None for pool, i in read] + flagged_indices(nonzero)
    first, linear_params = region.rebuild(params, linear, ins, flagged_indices(nz_out))
    args = (*index, *first, *residuals, *pick_nonzero(tangents, nonzero))
    tangents_out = trace.process(prim, args, linear_params)
    return outs, with_zeros(tangents_out, nz_out, avals)


def _linearize_bodies(
    bodies: Bodies, nonzero: Sequence[bool], forward_out: bool
) -> tuple[Bodies, Sequence[Source], Bodies, list[bool]]:
    """Linearize all branches.

    Returns the primal programs, the residuals, the linear programs that take them, and
    which results have a tangent.
    """
    linearized = [linearize_jaxpr(b, nonzero, forward_out=forward_out) for b in bodies]
    if len(linearized) == 1:
        p = linearized[0]
        return [p.primal], p.residuals, [p.linear], p.nonzero_out
    nz_out = union([p.nonzero_out for p in linearized])
    linearized = [
        p
        if p.nonzero_out == nz_out
        else linearize_jaxpr(b, nonzero, nz_out, forward_out=forward_out)
        for b, p in zip(bodies, linearized, strict=True)
    ]
    n = len(nz_out)
    slots, slots_of = _slots([p.primal.out_avals[n:] for p in linearized])
    primal = [
        _with_slots(p.primal, n, tuple(slots), tuple(slot_of))
        for p, slot_of in zip(linearized, slots_of, strict=True)
    ]
    # Every linear program takes all residuals that at least one of them reads.
    sources = [
        tuple([(pool, slot_of[i]) if pool == "new" else (pool, i) for pool, i in p.residuals])
        for p, slot_of in zip(linearized, slots_of, strict=True)
    ]
    read = sorted({source for each in sources for source in each})
    pools = {"in": bodies[0].in_avals, "out": bodies[0].out_avals, "new": slots}
    avals = tuple([pools[pool][i] for pool, i in read])
    linear = [
        _with_residuals(p.linear, own, tuple(read), avals)
        for p, own in zip(linearized, sources, strict=True)
    ]
    return primal, read, linear, nz_out


def _slots(residual_avals: Sequence[Sequence[Any]]) -> tuple[list[Any], list[list[int]]]:
    """Return slots for the residuals of all branches, and the slot of each residual."""
    slots: list[Any] = []
    slots_of = []
    for avals in residual_avals:
        free = list(range(len(slots)))
        slot_of = []
        for a in avals:
            at = next((i for i in free if same_type(slots[i], a)), None)
            if at is None:
                at = len(slots)
                slots.append(a.strip_weak_type())
            else:
                free.remove(at)
            slot_of.append(at)
        slots_of.append(slot_of)
    return slots, slots_of


@remembered
def _with_slots(
    primal: ClosedJaxpr, n: int, slots: tuple[Any, ...], slot_of: tuple[int, ...]
) -> ClosedJaxpr:
    """Return a branch that returns its residuals in their slots, and zeros in free slots."""
    if slot_of == tuple(range(len(slots))):
        return primal

    def fun(*args: Any) -> list[Any]:
        out = eval_jaxpr(primal.jaxpr, primal.consts, *args)
        residual_in = dict(zip(slot_of, out[n:], strict=True))
        return [
            *out[:n],
            *(
                residual_in[i] if i in residual_in else instantiate(Zero(a))
                for i, a in enumerate(slots)
            ),
        ]

    return stage_closed(fun, primal.in_avals, name=primal.jaxpr.name)


@remembered
def _with_residuals(
    linear: ClosedJaxpr,
    sources: tuple[Source, ...],
    read: tuple[Source, ...],
    avals: tuple[Any, ...],
) -> ClosedJaxpr:
    """Return the linear program of one branch that takes the residuals of all branches.

    sources: the residuals that it takes now; read: those of all branches; avals: their types.
    """
    j, n = linear.jaxpr, len(sources)
    own = dict(zip(sources, j.invars[:n], strict=True))
    ins = [own.get(source) or Var(a) for source, a in zip(read, avals, strict=True)]
    return ClosedJaxpr(Jaxpr([], [*ins, *j.invars[n:]], j.outvars, j.eqns, name=j.name))


# ----------------------------------------------------------------- transpose and lanes


def _transpose(
    prim: Primitive, region: Region, cts: Any, *args: Any, **params: Any
) -> list[Any]:
    index, ops = args[: region.index], args[region.index :]
    linear = [type(x) is UndefinedPrimal for x in ops]
    nonzero_cts = [type(ct) is not Zero for ct in cts]
    with region.scope(params):
        transposed, present = transform_consistently(
            region.bodies(params),
            lambda b, force: transpose_jaxpr(b, linear, nonzero_cts, force),
        )
    nonlinear = [i for i, lin in enumerate(linear) if not lin]
    ins = [ops[i] for i in nonlinear] + [ct for ct in cts if type(ct) is not Zero]
    outs = [i for i, p in zip(flagged_indices(linear), present, strict=True) if p]
    cts_out = bind(
        prim,
        region,
        params,
        transposed,
        index,
        ins,
        [*nonlinear, *[~i for i in flagged_indices(nonzero_cts)]],
        [~i for i in outs],
    )
    cts_in: list[Any] = [None] * len(args)
    for i, ct in zip(outs, cts_out, strict=True):
        cts_in[region.index + i] = ct
    return cts_in


def _batch(
    prim: Primitive, region: Region, axis: Axis, args: Any, dims: Any, **params: Any
) -> Any:
    k = region.index
    batched = [d is not None for d in dims[k:]]
    ins = [
        x if d is None else lane_to_front(x, axis, d)
        for x, d in zip(args[k:], dims[k:], strict=True)
    ]
    with region.scope(params):
        batched_bodies, out_batched = transform_consistently(
            region.bodies(params), lambda b, force: batch_jaxpr(b, axis, batched, force)
        )
    if region.operand_param:
        params = region.shifted(params, batched, out_batched)
    same = range(len(ins)), range(len(out_batched))
    out = bind(prim, region, params, batched_bodies, args[:k], ins, *same, keep=True)
    return out, [0 if b else None for b in out_batched]


# --------------------------------------------------------------------------- dead code


def _dce(region: Region, used: Sequence[bool], eqn: Equation) -> Equation | None:
    if not any(used) and not eqn.effects:
        return None
    bodies = region.bodies(eqn.params)
    used_in = union([dce_jaxpr(b.jaxpr, used)[1] for b in bodies])
    pruned = [
        ClosedJaxpr(dce_jaxpr(b.jaxpr, used, keep_in=used_in)[0], b.consts) for b in bodies
    ]
    _, params = region.rebuild(
        eqn.params, pruned, flagged_indices(used_in), flagged_indices(used)
    )
    k = region.index
    keep = [*[True] * k, *used_in]
    return eqn.replace(invars=pick(eqn.ins, keep), outvars=pick(eqn.outs, used), params=params)


def _depends(region: Region, flags: Sequence[bool], params: Params) -> list[bool]:
    bodies = region.bodies(params)
    if True in flags[: region.index]:
        return [True] * len(bodies[0].out_avals)
    return union([results_depend(b.jaxpr, flags[region.index :]) for b in bodies])
