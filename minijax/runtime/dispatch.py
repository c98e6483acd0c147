"""Running: eager primitives, compiled programs, and where they run.

`run` is evaluation: a primitive alone, compiled once for its params and types, found
again in one flat dict.  `compile_jaxpr` makes the `Program` of a whole jaxpr for `jit`.
The place is decided by the arguments: a committed one binds, else the default device.

This room names no operation.  Next: ../ops.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from ..base import config, errors, log, monitoring, source, util
from ..ir import core, hooks
from ..ir.core import STATE, Primitive, host_driven
from ..ir.jaxpr import (
    ClosedJaxpr,
    Equation,
    Jaxpr,
    Var,
    contents,
    eval_jaxpr,
    programs,
    programs_in,
    sub_jaxprs,
)
from ..passes.dce import dce_jaxpr
from ..passes.stage import abstract
from ..types import dtypes
from ..types.avals import WIDE_SCALARS, is_wide_beside, shaped
from . import array as arrays
from . import compile as compiler
from . import ending, orders, pacing, placements, transfers
from . import jaxlib_compat as compat
from .array import ARRAYS, ArrayImpl, KeyArray, base_array
from .failures import Failures
from .lower import handed
from .lowered import lower_jaxpr
from .mesh import Mesh
from .operands import kept_buffer, to_buffer
from .partition_spec import PartitionSpec
from .placements import Placement
from .sharding import NamedSharding, OneOf, SingleDeviceSharding, is_laid_out
from .spread import (
    PLACES,
    Spread,
    bound,
    check_meshes,
    in_order,
    incompatible,
    lies,
    mesh_of,
    mismatch,
    plain,
    put,
    put_as_it_lies,
    spread,
    told,
    told_devices,
    told_sharding,
)
from .tokens import Token


def not_loaded(*_: Any, **__: Any) -> Any:
    """What running a program does whose devices are not there: it raises."""
    raise errors.error(
        RuntimeError,
        "This program was compiled for devices that are not there: it cannot be called.",
        tries=["compile it for jax.devices()"],
    )


class Program:
    """An executable with what calling it takes."""

    __slots__ = (
        "committed", "consts", "executable", "failures", "handlers", "has_keys",
        "in_sharding", "kept", "orders", "out_avals", "out_shardings", "ordered", "pace",
        "place", "run", "stable",
    )  # fmt: skip

    def __init__(
        self, executable: Any, consts: list[Any], kept: list[int], n_in: int,
        out_avals: Sequence[Any], place: Placement | Spread, committed: bool,
        in_avals: Sequence[Any] = (), laid_out: bool = False,
    ) -> None:  # fmt: skip
        self.executable = executable
        # In which orders the arguments that are kept must lie.
        self.orders: list[Any] | None = None
        self.consts = consts
        self.kept = kept if len(kept) < n_in or consts else None
        self.place = place
        self.committed = committed
        self.out_avals = list(out_avals)
        stored = list(map(handed, out_avals))
        if isinstance(place, Spread):
            self.in_sharding = None
            self.out_shardings = place.results(executable, stored, in_avals)
        else:
            self.in_sharding = place.committed if committed else place.loose
            self.out_shardings = [place.sharding_of(a, committed) for a in stored]
        if laid_out:
            self.out_shardings = orders.result_shardings(executable, self.out_shardings)
            self.orders = orders.argument_orders(executable, len(consts))
        self.handlers = [
            compat.result_handler(a, s, committed)
            for a, s in zip(stored, self.out_shardings, strict=True)
        ]
        self.has_keys = any(a is not s for a, s in zip(out_avals, stored, strict=True))
        self.run = getattr(executable, "execute_sharded", not_loaded)
        self.pace = pacing.pace_of(place.devices)
        if self.pace is not None:
            self.run = pacing.paced(self.run, self.pace)
        self.stable = True
        self.ordered = False
        self.failures: Failures | None = None

    def wrap(self, out: Sequence[Any]) -> list[Any]:
        """Arrays around the ArrayImpls of the program's results."""
        if self.has_keys:
            return list(map(arrays.wrap, out, self.out_avals))
        return list(out)

    def __call__(self, buffers: Sequence[Any]) -> list[Any]:
        """Run on ArrayImpls; returns ArrayImpls."""
        if self.orders is not None:
            buffers = self.in_orders(buffers)
        if self.kept is not None:
            buffers = self.consts + [buffers[i] for i in self.kept]
        if self.stable:
            results = self.run(buffers)
            return results.consume_with_handlers(self.handlers)  # type: ignore[no-any-return]
        return self.run_with_effects(buffers)

    def in_orders(self, buffers: Sequence[Any]) -> list[Any]:
        """The operands as they are to lie in memory."""
        assert self.orders is not None
        out = list(buffers)
        kept = range(len(out)) if self.kept is None else self.kept
        for i, order in zip(kept, self.orders, strict=True):
            out[i] = in_order(out[i], order)
        return out

    def run_with_effects(self, buffers: Sequence[Any]) -> list[Any]:
        """Run a program with effects; programs with ordered ones run in turn."""
        failures = self.failures
        with nullcontext() if failures is None else failures.watched():
            results = self.run(buffers, with_tokens=True)
            token = results.consume_token()
            out = results.consume_with_handlers(self.handlers)
            if self.ordered or failures is not None:
                token.block_until_ready()
        hooks.started.call(token)
        return out  # type: ignore[no-any-return]


