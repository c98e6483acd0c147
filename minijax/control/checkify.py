"""`checkify`: checks become an `Error` among a function's results.

The function is staged, and its jaxpr run equation by equation with an error at hand:
the first failure wins.  A primitive that holds jaxprs has a rule here, which runs it on
checked jaxprs: those have the error's arrays as their first results.  A loop carries
them.  Other primitives are bound as they are; automatic checks look at their operands
and results.

This room knows the higher-order primitives and what their params mean, and the handful
of operations that can fail.  What an error is stands in checks.py.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import tree
from ..base.source import function_text, wraps
from ..base.util import split_list
from ..core import core, hooks
from ..core.core import STATE, Primitive
from ..core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, Literal, close_consts, eval_jaxpr
from ..interpreters import batch as batching
from ..interpreters.algebra import Zero, instantiate, lib, with_zeros
from ..interpreters.dce import depends_on
from ..interpreters.stage import stage, stage_closed
from ..ops import arithmetic, gather, logic, reductions, shapes, slicing, structural
from ..ops.cast import convert_element_type_p
from ..types import dtypes
from . import (
    checks,
    cond,
    custom_jvp,
    custom_vjp,
    custom_vmap,
    loops,
    pmap,
    remat,
    scan,
)
from .arguments import as_value
from .calls import jit_p, jit_params
from .checks import (
    DivisionByZeroError,
    Error,
    FailedCheckError,
    JaxException,
    NaNError,
    OOBError,
    first_error,
)

ErrorCategory = type[JaxException]
Enabled = frozenset[Any]

user_checks: Enabled = frozenset((FailedCheckError,))
nan_checks: Enabled = frozenset((NaNError,))
index_checks: Enabled = frozenset((OOBError,))
div_checks: Enabled = frozenset((DivisionByZeroError,))
float_checks: Enabled = nan_checks | div_checks
automatic_checks: Enabled = float_checks | index_checks
all_checks: Enabled = automatic_checks | user_checks

Outcome = tuple[Error | None, Sequence[Any]]
rules: dict[Primitive, Callable[..., Outcome]] = {}


# ----------------------------------------------------------------------- the interpreter


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
            vals = [a.val if type(a) is Literal else env[a] for a in eqn.invars]
            STATE.names = "/".join(filter(None, (names, eqn.names)))
            STATE.source = eqn.source or place
            rule = rules.get(eqn.primitive)
            if rule is None:
                found, outs = check_operation(enabled, eqn.primitive, vals, eqn.params)
            else:
                found, outs = rule(enabled, vals, eqn.params)
            error = first_error(error, found)
            env.update(zip(eqn.outvars, outs, strict=True))
    finally:
        STATE.names, STATE.source = names, place
    return error, [a.val if type(a) is Literal else env[a] for a in jaxpr.outvars]


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


def checked(enabled: Enabled, closed: ClosedJaxpr) -> Checked | None:
    """The checked form of a jaxpr; None if there is nothing to check in it."""
    memo = closed.jaxpr.memo
    key = ("checked", enabled, STATE.axes)
    if not closed.consts and key in memo:
        return memo[key]
    layouts: list[Any] = []

    def fun(*args: Any) -> list[Any]:
        error, outs = run_checked(enabled, closed.jaxpr, closed.consts, args)
        if error is None and not closed.effects.isdisjoint(checks.EFFECTS):
            error = checks.init_error  # of checks that are not asked for, and left out
        error = None if error is None else checks.of_lanes(error)
        layouts.append(None if error is None else tuple(checks.layout_of(error)))
        return [*(error.leaves() if error is not None else ()), *outs]

    out = stage_closed(fun, closed.in_avals, name=closed.jaxpr.name, text="checkify")
    result = None if layouts[0] is None else Checked(out, layouts[0])
    if not closed.consts:
        memo[key] = result
    return result


def as_list(prim: Primitive, out: Any) -> Sequence[Any]:
    return out if prim.multiple_results else [out]


# -------------------------------------------------------------------- automatic checks

# They hand on the NaNs that they are given, and make none.
_carriers = frozenset((
    "neg", "sign", "abs", "max", "min", "clamp", "select_n", "conj", "real", "imag",
    "complex", "reshape", "transpose", "broadcast_in_dim", "squeeze", "rev", "slice",
    "dynamic_slice", "dynamic_update_slice", "concatenate", "split", "stack", "unstack",
    "tile", "gather", "scatter", "scatter-add", "scatter-sub", "scatter-mul",
    "scatter-min", "scatter-max", "sort", "top_k", "convert_element_type",
    "bitcast_convert_type", "reduce_precision", "copy", "copy_p", "stop_gradient",
    "name", "optimization_barrier", "reduce_max", "reduce_min", "cummax", "cummin",
    "device_put", "expand_dims", "nextafter", "empty", "round", "floor", "ceil",
    "pure_callback", "io_callback",
))  # fmt: skip


def check_operation(
    enabled: Enabled, prim: Primitive, args: Sequence[Any], params: dict[str, Any]
) -> Outcome:
    """Bind a primitive; look for what the automatic checks forbid."""
    error: Error | None = None
    if DivisionByZeroError in enabled and prim is arithmetic.div_p:
        error = _check_division(args[1])
    if OOBError in enabled and prim in _index_rules:
        error = first_error(error, _index_rules[prim](args, params))
    outs = as_list(prim, prim.bind(*args, **params))
    if NaNError in enabled and prim.name not in _carriers:
        for x in outs:
            error = first_error(error, _check_nan(prim.name, x))
    return error, outs


def _any(flags: Any) -> Any:
    return reductions.reduce_or(flags, tuple(range(core.aval_of(flags).ndim)))


def _failure(kind: Any, text: Any, failed: Any, *payload: Any) -> Error:
    return checks.error_at(kind, text, failed, payload, {}, STATE.source)


def _check_division(divisor: Any) -> Error:
    zero = core.aval_of(divisor).dtype.type(0)
    return _failure(
        DivisionByZeroError, None, _any(logic.eq(divisor, _like(zero, divisor)))
    )


def _like(scalar: Any, x: Any) -> Any:
    return structural.broadcast_in_dim(scalar, core.aval_of(x).shape, ())


def _check_nan(name: str, x: Any) -> Error | None:
    dtype = getattr(core.aval_of(x), "dtype", None)
    if dtype is None or not dtypes.is_inexact(dtype):
        return None
    return _failure(NaNError, name, _any(logic.ne(x, x)))


def _out_of_bounds(
    shape: tuple[int, ...], index: Any, axes: Sequence[int], last: Any
) -> Error:
    """Whether an index vector (last axis) lies below 0 or above `last`, and which first."""
    n = core.aval_of(index).size
    flat = shapes.reshape(index, (n,))
    flat = _int32(flat)
    repeats = n // max(len(axes), 1)
    high = np.tile(np.asarray(last, np.int32), repeats)
    bad = logic.bitwise_or(logic.lt(flat, np.zeros(n, np.int32)), logic.gt(flat, high))
    at = reductions.argmax(bad, 0, np.int32)
    which = slicing.dynamic_index_in_dim(flat, at, 0, keepdims=False)
    axis = slicing.dynamic_index_in_dim(
        np.tile(np.asarray(axes, np.int32), repeats), at, 0, keepdims=False
    )
    return _failure(OOBError, shape, _any(bad), which, axis)


def _check_starts(
    shape: tuple[int, ...], sizes: Sequence[int], starts: Sequence[Any]
) -> Any:
    if not shape:
        return None
    index = structural.stack([_int32(s) for s in starts])
    last = [n - m for n, m in zip(shape, sizes, strict=True)]
    return _out_of_bounds(shape, index, range(len(shape)), last)


def _int32(x: Any) -> Any:
    return convert_element_type_p.bind(
        x, new_dtype=dtypes.int32, weak_type=False, sharding=None
    )


def _check_dynamic_slice(args: Any, params: Any) -> Error | None:
    x, *starts = args
    return _check_starts(core.aval_of(x).shape, params["slice_sizes"], starts)


def _check_update(args: Any, params: Any) -> Error | None:
    x, update, *starts = args
    return _check_starts(core.aval_of(x).shape, core.aval_of(update).shape, starts)


def _check_windows(
    x: Any, index: Any, axes: Sequence[int], sizes: Sequence[int]
) -> Any:
    """Windows of a gather or scatter start at `index`.

    That the mode says what happens to those that miss makes no difference: lanes of a
    `dynamic_slice` are clipped, too.
    """
    shape = core.aval_of(x).shape
    if not core.aval_of(index).size:
        return None
    last = [shape[a] - sizes[a] for a in axes]
    return _out_of_bounds(shape, index, axes, last)


def _check_gather(args: Any, params: Any) -> Error | None:
    x, index = args
    axes = params["dimension_numbers"].start_index_map
    return _check_windows(x, index, axes, params["slice_sizes"])


def _check_scatter(args: Any, params: Any) -> Error | None:
    x, index, updates = args
    numbers = params["dimension_numbers"]
    gone = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    window = iter(core.aval_of(updates).shape[d] for d in numbers.update_window_dims)
    sizes = [1 if d in gone else next(window) for d in range(core.aval_of(x).ndim)]
    axes = numbers.scatter_dims_to_operand_dims
    return _check_windows(x, index, axes, sizes)


_index_rules: dict[Primitive, Callable[[Any, Any], Error | None]] = {
    slicing.dynamic_slice_p: _check_dynamic_slice,
    slicing.dynamic_update_slice_p: _check_update,
    gather.gather_p: _check_gather,
    **dict.fromkeys(
        (gather.scatter_p, gather.scatter_add_p, gather.scatter_sub_p, gather.scatter_mul_p,
         gather.scatter_min_p, gather.scatter_max_p),
        _check_scatter,
    ),
}  # fmt: skip


# ---------------------------------------------------------------------- the check itself


def check_rule(enabled: Enabled, args: Any, params: Any) -> Outcome:
    if FailedCheckError not in enabled:
        return None, []
    failed, code, *slots = args
    still = [
        custom_jvp.stop_gradient_p.bind(x)
        if dtypes.is_differentiable(core.aval_of(x).dtype) else x
        for x in slots
    ]  # fmt: skip
    return Error(failed, code, still), []


rules[checks.check_p] = check_rule


# ----------------------------------------------------------------- primitives with jaxprs


def jit_rule(enabled: Enabled, args: Any, params: Any) -> Outcome:
    inner = checked(enabled, params["jaxpr"])
    if inner is None:
        return None, jit_p.bind(*args, **params)
    return inner.split(jit_p.bind(*args, **jit_params(inner.jaxpr, params)))


rules[jit_p] = jit_rule


def cond_rule(enabled: Enabled, args: Any, params: Any) -> Outcome:
    branches = params["branches"]
    found = [checked(enabled, b) for b in branches]
    if all(c is None for c in found):
        return None, cond.cond_p.bind(*args, **params)
    layout: list[Any] = []
    for c in found:
        layout = checks.join_layouts(layout, c.layout if c is not None else ())
    whole = [_with_layout(b, c, layout) for b, c in zip(branches, found, strict=True)]
    outs = cond.cond_p.bind(
        *args, **{**params, "branches": tuple(c.jaxpr for c in whole)}
    )
    return whole[0].split(outs)


def _with_layout(
    closed: ClosedJaxpr, c: Checked | None, layout: Sequence[Any]
) -> Checked:
    """The checked form of a branch, with the slots that all branches share."""

    def fun(*args: Any) -> list[Any]:
        if c is None:
            outs = eval_jaxpr(closed.jaxpr, closed.consts, *args)
            return [*checks.no_error(layout).leaves(), *outs]
        error, outs = c(*args)
        return [*checks.with_layout(error, layout).leaves(), *outs]

    out = stage_closed(fun, closed.in_avals, name=closed.jaxpr.name, text="checkify")
    return Checked(out, tuple(layout))


rules[cond.cond_p] = cond_rule


def scan_rule(enabled: Enabled, args: Any, params: Any) -> Outcome:
    body, n_consts = params["jaxpr"], params["num_consts"]
    inner = checked(enabled, body)
    if inner is None:
        return None, scan.scan_p.bind(*args, **params)
    k = inner.width

    def step(*vals: Any) -> list[Any]:
        consts, before, rest = split_list(vals, [n_consts, k])
        now, outs = inner(*consts, *rest)
        return [*_kept(before, now).leaves(), *outs]

    start = checks.no_error(inner.layout).leaves()
    consts, rest = split_list(args, [n_consts])
    c_avals, avals = split_list(body.in_avals, [n_consts])
    new = stage_closed(
        step, [*c_avals, *map(core.aval_of, start), *avals], text="checkify"
    )
    outs = scan.scan_p.bind(
        *consts, *start, *rest,
        **{**params, "jaxpr": new, "num_carry": params["num_carry"] + k},
    )  # fmt: skip
    return inner.split(outs)


def _kept(before: Sequence[Any], now: Error | None) -> Error:
    """The error of the steps before, or else that of this one."""
    old = Error(before[0], before[1], before[2:])
    found = first_error(old, now)
    assert found is not None
    return found


rules[scan.scan_p] = scan_rule


def while_rule(enabled: Enabled, args: Any, params: Any) -> Outcome:
    go_on, body = params["cond_jaxpr"], params["body_jaxpr"]
    n_c, n_b = params["cond_nconsts"], params["body_nconsts"]
    in_cond, in_body = checked(enabled, go_on), checked(enabled, body)
    if in_cond is None and in_body is None:
        return None, loops.while_p.bind(*args, **params)
    if go_on.out_avals[0].shape:
        raise ValueError(
            "Checkify does not support batched while-loops (checkify-of-vmap-of-while) with"
            " automatic checks.\nWhy: lanes that are done still run, and their failures are"
            " none.\nTry: vmap of checkify, errors=checkify.user_checks."
        )
    layout = checks.join_layouts(
        in_cond.layout if in_cond is not None else (),
        in_body.layout if in_body is not None else (),
    )
    k = 2 + len(layout)

    def step(*vals: Any) -> list[Any]:
        cc, bc, before, carry = split_list(vals, [n_c, n_b, k])
        asked = in_cond(*cc, *carry)[0] if in_cond is not None else None
        if in_body is None:
            done, outs = None, eval_jaxpr(body.jaxpr, body.consts, *bc, *carry)
        else:
            done, outs = in_body(*bc, *carry)
        found = _kept(before, first_error(asked, done))
        return [*checks.with_layout(found, layout).leaves(), *outs]

    def ask(*vals: Any) -> list[Any]:
        cc, _, carry = split_list(vals, [n_c, k])
        if in_cond is not None:
            return in_cond(*cc, *carry)[1]
        return eval_jaxpr(go_on.jaxpr, go_on.consts, *cc, *carry)

    cc, bc, carry = split_list(args, [n_c, n_b])
    start = checks.no_error(layout).leaves()
    e_avals = [core.aval_of(x) for x in start]
    c_avals, carry_avals = split_list(go_on.in_avals, [n_c])
    avals = [*c_avals, *body.in_avals[:n_b], *e_avals, *carry_avals]
    outs = loops.while_p.bind(
        *cc, *cc, *bc, *start, *carry, cond_nconsts=n_c, body_nconsts=n_c + n_b,
        cond_jaxpr=stage_closed(ask, [*c_avals, *e_avals, *carry_avals], text="checkify"),
        body_jaxpr=stage_closed(step, avals, text="checkify"),
    )  # fmt: skip
    error, results = Checked(body, tuple(layout)).split(outs)
    if in_cond is None:
        return error, results
    return first_error(error, in_cond(*cc, *results)[0]), results  # the last question


rules[loops.while_p] = while_rule


def remat_rule(enabled: Enabled, args: Any, params: Any) -> Outcome:
    inner = checked(enabled, ClosedJaxpr(params["jaxpr"]))
    if inner is None:
        return None, remat.remat_p.bind(*args, **params)
    opened = close_consts(inner.jaxpr)
    outs = remat.remat_p.bind(*inner.jaxpr.consts, *args, **{**params, "jaxpr": opened})
    return inner.split(outs)


rules[remat.remat_p] = remat_rule


def custom_jvp_rule(enabled: Enabled, args: Any, params: Any) -> Outcome:
    """The function is checked, and so is what its rule does with primals.

    What it does with tangents is not: they may have no value yet, as under `grad`.
    """
    call, jvp = params["call_jaxpr"], params["jvp"]
    inner = checked(enabled, call)

    def run(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return _run_jvp(enabled, jvp, primals, tangents)

    def probe(*primals: Any) -> Error | None:
        tangents = [lib.zeros(a.to_tangent()) for a in call.in_avals]
        return run(primals, tangents)[0]

    layout = _rule_layout(inner, probe, call.in_avals)
    if layout is None:
        return None, custom_jvp.custom_jvp_call_p.bind(*args, **params)
    whole = _with_layout(call, inner, layout)

    @functools.wraps(jvp)
    def with_error(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        error, outs, out_ts = run(primals, tangents)
        head = _fitted(error, layout, params["name"]).leaves()
        none = [Zero(core.aval_of(x).to_tangent()) for x in head]
        return [*head, *outs], [*none, *out_ts]

    new = {"call_jaxpr": whole.jaxpr, "jvp": with_error}
    return whole.split(custom_jvp.custom_jvp_call_p.bind(*args, **{**params, **new}))


def _run_jvp(
    enabled: Enabled, jvp: Any, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Error | None, list[Any], list[Any]]:
    """A rule's results, and the first error in what does not depend on tangents."""
    given = [type(t) is not Zero for t in tangents]
    n, n_out = len(primals), 0

    def flat(*xs: Any) -> list[Any]:
        nonlocal n_out
        ts = with_zeros(xs[n:], given, [core.aval_of(x) for x in primals])
        outs, out_ts = jvp(xs[:n], ts)
        n_out = len(outs)
        return [*outs, *map(instantiate, out_ts)]

    ins = [*primals, *(t for t, g in zip(tangents, given, strict=True) if g)]
    jaxpr, consts = stage(flat, [core.aval_of(x) for x in ins], text="checkify")
    moving = depends_on(jaxpr, [i >= n for i in range(len(ins))])
    still, rest = [], []
    for eqn in jaxpr.eqns:
        if not any(type(a) is not Literal and a in moving for a in eqn.invars):
            still.append(eqn)
        elif eqn.primitive is not checks.check_p:
            rest.append(eqn)
    made = [v for e in still for v in e.outvars if type(v) is not DropVar]
    first = Jaxpr(jaxpr.constvars, jaxpr.invars[:n], made, still)
    error, values = run_checked(enabled, first, consts, primals)
    second = Jaxpr([*jaxpr.constvars, *made], jaxpr.invars, jaxpr.outvars, rest)
    found = eval_jaxpr(second, [*consts, *values], *ins)
    return error, found[:n_out], found[n_out:]


