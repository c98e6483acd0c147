"""`while_loop` and `fori_loop`.

The primitive and its rules are in ../loops/while_loop.py.  `fori_loop` with static bounds
becomes a scan, which has a transpose.

Next: ../rules/custom_jvp.py.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...analysis.contents import read_vars
from ...base import config, errors, tree
from ...base.source import function_text
from ...base.tracebacks import boundary
from ...base.util import merge, pick
from ...ir import core
from ...ir.jaxpr import permute_jaxpr
from ...prims import lax, promotion
from ...prims.math import logic
from ...prims.shape import creation
from ...symbolic.dims import SymbolicDim
from ...types import dtypes
from .. import body_staging
from ..arguments import as_value, concrete_or_error
from ..branches.cond_functions import cond
from ..calls.remat import checkpoint
from ..effects import checkify_errors
from ..loops.while_loop import while_p
from .progress import fori_with_bar, wants_bar
from .scan import run_scan


@boundary
def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    *,
    max_steps: int | None = None,
    loop: body_staging.LoopDescription | None = None,
) -> Any:
    """Repeat `val = body_fun(val)` while `cond_fun(val)` holds, in one compiled loop.

    Args:
      cond_fun: takes the carry, returns a bool scalar.
      body_fun: takes the carry, returns a carry of the same type.
      init_val: the initial carry, a pytree.
      max_steps: the largest number of steps; with it, the loop supports reverse mode,
        which stores about 2 sqrt(max_steps) carries and runs each step twice.
      loop: the description for messages, if another function is built on this one.

    Returns:
      The last carry, a pytree like `init_val`.

    Raises:
      TypeError: the carry changes its type, or the condition is not a bool scalar.
      ValueError: `max_steps` is not an int, or negative.

    Example:
      >>> import minijax as mj
      >>> mj.lax.while_loop(lambda x: x < 10, lambda x: 2 * x, 1)
      Array(16, dtype=int32, weak_type=True)

    Without `max_steps` only forward-mode differentiation is supported.

    Differs from JAX: `max_steps`.
    """
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    if max_steps is not None:
        max_steps = concrete_or_error(
            operator.index,
            max_steps,
            "The `max_steps` of a while_loop decides how much its backward pass stores.",
        )
        if max_steps < 0:
            raise ValueError(f"while_loop: max_steps must be >= 0, got {max_steps}.")
    if config.DISABLE_JIT.value:
        try:
            val, steps = tree.map(as_value, init_val), itertools.count()
            while cond_fun(val) and (max_steps is None or next(steps) < max_steps):
                val = body_fun(val)
            return val
        except errors.ConcretizationTypeError:
            pass  # the condition is traced: stage the loop
    loop = loop or body_staging.LoopDescription.of("while_loop body", body_fun)
    init, init_tree = tree.flatten(init_val)
    body_staging.types_of("init_val", init, init_tree)
    in_tree = tree.structure((init_val,))
    while True:
        avals = [core.aval_of(x) for x in init]
        cond = body_staging.stage_body(cond_fun, in_tree, avals, "while_loop")
        body = body_staging.stage_body(body_fun, in_tree, avals, loop.transform, loop.fun)
        if body.out_tree == init_tree:
            promoted = body_staging.promote_weak(loop.fun, init, avals, body.out_avals)
            if promoted is not None:
                init = promoted
                continue
        break
    _check_condition(cond_fun, cond)
    body_staging.check_carry(loop, init_tree, avals, body.out_tree, body.out_avals)
    if max_steps is not None:
        return _bounded(cond_fun, body_fun, tree.unflatten(init_tree, init), max_steps)
    # Parts of the carry that no step changes and the condition does not read are constants.
    cond_reads = read_vars(cond.jaxpr)
    fixed = [
        out is v and u not in cond_reads
        for out, v, u in zip(
            body.jaxpr.outvars, body.jaxpr.invars, cond.jaxpr.invars, strict=True
        )
    ]
    stay = [as_value(x) for x, f in zip(init, fixed, strict=True) if f]
    move = [x for x, f in zip(init, fixed, strict=True) if not f]
    consts = [*stay, *body.consts]
    k = len(cond.consts)
    carry_positions = pick(range(k, k + len(fixed)), [not f for f in fixed])
    out = while_p.bind(
        *cond.consts,
        *consts,
        *move,
        cond_jaxpr=permute_jaxpr(cond.closed(), [*range(k), *carry_positions]),
        cond_nconsts=k,
        body_jaxpr=body_staging.lift_fixed(body, fixed, ()),
        body_nconsts=len(consts),
    )
    return tree.unflatten(init_tree, merge(fixed, stay, out))


def _bounded(cond_fun: Any, body_fun: Any, init_val: Any, max_steps: int) -> Any:
    """Run a while loop of at most `max_steps` steps, in segments of about its root.

    Each segment is a checkpoint: the backward pass replays it from its first carry.
    """
    inner = max(1, math.isqrt(max(max_steps - 1, 0)) + 1)
    outer = -(-max_steps // inner)

    def keep(val: Any, *_: Any) -> Any:
        return val

    def step(val: Any, i: Any) -> tuple[Any, None]:
        go = logic.bitwise_and(cond_fun(val), logic.lt(i, np.int32(max_steps)))
        return cond(go, body_fun, keep, val), None

    @functools.partial(checkpoint, prevent_cse=False)
    def segment(val: Any, start: Any) -> Any:
        steps = lax.add(creation.iota(np.int32, inner), start)
        return run_scan(step, val, steps)[0]

    def next_segment(val: Any, start: Any) -> tuple[Any, None]:
        return cond(cond_fun(val), segment, keep, val, start), None

    out = run_scan(next_segment, init_val, np.arange(outer, dtype=np.int32) * inner)[0]
    if core.STATE.trace is not core.EVAL:  # only checkify reads this check
        done = logic.bitwise_not(cond_fun(out))
        checkify_errors.debug_check(done, f"while_loop: more than max_steps={max_steps} steps")
    return out


def _check_condition(cond_fun: Any, cond: body_staging.Body) -> None:
    avals = cond.out_avals
    if cond.out_tree.num_leaves != 1 or cond.out_tree.num_nodes != 1:
        raise TypeError(
            errors.message(
                f"cond_fun must return a boolean scalar, but got pytree {cond.out_tree}.",
                where=function_text(cond_fun),
            )
        )
    if avals[0].shape != () or not dtypes.is_bool(avals[0].dtype):
        raise TypeError(
            errors.message(
                f"cond_fun must return a boolean scalar, but got output type(s) {avals}.",
                where=function_text(cond_fun),
                tries=["compare, or reduce with .all() or .any()"],
            )
        )


@boundary
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
    progress: str | None = None,
) -> Any:
    """Repeat `val = body_fun(i, val)` for i from `lower` to `upper - 1`.

    Args:
      lower, upper: bounds; static ones (all but tracers) make the loop reverse-mode
        differentiable, and i a weakly typed int.
      body_fun: takes (i, val), returns a value of the type of `val`.
      init_val: the initial value, a pytree.
      unroll: as for `scan`; static bounds only.
      progress: 'text' draws a progress bar on standard error; static bounds only.

    Returns:
      The last value, a pytree like `init_val`.

    Raises:
      TypeError: bounds are not scalars or differ in dtype, or the value changes its type.
      ValueError: `unroll` is passed and a bound is traced.

    Example:
      >>> import minijax as mj
      >>> mj.lax.fori_loop(0, 5, lambda i, x: x + i, 0)
      Array(10, dtype=int32, weak_type=True)

    Differs from JAX: `progress`.
    """
    if wants_bar(progress):
        first = concrete_or_error(int, lower, "fori_loop(progress=)")
        n = concrete_or_error(int, upper, "fori_loop(progress=)") - first
        if n > 0:
            return fori_with_bar(
                lambda n, body, val: fori_loop(0, n, body, val, unroll=unroll),
                lower,
                n,
                body_fun,
                init_val,
            )
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    lower, upper = (
        x.dimension_as_value() if isinstance(x, SymbolicDim) else x for x in (lower, upper)
    )
    lo, up = core.aval_of(lower), core.aval_of(upper)
    for a in (lo, up):
        number = dtypes.is_integer(a.dtype) or dtypes.is_float(a.dtype)
        if a.shape != () or not number:
            raise TypeError(
                "lower and upper arguments to fori_loop must be integer scalars, got"
                f" {lo.str_short(True)} and {up.str_short(True)}."
            )
    lower, upper = _with_equal_dtypes(lower, lo, upper, up)
    if config.DISABLE_JIT.value and core.is_concrete(lower) and core.is_concrete(upper):
        val = init_val
        for i in range(int(lower), int(upper)):
            val = body_fun(i, val)
        return val
    if not isinstance(lower, core.Tracer) and not isinstance(upper, core.Tracer):
        first, n = int(lower), max(int(upper) - int(lower), 0)
        largest = np.iinfo(dtypes.int_default()).max
        if not dtypes.is_unsigned(lo.dtype) or first + n <= largest:
            lower = first  # a Python int, unless only unsigned integers can represent it
        return run_scan(
            body_staging.cached_wrapper(body_fun, _scan_step),
            (lower, init_val),
            None,
            length=n,
            unroll=1 if unroll is None else unroll,
            loop=body_staging.LoopDescription.of("fori_loop body", body_fun, 1, inside=1),
        )[0][1]
    if unroll not in (None, 1) and unroll is not False:
        raise ValueError(
            "Can only use `unroll` in `fori_loop` if the loop bounds are statically known."
        )
    return while_loop(
        _is_before,
        body_staging.cached_wrapper(body_fun, _while_step),
        (lower, upper, init_val),
        loop=body_staging.LoopDescription.of("fori_loop body", body_fun, 1, inside=1),
    )[2]


def _with_equal_dtypes(lower: Any, lo: Any, upper: Any, up: Any) -> tuple[Any, Any]:
    """Return the bounds with one dtype: a weakly typed bound takes the other's."""
    if lo.dtype == up.dtype:
        return lower, upper
    # An int and a float must not be promoted.
    weak = dtypes.is_integer(lo.dtype) is dtypes.is_integer(up.dtype)
    lo_weak, up_weak = weak and lo.weak_type, weak and up.weak_type
    dtype, _ = promotion.promote(((lo.dtype, lo_weak), (up.dtype, up_weak)))
    try:
        if lo_weak and dtype == up.dtype:
            return body_staging.with_dtype(lower, dtype), upper
        if up_weak and dtype == lo.dtype:
            return lower, body_staging.with_dtype(upper, dtype)
    except OverflowError:
        pass  # a Python int that does not fit the other dtype
    raise TypeError(
        "lower and upper arguments to fori_loop must have equal types, got"
        f" {lo.dtype.name} and {up.dtype.name}."
    )


def _scan_step(body: Callable[..., Any]) -> Callable[..., Any]:
    def step(carry: Any, _: None) -> Any:
        i, val = carry
        return (i + 1, body(i, val)), None

    return step


def _is_before(carry: Any) -> Any:
    return logic.lt(carry[0], carry[1])


def _while_step(body: Callable[..., Any]) -> Callable[..., Any]:
    def step(carry: Any) -> Any:
        i, end, val = carry
        return i + 1, end, body(i, val)

    return step
