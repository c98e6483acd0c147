"""A checkpoint policy by memory: what to recompute, for least work within so many bytes.

The program is cut at places where few bytes cross, at most `PLACES` of them.  Each stretch
between two cuts is either kept, with all its residuals, or recomputed from what crosses its
beginning; while one is, its residuals are there, too.  So the bytes are

    sum(residuals of kept) + sum(inputs of recomputed) + max(residuals of recomputed)

Dynamic programming over the cuts finds the choice with fewest operations recomputed
within the budget.  On chains it is the optimum over these cuts, for one level of
recomputation, but that bytes are counted in steps of budget / `STEPS`, rounded up, if
their common divisor is less.
Elsewhere a value that several stretches read is counted once for each, so that the plan
keeps within the budget and may recompute more than it must.

Source: Griewank & Walther, Evaluating Derivatives, ch. 12; the cuts in two kinds as in
Jain et al., Checkmate (2020), with the order of the program given.  Next: remat.py.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal
from ...passes.costs import equation_flops, nbytes
from ...passes.linearize import linearize_jaxpr
from ...types import dtypes

PLACES = 48
STEPS = 512


@dataclasses.dataclass(frozen=True)
class Stretch:
    """Some equations in a row: what they take, keep and cost.

    bytes: what is stored for it from the forward to the backward pass; residuals: what its
    backward pass reads; flops: of its equations.
    """

    start: int
    end: int
    recomputed: bool
    bytes: int
    residuals: int
    flops: float


@dataclasses.dataclass(frozen=True)
class Plan:
    """Stretches in order; the `bytes` that they need, the `flops` that are recomputed."""

    stretches: tuple[Stretch, ...]
    bytes: int
    flops: float


@dataclasses.dataclass(frozen=True)
class Budget:
    """The policy that `budget` makes."""

    limit: int

    def __call__(self, *_: Any, **__: Any) -> bool:
        return False  # inside of a stretch that is recomputed, nothing is stored

    def divide(self, jaxpr: Jaxpr, wrap: Any) -> Jaxpr:
        """The program with the stretches to be recomputed as single equations.

        wrap(jaxpr) gives the primitive and the params that hold such a stretch.
        """
        key = ("budget", self.limit)
        if key not in jaxpr.memo:
            found = plan(jaxpr, self.limit)
            jaxpr.memo[key] = _divided(jaxpr, found, wrap)
        return jaxpr.memo[key]  # type: ignore[no-any-return]


def budget(nbytes: int) -> Budget:
    """A policy that stores as much as fits into so many bytes, and recomputes the least.

    It divides the function at places where few bytes cross, keeps some stretches and
    recomputes others, so that what is kept and what is recomputed at a time fit together.

    Args:
      nbytes: for residuals; arguments and results, which are there anyway, do not count.

    Returns:
      A policy for `checkpoint`.

    Raises:
      ValueError: when it is used, if no choice fits; the message says what would.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> def f(x):
      ...     for _ in range(8):
      ...         x = jnp.sin(x)
      ...     return x.sum()
      >>> slim = mj.checkpoint(f, policy=budget(5 * 4000))
      >>> mj.grad(slim)(jnp.zeros(1000))[0]
      Array(1., dtype=float32)

    Source: Griewank & Walther, Evaluating Derivatives, ch. 12.
    """
    return Budget(int(nbytes))


class _Costs:
    """What stretches of a program cost."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        given = {*jaxpr.constvars, *jaxpr.invars}
        self.reads: list[list[Any]] = []
        self.keeps: list[tuple[list[Any], int]] = []
        for eqn in jaxpr.eqns:
            reads = dict.fromkeys(
                a for a in eqn.ins if type(a) is not Literal and a not in given
            )
            self.reads.append(list(reads))
            self.keeps.append(_residuals(eqn, given))
        self.flops = [equation_flops(eqn) for eqn in jaxpr.eqns]
        self.fixed = [bool(eqn.effects) for eqn in jaxpr.eqns]
        self.crossing = self._crossing()

    def _crossing(self) -> list[int]:
        """The bytes that cross the place before each equation."""
        jaxpr, n = self.jaxpr, len(self.jaxpr.eqns)
        last: dict[Any, int] = {
            v: i for i, reads in enumerate(self.reads) for v in reads
        }
        out = [0] * (n + 1)
        for i, eqn in enumerate(jaxpr.eqns):
            for v in eqn.outs:
                for k in range(i + 1, last.get(v, i) + 1):
                    out[k] += nbytes(v.aval)
        return out

    def stretch(self, start: int, end: int, recomputed: bool) -> Stretch:
        """The equations from `start` to before `end`."""
        own: set[Any] = set()
        inputs: set[Any] = set()
        kept: set[Any] = set()
        residuals = 0
        for i in range(start, end):
            inputs.update(v for v in self.reads[i] if v not in own)
            own.update(self.jaxpr.eqns[i].outs)
            variables, more = self.keeps[i]
            kept.update(variables)
            residuals += more
        residuals += sum(nbytes(v.aval) for v in kept)
        stored = sum(nbytes(v.aval) for v in inputs) if recomputed else residuals
        work = sum(self.flops[start:end])
        return Stretch(start, end, recomputed, stored, residuals, work)


