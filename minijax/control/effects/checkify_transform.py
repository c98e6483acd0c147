"""The checkify transformation: checks in a program become an `Error` among its results.

A jaxpr is run equation by equation together with an error: the first failure is kept.
Equations that hold programs run checked ones, whose first results are the error's arrays; a
loop carries them.  A primitive whose rules differ from those of its programs (a custom
derivative) has a `checked` rule.  Others are bound unchanged; automatic checks test their
operands and results, as attributes of the primitive specify: `divisor`, `bounds`,
`makes_no_nans`.

Errors are defined in checkify_errors.py.  Next: checkify.py, the function.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.tracebacks import is_refusal
from ...base.util import split_list
from ...ir import core
from ...ir.core import STATE, Primitive
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, eval_jaxpr, permute_jaxpr
from ...ir.regions import Bodies, Loop, Params, Region
from ...passes.batch import batch_flat
from ...passes.stage import remembered, stage, stage_closed
from ...prims.gather import dynamic_slicing
from ...prims.math import logic
from ...prims.math.cast import cast
from ...prims.reduce import over_axes
from ...prims.shape import concatenation, shapes
from ...types import dtypes
from . import checkify_errors
from .checkify_errors import (
    DivisionByZeroError,
    Error,
    FailedCheckError,
    NaNError,
    OOBError,
    first_error,
)

Enabled = frozenset[Any]
Outcome = tuple[Error | None, Sequence[Any]]


def run_checked(
    enabled: Enabled, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]
) -> tuple[Error | None, list[Any]]:
    """Run a jaxpr: return the first error (None if no check exists), and the results."""
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    error: Error | None = None
    names, outer_source = STATE.names, STATE.source
    try:
        for eqn in jaxpr.eqns:
            vals = [a.val if type(a) is Literal else env[a] for a in eqn.ins]
            # Checks that are added here get the name and the line of their equation.
            STATE.names = "/".join(filter(None, (names, eqn.names)))
            STATE.source = eqn.source or outer_source
            eqn_error, outs = check_equation(enabled, eqn.primitive, vals, eqn.params)
            error = first_error(error, eqn_error)
            env.update(zip(eqn.outs, outs, strict=True))
    finally:
        STATE.names, STATE.source = names, outer_source
    return error, [a.val if type(a) is Literal else env[a] for a in jaxpr.outvars]


def check_equation(
    enabled: Enabled, prim: Primitive, args: Sequence[Any], params: Params
) -> Outcome:
    """Apply a primitive: return its first error, and its results."""
    if prim.facts.checked is not None:
        return prim.facts.checked(enabled, args, params)  # type: ignore[no-any-return]
    if isinstance(prim.regions, Loop):
        return _check_loop(enabled, prim, args, params)
    if prim.regions is not None and not prim.regions.opaque:
        return _check_call(enabled, prim, args, params)
    return _check_operation(enabled, prim, args, params)


class Checked(NamedTuple):
    """A jaxpr whose first results are the arrays of an error, and its slots' types."""

    jaxpr: ClosedJaxpr
    slot_types: tuple[Any, ...]

    @property
    def width(self) -> int:
        """The number of an error's arrays."""
        return 2 + len(self.slot_types)

    def split(self, outs: Sequence[Any]) -> tuple[Error, list[Any]]:
        """Return the error and the results."""
        head, rest = split_list(outs, [self.width])
        return Error(head[0], head[1], head[2:]), rest

    def __call__(self, *args: Any) -> tuple[Error, list[Any]]:
        return self.split(eval_jaxpr(self.jaxpr.jaxpr, self.jaxpr.consts, *args))


def checked(enabled: Enabled, closed: ClosedJaxpr, alone: bool = False) -> Checked | None:
    """Return the checked form of a jaxpr; None if it contains nothing to check.

    alone: whether no other error is combined with its error, which may be one per device.
    """
    return _checked(closed, enabled, alone)


