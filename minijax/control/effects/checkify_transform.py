"""Checking: how checks inside a program become an `Error` among its results.

A jaxpr is run equation by equation with an error at hand: the first failure wins.  What
holds programs is run on checked ones, which have the error's arrays as their first
results; a loop carries them.  A primitive whose rules are not those of its programs (a
custom derivative) has a `checked` rule.  Others are bound as they are; automatic checks
look at their operands and results, as the primitive's data say: `divisor`, `bounds`,
`makes_nans`.

What an error is stands in checkify_errors.py.  Next: checkify.py, the function.
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
from ...prims.math import logic
from ...prims.math.cast import cast
from ...prims.reduce import over_axes
from ...prims.shape import concatenation, shapes, slicing
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
    """Run a jaxpr: the first error (None if there can be none), and the results."""
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    error: Error | None = None
    names, place = STATE.names, STATE.source
    try:
        for eqn in jaxpr.eqns:
            vals = [a.val if type(a) is Literal else env[a] for a in eqn.ins]
            STATE.names = "/".join(filter(None, (names, eqn.names)))
            STATE.source = eqn.source or place
            found, outs = check_equation(enabled, eqn.primitive, vals, eqn.params)
            error = first_error(error, found)
            env.update(zip(eqn.outs, outs, strict=True))
    finally:
        STATE.names, STATE.source = names, place
    return error, [a.val if type(a) is Literal else env[a] for a in jaxpr.outvars]


def check_equation(
    enabled: Enabled, prim: Primitive, args: Sequence[Any], params: Params
) -> Outcome:
    """Apply a primitive: the first error in it, and its results."""
    if prim.checked is not None:
        return prim.checked(enabled, args, params)  # type: ignore[no-any-return]
    if isinstance(prim.regions, Loop):
        return _check_loop(enabled, prim, args, params)
    if prim.regions is not None and not prim.regions.opaque:
        return _check_call(enabled, prim, args, params)
    return _check_operation(enabled, prim, args, params)


class Checked(NamedTuple):
    """A jaxpr whose first results are the arrays of an error; the error's layout."""

    jaxpr: ClosedJaxpr
    layout: tuple[Any, ...]

    @property
    def width(self) -> int:
        """The number of an error's arrays."""
        return 2 + len(self.layout)

    def split(self, outs: Sequence[Any]) -> tuple[Error, list[Any]]:
        """The error and the results."""
        head, rest = split_list(outs, [self.width])
        return Error(head[0], head[1], head[2:]), rest

    def __call__(self, *args: Any) -> tuple[Error, list[Any]]:
        return self.split(eval_jaxpr(self.jaxpr.jaxpr, self.jaxpr.consts, *args))


def checked(enabled: Enabled, closed: ClosedJaxpr, alone: bool = False) -> Checked | None:
    """The checked form of a jaxpr; None if there is nothing to check in it.

    alone: no other error takes its error's place, which may be one a device.
    """

    def make() -> Checked | None:
        layouts: list[Any] = []

        def fun(*args: Any) -> list[Any]:
            error, outs = run_checked(enabled, closed.jaxpr, closed.consts, args)
            if error is None and checkify_errors.fails(closed.effects):
                error = checkify_errors.init_error  # of checks that are not asked for
            if error is None:
                layouts.append(None)
                return outs
            error = error if alone else checkify_errors.of_lanes(error)
            layout = checkify_errors.layout_of(error)
            layouts.append(tuple(layout))
            return [*checkify_errors.with_layout(error, layout).leaves(), *outs]

        name = closed.jaxpr.name
        out = stage_closed(fun, closed.in_avals, name=name, text="checkify")
        return None if layouts[0] is None else Checked(out, layouts[0])

    return remembered(closed, ("checked", enabled, alone), make)