def _residuals(eqn: Equation, given: set[Any]) -> tuple[list[Any], int]:
    """What the derivative of an equation reads: variables here, and bytes of its own."""
    alone = Jaxpr([], [a for a in eqn.ins if type(a) is not Literal], eqn.outs, [eqn])
    alone.invars = list(dict.fromkeys(alone.invars))
    moves = [
        hasattr(v.aval, "dtype") and dtypes.is_inexact(v.aval.dtype)
        for v in alone.invars
    ]
    if not any(moves):
        return [], 0
    parts = linearize_jaxpr(ClosedJaxpr(alone), moves)
    pools = {"in": alone.invars, "out": list(eqn.outs)}
    variables, more = [], 0
    new = parts.primal.out_avals[len(eqn.outs) :]
    for where, i in parts.residuals:
        if where == "new":
            more += nbytes(new[i])
        elif pools[where][i] not in given:
            variables.append(pools[where][i])
    return variables, more


def _places(costs: _Costs) -> list[int]:
    """Where to cut: in each of some windows, where the fewest bytes cross."""
    n = len(costs.jaxpr.eqns)
    count = min(PLACES, n)
    edges = [round(k * n / count) for k in range(count + 1)]
    inner = [
        min(range(a, b), key=lambda i: costs.crossing[i])
        for a, b in itertools.pairwise(edges[1:])
        if b > a
    ]
    return sorted({0, n, *inner})


def plan(jaxpr: Jaxpr, limit: int) -> Plan:
    """Which stretches to recompute, within a limit in bytes."""
    costs = _Costs(jaxpr)
    at = _places(costs)
    m = len(at) - 1
    kept = [costs.stretch(at[i], at[i + 1], False) for i in range(m)]
    again = {
        (i, j): costs.stretch(at[i], at[j], True)
        for i in range(m)
        for j in range(i + 1, m + 1)
        if not any(costs.fixed[at[i] : at[j]])
    }
    sizes = sorted({s.residuals for s in again.values()})
    if len(sizes) > 24:
        sizes = [sizes[round(k * (len(sizes) - 1) / 23)] for k in range(24)]
    least = [_counted(_least(kept, again, m, most)) for most in (0, *sizes)]
    plans = [p for p in least if p.bytes <= limit]
    for most in (0, *sizes):
        found = _best(kept, again, m, limit, most) if most <= limit else None
        if found is not None:
            plans.append(_counted(found))
    if not plans:
        need = min(p.bytes for p in least)
        raise errors.value_error(
            f"checkpoint: no choice of residuals fits into {limit} bytes.",
            why=f"for this program, cut once, the least is {need} bytes.",
            tries=[f"budget({need})", "a scan over layers, each a checkpoint"],
        )
    return min(plans, key=lambda p: (p.flops, p.bytes))