@remembered
def _checked(closed: ClosedJaxpr, enabled: Enabled, alone: bool) -> Checked | None:
    slots: list[Any] = []

    def fun(*args: Any) -> list[Any]:
        error, outs = run_checked(enabled, closed.jaxpr, closed.consts, args)
        if error is None and checkify_errors.fails(closed.effects):
            error = checkify_errors.init_error  # for checks that are not enabled
        if error is None:
            slots.append(None)
            return outs
        error = error if alone else checkify_errors.of_lanes(error)
        slot_types = checkify_errors.slot_types_of(error)
        slots.append(tuple(slot_types))
        return [*checkify_errors.with_slots(error, slot_types).leaves(), *outs]

    name = closed.jaxpr.name
    out = stage_closed(fun, closed.in_avals, name=name, text="checkify")
    return None if slots[0] is None else Checked(out, slots[0])


def all_checked(enabled: Enabled, bodies: Bodies, alone: bool = False) -> list[Checked] | None:
    """Return the checked forms of programs, with equal slots, or None as `checked`."""
    forms = [checked(enabled, b, alone) for b in bodies]
    slot_types: list[Any] = []
    for c in forms:
        slot_types = checkify_errors.join_slot_types(
            slot_types, c.slot_types if c is not None else ()
        )
    if all(c is None for c in forms):
        return None
    return [with_slots(b, c, slot_types) for b, c in zip(bodies, forms, strict=True)]


def with_slots(closed: ClosedJaxpr, c: Checked | None, slot_types: Sequence[Any]) -> Checked:
    """Return a checked form (`c` may be None), with slots for others' errors."""
    if c is not None and list(c.slot_types) == list(slot_types):
        return c

    out = _with_slots(closed if c is None else c.jaxpr, c and c.slot_types, tuple(slot_types))
    return Checked(out, tuple(slot_types))


@remembered
def _with_slots(
    closed: ClosedJaxpr, own: tuple[Any, ...] | None, slot_types: tuple[Any, ...]
) -> ClosedJaxpr:
    """Return a program with an error of these slots; `own` are those of its own error."""

    def fun(*args: Any) -> list[Any]:
        if own is None:
            return [*checkify_errors.no_error(slot_types).leaves(), *closed(*args)]
        error, outs = Checked(closed, own)(*args)
        return [*checkify_errors.with_slots(error, slot_types).leaves(), *outs]

    return stage_closed(fun, closed.in_avals, name=closed.jaxpr.name, text="checkify")


# -------------------------------------------------------- primitives that hold programs


def _check_call(
    enabled: Enabled, prim: Primitive, args: Sequence[Any], params: Params
) -> Outcome:
    region: Region = prim.regions
    bodies = region.bodies(params)
    with region.scope(params):
        forms = all_checked(enabled, bodies, len(bodies) == 1)
    if forms is None:
        return None, prim.bind(*args, **params)
    k = region.index
    outs = [*[None] * forms[0].width, *range(len(bodies[0].out_avals))]
    jaxprs = [c.jaxpr for c in forms]
    first, new = region.rebuild(params, jaxprs, range(len(args) - k), outs)
    return forms[0].split(prim.bind(*args[:k], *first, *args[k:], **new))


@remembered
def _checked_step(
    body: ClosedJaxpr,
    slot_types: tuple[Any, ...],
    cond_forms: Sequence[Checked],
    *in_groups: Sequence[Any],
) -> ClosedJaxpr:
    """Return the step of a loop that carries an error, with those of its conditions.

    in_groups: the types of the conditions' consts, the consts, the error and the rest.
    """

    def run(*xs: Any) -> list[Any]:
        at, own, before, rest = split_list(xs, list(map(len, in_groups[:3])))
        error: Error | None = Error(before[0], before[1], before[2:])
        for cond_form in cond_forms:
            error = first_error(error, cond_form(*at, *rest)[0])
        step_error, outs = Checked(body, slot_types)(*own, *rest)
        error = first_error(error, step_error)
        assert error is not None
        return [*error.leaves(), *outs]

    return stage_closed(run, [a for group in in_groups for a in group], text="checkify")


