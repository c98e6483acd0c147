"""`checkpoint` (`remat`): recompute in the backward pass instead of storing.

Differentiated, the primal part runs and keeps only what the policy saves; the linear
part becomes one `remat2` equation that takes the inputs and the saved values, computes
the residuals again and applies the linear map.  Its transpose is another such equation.
A policy is called once for each equation of the primal part and returns whether its
results may be saved.  A barrier, on CPUs a branch, keeps XLA from merging the recomputation
with the forward pass.

Source of the idea: Griewank & Walther, Evaluating Derivatives, ch. 12.
Next: pmap.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...analysis.key_use import use_of
from ...base import config, errors, log, tree
from ...base.source import function_text, wraps
from ...base.util import pick, renamed
from ...ir import core
from ...ir.core import STATE, ByPlatform, Primitive
from ...ir.facts import FORWARDS, READS, Facts
from ...ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Var, eval_jaxpr, lift_consts
from ...ir.regions import OpenCall
from ...passes.ad_util import nonzero_flags, pick_nonzero, with_zeros
from ...passes.dce import dce_jaxpr
from ...passes.linearize import linearize_flat, linearize_jaxpr
from ...passes.region_rules import def_region_rules
from ...passes.stage import JitTracer, StageTrace, remembered, stage
from ...prims import device_put
from ...prims.elementwise import batch_elementwise, linear_in_first
from ...prims.sharding_specs import first_operand_specs
from ...runtime.lowering import context
from ...types import dtypes
from ...types.avals import MemorySpace, shaped
from ..arguments import (
    ArgNames,
    Statics,
    check_callable,
    check_values,
    resolve_statics,
    signature_of,
)
from ..refs import discharge
from ..refs.discharge import FunctionPrimitive
from .jit_primitive import closed_call_p, jit_p
from .jitted import JitOptions, Jitted
from .remat_budget import Budget
from .remat_regions import inline_calls, seen, split_equations


class Offloadable(NamedTuple):
    """A policy's result: store the values in another memory, such as the host's."""

    src: str
    dst: str


class Answer:
    """A policy's result that is not a bool: `Saveable` for True, `Recompute` for False."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


Saveable = Answer("Saveable")
Recompute = Answer("Recompute")

Policy = Callable[..., bool | Answer | Offloadable]


def stored(answer: Any) -> bool | Offloadable:
    """Return whether the results are stored, by a policy's answer, and in which memory.

    Raises:
      TypeError: the answer has another type.
    """
    if isinstance(answer, (bool, Offloadable)):
        return answer
    if answer is Saveable or answer is Recompute:
        return answer is Saveable
    raise TypeError(
        errors.message(
            "Value returned by a remat policy should be a bool or"
            " `ad_checkpoint.Recompute`, `ad_checkpoint.Saveable` or"
            f" `ad_checkpoint.Offloadable(...)`. Got {answer} of type {type(answer)}.",
            tries=["return bool(...)"],
        )
    )


# ------------------------------------------------------------------ naming of values

name_p = Primitive("name")
name_p.def_sharding(specs=first_operand_specs)
name_p.abstract = lambda x, *, name: x
linear_in_first(name_p, lambda ct, x, *, name: [ct])
batch_elementwise(name_p)
name_p.lower = lambda ctx, x, *, name: x
name_p.impl = lambda x, *, name: x
# The name belongs to the value, not to its tangent.
name_p.jvp = lambda primals, tangents, *, name: (name_p.bind(*primals, name=name), tangents[0])
name_p.facts = Facts(
    elementwise=True,
    makes_no_nans=True,
    keeps_nans=True,
    uses_keys=FORWARDS,
    lowers_key_arrays=True,
)


def checkpoint_name(x: Any, name: str) -> Any:
    """Name a value (a pytree of them) for checkpoint policies.

    Args:
      x: a pytree of arrays or numbers.
      name: a string, which policies compare.

    Returns:
      `x`, as arrays of the same values, shapes and dtypes.

    Raises:
      TypeError: a leaf is not an array.

    >>> import minijax as mj
    >>> checkpoint_name(mj.numpy.ones(2), 'hidden')
    Array([1., 1.], dtype=float32)
    """
    check_values(tree.leaves(x), "checkpoint_name")
    return tree.map(lambda v: name_p.bind(v, name=name), x)


