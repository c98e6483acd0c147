"""Dispatch: evaluation of eager primitives and of compiled programs.

`run` evaluates one primitive. Its program is compiled once for the primitive's params and
operand types, and looked up in one flat dict. `compile_jaxpr` makes the `Program` of a
whole jaxpr for `jit`. device_assignment.py chooses the devices.

This module names no operation.  Next: ../../prims.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import chain
from typing import Any

import numpy as np

from ...analysis.contents import closed_jaxprs_in
from ...base import config, errors, log, monitoring, option, source, util
from ...ir import core, hooks
from ...ir.core import STATE, Primitive, host_driven
from ...ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Var, eval_jaxpr, sub_jaxprs
from ...passes.dce import dce_jaxpr
from ...passes.stage import abstract
from ...types import dtypes
from ...types.avals import WIDE_SCALARS, keeps_wide_dtype
from ..arrays import array as arrays
from ..arrays import transfers
from ..arrays.array import ArrayImpl, KeyArray
from ..arrays.operands import retained_buffer, to_buffer
from ..arrays.tokens import Token
from ..backends import jaxlib_compat as compat
from ..lowering import nesting
from ..lowering.context import main_aval
from ..lowering.lower_jaxpr import lower_jaxpr
from ..sharding import layout_conversion
from ..sharding import placement as placements
from ..sharding.device_assignment import (
    RequestedPlacement,
    move_buffer,
    place_values,
    requested_placement_of,
)
from ..sharding.partitioned_placement import (
    PartitionedPlacement,
    check_meshes,
    put_sharded,
    with_layout,
)
from ..sharding.placement import Placement
from . import compile as compiler
from . import pacing, shutdown
from .callback_errors import Failures


def not_loaded(*_: Any, **__: Any) -> Any:
    """Raise RuntimeError: `run` of a program for devices that this process lacks."""
    raise errors.error(
        RuntimeError,
        "This program was compiled for devices that this process does not have, so it"
        " cannot be called.",
        tries=["compile it for jax.devices()"],
    )


class Program:
    """An executable with everything that a call needs."""

    __slots__ = (
        "committed",
        "consts",
        "executable",
        "failures",
        "handlers",
        "has_keys",
        "in_sharding",
        "kept_indices",
        "operand_layouts",
        "out_avals",
        "out_shardings",
        "ordered",
        "pace",
        "placement",
        "run",
        "stable",
    )

    def __init__(
        self,
        executable: Any,
        consts: list[Any],
        kept_indices: list[int],
        n_in: int,
        out_avals: Sequence[Any],
        placement: Placement | PartitionedPlacement,
        committed: bool,
        in_avals: Sequence[Any] = (),
        has_custom_layouts: bool = False,
    ) -> None:
        self.executable = executable
        # The layouts that the kept arguments must have; None: all default.
        self.operand_layouts: list[Any] | None = None
        self.consts = consts
        self.kept_indices = kept_indices if len(kept_indices) < n_in or consts else None
        self.placement = placement
        self.committed = committed
        self.out_avals = list(out_avals)
        stored = list(map(main_aval, out_avals))
        if isinstance(placement, PartitionedPlacement):
            self.in_sharding = None
            self.out_shardings = placement.results(executable, stored, in_avals)
        else:
            self.in_sharding = (
                placement.committed_sharding if committed else placement.uncommitted_sharding
            )
            self.out_shardings = [placement.sharding_of(a, committed) for a in stored]
        if has_custom_layouts:
            device = placement.devices[0]
            result_shardings = layout_conversion.result_shardings(
                executable, self.out_shardings, device
            )
            self.out_shardings = result_shardings
            self.operand_layouts = layout_conversion.argument_layouts(
                executable, len(consts), device
            )
        self.handlers = [
            compat.result_handler(a, s, committed)
            for a, s in zip(stored, self.out_shardings, strict=True)
        ]
        self.has_keys = any(a is not s for a, s in zip(out_avals, stored, strict=True))
        # Executables of compile-only devices lack this method.
        self.run = getattr(executable, "execute_sharded", not_loaded)
        self.pace = pacing.pace_of(placement.devices)
        if self.pace is not None:
            self.run = pacing.paced(self.run, self.pace)
        self.stable = True
        self.ordered = False
        self.failures: Failures | None = None

    def wrap(self, out: Sequence[Any]) -> list[Any]:
        """Return the program's results as arrays; keys and tokens are wrapped."""
        if self.has_keys:
            return list(map(arrays.wrap, out, self.out_avals))
        return list(out)

    def __call__(self, buffers: Sequence[Any]) -> list[Any]:
        """Run on ArrayImpls; return ArrayImpls."""
        if self.operand_layouts is not None:
            buffers = self.with_operand_layouts(buffers)
        if self.kept_indices is not None:
            buffers = self.consts + [buffers[i] for i in self.kept_indices]
        if self.stable:
            results = self.run(buffers)
            return results.consume_with_handlers(self.handlers)  # type: ignore[no-any-return]
        return self.run_with_effects(buffers)

    def with_operand_layouts(self, buffers: Sequence[Any]) -> list[Any]:
        """Return the operands in the layouts that the program was compiled for."""
        assert self.operand_layouts is not None
        out = list(buffers)
        indices = range(len(out)) if self.kept_indices is None else self.kept_indices
        for i, layout in zip(indices, self.operand_layouts, strict=True):
            out[i] = with_layout(out[i], layout)
        return out

    def run_with_effects(self, buffers: Sequence[Any]) -> list[Any]:
        """Run a program with effects; programs with ordered effects run one after another."""
        failures = self.failures
        with nullcontext() if failures is None else failures.watched():
            results = self.run(buffers, with_tokens=True)
            token = results.consume_token()
            out = results.consume_with_handlers(self.handlers)
            # The next program with ordered effects must not run concurrently, and failures must
            # be known before the call returns.
            if self.ordered or failures is not None:
                token.block_until_ready()
        hooks.started.call(token)
        return out  # type: ignore[no-any-return]


