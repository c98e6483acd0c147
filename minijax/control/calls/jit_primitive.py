"""`jit_p`, the call of a compiled function, and `closed_call_p`, the call of a jaxpr.

When it is evaluated, its jaxpr is compiled once per device and run; when it is staged, it
becomes an equation.  Each transformation of it is a call of the transformed jaxpr.

Next: jitted.py, which binds it.
"""

from __future__ import annotations

import functools
import time
import weakref
from collections.abc import Sequence
from typing import Any

from ...base import config, errors, util
from ...ir.core import EVAL, STATE, current
from ...ir.jaxpr import ClosedJaxpr, Equation, lift_consts
from ...ir.regions import Call
from ...passes.region_rules import def_region_rules
from ...passes.stage import StageTrace
from ...prims.sharding_constraint import constrain_evenly
from ...runtime.lowering import nesting
from ...runtime.running import device_assignment, dispatch
from ...runtime.running.program import Options, Program, Request, drop_unused
from ...runtime.sharding.shardings import Sharding
from ..refs import discharge
from ..refs.discharge import FunctionPrimitive
from . import cache_misses


class JitPrimitive(FunctionPrimitive):
    """The call of a compiled function."""

    __slots__ = ()

    def bind(self, *args: Any, **params: Any) -> Any:
        if "in_shardings" in params:
            return self.bind_with_shardings(args, params)
        return FunctionPrimitive.bind(self, *args, **params)

    def bind_with_shardings(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Bind with params that include shardings, which become constraints.

        The mesh that was current while the jaxpr was traced is part of the jaxpr already.
        """
        ins, outs = params.pop("in_shardings"), params.pop("out_shardings")
        params.pop("ctx_mesh", None)
        layouts = (*params.pop("in_layouts", ()), *params.pop("out_layouts", ()))
        if any(x is not None for x in layouts):
            raise errors.value_error(
                "jit_p.bind does not take layouts.",
                why="Arrays have the default layout of their device.",
                tries=["None for each operand and result"],
            )
        params.setdefault("device", None)
        pairs = zip(args, ins, strict=True)
        results = super().bind(*[_constrained(x, s, "arguments") for x, s in pairs], **params)
        return [_constrained(x, s, "outputs") for x, s in zip(results, outs, strict=True)]


def _constrained(x: Any, sharding: Any, what: str) -> Any:
    if not isinstance(sharding, Sharding):
        return x
    return constrain_evenly(x, sharding, f"pjit {what}")


def jit_pretty(eqn: Equation, printer: Any) -> list[tuple[str, Any]]:
    """Print the params that differ from their defaults; inner names follow outer ones."""
    printer.same_names(eqn.params["jaxpr"].jaxpr, eqn)
    defaults = {
        "compiler_options_kvs": (),
        "device": None,
        "inline": False,
        "keep_unused": False,
        "donated_invars": (False,) * len(eqn.ins),
    }
    return printer.shown(eqn, defaults, first="name")


jit_p = JitPrimitive("jit")
def_region_rules(
    jit_p,
    Call("jaxpr", reset={"donated_invars": False}),
    lowers_key_arrays=True,
    pretty=jit_pretty,
)


def jit_stage(trace: StageTrace, args: Sequence[Any], params: dict[str, Any]) -> Any:
    closed = params["jaxpr"]
    if params["inline"] and params["device"] is None:
        with current(trace):  # a rule that delegates to it runs at its parent
            return closed(*args)
    if consts := closed.consts:  # the enclosing program holds them, once for all calls
        donated = (*(False for _ in consts), *params["donated_invars"])
        args = (*consts, *args)
        closed = lift_consts(closed.jaxpr)
        params = {**params, "jaxpr": closed, "donated_invars": donated}
    atoms = [trace.atom(x) for x in args]
    return trace.record(jit_p, atoms, params, closed.out_avals)


jit_p.stage = jit_stage


def jit_lower(ctx: Any, *args: Any, jaxpr: ClosedJaxpr, name: str, **params: Any) -> list[Any]:
    ctx.rename(f"jit({name})", fills=True)
    return ctx.call(jaxpr, name, args)  # type: ignore[no-any-return]


jit_p.lower = jit_lower


derived_discharge = jit_p.discharge


def jit_discharge(needs_discharge: Sequence[bool], args: Any, params: dict[str, Any]) -> Any:
    if STATE.trace is not EVAL:
        return derived_discharge(needs_discharge, args, params)
    # The program updates in place the references that it writes to.
    flat, written = discharge.discharge_jaxpr(params["jaxpr"], needs_discharge)
    pairs = zip(params["donated_invars"], written, strict=True)
    new = {**params, "jaxpr": flat, "donated_invars": tuple(d or w for d, w in pairs)}
    out = jit_p.bind(*discharge.owned_values(args, needs_discharge, written), **new)
    n = len(params["jaxpr"].out_avals)
    discharge.write_back(args, written, out[n:], owned=True)
    return out[:n]


jit_p.discharge = jit_discharge

# By jaxpr, weakly: when the jaxpr dies, its programs and their memory on devices are freed.
_programs: Any = util.cache(weakref.WeakKeyDictionary())
_compile_seconds: Any = util.cache(weakref.WeakKeyDictionary())
# The names of the entries of a program's cache key.
KEY = ("placement", "donated", *Options._fields, "configuration")


def jit_impl(
    *args: Any,
    jaxpr: ClosedJaxpr,
    name: str,
    donated_invars: Sequence[bool] = (),
    keep_unused: bool = False,
    device: Any = None,
    compiler_options_kvs: tuple[Any, ...] = (),
    **_: Any,
) -> list[Any]:
    """Run a jaxpr as one program."""
    if dispatch.is_host_driven(jaxpr.jaxpr):
        return dispatch.eval_host_driven(jaxpr, args)
    needed, kept_indices = drop_unused(jaxpr, keep_unused)
    requested = device_assignment.requested_placement_of([needed.jaxpr], len(kept_indices))
    chosen_device = None if device is None else device.devices[0]
    buffers, placement = device_assignment.place_values(
        args, name, chosen_device, requested, jaxpr.jaxpr.arg_names, kept_indices=kept_indices
    )
    options = Options(name, keep_unused=keep_unused, compiler=compiler_options_kvs)
    try:
        program = program_of(Request(jaxpr, placement, donated_invars, options))
    except nesting.TooDeep:
        if dispatch.is_host_driven(jaxpr.jaxpr):
            return dispatch.eval_host_driven(jaxpr, args)
        raise
    rerun = None if any(donated_invars) else functools.partial(jaxpr, *args)
    return program.wrap(dispatch.run_program(program, buffers, f"jit({name})", rerun))


jit_p.impl = jit_p.evaluated(jit_impl)


def program_of(request: Request) -> Program:
    """Return the compiled program of a request, cached with its jaxpr."""
    if dispatch.checks and dispatch.is_nan_check_enabled():
        # After a failed check the operands are evaluated again.
        request = request._replace(donated=())
    jaxpr, placement, donated, options = request
    programs = _programs.setdefault(jaxpr, {})
    key = placement, tuple(donated), *options, config.trace_key()
    program = programs.get(key)
    if program is None:
        began = time.perf_counter()
        with cache_misses.notify_listeners("compile", options.name, jaxpr, key, list(programs)):
            program = dispatch.compile_request(request)
            programs[key] = program
        _compile_seconds.setdefault(jaxpr, {})[key] = time.perf_counter() - began
    return program  # type: ignore[no-any-return]


def compiled_for(jaxpr: ClosedJaxpr) -> dict[Any, float]:
    """Return the cache keys for which a jaxpr was compiled, with seconds spent."""
    return dict(_compile_seconds.get(jaxpr, {}))


# ------------------------------------------------------------------------- closed calls


class ClosedCallPrimitive(FunctionPrimitive):
    """The call of a jaxpr."""

    __slots__ = ()
    call_primitive = True


closed_call_p = ClosedCallPrimitive("closed_call")
"""The call of a jaxpr that is compiled together with its surroundings."""
def_region_rules(closed_call_p, Call("call_jaxpr"), lowers_key_arrays=True)
closed_call_p.impl = lambda *args, call_jaxpr: call_jaxpr(*args)
closed_call_p.lower = lambda ctx, *args, call_jaxpr: ctx.call(call_jaxpr, "closed_call", args)


def derive_as_call(prim: FunctionPrimitive, param: str) -> None:
    """Give a primitive the derivatives and batches of a call of its jaxpr, `param`.

    The primitive describes the function itself, not its transformed forms.
    """

    def rule(name: str) -> Any:
        def apply(*args: Any, **params: Any) -> Any:
            return getattr(closed_call_p, name)(*args, call_jaxpr=params[param])

        return apply

    prim.jvp, prim.transpose, prim.batch = map(rule, ("jvp", "transpose", "batch"))
    prim.linearize = prim.dce = None