# ---------------------------------------------------------------------- the primitive

remat_p = FunctionPrimitive("remat2")
def_region_rules(
    remat_p,
    OpenCall("jaxpr"),
    # Recomputing what an earlier pass has computed consumes no further random keys.
    uses_keys=lambda ins, params: (
        READS if params["differentiated"] else use_of(params["jaxpr"])
    ),
    lowers_key_arrays=True,
)
remat_p.impl = lambda *args, jaxpr, **params: eval_jaxpr(jaxpr, (), *args)


def remat_linearize(
    trace: Any,
    primals: Any,
    tangents: Any,
    *,
    jaxpr: Jaxpr,
    policy: Policy | None,
    **params: Any,
) -> Any:
    if isinstance(policy, Budget):  # it chooses segments, each of them a checkpoint
        inlined = discharge.discharge_own_refs(ClosedJaxpr(inline_calls(jaxpr)))
        divided = policy.divide(inlined.jaxpr, _checkpointed)
        assert closed_call_p.linearize is not None
        return closed_call_p.linearize(
            trace, primals, tangents, call_jaxpr=ClosedJaxpr(divided, inlined.consts)
        )
    nonzero = nonzero_flags(tangents)
    linearized, forward, backward, used = _split(ClosedJaxpr(jaxpr), tuple(nonzero), policy)
    n = len(jaxpr.outvars)
    consts = linearized.primal.consts
    out = eval_jaxpr(forward, (), *consts, *primals)
    outs, saved = out[:n], out[n:]
    if config.LOG_RESIDUALS.peek():
        inputs = pick([*consts, *primals], used)
        _log_residuals(jaxpr.name, inputs, pick(saved, used[-len(saved) - sum(nonzero) :]))
    if not any(linearized.nonzero_out):
        return outs, with_zeros([], linearized.nonzero_out, jaxpr.out_avals)
    args = [*consts, *primals, *saved, *pick_nonzero(tangents, nonzero)]
    args = pick(args, used)
    tangents_out = trace.process(
        remat_p,
        tuple(args),
        {"jaxpr": backward, "policy": policy, **params, "differentiated": True},
    )
    return outs, with_zeros(tangents_out, linearized.nonzero_out, jaxpr.out_avals)


def _checkpointed(jaxpr: Jaxpr) -> tuple[Primitive, dict[str, Any]]:
    """Return the primitive and the params that hold a recomputed part of a program."""
    return remat_p, dict(jaxpr=jaxpr, prevent_cse=True, differentiated=False, policy=None)


def _log_residuals(name: str, inputs: Sequence[Any], saved: Sequence[Any]) -> None:
    """Log what is stored for the backward pass: inputs, then the policy's choice."""
    lines = [
        f"remat-decorated function{f' {name}' if name else ''} saving {what} with shapes:"
        + "".join(f"\n  {core.aval_of(x).str_short(False)}" for x in values)
        for what, values in (("inputs", inputs), ("intermediates", saved))
        if values
    ]
    log.logger.warning("\nand ".join(lines) or "remat-decorated function saving nothing")


@remembered
def _split(
    closed: ClosedJaxpr, nonzero: tuple[bool, ...], policy: Policy | None
) -> tuple[Any, Jaxpr, Jaxpr, list[bool]]:
    """Return the linearized jaxpr, its forward and backward jaxprs, and the flags of the
    inputs that the latter reads; cached, so that equal layers are split and lowered
    once."""
    jaxpr = closed.jaxpr
    inlined = discharge.discharge_own_refs(ClosedJaxpr(inline_calls(jaxpr)))
    linearized = linearize_jaxpr(inlined, nonzero, forward_out=False)
    forward, recompute, _ = split_by_policy(linearized.primal.jaxpr, len(jaxpr.outvars), policy)
    body = _backward_body(linearized, recompute)
    backward, used = dce_jaxpr(body, [True] * len(body.outvars))
    return linearized, forward, backward, used


