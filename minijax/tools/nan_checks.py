"""An interpreter that runs a program and tells which equation makes the first bad number.

A value is bad that holds a NaN or an infinity.  An equation makes one if its results hold a
kind of it that no operand does.  The interpreter runs jaxprs as they are, under whatever is
current, and hands on beside the results a `Record`: the first site that made a bad value,
the iteration of each loop at that moment, and the statistics that were asked for.  Programs
inside become programs that hand on records; loops carry them, frozen once something is
found; those that run on several devices give one each.

Looking at every value would undo the compiler's fusion.  `Coarse` therefore looks only
where a bad number could get lost: at operands of what does not keep it (see
`Primitive.keeps_nans`), and at results.  `Every` looks everywhere, `One` at one site.

Next: nan_finder.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.util import split_list
from ..ir import core
from ..ir.core import STATE
from ..ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, programs, rearranged
from ..ir.regions import Loop, Region
from ..passes.stage import stage_closed
from ..prims import lax
from ..surface import jnp
from ..types import dtypes
from ..types.avals import ShapedArray

NOTHING = np.int32(2**31 - 1)
STATS = ("nans", "infs", "first", "min", "max", "mean")


class Record(NamedTuple):
    """What is handed on: the first site, iterations by loop, statistics by operand."""

    first: Any  # int32; NOTHING if none
    at: Any  # int32[loops]
    stats: Any  # float32[operands, STATS]


@dataclasses.dataclass(frozen=True)
class Site:
    """A place at which values are looked at.

    number: sites are numbered as they run.
    eqn: what makes the value; None for arguments and results.
    loops: the numbers of the loops (and devices) around it, outermost first.
    atoms: whose statistics are wanted.
    """

    number: int
    eqn: Equation | None
    loops: tuple[int, ...]
    atoms: tuple[Any, ...]
    argument: int = -1


@dataclasses.dataclass(frozen=True)
class Around:
    """A loop or a map over devices: the equation, and what is counted."""

    eqn: Equation
    what: str  # "iteration", "row" or "device"


def is_float(aval: Any) -> bool:
    """Whether values of this type can be bad."""
    if type(aval) is not ShapedArray or 0 in aval.shape:
        return False
    return dtypes.is_inexact(aval.dtype)


def badness(x: Any, quick: bool = False) -> Any:
    """An int8: 2 if a value holds a NaN, 1 if it holds an infinity, else 0.

    quick: 2 in either case, which costs less.
    """
    if not isinstance(x, core.Tracer) and np.ndim(x) == 0 and not hasattr(x, "devices"):
        value = complex(x)
        return np.int8(2 if np.isnan(value) else 1 if np.isinf(value) else 0)
    if dtypes.is_complex(core.aval_of(x).dtype):
        return lax.max(badness(lax.real(x), quick), badness(lax.imag(x), quick))
    # Not by the greatest one: collectives of several devices lose NaNs of maxima.
    axes, finite = tuple(range(core.aval_of(x).ndim)), lax.is_finite(x)
    if quick:
        return lax.select(lax.reduce_and(finite, axes), np.int8(0), np.int8(2))
    level = jnp.where(
        finite, np.int8(0), jnp.where(lax.ne(x, x), np.int8(2), np.int8(1))
    )
    return lax.reduce_max(level, axes)


def holds_constants(jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> bool:
    """Whether bad numbers are written down in a program, or in those inside."""
    return (
        any(
            badness(a.val) > 0
            for eqn in jaxpr.eqns
            for a in eqn.ins
            if type(a) is Literal and is_float(a.aval)
        )
        or any(is_float(core.aval_of(c)) and known_bad(c) for c in consts)
        or any(
            holds_constants(p.jaxpr, p.consts)
            for e in jaxpr.eqns
            for p in programs(e.params)
        )
    )


def known_bad(x: Any) -> bool:
    """Whether a constant holds a bad number."""
    if isinstance(x, core.Tracer):
        return False
    try:
        x = np.asarray(x)
    except (RuntimeError, TypeError):  # over several processes
        return False
    return not np.isfinite(x.astype(np.complex128)).all()


def _floats(a: Any) -> bool:
    return is_float(a.aval)


def walk(jaxpr: Jaxpr, env: dict[Any, Any]) -> Iterator[tuple[Equation, list[Any]]]:
    """The equations and the values of their operands, with names and places current."""
    names, place = STATE.names, STATE.source
    try:
        for eqn in jaxpr.eqns:
            STATE.names = "/".join(filter(None, (names, eqn.names)))
            STATE.source = eqn.source or place
            yield eqn, [a.val if type(a) is Literal else env[a] for a in eqn.ins]
    finally:
        STATE.names, STATE.source = names, place


class Looks:
    """What is looked at in one program: how bad some values are, and what is to blame.

    slots: of values, their number in `found`.
    """

    def __init__(self, env: dict[Any, Any], quick: bool = False) -> None:
        self.env = env
        self.quick = quick
        self.slots: dict[Any, int] = {}
        self.found: list[Any] = []
        self.checks: list[tuple[int, int, tuple[int, ...]]] = []

    def value(self, a: Any) -> Any:
        return a.val if type(a) is Literal else self.env[a]

    def slot(self, a: Any) -> int:
        """Where it stands how bad a value is."""
        key = id(a) if type(a) is Literal else a
        if key not in self.slots:
            self.slots[key] = len(self.found)
            self.found.append(badness(self.value(a), self.quick))
        return self.slots[key]

    def check(self, number: int, now: int, before: Iterable[int]) -> None:
        """A site is to blame if what stands in a slot is not explained by others."""
        self.checks.append((number, now, tuple(before)))

    def first(self, kinds: frozenset[str]) -> Any:
        """The first site that is to blame, computed for all of them at once."""
        if not self.checks:
            return NOTHING
        ones = [lax.reshape(jnp.asarray(x), (1,)) for x in self.found]
        level = jnp.concatenate([*ones, np.zeros(1, np.int8)])
        width = max(1, *(len(before) for _, _, before in self.checks))
        clean = len(self.found)
        at = np.array([
            [now, *before, *[clean] * (width - len(before))]
            for _, now, before in self.checks
        ])  # fmt: skip
        levels = level[at]
        now, before = levels[:, 0], levels[:, 1:].max(1)
        made: Any = np.zeros(len(at), bool)
        if "nan" in kinds:
            made = made | ((now == 2) & (before < 2))
        if "inf" in kinds:
            made = made | ((now == 1) & (before == 0))
        numbers = np.array([number for number, _, _ in self.checks], np.int32)
        return jnp.where(made, numbers, NOTHING).min()


def joined(first: Any, stats: Sequence[Any], inner: Sequence[Record]) -> Record:
    """The record of a program, of what it found itself and of those inside."""
    for record in inner:
        first = record.first if first is NOTHING else lax.min(first, record.first)
    # Loops and statistics of programs inside stand in the order in which they ran.
    at = [r.at for r in inner if core.aval_of(r.at).shape[0]]
    rows = [jnp.stack(stats)] if stats else []
    rows += [r.stats for r in inner if core.aval_of(r.stats).shape[0]]
    return Record(
        first,
        jnp.concatenate(at) if at else np.zeros(0, np.int32),
        jnp.concatenate(rows) if rows else np.zeros((0, len(STATS)), np.float32),
    )


class Finder:
    """One run of the interpreter over a program.

    kinds: which are bad: of "nan", "inf".
    """

    def __init__(self, kinds: Sequence[str]) -> None:
        self.kinds = frozenset(kinds)
        self.sites: list[Site] = []
        self.around: list[Around] = []

    # ------------------------------------------------------------- what is looked at
    def looks(self, number: int) -> bool:
        """Whether to look at what is made at a site."""
        return True

    def stats_of(self, values: Sequence[Any]) -> list[Any]:
        """The statistics that are wanted of a site's operands."""
        return []

    # --------------------------------------------------------------------- programs
    def run(
        self, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any],
        loops: tuple[int, ...] = (), top: bool = False, **_: Any,
    ) -> tuple[list[Any], Record]:  # fmt: skip
        """Run a program: its results, and the record."""
        env: dict[Any, Any] = {}
        looks = Looks(env)
        stats: list[Any] = []
        inner: list[Record] = []

        def look(eqn: Equation | None, v: Any, i: int = -1) -> None:
            number = len(self.sites)
            atoms = (v,) if eqn is None else tuple(eqn.ins)
            self.sites.append(Site(number, eqn, loops, atoms, i))
            if self.looks(number):
                stats.extend(self.stats_of([looks.value(a) for a in atoms]))
                before = (
                    () if eqn is None else map(looks.slot, filter(_floats, eqn.ins))
                )
                looks.check(number, looks.slot(v), before)

        ins = [*zip(jaxpr.constvars, consts, strict=True)]
        ins += zip(jaxpr.invars, args, strict=True)
        for i, (v, x) in enumerate(ins):
            env[v] = x
            if top and is_float(v.aval) and not (v in jaxpr.constvars and known_bad(x)):
                look(None, v, i)
        for eqn, values in walk(jaxpr, env):
            outs, record = self.equation(eqn, values, loops)
            env.update(zip(eqn.outs, outs, strict=True))
            if record is not None:
                inner.append(record)
                continue
            for v in filter(_floats, eqn.outs):
                look(eqn, v)
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
    ) -> tuple[ClosedJaxpr, tuple[int, ...]]:
        """The program with its record as its first results; the record's sizes."""
        sizes: list[tuple[int, ...]] = []

        def run(*xs: Any) -> list[Any]:
            outs, record = self.run(closed.jaxpr, closed.consts, xs, loops, **how)
            sizes.append(_sizes(record))
            return [*record, *outs]

        new = stage_closed(run, closed.in_avals, name=closed.jaxpr.name, text="nans")
        return new, sizes[0]

    def call(
        self, eqn: Equation, args: Sequence[Any], loops: tuple[int, ...], **how: Any
    ) -> tuple[Sequence[Any], Record]:
        """A call, or a choice: each program hands on a record of one size."""
        region: Region = eqn.primitive.regions
        params, k = eqn.params, region.index
        spread = bool(region.per_out)
        if spread:
            loops = (*loops, len(self.around))
            self.around.append(Around(eqn, "device"))
        with region.scope(params):
            found = [self.staged(b, loops, **how) for b in region.bodies(params)]
            sizes = [size for _, size in found]
            wide = [
                _padded(new, sizes, i) if len(found) > 1 else new
                for i, (new, _) in enumerate(found)
            ]
        n_out = len(region.bodies(params)[0].out_avals)
        outs_from = [None, None, None, *range(n_out)]
        first, new = region.rebuild(params, wide, range(len(args) - k), outs_from)
        outs = eqn.primitive.bind(*args[:k], *first, *args[k:], **new)
        record = Record(*outs[:3])
        if spread:  # of the device on which it came first
            which = jnp.argmin(record.first).astype(np.int32)
            one = [jnp.asarray(r)[which] for r in record]
            at = jnp.concatenate([lax.reshape(which, (1,)), one[1]])
            record = Record(one[0], at, one[2])
        return outs[3:], record

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
        also = asked if test else []
        groups = loop.groups(params, [*map(core.aval_of, asked), *body.in_avals])
        ask_avals = groups[0] if test else []
        known = [*[True] * len(consts), *[False] * len(first), *[True] * len(rows)]

        def step(
            asks: list[Any],
            own: list[Any],
            carry: list[Any],
            more: list[Any],
            number: Any,
        ) -> tuple[list[Any], Record]:
            found = [
                self.run(t.jaxpr, t.consts, [*asks, *carry], inside, **how)[1]
                for t in test
            ]
            outs, record = self.run(
                body.jaxpr, body.consts, [*own, *carry, *more], inside,
                **{**how, "known": known},
            )  # fmt: skip
            record = joined(NOTHING, [], [*found, record])
            at = jnp.concatenate([lax.reshape(number, (1,)), record.at])
            return outs, record._replace(at=at)

        start = self._start(step, [ask_avals, *groups[1:]])
        n_start = len(start)

        def watched(*xs: Any) -> list[Any]:
            asks, own, state, carry, more = split_list(
                xs, [len(also), len(consts), n_start, len(first)]
            )
            before, count = Record(*state[:3]), state[3]
            number, more = (more[0], more[1:]) if rows else (count, more)
            outs, record = step(asks, own, carry, more, number)
            done = lax.lt(before.first, NOTHING)
            kept = [
                jnp.where(done, old, new)
                for old, new in zip(before, record, strict=True)
            ]
            return [*kept, lax.add(count, np.int32(1)), *outs]

        numbers = []
        if rows:
            assert loop.length is not None
            numbers.append(np.arange(params[loop.length], dtype=np.int32))
        state_avals = [core.aval_of(x) for x in start]
        ins = [
            *ask_avals, *groups[1], *state_avals, *groups[2],
            *(state_avals[3:] if rows else ()), *groups[3],
        ]  # fmt: skip
        new = stage_closed(watched, ins, text="nans")
        n = len(asked)
        lead = [*range(n), *state_avals, *range(n, n + len(first))]
        bodies = [*(rearranged(t, lead) for t in test), new]
        operands = [asked, [*also, *consts], [*start, *first], [*numbers, *rows]]
        out = eqn.primitive.bind(
            *(x for group in operands for x in group),
            **loop.rebuild(params, bodies, operands),
        )
        outs = out[n_start:]
        records = [Record(*out[:3])]
        for t in test:  # what it said in the end
            args = [*asked, *outs]
            records.append(self.run(t.jaxpr, t.consts, args, loops, **how)[1])
        return outs, joined(NOTHING, [], records)

    def _start(self, step: Any, groups: Sequence[Sequence[Any]]) -> list[Any]:
        """A record in which nothing is found, as large as that of a step; a counter.

        The step is run for the size alone: the sites that this makes are forgotten.
        """
        sites, around = len(self.sites), len(self.around)
        sizes: list[Any] = []

        def dry(*xs: Any) -> list[Any]:
            parts = split_list(xs, [len(g) for g in groups[:-1]])
            sizes.extend(_sizes(step(*parts, np.int32(0))[1]))
            return []

        stage_closed(dry, [a for g in groups for a in g], text="nans")
        del self.sites[sites:], self.around[around:]
        n, m = sizes
        start = [NOTHING, np.zeros(n, np.int32), np.zeros((m, len(STATS)), np.float32)]
        return [jnp.asarray(x) for x in (*start, np.int32(0))]