def _counted(stretches: Sequence[Stretch]) -> Plan:
    most = max((s.residuals for s in stretches if s.recomputed), default=0)
    stored = sum(s.bytes for s in stretches)
    work = sum(s.flops for s in stretches if s.recomputed)
    return Plan(tuple(stretches), stored + most, work)


def _best(
    kept: Sequence[Stretch], again: dict[tuple[int, int], Stretch], m: int, limit: int,
    most: int,
) -> list[Stretch] | None:  # fmt: skip
    """The stretches with least work, if none recomputed has more residuals than `most`."""
    unit = math.gcd(*(s.bytes for s in (*kept, *again.values()))) or 1
    unit = max(unit, -(-(limit - most) // STEPS))
    room = (limit - most) // unit
    work = np.full((m + 1, room + 1), np.inf)
    work[0, 0] = 0.0
    ways = [
        [(j - 1, kept[j - 1])]
        + [(i, again[i, j]) for i in range(j) if _fits(again.get((i, j)), most)]
        for j in range(1, m + 1)
    ]
    chosen = np.zeros((m + 1, room + 1), int)
    for j in range(1, m + 1):
        for k, (i, s) in enumerate(ways[j - 1]):
            step = -(-s.bytes // unit)
            if step > room:
                continue
            cost = work[i, : room + 1 - step] + (s.flops if s.recomputed else 0.0)
            better = cost < work[j, step:]
            work[j, step:][better] = cost[better]
            chosen[j, step:][better] = k
    u = int(np.argmin(work[m]))
    if not np.isfinite(work[m, u]):
        return None
    out: list[Stretch] = []
    j = m
    while j:
        j, s, u = _step_back(ways[j - 1][chosen[j, u]], u, unit)
        out.append(s)
    return out[::-1]


def _step_back(way: tuple[int, Stretch], u: int, unit: int) -> tuple[int, Stretch, int]:
    i, s = way
    return i, s, u - -(-s.bytes // unit)


def _fits(s: Stretch | None, most: int) -> bool:
    return s is not None and s.residuals <= most


def _least(
    kept: Sequence[Stretch], again: dict[tuple[int, int], Stretch], m: int, most: int
) -> list[Stretch]:
    """The stretches with fewest bytes stored."""
    best: list[tuple[int, list[Stretch]]] = [(0, [])]
    for j in range(1, m + 1):
        ways = [(best[j - 1], kept[j - 1])]
        ways += [
            (best[i], again[i, j])
            for i in range(j)
            if (i, j) in again and again[i, j].residuals <= most
        ]
        (before, s) = min(ways, key=lambda way: way[0][0] + way[1].bytes)
        best.append((before[0] + s.bytes, [*before[1], s]))
    return best[m][1]


def _divided(jaxpr: Jaxpr, found: Plan, wrap: Any) -> Jaxpr:
    """The program with the recomputed stretches as equations."""
    eqns: list[Equation] = []
    needed_later: list[set[Any]] = []
    after = {a for a in jaxpr.outvars if type(a) is not Literal}
    for s in reversed(found.stretches):
        needed_later.append(set(after))
        for eqn in jaxpr.eqns[s.start : s.end]:
            after.update(a for a in eqn.ins if type(a) is not Literal)
    for s, later in zip(found.stretches, reversed(needed_later), strict=True):
        mine = jaxpr.eqns[s.start : s.end]
        if not s.recomputed or not mine:
            eqns += mine
            continue
        made = dict.fromkeys(v for e in mine for v in e.outs)
        ins = dict.fromkeys(
            a for e in mine for a in e.ins if type(a) is not Literal and a not in made
        )
        outs = [v for v in made if v in later]
        prim, params = wrap(Jaxpr([], list(ins), outs, mine, jaxpr.name))
        # Its own variables, outside: those inside are another program's.
        eqns.append(
            Equation(prim, list(ins), outs, params, mine[0].source, mine[0].names)
        )
    return jaxpr.replace(eqns=eqns, arg_names=())