def split_by_policy(
    primal: Jaxpr, n_out: int, policy: Policy | None
) -> tuple[Jaxpr, Jaxpr, int]:
    """Return (inputs -> outs ++ saved) and (inputs ++ saved -> residuals), by a policy."""
    inputs = [*primal.constvars, *primal.invars]

    def answer(eqn: Equation) -> bool | Offloadable:
        once = any(
            getattr(e, "is_once_per_call", False) or getattr(e, "blocks_recompute", False)
            for e in eqn.effects
        )
        if once or policy is None:
            return once
        avals = [a.aval for a in eqn.ins]
        return stored(policy(eqn.primitive, *avals, **eqn.params))

    first, rest, storable = split_equations(primal, answer)
    candidates = list(storable)
    residuals = primal.outvars[n_out:]
    full = Jaxpr([], [*inputs, *candidates], residuals, rest, name=primal.name)
    keep = [*[True] * len(inputs), *[False] * len(candidates)]
    recompute, used = dce_jaxpr(full, [True] * len(residuals), keep_in=keep)
    saved = [v for v, u in zip(candidates, used[len(inputs) :], strict=True) if u]
    # An offloaded value moves right after its equation; the other half moves it back.
    away: dict[Any, Var] = {}
    for v in saved:
        answer = storable[v]
        if isinstance(answer, Offloadable):
            space = MemorySpace.of_kind(answer.dst)
            away[v] = Var(v.aval.update(memory_space=space))
    saved_vars = [away.get(v, v) for v in saved]
    eqns = []
    for e in first:
        eqns += [e, *(_move(v, away[v]) for v in e.outs if v in away)]
    if away:
        invars = [*recompute.invars[: len(inputs)], *saved_vars]
        back = [_move(u, v) for v, u in away.items()]
        recompute = recompute.replace(invars=invars, eqns=[*back, *recompute.eqns])
    outs = [*primal.outvars[:n_out], *saved_vars]
    forward = Jaxpr([], inputs, outs, eqns, name=primal.name)
    forward, _ = dce_jaxpr(forward, [True] * len(forward.outvars), keep_in=True)
    return forward, recompute, len(saved)


def _move(a: Var, b: Var) -> Equation:
    """Return the equation that puts the value of `a` in the memory of `b`."""
    params = {
        "devices": (b.aval.memory_space,),
        "srcs": (None,),
        "copy_semantics": (device_put.Copy.ALWAYS_COPY,),
    }
    return Equation(device_put.device_put_p, [a], [b], params)


def _named_again(e: Equation) -> Equation:
    """Return a recomputed equation, marked as such in its name."""
    names = f"rematted_computation/{e.names}".rstrip("/")
    return Equation(e.primitive, e.ins, e.outs, e.params, e.source, names)


def _backward_body(linearized: Any, recompute: Jaxpr) -> Jaxpr:
    """inputs ++ saved ++ tangents -> tangents out: recompute, then the linear part."""
    linear = linearized.linear.jaxpr
    n_res = len(linearized.residuals)
    n_const = len(linearized.primal.consts)
    env: dict[Any, Any] = {}
    for v, (kind, i) in zip(linear.invars[:n_res], linearized.residuals, strict=True):
        env[v] = recompute.invars[n_const + i] if kind == "in" else recompute.outvars[i]
    eqns = [_named_again(e) for e in recompute.eqns]
    for e in linear.eqns:
        eqns.append(e.replace(invars=[seen(env, a) for a in e.ins]))
    outs = [seen(env, a) for a in linear.outvars]
    return Jaxpr(
        [], [*recompute.invars, *linear.invars[n_res:]], outs, eqns, name=recompute.name
    )


remat_p.linearize = remat_linearize


def remat_lower(
    ctx: Any, *args: Any, jaxpr: Jaxpr, differentiated: bool, prevent_cse: bool, **_: Any
) -> Any:
    if differentiated and prevent_cse and args:
        barrier = ctx.create(
            "stablehlo.optimization_barrier", [x.type for x in args], list(args)
        )
        args = tuple(barrier.results)
    ctx.rename("checkpoint")
    return ctx.call(ClosedJaxpr(jaxpr), "checkpoint", args)


def remat_lower_cpu(ctx: Any, *args: Any, **params: Any) -> Any:
    # On CPUs XLA drops barriers, and the saving of memory with them.  It neither merges
    # with computations inside a branch, nor runs those before all operands are ready.
    index = None
    if params["differentiated"] and params["prevent_cse"]:
        index = _unknown_zero(ctx, args)
    if index is None:
        return remat_lower(ctx, *args, **params)
    outs = ctx.avals_out
    branches = [
        lambda: remat_lower(ctx, *args, **params),
        lambda: [ctx.as_typed(ctx.constant(0, a), a) for a in outs],
    ]
    return ctx.case(index, branches, [ctx.type(a) for a in outs])


