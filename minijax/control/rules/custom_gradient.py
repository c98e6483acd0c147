"""Custom rules without classes: `custom_gradient`, `closure_convert`, `linear_call`.

Each of them converts a Python closure to a jaxpr and its captured values, so that the
closure can outlive the trace in which it was made.  Next: custom_solve.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base import errors, tree
from ...base.source import function_text, wraps
from ...base.tracebacks import boundary
from ...base.util import pick
from ...ir import core
from ...ir.core import Primitive, Tracer
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, eval_jaxpr, lift_consts, permute_jaxpr
from ...ir.regions import Call
from ...passes import batch as batching
from ...passes.ad_util import UndefinedPrimal, Zero, instantiate
from ...passes.stage import stage
from ...types import dtypes
from ...types.avals import same_type
from .. import body_staging
from ..arguments import check_values
from ..flat import FlatFun
from .custom_calls import calls_with_rule
from .custom_jvp import types_text
from .custom_vjp import custom_vjp


class Converted:
    """A staged closure, called with its captured values first."""

    __slots__ = ("in_tree", "jaxpr", "n_consts", "out_tree")

    def __init__(self, body: body_staging.Body, in_tree: Any) -> None:
        self.jaxpr = body.jaxpr
        self.in_tree = in_tree
        self.out_tree = body.out_tree
        self.n_consts = len(body.consts)

    def __call__(self, *args: Any) -> Any:
        consts, rest = args[: self.n_consts], args[self.n_consts :]
        leaves, in_tree = tree.flatten(tuple(rest))
        if in_tree != self.in_tree:
            raise TypeError(
                f"converted function called with arguments of structure {in_tree}, but it"
                f" was converted for {self.in_tree}."
            )
        return tree.unflatten(self.out_tree, eval_jaxpr(self.jaxpr, consts, *leaves))


def convert(fun: Callable[..., Any], *examples: Any) -> tuple[Converted, list[Any]]:
    """Return a closure as (function of captured values and arguments, captured values)."""
    leaves, in_tree = tree.flatten(examples)
    return convert_for(fun, in_tree, [core.aval_of(x) for x in leaves])


def convert_for(
    fun: Callable[..., Any], in_tree: Any, avals: Sequence[Any]
) -> tuple[Converted, list[Any]]:
    """Return `convert(fun, ...)` for arguments of these types."""
    body = body_staging.stage_body(fun, in_tree, avals, "closure")
    return Converted(body, in_tree), body.consts


@boundary
def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """Make the traced values that a function closes over explicit arguments.

    Args:
      fun: the function; example_args: arguments of the types of later calls.

    Returns:
      (converted, consts): `converted(*args, *consts)` equals `fun(*args)`; consts are the
      captured values that are being differentiated or traced, of float dtypes.

    Example:
      >>> f, consts = closure_convert(lambda x: x, 1.)
      >>> f(2., *consts)
      2.0
    """
    new, captured = convert(fun, *example_args)
    hoist = [isinstance(c, Tracer) and dtypes.is_differentiable(c.aval.dtype) for c in captured]
    consts = pick(captured, hoist)
    n = len(example_args)

    in_tree = tree.structure(example_args)

    def converted(*args: Any) -> Any:
        got = tree.structure(args[:n])
        if got != in_tree or len(args) != n + len(consts):
            raise TypeError(
                errors.message(
                    "The inputs to the closure produced by closure_convert must have the"
                    " same Pytree structure as the example arguments passed when"
                    f" closure_convert was called. Expected {in_tree} and"
                    f" {len(consts)} captured values, but got {got} and"
                    f" {max(len(args) - n, 0)}.",
                    where=function_text(fun),
                )
            )
        hoisted = iter(args[n:])
        values = [next(hoisted) if h else c for c, h in zip(captured, hoist, strict=True)]
        return new(*values, *args[:n])

    return converted, consts


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Define a function together with its gradient.

    Args:
      fun: returns the pair (value, rule); `rule(ct)` takes a cotangent of the value, and
        returns a tuple of the arguments' cotangents (or just one, for one argument).

    Returns:
      A function with `fun`'s arguments that returns the value.

    Raises:
      TypeError: (the function) `fun` did not return such a pair.

    Example:
      >>> import minijax as mj
      >>> @mj.custom_gradient
      ... def f(x):
      ...     return x ** 2, lambda g: (g * x,)
      >>> mj.grad(f)(3.)
      Array(3., dtype=float32, weak_type=True)
    """

    @custom_vjp
    @wraps(fun)
    def wrapped(*args: Any) -> Any:
        return _pair(fun, args)[0]

    def fwd(*args: Any) -> Any:
        value, rule = _pair(fun, args)
        ct = tree.map(lambda x: instantiate(Zero(core.aval_of(x).to_tangent())), value)
        converted, captured = convert(rule, ct)
        # The rule is static in the tree, so that only captured values are residuals.
        return value, tree.Partial(converted, *captured)

    def bwd(rule: Any, ct: Any) -> Any:
        cts = rule(ct)
        return tuple(cts) if isinstance(cts, (tuple, list)) else (cts,)

    wrapped.defvjp(fwd, bwd)
    return wrapped


def _pair(fun: Any, args: Any) -> tuple[Any, Any]:
    out = fun(*args)
    if not isinstance(out, tuple) or len(out) != 2 or not callable(out[1]):
        raise TypeError(
            errors.message(
                f"custom_gradient: {function_text(fun)} must return a pair of a value and"
                f" a function, got {out!r}."[:300]
            )
        )
    return out


