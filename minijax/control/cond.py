"""`cond` and `switch`: run one of several branches.

Operands are (index, *ops); all branches take all operands, constants they capture
included.  Batched over the index, all branches run and their results are selected; the
caller may choose otherwise with `batched=`.  Next: branching.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from ..base import errors
from ..core import core
from ..core.jaxpr import ClosedJaxpr, Equation, Jaxpr, Var, eval_jaxpr, jaxprs_effects
from ..interpreters import batch as batching
from ..interpreters.algebra import Linear, Zero, instantiate, lib
from ..interpreters.dce import dce_jaxpr, results_depend
from ..interpreters.jvp import jvp_jaxpr
from ..interpreters.linearize import linearize_jaxpr
from ..interpreters.stage import stage_closed
from ..interpreters.transpose import transpose_jaxpr
from ..ops import logic, reductions
from ..runtime import array as arrays
from ..runtime import lower
from ..types import dtypes
from . import checks, common, discharge
from .custom_jvp import stop_gradient_p
from .discharge import FunctionPrimitive
from .named import jaxprs_axes

Branches = tuple[ClosedJaxpr, ...]

cond_p = FunctionPrimitive("cond")
lower.keys_aware.add(cond_p)
cond_p.abstract = lambda *avals, branches, **params: branches[0].out_avals
cond_p.effects = jaxprs_effects
cond_p.named_axes = jaxprs_axes


def _union(flags: Sequence[Sequence[bool]]) -> list[bool]:
    return [any(column) for column in zip(*flags, strict=True)]


def cond_jvp(primals: Any, tangents: Any, *, branches: Branches, **params: Any) -> Any:
    index, *ops = primals
    nonzero = common.nonzero_flags(tangents[1:])
    nz_out = _union([jvp_jaxpr(b, nonzero)[1] for b in branches])
    pushed = tuple(jvp_jaxpr(b, nonzero, nz_out)[0] for b in branches)
    ts = common.pick_nonzero(tangents[1:], nonzero)
    out = cond_p.bind(index, *ops, *ts, branches=pushed, **params)
    n = len(nz_out)
    avals = [core.aval_of(x) for x in out[:n]]
    return out[:n], common.spread(out[n:], nz_out, avals)


cond_p.jvp = cond_jvp


def cond_linearize(
    trace: Any, primals: Any, tangents: Any, *, branches: Branches, **params: Any
) -> Any:
    """Each branch saves residuals into slots shared by type; unused slots are zero."""
    index, *ops = primals
    nonzero = common.nonzero_flags(tangents[1:])
    nz_out = _union([linearize_jaxpr(b, nonzero).nonzero_out for b in branches])
    parts = [linearize_jaxpr(b, nonzero, nz_out) for b in branches]
    n = len(nz_out)
    slots, places = _slots([p.primal.out_avals[n:] for p in parts])
    primal = tuple(
        _with_slots(p.primal, n, slots, place)
        for p, place in zip(parts, places, strict=True)
    )
    out = cond_p.bind(index, *ops, branches=primal, **params)
    outs, new = out[:n], out[n:]
    avals = [core.aval_of(x) for x in outs]
    if not any(nz_out):
        return outs, common.spread([], nz_out, avals)
    # Every branch of the linear cond takes the same residuals: those any one reads.
    read = sorted(
        {
            ("new", place[i]) if where == "new" else (where, i)
            for p, place in zip(parts, places, strict=True)
            for where, i in p.residuals
        }
    )
    pools = {"in": ops, "out": outs, "new": new}
    residuals = [pools[where][i] for where, i in read]
    res_avals = [core.aval_of(x) for x in residuals]
    linear = tuple(
        _with_residuals(p, place, read, res_avals)
        for p, place in zip(parts, places, strict=True)
    )
    ts = common.pick_nonzero(tangents[1:], nonzero)
    found = trace.process(
        cond_p, (index, *residuals, *ts), {"branches": linear, **params}
    )
    return outs, common.spread(found, nz_out, avals)


def _slots(wanted: Sequence[Sequence[Any]]) -> tuple[list[Any], list[list[int]]]:
    """Slots for all branches' residuals, and which slot each residual goes to."""
    slots: list[Any] = []
    places = []
    for avals in wanted:
        free = list(range(len(slots)))
        place = []
        for a in avals:
            at = next((i for i in free if common.same_type(slots[i], a)), None)
            if at is None:
                at = len(slots)
                slots.append(a.strip_weak_type())
            else:
                free.remove(at)
            place.append(at)
        places.append(place)
    return slots, places