remat_p.lower = ByPlatform(remat_lower, cpu=remat_lower_cpu)


def _unknown_zero(ctx: Any, args: Sequence[Any]) -> Any:
    """Return (x | 1) == 0 for the bits x of some operand: a zero XLA cannot fold."""
    i32, boolean = shaped((), dtypes.int32), shaped((), dtypes.bool_)
    for x, aval in zip(args, map(context.physical, ctx.avals_in), strict=True):
        if aval.size and aval.dtype in _BITS_DTYPES:
            bits = shaped((), _BITS_DTYPES[aval.dtype])
            ones = (1,) * aval.ndim
            first = ctx.op(
                "slice",
                shaped(ones, aval.dtype),
                x,
                start_indices=ctx.i64s([0] * aval.ndim),
                limit_indices=ctx.i64s(ones),
                strides=ctx.i64s(ones),
            )
            first = ctx.op("reshape", shaped((), aval.dtype), first)
            word = ctx.op("bitcast_convert", bits, first)
            word = ctx.op("or", bits, word, ctx.constant(1, bits))
            same = ctx.op(
                "compare",
                boolean,
                word,
                ctx.constant(0, bits),
                comparison_direction=ctx.parse("#stablehlo<comparison_direction EQ>"),
                compare_type=ctx.parse("#stablehlo<comparison_type UNSIGNED>"),
            )
            return ctx.op("convert", i32, same)
    return None


_BITS_DTYPES = {
    dtypes.bfloat16: dtypes.uint16,
    dtypes.float16: dtypes.uint16,
    dtypes.float32: dtypes.uint32,
    dtypes.float64: dtypes.uint64,
    dtypes.int32: dtypes.uint32,
    dtypes.uint32: dtypes.uint32,
    dtypes.int64: dtypes.uint64,
}


# ------------------------------------------------------------------------ the function


def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    concrete: bool = False,
) -> Callable[..., Any]:
    """Make a function whose residuals are recomputed in the backward pass.

    Args:
      fun: the function; its inputs are stored instead of its intermediate values.
      prevent_cse: keep XLA from merging the recomputation with the forward pass; False
        is right inside `scan`, whose loop already prevents that.
      policy: `policy(prim, *avals, **params) -> bool`, called for each operation: whether
        its results may be stored (or stored on the host); see `checkpoint_policies`.
        None: nothing is stored.
      static_argnums, static_argnames: arguments, by position or name, that are passed
        unchanged, hashable or not.
      concrete: must be False (JAX has also dropped the option).

    Returns:
      A function with `fun`'s arguments and result.

    Raises:
      ValueError: `static_argnums` or `static_argnames` names an argument that `fun`
        does not have.
      NotImplementedError: `concrete` is True.

    Example:
      >>> import minijax as mj
      >>> mj.grad(mj.checkpoint(lambda x: mj.numpy.sin(mj.numpy.sin(x))))(0.)
      Array(1., dtype=float32, weak_type=True)
    """
    if concrete:
        raise NotImplementedError(
            "The `concrete` option to `jax.checkpoint` was deprecated, and is gone.\n"
            "Try: static_argnums for values that steer Python control flow."
        )
    check_callable(fun)
    statics = _statics_of(fun, static_argnums, static_argnames)
    jitted = Jitted(
        fun, statics, options=JitOptions(inline_traced=True, transform="checkpoint / remat")
    )

    @wraps(fun)
    def rematted(*args: Any, **kwargs: Any) -> Any:
        closed = [n for n in statics.nums if n < len(args) and not _hashable(args[n])]
        named = {
            k: kwargs[k] for k in statics.names if k in kwargs and not _hashable(kwargs[k])
        }
        if closed or named:
            rest = {k: v for k, v in kwargs.items() if k not in named}
            remat_rest = functools.partial(
                checkpoint,
                prevent_cse=prevent_cse,
                policy=policy,
                static_argnames=[k for k in statics.names if k in rest],
            )
            return _closing(fun, args, named, closed, statics.nums, remat_rest)(**rest)
        call = jitted.split(args, kwargs)
        avals = tuple(jitted.aval_of(x, i, call) for i, x in enumerate(call.leaves))
        traced = jitted.trace_avals(call, avals)
        consts = [*traced.hoisted, *traced.jaxpr.consts]
        out = remat_p.bind(
            *consts,
            *call.leaves,
            jaxpr=lift_consts(traced.jaxpr.jaxpr).jaxpr,
            prevent_cse=prevent_cse,
            differentiated=False,
            policy=policy,
        )
        return tree.unflatten(traced.out_tree, out)

    return rematted