def _check_loop(
    enabled: Enabled, prim: Primitive, args: Sequence[Any], params: Params
) -> Outcome:
    """Carry the error through a loop; each step includes that of its condition."""
    loop: Loop = prim.regions
    *conds, body = loop.bodies(params)
    forms = all_checked(enabled, loop.bodies(params))
    if forms is None:
        return None, prim.bind(*args, **params)
    if any(t.out_avals[0].shape for t in conds):
        raise ValueError(
            "Checkify does not support batched while-loops (checkify-of-vmap-of-while) with"
            " automatic checks.\nWhy: finished lanes still run, and their failures do not"
            " count.\nTry: vmap of checkify, errors=checkify.user_checks."
        )
    *cond_forms, step = forms
    if not any(checked(enabled, t) for t in conds):
        cond_forms = []
    cond_consts, consts, first, xs = loop.groups(params, args)
    start = checkify_errors.no_error(step.slot_types).leaves()
    extra_consts = cond_consts if cond_forms else []
    num_cond_consts, num_extra = len(cond_consts), len(extra_consts)
    avals = loop.groups(params, [*(core.aval_of(x) for x in cond_consts), *body.in_avals])
    start_avals = [core.aval_of(x) for x in start]
    in_groups = avals[0][:num_extra], avals[1], start_avals, [*avals[2], *avals[3]]
    new = _checked_step(step.jaxpr, step.slot_types, cond_forms, *in_groups)
    # The condition does not read the error, and its own is dropped here.
    cond_inputs = [
        *range(num_cond_consts),
        *start_avals,
        *range(num_cond_consts, num_cond_consts + len(first)),
    ]
    quiet = [
        permute_jaxpr(cond_form.jaxpr, cond_inputs, [cond_form.width])
        for cond_form in cond_forms
    ]
    bodies = [*(quiet or [permute_jaxpr(t, cond_inputs) for t in conds]), new]
    groups = [cond_consts, [*extra_consts, *consts], [*start, *first], xs]
    operands = [x for group in groups for x in group]
    error, outs = step.split(prim.bind(*operands, **loop.rebuild(params, bodies, groups)))
    for cond_form in cond_forms:  # the last evaluation of the condition
        last = first_error(error, cond_form(*cond_consts, *outs)[0])
        assert last is not None
        error = last
    return error, outs


def batch_outside(
    prim: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: Any
) -> Any:
    """Batch an equation with checks that some lanes do not execute.

    Its error becomes a result first, which is then selected per lane as other results.
    """
    assert prim.effects is not None
    debug = checkify_errors.check_effect not in prim.effects(params)

    def one(*xs: Any) -> Sequence[Any]:
        error, outs = check_equation(frozenset((FailedCheckError,)), prim, xs, params)
        if error is not None:
            checkify_errors.check_p.bind(*error.leaves(), debug=debug)
        return outs

    return batch_flat(one, axis, args, dims)


class _RulesInProgress(threading.local):
    """The rules that this thread is tracing to determine their errors."""

    rules: tuple[Any, ...] = ()


_in_progress = _RulesInProgress()


def rule_slot_types(
    inner: Checked | None, rule: Any, run: Callable[..., Error | None], avals: Sequence[Any]
) -> Sequence[Any] | None:
    """Return the slots for the errors of a function and its derivative rule, or None.

    If the rule calls its function, as most do, that call needs no slots of its own.
    """
    errors: list[Error | None] = []
    written = getattr(rule, "written", rule)  # the user's own function
    if any(written is r for r in _in_progress.rules):
        return None if inner is None else inner.slot_types

    def flat(*xs: Any) -> list[Any]:
        errors.append(run(*xs))
        return [] if errors[0] is None else errors[0].leaves()

    before = _in_progress.rules
    _in_progress.rules = (*before, written)
    try:
        stage(flat, avals, text="checkify")
    except Exception as e:
        if not is_refusal(e):  # a rule that refuses raises the same when it is used
            raise
    finally:
        _in_progress.rules = before
    error = errors[0] if errors else None
    if inner is None and error is None:
        return None
    more = checkify_errors.slot_types_of(error) if error is not None else ()
    return checkify_errors.join_slot_types(inner.slot_types if inner is not None else (), more)