def _with_slots(
    primal: ClosedJaxpr, n: int, slots: Sequence[Any], place: Sequence[int]
) -> ClosedJaxpr:
    """A branch whose residuals stand in their slots."""
    if list(place) == list(range(len(slots))):
        return primal

    def fun(*args: Any) -> list[Any]:
        out = eval_jaxpr(primal.jaxpr, primal.consts, *args)
        found = dict(zip(place, out[n:], strict=True))
        return [*out[:n], *(
            found[i] if i in found else instantiate(Zero(a)) for i, a in enumerate(slots)
        )]  # fmt: skip

    return common.remembered(
        primal, ("slots", n, tuple(slots), tuple(place)),
        lambda: stage_closed(fun, primal.in_avals, name=primal.jaxpr.name),
    )  # fmt: skip


def _with_residuals(
    parts: Any, place: Sequence[int], read: Sequence[Any], res_avals: Sequence[Any]
) -> ClosedJaxpr:
    """The linear jaxpr of one branch, taking the residuals of all branches."""
    j = parts.linear.jaxpr
    n_res = len(parts.residuals)
    own = {}
    for v, (where, i) in zip(j.invars[:n_res], parts.residuals, strict=True):
        own[where, place[i] if where == "new" else i] = v
    key = ("residuals", tuple(place), tuple(read), tuple(res_avals))
    ins = [own.get(k) or Var(a) for k, a in zip(read, res_avals, strict=True)]
    return common.remembered(
        parts.linear, key,
        lambda: ClosedJaxpr(
            Jaxpr([], [*ins, *j.invars[n_res:]], j.outvars, j.eqns, j.name)
        ),
    )  # fmt: skip


cond_p.linearize = cond_linearize


def cond_transpose(cts: Any, *args: Any, branches: Branches, **params: Any) -> Any:
    index, *ops = args
    linear = [type(x) is Linear for x in ops]
    given = [type(ct) is not Zero for ct in cts]
    present = _union([
        transpose_jaxpr(b, linear, given, instantiate_out=False)[1] for b in branches
    ])  # fmt: skip
    turned = tuple(
        _only(transpose_jaxpr(b, linear, given)[0], present) for b in branches
    )
    ins = [x for x in ops if type(x) is not Linear]
    ins += [ct for ct in cts if type(ct) is not Zero]
    found = iter(cond_p.bind(index, *ins, branches=turned, **params))
    there = iter(present)
    return [
        None,
        *((next(found) if next(there) else None) if lin else None for lin in linear),
    ]


def _only(closed: ClosedJaxpr, used: Sequence[bool]) -> ClosedJaxpr:
    if all(used):
        return closed
    pruned, _ = dce_jaxpr(closed.jaxpr, used, keep_in=True)
    return ClosedJaxpr(pruned, closed.consts)


cond_p.transpose = cond_transpose


def cond_batch(
    axis: Any, args: Any, dims: Any, *, branches: Branches, **params: Any
) -> Any:
    batched = [d is not None for d in dims[1:]]
    ops = [
        x if d is None else batching.bring_front(x, axis.size, d)
        for x, d in zip(args[1:], dims[1:], strict=True)
    ]
    index, index_dim = args[0], dims[0]
    if index_dim is None:
        out_b = _union([batching.batch_jaxpr(b, axis, batched)[1] for b in branches])
        lanes = tuple(
            batching.batch_jaxpr(b, axis, batched, out_b)[0] for b in branches
        )
        out = cond_p.bind(index, *ops, branches=lanes, **params)
        return out, [0 if b else None for b in out_b]
    index = batching.bring_front(index, axis.size, index_dim)
    how = params.get("batched", "select")
    if how != "select":
        return BATCHED[how](axis, index, ops, batched, branches, params)
    effects = jaxprs_effects({"branches": branches})
    if checks.fails(effects):  # lanes that do not take a branch check nothing in it
        front = [0, *(0 if b else None for b in batched)]
        params = {"branches": branches, **params}
        return checks.batch_outside(cond_p, axis, [index, *ops], front, params, effects)
    common.refuse_lanes(
        effects,
        "{} effect not supported in vmap-of-cond with batched predicate",
        "every lane runs all branches, and untaken ones would act.",
    )
    n = len(branches[0].out_avals)
    used = [dce_jaxpr(branch.jaxpr, [True] * n)[1] for branch in branches]
    mask = [u and _may_vary(x) for x, u in zip(ops, _union(used), strict=True)]
    ops = [
        batching.bring_front(x, axis.size, None) if m and not b else x
        for x, m, b in zip(ops, mask, batched, strict=True)
    ]
    flags = [b or m for b, m in zip(batched, mask, strict=True)]
    select = _Select(index)
    results = []
    for i, branch in enumerate(branches):
        cut = [m and u for m, u in zip(mask, used[i], strict=True)]
        if any(cut):
            # Cut the gradient of lanes that do not take the branch: it may be NaN.
            taken = _Select(logic.eq(index, np.int32(i)))
            ins = [
                taken(stop_gradient_p.bind(x), x) if c else x
                for x, c in zip(ops, cut, strict=True)
            ]
        else:
            ins = ops
        run, _ = batching.batch_jaxpr(branch, axis, flags, True)
        results.append(eval_jaxpr(run.jaxpr, run.consts, *ins))
    outs = [select(*column) for column in zip(*results, strict=True)]
    return outs, [0] * n