def _sizes(record: Record) -> tuple[int, ...]:
    return tuple(core.aval_of(x).shape[0] for x in record[1:])


def _padded(
    closed: ClosedJaxpr, sizes: Sequence[tuple[int, ...]], i: int
) -> ClosedJaxpr:
    """A branch that leaves room in its record for what the others find."""
    before = [sum(s[j] for s in sizes[:i]) for j in (0, 1)]
    after = [sum(s[j] for s in sizes[i + 1 :]) for j in (0, 1)]

    def fun(*args: Any) -> list[Any]:
        first, *rest = closed(*args)
        wide = [
            jnp.pad(x, [(before[j], after[j])] + [(0, 0)] * (x.ndim - 1))
            for j, x in enumerate(map(jnp.asarray, rest[:2]))
        ]
        return [first, *wide, *rest[2:]]

    return stage_closed(fun, closed.in_avals, name=closed.jaxpr.name, text="nans")


class Every(Finder):
    """Looks at every value."""


class One(Finder):
    """Looks at what one site makes, and takes the statistics of its operands."""

    def __init__(self, kinds: Sequence[str], number: int) -> None:
        super().__init__(kinds)
        self.number = number

    def looks(self, number: int) -> bool:
        return number == self.number

    def stats_of(self, values: Sequence[Any]) -> list[Any]:
        return [statistics(x) for x in values]


