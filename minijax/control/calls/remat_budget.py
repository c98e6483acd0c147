"""A checkpoint policy by memory: what to recompute, for least work within so many bytes.

The program is cut at places where few bytes cross, at most `PLACES` of them.  From one cut
to the next it is either kept, with all its residuals, or belongs to a stretch that is
recomputed from what crosses its beginning when the backward pass gets there; a stretch is
treated so in turn, with what is free by then.  Let C(s, t, b) be the fewest operations
computed again to go back from cut t to cut s with b bytes, then it is the least of

    C(s+1, t, b - residuals(s))
    flops(s, k) + C(s, k, b - inputs(s, k) - cotangents(k)) + C(k, t, b - inputs(s, k))

for s < k < t, for when the backward pass comes to a stretch, all that later ones stored is
gone.  The cotangents of what crosses k come with it, and are there until the recomputed
stretch ends, for they are operands of the region that the compiler makes of it.  On
chains this is the optimum over these cuts, at any depth, but that bytes are counted in
steps of budget / `STEPS`, rounded up, if their common divisor is less.  Elsewhere, trees
included, a value that several stretches read is counted for each: the plan then keeps
within the budget and may recompute more than it must.

Source: Beaumont, Eyraud-Dubois, Herrmann, Joly & Shilova, Optimal Checkpointing for
Heterogeneous Chains (2019), theorem 1; Griewank & Walther, Evaluating Derivatives, ch. 12.
Next: remat.py.
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
from ...passes.cost_model import equation_flops, nbytes
from ...passes.linearize import linearize_jaxpr
from ...types import dtypes

PLACES = 48
STEPS = 512


@dataclasses.dataclass(frozen=True)
class Segment:
    """Some equations in a row: what they take, keep and cost.

    bytes: what is stored for it from the forward to the backward pass; residuals: what its
    backward pass reads; flops: of its equations.
    cotangents: of what crosses its end, which the backward pass brings.
    inside: of one that is recomputed, how it is treated then.
    """

    start: int
    end: int
    recomputed: bool
    bytes: int
    residuals: int
    flops: float
    cotangents: int = 0
    inside: tuple[Segment, ...] = ()


@dataclasses.dataclass(frozen=True)
class Plan:
    """Stretches in order; the `bytes` that they need, the `flops` that are recomputed."""

    stretches: tuple[Segment, ...]
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
            after = {a for a in jaxpr.outvars if type(a) is not Literal}
            eqns = _divided(jaxpr, found.stretches, wrap, after)
            jaxpr.memo[key] = jaxpr.replace(eqns=eqns, arg_names=())
        return jaxpr.memo[key]  # type: ignore[no-any-return]


def budget(nbytes: int) -> Budget:
    """A policy that stores as much as fits into so many bytes, and recomputes the least.

    It divides the function at places where few bytes cross, keeps some stretches and
    recomputes others, of which parts may be recomputed again, so that what is there at a
    time fits.

    Args:
      nbytes: for residuals, and the cotangents that are there as a stretch is recomputed;
        arguments and results, which are there anyway, do not count.

    Returns:
      A policy for `checkpoint`.

    Raises:
      ValueError: when it is used, if no choice fits; the message says what would.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> slim = mj.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum(), policy=budget(8000))
      >>> mj.grad(slim)(jnp.zeros(1000))[0]
      Array(1., dtype=float32)

    Source: Beaumont et al., Optimal Checkpointing for Heterogeneous Chains (2019).
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
        self.crossing, self.cotangents = self._crossing()

    def _crossing(self) -> tuple[list[int], list[int]]:
        """The bytes that cross the place before each equation, and of their cotangents."""
        jaxpr, n = self.jaxpr, len(self.jaxpr.eqns)
        last: dict[Any, int] = {v: i for i, reads in enumerate(self.reads) for v in reads}
        out, back = [0] * (n + 1), [0] * (n + 1)
        for i, eqn in enumerate(jaxpr.eqns):
            for v in eqn.outs:
                size, moves = nbytes(v.aval), _moves(v)
                for k in range(i + 1, last.get(v, i) + 1):
                    out[k] += size
                    back[k] += size if moves else 0
        return out, back

    def stretch(self, start: int, end: int, recomputed: bool) -> Segment:
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
        back = self.cotangents[end]
        return Segment(start, end, recomputed, stored, residuals, work, back)


def _moves(v: Any) -> bool:
    """Whether a variable has a cotangent."""
    return hasattr(v.aval, "dtype") and dtypes.is_inexact(v.aval.dtype)


def _residuals(eqn: Equation, given: set[Any]) -> tuple[list[Any], int]:
    """What the derivative of an equation reads: variables here, and bytes of its own."""
    alone = Jaxpr([], [a for a in eqn.ins if type(a) is not Literal], eqn.outs, [eqn])
    alone.invars = list(dict.fromkeys(alone.invars))
    moves = [_moves(v) for v in alone.invars]
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
    if not n:
        return [0]
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
        for j in range(i + 1, m)
        if not any(costs.fixed[at[i] : at[j]])
    }
    least = _counted(_smallest(kept, again, m))
    if least.bytes > limit:
        raise errors.value_error(
            f"checkpoint: no choice of residuals fits into {limit} bytes.",
            why=f"for this program, cut at {m} places, the least is {least.bytes} bytes.",
            tries=[f"budget({least.bytes})", "a scan over layers, each a checkpoint"],
        )
    found = _cheapest(kept, again, m, limit)
    plans = [least] if found is None else [least, _counted(found)]
    return min(plans, key=lambda p: (p.flops, p.bytes))