_programs: dict[Any, Program] = util.cache({})
_MOST_PROGRAMS = 8192  # two keys for each program, which holds 100 kB of code
# Checks of results; each is added when it is first enabled, so `run` pays for none before.
checks: list[Callable[..., None]] = []
was_execution_forbidden = (
    False  # whether execution was ever forbidden; if not, `run` skips `check_execution_allowed`
)


def check_execution_allowed(name: str) -> None:
    """Raise RuntimeError if `jax_no_execution` is on in this thread."""
    if config.NO_EXECUTION.peek():
        raise errors.error(
            RuntimeError,
            f"JAX tried to execute function jit({name}), but the no_execution config"
            " option is set",
            where=core.stack_text(),
            tries=["jax.make_jaxpr", "jax.jit(f).lower(...).compile()"],
        )


def _on_no_execution(value: Any, local: bool) -> None:
    global was_execution_forbidden
    was_execution_forbidden = was_execution_forbidden or value is True


config.NO_EXECUTION.watch(_on_no_execution)


def run(
    prim: Primitive,
    args: tuple[Any, ...],
    params: dict[str, Any],
    requested: RequestedPlacement | None = None,
) -> Any:
    """Evaluate a primitive on concrete values."""
    if was_execution_forbidden:
        check_execution_allowed(prim.name)
    sharding = None
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
    placed = (
        placements.by_sharding.get(id(sharding))
        if same_sharding and requested is None
        else None
    )
    if placed is None:
        if requested is None:
            check_meshes(prim.name, args)
        buffers, placement, committed = place_values(args, prim.name, requested=requested)
        avals = [b.aval for b in buffers]
    else:
        placement, committed = placed
        if has_host_values:
            for i, x in enumerate(args):
                if type(x) is not ArrayImpl:
                    buffers[i] = to_buffer(x, placement)
            avals = [b.aval for b in buffers]
    if has_keys:
        avals = [
            core.aval_of(x) if type(x) is KeyArray or type(x) is Token else a
            for x, a in zip(args, avals, strict=True)
        ]
    try:
        # Ids of placements are valid keys, because placements are never freed.
        param_items = tuple(params.items()) if params else None
        key = (option.state(), prim, id(placement), committed, param_items, *avals)
        program = _programs.get(key)
    except TypeError:  # unhashable params
        key, program = None, None
    if program is None:
        program = _find_program(key, prim, avals, params, placement, committed)
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
    return program.wrap(out)[0] if program.has_keys else out[0]