# ------------------------------------------------------------------------- linear_call

linear_call_p = Primitive("linear_call", multiple_results=True)
calls_with_rule(linear_call_p, Call("callee", opaque=True))


def linear_call_jvp(
    primals: Any, tangents: Any, *, num_res: int, callee: ClosedJaxpr, **params: Any
) -> Any:
    """Differentiate in the operands after the residuals; residuals must not vary."""
    out = linear_call_p.bind(*primals, num_res=num_res, callee=callee, **params)
    for t in tangents[:num_res]:
        if type(t) is not Zero:
            raise NotImplementedError(
                "JVP of linear_call with respect to its residual arguments is not defined."
            )
    ts = tangents[num_res:]
    if all(type(t) is Zero for t in ts):
        return out, [Zero(core.aval_of(x).to_tangent()) for x in out]
    args = [*primals[:num_res], *map(instantiate, ts)]
    return out, linear_call_p.bind(*args, num_res=num_res, callee=callee, **params)


linear_call_p.jvp = linear_call_jvp


def linear_call_transpose(
    cts: Any, *args: Any, num_res: int, callee: ClosedJaxpr, transpose: ClosedJaxpr
) -> Any:
    res = args[:num_res]
    if any(type(x) is UndefinedPrimal for x in res):
        raise TypeError("linear_call: residual arguments are not linear.")
    cts_in = linear_call_p.bind(
        *res, *map(instantiate, cts), num_res=num_res, callee=transpose, transpose=callee
    )
    return [*[None] * num_res, *cts_in]


linear_call_p.transpose = linear_call_transpose


def linear_call_batch(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    num_res: int,
    callee: ClosedJaxpr,
    transpose: ClosedJaxpr,
) -> Any:
    ins = [
        batching.lane_to_front(x, axis, d) if d is not None or i >= num_res else x
        for i, (x, d) in enumerate(zip(args, dims, strict=True))
    ]
    n_lin = len(args) - num_res
    batched = [*(d is not None for d in dims[:num_res]), *[True] * n_lin]
    lanes, _ = batching.batch_jaxpr(callee, axis, batched, True)
    n_out = len(callee.out_avals)
    transposed, _ = batching.batch_jaxpr(
        transpose, axis, [*batched[:num_res], *[True] * n_out], True
    )
    out = linear_call_p.bind(*ins, num_res=num_res, callee=lanes, transpose=transposed)
    return out, [0] * len(out)


linear_call_p.batch = linear_call_batch


@boundary
def linear_call(
    fun: Callable[..., Any],
    fun_transpose: Callable[..., Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """Call a linear function that has its own transpose.

    Args:
      fun: `fun(residual_args, linear_args)`, linear in the second.
      fun_transpose: `fun_transpose(residual_args, out)`, its transpose.
      residual_args: a pytree of values with respect to which `fun` has no derivative.
      linear_args: a pytree of arrays, in which it is linear.

    Returns:
      The result of `fun`, a pytree of arrays.

    Raises:
      TypeError: the transpose does not return the types of `linear_args`.

    Example:
      >>> linear_call(lambda r, x: r * x, lambda r, ct: r * ct, 2., 3.)
      Array(6., dtype=float32, weak_type=True)
    """
    res, res_tree = tree.flatten(residual_args)
    lin, lin_tree = tree.flatten(linear_args)
    run = FlatFun(fun, tree.treedef_tuple([res_tree, lin_tree]), "linear_call")
    avals = [core.aval_of(x) for x in (*res, *lin)]
    callee, consts = run.stage(avals)
    out_avals = callee.out_avals

    def run_transpose(*xs: Any) -> list[Any]:
        ct = run.result(xs[len(res) :])
        result = fun_transpose(tree.unflatten(res_tree, xs[: len(res)]), ct)
        leaves, got = tree.flatten(result)
        types = [core.aval_of(x) for x in check_values(leaves, function_text(fun))]
        expected = avals[len(res) :]
        if got != lin_tree or not all(map(same_type, types, expected)):
            raise TypeError(
                errors.message(
                    "linear_call: the transpose must return what the function takes.",
                    which=f"it returns {types_text(got, types)}, the linear arguments are"
                    f" {types_text(lin_tree, expected)}",
                    where=function_text(fun_transpose),
                )
            )
        return leaves

    transposed, t_consts = stage(
        run_transpose, [*avals[: len(res)], *out_avals], text=function_text(fun_transpose)
    )
    captured = [*consts, *t_consts]
    out = linear_call_p.bind(
        *captured,
        *res,
        *lin,
        num_res=len(captured) + len(res),
        callee=_take(callee, 0, len(consts), captured),
        transpose=_take(transposed, len(consts), len(captured), captured),
    )
    return run.result(out)


def _take(jaxpr: Jaxpr, start: int, stop: int, captured: Sequence[Any]) -> ClosedJaxpr:
    """Return the jaxpr with all of `captured` as leading inputs, some of them unread."""
    lifted = lift_consts(jaxpr)
    before, after = captured[:start], captured[stop:]
    n = stop - start
    own, rest = range(n), range(n, len(lifted.in_avals))
    ins = [*map(core.aval_of, before), *own, *map(core.aval_of, after), *rest]
    return permute_jaxpr(lifted, ins)
