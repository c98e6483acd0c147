"""Dispatch: evaluation of eager primitives and of compiled programs.

`run` evaluates one primitive. Its program is compiled once for the primitive's params and
operand types, and looked up in one flat dict. `compile_request` makes the program of a whole
jaxpr (program.py). device_assignment.py chooses the devices.

This module names no operation.  Next: ../../prims.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.contents import closed_jaxprs_in
from ...base import config, errors, option, source, util
from ...ir import core, hooks
from ...ir.core import STATE, Primitive, host_driven
from ...ir.jaxpr import (
    ClosedJaxpr,
    Equation,
    Jaxpr,
    Var,
    cached_on_jaxpr,
    eval_jaxpr,
    sub_jaxprs,
)
from ...passes.dce import dce_jaxpr
from ...passes.stage import abstract
from ...types import dtypes
from ...types.avals import WIDE_SCALARS, keeps_wide_dtype
from ..arrays import transfers
from ..arrays.array import ArrayImpl, KeyArray
from ..arrays.operands import to_buffer
from ..arrays.tokens import Token
from ..lowering import nesting
from ..sharding.placement import Placement
from . import shutdown
from .device_assignment import (
    check_meshes,
    common_placement_on_device,
    place_values,
    requested_placement_of,
)
from .device_put import retained_constant
from .program import Options, Program, Request, compile_lowered, drop_unused, lower
from .resharding import with_operand_layouts

if TYPE_CHECKING:
    from ...types.aliases import Aval, Params, Results, Value
    from ..backends.jaxlib_types import Buffer

_programs: dict[Any, Program] = util.cache({})
_MOST_PROGRAMS = 8192  # two keys for each program, which holds 100 kB of code
# Checks of results; each is added when it is first enabled, so `run` pays for none before.
checks: list[Callable[..., None]] = []
was_execution_forbidden = (
    False  # whether execution was ever forbidden; if not, `run` skips `check_execution_allowed`
)


def check_execution_allowed(label: str) -> None:
    """Raise RuntimeError if `jax_no_execution` is on in this thread."""
    if config.NO_EXECUTION.peek():
        raise errors.error(
            RuntimeError,
            f"JAX tried to execute function {label}, but the no_execution config option is set",
            where=core.stack_text(),
            tries=["jax.make_jaxpr", "jax.jit(f).lower(...).compile()"],
        )


def _on_no_execution(value: Any, local: bool) -> None:
    global was_execution_forbidden
    was_execution_forbidden = was_execution_forbidden or value is True


config.NO_EXECUTION.watch(_on_no_execution)


def run(
    prim: Primitive,
    args: tuple[Value, ...],
    params: Params,
    requested: Placement | None = None,
) -> Results:
    """Evaluate a primitive on concrete values."""
    if was_execution_forbidden:
        check_execution_allowed(f"jit({prim.name})")
    sharding: Any = None
    same_sharding, has_keys, has_host_values = True, False, False
    buffers, avals = [], []
    for x in args:
        if type(x) is ArrayImpl:
            if sharding is None:
                sharding = x._sharding
            elif x._sharding is not sharding:
                same_sharding = False
            buffers.append(x)
            avals.append(x.aval)
        else:
            wide = type(x) in WIDE_SCALARS and prim.regions is None
            if wide and keeps_wide_dtype(x, args):
                # Start over with a 64-bit array: a NumPy scalar would be narrowed to 32 bits.
                return run(prim, transfers.widen_scalars(args), params, requested)
            buffers.append(x)
            has_host_values = True
            if type(x) is KeyArray or type(x) is Token:
                same_sharding, has_keys = False, True
    # Single-device shardings are canonical objects that are never freed, so one lookup by id
    # replaces a comparison of devices, memories and commitment.
    placement = (
        common_placement_on_device(sharding) if same_sharding and requested is None else None
    )
    if placement is None:
        if requested is None:
            check_meshes(prim.name, args)
        buffers, placement = place_values(args, prim.name, requested=requested)
        avals = [b.aval for b in buffers]
    elif has_host_values:
        for i, x in enumerate(args):
            if type(x) is not ArrayImpl:
                buffers[i] = to_buffer(x, placement.uncommitted)
        avals = [b.aval for b in buffers]
    if has_keys:
        avals = [
            core.aval_of(x) if type(x) is KeyArray or type(x) is Token else a
            for x, a in zip(args, avals, strict=True)
        ]
    try:
        # Ids of placements are valid keys, because placements are never freed.
        param_items = tuple(params.items()) if params else None
        key = (option.state(), prim, id(placement), param_items, *avals)
        program = _programs.get(key)
    except TypeError:  # unhashable params
        key, program = None, None
    if program is None:
        program = _find_program(key, prim, avals, params, placement)
    try:
        if program.stable and program.kept_indices is None:
            out = program.run(buffers).consume_with_handlers(program.handlers)
        else:
            out = program(buffers)
    except (RuntimeError, ValueError) as e:
        raise execution_error(e, buffers) from None
    if checks:
        inside = None
        if prim.regions is not None:
            inside = lambda: (
                single_equation_jaxpr(prim, [core.aval_of(x) for x in args], params),
                args,
            )
        for check in checks:
            check(prim.name, out, None, inside)
    if prim.multiple_results:
        return program.wrap(out)
    return program.wrap(out)[0] if program.has_wrapped_results else out[0]


def run_region(prim: Primitive, args: tuple[Value, ...], params: Params) -> Results:
    """Evaluate a primitive whose inner programs may contain shardings.

    Unused operands are dropped first, so that their devices do not matter.
    """
    shardings = {id(x._sharding) for x in args if type(x) is ArrayImpl}
    if len(shardings) > 1:
        closed = single_equation_jaxpr(prim, [core.aval_of(x) for x in args], params)
        live, kept_indices = drop_unused(closed, keep_unused=False)
        if len(kept_indices) < len(args):
            results = eval_jaxpr(live.jaxpr, live.consts, *(args[i] for i in kept_indices))
            return results if prim.multiple_results else results[0]
    return run(prim, args, params, requested_placement_of(sub_jaxprs(params), len(args)))


def execution_error(
    error: Exception, buffers: Sequence[Buffer], kept_indices: Sequence[int] | None = None
) -> Exception:
    """Return a clearer error for a failed execution, if the cause is known.

    kept_indices: the buffers that the program reads; None: all.
    """
    for b in buffers if kept_indices is None else map(buffers.__getitem__, kept_indices):
        if b.is_deleted():
            return RuntimeError(transfers.deleted_message(b.aval))
    return error


class _WithPrograms(util.WeakIdentitySet[Any]):
    """Weak set of the jaxprs whose `memo` holds programs."""

    __slots__ = ()

    def clear(self) -> None:
        jaxprs = list(self)
        super().clear()
        for jaxpr in jaxprs:
            jaxpr.memo.pop("programs", None)


_with_programs = util.cache(_WithPrograms())


def programs_of(jaxpr: Any) -> dict[Any, Any]:
    """Return the dict for programs compiled from a jaxpr, which is freed with the jaxpr."""
    programs = jaxpr.memo.get("programs")
    if programs is None:
        _with_programs.add(jaxpr)
        programs = jaxpr.memo.setdefault("programs", {})
    return programs  # type: ignore[no-any-return]


def _find_program(
    key: Any,
    prim: Primitive,
    avals: Sequence[Any],
    params: dict[str, Any],
    placement: Placement,
) -> Program:
    """Return the program of a primitive from the cache, or compile it.

    If its params hold jaxprs, the program is cached with the first of them, and freed with
    it.
    """
    if key is None:
        return _compile_primitive(prim, avals, params, placement)
    programs: dict[Any, Program] = _programs
    exported = (x for x in params.values() if hasattr(x, "memo"))
    if inner := next(chain(sub_jaxprs(params), exported), None):
        programs = programs_of(inner)
        if (cached := programs.get(key)) is not None:
            return cached
    for_tracing = (config.trace_key(), *key[1:])
    program = programs.get(for_tracing)
    if program is None:
        program = _compile_primitive(prim, avals, params, placement)
        program = util.remember(programs, for_tracing, program, _MOST_PROGRAMS)
    key = option.interned_state(), *key[1:]
    return util.remember(programs, key, program, _MOST_PROGRAMS)


@option.recorded
def _compile_primitive(
    prim: Primitive,
    avals: Sequence[Any],
    params: dict[str, Any],
    placement: Placement,
) -> Program:
    closed = single_equation_jaxpr(prim, avals, params)
    options = Options(prim.name, keep_unused=True, has_locations=False)
    return compile_request(Request(closed, placement, (), options))


def program_of_one(
    prim: Primitive,
    avals: Sequence[Aval],
    params: Params,
    placement: Placement,
) -> Program:
    """Return the program with which `run` evaluates a primitive."""
    param_items = tuple(params.items()) if params else None
    key = (option.state(), prim, id(placement), param_items, *avals)
    return _programs.get(key) or _find_program(key, prim, avals, params, placement)


def single_equation_jaxpr(
    prim: Primitive, avals: Sequence[Aval], params: Params
) -> ClosedJaxpr:
    """Return a jaxpr with one equation."""
    out = abstract(prim, avals, params)
    out_avals = list(out) if prim.multiple_results else [out]
    invars = [Var(a) for a in avals]
    outvars = [Var(a) for a in out_avals]
    eqn = Equation(prim, invars, outvars, params)
    return ClosedJaxpr(Jaxpr([], invars, outvars, [eqn]))


def compile_request(request: Request) -> Program:
    """Lower and compile a jaxpr."""
    lowered = lower(request)
    consts = [retained_constant(c, lowered.placement) for c in lowered.module.consts]
    return compile_lowered(lowered, consts)


def run_program(
    program: Program,
    buffers: Sequence[Buffer],
    label: str,
    rerun: Callable[[], Any] | None = None,
) -> list[Value]:
    """Run a program on ArrayImpls, with the checks that are enabled.

    label: its name in messages.
    rerun: evaluates it operation by operation, to find the one that fails a check.
    """
    if was_execution_forbidden:
        check_execution_allowed(label)
    try:
        out = program(with_operand_layouts(program, buffers))
    except (RuntimeError, ValueError) as e:
        raise execution_error(e, buffers, program.kept_indices) from None
    for check in checks:
        check(label, out, rerun)
    return out


def eval_host_driven(closed: ClosedJaxpr, args: Sequence[Value]) -> list[Value]:
    """Evaluate a host-driven program operation by operation, without dead code."""
    jaxpr = closed.jaxpr
    live, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), keep_in=True)
    return eval_jaxpr(live, closed.consts, *args)


def is_host_driven(jaxpr: Jaxpr) -> bool:
    """Whether a program is evaluated operation by operation, from Python."""
    return drives_devices(jaxpr) or nesting.is_deep(jaxpr)


def drives_devices(jaxpr: Jaxpr) -> bool:
    """Whether a program contains a primitive that cannot be part of a compiled program."""
    return bool(host_driven) and _drives_devices(jaxpr)


@cached_on_jaxpr
def _drives_devices(jaxpr: Jaxpr) -> bool:
    return any(eqn.primitive in host_driven for eqn in jaxpr.eqns) or any(
        drives_devices(p.jaxpr) for p in closed_jaxprs_in(jaxpr)
    )


# ---------------------------------------------------------------------------- NaN checks


def is_nan_check_enabled() -> bool:
    """Whether results are checked for NaNs or infinities now, in this thread."""
    return bool(config.DEBUG_NANS.value or config.DEBUG_INFS.value)


def nan_check(
    name: str,
    out: Sequence[Value],
    reevaluate: Callable[[], Any] | None = None,
    program: Callable[[], tuple[ClosedJaxpr, Sequence[Any]]] | None = None,
) -> None:
    """Raise FloatingPointError if a result contains NaNs or infinities that are checked
    for.

    reevaluate: computes the results operation by operation, and raises at the first bad
    one.
    program: returns the program inside a loop, branch or call, and its operands; the error
    then names the operation inside.
    """
    if not is_nan_check_enabled():
        return
    values = [
        transfers.host_value(b)
        for b in out
        if b is not None and dtypes.is_inexact(b.aval.dtype)
    ]
    for checked, kind, wrong in (
        (config.DEBUG_NANS, "nan", np.isnan),
        (config.DEBUG_INFS, "inf", np.isinf),
    ):
        if checked.value and any(wrong(v).any() for v in values):
            if reevaluate is not None:
                reevaluate()
            why = (
                "evaluated operation by operation, no result had it: either the"
                " program received it as an operand, or XLA computes differently."
            )
            which, where = None, str(STATE.source or source.user_source() or "") or None
            if program is not None:
                which, where = hooks.first_nan.call(*program(), (kind,)) or (which, where)
            raise errors.error(
                FloatingPointError,
                f"invalid value ({kind}) encountered in {name}",
                which=which,
                where=where,
                why=None if reevaluate is None else why,
            )


def _on_nan_option(on: Any) -> None:
    if on and nan_check not in checks:
        checks.append(nan_check)


for _option in (config.DEBUG_NANS, config.DEBUG_INFS):
    _option.on_change = _on_nan_option
    _on_nan_option(_option.value)

atexit.register(shutdown.wait_for_all)

# Last, because another thread may evaluate as soon as the hook is filled.
hooks.evaluate.fill(run)
