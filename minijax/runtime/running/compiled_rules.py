"""Evaluating what a rule does as one program, not operation by operation.

Outside of jit, transformations apply rules of primitives to concrete values.  What
operations a rule consists of depends on types, params, and on which tangents are zero,
which operands linear, or which axes lanes: so they are staged once for these, compiled as
one program, and found again in one flat dict, as dispatch.py finds a primitive's.  A rule
of one operation is the program of that; one of none hands on.

This room names no operation.  Next: passes/jvp.py, passes/linearize.py,
passes/transpose.py and passes/batch.py, which ask.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...base import config, util
from ...base.tracebacks import is_refusal
from ...ir import hooks
from ...ir.core import Primitive
from ...ir.jaxpr import ClosedJaxpr, Literal
from ...passes.ad_util import UndefinedPrimal, Zero
from ...passes.batch import Axis, no_name
from ...passes.linearize import LinearizedJaxpr, linearize_jaxpr
from ...passes.stage import stage_closed
from ..arrays.array import ArrayImpl
from ..sharding import placement
from . import dispatch


class CompiledRule(NamedTuple):
    """A rule as one program, if it computes anything.

    reads: the numbers of the operands that the program takes; None: it takes all.
    gives: the number of each result, among operands and the program's results.
    about: what else the rule's maker knows of it.
    """

    program: dispatch.Program | None
    operand_indices: Sequence[int] | None
    result_indices: Sequence[int]
    about: Any


Make = Callable[..., tuple[ClosedJaxpr, Any]]
_rules: dict[Any, CompiledRule | None] = util.cache({})
_MOST_RULES = 4096  # as of programs of primitives
_UNSEEN: Any = object()


def _is_simple(prim: Primitive) -> bool:
    """Whether a primitive is evaluated by its program, and does nothing besides."""
    held = prim.impl is not None or prim.regions is not None or prim.has_closures
    acts = prim.effects is not None or prim.named_axes is not None or prim.sets_memory_space
    return not (held or acts or prim.multiple_results)


def _run(
    make: Make,
    needed: Any,
    prim: Primitive,
    flags: tuple[Any, ...],
    buffers: list[Any],
    params: dict[str, Any],
) -> tuple[list[Any], Any] | None:
    """The results of a rule for arrays on one device, and what is known of it; None where
    it is to be applied itself.

    make(primitive, flags, avals, params) -> (the rule as a jaxpr, what is known of it);
    needed: the primitive's rule, which libraries may change.
    """
    barred = dispatch.barred and config.NO_EXECUTION.value
    if barred or (dispatch.checks and dispatch.is_nan_check_enabled()):
        return None
    place: Any = None
    avals = []
    for x in buffers:
        if type(x) is not ArrayImpl:
            return None
        if place is None:
            place = x._sharding
        elif x._sharding is not place:
            return None
        avals.append(x.aval)
    where = placement.by_sharding.get(id(place))
    if where is None:
        return None
    try:
        known = config.trace_key(), tuple(params.items())
        key = (make, prim, needed, flags, where, *known, *avals)
        rule = _rules.get(key, _UNSEEN)
    except TypeError:  # unhashable params
        return None
    if rule is _UNSEEN:
        if not _is_simple(prim):  # a key would keep the programs that it holds
            return None
        made = _made(make, prim, flags, avals, params)
        rule = None
        if made is not None:
            with contextlib.suppress(NotImplementedError):  # of one that is not lowered
                rule = _compiled(made, prim.name, *where)
        util.remember(_rules, key, rule, _MOST_RULES)
    if rule is None:
        return None
    program, reads, gives, about = rule
    if program is not None:
        read = buffers if reads is None else [buffers[i] for i in reads]
        try:
            out = program.run(read).consume_with_handlers(program.handlers)
        except (RuntimeError, ValueError) as e:
            raise dispatch.execution_error(e, read) from None
        buffers = buffers + out
    return [buffers[i] for i in gives], about


def _made(
    make: Make, prim: Primitive, flags: Any, avals: Any, params: Any
) -> tuple[ClosedJaxpr, Any] | None:
    """A rule as a jaxpr; None of one that needs values, or refuses what it is given."""
    try:
        return make(prim, flags, avals, params)
    except Exception as error:
        if is_refusal(error):  # the rule itself says it better
            return None
        raise


def _compiled(
    made: tuple[ClosedJaxpr, Any], name: str, where: Any, committed: bool
) -> CompiledRule | None:
    """The program of a rule; None of what a program cannot be alone."""
    closed, about = made
    jaxpr = closed.jaxpr
    outs = jaxpr.outvars
    if closed.consts or closed.effects or any(type(v) is Literal for v in outs):
        return None
    inputs = list(jaxpr.invars)
    fresh = [v for v in dict.fromkeys(outs) if v not in inputs]
    gives = [[*inputs, *fresh].index(v) for v in outs]
    if not fresh:
        return CompiledRule(None, None, gives, about)
    program = reads = None
    if len(jaxpr.eqns) == 1:
        (eqn,) = jaxpr.eqns
        prim, ins = eqn.primitive, eqn.ins
        if _is_simple(prim) and not any(type(a) is Literal for a in ins):
            reads = [inputs.index(a) for a in ins]
            program = dispatch.program_of_one(
                prim, [a.aval for a in ins], eqn.params, where, committed
            )
    if program is None:
        alone = ClosedJaxpr(jaxpr.replace(outvars=fresh))
        program = dispatch.compile_jaxpr(
            alone, name, where, committed, keep_unused=True, locations=False
        )
    plain = program.stable and program.kept_indices is None and not program.has_keys
    return CompiledRule(program, reads, gives, about) if plain else None


# ------------------------------------------------------------------------ forwards


def _pushed(prim: Primitive, flags: Any, avals: Any, params: Any) -> tuple[ClosedJaxpr, Any]:
    n = len(flags)

    def rule(*given: Any) -> list[Any]:
        moving = iter(given[n:])
        tangents = [
            next(moving) if moves else Zero(a.to_tangent())
            for a, moves in zip(avals, flags, strict=False)
        ]
        out, tangent = prim.jvp(given[:n], tangents, **params)
        return [out] if type(tangent) is Zero else [out, tangent]

    return stage_closed(rule, avals, name=prim.name, text="jvp"), None


def evaluate_jvp(
    prim: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: Any
) -> tuple[Any, Any] | None:
    """The result and its tangent; None where the rule is to be applied itself."""
    flags = []
    buffers = [*primals]
    for t in tangents:
        moves = type(t) is not Zero
        flags.append(moves)
        if moves:
            buffers.append(t)
    found = _run(_pushed, prim.jvp, prim, tuple(flags), buffers, params)
    if found is None:
        return None
    (out, *tangent), _ = found
    return out, tangent[0] if tangent else Zero(out.aval.to_tangent())


def _linearized_rule(
    prim: Primitive, flags: Any, avals: Any, params: Any
) -> tuple[ClosedJaxpr, LinearizedJaxpr]:
    cut = linearize_jaxpr(dispatch.single_equation_jaxpr(prim, avals, params), flags)
    return cut.primal, cut


def evaluate_linearized(
    prim: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: Any
) -> tuple[Any, Any, list[Any]] | None:
    """The result, the linear part as a jaxpr (None: it is zero), and the residuals that
    it takes first; None where the rule is to be applied itself."""
    flags = []
    for x, t in zip(primals, tangents, strict=True):
        moves = type(t) is not Zero
        flags.append(moves)
        if moves and (type(x) is not ArrayImpl or t.aval is not x.aval):
            return None
    found = _run(_linearized_rule, prim.jvp, prim, tuple(flags), list(primals), params)
    if found is None:
        return None
    (out, *new), cut = found
    if not cut.nonzero_out[0]:
        return out, None, []
    return out, cut.linear.jaxpr, cut.residual_values(primals, (out,), new)


# ----------------------------------------------------------------------- backwards


def _turned(
    prim: Primitive, flags: Any, avals: Any, params: Any
) -> tuple[ClosedJaxpr, list[Any]]:
    """About it: for each operand the number of its cotangent, or None."""
    numbers: list[Any] = []

    def rule(*given: Any) -> list[Any]:
        known = iter(given)
        args = [next(known) if a is None else UndefinedPrimal(a) for a in flags]
        cts: list[Any] = []
        for ct in prim.transpose(next(known), *args, **params):
            there = ct is not None and type(ct) is not Zero
            numbers.append(len(cts) if there else None)
            cts += [ct] if there else []
        return cts

    return stage_closed(rule, avals, name=prim.name, text="transpose"), numbers


def evaluate_transpose(
    prim: Primitive, ct: Any, args: Sequence[Any], params: Any
) -> list[Any] | None:
    """Cotangents of operands; None where the rule is to be applied itself."""
    flags = []
    buffers = []
    for x in args:
        if type(x) is UndefinedPrimal:
            flags.append(x.aval)
        else:
            flags.append(None)
            buffers.append(x)
    buffers.append(ct)
    found = _run(_turned, prim.transpose, prim, tuple(flags), buffers, params)
    if found is None:
        return None
    cts, numbers = found
    return [None if k is None else cts[k] for k in numbers]


# --------------------------------------------------------------------------- lanes


def _batched(
    prim: Primitive, flags: Any, avals: Any, params: Any
) -> tuple[ClosedJaxpr, list[Any]]:
    """About it: the lane axis of the result."""
    size, *dims = flags
    about: list[Any] = []

    def rule(*given: Any) -> list[Any]:
        out, dim = prim.batch(Axis(no_name, size), list(given), dims, **params)
        about[:] = [dim]
        return [out]

    return stage_closed(rule, avals, name=prim.name, text="vmap"), about


def evaluate_batched(
    prim: Primitive, axis: Axis, vals: Sequence[Any], dims: Sequence[Any], params: Any
) -> tuple[Any, Any] | None:
    """The result for all lanes, and its lane axis; None where the rule is to be applied
    itself."""
    if axis.lane_sharding is not None or axis.spmd_name is not None:
        return None
    found = _run(_batched, prim.batch, prim, (axis.size, *dims), list(vals), params)
    return None if found is None else (found[0][0], found[1][0])


hooks.evaluate_batched.fill(evaluate_batched)
hooks.evaluate_jvp.fill(evaluate_jvp)
hooks.evaluate_linearized.fill(evaluate_linearized)
hooks.evaluate_transpose.fill(evaluate_transpose)
