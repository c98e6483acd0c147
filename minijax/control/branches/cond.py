"""`cond` and `switch`: run one of several branches.

Operands are (index, *ops); all branches take all operands, including the constants that any
branch captures.  Batched over the index, all branches run and their results are selected;
`batched=` offers alternatives.  Next: cond_functions.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from ...base import errors
from ...base.util import pick
from ...ir import core, regions
from ...ir.jaxpr import ClosedJaxpr, eval_jaxpr, jaxprs_effects
from ...passes import batch as batching
from ...passes.ad_util import Zero, core_ops, instantiate
from ...passes.dce import dce_jaxpr
from ...passes.region_rules import def_region_rules, union
from ...passes.stage import stage_closed
from ...prims.math import logic
from ...prims.math.cast import convert_element_type_p
from ...prims.reduce import over_axes
from ...prims.stop_gradient import stop_gradient_p
from ...runtime.sharding import placement
from ...types import dtypes
from .. import body_staging
from ..effects import checkify_errors, checkify_transform
from ..loops.scan import scan_p
from ..refs import discharge
from ..refs.discharge import FunctionPrimitive

Branches = tuple[ClosedJaxpr, ...]

cond_p = FunctionPrimitive("cond")
def_region_rules(cond_p, regions.Branches("branches"), lowers_key_arrays=True)


def cond_batch(axis: Any, args: Any, dims: Any, *, branches: Branches, **params: Any) -> Any:
    if dims[0] is None:
        return derived_batch(axis, args, dims, branches=branches, **params)
    batched = [d is not None for d in dims[1:]]
    ops = [
        x if d is None else batching.lane_to_front(x, axis, d)
        for x, d in zip(args[1:], dims[1:], strict=True)
    ]
    index = batching.lane_to_front(args[0], axis, dims[0])
    how = params.get("batched", "select")
    if how != "select":
        return BATCHED[how](axis, index, ops, batched, branches, params)
    effects = jaxprs_effects({"branches": branches})
    if checkify_errors.fails(effects):  # lanes must not report errors of other branches
        front = [0, *(0 if b else None for b in batched)]
        params = {"branches": branches, **params}
        return checkify_transform.batch_outside(cond_p, axis, [index, *ops], front, params)
    body_staging.check_no_batched_effects(
        effects,
        "{} effect not supported in vmap-of-cond with batched predicate",
        "Every lane runs all branches, so untaken ones would also have the effect.",
    )
    n = len(branches[0].out_avals)
    used = [dce_jaxpr(branch.jaxpr, [True] * n)[1] for branch in branches]
    mask = [u and _may_vary(x) for x, u in zip(ops, union(used), strict=True)]
    ops = [
        batching.lane_to_front(x, axis, None) if m and not b else x
        for x, m, b in zip(ops, mask, batched, strict=True)
    ]
    flags = [b or m for b, m in zip(batched, mask, strict=True)]
    select = _Select(index)
    results = []
    for i, branch in enumerate(branches):
        stops = [m and u for m, u in zip(mask, used[i], strict=True)]
        if any(stops):
            # Stop the gradient of lanes that do not take the branch: it may be NaN.
            taken = _Select(logic.eq(index, np.int32(i)))
            ins = [
                taken(stop_gradient_p.bind(x, discarded=True), x) if c else x
                for x, c in zip(ops, stops, strict=True)
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
    """`cases[index]`, lane by lane; the index is broadcast once for each shape."""

    __slots__ = ("index_by_shape",)

    def __init__(self, index: Any) -> None:
        self.index_by_shape = {core.aval_of(index).shape: index}

    def __call__(self, *cases: Any) -> Any:
        shape = core.aval_of(cases[0]).shape
        index = self.index_by_shape.get(shape)
        if index is None:
            index = core_ops.broadcast_in_dim(self.index_by_shape[shape[:1]], shape, (0,))
            self.index_by_shape[shape] = index
        return logic.select_n(index, *cases)


def _batch_error(*_: Any) -> Any:
    raise ValueError(
        errors.message(
            "cond(batched='error'): the predicate differs from lane to lane.",
            why="The caller requested an error instead of running all branches.",
            tries=["batched='select', 'loop' or 'group'", "a predicate that lanes share"],
        )
    )


def _batch_loop(
    axis: Any, index: Any, ops: Any, batched: Any, branches: Branches, params: Any
) -> Any:
    """Run one lane after the other, each with its own branch only."""
    batched_ops = pick(ops, batched)
    shared = [x for x, b in zip(ops, batched, strict=True) if not b]

    def one(*args: Any) -> list[Any]:
        fixed, (i, *slices) = args[: len(shared)], args[len(shared) :]
        f, r = iter(fixed), iter(slices)
        full = [next(r) if b else next(f) for b in batched]
        return cond_p.bind(i, *full, branches=branches, **params)

    avals = [core.aval_of(x) for x in shared]
    avals += [body_staging.slice_aval(core.aval_of(x)) for x in (index, *batched_ops)]
    body = stage_closed(one, avals, text="cond lane")
    out = scan_p.bind(
        *shared,
        index,
        *batched_ops,
        jaxpr=body,
        length=axis.size,
        num_carry=0,
        num_consts=len(shared),
        reverse=False,
        unroll=1,
        _split_transpose=False,
    )
    return out, [0] * len(out)


def _batch_group(
    axis: Any, index: Any, ops: Any, batched: Any, branches: Branches, params: Any
) -> Any:
    """Run each branch once, on all lanes, if any lane takes it."""
    results = []
    for i, b in enumerate(branches):
        lanes, _ = batching.batch_jaxpr(b, axis, batched, True)
        skip = stage_closed(
            lambda *_, avals=lanes.out_avals: [instantiate(Zero(a)) for a in avals],
            lanes.in_avals,
            text="cond skipped",
        )
        taken = over_axes.reduce_or(logic.eq(index, np.int32(i)), (0,))
        run = tuple(body_staging.unify_weak_types([skip, lanes]))
        results.append(cond_p.bind(index_of(taken), *ops, branches=run, **params))
    select = _Select(index)
    outs = [select(*column) for column in zip(*results, strict=True)]
    return outs, [0] * len(outs)


# Other ways to batch over the index: name -> rule.
BATCHED: dict[str, Callable[..., Any]] = {
    "loop": _batch_loop,
    "group": _batch_group,
    "error": _batch_error,
}

derived_batch = cond_p.batch
cond_p.batch = cond_batch


def cond_lower(
    ctx: Any,
    index: Any,
    *ops: Any,
    branches: Branches,
    platforms: tuple[str | None, ...] = (),
    **_: Any,
) -> list[Any]:
    if platforms:  # chosen at compile time
        chosen = branches[platforms.index(choose_platform(ctx.platform, platforms))]
        return ctx.jaxpr(chosen, *ops)
    run = [
        functools.partial(ctx.jaxpr, b, *ops, scope=f"cond/branch_{i}_fun")
        for i, b in enumerate(branches)
    ]
    return ctx.case(index, run, [ctx.type(a) for a in ctx.avals_out])


cond_p.lower = cond_lower


def choose_platform(platform: str, supported: Container[str | None]) -> str | None:
    """Return the platform whose function runs on `platform`; None for the default."""
    which = platform if platform in supported else None
    if which not in supported:
        raise NotImplementedError(
            f"platform_dependent: no function for platform {platform}, and no default."
        )
    return which


def cond_host_driven(
    index: Any, *ops: Any, branches: Branches, platforms: tuple[str | None, ...] = (), **_: Any
) -> list[Any]:
    if platforms:
        platform = placement.default_placement().platform
        return branches[platforms.index(choose_platform(platform, platforms))](*ops)
    return branches[int(index)](*ops)


discharge.def_host_driven_impl(cond_p, cond_host_driven)


# ---------------------------------------------------------------------------- helpers


def index_of(pred: Any) -> Any:
    if isinstance(pred, (bool, np.bool_)):
        return np.int32(pred)
    return convert_element_type_p.bind(
        pred, new_dtype=dtypes.int32, weak_type=False, sharding=None
    )
