"""References become values: how functions that touch them run.

`by_value(jaxpr, due)` is the program in which the inputs flagged `due` are not
references, but their values; those that it writes to come back as further results.
Programs stay functional, the compiler updates in place.

A primitive that holds functions (jit, scan, cond ...) is a `FunctionPrimitive`.  A program
that is being staged takes references as operands of its equations; everywhere else, an
operand that is held is discharged, by the primitive's `discharge` rule, on binding.

Next: calls.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..base import errors
from ..base.source import function_text
from ..core import core, hooks
from ..core.core import EVAL, STATE, Primitive, Tracer
from ..core.jaxpr import ClosedJaxpr, Jaxpr, Var, eval_jaxpr
from ..interpreters.batch import BatchTrace
from ..interpreters.stage import stage
from ..ops.shapes import copy_p
from . import refs
from .refs import ByValue, MakingPrimitive, Ref, read_all, write_all

Flags = Sequence[bool]


class FunctionPrimitive(Primitive):
    """A primitive that holds functions, and takes references as operands.

    discharge(due, args, params) -> results: apply it with values for the references
        among `args` that are flagged `due`, and write their new values back
    opened(refs, args, params) -> (args, params): take references that are constants of
        its jaxprs as operands
    """

    __slots__ = ("discharge", "opened")

    def __init__(self, name: str) -> None:
        super().__init__(name, multiple_results=True)
        missing = core.unsupported(f"references cannot be passed to {name}")
        self.discharge: Callable[..., Any] = missing
        self.opened: Callable[..., Any] = missing

    def admit(self, aval: Any) -> None:
        pass

    def bind(self, *args: Any, **params: Any) -> Any:
        if captured := _captured(params):
            args, params = self.opened(captured, args, params)
        for x in args:
            if isinstance(x, Ref):
                due = [isinstance(x, Ref) and _is_due(x) for x in args]
                if any(due):
                    return self.discharge(due, args, params)
                break
        return STATE.trace.process(self, args, params)

    def evaluated(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """The `impl` rule that knows references: all of them are due."""

        def run(*args: Any, **params: Any) -> Any:
            if any(isinstance(x, Ref) for x in args):
                due = [isinstance(x, Ref) for x in args]
                return self.discharge(due, args, params)
            return impl(*args, **params)

        return run


def _captured(params: dict[str, Any]) -> list[Ref]:
    """The references among the constants of jaxprs: custom derivative rules use them."""
    found: dict[int, Ref] = {}
    for value in params.values():
        for item in value if type(value) is tuple else (value,):
            if type(item) is ClosedJaxpr and item.consts:
                found.update((id(c), c) for c in item.consts if isinstance(c, Ref))
    return list(found.values())


def open_jaxpr(closed: ClosedJaxpr, captured: Sequence[Ref]) -> ClosedJaxpr:
    """The jaxpr with these references as leading inputs."""
    j = closed.jaxpr
    of = {id(c): v for v, c in zip(j.constvars, closed.consts, strict=True)}
    at = [id(r) for r in captured]
    first = [of.get(i) or Var(r.aval) for i, r in zip(at, captured, strict=True)]
    rest = [
        (v, c)
        for v, c in zip(j.constvars, closed.consts, strict=True)
        if id(c) not in at
    ]
    key = (
        "opened",
        tuple(i for i, c in enumerate(closed.consts) if id(c) in at),
        len(at),
    )
    if key not in j.memo:
        ins = [*first, *j.invars]
        j.memo[key] = Jaxpr([v for v, _ in rest], ins, j.outvars, j.eqns, j.name)
    return ClosedJaxpr(j.memo[key], [c for _, c in rest])


def _is_due(ref: Ref) -> bool:
    """Whether a reference is held by a transformation between program and evaluation."""
    return not refs.is_recorded(ref) and (ref._home is not EVAL or STATE.trace is EVAL)


def values_of(args: Sequence[Any], due: Flags) -> list[Any]:
    """The operands, with values for references that are due."""
    return [read_all(x) if d else x for x, d in zip(args, due, strict=True)]


def last_values(ins: Sequence[Any], due: Flags) -> list[Any]:
    """What references that were made of values hold in the end."""
    for x, d in zip(ins, due, strict=True):
        if d:
            refs.check_not_freed(x)
    return [x._value if d else x for x, d in zip(ins, due, strict=True)]


def owned_values(args: Sequence[Any], due: Flags, written: Flags) -> list[Any]:
    """The operands, with values for references; nobody else knows those of `written`."""
    return [
        (copy_p.bind(x._value) if x._shared else x._value) if w
        else read_all(x) if d
        else x
        for x, d, w in zip(args, due, written, strict=True)
    ]  # fmt: skip


def write_back(
    args: Sequence[Any], written: Flags, values: Sequence[Any], owned: bool = False
) -> None:
    """Give the references flagged `written` their new values; `owned`: theirs alone."""
    new = iter(values)
    for x, w in zip(args, written, strict=True):
        if w:
            write_all(x, next(new), owned)


def by_value(
    closed: ClosedJaxpr, due: Flags, force: Flags | None = None
) -> tuple[ClosedJaxpr, list[bool]]:
    """inputs -> results ++ new values of the references that are due and written to.

    Also tells which these are; those flagged `force` are among them in any case.
    """
    memo = closed.jaxpr.memo
    final = is_final()
    key = ("by_value", tuple(due), None if force is None else tuple(force), final)
    if not closed.consts and key in memo:
        return memo[key]
    flags: list[bool] = []

    def fun(*args: Any) -> list[Any]:
        ins = [Ref(x) if d else x for x, d in zip(args, due, strict=True)]
        outs = eval_jaxpr(closed.jaxpr, closed.consts, *ins)
        last = last_values(ins, due)
        flags[:] = [
            d and (new is not x or bool(force and force[i]))
            for i, (new, x, d) in enumerate(zip(last, args, due, strict=True))
        ]
        return [*outs, *(new for new, f in zip(last, flags, strict=True) if f)]

    avals = [
        a.inner_aval if d else a for a, d in zip(closed.in_avals, due, strict=True)
    ]
    jaxpr, consts = stage(
        fun, avals, name=closed.jaxpr.name, text="discharge", kind=ByValue
    )
    result = ClosedJaxpr(jaxpr, consts), list(flags)
    if not closed.consts:
        memo[key] = result
    return result


class Inside:
    """A flat function of references as a function of their values, and back.

    `fun(*values)` returns the results and then the references' last values, which
    `write_back` gives to the references outside.
    """

    __slots__ = ("due", "fun", "leaves", "start")

    def __init__(
        self, fun: Callable[..., Any], leaves: Sequence[Any], due: Flags
    ) -> None:
        self.fun = fun
        self.leaves = leaves
        self.due = due
        self.start = values_of(leaves, due)

    def __call__(self, *args: Any) -> list[Any]:
        ins = [Ref(x) if d else x for x, d in zip(args, self.due, strict=True)]
        outs = self.fun(*ins)
        last = last_values(ins, self.due)
        return [*outs, *(new for new, d in zip(last, self.due, strict=True) if d)]

    def write_back(self, values: Iterable[Any]) -> None:
        """Write, where something was written."""
        it = iter(values)
        for x, old, d in zip(self.leaves, self.start, self.due, strict=True):
            if d and (new := next(it)) is not old:
                write_all(x, new)


def is_lasting(const: Any) -> bool:
    """Whether a constant of a program is the same when it is used again later."""
    if isinstance(const, Ref):
        return const._home is EVAL
    return not isinstance(const, Tracer)


def check_passed_once(
    leaves: Sequence[Any], fun: Any, transform: str, names: Sequence[str]
) -> None:
    """ValueError if a reference is passed twice: two arguments would be one array."""
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
    consts: Sequence[Any],
    leaves: Sequence[Any],
    fun: Any,
    transform: str,
    names: Sequence[str],
) -> None:
    """ValueError if a reference is an argument and closed over, too."""
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


def is_final() -> bool:
    """Whether the program made by value is about to run, and not to be transformed."""
    trace = STATE.trace
    while isinstance(trace, (ByValue, BatchTrace)):
        trace = trace.parent
    return trace is EVAL


@hooks.by_value.fill
def without_own(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The jaxpr in which references made inside are values; itself, if there are none."""
    jaxpr = closed.jaxpr
    found: Any = jaxpr.memo.get("without_own")
    if found is None:
        found = False  # not the jaxpr: it must not keep itself alive
        if any(isinstance(e.primitive, MakingPrimitive) for e in jaxpr.eqns):
            ins, n = [*jaxpr.constvars, *jaxpr.invars], len(jaxpr.constvars)
            opened = Jaxpr([], ins, jaxpr.outvars, jaxpr.eqns, jaxpr.name)
            new, _ = by_value(ClosedJaxpr(opened), [False] * len(ins))
            j = new.jaxpr
            constvars = [*j.constvars, *j.invars[:n]]
            found = (
                Jaxpr(constvars, j.invars[n:], j.outvars, j.eqns, j.name),
                new.consts,
            )
        jaxpr.memo["without_own"] = found
    if found is False:
        return closed
    return ClosedJaxpr(found[0], [*found[1], *closed.consts])