def _rule_layout(
    inner: Checked | None, run: Callable[..., Error | None], avals: Sequence[Any]
) -> Sequence[Any] | None:
    """The slots for the errors of a function and of its derivative rule; None: no error."""
    found: list[Error | None] = []

    def flat(*xs: Any) -> list[Any]:
        found.append(run(*xs))
        return [] if found[0] is None else found[0].leaves()

    # A rule that cannot be traced says so itself, if and when it is needed.
    with contextlib.suppress(Exception):
        stage(flat, avals, text="checkify")
    error = found[0] if found else None
    if inner is None and error is None:
        return None
    more = checks.layout_of(error) if error is not None else ()
    return checks.join_layouts(inner.layout if inner is not None else (), more)


def _fitted(error: Error | None, layout: Sequence[Any], name: str) -> Error:
    if error is None:
        return checks.no_error(layout)
    if len(checks.join_layouts(layout, checks.layout_of(error))) > len(layout):
        raise NotImplementedError(
            f"checkify: the derivative rule of {name} checks other things than when all its"
            " arguments vary.\nTry: the same checks on either path of the rule."
        )
    return checks.with_layout(error, layout)


rules[custom_jvp.custom_jvp_call_p] = custom_jvp_rule


def custom_vjp_rule(enabled: Enabled, args: Any, params: Any) -> Outcome:
    """The function is checked, and `fwd`; `bwd` runs when the error is long a result."""
    call, fwd, bwd = params["call_jaxpr"], params["fwd"], params["bwd"]
    inner = checked(enabled, call)

    def run(flags: Sequence[bool], xs: Sequence[Any]) -> Any:
        n_res = 0

        def flat(*xs: Any) -> list[Any]:
            nonlocal n_res
            residuals, outs = fwd(flags, *xs)
            n_res = len(residuals)
            return [*residuals, *outs]

        jaxpr, consts = stage(flat, [core.aval_of(x) for x in xs], text="checkify")
        error, found = run_checked(enabled, jaxpr, consts, xs)
        return error, found[:n_res], found[n_res:]

    def probe(*xs: Any) -> Error | None:
        return run([True] * len(xs), xs)[0]

    layout = _rule_layout(inner, probe, call.in_avals)
    if layout is None:
        return None, custom_vjp.custom_vjp_call_p.bind(*args, **params)
    whole = _with_layout(call, inner, layout)

    @functools.wraps(fwd)
    def with_error(flags: Sequence[bool], *xs: Any) -> Any:
        error, residuals, outs = run(flags, xs)
        return residuals, [*_fitted(error, layout, params["name"]).leaves(), *outs]

    @functools.wraps(bwd)
    def without_error(residuals: Sequence[Any], cts: Sequence[Any]) -> Any:
        return bwd(residuals, cts[whole.width :])

    new = {"call_jaxpr": whole.jaxpr, "fwd": with_error, "bwd": without_error}
    return whole.split(custom_vjp.custom_vjp_call_p.bind(*args, **{**params, **new}))