def _may_vary(x: Any) -> bool:
    return isinstance(x, core.Tracer) and dtypes.is_differentiable(x.dtype)


class _Select:
    """`cases[index]` lane by lane; the index is spread once for each shape."""

    __slots__ = ("known",)

    def __init__(self, index: Any) -> None:
        self.known = {core.aval_of(index).shape: index}

    def __call__(self, *cases: Any) -> Any:
        shape = core.aval_of(cases[0]).shape
        index = self.known.get(shape)
        if index is None:
            index = lib.broadcast_in_dim(self.known[shape[:1]], shape, (0,))
            self.known[shape] = index
        return logic.select_n(index, *cases)


def _batch_error(*_: Any) -> Any:
    raise ValueError(
        errors.message(
            "cond(batched='error'): the predicate differs from lane to lane.",
            why="the caller asked to be told rather than run all branches.",
            tries=[
                "batched='select', 'loop' or 'group'",
                "a predicate that lanes share",
            ],
        )
    )


def _batch_loop(
    axis: Any, index: Any, ops: Any, batched: Any, branches: Branches, params: Any
) -> Any:
    """Lane after lane, each takes its own branch alone."""
    moving = [x for x, b in zip(ops, batched, strict=True) if b]
    shared = [x for x, b in zip(ops, batched, strict=True) if not b]
    inner_axes = core.STATE.axes

    def one(*args: Any) -> list[Any]:
        fixed, (i, *rows) = args[: len(shared)], args[len(shared) :]
        f, r = iter(fixed), iter(rows)
        full = [next(r) if b else next(f) for b in batched]
        return cond_p.bind(i, *full, branches=branches, **params)

    avals = [core.aval_of(x) for x in shared]
    avals += [common.row(core.aval_of(x)) for x in (index, *moving)]
    with core.axis_env(inner_axes):
        body = stage_closed(one, avals, text="cond lane")
    out = core.registry["scan"].bind(
        *shared, index, *moving, jaxpr=body, length=axis.size, num_carry=0,
        num_consts=len(shared), reverse=False, unroll=1, _split_transpose=False,
    )  # fmt: skip
    return out, [0] * len(out)


def _batch_group(
    axis: Any, index: Any, ops: Any, batched: Any, branches: Branches, params: Any
) -> Any:
    """Each branch runs once, on all lanes, if any lane takes it."""
    results = []
    for i, b in enumerate(branches):
        lanes, _ = batching.batch_jaxpr(b, axis, batched, True)
        skip = stage_closed(
            lambda *_, avals=lanes.out_avals: [instantiate(Zero(a)) for a in avals],
            lanes.in_avals, text="cond skipped",
        )  # fmt: skip
        taken = reductions.reduce_or(logic.eq(index, np.int32(i)), (0,))
        run = tuple(settle_weak([skip, lanes]))
        results.append(cond_p.bind(index_of(taken), *ops, branches=run, **params))
    select = _Select(index)
    outs = [select(*column) for column in zip(*results, strict=True)]
    return outs, [0] * len(outs)


# Other ways to batch over the index: name -> rule.
BATCHED: dict[str, Callable[..., Any]] = {
    "loop": _batch_loop, "group": _batch_group, "error": _batch_error,
}  # fmt: skip

cond_p.batch = cond_batch


