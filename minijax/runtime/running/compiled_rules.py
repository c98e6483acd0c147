"""Evaluation of a transformation rule as one compiled program.

Outside of jit, transformations apply rules of primitives to concrete values. The operations
of a rule depend on types, params, and on which tangents are zero, which operands are
linear, or which axes are mapped. So a rule is staged once for these, compiled as one
program, and looked up in one flat dict, as dispatch.py does for primitives. A rule with one
operation uses the program of that operation; a rule without operations returns its
operands.

This module names no operation. Next: passes/jvp.py, passes/linearize.py,
passes/transpose.py and passes/batch.py, which call it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...base import config, option, util
from ...base.tracebacks import is_refusal
from ...ir import hooks
from ...ir.core import Primitive
from ...ir.jaxpr import ClosedJaxpr, Literal
from ...passes.ad_util import UndefinedPrimal, Zero
from ...passes.batch import Axis, no_name
from ...passes.linearize import LinearizedJaxpr, linearize_jaxpr
from ...passes.stage import stage_closed
from ..arrays.array import ArrayImpl
from ..sharding.placement import Placement
from . import dispatch
from .device_assignment import common_placement_on_device
from .program import Options, Program, Request

if TYPE_CHECKING:
    from ...ir.core import Rule
    from ...types.aliases import Params, Value


class CompiledRule(NamedTuple):
    """A rule as one program, if it computes anything.

    operand_indices: the operands that the program takes; None: all.
    result_indices: for each result its index among the operands and then the program's
    results.
    aux: auxiliary output of the function that staged the rule.
    """

    program: Program | None
    operand_indices: Sequence[int] | None
    result_indices: Sequence[int]
    aux: Any


Make = Callable[..., tuple[ClosedJaxpr, Any]]
_rules: dict[Any, CompiledRule | None] = util.cache({})
_MOST_RULES = 8192  # two keys for each rule, as for programs of primitives
_UNSEEN: Any = object()


def _is_simple(prim: Primitive) -> bool:
    """Whether a primitive is evaluated by its program and has no other behavior."""
    held = prim.impl is not None or prim.regions is not None or prim.facts.has_closures
    acts = (
        prim.effects is not None or prim.named_axes is not None or prim.facts.sets_memory_space
    )
    return not (held or acts or prim.multiple_results)


def _run(
    make: Make,
    needed: Rule | None,
    prim: Primitive,
    flags: tuple[Any, ...],
    buffers: list[Any],
    params: dict[str, Any],
) -> tuple[list[Any], Any] | None:
    """Return the results of a rule for arrays on one device, and its auxiliary output; None
    if the caller must apply the rule itself.

    make(primitive, flags, avals, params) -> (the rule as a jaxpr, auxiliary output)
    needed: the primitive's current rule. It is part of the key, since libraries may replace
    it.
    """
    barred = dispatch.was_execution_forbidden and config.NO_EXECUTION.peek()
    if barred or (dispatch.checks and dispatch.is_nan_check_enabled()):
        return None
    sharding: Any = None
    avals = []
    for x in buffers:
        if type(x) is not ArrayImpl:
            return None
        if sharding is None:
            sharding = x._sharding
        elif x._sharding is not sharding:
            return None
        avals.append(x.aval)
    placement = common_placement_on_device(sharding)
    if placement is None:
        return None
    try:
        param_items = tuple(params.items())
        key = (option.state(), make, prim, needed, flags, placement, param_items, *avals)
        rule = _rules.get(key, _UNSEEN)
    except TypeError:  # unhashable params
        return None
    if rule is _UNSEEN:
        if not _is_simple(prim):  # the key would keep the jaxprs in its params alive
            return None
        for_tracing = (config.trace_key(), *key[1:])
        rule = _rules.get(for_tracing, _UNSEEN)
        if rule is _UNSEEN:
            rule = _rule(make, prim, flags, avals, params, placement)
            util.remember(_rules, for_tracing, rule, _MOST_RULES)
        util.remember(_rules, (option.interned_state(), *key[1:]), rule, _MOST_RULES)
    if rule is None:
        return None
    program, operand_indices, result_indices, aux = rule
    if program is not None:
        operands = buffers if operand_indices is None else [buffers[i] for i in operand_indices]
        try:
            out = program.run(operands).consume_with_handlers(program.handlers)
        except (RuntimeError, ValueError) as e:
            raise dispatch.execution_error(e, operands) from None
        buffers = buffers + out
    return [buffers[i] for i in result_indices], aux


def _rule(
    make: Make, prim: Primitive, flags: Any, avals: Any, params: Any, placement: Placement
) -> CompiledRule | None:
    """Return a rule as a program; None if the caller must apply it itself."""
    staged = _staged(make, prim, flags, avals, params)
    if staged is not None:
        with contextlib.suppress(NotImplementedError):  # an operation without a lowering
            return _compiled(staged, prim.name, placement)
    return None


def _staged(
    make: Make, prim: Primitive, flags: Any, avals: Any, params: Any
) -> tuple[ClosedJaxpr, Any] | None:
    """Return a rule as a jaxpr; None if it needs concrete values or rejects its operands."""
    try:
        return make(prim, flags, avals, params)
    except Exception as error:
        if is_refusal(error):  # applied to values, the rule raises a better error
            return None
        raise


def _compiled(
    staged: tuple[ClosedJaxpr, Any], name: str, placement: Placement
) -> CompiledRule | None:
    """Return a rule as a program; None for constants, effects or literal results."""
    closed, aux = staged
    jaxpr = closed.jaxpr
    outs = jaxpr.outvars
    if closed.consts or closed.effects or any(type(v) is Literal for v in outs):
        return None
    inputs: list[Any] = list(jaxpr.invars)
    fresh = [v for v in dict.fromkeys(outs) if v not in inputs]
    result_indices = [[*inputs, *fresh].index(v) for v in outs]
    if not fresh:
        return CompiledRule(None, None, result_indices, aux)
    program = operand_indices = None
    if len(jaxpr.eqns) == 1:
        (eqn,) = jaxpr.eqns
        prim, ins = eqn.primitive, eqn.ins
        if _is_simple(prim) and not any(type(a) is Literal for a in ins):
            operand_indices = [inputs.index(a) for a in ins]
            program = dispatch.program_of_one(
                prim, [a.aval for a in ins], eqn.params, placement
            )
    if program is None:
        alone = ClosedJaxpr(jaxpr.replace(outvars=fresh))
        options = Options(name, keep_unused=True, has_locations=False)
        program = dispatch.compile_request(Request(alone, placement, (), options))
    is_direct = program.stable and program.kept_indices is None
    is_direct = is_direct and not program.has_wrapped_results
    return CompiledRule(program, operand_indices, result_indices, aux) if is_direct else None


# ----------------------------------------------------------------- forward-mode rules


def _jvp_rule(prim: Primitive, flags: Any, avals: Any, params: Any) -> tuple[ClosedJaxpr, Any]:
    n = len(flags)

    def rule(*operands: Any) -> list[Any]:
        nonzero = iter(operands[n:])
        tangents = [
            next(nonzero) if is_nonzero else Zero(a.to_tangent())
            for a, is_nonzero in zip(avals, flags, strict=False)
        ]
        out, tangent = prim.jvp(operands[:n], tangents, **params)
        return [out] if type(tangent) is Zero else [out, tangent]

    return stage_closed(rule, avals, name=prim.name, text="jvp"), None


def evaluate_jvp(
    prim: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: Params
) -> tuple[Any, Any] | None:
    """Return the result and its tangent; None if the caller must apply the rule itself."""
    flags = []
    buffers = [*primals]
    for t in tangents:
        is_nonzero = type(t) is not Zero
        flags.append(is_nonzero)
        if is_nonzero:
            buffers.append(t)
    outcome = _run(_jvp_rule, prim.jvp, prim, tuple(flags), buffers, params)
    if outcome is None:
        return None
    (out, *tangent), _ = outcome
    return out, tangent[0] if tangent else Zero(out.aval.to_tangent())


def _linearized_rule(
    prim: Primitive, flags: Any, avals: Any, params: Any
) -> tuple[ClosedJaxpr, LinearizedJaxpr]:
    linearized = linearize_jaxpr(dispatch.single_equation_jaxpr(prim, avals, params), flags)
    return linearized.primal, linearized


def evaluate_linearized(
    prim: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: Params
) -> tuple[Any, Any, list[Any]] | None:
    """Return the result, the linear part as a jaxpr (None: it is zero), and the residuals,
    its first inputs; None if the caller must apply the rule itself."""
    flags = []
    for x, t in zip(primals, tangents, strict=True):
        is_nonzero = type(t) is not Zero
        flags.append(is_nonzero)
        # Types are interned, so identity decides. Another tangent type takes the slow path.
        if is_nonzero and (type(x) is not ArrayImpl or t.aval is not x.aval):
            return None
    outcome = _run(_linearized_rule, prim.jvp, prim, tuple(flags), list(primals), params)
    if outcome is None:
        return None
    (out, *computed), linearized = outcome
    if not linearized.nonzero_out[0]:
        return out, None, []
    return out, linearized.linear.jaxpr, linearized.residual_values(primals, (out,), computed)


# -------------------------------------------------------------------- transpose rules


def _transpose_rule(
    prim: Primitive, flags: Any, avals: Any, params: Any
) -> tuple[ClosedJaxpr, list[Any]]:
    """Stage a transpose rule. Auxiliary output: the index of each operand's cotangent, or
    None."""
    numbers: list[Any] = []

    def rule(*operands: Any) -> list[Any]:
        values = iter(operands)
        args = [next(values) if a is None else UndefinedPrimal(a) for a in flags]
        cts: list[Any] = []
        for ct in prim.transpose(next(values), *args, **params):
            is_nonzero = ct is not None and type(ct) is not Zero
            numbers.append(len(cts) if is_nonzero else None)
            cts += [ct] if is_nonzero else []
        return cts

    return stage_closed(rule, avals, name=prim.name, text="transpose"), numbers


def evaluate_transpose(
    prim: Primitive, ct: Value, args: Sequence[Any], params: Params
) -> list[Any] | None:
    """Return the cotangents of operands; None if the caller must apply the rule itself."""
    flags: list[Any] = []
    buffers = []
    for x in args:
        if type(x) is UndefinedPrimal:
            flags.append(x.aval)
        else:
            flags.append(None)
            buffers.append(x)
    buffers.append(ct)
    outcome = _run(_transpose_rule, prim.transpose, prim, tuple(flags), buffers, params)
    if outcome is None:
        return None
    cts, numbers = outcome
    return [None if k is None else cts[k] for k in numbers]


# --------------------------------------------------------------------- batching rules


def _batch_rule(
    prim: Primitive, flags: Any, avals: Any, params: Any
) -> tuple[ClosedJaxpr, list[Any]]:
    """Stage a batching rule. Auxiliary output: the lane axis of the result."""
    size, *dims = flags
    lane_axes: list[Any] = []

    def rule(*operands: Any) -> list[Any]:
        out, dim = prim.batch(Axis(no_name, size), list(operands), dims, **params)
        lane_axes[:] = [dim]
        return [out]

    return stage_closed(rule, avals, name=prim.name, text="vmap"), lane_axes


def evaluate_batched(
    prim: Primitive, axis: Axis, vals: Sequence[Any], dims: Sequence[Any], params: Params
) -> tuple[Any, Any] | None:
    """Return the result for all lanes, and its lane axis; None if the caller must apply the
    rule itself."""
    if axis.lane_sharding is not None or axis.spmd_name is not None:
        return None
    outcome = _run(_batch_rule, prim.batch, prim, (axis.size, *dims), list(vals), params)
    return None if outcome is None else (outcome[0][0], outcome[1][0])


hooks.evaluate_batched.fill(evaluate_batched)
hooks.evaluate_jvp.fill(evaluate_jvp)
hooks.evaluate_linearized.fill(evaluate_linearized)
hooks.evaluate_transpose.fill(evaluate_transpose)