_programs: dict[Any, Program] = util.cache({})
_MOST_PROGRAMS = 4096  # of primitives by params and types: each holds 100 kB of code
# Checks of results, from when they are first switched on.
checks: list[Callable[..., None]] = []
barred = False  # whether execution was ever forbidden, so that `check_barred` is asked


def check_barred(name: str) -> None:
    """RuntimeError if `jax_no_execution` is on in this thread."""
    if config.NO_EXECUTION.value:
        raise errors.error(
            RuntimeError,
            f"JAX tried to execute function jit({name}), but the no_execution config"
            " option is set",
            where=core.stack_text(),
            tries=["jax.make_jaxpr", "jax.jit(f).lower(...).compile()"],
        )


def _bar(value: Any, local: bool) -> None:
    global barred
    barred = barred or value is True


config.NO_EXECUTION.watch(_bar)


def run(
    prim: Primitive, args: tuple[Any, ...], params: dict[str, Any],
    over: Over | None = None,
) -> Any:  # fmt: skip
    """Evaluate a primitive on concrete values."""
    if barred:
        check_barred(prim.name)
    sharding = None
    plain, keys, hosts = True, False, False
    buffers, avals = [], []
    for x in args:
        if type(x) is ArrayImpl:
            if sharding is None:
                sharding = x._sharding
            elif x._sharding is not sharding:
                plain = False
            buffers.append(x)
            avals.append(x.aval)
        else:
            wide = type(x) in WIDE_SCALARS and prim.regions is None
            if wide and is_wide_beside(x, args):
                return run(prim, transfers.kept_wide(args), params, over)
            buffers.append(x)
            hosts = True
            if type(x) is KeyArray or type(x) is Token:
                plain, keys = False, True
    known = placements.by_sharding.get(id(sharding)) if plain and over is None else None
    if known is None:
        if over is None:
            check_meshes(prim.name, args)
        buffers, where, committed = place_values(args, prim.name, over=over)
        avals = [b.aval for b in buffers]
    else:
        where, committed = known
        if hosts:
            for i, x in enumerate(args):
                if type(x) is not ArrayImpl:
                    buffers[i] = to_buffer(x, where)
            avals = [b.aval for b in buffers]
    if keys:
        avals = [
            core.aval_of(x) if type(x) is KeyArray or type(x) is Token else a
            for x, a in zip(args, avals, strict=True)
        ]
    try:
        key = (
            prim, id(where), committed, tuple(params.items()) if params else None,
            *avals,
        )  # fmt: skip
        program = _programs.get(key)
    except TypeError:  # unhashable params
        key, program = None, None
    if program is None:
        program = _find_program(key, prim, avals, params, where, committed)
    try:
        if program.stable and program.kept is None:
            out = program.run(buffers).consume_with_handlers(program.handlers)
        else:
            out = program(buffers)
    except (RuntimeError, ValueError) as e:
        raise execution_error(e, buffers) from None
    if checks:
        for check in checks:
            check(prim.name, out)
    if prim.multiple_results:
        return program.wrap(out)
    return program.wrap(out)[0] if program.has_keys else out[0]