def cond_dce(used: Sequence[bool], eqn: Equation) -> Equation | None:
    branches = eqn.params["branches"]
    if not any(used) and not any(b.effects for b in branches):
        return None
    used_in = _union([dce_jaxpr(b.jaxpr, used)[1] for b in branches])
    pruned = tuple(
        ClosedJaxpr(dce_jaxpr(b.jaxpr, used, keep_in=used_in)[0], b.consts)
        for b in branches
    )
    return eqn.replace(
        invars=[
            eqn.invars[0],
            *(v for v, u in zip(eqn.invars[1:], used_in, strict=True) if u),
        ],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        params={**eqn.params, "branches": pruned},
    )


cond_p.dce = cond_dce


def cond_depends(moving: Sequence[bool], params: dict[str, Any]) -> list[bool]:
    if moving[0]:
        return [True] * len(params["branches"][0].out_avals)
    return _union([results_depend(b.jaxpr, moving[1:]) for b in params["branches"]])


cond_p.depends = cond_depends


def cond_lower(
    ctx: Any, index: Any, *ops: Any, branches: Branches,
    platforms: tuple[str | None, ...] = (), **_: Any,
) -> list[Any]:  # fmt: skip
    if platforms:  # chosen here, not when the program runs
        chosen = branches[platforms.index(choose_platform(ctx.platform, platforms))]
        return ctx.jaxpr(chosen, *ops)
    run = [functools.partial(ctx.jaxpr, b, *ops) for b in branches]
    return ctx.case(index, run, [ctx.type(a) for a in ctx.avals_out])


cond_p.lower = cond_lower


def choose_platform(platform: str, known: Container[str | None]) -> str | None:
    """The platform whose function runs on `platform`; None for the default."""
    which = platform if platform in known else None
    if which not in known:
        raise NotImplementedError(
            f"platform_dependent: no function for platform {platform}, and no default."
        )
    return which


def cond_by_hand(
    index: Any, *ops: Any, branches: Branches, platforms: tuple[str | None, ...] = (),
    **_: Any,
) -> list[Any]:  # fmt: skip
    if platforms:
        here = arrays.default_placement().platform
        return branches[platforms.index(choose_platform(here, platforms))](*ops)
    return branches[int(index)](*ops)


common.run_by_hand(cond_p, cond_by_hand)


def cond_discharge(
    due: Sequence[bool], args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """Every branch returns what any branch writes to."""
    branches, mine = params["branches"], due[1:]
    written = _union([discharge.by_value(b, mine)[1] for b in branches])
    flat = settle_weak([discharge.by_value(b, mine, written)[0] for b in branches])
    index, *ops = discharge.values_of(args, due)
    out = cond_p.bind(index, *ops, **{**params, "branches": flat})
    n = len(branches[0].out_avals)
    discharge.write_back(args[1:], written, out[n:])
    return out[:n]


cond_p.discharge = cond_discharge


def cond_opened(captured: Any, args: Any, params: dict[str, Any]) -> Any:
    branches = tuple(discharge.open_jaxpr(b, captured) for b in params["branches"])
    return (args[0], *captured, *args[1:]), {**params, "branches": branches}


cond_p.opened = cond_opened


# ---------------------------------------------------------------------------- helpers


def settle_weak(branches: Sequence[ClosedJaxpr]) -> Branches:
    """Make results strongly typed where any branch's is."""
    columns = zip(*(b.out_avals for b in branches), strict=True)
    strong = [any(not getattr(a, "weak_type", False) for a in c) for c in columns]
    return tuple(_strengthened(b, strong) for b in branches)


def _strengthened(closed: ClosedJaxpr, strong: Sequence[bool]) -> ClosedJaxpr:
    todo = [
        s and getattr(a, "weak_type", False)
        for s, a in zip(strong, closed.out_avals, strict=True)
    ]
    if not any(todo):
        return closed

    def fun(*args: Any) -> list[Any]:
        out = eval_jaxpr(closed.jaxpr, closed.consts, *args)
        return [
            common.with_dtype(x, a.dtype) if t else x
            for x, t, a in zip(out, todo, closed.out_avals, strict=True)
        ]

    return common.remembered(
        closed, ("strong", *todo),
        lambda: stage_closed(fun, closed.in_avals, name=closed.jaxpr.name),
    )  # fmt: skip


def index_of(pred: Any) -> Any:
    if isinstance(pred, (bool, np.bool_)):
        return np.int32(pred)
    convert = core.registry["convert_element_type"]
    return convert.bind(pred, new_dtype=dtypes.int32, weak_type=False, sharding=None)