remat = renamed(checkpoint, "remat", __name__)


def _statics_of(fun: Any, nums: Any, names: Any) -> Statics:
    if names:  # as in `jit`, where positions and names complete each other
        return resolve_statics(fun, nums, names, "static")
    try:
        return Statics(resolve_statics(fun, nums, None, "static").nums, ())
    except ValueError as e:
        raise ValueError(
            errors.message(
                "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only"
                " take integer values greater than or equal to `-len(args)` and less than"
                f" `len(args)`, but got {nums}.",
                where=function_text(fun),
            )
        ) from e


def _hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


def _closing(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    named: dict[str, Any],
    closed: Sequence[int],
    static: Sequence[int],
    remat_rest: Callable[..., Any],
) -> Callable[..., Any]:
    """Return the rematerialized call of a closure, for which no trace can be cached."""
    dynamic = [i for i in range(len(args)) if i not in closed]

    @wraps(fun)
    def rest(*xs: Any, **kwargs: Any) -> Any:
        full = list(args)
        for i, x in zip(dynamic, xs, strict=True):
            full[i] = x
        return fun(*full, **named, **kwargs)

    sig = signature_of(fun)
    if sig is not None:
        params = enumerate(sig.parameters.values())
        left = [p for i, p in params if i not in closed and p.name not in named]
        rest.__signature__ = sig.replace(parameters=left)  # type: ignore[attr-defined]
    nums = [dynamic.index(n) for n in static if n in dynamic]
    return functools.partial(remat_rest(rest, static_argnums=nums), *(args[i] for i in dynamic))


# ---------------------------------------------------------------------- what is saved


def saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Any]:
    """Return what a reverse pass through `fun` stores: (type, origin) pairs."""
    leaves, in_tree = tree.flatten((args, kwargs))
    names = ArgNames(fun, in_tree, range(len(args)))
    entries: list[tuple[int, Any, str]] = []

    def run(*xs: Any) -> list[Any]:
        def flat(*vals: Any) -> list[Any]:
            a, k = tree.unflatten(in_tree, vals)
            return tree.leaves(fun(*a, **k))

        outs, linear_part = linearize_flat(flat, xs)
        trace = STATE.trace
        assert isinstance(trace, StageTrace)
        arg_index = {v: i for i, v in enumerate(trace.invars)}
        eqn_index = {v: i for i, e in enumerate(trace.eqns) for v in e.outs}
        for c in linear_part.consts:
            aval = core.aval_of(c)
            var = c.variable if isinstance(c, JitTracer) else None
            if var in arg_index:
                i = arg_index[var]
                entries.append((i, aval, f"from the argument {names[i]}"))
            elif var in eqn_index:
                i = eqn_index[var]
                entries.append((len(arg_index) + i, aval, _origin(trace.eqns[i])))
            else:
                entries.append((-1, aval, "from a constant"))
        return outs

    stage(run, [core.aval_of(x) for x in leaves], text=function_text(fun))
    entries.sort(key=lambda item: item[0])  # in order of computation
    return [(aval, origin) for _, aval, origin in entries]


def _origin(eqn: Equation) -> str:
    if eqn.primitive is name_p:
        return f"named '{eqn.params['name']}' from {eqn.source}"
    if eqn.primitive is jit_p:
        return f"output of jitted function '{eqn.params['name']}' from {eqn.source}"
    return f"output of {eqn.primitive} from {eqn.source}"


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print what a reverse pass through `fun` stores, one value per line.

    Args:
      f: a function of arrays to a pytree of arrays.
      args, kwargs: its arguments; only their types matter.

    Returns:
      None; each line has a value's type and its origin.

    Example:
      >>> import minijax as mj
      >>> print_saved_residuals(mj.numpy.sin, 1.)  # doctest: +ELLIPSIS
      f32[] output of cos from ...
    """
    for aval, origin in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short(True)} {origin}")