def all_checked(enabled: Enabled, bodies: Bodies, alone: bool = False) -> list[Checked] | None:
    """The checked forms of programs, with one layout; None if there is nothing to check."""
    found = [checked(enabled, b, alone) for b in bodies]
    layout: list[Any] = []
    for c in found:
        layout = checkify_errors.join_layouts(layout, c.layout if c is not None else ())
    if all(c is None for c in found):
        return None
    return [with_layout(b, c, layout) for b, c in zip(bodies, found, strict=True)]


def with_layout(closed: ClosedJaxpr, c: Checked | None, layout: Sequence[Any]) -> Checked:
    """A checked form (of none: of nothing to check), with slots for others' errors."""
    if c is not None and list(c.layout) == list(layout):
        return c

    def fun(*args: Any) -> list[Any]:
        if c is None:
            return [*checkify_errors.no_error(layout).leaves(), *closed(*args)]
        error, outs = c(*args)
        return [*checkify_errors.with_layout(error, layout).leaves(), *outs]

    avals, name = closed.in_avals, closed.jaxpr.name
    out = remembered(
        closed if c is None else c.jaxpr,
        ("layout", *layout),
        lambda: stage_closed(fun, avals, name=name, text="checkify"),
    )
    return Checked(out, tuple(layout))


# ------------------------------------------------------------- of what holds programs


def _check_call(
    enabled: Enabled, prim: Primitive, args: Sequence[Any], params: Params
) -> Outcome:
    region: Region = prim.regions
    bodies = region.bodies(params)
    with region.scope(params):
        found = all_checked(enabled, bodies, len(bodies) == 1)
    if found is None:
        return None, prim.bind(*args, **params)
    k = region.index
    outs = [*[None] * found[0].width, *range(len(bodies[0].out_avals))]
    whole = [c.jaxpr for c in found]
    first, new = region.rebuild(params, whole, range(len(args) - k), outs)
    return found[0].split(prim.bind(*args[:k], *first, *args[k:], **new))


def _check_loop(
    enabled: Enabled, prim: Primitive, args: Sequence[Any], params: Params
) -> Outcome:
    """The error is carried; that of the test is found by the step that it lets happen."""
    loop: Loop = prim.regions
    *test, body = loop.bodies(params)
    found = all_checked(enabled, loop.bodies(params))
    if found is None:
        return None, prim.bind(*args, **params)
    if any(t.out_avals[0].shape for t in test):
        raise ValueError(
            "Checkify does not support batched while-loops (checkify-of-vmap-of-while) with"
            " automatic checks.\nWhy: lanes that are done still run, and their failures are"
            " none.\nTry: vmap of checkify, errors=checkify.user_checks."
        )
    *asks, step = found
    if not any(checked(enabled, t) for t in test):
        asks = []
    asked, consts, first, rows = loop.groups(params, args)
    start = checkify_errors.no_error(step.layout).leaves()
    also = asked if asks else []
    n_asked, n_also = len(asked), len(also)

    def run(*xs: Any) -> list[Any]:
        at, own, before, rest = split_list(xs, [n_also, len(consts), len(start)])
        error: Error | None = Error(before[0], before[1], before[2:])
        for ask in asks:
            error = first_error(error, ask(*at, *rest)[0])
        now, outs = step(*own, *rest)
        error = first_error(error, now)
        assert error is not None
        return [*error.leaves(), *outs]

    avals = loop.groups(params, [*(core.aval_of(x) for x in asked), *body.in_avals])
    start_avals = [core.aval_of(x) for x in start]
    ins = [*avals[0][:n_also], *avals[1], *start_avals, *avals[2], *avals[3]]
    new = remembered(
        body, ("checked loop", enabled, *test), lambda: stage_closed(run, ins, text="checkify")
    )
    # The test does not read the error, and finds none.
    order = [*range(n_asked), *start_avals, *range(n_asked, n_asked + len(first))]
    quiet = [permute_jaxpr(ask.jaxpr, order, [ask.width]) for ask in asks]
    bodies = [*(quiet or [permute_jaxpr(t, order) for t in test]), new]
    groups = [asked, [*also, *consts], [*start, *first], rows]
    operands = [x for group in groups for x in group]
    error, outs = step.split(prim.bind(*operands, **loop.rebuild(params, bodies, groups)))
    for ask in asks:  # what it said in the end
        last = first_error(error, ask(*asked, *outs)[0])
        assert last is not None
        error = last
    return error, outs