def run_region(prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """`run` of a primitive whose programs may say where values are to lie."""
    return run(prim, args, params, over_of(sub_jaxprs(params), len(args)))


def execution_error(
    error: Exception, buffers: Sequence[Any], kept: Sequence[int] | None = None
) -> Exception:
    """A clearer error for a failed execution, where the cause is known.

    kept: of the buffers, those that the program reads.
    """
    for b in buffers if kept is None else map(buffers.__getitem__, kept):
        if b.is_deleted():
            return RuntimeError(transfers.deleted_message(b.aval))
    return error


class _WithPrograms(util.Living[Jaxpr]):
    """The jaxprs whose `memo` holds programs."""

    __slots__ = ()

    def clear(self) -> None:
        found = list(self)
        super().clear()
        for jaxpr in found:
            jaxpr.memo.pop("programs", None)


_with_programs = util.cache(_WithPrograms())


def programs_of(jaxpr: Jaxpr) -> dict[Any, Any]:
    """Where to keep programs made of a jaxpr: they are forgotten with it."""
    known = jaxpr.memo.get("programs")
    if known is None:
        _with_programs.add(jaxpr)
        known = jaxpr.memo.setdefault("programs", {})
    return known  # type: ignore[no-any-return]


def _find_program(
    key: Any, prim: Primitive, avals: Sequence[Any], params: dict[str, Any],
    where: Placement | Spread, committed: bool,
) -> Program:  # fmt: skip
    """The program of a primitive; one that holds jaxprs is forgotten with them."""
    known: dict[Any, Program] = _programs
    if key is not None and (inner := next(iter(sub_jaxprs(params)), None)) is not None:
        known = programs_of(inner)
    program = known.get(key)
    if program is None:
        program = _compile_primitive(prim, avals, params, where, committed)
        if key is not None:
            program = util.remember(known, key, program, _MOST_PROGRAMS)
    return program


def _compile_primitive(
    prim: Primitive, avals: Sequence[Any], params: dict[str, Any],
    where: Placement | Spread, committed: bool,
) -> Program:  # fmt: skip
    return compile_jaxpr(
        alone(prim, avals, params), prim.name, where, committed, keep_unused=True,
        locations=False,
    )  # fmt: skip


def program_of_one(
    prim: Primitive, avals: Sequence[Any], params: dict[str, Any],
    where: Placement | Spread, committed: bool,
) -> Program:  # fmt: skip
    """The program by which `run` evaluates a primitive."""
    given = tuple(params.items()) if params else None
    key = (prim, id(where), committed, given, *avals)
    return _programs.get(key) or _find_program(
        key, prim, avals, params, where, committed
    )


def alone(prim: Primitive, avals: Sequence[Any], params: dict[str, Any]) -> ClosedJaxpr:
    """The program of a primitive alone."""
    out = abstract(prim, avals, params)
    out_avals = list(out) if prim.multiple_results else [out]
    invars = [Var(a) for a in avals]
    outvars = [Var(a) for a in out_avals]
    eqn = Equation(prim, invars, outvars, params)
    return ClosedJaxpr(Jaxpr([], invars, outvars, [eqn]))


def compile_jaxpr(
    closed: ClosedJaxpr, name: str, where: Placement | Spread, committed: bool, *,
    donated: Sequence[bool] = (), keep_unused: bool = False,
    overrides: dict[str, Any] | None = None, locations: bool = True,
    lie: tuple[Sequence[Any], Sequence[Any]] | None = None,
) -> Program:  # fmt: skip
    """Lower and compile a jaxpr for the place where it is to run.

    lie: the layouts of its arguments and results, where they are said.
    """
    note_compiling(f"jit({name})", closed)
    n_in = len(closed.in_avals)
    closed, kept = drop_unused(closed, keep_unused)
    over: Spread | None = None
    if isinstance(where, Spread):
        where = over = where.keeping(kept).typed(closed)
    ordered = any(getattr(e, "ordered", False) for e in closed.effects)
    with monitoring.stage(monitoring.LOWERING, f"jit({name})"):
        lowered = lower_jaxpr(
            closed,
            name,
            where.platform,
            donated=[donated[i] for i in kept] if donated else (),
            ordered=ordered,
            locations=locations,
            spread=over,
            orders=modes(lie, kept, where),
        )
    with monitoring.stage(monitoring.COMPILING, f"jit({name})"):
        executable = compiler.compile_module(
            lowered.module,
            where.devices,
            partitions=len(where.devices),
            callbacks=lowered.callbacks,
            overrides=overrides,
            has_locations=locations,
        )
    consts = [kept_const(c, where) for c in lowered.consts]
    return finish_program(
        executable, lowered, consts, kept, n_in, closed, where, committed, ordered,
        lie is not None,
    )  # fmt: skip


def note_compiling(name: str, closed: ClosedJaxpr) -> None:
    """Log that a program is about to be lowered and compiled."""
    log.say(
        config.LOG_COMPILES.value,
        "Compiling %s with global shapes and types %s.", name,
        tuple(closed.in_avals),
    )  # fmt: skip


def modes(
    lie: tuple[Sequence[Any], Sequence[Any]] | None, kept: Sequence[int],
    where: Placement | Spread,
) -> tuple[list[str], list[str]] | None:  # fmt: skip
    """What XLA is told of the layouts of arguments, of which some are kept, and results."""
    if lie is None:
        return None
    ins, outs = lie
    return [orders.mode(ins[i]) for i in kept], list(map(orders.mode, outs))


def kept_const(value: Any, where: Placement | Spread) -> Any:
    """A captured constant as an ArrayImpl that its program keeps; as it is where the
    devices are not there."""
    if compat.is_compile_only(where.device.client):
        return value
    if isinstance(where, Spread):
        return put(value, where.whole)
    return move_buffer(kept_buffer(value, where), where)


def finish_program(
    executable: Any, lowered: Any, consts: list[Any], kept: list[int], n_in: int,
    closed: ClosedJaxpr, where: Placement | Spread, committed: bool, ordered: bool,
    laid_out: bool = False,
) -> Program:  # fmt: skip
    """Put a `Program` together; of `n_in` inputs those numbered in `kept` are read."""
    program = Program(
        executable, consts, kept, n_in, closed.out_avals, where, committed,
        closed.in_avals, laid_out,
    )  # fmt: skip
    program.ordered = ordered
    # Some effects leave nothing behind in the program.
    program.stable = not any(getattr(e, "runs", True) for e in closed.effects)
    if lowered.failures is not None:
        program.failures, program.stable = lowered.failures, False
    for item in lowered.keepalive:
        executable.keep_alive(item) if hasattr(executable, "keep_alive") else None
    return program


def drop_unused(
    closed: ClosedJaxpr, keep_unused: bool
) -> tuple[ClosedJaxpr, list[int]]:
    """Without inputs that no result and no effect needs; and which ones are left."""
    jaxpr = closed.jaxpr
    if keep_unused:
        return closed, list(range(len(jaxpr.invars)))
    known = jaxpr.memo.get("needed")
    if known is None:
        live, used = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))
        known = jaxpr.memo["needed"] = (
            jaxpr if all(used) else live, [i for i, u in enumerate(used) if u]
        )  # fmt: skip
    live, kept = known
    return (closed if live is jaxpr else ClosedJaxpr(live, closed.consts)), kept