rules[custom_vjp.custom_vjp_call_p] = custom_vjp_rule


def custom_vmap_rule(enabled: Enabled, args: Any, params: Any) -> Outcome:
    inner = checked(enabled, params["call"])
    if inner is None:
        return None, custom_vmap.custom_vmap_call_p.bind(*args, **params)
    return inner(*args)


rules[custom_vmap.custom_vmap_call_p] = custom_vmap_rule


def pmap_rule(enabled: Enabled, args: Any, params: Any) -> Outcome:
    with core.mapped_axis(params["axis_name"], params["axis_size"]):
        inner = checked(enabled, params["call_jaxpr"])
    if inner is None:
        return None, pmap.xla_pmap_p.bind(*args, **params)
    axes = (*[0] * inner.width, *params["out_axes"])
    new = {"call_jaxpr": inner.jaxpr, "out_axes": axes}
    return inner.split(pmap.xla_pmap_p.bind(*args, **{**params, **new}))


rules[pmap.xla_pmap_p] = pmap_rule


# --------------------------------------------------------------------- lanes that differ


@hooks.batch_checks.fill
def batch_outside(
    prim: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: Any,
    effects: frozenset[Any],
) -> Any:  # fmt: skip
    """Batch an equation with checks of which some lanes take no part.

    Its error becomes a result first, which is then selected lane by lane like others.
    """
    debug = checks.check_effect not in effects

    def one(*xs: Any) -> Sequence[Any]:
        error, outs = rules[prim](user_checks, xs, params)
        if error is not None:
            checks.check_p.bind(*error.leaves(), debug=debug)
        return outs

    return batching.batch_flat(one, axis, args, dims)