class Coarse(Finder):
    """Looks where a bad number could get lost, and at results.

    What constants of the program explain (masks) is followed by slots: those whose
    badness a value may have rightly.
    """

    def run(  # type: ignore[override]
        self, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any],
        loops: tuple[int, ...] = (), top: bool = False, known: Sequence[bool] = (),
        masked: bool = False,
    ) -> tuple[list[Any], Record]:  # fmt: skip
        """Run a program.

        known: which arguments have been looked at; masked: whether constants of programs
        around may have made them bad.
        """
        env: dict[Any, Any] = {}
        plain = not masked and not holds_constants(jaxpr, consts)
        looks = Looks(env, quick=plain and len(self.kinds) == 2)
        explained: dict[Any, frozenset[int]] = {}
        seen: set[Any] = {v for v, k in zip(jaxpr.invars, known, strict=False) if k}
        inner: list[Record] = []

        def reasons(a: Any) -> frozenset[int]:
            if type(a) is not Literal:
                return explained.get(a, _NO_REASON)
            if is_float(a.aval) and badness(a.val) > 0:
                return frozenset((looks.slot(a),))
            return _NO_REASON

        def look(v: Any) -> None:
            if type(v) is Literal or v in seen or not is_float(v.aval):
                return
            seen.add(v)
            looks.check(len(self.sites), looks.slot(v), reasons(v))
            if reasons(v):
                explained[v] = frozenset((looks.slot(v),))

        ins = [*zip(jaxpr.constvars, consts, strict=True)]
        ins += zip(jaxpr.invars, args, strict=True)
        for v, x in ins:
            env[v] = x
            if is_float(v.aval) and (masked or (v in jaxpr.constvars and known_bad(x))):
                explained[v] = frozenset((looks.slot(v),))
                seen.add(v)
        for eqn, values in walk(jaxpr, env):
            loses = self._loses(eqn)
            if loses:
                for a in eqn.ins:
                    look(a)
            why = _NO_REASON.union(*map(reasons, eqn.ins))
            again, held = loses, bool(why)
            outs, record = self.equation(eqn, values, loops, masked=held)
            env.update(zip(eqn.outs, outs, strict=True))
            if record is not None:
                inner.append(record)
                again, held = True, held or self._holds_constants(eqn)
            for v in filter(_floats, eqn.outs):
                if held:  # what is lost explains nothing any more
                    explained[v] = frozenset((looks.slot(v),)) if again else why
        if top:
            for v in jaxpr.outvars:
                look(v)
        record = joined(looks.first(self.kinds), [], inner)
        return [looks.value(a) for a in jaxpr.outvars], record

    def loop(self, eqn: Equation, args: Any, loops: Any, **how: Any) -> Any:
        masked = how.get("masked", False) or self._holds_constants(eqn)
        return super().loop(eqn, args, loops, masked=masked)

    def _holds_constants(self, eqn: Equation) -> bool:
        return any(
            holds_constants(b.jaxpr, b.consts)
            for b in eqn.primitive.regions.bodies(eqn.params)
        )

    def _loses(self, eqn: Equation) -> bool:
        """Whether an equation's results may be good where its operands are not."""
        prim = eqn.primitive
        if prim.regions is not None:
            return isinstance(prim.regions, Loop)
        kept = [v for v in eqn.outs if is_float(v.aval)]
        kinds = {
            dtypes.is_complex(v.aval.dtype) for v in (*kept, *eqn.ins) if _floats(v)
        }
        return not prim.keeps_nans or not kept or len(kinds) > 1


_NO_REASON: frozenset[int] = frozenset()


def statistics(x: Any) -> Any:
    """`STATS` of a value, as float32."""
    x = jnp.asarray(x)
    if not x.size or dtypes.is_extended(x.dtype):
        return np.zeros(len(STATS), np.float32)
    if dtypes.is_complex(x.dtype):
        x = jnp.abs(x)
    if not dtypes.is_float(x.dtype):
        x = x.astype(np.float32)
    good, flat = jnp.isfinite(x), jnp.ravel(x)
    bad = jnp.logical_not(jnp.isfinite(flat))
    at = jnp.where(bad.any(), jnp.argmax(bad), -1)
    n = good.sum()
    row = [
        jnp.isnan(x).sum(), jnp.isinf(x).sum(), at,
        jnp.where(good, x, np.inf).min(), jnp.where(good, x, -np.inf).max(),
        jnp.where(good, x, 0).sum() / jnp.maximum(n, 1),
    ]  # fmt: skip
    return jnp.stack([r.astype(np.float32) for r in row])