def run_by_hand(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """Evaluate a host-driven program operation by operation, without its dead code."""
    jaxpr = closed.jaxpr
    live, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), keep_in=True)
    return eval_jaxpr(live, closed.consts, *args)


def is_host_driven(jaxpr: Jaxpr) -> bool:
    """Whether a program holds a primitive that cannot be part of a compiled one."""
    if not host_driven:
        return False
    found = jaxpr.memo.get("host_driven")
    if found is None:
        found = jaxpr.memo["host_driven"] = any(
            eqn.primitive in host_driven for eqn in jaxpr.eqns
        ) or any(is_host_driven(p.jaxpr) for p in programs_in(jaxpr))
    return bool(found)


# -------------------------------------------------------------------------- placing


def place_values(
    values: Sequence[Any], name: str, device: Any = None, over: Over | None = None,
    names: Sequence[str] = (), as_they_lie: bool = False,
    kept: Sequence[int] | None = None,
) -> tuple[list[Any], Any, bool]:  # fmt: skip
    """ArrayImpls of values where their computation runs: a device, or several.

    over: the shardings that a function's arguments and results are to have.
    names: what the values are called, for errors.
    as_they_lie: leave those there in the order in which they lie in memory.
    kept: those that the computation needs, of which `over` tells; the others stay as
      they are, wherever they lie.
    """
    if kept is not None and len(kept) < len(values):
        needed = [values[i] for i in kept]
        called = [names[i] for i in kept] if names else ()
        placed, where, committed = place_values(
            needed, name, device, over, called, as_they_lie
        )
        buffers = list(values)
        for i, buffer in zip(kept, placed, strict=True):
            buffers[i] = buffer
        return buffers, where, committed
    if over is None and device is None and (found := _one_place(values)):
        where, committed = found
        to = to_buffer
        buffers = [x if type(x) is ArrayImpl else to(x, where) for x in values]
        return buffers, where, committed
    where, committed = common_place(values, name, over, names)
    if isinstance(where, Spread):
        return where.take(values, as_they_lie), where, True
    if device is not None:
        where, committed = placements.placement(device), True
    return buffers_at(values, where, as_they_lie=as_they_lie), where, committed