def fitted(error: Error | None, slot_types: Sequence[Any], name: str) -> Error:
    if error is None:
        return checkify_errors.no_error(slot_types)
    joined = checkify_errors.join_slot_types(slot_types, checkify_errors.slot_types_of(error))
    if len(joined) > len(slot_types):
        raise NotImplementedError(
            f"checkify: the derivative rule of {name} checks other things than when all its"
            " arguments vary.\nTry: the same checks on either path of the rule."
        )
    return checkify_errors.with_slots(error, slot_types)


# -------------------------------------------------------------------- automatic checks


def _check_operation(
    enabled: Enabled, prim: Primitive, args: Sequence[Any], params: Params
) -> Outcome:
    """Bind a primitive, with the automatic checks that are enabled."""
    error: Error | None = None
    if DivisionByZeroError in enabled and prim.facts.divisor is not None:
        error = _check_division(args[prim.facts.divisor])
    if OOBError in enabled and prim.facts.bounds is not None:
        error = first_error(error, _check_bounds(*prim.facts.bounds(*args, **params)))
    out = prim.bind(*args, **params)
    outs = out if prim.multiple_results else [out]
    if NaNError in enabled and not prim.facts.makes_no_nans:
        for x in outs:
            error = first_error(error, _check_nan(prim.name, x))
    return error, outs


def _any(flags: Any) -> Any:
    return over_axes.reduce_or(flags, tuple(range(core.aval_of(flags).ndim)))


def _failure(kind: Any, text: Any, failed: Any, *payload: Any) -> Error:
    return checkify_errors.error_at(kind, text, failed, payload, {}, STATE.source)


def _check_division(divisor: Any) -> Error:
    zero = core.aval_of(divisor).dtype.type(0)
    return _failure(DivisionByZeroError, None, _any(logic.eq(divisor, _like(zero, divisor))))


def _like(scalar: Any, x: Any) -> Any:
    return shapes.broadcast_in_dim(scalar, core.aval_of(x).shape, ())


def _check_nan(name: str, x: Any) -> Error | None:
    dtype = getattr(core.aval_of(x), "dtype", None)
    if dtype is None or not dtypes.is_inexact(dtype):
        return None
    return _failure(NaNError, name, _any(logic.ne(x, x)))


def _check_bounds(
    shape: tuple[int, ...], index: Any, axes: Sequence[int], last: Any
) -> Error | None:
    """Return the failure of an index vector (last axis) below 0 or above `last`.

    The mode of a gather for out-of-bounds indices makes no difference: a `dynamic_slice`
    clamps its indices, and is checked as well.
    """
    if isinstance(index, list):
        index = (
            concatenation.stack([cast(i, dtypes.int32) for i in index])
            if index
            else np.zeros(0)
        )
    n = core.aval_of(index).size
    if not n:
        return None
    flat = cast(shapes.reshape(index, (n,)), dtypes.int32)
    repeats = n // max(len(axes), 1)
    high = np.tile(np.asarray(last, np.int32), repeats)
    bad = logic.bitwise_or(logic.lt(flat, np.zeros(n, np.int32)), logic.gt(flat, high))
    at = over_axes.argmax(bad, 0, np.int32)
    which = dynamic_slicing.dynamic_index_in_dim(flat, at, 0, keepdims=False)
    axis = dynamic_slicing.dynamic_index_in_dim(
        np.tile(np.asarray(axes, np.int32), repeats), at, 0, keepdims=False
    )
    return _failure(OOBError, shape, _any(bad), which, axis)