def run_region(prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
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
    error: Exception, buffers: Sequence[Any], kept_indices: Sequence[int] | None = None
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
    placement: Placement | PartitionedPlacement,
    committed: bool,
) -> Program:
    """Return the program of a primitive from the cache, or compile it.

    If its params hold jaxprs, the program is cached with the first of them, and freed with
    it.
    """
    programs: dict[Any, Program] = _programs
    if key is not None:
        exported = (x for x in params.values() if hasattr(x, "memo"))
        if inner := next(chain(sub_jaxprs(params), exported), None):
            programs = programs_of(inner)
    if key is None:
        return _compile_primitive(prim, avals, params, placement, committed)
    for_tracing = (config.trace_key(), *key[1:])
    program = programs.get(for_tracing)
    if program is None:
        program = _compile_primitive(prim, avals, params, placement, committed)
        program = util.remember(programs, for_tracing, program, _MOST_PROGRAMS)
    return util.remember(programs, key, program, _MOST_PROGRAMS)


@option.recorded
def _compile_primitive(
    prim: Primitive,
    avals: Sequence[Any],
    params: dict[str, Any],
    placement: Placement | PartitionedPlacement,
    committed: bool,
) -> Program:
    return compile_jaxpr(
        single_equation_jaxpr(prim, avals, params),
        prim.name,
        placement,
        committed,
        keep_unused=True,
        locations=False,
    )


def program_of_one(
    prim: Primitive,
    avals: Sequence[Any],
    params: dict[str, Any],
    placement: Placement | PartitionedPlacement,
    committed: bool,
) -> Program:
    """Return the program with which `run` evaluates a primitive."""
    param_items = tuple(params.items()) if params else None
    key = (option.state(), prim, id(placement), committed, param_items, *avals)
    return _programs.get(key) or _find_program(key, prim, avals, params, placement, committed)


def single_equation_jaxpr(
    prim: Primitive, avals: Sequence[Any], params: dict[str, Any]
) -> ClosedJaxpr:
    """Return a jaxpr with one equation."""
    out = abstract(prim, avals, params)
    out_avals = list(out) if prim.multiple_results else [out]
    invars = [Var(a) for a in avals]
    outvars = [Var(a) for a in out_avals]
    eqn = Equation(prim, invars, outvars, params)
    return ClosedJaxpr(Jaxpr([], invars, outvars, [eqn]))


def compile_jaxpr(
    closed: ClosedJaxpr,
    name: str,
    placement: Placement | PartitionedPlacement,
    committed: bool,
    *,
    donated: Sequence[bool] = (),
    keep_unused: bool = False,
    overrides: dict[str, Any] | None = None,
    locations: bool = True,
    layouts: tuple[Sequence[Any], Sequence[Any]] | None = None,
) -> Program:
    """Lower and compile a jaxpr for a placement.

    layouts: the layouts of the arguments and results; None: all default.
    """
    note_compiling(f"jit({name})", closed)
    n_in = len(closed.in_avals)
    closed, kept_indices = drop_unused(closed, keep_unused)
    partitioned: PartitionedPlacement | None = None
    if isinstance(placement, PartitionedPlacement):
        placement = partitioned = placement.select_operands(kept_indices).typed(closed)
    ordered = any(getattr(e, "ordered", False) for e in closed.effects)
    with monitoring.stage(monitoring.LOWERING, f"jit({name})"):
        lowered = lower_jaxpr(
            closed,
            name,
            placement.platform,
            donated=[donated[i] for i in kept_indices] if donated else (),
            ordered=ordered,
            locations=locations,
            placement=partitioned,
            layout_modes=layout_modes(layouts, kept_indices, placement),
        )
    nesting.check(lowered, name)
    with monitoring.stage(monitoring.COMPILING, f"jit({name})"):
        executable = compiler.compile_module(
            lowered.module,
            placement.devices,
            partitions=len(placement.devices),
            callbacks=lowered.callbacks,
            overrides=overrides,
            has_locations=locations,
        )
    consts = [retained_constant(c, placement) for c in lowered.consts]
    return finish_program(
        executable,
        lowered,
        consts,
        kept_indices,
        n_in,
        closed,
        placement,
        committed,
        ordered,
        layouts is not None,
    )


def note_compiling(name: str, closed: ClosedJaxpr) -> None:
    """Log that a program will be lowered and compiled."""
    log.log_line(
        config.LOG_COMPILES.peek(),
        "Compiling %s with global shapes and types %s.",
        name,
        tuple(closed.in_avals),
    )