_NUMBERS = (bool, int, float, complex)


def _one_place(values: Sequence[Any]) -> tuple[Placement, bool] | None:
    """The device of values that all lie there alike; None where it takes a closer look."""
    place: Any = None
    for x in values:
        if type(x) is not ArrayImpl:
            if type(x) not in _NUMBERS:
                return None
        elif x.is_deleted():
            return None
        elif place is None:
            place = x._sharding
        elif x._sharding is not place:
            return None
    found = placements.by_sharding.get(id(place))
    if found is None or found[1]:
        return found
    said = config.MESH.value is not None or config.DEFAULT_DEVICE.value is not None
    return None if said else found


def buffers_at(
    values: Sequence[Any], where: Placement | Spread,
    kept: Sequence[int] | None = None, as_they_lie: bool = False,
) -> list[Any]:  # fmt: skip
    """ArrayImpls of values at a place, of those `kept`; None: of all."""
    if isinstance(where, Spread):
        lie = {i: k for k, i in enumerate(kept)} if kept is not None else None
        cut = put_as_it_lies if as_they_lie else put
        return [
            cut(x, where.sharding_in(i if lie is None else lie[i]))
            if lie is None or i in lie else x
            for i, x in enumerate(values)
        ]  # fmt: skip
    buffers = []
    needed = None if kept is None else set(kept)
    for i, x in enumerate(values):
        if needed is not None and i not in needed:
            buffers.append(x)
        elif type(x) in ARRAYS and not arrays.foreign(x):
            if x.is_deleted():
                raise RuntimeError(transfers.deleted_message(x.aval))
            buffers.append(move_buffer(base_array(x), where, as_they_lie))
        else:
            buffers.append(to_buffer(x, where))
    return buffers


def shardings_in(jaxpr: Jaxpr) -> tuple[tuple[str, Any], ...]:
    """The shardings of values inside of a program, and what says so: one for each list
    of devices."""
    memo = jaxpr.memo
    if "shardings" not in memo:
        found: dict[Any, tuple[str, Any]] = {}
        for x in contents(jaxpr):
            lie = NamedSharding(x, PartitionSpec()) if isinstance(x, Mesh) else x
            if isinstance(lie, PLACES) and lie.devices:
                said = f"{_holder(jaxpr, x)} inside jit", lie
                found.setdefault((lie.devices, type(lie) is OneOf), said)
            for inner in programs({"": x}):
                for said in shardings_in(inner.jaxpr):
                    found.setdefault((said[1].devices, type(said[1]) is OneOf), said)
        memo["shardings"] = tuple(found.values())
    return memo["shardings"]  # type: ignore[no-any-return]


def _holder(jaxpr: Jaxpr, x: Any) -> str:
    """The name of the first primitive that holds something among its params."""
    return next(
        eqn.primitive.name
        for eqn in jaxpr.eqns
        for value in eqn.params.values()
        if value is x or (type(value) is tuple and x in value)
    )


def check_unread(x: Any, want: Any) -> None:
    """ValueError if a value that no result needs lies otherwise than is asked for."""
    if want is None or bound(x) is None:
        return
    ndim, lie = len(x.shape), x.sharding
    whole = want.is_fully_replicated, lie.is_fully_replicated
    if any(whole) and not all(whole):
        raise mismatch(want, x)
    if not any(whole) and want.hlo(ndim) != lie.hlo(ndim):
        raise mismatch(want, x)


class Over(NamedTuple):
    """What a function says of how its arguments and results lie (None: as they like)."""

    where: Mesh | Placement | None  # where it runs; None: as the arguments say
    ins: Sequence[Any]
    outs: Sequence[Any] | None = None
    among: bool = False  # more devices may run it, of which `where` is one


