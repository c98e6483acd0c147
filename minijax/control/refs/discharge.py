"""Discharge: programs with references as programs of their values.

`discharge_jaxpr(jaxpr, needs_discharge)` is a program in which the flagged inputs are
values instead of references; the new values of those that it writes to are extra results.
Programs stay functional, and the compiler updates in place.

A primitive that holds functions (jit, scan, cond ...) is a `FunctionPrimitive`.  In a
program being staged, references are operands of its equations; everywhere else, binding
discharges an operand that is held, by the primitive's `discharge` rule.

Next: ../calls/jit_primitive.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...base import errors, tree
from ...base.source import function_text
from ...base.util import flags_of, pick, split_list
from ...ir import core, hooks
from ...ir.core import EVAL, STATE, Primitive, Tracer
from ...ir.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    cached_on_jaxpr,
    eval_jaxpr,
    lift_consts,
    permute_jaxpr,
    sub_jaxprs,
)
from ...ir.regions import Loop, Region
from ...passes.batch import BatchTrace
from ...passes.region_rules import flagged_indices, transform_consistently
from ...passes.stage import remembered, stage_closed
from ...prims.shape.shapes import copy_p
from ...runtime.lowering import nesting
from ...runtime.running import dispatch
from ..arguments import ArgNames
from ..body_staging import unify_weak_types
from . import refs
from .refs import DischargeTrace, FinalDischargeTrace, MakingPrimitive, Ref, read_all, write_all

Flags = Sequence[bool]
_HELD = (Ref, core.Tracer)  # constants that a cached program must not keep alive


class FunctionPrimitive(Primitive):
    """A primitive that holds functions, and takes references as operands.

    discharge(needs_discharge, args, params) -> results: bind it with values instead of the
        flagged references among `args`, and write their new values back.  This rule is
        derived from the regions, as is the lifting of references among constants.
    """

    __slots__ = ("discharge",)

    def __init__(self, name: str) -> None:
        super().__init__(name, multiple_results=True)
        self.discharge: Callable[..., Any] = functools.partial(_discharge, self)

    def check_accepts_ref(self, aval: Any) -> None:
        pass

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return hooks.bind_params.call(self, params)  # type: ignore[no-any-return]

    def bind(self, *args: Any, **params: Any) -> Any:
        if "subfuns" in params:
            return hooks.bind_functions.call(self, args, params)
        for body in self.regions.bodies(params):
            if body.consts and any(isinstance(c, _HELD) for c in body.consts):
                args, params = self._lifted(args, params)
                break
        for x in args:
            if isinstance(x, Ref):
                needs_discharge = [isinstance(x, Ref) and _needs_discharge(x) for x in args]
                if any(needs_discharge):
                    return self.discharge(needs_discharge, args, params)
                break
        return Primitive.bind(self, *args, **params)

    def _lifted(
        self, args: tuple[Any, ...], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Make references and tracers among constants operands.

        Custom derivative rules close over them.
        """
        bodies = self.regions.bodies(params)
        consts = [c for b in bodies for c in b.consts if isinstance(c, _HELD)]
        # By identity: arrays and tracers compare elementwise.
        captured = list({id(c): c for c in consts}.values())
        opened = [open_jaxpr(b, captured) for b in bodies]
        args, params = self.regions.lifted(params, opened, captured, args)
        return tuple(args), params

    def evaluated(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Return an `impl` rule that also takes references: all of them are discharged."""

        def run(*args: Any, **params: Any) -> Any:
            for x in args:
                if isinstance(x, Ref):
                    needs_discharge = [isinstance(y, Ref) for y in args]
                    return self.discharge(needs_discharge, args, params)
            return impl(*args, **params)

        return run


def open_jaxpr(closed: ClosedJaxpr, captured: Sequence[Any]) -> ClosedJaxpr:
    """Return the jaxpr with these constants as leading inputs."""
    j, k = closed.jaxpr, len(closed.consts)
    of = {id(c): i for i, c in enumerate(closed.consts)}
    first = [of.get(id(c), core.aval_of(c)) for c in captured]
    stay = [i for i in range(k) if i not in first]
    lifted = permute_jaxpr(lift_consts(j), [*stay, *first, *range(k, k + len(j.invars))])
    opened = _with_constants(lifted.jaxpr, len(stay))
    return ClosedJaxpr(opened, [closed.consts[i] for i in stay])


@cached_on_jaxpr
def _with_constants(jaxpr: Jaxpr, n: int) -> Jaxpr:
    """Return the jaxpr with its first `n` inputs as constvars."""
    return jaxpr.replace(constvars=jaxpr.invars[:n], invars=jaxpr.invars[n:])


def _needs_discharge(ref: Ref) -> bool:
    """Whether a transformation between program and evaluation holds the reference."""
    return not refs.is_recorded(ref) and (ref._home is not EVAL or STATE.trace is EVAL)


def values_of(args: Sequence[Any], needs_discharge: Flags) -> list[Any]:
    """Return the operands, with values instead of the flagged references."""
    return [read_all(x) if d else x for x, d in zip(args, needs_discharge, strict=True)]


def last_values(ins: Sequence[Any], needs_discharge: Flags) -> list[Any]:
    """Return the final values of references that were made from values."""
    for x, d in zip(ins, needs_discharge, strict=True):
        if d:
            refs.check_not_freed(x)
    return [x._value if d else x for x, d in zip(ins, needs_discharge, strict=True)]


def owned_values(args: Sequence[Any], needs_discharge: Flags, written: Flags) -> list[Any]:
    """Return the operands with values; those of `written` references are not shared."""
    return [
        (copy_p.bind(x._value) if x._shared else x._value) if w else read_all(x) if d else x
        for x, d, w in zip(args, needs_discharge, written, strict=True)
    ]


def write_back(
    args: Sequence[Any], written: Flags, values: Sequence[Any], owned: bool = False
) -> None:
    """Write new values to the references flagged `written`; `owned`: values not shared."""
    new = iter(values)
    for x, w in zip(args, written, strict=True):
        if w:
            write_all(x, next(new), owned)


def discharge_jaxpr(
    closed: ClosedJaxpr, needs_discharge: Flags, force: Flags | bool = False
) -> tuple[ClosedJaxpr, list[bool]]:
    """Return inputs -> results ++ new values of the flagged references it writes to.

    Also returns the flags of these references; those flagged `force` always count.
    """
    must = flags_of(force, len(needs_discharge))
    return _discharge_jaxpr(closed, tuple(needs_discharge), must, is_final())


@remembered
def _discharge_jaxpr(
    closed: ClosedJaxpr,
    needs_discharge: tuple[bool, ...],
    must: tuple[bool, ...],
    final: bool,
) -> tuple[ClosedJaxpr, list[bool]]:
    flags: list[bool] = []

    def fun(*args: Any) -> list[Any]:
        ins = [Ref(x) if d else x for x, d in zip(args, needs_discharge, strict=True)]
        outs = eval_jaxpr(closed.jaxpr, closed.consts, *ins)
        last = last_values(ins, needs_discharge)
        flags[:] = [
            d and (new is not x or m)
            for new, x, d, m in zip(last, args, needs_discharge, must, strict=True)
        ]
        return [*outs, *pick(last, flags)]

    avals = [
        a.inner_aval if d else a  # type: ignore[attr-defined]
        for a, d in zip(closed.in_avals, needs_discharge, strict=True)
    ]
    name = closed.jaxpr.name
    kind = FinalDischargeTrace if final else DischargeTrace
    return stage_closed(fun, avals, name=name, text="discharge", kind=kind), flags


# -------------------------------------------------- primitives that hold programs


def _discharge(
    prim: FunctionPrimitive, needs_discharge: Flags, args: Sequence[Any], params: dict[str, Any]
) -> Any:
    """Bind a primitive with values for references, and write their new values back."""
    rule = _discharge_loop if isinstance(prim.regions, Loop) else _discharge_call
    return rule(prim, needs_discharge, args, params)


def _discharge_call(
    prim: FunctionPrimitive, needs_discharge: Flags, args: Sequence[Any], params: dict[str, Any]
) -> Any:
    """Discharge a call or branches: each program returns what any of them writes to."""
    region: Region = prim.regions
    k, bodies = region.index, region.bodies(params)
    with region.scope(params):
        flat, written = transform_consistently(
            bodies, lambda b, force: discharge_jaxpr(b, needs_discharge[k:], force)
        )
        flat = unify_weak_types(flat)
    n = len(bodies[0].out_avals)
    outs = [*range(n), *(~i for i in flagged_indices(written))]  # ~i: as operand i
    first, new = region.rebuild(params, flat, range(len(args) - k), outs)
    values = values_of(args, needs_discharge)
    out = prim.bind(*values[:k], *first, *values[k:], **new)
    write_back(args[k:], written, out[n:])
    return out[:n]


def _discharge_loop(
    prim: FunctionPrimitive, needs_discharge: Flags, args: Sequence[Any], params: dict[str, Any]
) -> Any:
    """Discharge a loop: consts that it writes to are carried; xs and ys may be refs."""
    loop: Loop = prim.regions
    *conds, body = loop.bodies(params)
    cond_consts, consts, first, _ = loop.groups(params, args)
    k, n, n_consts, n_out = len(cond_consts), len(first), len(consts), len(body.out_avals)
    discharged_conds = [discharge_jaxpr(t, [*needs_discharge[:k], *[False] * n]) for t in conds]
    if any(any(writes) for _, writes in discharged_conds):
        return _discharge_writing_cond(prim, args, params)
    flat, written = discharge_jaxpr(body, needs_discharge[k:])
    to_carry = written[:n_consts]  # into the carry
    stays = [not m for m in to_carry]
    carried, m = pick(consts, to_carry), sum(to_carry)
    positions, new = range(len(written)), range(n_out, n_out + sum(written))
    flat = permute_jaxpr(
        flat,
        [*pick(positions, stays), *pick(positions, to_carry), *positions[n_consts:]],
        [*new[:m], *range(n_out), *new[m:]],
    )
    # The condition reads carried references from the carry, not from its consts.
    cond_index = {id(x): i for i, x in enumerate(cond_consts)}
    more = [cond_index.get(id(x), x.aval.inner_aval) for x in carried]
    rest = [i for i in range(k) if i not in more]
    flat_conds = [
        permute_jaxpr(t, [*rest, *more, *range(k, k + n)]) for t, _ in discharged_conds
    ]
    values = loop.groups(params, values_of(args, needs_discharge))
    groups = [
        [values[0][i] for i in rest],
        pick(values[1], stays),
        [*pick(values[1], to_carry), *values[2]],
        values[3],
    ]
    operands = [x for group in groups for x in group]
    out = prim.bind(*operands, **loop.rebuild(params, [*flat_conds, flat], groups))
    last, results, new_xs = split_list(out, [m, n_out])
    write_back(args[k:], written, [*last, *new_xs])
    return results


def _discharge_writing_cond(
    prim: FunctionPrimitive, args: Sequence[Any], params: dict[str, Any]
) -> Any:
    """Discharge a loop whose condition writes: each step ends by evaluating it.

    The result is carried.  Condition and body become one program, so that a reference is
    one operand for both.
    """
    loop: Loop = prim.regions
    cond, body = loop.bodies(params)
    cond_consts, consts, first, _ = loop.groups(params, args)
    distinct = {id(x): x for x in (*cond_consts, *consts)}
    index_of = {key: i for i, key in enumerate(distinct)}
    at = [index_of[id(x)] for x in (*cond_consts, *consts)]
    n, k = len(distinct), len(cond_consts)

    avals = [*cond.out_avals, *body.out_avals]
    bodies = [_carried_answer(cond, avals), _step_with_cond(cond, body, n, k, at)]
    groups = [[], list(distinct.values()), [*cond(*cond_consts, *first), *first], []]
    operands = [x for group in groups for x in group]
    return prim.bind(*operands, **loop.rebuild(params, bodies, groups))[1:]


@remembered
def _carried_answer(cond: ClosedJaxpr, avals: list[Any]) -> ClosedJaxpr:
    """Return the condition of a loop that carries the answer of `cond` first."""
    return stage_closed(lambda more, *_: [more], avals)


@remembered
def _step_with_cond(
    cond: ClosedJaxpr, body: ClosedJaxpr, n: int, k: int, at: list[int]
) -> ClosedJaxpr:
    """Return (n consts, answer, carry) -> (next answer, next carry).

    `at` are the indices of the consts of the condition, which has `k`, and of the body.
    """

    def step(*xs: Any) -> list[Any]:
        own = [xs[i] for i in at]
        carry = body(*own[k:], *xs[n + 1 :])
        return [*cond(*own[:k], *carry), *carry]

    types = dict(zip(at, [*cond.in_avals[:k], *body.in_avals], strict=False))
    avals = [*(types[i] for i in range(n)), *cond.out_avals, *body.out_avals]
    return stage_closed(step, avals)


class DischargedFunction:
    """A flat function of references as a function of their values.

    `fun(*values)` returns the results and then the references' final values, which
    `write_back` writes to the original references.
    """

    __slots__ = ("needs_discharge", "fun", "leaves", "start")

    def __init__(
        self, fun: Callable[..., Any], leaves: Sequence[Any], needs_discharge: Flags
    ) -> None:
        self.fun = fun
        self.leaves = leaves
        self.needs_discharge = needs_discharge
        self.start = values_of(leaves, needs_discharge)

    def __call__(self, *args: Any) -> list[Any]:
        ins = [Ref(x) if d else x for x, d in zip(args, self.needs_discharge, strict=True)]
        outs = self.fun(*ins)
        last = last_values(ins, self.needs_discharge)
        return [*outs, *pick(last, self.needs_discharge)]

    def write_back(self, values: Iterable[Any]) -> None:
        """Write the final values that differ from the initial ones."""
        it = iter(values)
        for x, old, d in zip(self.leaves, self.start, self.needs_discharge, strict=True):
            if d and (new := next(it)) is not old:
                write_all(x, new)


def is_lasting(const: Any) -> bool:
    """Whether a constant of a cached program is still valid at a later call."""
    if isinstance(const, Ref):
        return const._home is EVAL
    return not isinstance(const, Tracer)


def ready(consts: Sequence[Any]) -> bool:
    """Load the values of references among a program's constants; whether all fit.

    A keeper holds the value of a reference between calls.
    """
    keepers = (x._keeper for x in consts if isinstance(x, Ref))
    return all([keeper.ready() for keeper in keepers if keeper is not None])


def check_passed_once(
    leaves: Sequence[Any], fun: Any, transform: str, names: Sequence[str]
) -> None:
    """Raise ValueError if a reference is passed twice: two arguments would be one array."""
    seen: dict[int, int] = {}
    for i, x in enumerate(leaves):
        if isinstance(x, Ref) and (first := seen.setdefault(id(x), i)) != i:
            raise ValueError(
                errors.message(
                    "only one reference to a mutable array may be passed as an argument to"
                    f" a function, but when tracing {function_text(fun)} for {transform}"
                    f" the mutable array reference of type {x.aval} appeared at both"
                    f" {names[first]} and {names[i]}.",
                    tries=["pass it once, and use it twice inside"],
                )
            )


def check_closed_over(
    consts: Sequence[Any], leaves: Sequence[Any], fun: Any, transform: str, names: Sequence[str]
) -> None:
    """Raise ValueError if a reference is both an argument and closed over."""
    captured = {id(c) for c in consts if isinstance(c, Ref)}
    for i, x in enumerate(leaves) if captured else ():
        if id(x) in captured:
            raise ValueError(
                errors.message(
                    f"when tracing {function_text(fun)} for {transform}, a mutable array"
                    f" reference of type {x.aval} was both closed over and passed as the"
                    f" argument {names[i]}.",
                    tries=["use the argument inside, and not the name from outside"],
                )
            )


def check_references(
    fun: Any, transform: str, args: tuple[Any, ...], consts: Sequence[Any]
) -> None:
    """Raise ValueError if a body would have two names for one reference."""
    leaves, in_tree = tree.flatten((args, {}))
    if any(isinstance(x, Ref) for x in leaves):
        names = ArgNames(fun, in_tree, range(len(args)))
        check_passed_once(leaves, fun, transform, names)
        check_closed_over(consts, leaves, fun, transform, names)


def is_final() -> bool:
    """Whether the discharged program runs next, and is not transformed first."""
    trace = STATE.trace
    while isinstance(trace, BatchTrace):
        trace = trace.parent
    return trace is EVAL or type(trace) is FinalDischargeTrace


@hooks.discharge_jaxpr.fill
def discharge_own_refs(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return the jaxpr with references made inside discharged; itself if there are none."""
    jaxpr = closed.jaxpr
    if not _makes_refs(jaxpr):
        return closed
    n = len(jaxpr.constvars)
    new, _ = discharge_jaxpr(lift_consts(jaxpr), [False] * (n + len(jaxpr.invars)))
    opened = _with_constants_after(new.jaxpr, n)
    return ClosedJaxpr(opened, [*new.consts, *closed.consts])


@cached_on_jaxpr
def _makes_refs(jaxpr: Jaxpr) -> bool:
    return any(isinstance(p, MakingPrimitive) for p in {e.primitive for e in jaxpr.eqns})


@cached_on_jaxpr
def _with_constants_after(jaxpr: Jaxpr, n: int) -> Jaxpr:
    """Return the jaxpr with its first `n` inputs as its last constvars."""
    constvars = [*jaxpr.constvars, *jaxpr.invars[:n]]
    return jaxpr.replace(constvars=constvars, invars=jaxpr.invars[n:], arg_names=())


class RulePrimitive(FunctionPrimitive):
    """A function with its own derivative rule, which may use references directly."""

    __slots__ = ()

    def bind(self, *args: Any, **params: Any) -> Any:
        if "subfuns" in params:
            return hooks.bind_functions.call(self, args, params)
        if isinstance(STATE.trace, DischargeTrace) and any(
            isinstance(x, Ref) and not refs.is_recorded(x) for x in args
        ):
            return self.call_function(args, params)
        return Primitive.bind(self, *args, **params)

    def call_function(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Call the function, which can no longer be differentiated."""
        if not is_final():
            raise NotImplementedError(
                errors.message(
                    f"{self.name}: a reference that a transformation holds reaches a"
                    " custom derivative rule through vmap, a jitted function or a loop.",
                    where=core.stack_text(),
                    why="The rule takes references, but it receives only values.",
                    tries=[
                        "make the reference outside of the transformed function",
                        "differentiate inside of vmap: vmap(grad(f))",
                    ],
                )
            )
        return params["call_jaxpr"](*args)

    def batched(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Return the batch rule that also takes references with a lane axis."""

        def batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
            for x in args:
                home = x._home if isinstance(x, Ref) else None
                if isinstance(home, BatchTrace) and home.axis is axis:
                    ins = [home.wrap(x, d) for x, d in zip(args, dims, strict=True)]
                    with core.current(home):
                        pairs = [home.unwrap(x) for x in self.call_function(ins, params)]
                    return [v for v, _ in pairs], [d for _, d in pairs]
            return rule(axis, args, dims, **params)

        return batch


def def_host_driven_impl(prim: FunctionPrimitive, interpret: Callable[..., list[Any]]) -> None:
    """Define an `impl` that interprets in Python what cannot be in a compiled program."""

    def impl(*args: Any, **params: Any) -> Any:
        if (core.host_driven or nesting.deep_programs) and any(
            map(dispatch.is_host_driven, sub_jaxprs(params))
        ):
            return interpret(*args, **params)
        try:
            return dispatch.run_region(prim, args, params)
        except nesting.TooDeep:
            return interpret(*args, **params)

    prim.impl = prim.evaluated(impl)
