"""The primitives of `custom_vjp`: a call that has its own reverse-mode rule.

`custom_vjp_call` holds the function, `fwd` and `bwd` as callables on flat values.
Differentiated, it runs `fwd` instead of the function; the tangents become one
`custom_lin` equation, which can only be transposed: by `bwd`.  Next: custom_vjp.py.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any

from ...base import errors
from ...base.util import pick
from ...ir import core
from ...ir.facts import Facts
from ...ir.jaxpr import ClosedJaxpr
from ...ir.regions import Call
from ...passes import batch as batching
from ...passes.ad_util import Zero, core_ops, instantiate, mapped_aval, unmapped_aval
from ...passes.dce import results_depend
from ...passes.stage import StageTrace, stage
from ...runtime.lowering import context
from ...text.tracer_errors import leaked_into_rule
from ...types import dtypes
from ..effects import checkify_transform
from ..refs.discharge import RulePrimitive
from .custom_calls import (
    LaneAxes,
    as_arrays,
    call_pretty,
    calls_with_rule,
    lane_closure_error,
    stage_call,
)
from .remat_opt import taking_more

# `fwd(flags, *args) -> (residuals, outs)`; `bwd(residuals, cts) -> cts of args`, where
# cts and flags follow the flat arguments and results, and cts may be `Zero`.

custom_vjp_call_p = RulePrimitive("custom_vjp_call")
calls_with_rule(
    custom_vjp_call_p,
    Call("call_jaxpr", opaque=True),
    checked=lambda *args: custom_vjp_checked(*args),
    has_closures=True,
    pretty=call_pretty,
)


def custom_vjp_stage(trace: StageTrace, args: Sequence[Any], params: Any) -> Any:
    closed, hoisted = stage_call(trace, params["call_jaxpr"], args, params["name"])
    new = {**params, "call_jaxpr": closed}
    if hoisted:
        # The function closes over tracers of this trace, so its rules may as well: trace
        # them now, while those tracers are alive.
        rules = _close_rules(trace, params, args)
        n = len(hoisted)
        hoisted = [*hoisted, *rules.captured]
        new["call_jaxpr"] = taking_more(closed, n, rules.captured)
        new["fwd"] = _skip(rules.fwd, n, len(hoisted), params)
        new["back"] = _pad(rules.bwd, len(hoisted), params["back"])
    elif closed is not params["call_jaxpr"]:
        new["fwd"] = _on_arrays(params["fwd"])
    atoms = [trace.atom(x) for x in (*hoisted, *args)]
    return trace.record(custom_vjp_call_p, atoms, new, closed.out_avals)


def _on_arrays(fwd: Any) -> Any:
    @functools.wraps(fwd)
    def rule(flags: Sequence[bool], *args: Any) -> Any:
        return fwd(flags, *as_arrays(args))

    return rule


class ClosedRules:
    """Both rules of a call as jaxprs, with the tracers `captured` that they close over."""

    __slots__ = (
        "calls_itself",
        "bwd_at",
        "bwd_jaxpr",
        "captured",
        "fwd_at",
        "fwd_jaxpr",
        "key",
        "n_out",
        "present",
    )

    def __init__(self, key: Any) -> None:
        self.key = key
        self.captured: list[Any] = []
        self.calls_itself = False  # whether a rule calls the function itself

    def trace(self, parent: StageTrace, fwd: Any, bwd: Any, avals: Any) -> None:
        def run_fwd(*xs: Any) -> list[Any]:
            res, outs = fwd([True] * len(xs), *xs)
            self.n_out = len(outs)
            return [*outs, *res]

        with core.current(parent):
            self.fwd_jaxpr, consts = stage(run_fwd, avals, text="custom_vjp fwd")
        self.fwd_at = self.indices_of(consts)
        outs = self.fwd_jaxpr.out_avals
        ct_avals, res_avals = outs[: self.n_out], outs[self.n_out :]
        n = len(res_avals)

        def run_bwd(*xs: Any) -> list[Any]:
            cts = bwd(xs[:n], xs[n:])
            self.present = [ct is not None and type(ct) is not Zero for ct in cts]
            return pick(cts, self.present)

        with core.current(parent):
            self.bwd_jaxpr, consts = stage(
                run_bwd,
                [*res_avals, *(a.to_tangent() for a in ct_avals)],
                text="custom_vjp bwd",
            )
        self.bwd_at = self.indices_of(consts)

    def indices_of(self, consts: Sequence[Any]) -> list[int]:
        """Return the indices of values in `captured`, to which new values are appended."""
        indices = {id(x): i for i, x in enumerate(self.captured)}
        for x in consts:
            if indices.setdefault(id(x), len(self.captured)) == len(self.captured):
                self.captured.append(x)
        return [indices[id(x)] for x in consts]

    def fwd(self, flags: Sequence[bool], *xs: Any) -> Any:
        m, n = len(self.captured), self.n_out
        out = ClosedJaxpr(self.fwd_jaxpr, [xs[i] for i in self.fwd_at])(*xs[m:])
        return [*(xs[i] for i in self.bwd_at), *out[n:]], out[:n]

    def bwd(self, res: Sequence[Any], cts: Sequence[Any]) -> Any:
        m = len(self.bwd_at)
        closed = ClosedJaxpr(self.bwd_jaxpr, res[:m])
        results = iter(closed(*res[m:], *map(instantiate, cts)))
        return [next(results) if p else None for p in self.present]


class _Pending(threading.local):
    """The rules being traced in this thread: `fwd` often calls the function itself."""

    def __init__(self) -> None:
        self.rules: list[ClosedRules] = []


_pending = _Pending()


def _close_rules(trace: StageTrace, params: Any, args: Sequence[Any]) -> ClosedRules:
    avals = [core.aval_of(x) for x in args]
    fwd, bwd = params["fwd"], params["back"]
    key = (getattr(fwd, "call_key", id(fwd)), tuple(avals))
    for pending in _pending.rules:
        if pending.key == key:
            pending.calls_itself = True
            return pending
    rules = ClosedRules(key)
    try:
        _pending.rules.append(rules)
        rules.trace(trace, fwd, bwd, avals)
        num_captured = -1
        while rules.calls_itself and num_captured < len(rules.captured):
            # Now the captured values are known, so that the calls inside can pass them.
            num_captured = len(rules.captured)
            rules.trace(trace, fwd, bwd, avals)
    finally:
        if rules in _pending.rules:  # false if an interrupt came before the append
            _pending.rules.remove(rules)
    return rules


def _skip(fwd: Any, n: int, n_closed: int, params: Any) -> Any:
    @functools.wraps(params["fwd"])
    def rule(flags: Sequence[bool], *args: Any) -> Any:
        if any(flags[:n_closed]):
            raise errors.UnexpectedTracerError(
                errors.message(
                    "Detected differentiation of a custom_vjp function with respect to a"
                    " closed-over value.",
                    which=params["name"],
                    why="Its rule does not cover that value.",
                    tries=["pass the value as an argument, and return its cotangent"],
                )
            )
        return fwd(flags[n:], *args[n:])

    return rule


def _pad(bwd: Any, n: int, like: Any) -> Any:
    @functools.wraps(like)
    def rule(res: Sequence[Any], cts: Sequence[Any]) -> Any:
        return [*[None] * n, *bwd(res, cts)]

    return rule


custom_vjp_call_p.stage = custom_vjp_stage


def custom_vjp_jvp(
    primals: Any,
    tangents: Any,
    *,
    fwd: Any,
    back: Any,
    name: str,
    symbolic_zeros: bool,
    **_: Any,
) -> Any:
    flags = [type(t) is not Zero for t in tangents]
    try:
        residuals, outs = fwd(flags, *primals)
    except errors.UnexpectedTracerError as e:
        raise leaked_into_rule(e, name) from None
    out_avals = tuple(core.aval_of(x).to_tangent() for x in outs)
    if not any(flags):  # only integers: there is nothing to transpose
        return outs, [Zero(a) for a in out_avals]
    out_ts = custom_lin_p.bind(
        *residuals,
        *pick(tangents, flags),
        num_res=len(residuals),
        in_zeros=[not f for f in flags],
        bwd=back,
        out_avals=out_avals,
        name=name,
        symbolic_zeros=symbolic_zeros,
    )
    return outs, [
        Zero(a) if a.dtype == dtypes.float0 else t
        for t, a in zip(out_ts, out_avals, strict=True)
    ]


custom_vjp_call_p.jvp = custom_vjp_jvp


# Python numbers among residuals stay Python numbers, for `if` in the rule.
PYTHON_NUMBERS = (bool, int, float, complex)


def custom_vjp_batch(
    axis: Any, args: Any, dims: Any, *, call_jaxpr: Any, fwd: Any, back: Any, **params: Any
) -> Any:
    res_dims: list[Any] = []

    def run(flags: Sequence[bool], xs: Sequence[Any]) -> Any:
        """Return residuals and results of `fwd` for lanes, their axes, and the count."""
        n = 0

        def one(*vals: Any) -> list[Any]:
            nonlocal n
            res, outs = fwd(flags, *vals)
            n = len(res)
            return [*res, *outs]

        return *batching.batch_flat(one, axis, xs, lanes.dims), n

    def varies(xs: Sequence[Any]) -> list[bool]:
        return _rule_varies(run, back, axis, xs, lanes.dims)

    lanes = LaneAxes(axis, dims, varies)

    @functools.wraps(fwd)
    def lane_fwd(flags: Sequence[bool], *xs: Any) -> Any:
        out, out_dims, n = run(flags, xs)
        batched = lanes.flags(out_dims[n:], xs)
        mapped = any(f == 0 for f in lanes.dims)
        res_batched = [
            d is not None or (mapped and not isinstance(x, PYTHON_NUMBERS))
            for x, d in zip(out, out_dims[:n], strict=False)
        ]
        res_dims[:] = [0 if k else None for k in res_batched]
        out = lanes.align_lane_axes(out, out_dims, [*res_batched, *batched])
        return out[:n], out[n:]

    def ct_dims(cts: Sequence[Any]) -> list[Any]:
        return lanes.out_dims(cts)

    out = custom_vjp_call_p.bind(
        *lanes.lanes_first(args, dims),
        call_jaxpr=lanes.lift(call_jaxpr),
        fwd=lane_fwd,
        back=batched_bwd(back, axis, lanes.dims, res_dims, ct_dims),
        **params,
    )
    return out, lanes.out_dims(out)


def _rule_varies(
    run: Any, bwd: Any, axis: Any, xs: Sequence[Any], dims: Sequence[Any]
) -> list[bool]:
    """Return which results, or their cotangents in `bwd`, differ between lanes.

    Cotangents do if the cotangent of a batched argument depends on them.
    """
    varying: list[bool] = []

    def probe(*xs: Any) -> list[Any]:
        out, out_dims, n = run([True] * len(xs), xs)
        varying[:] = [d is not None for d in out_dims[n:]]
        return out

    jaxpr, _ = stage(probe, [core.aval_of(x) for x in xs], text="custom_vjp fwd")
    n_out = len(varying)
    cts = [a.to_tangent() for a in jaxpr.out_avals[-n_out:]]

    def run_both(*operands: Any) -> list[Any]:
        out, out_dims, n = run([True] * len(xs), operands[: len(xs)])
        ct_dims = [0 if f else None for f in varying]
        lane_bwd = batched_bwd(bwd, axis, dims, out_dims[:n], lambda cts: ct_dims)
        back = lane_bwd(out[:n], operands[len(xs) :])
        return [
            ct for ct, d in zip(back, dims, strict=True) if d is not None and ct is not None
        ]

    jaxpr, _ = stage(run_both, [*(core.aval_of(x) for x in xs), *cts], text="custom_vjp bwd")
    n_in = len(xs)
    for i, f in enumerate(varying):
        start = [j == n_in + i for j in range(n_in + n_out)]
        varying[i] = f or any(results_depend(jaxpr, start))
    return varying


def batched_bwd(
    bwd: Any,
    axis: Any,
    arg_dims: Sequence[Any],
    res_dims: Sequence[Any] | None = None,
    ct_dims: Any = None,
) -> Any:
    """Return `bwd` over all lanes; cotangents of shared arguments are summed over them.

    Residuals and cotangents have lane axes, except for those that are None in `res_dims`
    or in `ct_dims(cts)`, which is called when the result runs.
    """

    @functools.wraps(bwd)
    def lane_bwd(res: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        flags = [type(ct) is not Zero for ct in cts]
        dims = [0] * len(cts) if ct_dims is None else ct_dims(cts)
        n = len(res)
        present: list[Any] = []

        def one(*xs: Any) -> list[Any]:
            it = iter(xs[n:])
            full = [
                next(it) if f else Zero(mapped_aval(axis.size, d, ct.aval))
                for f, ct, d in zip(flags, cts, dims, strict=True)
            ]
            cts_in = [None if type(c) is Zero else c for c in bwd(xs[:n], full)]
            present[:] = [c is not None for c in cts_in]
            return [c for c in cts_in if c is not None]

        in_dims = [*([0] * n if res_dims is None else res_dims), *pick(dims, flags)]
        shared = all(d is None for d in in_dims)
        if not shared:  # divide a shared cotangent among the lanes
            is_shared = [
                f and d is None and core.aval_of(ct).dtype != dtypes.float0
                for ct, f, d in zip(cts, flags, dims, strict=True)
            ]
            cts = [ct / axis.size if p else ct for ct, p in zip(cts, is_shared, strict=True)]
        ins = [*res, *pick(cts, flags)]
        outs, out_dims = batching.batch_flat(one, axis, ins, in_dims)
        it = iter(zip(outs, out_dims, strict=True))
        return [
            _align_cotangent(*next(it), axis, arg_dim, shared) if p else None
            for p, arg_dim in zip(present, arg_dims, strict=True)
        ]

    return lane_bwd


def _align_cotangent(ct: Any, dim: Any, axis: Any, arg_dim: Any, shared: bool) -> Any:
    if arg_dim is not None:
        return batching.lane_to_front(ct, axis, dim)
    if shared:  # one call, one cotangent
        if dim is not None:
            raise lane_closure_error()
        return ct
    if dim is None:
        ct, dim = batching.lane_to_front(ct, axis, None), 0
    return core_ops.sum(ct, (dim,))


custom_vjp_call_p.batch = custom_vjp_call_p.batched(custom_vjp_batch)


def custom_vjp_checked(
    enabled: checkify_transform.Enabled, args: Any, params: Any
) -> checkify_transform.Outcome:
    """Check the function, and `fwd`; `bwd` runs too late, when the error is a result."""
    call, fwd, bwd = params["call_jaxpr"], params["fwd"], params["back"]
    inner = checkify_transform.checked(enabled, call)

    def run(flags: Sequence[bool], xs: Sequence[Any]) -> Any:
        n_res = 0

        def flat(*xs: Any) -> list[Any]:
            nonlocal n_res
            residuals, outs = fwd(flags, *xs)
            n_res = len(residuals)
            return [*residuals, *outs]

        jaxpr, consts = stage(flat, [core.aval_of(x) for x in xs], text="checkify")
        error, results = checkify_transform.run_checked(enabled, jaxpr, consts, xs)
        return error, results[:n_res], results[n_res:]

    def probe(*xs: Any) -> checkify_transform.Error | None:
        return run([True] * len(xs), xs)[0]

    slot_types = checkify_transform.rule_slot_types(inner, fwd, probe, call.in_avals)
    if slot_types is None:
        return None, custom_vjp_call_p.bind(*args, **params)
    combined = checkify_transform.with_slots(call, inner, slot_types)

    @functools.wraps(fwd)
    def with_error(flags: Sequence[bool], *xs: Any) -> Any:
        error, residuals, outs = run(flags, xs)
        return residuals, [
            *checkify_transform.fitted(error, slot_types, params["name"]).leaves(),
            *outs,
        ]

    @functools.wraps(bwd)
    def without_error(residuals: Sequence[Any], cts: Sequence[Any]) -> Any:
        return bwd(residuals, cts[combined.width :])

    new = {"call_jaxpr": combined.jaxpr, "fwd": with_error, "back": without_error}
    return combined.split(custom_vjp_call_p.bind(*args, **{**params, **new}))


# ------------------------------------------------------------- the linear part of a call

custom_lin_p = RulePrimitive("custom_lin")
custom_lin_p.abstract = lambda *avals, out_avals, **params: list(out_avals)
custom_lin_p.def_sharding(manual="abstract")
custom_lin_p.facts = Facts(
    pretty=lambda eqn, printer: [
        (k, v.__name__ if k == "bwd" else v)
        for k, v in printer.shown(eqn, {})
        if k not in ("name", "out_avals")
    ]
)


def _forward_error(*_: Any, name: str, error: Any = TypeError, **__: Any) -> Any:
    raise error(
        errors.message(
            "can't apply forward-mode autodiff (jvp) to a custom_vjp function.",
            which=name,
            why="It has a rule for reverse mode only.",
            tries=["grad, vjp or jacrev", "custom_jvp, which supports both modes"],
        )
    )


custom_lin_p.impl = _forward_error
custom_lin_p.lower = lambda ctx, *args, name, **_: _forward_error(
    name=name, error=context.NotLowerable
)


def _lin_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    return _forward_error(**params)


custom_lin_p.jvp = _lin_jvp


def custom_lin_transpose(
    cts: Any,
    *args: Any,
    num_res: int,
    in_zeros: Sequence[bool],
    bwd: Any,
    symbolic_zeros: bool,
    name: str,
    **_: Any,
) -> Any:
    if not symbolic_zeros:
        cts = [instantiate(ct) for ct in cts]
    try:
        cts_in = bwd(list(args[:num_res]), cts)
    except errors.UnexpectedTracerError as e:
        raise leaked_into_rule(e, name) from None
    linear_cts = [ct for ct, z in zip(cts_in, in_zeros, strict=True) if not z]
    return [*[None] * num_res, *linear_cts]


custom_lin_p.transpose = custom_lin_transpose


def custom_lin_batch(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    num_res: int,
    in_zeros: Sequence[bool],
    bwd: Any,
    out_avals: Any,
    **params: Any,
) -> Any:
    # Residuals get a lane axis; tangents keep theirs, and shared ones are summed.
    res_dims = [None if isinstance(x, PYTHON_NUMBERS) else 0 for x in args[:num_res]]
    ins = [
        x if res_dim is None else batching.lane_to_front(x, axis, d)
        for x, d, res_dim in zip(args, dims, res_dims, strict=False)
    ]
    ts = [
        x if d is None else batching.lane_to_front(x, axis, d)
        for x, d in zip(args[num_res:], dims[num_res:], strict=True)
    ]
    tangent_dims = iter(dims[num_res:])
    # Cotangents of arguments without tangents are never used.
    front = [0 if z or next(tangent_dims) is not None else None for z in in_zeros]
    lanes = tuple(unmapped_aval(axis.size, 0, a) for a in out_avals)
    out = custom_lin_p.bind(
        *ins,
        *ts,
        num_res=num_res,
        in_zeros=in_zeros,
        bwd=batched_bwd(bwd, axis, front, res_dims),
        out_avals=lanes,
        **params,
    )
    return out, [0] * len(out)


custom_lin_p.batch = custom_lin_batch