def over_of(
    jaxprs: Sequence[Jaxpr], n: int, ins: Sequence[Any] = (),
    outs: Sequence[Any] | None = None,
) -> Over | None:  # fmt: skip
    """What programs with `n` inputs say of their devices; None if they say nothing.

    Raises:
      ValueError: two of them name different devices.
    """
    inside = [said for jaxpr in jaxprs for said in shardings_in(jaxpr)]
    given = [("ARG_SHARDING", s) for s in ins if isinstance(s, PLACES)]
    given += [("explicit output sharding", s) for s in outs or () if s is not None]
    given += inside
    if not given:
        return None
    some = [said for said in given if type(said[1]) is OneOf]
    if some:
        given = [said for said in given if type(said[1]) is not OneOf]
        if not given:
            (device,), *others = dict.fromkeys(said[1].devices for said in some)
            place = None if others else placements.placement(device)
            return Over(place, [None] * n, among=True)
        for said in some:
            if said[1].devices[0] not in given[0][1].devices:
                raise incompatible(*(told_sharding(*s) for s in (given[0], said)))
    for said in given:
        if said[1].devices != given[0][1].devices:
            raise incompatible(*(told_sharding(*s) for s in (given[0], said)))
    meshes = (s.mesh for _, s in given if isinstance(s, NamedSharding))
    where: Any = next(meshes, None) or placements.placement(given[0][1].devices[0])
    asked = [*[None] * (n - len(ins)), *ins]
    known = [s if isinstance(s, NamedSharding) else None for s in outs or ()]
    return Over(where, asked, known if outs is not None else None)


def common_place(
    values: Sequence[Any],
    name: str,
    over: Over | None = None,
    names: Sequence[str] = (),
) -> tuple[Any, bool]:
    """Where values are computed with: the device that the committed ones agree on, else
    that of any, else the default; or all devices of those that lie on several."""
    chosen: tuple[int, Placement] | None = None
    loose: Placement | None = None
    if over is not None and over.among and any(lies(x) is not None for x in values):
        over = None
    if over is not None and isinstance(over.where, Mesh):
        return _common_spread(values, name, over, names), True
    if over is not None and over.where is not None:
        return _common_device(values, name, over, names), True
    for i, x in enumerate(values):
        found = _place_of(x)
        if found is None:
            if lies(x) is not None:
                return _common_spread(values, name, over, names), True
            continue
        where, committed = found
        if not committed:
            loose = loose or where
        elif chosen is None:
            chosen = i, where
        elif chosen[1] is not where:
            pair = (chosen[0], values[chosen[0]]), (i, x)
            raise incompatible(*(told(j, y, name, names) for j, y in pair))
    if chosen is not None:
        return chosen[1], True
    mesh = config.MESH.value
    if isinstance(mesh, Mesh):
        asked = Over(mesh, [None] * len(values))
        return _common_spread(
            values, name, (over and over._replace(where=mesh)) or asked, names
        ), True
    if config.DEFAULT_DEVICE.value is not None or loose is None:
        return placements.default_placement(), False
    return loose, False


def _place_of(x: Any) -> tuple[Placement, bool] | None:
    """The one device of an array, and whether it binds; or that which a type names."""
    if type(x) in ARRAYS and not arrays.foreign(x):
        return placements.placement_of(x)
    said = getattr(x, "sharding", None)
    if isinstance(said, SingleDeviceSharding):
        return placements.placement(said.devices[0]), True
    return None


def _common_device(
    values: Sequence[Any], name: str, over: Over, names: Sequence[str]
) -> Placement:
    """The device that a function names; arguments that it names are moved there."""
    place = over.where
    assert isinstance(place, Placement)
    for i, (x, want) in enumerate(zip(values, over.ins, strict=True)):
        devices = bound(x)
        if devices is None or devices == place.devices:
            continue
        if want is None:
            raise incompatible(told(i, x, name, names), told_devices(place.devices))
        if len(devices) > 1:
            raise mismatch(want, x)
    return place


