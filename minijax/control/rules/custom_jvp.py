"""`custom_jvp`: a function with its own forward-mode rule.

`custom_jvp_call` holds the function and the rule as callables on flat values.  Evaluated,
it runs the function; staged, it becomes an equation with a jaxpr; differentiated, it runs
the rule instead.  Next: custom_vjp.py.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ...base import errors, tree
from ...base.source import function_text, own_name, wraps
from ...base.tracebacks import boundary
from ...base.util import pick
from ...ir import core
from ...ir.core import Tracer
from ...ir.jaxpr import DropVar, Jaxpr, Literal, eval_jaxpr
from ...ir.regions import Call
from ...passes import ad_util
from ...passes import batch as batching
from ...passes.ad_util import Zero, core_ops, instantiate, with_zeros
from ...passes.dce import depends_on
from ...passes.linearize import linearize_flat
from ...passes.stage import StageTrace, stage
from ...prims.shape.shapes import copy_p
from ...prims.stop_gradient import stop_gradient
from ...text.tracer_errors import leaked_into_rule
from ...types import dtypes
from ...types.avals import AbstractRef, same_type
from ..arguments import POSITIONAL, as_tuple, check_values, signature_of
from ..effects import checkify_errors, checkify_transform
from ..refs.discharge import RulePrimitive
from .custom_calls import (
    CustomRuleFunction,
    LaneAxes,
    as_arrays,
    call_pretty,
    calls_with_rule,
    stage_call,
)


class SymbolicZero:
    """A tangent or cotangent known to be zero, as rules with symbolic_zeros receive it.

    It has the `shape` and `dtype` of the tangent.

    Example:
      >>> import minijax as mj
      >>> SymbolicZero(mj.typeof(1.)).dtype
      dtype('float32')
    """

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its axes."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangents of a pytree of values, optionally as `SymbolicZero`s.

    Args:
      val: a pytree of arrays or numbers.
      symbolic_zeros: return `SymbolicZero`s instead of arrays.

    Returns:
      The tree with zeros of the leaves' shapes and tangent dtypes (float0 for
      integers).

    Raises:
      TypeError: a leaf is not an array.

    >>> zero_from_primal(3).dtype
    dtype([('float0', 'V')])
    """
    make = SymbolicZero if symbolic_zeros else _zero_array
    return tree.map(lambda x: make(core.aval_of(x).to_tangent()), val)


def _zero_array(aval: Any) -> Any:
    zero = instantiate(Zero(aval))
    return zero if aval.dtype == dtypes.float0 else copy_p.bind(zero)


def from_symbolic(x: Any) -> Any:
    """Return `Zero` for a `SymbolicZero`, and other values unchanged."""
    return Zero(x.aval) if isinstance(x, SymbolicZero) else x


def as_zero(tangent: Any, primal: Any) -> Any:
    """Return the tangent of a result; `Zero` if it is float0."""
    aval = core.aval_of(primal).to_tangent()
    return Zero(aval) if aval.dtype == dtypes.float0 else tangent


# --------------------------------------------------------------------- the primitive

custom_jvp_call_p = RulePrimitive("custom_jvp_call")
calls_with_rule(
    custom_jvp_call_p,
    Call("call_jaxpr", opaque=True),
    checked=lambda *args: custom_jvp_checked(*args),
    has_closures=True,
    pretty=call_pretty,
)


def custom_jvp_stage(trace: StageTrace, args: Sequence[Any], params: Any) -> Any:
    closed, hoisted = stage_call(trace, params["call_jaxpr"], args, params["name"])
    jvp = params["jvp"]
    if closed is not params["call_jaxpr"]:
        jvp = _on_arrays(jvp)
    if hoisted:
        jvp = _skip_leading(jvp, len(hoisted), params["name"])
    atoms = [trace.atom(x) for x in (*hoisted, *args)]
    new = {**params, "call_jaxpr": closed, "jvp": jvp}
    return trace.record(custom_jvp_call_p, atoms, new, closed.out_avals)


