"""An interpreter that runs a program and tells which equation makes the first bad number.

A value is bad that holds a NaN or an infinity.  An equation makes one if its results hold a
kind of it that no operand does.  The interpreter runs jaxprs as they are, under whatever is
current, and hands on beside the results a `Record`: the first site that made a bad value,
the iteration of each loop at that moment, and the statistics that were asked for.  Programs
inside become programs that hand on records; loops carry them, frozen once something is
found; those that run on several devices give one each.

`Every` looks at all values, `Coarse` only where a bad number could get lost, `One` at one
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
    explained,
    floats,
    holds_inside,
    is_float,
    known_bad,
    known_good,
    may_hide_nonfinite,
    nonfinite_level,
    paid,
    plan_probes,
    statistics,
)

_NO_LOOPS = np.zeros(0, np.int32)
_NO_REASON: frozenset[int] = frozenset()
_NO_STATS = np.zeros((0, len(STATS)), np.float32)


_Step = Callable[[list[Any], list[Any], list[Any], list[Any], Any], Any]


class Record(NamedTuple):
    """What is handed on: the first site, iterations by loop, statistics by operand."""

    first: Any  # int32, as `Looks.first` says; NOTHING itself if nothing is looked at
    at: Any = _NO_LOOPS  # int32[loops]
    stats: Any = _NO_STATS  # float32[operands, STATS]


@dataclasses.dataclass(frozen=True)
class Site:
    """A place at which values are looked at.

    number: sites are numbered as they run.
    eqn: what makes the value; None for arguments and results.
    loops: the numbers of the loops (and devices) around it, outermost first.
    atoms: whose statistics are wanted.
    names: the name stack, with those of the equations around.
    """

    number: int
    eqn: Equation | None
    loops: tuple[int, ...]
    atoms: tuple[Any, ...]
    argument: int = -1
    names: str = ""


@dataclasses.dataclass(frozen=True)
class Around:
    """A loop or a map over devices: the equation, and what is counted."""

    eqn: Equation
    what: str  # "iteration", "row" or "device"


def walk(jaxpr: Jaxpr, env: dict[Any, Any]) -> Iterator[tuple[Equation, list[Any]]]:
    """The equations and the values of their operands, with names and places current."""
    names, place = STATE.names, STATE.source
    try:
        for eqn in jaxpr.eqns:
            STATE.names = f"{names}/{eqn.names}".strip("/")
            STATE.source = eqn.source or place
            yield eqn, [a.val if type(a) is Literal else env[a] for a in eqn.ins]
    finally:
        STATE.names, STATE.source = names, place


def joined(first: Any, stats: Sequence[Any], inner: Sequence[Record]) -> Record:
    """The record of a program, of what it found itself and of those inside."""
    for record in inner:
        if record.first is not NOTHING:
            first = record.first if first is NOTHING else lax.min(first, record.first)
    # Loops and statistics of programs inside stand in the order in which they ran.
    at = [r.at for r in inner if core.aval_of(r.at).shape[0]]
    rows = [jnp.stack(stats)] if stats else []
    rows += [r.stats for r in inner if core.aval_of(r.stats).shape[0]]
    return Record(
        first,
        jnp.concatenate(at) if at else _NO_LOOPS,
        jnp.concatenate(rows) if rows else _NO_STATS,
    )


class NonfiniteInterpreter:
    """One run of the interpreter over a program.

    kinds: which are bad: of "nan", "inf".
    """

    def __init__(self, kinds: Sequence[str]) -> None:
        self.kinds = frozenset(kinds)
        self.sites: list[Site] = []
        self.around: list[Around] = []
        self.names = ""  # of the equations around

    # ------------------------------------------------------------- what is looked at
    stops = False  # whether loops end when something is found
    tells = True  # whether in which iteration, too

    def looks(self, number: int) -> bool:
        """Whether to look at what is made at a site."""
        return True

    def stats_of(self, values: Sequence[Any]) -> list[Any]:
        """The statistics that are wanted of a site's operands."""
        return []

    def heads(self, record: Record) -> list[Any]:
        """What programs hand on of a record, before their results."""
        if self.tells:
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
        """Run a program: its results, and the record."""
        env: dict[Any, Any] = {}
        good = known_good(jaxpr)
        looks = Probes(env, good=good)
        stats: list[Any] = []
        inner: list[Record] = []

        def look(eqn: Equation | None, v: Any, i: int = -1) -> None:
            number = len(self.sites)
            atoms = (v,) if eqn is None else tuple(eqn.ins)
            self.sites.append(Site(number, eqn, loops, atoms, i, self.names))
            if self.looks(number):
                stats.extend(self.stats_of([looks.value(a) for a in atoms]))
                before = () if eqn is None else map(looks.slot, filter(floats, eqn.ins))
                looks.check(number, looks.slot(v), before)

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
            for v in filter(floats, eqn.outs):
                if v not in good:
                    look(eqn, v)
        self.names = outer
        first = looks.first(self.kinds)
        return [looks.value(a) for a in jaxpr.outvars], joined(first, stats, inner)

    # -------------------------------------------------------------------- equations
    def equation(
        self, eqn: Equation, args: Sequence[Any], loops: tuple[int, ...], **how: Any
    ) -> tuple[Sequence[Any], Record | None]:
        """Apply an equation; a record if it holds programs that were looked into."""
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
        """The program with its heads as first results; how many; the record's sizes."""
        found: list[Any] = []

        def run(*xs: Any) -> list[Any]:
            outs, record = self.run(closed.jaxpr, closed.consts, xs, loops, **how)
            heads = self.heads(record)
            found[:] = len(heads), _sizes(record)
            return [*heads, *outs]

        new = stage_closed(run, closed.in_avals, name=closed.jaxpr.name, text="nans")
        return new, *found

    def call(
        self, eqn: Equation, args: Sequence[Any], loops: tuple[int, ...], **how: Any
    ) -> tuple[Sequence[Any], Record]:
        """A call, or a choice: each program hands on a record of one size."""
        region: Region = eqn.primitive.regions
        params, k = eqn.params, region.index
        spread = bool(region.result_param)
        if spread:
            loops = (*loops, len(self.around))
            self.around.append(Around(eqn, "device"))
        with region.scope(params):
            found = [self.staged(b, loops, **how) for b in region.bodies(params)]
            bodies, heads, sizes = zip(*found, strict=True)
            wide, n = [*bodies], max(heads)
            if len(wide) > 1 and n:
                wide = [_padded(bodies, heads, sizes, i) for i in range(len(wide))]
        n_out = len(region.bodies(params)[0].out_avals)
        outs_from = [*[None] * n, *range(n_out)]
        first, new = region.rebuild(params, wide, range(len(args) - k), outs_from)
        outs = eqn.primitive.bind(*args[:k], *first, *args[k:], **new)
        record = Record(*outs[:n]) if n else Record(NOTHING)
        if spread and n:  # of the device on which it came first
            which = jnp.argmin(record.first).astype(np.int32)
            loops_in, stats_in = sizes[0]
            shapes = ((), (loops_in,), (stats_in, len(STATS)))
            one = [
                _row(jnp.asarray(r), shape, which)
                for r, shape in zip(record, shapes, strict=True)
            ]
            at = [lax.reshape(which, (1,)), one[1]] if self.tells else [one[1]]
            record = Record(one[0], jnp.concatenate(at), one[2])
        return outs[n:], record

    def loop(
        self, eqn: Equation, args: Sequence[Any], loops: tuple[int, ...], **how: Any
    ) -> tuple[Sequence[Any], Record]:
        """A loop carries the record; what its test finds, the step it allows finds."""
        loop: Loop = eqn.primitive.regions
        params = eqn.params
        *test, body = loop.bodies(params)
        asked, consts, first, rows = loop.groups(params, args)
        inside = (*loops, len(self.around))
        self.around.append(Around(eqn, "row" if rows else "iteration"))
        groups = loop.groups(params, [*map(core.aval_of, asked), *body.in_avals])
        asks = groups[0] if test else []
        known = [*[True] * len(consts), *[False] * len(first), *[True] * len(rows)]
        step = self._step(test, body, inside, {**how, "known": known}, how)
        axes = _varying([*map(core.aval_of, args), *body.out_avals])
        start = [pcast_to_varying(x, axes) for x in self._start(step, [asks, *groups[1:]])]
        state = [core.aval_of(x) for x in start]
        n, n_heads = len(asked), len(start) - self.tells
        numbers = []  # of rows, where a loop over rows is to tell which
        if rows and self.tells:
            assert loop.length is not None
            numbers.append(np.arange(params[loop.length], dtype=np.int32))
        sizes = [len(asks), len(consts), len(start), len(first)]
        watched = self._watched(step, sizes, n_heads, bool(numbers))
        ins = [
            *asks,
            *groups[1],
            *state,
            *groups[2],
            *(state[n_heads:] if numbers else ()),
            *groups[3],
        ]
        if self.stops and start:
            # Else a NaN that stands for another could keep it going.
            new_test = [_stopping(t, n, state) for t in test]
        else:
            lead = [*range(n), *state, *range(n, n + len(first))]
            new_test = [permute_jaxpr(t, lead) for t in test]
        bodies = [*new_test, stage_closed(watched, ins, text="nans")]
        also = asked if test else []
        operands = [asked, [*also, *consts], [*start, *first], [*numbers, *rows]]
        out = eqn.primitive.bind(
            *(x for group in operands for x in group), **loop.rebuild(params, bodies, operands)
        )
        outs = out[len(start) :]
        records = [Record(*out[:n_heads])] if start else []
        for t in test:  # what it said in the end
            records.append(self.run(t.jaxpr, t.consts, [*asked, *outs], loops, **how)[1])
        return outs, joined(NOTHING, [], records)

    def _step(
        self,
        test: Sequence[ClosedJaxpr],
        body: ClosedJaxpr,
        inside: tuple[int, ...],
        how_body: dict[str, Any],
        how_test: dict[str, Any],
    ) -> _Step:
        """One step of a loop, its test before it: the results, and the record."""

        def step(
            asks: list[Any], own: list[Any], carry: list[Any], rows: list[Any], number: Any
        ) -> tuple[list[Any], Record]:
            found = [
                self.run(t.jaxpr, t.consts, [*asks, *carry], inside, **how_test)[1]
                for t in test
            ]
            outs, record = self.run(
                body.jaxpr, body.consts, [*own, *carry, *rows], inside, **how_body
            )
            record = joined(NOTHING, [], [*found, record])
            if not self.tells:
                return outs, record
            at = jnp.concatenate([lax.reshape(number, (1,)), record.at])
            return outs, record._replace(at=at)

        return step

    def _watched(
        self, step: _Step, sizes: Sequence[int], n_heads: int, numbered: bool
    ) -> Callable[..., list[Any]]:
        """The body of the loop: the record is kept from when something is found.

        sizes: how many operands the test reads, are the same in each step, are the record
          with its counter, and are carried.
        numbered: whether rows come with their numbers; else the counter tells.
        """

        def watched(*xs: Any) -> list[Any]:
            asks, own, state, carry, rows = split_list(xs, sizes)
            counts = state[n_heads:]
            number = counts[0] if counts else None
            if numbered:
                number, rows = rows[0], rows[1:]
            outs, record = step(asks, own, carry, rows, number)
            kept = [
                jnp.where(lax.lt(state[0], NOTHING), old, new)
                for old, new in zip(state, self.heads(record), strict=False)
            ]
            return [*kept, *(lax.add(c, np.int32(1)) for c in counts), *outs]

        return watched

    def _start(self, step: Any, groups: Sequence[Sequence[Any]]) -> list[Any]:
        """The heads of a record in which nothing is found, like a step's; a counter.

        The step is run for their types alone: the sites that this makes are forgotten.
        """
        sites, around = len(self.sites), len(self.around)
        avals: list[Any] = []

        def dry(*xs: Any) -> list[Any]:
            parts = split_list(xs, [len(g) for g in groups[:-1]])
            record = step(*parts, np.int32(0))[1]
            avals.extend(map(core.aval_of, self.heads(record)))
            return []

        stage_closed(dry, [a for g in groups for a in g], text="nans")
        del self.sites[sites:], self.around[around:]
        start = [NOTHING, *(np.zeros(a.shape, a.dtype) for a in avals[1:])]
        counts = [np.int32(0)] if self.tells else []
        return [jnp.asarray(x) for x in (*start[: len(avals)], *counts)]


