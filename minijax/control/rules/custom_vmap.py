"""`custom_vmap`: a function with its own batching rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base import errors, tree
from ...base.source import function_text, wraps
from ...base.tracebacks import boundary
from ...ir import core
from ...ir.core import Primitive
from ...ir.regions import Call
from ...passes import batch as batching
from ...passes.ad_util import instantiate
from ...passes.jvp import jvp_flat
from ...passes.stage import StageTrace
from ..arguments import check_values, signature_of
from ..effects import checkify_transform
from ..flat import FlatFun
from .custom_calls import CustomRuleFunction, as_arrays, calls_with_rule, stage_call
from .custom_jvp import bind_arguments, function_name

custom_vmap_call_p = Primitive("custom_vmap_call", multiple_results=True)
calls_with_rule(
    custom_vmap_call_p,
    Call("call", opaque=True),
    checked=lambda *args: custom_vmap_checked(*args),
)


def custom_vmap_stage(trace: StageTrace, args: Sequence[Any], params: Any) -> Any:
    closed, hoisted = stage_call(trace, params["call"], args, params["name"])
    rule = params["rule"]
    if hoisted:
        rule = _skip_leading(rule, len(hoisted), params["name"])
    atoms = [trace.atom(x) for x in (*hoisted, *args)]
    new = {**params, "call": closed, "rule": rule}
    return trace.record(custom_vmap_call_p, atoms, new, closed.out_avals)


def _skip_leading(rule: Any, n: int, name: str) -> Any:
    """Return the rule of a call whose first `n` operands are closed-over values."""

    def later(size: int, flags: Sequence[bool], *xs: Any) -> Any:
        if any(flags[:n]):
            raise errors.UnexpectedTracerError(
                errors.message(
                    f"custom_vmap function {name} closes over a value that is being mapped.",
                    why="Its rule does not cover that value.",
                    tries=["pass the value as an argument"],
                )
            )
        return rule(size, flags[n:], *xs[n:])

    return later


custom_vmap_call_p.stage = custom_vmap_stage


def custom_vmap_jvp(primals: Any, tangents: Any, *, call: Any, rule: Any, name: str) -> Any:
    """Differentiate the function; batch the result by the derivative of its rule."""
    n = len(primals)

    def pushed(*xs: Any) -> list[Any]:
        outs, ts = jvp_flat(call, xs[:n], xs[n:])
        return [*outs, *map(instantiate, ts)]

    def pushed_rule(size: int, flags: Sequence[bool], *xs: Any) -> Any:
        both = [p or t for p, t in zip(flags[:n], flags[n:], strict=True)]
        full = [
            batching.lane_to_front(x, size, None) if b and not f else x
            for x, f, b in zip(xs, flags, [*both, *both], strict=True)
        ]
        out_flags: list[bool] = []

        def run(*vals: Any) -> list[Any]:
            outs, out_flags[:] = rule(size, both, *vals)
            return outs

        outs, ts = jvp_flat(run, full[:n], full[n:])
        return [*outs, *map(instantiate, ts)], [*out_flags, *out_flags]

    out = custom_vmap_call_p.bind(
        *primals, *map(instantiate, tangents), call=pushed, rule=pushed_rule, name=name
    )
    half = len(out) // 2
    return out[:half], out[half:]


custom_vmap_call_p.jvp = custom_vmap_jvp


def custom_vmap_linearize(
    trace: Any, primals: Any, tangents: Any, *, call: Any, rule: Any, name: str
) -> Any:
    """Separate the function itself; the rule is dropped, as it mixes the two parts."""
    del rule, name
    with core.current(trace):
        return jvp_flat(call, primals, tangents)


custom_vmap_call_p.linearize = custom_vmap_linearize


def custom_vmap_batch(
    axis: Any, args: Any, dims: Any, *, call: Any, rule: Any, name: str
) -> Any:
    ins = [
        x if d is None else batching.lane_to_front(x, axis, d)
        for x, d in zip(args, dims, strict=True)
    ]
    out, flags = rule(axis.size, [d is not None for d in dims], *ins)
    return out, [0 if f else None for f in flags]


custom_vmap_call_p.batch = custom_vmap_batch


def custom_vmap_checked(
    enabled: checkify_transform.Enabled, args: Any, params: Any
) -> checkify_transform.Outcome:
    inner = checkify_transform.checked(enabled, params["call"])
    if inner is None:
        return None, custom_vmap_call_p.bind(*args, **params)
    return inner(*args)


class custom_vmap(CustomRuleFunction):
    """Give a function its own batching rule.

    Example:
      >>> import minijax as mj
      >>> @custom_vmap
      ... def f(x):
      ...     return x + 1
      >>> @f.def_vmap
      ... def rule(axis_size, in_batched, x):
      ...     return x + 2, in_batched[0]
      >>> mj.vmap(f)(mj.numpy.zeros(2))
      Array([2., 2.], dtype=float32)
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        wraps(fun)(self)
        self.fun = fun
        self.signature = signature_of(fun)
        self.vmap_rule: Callable[..., Any] | None = None

    def def_vmap(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule: `rule(axis_size, in_batched, *args) -> (out, out_batched)`."""
        self.vmap_rule = rule
        return rule

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.vmap_rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {function_name(self.fun)}"
                " using def_vmap."
            )
        args = bind_arguments(self.fun, self.signature, args, kwargs, "custom_vmap")
        leaves, in_tree = tree.flatten(tuple(args))
        check_values(leaves, f"the arguments of {function_text(self.fun)}")
        call = FlatFun(self.fun, in_tree, "custom_vmap")

        def rule(size: int, flags: Sequence[bool], *xs: Any) -> tuple[list[Any], list[bool]]:
            return _run_rule(
                self, size, flags, tree.unflatten(in_tree, as_arrays(xs)), call.out_tree
            )

        # The rule may run before the function does: determine the output's tree first.
        call.stage([core.aval_of(x) for x in leaves])
        out = custom_vmap_call_p.bind(
            *leaves, call=call, rule=rule, name=function_name(self.fun)
        )
        return call.result(out)


def _run_rule(
    custom: custom_vmap, size: int, flags: Sequence[bool], args: Any, expected: Any
) -> tuple[list[Any], list[bool]]:
    """Call the user's rule and check its result."""
    assert custom.vmap_rule is not None
    in_batched = list(tree.unflatten(tree.structure(args), flags))
    out = custom.vmap_rule(size, in_batched, *args)
    name = function_name(custom.vmap_rule)
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise ValueError(
            f"custom vmap rule ({name}) must return a pair (out, out_batched), got {out!r}."
        )
    leaves, got = tree.flatten(out[0])
    out_flags, flag_tree = tree.flatten(out[1])
    if got != flag_tree:
        raise ValueError(
            "structure of output value and output batching specification returned by"
            f" custom vmap rule ({name}) do not match.\nOutput values: {got}\n"
            f"Batching spec: {flag_tree}"
        )
    if got != expected:
        raise ValueError(
            f"structure of output returned by custom vmap rule ({name}) does not match that"
            f" of original custom-vmapped function.\nOriginal output: {expected}\n"
            f"Rule output: {got}"
        )
    check_values(leaves, f"the result of {function_text(custom.vmap_rule)}")
    return leaves, out_flags