def _on_arrays(jvp: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(jvp)
    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return jvp(as_arrays(primals), tangents)

    return rule


def _skip_leading(jvp: Callable[..., Any], n: int, name: str) -> Callable[..., Any]:
    """Return the rule of a call whose first `n` operands are closed-over values."""

    @functools.wraps(jvp)
    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        for t in tangents[:n]:
            if type(t) is not Zero:
                raise errors.UnexpectedTracerError(
                    errors.message(
                        f"custom_jvp function {name} closes over a value that is being"
                        " differentiated.",
                        which=core.aval_of(t).str_short(True),
                        why="Its rule does not cover that value.",
                        tries=["pass the value as an argument"],
                    )
                )
        return jvp(primals[n:], tangents[n:])

    return rule


custom_jvp_call_p.stage = custom_jvp_stage


def custom_jvp_jvp(primals: Any, tangents: Any, *, jvp: Any, name: str, **_: Any) -> Any:
    try:
        return jvp(primals, tangents)
    except errors.UnexpectedTracerError as e:
        raise leaked_into_rule(e, name) from None


custom_jvp_call_p.jvp = custom_jvp_jvp


def custom_jvp_linearize(
    trace: Any, primals: Any, tangents: Any, *, jvp: Any, name: str, **_: Any
) -> Any:
    """Run the rule on tangents that are recorded; in most cases that separates it.

    If the rule passes primals and tangents together to a jit or a loop, this records the
    entire call, primal results included.  A rule is linear in its tangents, so the
    derivative with respect to them, at zero, is the rule itself: linearizing separates it.
    """
    with core.current(trace):
        outs, out_ts = custom_jvp_jvp(primals, tangents, jvp=jvp, name=name)
    if not any(isinstance(x, core.Tracer) and x._trace is trace for x in outs):
        return outs, out_ts
    nonzero_ts = [t for t in tangents if type(t) is not Zero]

    def rule(*ts: Any) -> list[Any]:
        it = iter(ts)
        outs, out_ts = jvp(primals, [t if type(t) is Zero else next(it) for t in tangents])
        return [*outs, *map(instantiate, out_ts)]

    results, linear_part = linearize_flat(
        rule, [instantiate(Zero(core.aval_of(t))) for t in nonzero_ts]
    )
    with core.current(trace):
        out_ts = linear_part(*nonzero_ts)[len(outs) :]
    return results[: len(outs)], out_ts


custom_jvp_call_p.linearize = custom_jvp_linearize


def custom_jvp_batch(
    axis: Any, args: Any, dims: Any, *, call_jaxpr: Any, jvp: Any, **params: Any
) -> Any:
    def run(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """Return the rule's results for lanes, their axes, and axes of value or tangent."""
        flags = [type(t) is not Zero for t in tangents]
        n = len(primals)

        def one(*xs: Any) -> list[Any]:
            ts = iter(xs[n:])
            full = [
                next(ts) if f else Zero(core.aval_of(p).to_tangent())
                for f, p in zip(flags, xs[:n], strict=True)
            ]
            outs, out_ts = jvp(xs[:n], full)
            return [*outs, *map(instantiate, out_ts)]

        ts = pick(tangents, flags)
        t_dims = pick(lanes.dims, flags)
        out, out_dims = batching.batch_flat(one, axis, [*primals, *ts], [*lanes.dims, *t_dims])
        k = len(out) // 2
        pairs = zip(out_dims[:k], out_dims[k:], strict=True)
        return out, out_dims, [d if t is None else t for d, t in pairs]

    def varies(xs: Sequence[Any]) -> list[bool]:
        varying: list[bool] = []

        def probe(*xs: Any) -> list[Any]:
            ts = [instantiate(Zero(core.aval_of(x).to_tangent())) for x in xs]
            out, _, dims = run(xs, ts)
            varying[:] = [d is not None for d in dims]
            return out

        stage(probe, [core.aval_of(x) for x in xs], text="custom_jvp")
        return varying

    lanes = LaneAxes(axis, dims, varies)

    @functools.wraps(jvp)
    def lane_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        out, out_dims, joint_dims = run(primals, tangents)
        k = len(joint_dims)
        batched = lanes.flags(joint_dims)
        out = lanes.align_lane_axes(out, out_dims, [*batched, *batched])
        return out[:k], [as_zero(t, x) for x, t in zip(out[:k], out[k:], strict=True)]

    out = custom_jvp_call_p.bind(
        *lanes.lanes_first(args, dims),
        call_jaxpr=lanes.lift(call_jaxpr),
        jvp=lane_jvp,
        **params,
    )
    return out, lanes.out_dims(out)


custom_jvp_call_p.batch = custom_jvp_call_p.batched(custom_jvp_batch)


# --------------------------------------------------------------------------- checkify


def custom_jvp_checked(
    enabled: checkify_transform.Enabled, args: Any, params: Any
) -> checkify_transform.Outcome:
    """Check the function, and the part of its rule that depends only on primals.

    The part that depends on tangents is not checked: they may have no value yet, as
    under `grad`.
    """
    call, jvp = params["call_jaxpr"], params["jvp"]
    inner = checkify_transform.checked(enabled, call)

    def run(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return _run_checked(enabled, jvp, primals, tangents)

    def probe(*primals: Any) -> checkify_errors.Error | None:
        tangents = [core_ops.zeros(a.to_tangent()) for a in call.in_avals]
        return run(primals, tangents)[0]

    slot_types = checkify_transform.rule_slot_types(inner, jvp, probe, call.in_avals)
    if slot_types is None:
        return None, custom_jvp_call_p.bind(*args, **params)
    combined = checkify_transform.with_slots(call, inner, slot_types)

    @functools.wraps(jvp)
    def with_error(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        error, outs, out_ts = run(primals, tangents)
        head = checkify_transform.fitted(error, slot_types, params["name"]).leaves()
        none = [Zero(core.aval_of(x).to_tangent()) for x in head]
        return [*head, *outs], [*none, *out_ts]

    new = {"call_jaxpr": combined.jaxpr, "jvp": with_error}
    return combined.split(custom_jvp_call_p.bind(*args, **{**params, **new}))


def _run_checked(
    enabled: checkify_transform.Enabled,
    jvp: Any,
    primals: Sequence[Any],
    tangents: Sequence[Any],
) -> tuple[checkify_errors.Error | None, list[Any], list[Any]]:
    """Return the first error in the part without tangents, and the rule's results."""
    nonzero = [type(t) is not Zero for t in tangents]
    n, n_out = len(primals), 0

    def flat(*xs: Any) -> list[Any]:
        nonlocal n_out
        ts = with_zeros(xs[n:], nonzero, [core.aval_of(x) for x in primals])
        outs, out_ts = jvp(xs[:n], ts)
        n_out = len(outs)
        return [*outs, *map(instantiate, out_ts)]

    ins = [*primals, *pick(tangents, nonzero)]
    jaxpr, consts = stage(flat, [core.aval_of(x) for x in ins], text="checkify")
    on_tangents = depends_on(jaxpr, [i >= n for i in range(len(ins))])
    primal_eqns, rest = [], []
    for eqn in jaxpr.eqns:
        if not any(type(a) is not Literal and a in on_tangents for a in eqn.ins):
            primal_eqns.append(eqn)
        elif eqn.primitive is not checkify_errors.check_p:
            rest.append(eqn)
    primal_vars = [v for e in primal_eqns for v in e.outs if type(v) is not DropVar]
    first = Jaxpr(jaxpr.constvars, jaxpr.invars[:n], primal_vars, primal_eqns)
    error, values = checkify_transform.run_checked(enabled, first, consts, primals)
    second = Jaxpr([*jaxpr.constvars, *primal_vars], jaxpr.invars, jaxpr.outvars, rest)
    results = eval_jaxpr(second, [*consts, *values], *ins)
    return error, results[:n_out], results[n_out:]


# --------------------------------------------------------------------------- functions


def bind_arguments(
    fun: Any, sig: Any, args: tuple[Any, ...], kwargs: Any, kind: str
) -> tuple[Any, ...]:
    """Return positional arguments, with keywords and defaults bound by the signature."""
    if not kwargs and (sig is None or _takes_just(sig, len(args))):
        return args
    try:
        if sig is None:
            raise TypeError("keyword arguments need a signature")
        bound = sig.bind(*args, **kwargs)
        bound.apply_defaults()  # first: `sig` binds arguments after a gap by keyword
        if by_name := [name for name in bound.kwargs if name in kwargs]:
            raise TypeError(
                "The following keyword arguments could not be resolved to positions:"
                f" {', '.join(by_name)}"
            )
    except TypeError as e:
        raise TypeError(
            errors.message(
                f"The input arguments to the {kind}-decorated function"
                f" {function_name(fun)} could not be resolved to positional-only arguments."
                f" Binding failed with the error:\n{e}",
                where=function_text(fun),
                why="A rule receives its function's arguments by position.",
            )
        ) from None
    return bound.args  # type: ignore[no-any-return]


def _takes_just(sig: inspect.Signature, n: int) -> bool:
    """Whether the parameters are exactly `n` positional ones."""
    params = sig.parameters
    return len(params) == n and all(p.kind in POSITIONAL for p in params.values())


def function_name(fun: Any) -> str:
    """Return a function's name, for messages and jaxprs."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return own_name(fun) or "<unnamed function>"


def nondiff_positions(fun: Any, nums: Any, names: Any) -> tuple[int, ...]:
    """Return the positions of the arguments that a custom rule does not differentiate."""
    sig = signature_of(fun)
    parameters = list(sig.parameters) if sig is not None else []
    positions = [int(n) for n in as_tuple(nums)]
    for name in as_tuple(names):
        if name not in parameters:
            raise ValueError(
                f"nondiff_argnames: {name!r} is not an argument of {function_text(fun)}."
            )
        positions.append(parameters.index(name))
    return tuple(sorted(positions))


def split_arguments(
    fun: Any, args: tuple[Any, ...], nums: Sequence[int]
) -> tuple[list[Any], list[Any], tuple[int, ...]]:
    """Return fixed arguments, differentiated arguments, and positions of the latter."""
    n = len(args)
    for i in nums:
        if not -n <= i < n:
            raise IndexError(
                errors.message(
                    f"nondiff_argnums={tuple(nums)} of {function_name(fun)}: there is no"
                    f" argument {i}, for it was called with {n}.",
                    where=function_text(fun),
                )
            )
    fixed_positions = {i % n for i in nums}
    rest = tuple(i for i in range(n) if i not in fixed_positions)
    return [args[i] for i in sorted(fixed_positions)], [args[i] for i in rest], rest


class _Bare(str):
    """Text that prints without quotes inside a pytree."""

    __slots__ = ()
    __repr__ = str.__str__


def types_text(treedef: Any, avals: Sequence[Any]) -> str:
    """Return the text of a pytree of types."""
    return str(tree.unflatten(treedef, [_Bare(a.str_short(False)) for a in avals]))


RESIDUALS = (
    " and the second element represents residuals (i.e. values stored from the forward"
    " pass for use on the backward pass)"
)


class Result:
    """The tree and the types of a function's result, recorded when the function runs.

    kind: "custom_jvp" or "custom_vjp", whose rule must return a result of this type.
    """

    __slots__ = ("avals", "fun", "kind", "treedef")

    def __init__(self, kind: str, fun: Any) -> None:
        self.kind = kind
        self.fun = fun
        self.treedef: Any = None
        self.avals: list[Any] | None = None

    def flatten(self, out: Any) -> list[Any]:
        """Return the leaves of the function's own result, and record its type."""
        outs, self.treedef = tree.flatten(out)
        check_values(outs, f"the result of {function_text(self.fun)}")
        self.avals = [core.aval_of(x) for x in outs]
        return outs

    def flatten_like(self, rule: Any, out: Any) -> list[Any]:
        """Return the leaves of a rule's result, which must have the recorded type."""
        outs, treedef = tree.flatten(out)
        check_values(outs, f"the result of {function_text(rule)}")
        own_tree, self.treedef = self.treedef, treedef
        if own_tree is None:
            return outs
        if treedef != own_tree:
            raise self.error(
                rule,
                "the same container/pytree structure",
                "container/pytree structure",
                str(treedef),
                str(own_tree),
            )
        avals = [core.aval_of(x) for x in outs]
        expected = self.avals
        if expected is not None and not all(map(same_type, avals, expected)):
            raise self.error(
                rule,
                "leaves of the same shape/dtype",
                "shapes/dtypes of",
                types_text(treedef, avals),
                types_text(treedef, expected),
            )
        return outs

    def error(self, rule: Any, same: str, has: str, got: str, expected: str) -> TypeError:
        name, rule_name = function_name(self.fun), function_name(rule)
        forward = self.kind == "custom_jvp"
        return TypeError(
            errors.message(
                f"Custom {'JVP' if forward else 'VJP fwd'} rule {rule_name} for function"
                f" {name} must produce a pair (list or tuple of length two) where the"
                " first element represents the primal output (equal to the output of the"
                f" {self.kind}-decorated function {name}, with {same})"
                f"{'' if forward else RESIDUALS}, but instead the"
                f" {'JVP' if forward else 'fwd'} rule output's first element had {has}:\n"
                f"    {got}\nwhile the {self.kind}-decorated function {name} had output"
                f" {has}:\n    {expected}",
                where=function_text(rule),
            )
        )


class CustomDerivative(CustomRuleFunction):
    """A function with a derivative rule, which does not apply to the nondiff arguments."""

    __call__: Callable[..., Any]

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        wraps(fun)(self)
        self.fun = fun
        self.nondiff = nondiff_positions(fun, nondiff_argnums, nondiff_argnames)
        self.nondiff_argnums = self.nondiff
        self.signature = signature_of(fun)
        self.symbolic_zeros = False

    def __get__(self, obj: Any, kind: Any = None) -> Any:
        return self if obj is None else functools.partial(self, obj)


class custom_jvp(CustomDerivative):
    """Give a function its own forward-mode derivative rule.

    Args:
      fun: the function.
      nondiff_argnums, nondiff_argnames: arguments that are passed to the rule unchanged,
        before primals and tangents (functions, flags).

    Example:
      >>> import minijax as mj
      >>> @mj.custom_jvp
      ... def f(x):
      ...     return mj.numpy.sin(x)
      >>> @f.defjvp
      ... def f_jvp(primals, tangents):
      ...     x, = primals
      ...     t, = tangents
      ...     return f(x), 10. * t
      >>> mj.grad(f)(1.)
      Array(10., dtype=float32, weak_type=True)
    """

    jvp: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Any:
        """Set the rule: `jvp(*nondiff, primals, tangents) -> (out, out_tangent)`.

        With `symbolic_zeros`, tangents known to be zero are passed as `SymbolicZero`.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set the rule from one function per argument: `jvp_i(tangent, out, *primals)`.

        None: the function does not depend on this argument.
        """
        if self.nondiff:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Any, tangents: Any) -> Any:
            if len(primals) != len(jvps):
                raise ValueError(
                    f"defjvps of {function_name(self.fun)} was given {len(jvps)} functions for"
                    f" {len(primals)} arguments.\nTry: None for an argument without one."
                )
            out = self(*primals)
            leaves, out_tree = tree.flatten(out)
            total: list[Any] = [Zero(core.aval_of(x).to_tangent()) for x in leaves]
            for rule, t in zip(jvps, tangents, strict=True):
                if rule is not None:
                    terms = tree.leaves(rule(t, out, *primals))
                    total = [ad_util.add(*pair) for pair in zip(total, terms, strict=True)]
            return out, tree.unflatten(out_tree, map(instantiate, total))

        self.defjvp(jvp)

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {function_name(self.fun)} using defjvp."
            )
        args = bind_arguments(self.fun, self.signature, args, kwargs, "custom_jvp")
        fixed, dynamic, positions = split_arguments(self.fun, args, self.nondiff)
        leaves, in_tree = tree.flatten(tuple(dynamic))
        check_values(leaves, f"the arguments of {function_text(self.fun)}")
        if fixed:
            fixed = [tree.map(_without_gradient, x) for x in fixed]
        result = Result("custom_jvp", self.fun)
        rest = [i for i in range(len(args)) if i not in positions]

        def call(*xs: Any) -> list[Any]:
            full = list(args)
            for i, x in zip(rest, fixed, strict=True):
                full[i] = x
            for i, x in zip(positions, tree.unflatten(in_tree, xs), strict=True):
                full[i] = x
            return result.flatten(self.fun(*full))

        rule = functools.partial(_run_jvp, self, fixed, in_tree, result)
        rule.__name__ = own_name(self.jvp) or "jvp"  # type: ignore[attr-defined]
        rule.written = self.jvp  # type: ignore[attr-defined]
        outs = custom_jvp_call_p.bind(
            *leaves,
            name=function_name(self.fun),
            call_jaxpr=call,
            jvp=rule,
            symbolic_zeros=self.symbolic_zeros,
        )
        return tree.unflatten(result.treedef, outs)


def _without_gradient(x: Any) -> Any:
    """Return an argument that is not differentiated, as a rule receives it."""
    return stop_gradient(x) if isinstance(x, Tracer) else x


def _run_jvp(
    custom: custom_jvp,
    fixed: Sequence[Any],
    in_tree: Any,
    result: Result,
    primals: Sequence[Any],
    tangents: Sequence[Any],
) -> tuple[list[Any], list[Any]]:
    """Call the user's rule and check its result."""
    assert custom.jvp is not None
    if custom.symbolic_zeros:
        ts = [SymbolicZero(t.aval) if type(t) is Zero else t for t in tangents]
    else:
        ts = as_arrays([instantiate(t) for t in tangents])
    pair = custom.jvp(*fixed, tree.unflatten(in_tree, primals), tree.unflatten(in_tree, ts))
    rule, name = function_name(custom.jvp), function_name(custom.fun)
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(
            f"Custom JVP rule {rule} for function {name} must produce a pair (list or"
            " tuple of length two) representing primal and tangent outputs, but got"
            f" {pair!r}."
        )
    outs = result.flatten_like(custom.jvp, pair[0])
    out_ts, t_tree = tree.flatten(pair[1])
    if result.treedef != t_tree:
        raise TypeError(
            f"Custom JVP rule {rule} for function {name} must produce primal and tangent"
            " outputs with equal container (pytree) structures, but got"
            f" {result.treedef} and {t_tree} respectively."
        )
    checked_ts = []
    for x, t in zip(outs, map(from_symbolic, out_ts), strict=True):
        primal = core.aval_of(x)
        expected = primal.to_tangent()
        got = t.aval if type(t) is Zero else core.aval_of(t)
        fits = (got.shape, got.dtype) == (expected.shape, expected.dtype)
        if not fits or type(got) is AbstractRef:
            raise TypeError(
                errors.message(
                    "Custom JVP rule must produce primal and tangent outputs with"
                    " corresponding shapes and dtypes. Expected"
                    f" {expected.str_short(False)} (tangent type of"
                    f" {primal.str_short(False)}) but got {got.str_short(False)}.",
                    where=f"the rule {rule} of {name}",
                )
            )
        checked_ts.append(as_zero(t, x))
    return outs, checked_ts