# ----------------------------------------------------------------------------- checkify


def checkify(
    f: Callable[..., Any], errors: frozenset[ErrorCategory] = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """Make a function that returns an `Error` beside its result, for use under `jit`.

    Args:
      f: a function, in which `check` may be called.
      errors: what to check: `user_checks` (default), `nan_checks`, `div_checks`,
        `index_checks`, their unions `float_checks`, `automatic_checks`, `all_checks`.

    Returns:
      A function from `f`'s arguments to (error, result).  `error.get()` is the message
      of the first failure or None, `error.throw()` raises it.  After a failure the
      result means nothing.

    Raises:
      TypeError: a result of `f` is no array.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> from minijax.experimental import checkify as ck
      >>> def f(x):
      ...     ck.check(x > 0, "{x} is not positive", x=x)
      ...     return jnp.log(x)
      >>> error, _ = mj.jit(ck.checkify(f))(-1.)
      >>> error.get()
      '-1.0 is not positive (`check` failed)'
    """
    if not callable(f):
        raise TypeError(f"Expected a callable value, got {f!r}.")
    enabled = frozenset(errors)

    @wraps(f)
    def checked_fun(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        trees: list[Any] = []

        def flat() -> list[Any]:
            outs, out_tree = tree.flatten(f(*args, **kwargs))
            for x in outs:
                if not core.is_value(x):
                    raise TypeError(
                        f"checkify: {function_text(f)} returned {x!r} of type {type(x)},"
                        " which is not a valid JAX type."
                    )
            trees.append(out_tree)
            return outs

        jaxpr, consts = stage(flat, [], text=function_text(f), transform="checkify")
        error, outs = run_checked(enabled, jaxpr, consts, ())
        error = error or checks.init_error
        return tree.map(as_value, error), tree.unflatten(trees[0], outs)

    return checked_fun