def _counted(stretches: Sequence[Segment]) -> Plan:
    return Plan(tuple(stretches), _need(stretches), _work(stretches))


def _need(stretches: Sequence[Segment]) -> int:
    """The most bytes that are there at a time, as the backward pass goes."""
    most = stored = 0
    for s in stretches:
        stored += s.bytes
        beside = s.cotangents if s.recomputed else 0
        most = max(most, stored + beside + _need(s.inside))
    return most


def _work(stretches: Sequence[Segment]) -> float:
    """The operations that are computed again, as often as they are."""
    return sum(s.flops + _work(s.inside) for s in stretches if s.recomputed)


Ways = dict[tuple[int, int], Segment]


def _smallest(kept: Sequence[Segment], again: Ways, m: int) -> list[Segment]:
    """The stretches that need the fewest bytes."""
    need = {(i, i): 0 for i in range(m + 1)}
    chosen: dict[tuple[int, int], int] = {}  # where the first stretch ends
    for n in range(1, m + 1):
        for s in range(m - n + 1):
            t = s + n
            ways = [(kept[s].bytes + need[s + 1, t], 0)]
            ways += [
                (again[s, k].bytes + max(again[s, k].cotangents + need[s, k], need[k, t]), k)
                for k in range(s + 1, t)
                if (s, k) in again
            ]
            need[s, t], chosen[s, t] = min(ways)
    return _made(kept, again, 0, m, lambda s, t, left: chosen[s, t])


def _cheapest(kept: Sequence[Segment], again: Ways, m: int, limit: int) -> list[Segment] | None:
    """The stretches with least work within a limit, in steps of bytes."""
    sizes = [n for s in (*kept, *again.values()) for n in (s.bytes, s.cotangents)]
    unit = math.gcd(*sizes) or 1
    unit = max(unit, -(-limit // STEPS))
    room = limit // unit
    steps = lambda s: -(-s.bytes // unit)
    beside = lambda s: -(-s.cotangents // unit)
    work = {(i, i): np.zeros(room + 1) for i in range(m + 1)}
    chosen: dict[tuple[int, int], Any] = {}
    for n in range(1, m + 1):
        for s in range(m - n + 1):
            t = s + n
            best, ends = np.full(room + 1, np.inf), np.zeros(room + 1, np.int16)
            used = steps(kept[s])
            if used <= room:
                best[used:] = work[s + 1, t][: room + 1 - used]
            for k in range(s + 1, t):
                part = again.get((s, k))
                if part is None or (used := steps(part)) > room:
                    continue
                cost = work[k, t][: room + 1 - used] + part.flops
                back = min(beside(part), len(cost))
                cost[:back] = np.inf
                cost[back:] += work[s, k][: len(cost) - back]
                better = cost < best[used:]
                best[used:][better] = cost[better]
                ends[used:][better] = k
            work[s, t], chosen[s, t] = best, ends
    if not np.isfinite(work[0, m][room]):
        return None
    ends_at = lambda s, t, b: int(chosen[s, t][b])
    return _made(kept, again, 0, m, ends_at, room, steps, beside)


def _made(
    kept: Sequence[Segment],
    again: Ways,
    s: int,
    t: int,
    end: Any,
    b: int = 0,
    steps: Any = lambda s: 0,
    beside: Any = lambda s: 0,
) -> list[Segment]:
    """The stretches from cut `s` to `t`: `end` says where the first one ends, 0 if kept.

    b: the steps of bytes that are free; a stretch takes `steps` of them, and its cotangents
    `beside` from those inside.
    """
    out = []
    while s < t:
        k = end(s, t, b)
        if not k:
            out.append(kept[s])
            b, s = b - steps(kept[s]), s + 1
            continue
        part = again[s, k]
        b -= steps(part)
        inside = _made(kept, again, s, k, end, b - beside(part), steps, beside)
        out.append(dataclasses.replace(part, inside=tuple(inside)))
        s = k
    return out


def _divided(
    jaxpr: Jaxpr, stretches: Sequence[Segment], wrap: Any, after: set[Any]
) -> list[Equation]:
    """The equations with the recomputed stretches as single ones.

    after: the variables that are read later.
    """
    eqns: list[Equation] = []
    for s in reversed(stretches):
        mine = list(jaxpr.eqns[s.start : s.end])
        later = set(after)
        after.update(a for e in mine for a in e.ins if type(a) is not Literal)
        if not s.recomputed or not mine:
            eqns = mine + eqns
            continue
        made = dict.fromkeys(v for e in mine for v in e.outs)
        ins = dict.fromkeys(
            a for e in mine for a in e.ins if type(a) is not Literal and a not in made
        )
        outs = [v for v in made if v in later]
        within = _divided(jaxpr, s.inside, wrap, set(outs))
        prim, params = wrap(Jaxpr([], list(ins), outs, within, jaxpr.name))
        # Its own variables, outside: those inside are another program's.
        whole = Equation(prim, list(ins), outs, params, mine[0].source, mine[0].names)
        eqns.insert(0, whole)
    return eqns