def layout_modes(
    layouts: tuple[Sequence[Any], Sequence[Any]] | None,
    kept_indices: Sequence[int],
    where: Placement | PartitionedPlacement,
) -> tuple[list[str], list[str]] | None:
    """Return XLA's layout modes of the kept arguments and of the results."""
    if layouts is None:
        return None
    ins, outs = layouts
    return [layout_conversion.layout_mode(ins[i]) for i in kept_indices], list(
        map(layout_conversion.layout_mode, outs)
    )


def retained_constant(value: Any, placement: Placement | PartitionedPlacement) -> Any:
    """Return a captured constant as an ArrayImpl that its program keeps; unchanged for
    compile-only devices."""
    if compat.is_compile_only(placement.device.client):
        return value
    if isinstance(placement, PartitionedPlacement):
        return put_sharded(value, placement.replicated)
    return move_buffer(retained_buffer(value, placement), placement)


def finish_program(
    executable: Any,
    lowered: Any,
    consts: list[Any],
    kept_indices: list[int],
    n_in: int,
    closed: ClosedJaxpr,
    placement: Placement | PartitionedPlacement,
    committed: bool,
    ordered: bool,
    has_custom_layouts: bool = False,
) -> Program:
    """Build a `Program` that reads the inputs in `kept_indices`, out of `n_in`."""
    program = Program(
        executable,
        consts,
        kept_indices,
        n_in,
        closed.out_avals,
        placement,
        committed,
        closed.in_avals,
        has_custom_layouts,
    )
    program.ordered = ordered
    # Some effects leave no operations in the program: it may take the fast path.
    program.stable = not any(getattr(e, "runs", True) for e in closed.effects)
    if lowered.failures is not None:
        program.failures, program.stable = lowered.failures, False
    # C++ refers to these objects by address while the executable lives.
    for item in lowered.keepalive:
        executable.keep_alive(item) if hasattr(executable, "keep_alive") else None
    return program


def drop_unused(closed: ClosedJaxpr, keep_unused: bool) -> tuple[ClosedJaxpr, list[int]]:
    """Return the program without unused inputs, and the indices of the remaining ones.

    If a result is sharded along `Explicit` axes, one input that is sharded so is kept: it
    determines the devices.
    """
    jaxpr = closed.jaxpr
    if keep_unused:
        return closed, list(range(len(jaxpr.invars)))
    cached = jaxpr.memo.get("needed")
    if cached is None:
        live, used = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))
        if any(map(has_explicit_sharding, jaxpr.outvars)) and not any(
            map(has_explicit_sharding, live.invars)
        ):
            first = next(filter(has_explicit_sharding, jaxpr.invars), None)
            keep = [v is first for v in jaxpr.invars]
            live, used = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), keep)
        cached = jaxpr.memo["needed"] = (
            jaxpr if all(used) else live,
            [i for i, u in enumerate(used) if u],
        )
    live, kept_indices = cached
    return (closed if live is jaxpr else ClosedJaxpr(live, closed.consts)), kept_indices


def has_explicit_sharding(atom: Any) -> bool:
    """Whether a value's type has an explicit sharding."""
    return atom.aval.type_sharding.explicit is not None


def eval_host_driven(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """Evaluate a host-driven program operation by operation, without dead code."""
    jaxpr = closed.jaxpr
    live, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), keep_in=True)
    return eval_jaxpr(live, closed.consts, *args)


def is_host_driven(jaxpr: Jaxpr) -> bool:
    """Whether a program is evaluated operation by operation, from Python."""
    return drives_devices(jaxpr) or nesting.is_deep(jaxpr)


def drives_devices(jaxpr: Jaxpr) -> bool:
    """Whether a program contains a primitive that cannot be part of a compiled program."""
    if not host_driven:
        return False
    cached = jaxpr.memo.get("host_driven")
    if cached is None:
        cached = jaxpr.memo["host_driven"] = any(
            eqn.primitive in host_driven for eqn in jaxpr.eqns
        ) or any(drives_devices(p.jaxpr) for p in closed_jaxprs_in(jaxpr))
    return bool(cached)


# ---------------------------------------------------------------------------- NaN checks


def is_nan_check_enabled() -> bool:
    """Whether results are checked for NaNs or infinities now, in this thread."""
    return bool(config.DEBUG_NANS.value or config.DEBUG_INFS.value)


def nan_check(
    name: str,
    out: Sequence[Any],
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