def _sizes(record: Record) -> tuple[int, ...]:
    return tuple(core.aval_of(x).shape[0] for x in record[1:])


def _row(x: Any, shape: tuple[int, ...], which: Any) -> Any:
    """What one device gave, of shape `shape`; all the same if it gave one for all."""
    size = math.prod(shape)
    if x.size == size:
        return lax.reshape(x, shape)
    return jnp.asarray(lax.reshape(x, (x.size // size, *shape)))[which]


def _stopping(test: ClosedJaxpr, n: int, state: Sequence[Any]) -> ClosedJaxpr:
    """The test of a loop that also ends when something is found."""

    def fun(*xs: Any) -> list[Any]:
        (on,) = test(*xs[:n], *xs[n + len(state) :])
        return [jnp.logical_and(on, lax.eq(xs[n], NOTHING))]

    avals = test.in_avals
    return stage_closed(fun, [*avals[:n], *state, *avals[n:]], text="nans")


def _varying(avals: Sequence[Any]) -> tuple[Any, ...]:
    """The manual axes along which some of these values vary."""
    kinds = [
        a.manual_axis_kinds for a in avals if getattr(a, "manual_axis_kinds", None) is not None
    ]
    return tuple(dict.fromkeys(n for k in kinds for n in k.varying))


def _padded(
    every: Sequence[ClosedJaxpr], heads: Sequence[int], sizes: Sequence[tuple[int, ...]], i: int
) -> ClosedJaxpr:
    """A branch that leaves room in its record for what the others find."""
    closed, own, n = every[i], heads[i], max(heads)
    kinds = [v for c, m in zip(every, heads, strict=True) for v in c.out_avals[:m]]
    axes = _varying(kinds)
    before = [sum(s[j] for s in sizes[:i]) for j in (0, 1)]
    after = [sum(s[j] for s in sizes[i + 1 :]) for j in (0, 1)]

    def fun(*args: Any) -> list[Any]:
        results = closed(*args)
        record = Record(*(results[:own] or [NOTHING]))
        first, at, stats = (pcast_to_varying(jnp.asarray(x), axes) for x in record)
        room = [(before[0], after[0])], [(before[1], after[1]), (0, 0)]
        wide = [first, jnp.pad(at, room[0]), jnp.pad(stats, room[1])]
        return [*wide[:n], *results[own:]]

    return stage_closed(fun, closed.in_avals, name=closed.jaxpr.name, text="nans")


class Every(NonfiniteInterpreter):
    """Looks at every value."""


class One(NonfiniteInterpreter):
    """Looks at what one site makes, and takes the statistics of its operands."""

    def __init__(self, kinds: Sequence[str], number: int) -> None:
        super().__init__(kinds)
        self.number = number

    def looks(self, number: int) -> bool:
        return number == self.number

    def stats_of(self, values: Sequence[Any]) -> list[Any]:
        return [statistics(x) for x in values]


class _Looking:
    """What a coarse run of one program knows of its values.

    env: the values; held: those that constants may have made bad; reasons: of such ones,
    the slots of what explains them; seen: what needs no look, or has had it.
    owed: of values, what a NaN must still stand for.
    """

    def __init__(
        self,
        finder: Coarse,
        jaxpr: Jaxpr,
        ins: Sequence[tuple[Any, Any]],
        known: Sequence[bool],
        masked: bool,
        top: bool,
    ) -> None:
        self.finder = finder
        self.env: dict[Any, Any] = dict(ins)
        self.seen = {v for v, k in zip(jaxpr.invars, known, strict=False) if k}
        own = {
            v
            for v, x in ins
            if is_float(v.aval) and (masked or (v in jaxpr.constvars and known_bad(x)))
        }
        self.held = held = explained(jaxpr, own)
        self.looks = Probes(self.env, lambda a: not finder.all_kinds or a in held)
        skip = self.seen | held | known_good(jaxpr)
        self.plan = plan_probes(jaxpr, skip, top, finder.marks)
        self.owed: dict[Any, list[Any]] = {}
        self.reasons: dict[Any, frozenset[int]] = {}
        for v, _ in ins:
            if v in own:
                self.reasons[v] = frozenset((self.looks.slot(v),))
                self.seen.add(v)
            elif v in self.plan.look:
                self.look(v)

    def why(self, a: Any) -> frozenset[int]:
        """The slots of what explains that a value is bad."""
        if type(a) is not Literal:
            return self.reasons.get(a, _NO_REASON)
        if is_float(a.aval) and nonfinite_level(a.val) > 0:
            return frozenset((self.looks.slot(a),))
        return _NO_REASON

    def check(self, v: Any, because: frozenset[int]) -> None:
        self.seen.add(v)
        self.looks.check(len(self.finder.sites), self.looks.slot(v), because)

    def look(self, v: Any) -> None:
        """Look at a value, if that is to be done and has not been."""
        if type(v) is Literal or v in self.seen:
            return
        if v in self.plan.look or v in self.held:
            self.check(v, self.why(v))
            if self.why(v):
                self.reasons[v] = frozenset((self.looks.slot(v),))

    def paying(self, i: int, eqn: Equation, outs: Sequence[Any]) -> Sequence[Any]:
        """The results of an equation, with NaNs for what is owed, if nothing takes it."""
        plan = self.plan
        good = [x for a in [*self.owed] if plan.takers[a] == i for x in self.owed.pop(a)]
        tested = [a for a in plan.marks.get(i, ()) if a in plan.own]
        good += [lax.is_finite(self.env[a]) for a in tested]
        made = eqn.outs[0] if eqn.outs else None
        looked_at = made in plan.look and made not in self.held
        if self.finder.marks and not good and looked_at and can_mark(eqn, made):
            # Or else XLA makes it once for the result, and once to look at it.
            good.append(lax.is_finite(outs[0]))
        if good and made in plan.takers:
            self.owed[made] = good
        elif good:
            return [paid(outs[0], good)]
        return outs

    def made(self, eqn: Equation, because: frozenset[int], lost: bool, called: bool) -> None:
        """Look at an equation's results, and note what explains them."""
        for v in eqn.outs:
            if v in self.held:  # what is lost explains nothing further on
                if lost and not called:
                    self.check(v, because)
                again = lost or called
                self.reasons[v] = frozenset((self.looks.slot(v),)) if again else because
            elif v in self.plan.look:
                self.look(v)


class Coarse(NonfiniteInterpreter):
    """Tells whether there is a bad number, by few looks: see nan_probes.py.

    What constants of the program explain (masks) is followed by slots: those whose
    badness a value may have rightly.

    marks: whether NaNs may stand for bad numbers that would be lost.
    """

    tells = False

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
        known: Sequence[bool] = (),
        masked: bool = False,
    ) -> tuple[list[Any], Record]:
        """Run a program.

        known: which arguments have been looked at; masked: whether constants of programs
        around may have made them bad.
        """
        ins = [*zip(jaxpr.constvars, consts, strict=True)]
        ins += zip(jaxpr.invars, args, strict=True)
        here = _Looking(self, jaxpr, ins, known, masked, top)
        inner: list[Record] = []
        for i, (eqn, values) in enumerate(walk(jaxpr, here.env)):
            lost = may_hide_nonfinite(eqn)
            for a in eqn.ins if lost else ():
                here.look(a)
            because = _NO_REASON.union(*map(here.why, eqn.ins))
            outs, record = self.equation(eqn, values, loops, masked=bool(because))
            here.env.update(zip(eqn.outs, here.paying(i, eqn, outs), strict=True))
            if record is not None:
                inner.append(record)
            here.made(eqn, because, lost, record is not None)
        for v in jaxpr.outvars:
            if top or v in here.held:  # elsewhere what explains it is not known
                here.look(v)
        record = joined(here.looks.first(self.kinds), [], inner)
        return [here.looks.value(a) for a in jaxpr.outvars], record

    def loop(self, eqn: Equation, args: Any, loops: Any, **how: Any) -> Any:
        masked = how.get("masked", False) or holds_inside(eqn)
        return super().loop(eqn, args, loops, masked=masked)