class RulePrimitive(FunctionPrimitive):
    """A function with its own derivative rule, which may use references as they are."""

    __slots__ = ()

    def bind(self, *args: Any, **params: Any) -> Any:
        if isinstance(STATE.trace, ByValue) and any(
            isinstance(x, Ref) and not refs.is_recorded(x) for x in args
        ):
            return self.plain(args, params)
        return STATE.trace.process(self, args, params)

    def plain(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Call the function, of which no derivative can be asked for any more."""
        if not is_final():
            raise NotImplementedError(
                errors.message(
                    f"{self.name}: a reference that a transformation holds reaches a"
                    " custom derivative rule through vmap, a jitted function or a loop.",
                    where=core.stack_text(),
                    why="the rule speaks of references, and only values get there.",
                    tries=[
                        "make the reference outside of the transformed function",
                        "differentiate inside of vmap: vmap(grad(f))",
                    ],
                )
            )
        return params["call_jaxpr"](*args)

    def batched(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The batch rule that also takes references of which each lane has one."""

        def batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
            for x in args:
                home = x._home if isinstance(x, Ref) else None
                if isinstance(home, BatchTrace) and home.axis is axis:
                    ins = [home.wrap(x, d) for x, d in zip(args, dims, strict=True)]
                    with core.current(home):
                        pairs = [home.unwrap(x) for x in self.plain(ins, params)]
                    return [v for v, _ in pairs], [d for _, d in pairs]
            return rule(axis, args, dims, **params)

        return batch