def _common_spread(
    values: Sequence[Any], name: str, over: Over | None, names: Sequence[str]
) -> Spread:
    """The devices of values of which some lie on several, and how each one lies."""
    asked = [None] * len(values) if over is None else over.ins
    mine = list(map(lies, values))
    first = next((i for i, s in enumerate(mine) if s is not None), None)
    mesh: Any = None if over is None else over.where
    given = mesh is not None
    if mesh is None and first is not None:
        mesh = mesh_of(mine[first])
    ins: list[Any] = []
    for i, (x, want, lie) in enumerate(zip(values, asked, mine, strict=True)):
        devices = bound(x)
        if devices is not None:
            if devices != mesh.flat:
                here = told(i, x, name, names)
                if given or first is None:
                    raise incompatible(here, told_devices(mesh.flat))
                raise incompatible(told(first, values[first], name, names), here)
            if want is not None and not want.is_equivalent_to(x.sharding, len(x.shape)):
                raise mismatch(want, x)
        if want is not None and isinstance(x, (np.ndarray, np.generic)):
            check_given(x, want)
        found = want or lie
        ins.append(found if isinstance(found, NamedSharding) else None)
    return spread(mesh, ins, None if over is None else over.outs)


def check_given(x: Any, want: Any) -> None:
    """ValueError if of several processes each is to give all of a value to be cut."""
    if want.is_fully_replicated or want.is_fully_addressable:
        return
    raise errors.value_error(
        "Passing non-trivial shardings for numpy inputs is not allowed. To fix this error,"
        " either specify a replicated sharding explicitly or use"
        " `jax.make_array_from_process_local_data(...)` to convert your host local numpy"
        " inputs to a jax.Array which you can pass to jit. If the numpy input is the same"
        " on each process, then you can use `jax.make_array_from_callback(...) to create a"
        " `jax.Array` which you can pass to jit. Got arg type:"
        f" {shaped(tuple(x.shape), dtypes.canonical(x.dtype)).str_short(False)}",
        which=f"sharding {want}",
    )


def lies_as_compiled(x: Any, where: Placement | Spread, k: int) -> bool:
    """Whether a value may be operand number `k` of a program that runs at `where`."""
    devices = bound(x)
    if devices is None:
        return True
    if isinstance(where, Placement):
        return bool(devices == where.devices)
    want = where.sharding_in(k)
    return bool(want.is_equivalent_to(x.sharding, len(x.shape)))


def move_buffer(buffer: Any, where: Placement, as_it_lies: bool = False) -> Any:
    """The ArrayImpl on a device, in its own order: itself if it is there."""
    found = placements.placement_of(buffer)
    if found is None:
        aval = buffer.aval.update(lies=None)
        return transfers.put_numpy(transfers.host_value(buffer), aval, where)
    if is_laid_out(buffer) and not (as_it_lies and found[0] is where):
        buffer = plain(buffer)
    if found[0] is where:
        return buffer
    if found[0].device.client is where.device.client:
        return compat.copy_to(
            buffer, where.device, where.sharding_of(buffer.aval, committed=False)
        )
    return transfers.put_numpy(transfers.host_value(buffer), buffer.aval, where)


# ---------------------------------------------------------------------------- NaN checks


def watched() -> bool:
    """Whether NaNs or infinities are looked for now, in this thread."""
    return bool(config.DEBUG_NANS.value or config.DEBUG_INFS.value)


def nan_check(
    name: str, out: Sequence[Any], again: Callable[[], Any] | None = None
) -> None:
    """FloatingPointError when a result holds what is being watched for.

    `again` computes the results operation by operation: it raises at the first that
    does.
    """
    if not watched():
        return
    values = [
        transfers.host_value(b)
        for b in out
        if b is not None and dtypes.is_inexact(b.aval.dtype)
    ]
    for option, kind, wrong in (
        (config.DEBUG_NANS, "nan", np.isnan), (config.DEBUG_INFS, "inf", np.isinf)
    ):  # fmt: skip
        if option.value and any(wrong(v).any() for v in values):
            if again is not None:
                again()
            why = (
                "computed operation by operation, it was in none of the results: the"
                " program got it as an operand, or XLA computes otherwise."
            )
            raise errors.error(
                FloatingPointError,
                f"invalid value ({kind}) encountered in {name}",
                where=str(STATE.source or source.here() or "") or None,
                why=None if again is None else why,
            )


def _switch(on: Any) -> None:
    if on and nan_check not in checks:
        checks.append(nan_check)


for _option in (config.DEBUG_NANS, config.DEBUG_INFS):
    _option.on_change = _switch
    _switch(_option.value)

atexit.register(ending.wait_for_all)

# Last: another thread may evaluate as soon as it is there.
hooks.evaluate.fill(run)
