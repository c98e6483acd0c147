"""An interpreter that runs a program and reports which equation makes the first bad number.

A value is bad if it has a NaN or an infinity.  An equation makes one if its results have a
kind that no operand has.  The interpreter runs jaxprs under the current traces, and
returns a `Record` besides the results: the first site that made a bad value, the iteration
of each loop at that moment, and the requested statistics.  Inner programs are rewritten to
return records.  Loops carry them, frozen once something is found.  Programs on several
devices return one record per device.

`Every` checks all values, `Coarse` only where a bad number could get lost, `One` a single
site.  Next: nan_finder.py.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.util import split_list
from ..ir import core
from ..ir.core import STATE
from ..ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, permute_jaxpr
from ..ir.regions import Loop, Region
from ..passes.stage import stage_closed
from ..prims import lax
from ..prims.collectives.pcast import pcast_to_varying
from ..surface import jnp
from .nan_probes import (
    NOTHING,
    STATS,
    Probes,
    can_mark,
    has_inner_constants,
    is_float,
    is_float_atom,
    known_bad,
    known_good,
    mark_with_nans,
    may_hide_nonfinite,
    maybe_bad_variables,
    nonfinite_level,
    plan_probes,
    statistics,
)

_NO_LOOPS = np.zeros(0, np.int32)
_NO_REASON: frozenset[int] = frozenset()
_NO_STATS = np.zeros((0, len(STATS)), np.float32)


_Step = Callable[[list[Any], list[Any], list[Any], list[Any], Any], Any]


class Record(NamedTuple):
    """The extra results: the first site, iterations by loop, statistics by operand."""

    first: Any  # int32, as `Probes.first` returns; the object NOTHING if nothing is checked
    at: Any = _NO_LOOPS  # int32[loops]
    stats: Any = _NO_STATS  # float32[operands, STATS]


@dataclasses.dataclass(frozen=True)
class ProbeSite:
    """A place in a program whose values are checked.

    number: its number, in the order in which sites run.
    eqn: the equation that makes the value; None for arguments and results.
    loops: the numbers of the loops (and device maps) around it, outermost first.
    atoms: the operands whose statistics are requested.
    names: the name stack, including the equations around.
    """

    number: int
    eqn: Equation | None
    loops: tuple[int, ...]
    atoms: tuple[Any, ...]
    argument: int = -1
    names: str = ""


@dataclasses.dataclass(frozen=True)
class Around:
    """A loop or a map over devices: the equation, and the name of one step."""

    eqn: Equation
    what: str  # "iteration", "row" or "device"


def walk(jaxpr: Jaxpr, env: dict[Any, Any]) -> Iterator[tuple[Equation, list[Any]]]:
    """Yield equations and operand values, with their names and source lines current."""
    names, source = STATE.names, STATE.source
    try:
        for eqn in jaxpr.eqns:
            STATE.names = f"{names}/{eqn.names}".strip("/")
            STATE.source = eqn.source or source
            yield eqn, [a.val if type(a) is Literal else env[a] for a in eqn.ins]
    finally:
        STATE.names, STATE.source = names, source


def joined(first: Any, stats: Sequence[Any], inner: Sequence[Record]) -> Record:
    """Merge the record of a program with the records of its inner programs."""
    for record in inner:
        if record.first is not NOTHING:
            # Sites are numbered in the order in which they run: the least number is the first.
            first = record.first if first is NOTHING else lax.min(first, record.first)
    # Loops and statistics of inner programs are in the order in which they ran.
    at = [r.at for r in inner if core.aval_of(r.at).shape[0]]
    stats_arrays = [jnp.stack(stats)] if stats else []
    stats_arrays += [r.stats for r in inner if core.aval_of(r.stats).shape[0]]
    return Record(
        first,
        jnp.concatenate(at) if at else _NO_LOOPS,
        jnp.concatenate(stats_arrays) if stats_arrays else _NO_STATS,
    )


class NonfiniteInterpreter:
    """One run of the interpreter over a program.

    kinds: the kinds of bad numbers: "nan", "inf" or both.
    """

    def __init__(self, kinds: Sequence[str]) -> None:
        self.kinds = frozenset(kinds)
        self.sites: list[ProbeSite] = []
        self.around: list[Around] = []
        self.names = ""  # the name stack of the equations around

    # ----------------------------------------------------------------- what is checked
    stops = False  # whether loops end when something is found
    records_iterations = True  # whether records include iterations

    def checks_site(self, number: int) -> bool:
        """Whether to check the values of a site."""
        return True

    def stats_of(self, values: Sequence[Any]) -> list[Any]:
        """Return the requested statistics of a site's operands."""
        return []

    def record_fields(self, record: Record) -> list[Any]:
        """Return the fields of a record that programs return before their results."""
        if self.records_iterations:
            return [*record]
        return [] if record.first is NOTHING else [record.first]

    # --------------------------------------------------------------------- programs
    def run(
        self,
        jaxpr: Jaxpr,
        consts: Sequence[Any],
        args: Sequence[Any],
        loops: tuple[int, ...] = (),
        top: bool = False,
        **_: Any,
    ) -> tuple[list[Any], Record]:
        """Run a program; return its results and the record."""
        env: dict[Any, Any] = {}
        good = known_good(jaxpr)
        probes = Probes(env, good=good)
        stats: list[Any] = []
        inner: list[Record] = []

        def look(eqn: Equation | None, v: Any, i: int = -1) -> None:
            number = len(self.sites)
            atoms = (v,) if eqn is None else tuple(eqn.ins)
            self.sites.append(ProbeSite(number, eqn, loops, atoms, i, self.names))
            if self.checks_site(number):
                stats.extend(self.stats_of([probes.value(a) for a in atoms]))
                before = () if eqn is None else map(probes.slot, filter(is_float_atom, eqn.ins))
                probes.check(number, probes.slot(v), before)

        ins = [*zip(jaxpr.constvars, consts, strict=True)]
        ins += zip(jaxpr.invars, args, strict=True)
        for i, (v, x) in enumerate(ins):
            env[v] = x
            if top and is_float(v.aval) and not (v in jaxpr.constvars and known_bad(x)):
                look(None, v, i)
        outer = self.names
        for eqn, values in walk(jaxpr, env):
            self.names = f"{outer}/{eqn.names}".strip("/")
            outs, record = self.equation(eqn, values, loops)
            env.update(zip(eqn.outs, outs, strict=True))
            if record is not None:
                inner.append(record)
                continue
            for v in filter(is_float_atom, eqn.outs):
                if v not in good:
                    look(eqn, v)
        self.names = outer
        first = probes.first(self.kinds)
        return [probes.value(a) for a in jaxpr.outvars], joined(first, stats, inner)

    # -------------------------------------------------------------------- equations
    def equation(
        self, eqn: Equation, args: Sequence[Any], loops: tuple[int, ...], **how: Any
    ) -> tuple[Sequence[Any], Record | None]:
        """Apply an equation; return results, and a record if it has programs."""
        prim, params, regions = eqn.primitive, eqn.params, eqn.primitive.regions
        if isinstance(regions, Loop):
            return self.loop(eqn, args, loops, **how)
        if regions is not None and regions.opaque:
            (body,) = regions.bodies(params)
            with regions.scope(params):
                return self.run(body.jaxpr, body.consts, args, loops, **how)
        if regions is not None:
            return self.call(eqn, args, loops, **how)
        out = prim.bind(*args, **params)
        return (out if prim.multiple_results else [out]), None

    def staged(
        self, closed: ClosedJaxpr, loops: tuple[int, ...], **how: Any
    ) -> tuple[ClosedJaxpr, int, tuple[int, ...]]:
        """Stage the program with the record's fields as first results.

        Returns the program, the number of these fields, and the record's sizes.
        """
        record_layout: list[Any] = []

        def run(*xs: Any) -> list[Any]:
            outs, record = self.run(closed.jaxpr, closed.consts, xs, loops, **how)
            heads = self.record_fields(record)
            record_layout[:] = len(heads), _sizes(record)
            return [*heads, *outs]

        new = stage_closed(run, closed.in_avals, name=closed.jaxpr.name, text="nans")
        return new, *record_layout

    def call(
        self, eqn: Equation, args: Sequence[Any], loops: tuple[int, ...], **how: Any
    ) -> tuple[Sequence[Any], Record]:
        """Run a call or branches: each program returns a record of the same size."""
        region: Region = eqn.primitive.regions
        params, k = eqn.params, region.index
        on_devices = bool(region.result_param)
        if on_devices:
            loops = (*loops, len(self.around))
            self.around.append(Around(eqn, "device"))
        with region.scope(params):
            staged_bodies = [self.staged(b, loops, **how) for b in region.bodies(params)]
            bodies, heads, sizes = zip(*staged_bodies, strict=True)
            wide, n = [*bodies], max(heads)
            if len(wide) > 1 and n:
                wide = [_padded(bodies, heads, sizes, i) for i in range(len(wide))]
        n_out = len(region.bodies(params)[0].out_avals)
        outs_from = [*[None] * n, *range(n_out)]
        first, new = region.rebuild(params, wide, range(len(args) - k), outs_from)
        outs = eqn.primitive.bind(*args[:k], *first, *args[k:], **new)
        record = Record(*outs[:n]) if n else Record(NOTHING)
        if on_devices and n:  # take the record of the device with the first site
            which = jnp.argmin(record.first).astype(np.int32)
            loops_in, stats_in = sizes[0]
            shapes = ((), (loops_in,), (stats_in, len(STATS)))
            one = [
                _row(jnp.asarray(r), shape, which)
                for r, shape in zip(record, shapes, strict=True)
            ]
            at = [lax.reshape(which, (1,)), one[1]] if self.records_iterations else [one[1]]
            record = Record(one[0], jnp.concatenate(at), one[2])
        return outs[n:], record

    def loop(
        self, eqn: Equation, args: Sequence[Any], loops: tuple[int, ...], **how: Any
    ) -> tuple[Sequence[Any], Record]:
        """Run a loop that carries the record; sites in the test belong to the next step."""
        loop: Loop = eqn.primitive.regions
        params = eqn.params
        *cond, body = loop.bodies(params)
        cond_operands, consts, carry, xs = loop.groups(params, args)
        inside = (*loops, len(self.around))
        self.around.append(Around(eqn, "row" if xs else "iteration"))
        groups = loop.groups(params, [*map(core.aval_of, cond_operands), *body.in_avals])
        cond_avals = groups[0] if cond else []
        checked = [*[True] * len(consts), *[False] * len(carry), *[True] * len(xs)]
        step = self._step(cond, body, inside, {**how, "checked": checked}, how)
        axes = _varying([*map(core.aval_of, args), *body.out_avals])
        start = [
            pcast_to_varying(x, axes) for x in self._start(step, [cond_avals, *groups[1:]])
        ]
        state = [core.aval_of(x) for x in start]
        # With iterations, the last element of `start` is the counter, not part of the record.
        n, n_heads = len(cond_operands), len(start) - self.records_iterations
        numbers = []  # the rows' numbers, if the record includes iterations
        if xs and self.records_iterations:
            assert loop.length is not None
            numbers.append(np.arange(params[loop.length], dtype=np.int32))
        sizes = [len(cond_avals), len(consts), len(start), len(carry)]
        watched = self._watched(step, sizes, n_heads, bool(numbers))
        ins = [
            *cond_avals,
            *groups[1],
            *state,
            *groups[2],
            *(state[n_heads:] if numbers else ()),
            *groups[3],
        ]
        if self.stops and start:
            # A NaN that marks another value could otherwise keep the loop going.
            new_cond = [_stopping(t, n, state) for t in cond]
        else:
            without_record = [*range(n), *state, *range(n, n + len(carry))]
            new_cond = [permute_jaxpr(t, without_record) for t in cond]
        bodies = [*new_cond, stage_closed(watched, ins, text="nans")]
        also = cond_operands if cond else []
        operands = [cond_operands, [*also, *consts], [*start, *carry], [*numbers, *xs]]
        out = eqn.primitive.bind(
            *(x for group in operands for x in group), **loop.rebuild(params, bodies, operands)
        )
        outs = out[len(start) :]
        records = [Record(*out[:n_heads])] if start else []
        for t in cond:  # its last evaluation, after which the loop ends
            records.append(
                self.run(t.jaxpr, t.consts, [*cond_operands, *outs], loops, **how)[1]
            )
        return outs, joined(NOTHING, [], records)

    def _step(
        self,
        cond: Sequence[ClosedJaxpr],
        body: ClosedJaxpr,
        inside: tuple[int, ...],
        how_body: dict[str, Any],
        how_cond: dict[str, Any],
    ) -> _Step:
        """Return one step of a loop, preceded by its test: the results, and the record."""

        def step(
            cond_operands: list[Any],
            consts: list[Any],
            carry: list[Any],
            xs: list[Any],
            number: Any,
        ) -> tuple[list[Any], Record]:
            records = [
                self.run(t.jaxpr, t.consts, [*cond_operands, *carry], inside, **how_cond)[1]
                for t in cond
            ]
            outs, record = self.run(
                body.jaxpr, body.consts, [*consts, *carry, *xs], inside, **how_body
            )
            record = joined(NOTHING, [], [*records, record])
            if not self.records_iterations:
                return outs, record
            at = jnp.concatenate([lax.reshape(number, (1,)), record.at])
            return outs, record._replace(at=at)

        return step

    def _watched(
        self, step: _Step, sizes: Sequence[int], n_heads: int, numbered: bool
    ) -> Callable[..., list[Any]]:
        """Return the loop's body: the record is kept once something is found.

        sizes: the numbers of operands of the test, of constants, of the record's fields
          with the counter, and of the carry.
        numbered: whether rows come with their numbers; otherwise the counter is used.
        """

        def watched(*xs: Any) -> list[Any]:
            cond_operands, consts, state, carry, xs_rows = split_list(xs, sizes)
            counts = state[n_heads:]
            number = counts[0] if counts else None
            if numbered:
                number, xs_rows = xs_rows[0], xs_rows[1:]
            outs, record = step(cond_operands, consts, carry, xs_rows, number)
            new_state = [
                jnp.where(lax.lt(state[0], NOTHING), old, new)
                for old, new in zip(state, self.record_fields(record), strict=False)
            ]
            return [*new_state, *(lax.add(c, np.int32(1)) for c in counts), *outs]

        return watched

    def _start(self, step: Any, groups: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the fields of an empty record with a step's types, and a counter.

        The step is staged only for these types: its sites are discarded.
        """
        sites, around = len(self.sites), len(self.around)
        avals: list[Any] = []

        def dry(*xs: Any) -> list[Any]:
            operands = split_list(xs, [len(g) for g in groups[:-1]])
            record = step(*operands, np.int32(0))[1]
            avals.extend(map(core.aval_of, self.record_fields(record)))
            return []

        stage_closed(dry, [a for g in groups for a in g], text="nans")
        # The real staging registers the same sites again, and must give them the same numbers.
        del self.sites[sites:], self.around[around:]
        start = [NOTHING, *(np.zeros(a.shape, a.dtype) for a in avals[1:])]
        counts = [np.int32(0)] if self.records_iterations else []
        return [jnp.asarray(x) for x in (*start[: len(avals)], *counts)]


def _sizes(record: Record) -> tuple[int, ...]:
    return tuple(core.aval_of(x).shape[0] for x in record[1:])


def _row(x: Any, shape: tuple[int, ...], which: Any) -> Any:
    """Return one device's part, of shape `shape`, or all of it if it is replicated."""
    size = math.prod(shape)
    if x.size == size:
        return lax.reshape(x, shape)
    return jnp.asarray(lax.reshape(x, (x.size // size, *shape)))[which]


def _stopping(cond: ClosedJaxpr, n: int, state: Sequence[Any]) -> ClosedJaxpr:
    """Return the test of a loop that also ends when something is found."""

    def fun(*xs: Any) -> list[Any]:
        (on,) = cond(*xs[:n], *xs[n + len(state) :])
        return [jnp.logical_and(on, lax.eq(xs[n], NOTHING))]

    avals = cond.in_avals
    return stage_closed(fun, [*avals[:n], *state, *avals[n:]], text="nans")


def _varying(avals: Sequence[Any]) -> tuple[Any, ...]:
    """Return the manual axes along which any of these values varies."""
    kinds = [a.type_sharding.manual for a in avals if hasattr(a, "type_sharding")]
    return tuple(dict.fromkeys(n for k in kinds for n in k.varying))


def _padded(
    every: Sequence[ClosedJaxpr], heads: Sequence[int], sizes: Sequence[tuple[int, ...]], i: int
) -> ClosedJaxpr:
    """Pad a branch's record with space for what the other branches find."""
    closed, own, n = every[i], heads[i], max(heads)
    kinds = [v for c, m in zip(every, heads, strict=True) for v in c.out_avals[:m]]
    axes = _varying(kinds)
    before = [sum(s[j] for s in sizes[:i]) for j in (0, 1)]
    after = [sum(s[j] for s in sizes[i + 1 :]) for j in (0, 1)]

    def fun(*args: Any) -> list[Any]:
        results = closed(*args)
        record = Record(*(results[:own] or [NOTHING]))
        first, at, stats = (pcast_to_varying(jnp.asarray(x), axes) for x in record)
        padding = [(before[0], after[0])], [(before[1], after[1]), (0, 0)]
        wide = [first, jnp.pad(at, padding[0]), jnp.pad(stats, padding[1])]
        return [*wide[:n], *results[own:]]

    return stage_closed(fun, closed.in_avals, name=closed.jaxpr.name, text="nans")


class Every(NonfiniteInterpreter):
    """Interpreter that checks every value."""


class One(NonfiniteInterpreter):
    """Interpreter that checks one site, and computes statistics of its operands."""

    def __init__(self, kinds: Sequence[str], number: int) -> None:
        super().__init__(kinds)
        self.number = number

    def checks_site(self, number: int) -> bool:
        return number == self.number

    def stats_of(self, values: Sequence[Any]) -> list[Any]:
        return [statistics(x) for x in values]


class _CoarseState:
    """State of a coarse run of one program.

    env: the values.
    maybe_bad: variables that constants may have made bad.
    reasons: for these, the slots of the values that explain it.
    seen: variables that need no check, or have had it.
    pending: for variables, the conditions that a NaN must still mark.
    """

    def __init__(
        self,
        finder: Coarse,
        jaxpr: Jaxpr,
        ins: Sequence[tuple[Any, Any]],
        checked: Sequence[bool],
        masked: bool,
        top: bool,
    ) -> None:
        self.finder = finder
        self.env: dict[Any, Any] = dict(ins)
        self.seen = {v for v, k in zip(jaxpr.invars, checked, strict=False) if k}
        may_be_bad = {
            v
            for v, x in ins
            if is_float(v.aval) and (masked or (v in jaxpr.constvars and known_bad(x)))
        }
        self.maybe_bad = held = maybe_bad_variables(jaxpr, may_be_bad)
        self.probes = Probes(self.env, lambda a: not finder.all_kinds or a in held)
        skip = self.seen | held | known_good(jaxpr)
        self.plan = plan_probes(jaxpr, skip, top, finder.marks)
        self.pending: dict[Any, list[Any]] = {}
        self.reasons: dict[Any, frozenset[int]] = {}
        for v, _ in ins:
            if v in may_be_bad:
                self.reasons[v] = frozenset((self.probes.slot(v),))
                self.seen.add(v)
            elif v in self.plan.look:
                self.look(v)

    def explanation(self, a: Any) -> frozenset[int]:
        """Return the slots of values that explain why `a` is bad."""
        if type(a) is not Literal:
            return self.reasons.get(a, _NO_REASON)
        if is_float(a.aval) and nonfinite_level(a.val) > 0:
            return frozenset((self.probes.slot(a),))
        return _NO_REASON

    def check(self, v: Any, because: frozenset[int]) -> None:
        self.seen.add(v)
        self.probes.check(len(self.finder.sites), self.probes.slot(v), because)

    def look(self, v: Any) -> None:
        """Check a value if the plan requires it and it was not checked before."""
        if type(v) is Literal or v in self.seen:
            return
        if v in self.plan.look or v in self.maybe_bad:
            self.check(v, self.explanation(v))
            if self.explanation(v):
                self.reasons[v] = frozenset((self.probes.slot(v),))

    def mark_results(self, i: int, eqn: Equation, outs: Sequence[Any]) -> Sequence[Any]:
        """Return an equation's results, with NaNs as marks unless a later one adds them."""
        plan = self.plan
        good = [x for a in [*self.pending] if plan.takers[a] == i for x in self.pending.pop(a)]
        tested = [a for a in plan.marks.get(i, ()) if a in plan.own]
        good += [lax.is_finite(self.env[a]) for a in tested]
        result = eqn.outs[0] if eqn.outs else None
        looked_at = result in plan.look and result not in self.maybe_bad
        if self.finder.marks and not good and looked_at and can_mark(eqn, result):
            # Otherwise XLA computes it twice: once as a result, and once for the check.
            good.append(lax.is_finite(outs[0]))
        if good and result in plan.takers:
            self.pending[result] = good
        elif good:
            return [mark_with_nans(outs[0], good)]
        return outs

    def check_results(
        self, eqn: Equation, because: frozenset[int], lost: bool, called: bool
    ) -> None:
        """Check an equation's results, and record what explains them."""
        for v in eqn.outs:
            if v in self.maybe_bad:  # a lost number explains no later one
                if lost and not called:
                    self.check(v, because)
                new_slot = lost or called
                self.reasons[v] = frozenset((self.probes.slot(v),)) if new_slot else because
            elif v in self.plan.look:
                self.look(v)


class Coarse(NonfiniteInterpreter):
    """Interpreter that detects bad numbers with few checks: see nan_probes.py.

    Bad numbers that constants of the program explain (masks) are tracked by slots: the
    values that may make a value bad legitimately.

    marks: whether NaNs may mark bad numbers that would be lost.
    """

    records_iterations = False

    def __init__(self, kinds: Sequence[str], marks: bool) -> None:
        super().__init__(kinds)
        self.all_kinds = len(self.kinds) == 2
        self.marks = self.stops = marks and self.all_kinds

    def run(  # type: ignore[override]
        self,
        jaxpr: Jaxpr,
        consts: Sequence[Any],
        args: Sequence[Any],
        loops: tuple[int, ...] = (),
        top: bool = False,
        checked: Sequence[bool] = (),
        masked: bool = False,
    ) -> tuple[list[Any], Record]:
        """Run a program.

        known: which arguments were already checked; masked: whether constants of outer
        programs may have made them bad.
        """
        ins = [*zip(jaxpr.constvars, consts, strict=True)]
        ins += zip(jaxpr.invars, args, strict=True)
        state = _CoarseState(self, jaxpr, ins, checked, masked, top)
        inner: list[Record] = []
        for i, (eqn, values) in enumerate(walk(jaxpr, state.env)):
            lost = may_hide_nonfinite(eqn)
            for a in eqn.ins if lost else ():
                state.look(a)
            because = _NO_REASON.union(*map(state.explanation, eqn.ins))
            outs, record = self.equation(eqn, values, loops, masked=bool(because))
            state.env.update(zip(eqn.outs, state.mark_results(i, eqn, outs), strict=True))
            if record is not None:
                inner.append(record)
            state.check_results(eqn, because, lost, record is not None)
        for v in jaxpr.outvars:
            if top or v in state.maybe_bad:  # the caller does not know the explanation
                state.look(v)
        record = joined(state.probes.first(self.kinds), [], inner)
        return [state.probes.value(a) for a in jaxpr.outvars], record

    def loop(self, eqn: Equation, args: Any, loops: Any, **how: Any) -> Any:
        masked = how.get("masked", False) or has_inner_constants(eqn)
        return super().loop(eqn, args, loops, masked=masked)