def batch_outside(
    prim: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: Any
) -> Any:
    """Batch an equation with checks of which some lanes take no part.

    Its error becomes a result first, which is then selected lane by lane like others.
    """
    assert prim.effects is not None
    debug = checkify_errors.check_effect not in prim.effects(params)

    def one(*xs: Any) -> Sequence[Any]:
        error, outs = check_equation(frozenset((FailedCheckError,)), prim, xs, params)
        if error is not None:
            checkify_errors.check_p.bind(*error.leaves(), debug=debug)
        return outs

    return batch_flat(one, axis, args, dims)


class _Tried(threading.local):
    """The rules that are traced just now to see their errors."""

    rules: tuple[Any, ...] = ()


_tried = _Tried()


def rule_layout(
    inner: Checked | None, rule: Any, run: Callable[..., Error | None], avals: Sequence[Any]
) -> Sequence[Any] | None:
    """The slots for the errors of a function and of its derivative rule; None: no error.

    A rule that calls its function, as most do, has no errors by that but the function's.
    """
    found: list[Error | None] = []
    written = getattr(rule, "written", rule)  # as the user wrote it
    if any(written is r for r in _tried.rules):
        return None if inner is None else inner.layout

    def flat(*xs: Any) -> list[Any]:
        found.append(run(*xs))
        return [] if found[0] is None else found[0].leaves()

    before = _tried.rules
    _tried.rules = (*before, written)
    try:
        stage(flat, avals, text="checkify")
    except Exception as e:
        if not is_refusal(e):  # a rule that refuses says so itself, when it is needed
            raise
    finally:
        _tried.rules = before
    error = found[0] if found else None
    if inner is None and error is None:
        return None
    more = checkify_errors.layout_of(error) if error is not None else ()
    return checkify_errors.join_layouts(inner.layout if inner is not None else (), more)


def fitted(error: Error | None, layout: Sequence[Any], name: str) -> Error:
    if error is None:
        return checkify_errors.no_error(layout)
    if len(checkify_errors.join_layouts(layout, checkify_errors.layout_of(error))) > len(
        layout
    ):
        raise NotImplementedError(
            f"checkify: the derivative rule of {name} checks other things than when all its"
            " arguments vary.\nTry: the same checks on either path of the rule."
        )
    return checkify_errors.with_layout(error, layout)


# -------------------------------------------------------------------- automatic checks


def _check_operation(
    enabled: Enabled, prim: Primitive, args: Sequence[Any], params: Params
) -> Outcome:
    """Bind a primitive; look for what the automatic checks forbid."""
    error: Error | None = None
    if DivisionByZeroError in enabled and prim.divisor is not None:
        error = _check_division(args[prim.divisor])
    if OOBError in enabled and prim.bounds is not None:
        error = first_error(error, _check_bounds(*prim.bounds(*args, **params)))
    out = prim.bind(*args, **params)
    outs = out if prim.multiple_results else [out]
    if NaNError in enabled and prim.makes_nans:
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
    """Whether an index vector (last axis) lies below 0 or above `last`, and which first.

    That a gather's mode says what happens to those that miss makes no difference: lanes of
    a `dynamic_slice` are clipped, too.
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
    which = slicing.dynamic_index_in_dim(flat, at, 0, keepdims=False)
    axis = slicing.dynamic_index_in_dim(
        np.tile(np.asarray(axes, np.int32), repeats), at, 0, keepdims=False
    )
    return _failure(OOBError, shape, _any(bad), which, axis)
