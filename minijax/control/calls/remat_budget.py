"""A checkpoint policy with a memory budget: recompute as little as the budget allows.

The program is cut at points where few bytes cross, at most `MAX_CUTS` of them.  The
equations between two neighboring cuts are either stored, with all their residuals, or
belong to a segment that is recomputed.  The backward pass recomputes a segment from the
values that cross its start.  The segment is then divided in the same way, within the bytes
that are free at that time.  Let C(s, t, b) be the fewest operations that are recomputed on
the way back from cut t to cut s within b bytes.  It is the smaller of

    C(s+1, t, b - residuals(s))
    flops(s, k) + C(s, k, b - inputs(s, k) - cotangents(k)) + C(k, t, b - inputs(s, k))

for s < k < t.  When the backward pass reaches a segment, the memory of all later segments
is free again.  The cotangents of the values that cross k stay alive until the recomputed
segment ends, because they are operands of the region that the compiler makes of it.  On
chains the result is optimal for these cuts, at any depth.  One approximation remains: bytes
are counted in units of budget / `STEPS`, rounded up, unless their common divisor is larger.
On other programs, trees included, a value that several segments read is counted for each
of them: the plan then stays within the budget but may recompute more than necessary.

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

from ...analysis.cost_model import equation_flops, nbytes
from ...base import errors
from ...ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal
from ...passes.linearize import linearize_jaxpr
from ...passes.stage import remembered
from ...types import dtypes

MAX_CUTS = 48
STEPS = 512


@dataclasses.dataclass(frozen=True)
class Segment:
    """Consecutive equations: their inputs, residuals and cost.

    bytes: stored for the segment from the forward to the backward pass; residuals: bytes
    that its backward pass reads; flops: of its equations.
    cotangents: bytes of the cotangents of the values that cross its end.
    inside: how a recomputed segment is divided when it is recomputed.
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
class SegmentPlan:
    """Segments in program order, the `bytes` that they need and the `flops` recomputed."""

    segments: tuple[Segment, ...]
    bytes: int
    flops: float


@dataclasses.dataclass(frozen=True)
class Budget:
    """The policy that `budget` returns."""

    limit: int

    def __call__(self, *_: Any, **__: Any) -> bool:
        return False  # a recomputed segment stores nothing inside

    def divide(self, jaxpr: Jaxpr, wrap: Any) -> Jaxpr:
        """Return the program with each recomputed segment as a single equation.

        wrap(jaxpr) returns the primitive and the params that hold such a segment.
        """
        return _divide(ClosedJaxpr(jaxpr), self.limit, wrap)


@remembered
def _divide(closed: ClosedJaxpr, limit: int, wrap: Any) -> Jaxpr:
    jaxpr = closed.jaxpr
    chosen = plan_segments(jaxpr, limit)
    after = {a for a in jaxpr.outvars if type(a) is not Literal}
    eqns = _divided(jaxpr, chosen.segments, wrap, after)
    return jaxpr.replace(eqns=eqns, arg_names=())


def budget(nbytes: int) -> Budget:
    """A policy that stores as much as fits into `nbytes` and recomputes the least.

    It divides the function at points where few bytes cross, stores some segments and
    recomputes the others.  Within a recomputed segment, parts may be recomputed once more,
    so that the values alive at any time fit.

    Args:
      nbytes: for residuals, and for the cotangents that are alive while a segment is
        recomputed; arguments and results do not count, as they are stored in any case.

    Returns:
      A policy for `checkpoint`.

    Raises:
      ValueError: when it is used, if no choice fits; the message names the least budget.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> slim = mj.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum(), policy=budget(8000))
      >>> mj.grad(slim)(jnp.zeros(1000))[0]
      Array(1., dtype=float32)

    Source: Beaumont et al., Optimal Checkpointing for Heterogeneous Chains (2019).
    """
    return Budget(int(nbytes))


class _Costs:
    """The costs of the segments of a program."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        program_inputs = {*jaxpr.constvars, *jaxpr.invars}
        self.reads: list[list[Any]] = []
        self.keeps: list[tuple[list[Any], int]] = []
        for eqn in jaxpr.eqns:
            reads = dict.fromkeys(
                a for a in eqn.ins if type(a) is not Literal and a not in program_inputs
            )
            self.reads.append(list(reads))
            self.keeps.append(_residuals(eqn, program_inputs))
        self.flops = [equation_flops(eqn) for eqn in jaxpr.eqns]
        self.fixed = [bool(eqn.effects) for eqn in jaxpr.eqns]
        self.crossing, self.cotangents = self._crossing()

    def _crossing(self) -> tuple[list[int], list[int]]:
        """Return the bytes that cross the point before each equation, and of cotangents."""
        jaxpr, n = self.jaxpr, len(self.jaxpr.eqns)
        last: dict[Any, int] = {v: i for i, reads in enumerate(self.reads) for v in reads}
        out, back = [0] * (n + 1), [0] * (n + 1)
        for i, eqn in enumerate(jaxpr.eqns):
            for v in eqn.outs:
                size, has_cotangent = nbytes(v.aval), _has_cotangent(v)
                for k in range(i + 1, last.get(v, i) + 1):
                    out[k] += size
                    back[k] += size if has_cotangent else 0
        return out, back

    def segment(self, start: int, end: int, recomputed: bool) -> Segment:
        """Return the segment of the equations from `start` to before `end`."""
        own: set[Any] = set()
        inputs: set[Any] = set()
        residual_vars: set[Any] = set()
        residuals = 0
        for i in range(start, end):
            inputs.update(v for v in self.reads[i] if v not in own)
            own.update(self.jaxpr.eqns[i].outs)
            variables, more = self.keeps[i]
            residual_vars.update(variables)
            residuals += more
        residuals += sum(nbytes(v.aval) for v in residual_vars)
        stored = sum(nbytes(v.aval) for v in inputs) if recomputed else residuals
        work = sum(self.flops[start:end])
        back = self.cotangents[end]
        return Segment(start, end, recomputed, stored, residuals, work, back)


def _has_cotangent(v: Any) -> bool:
    """Whether a variable has a cotangent."""
    return hasattr(v.aval, "dtype") and dtypes.is_inexact(v.aval.dtype)


def _residuals(eqn: Equation, program_inputs: set[Any]) -> tuple[list[Any], int]:
    """Return what an equation's derivative reads: outer variables, and bytes of its own."""
    alone = Jaxpr([], [a for a in eqn.ins if type(a) is not Literal], eqn.outs, [eqn])
    alone.invars = list(dict.fromkeys(alone.invars))
    differentiable = [_has_cotangent(v) for v in alone.invars]
    if not any(differentiable):
        return [], 0
    linearized = linearize_jaxpr(ClosedJaxpr(alone), differentiable)
    pools = {"in": alone.invars, "out": list(eqn.outs)}
    variables, more = [], 0
    new = linearized.primal.out_avals[len(eqn.outs) :]
    for kind, i in linearized.residuals:
        if kind == "new":
            more += nbytes(new[i])
        elif pools[kind][i] not in program_inputs:
            variables.append(pools[kind][i])
    return variables, more


def _cut_points(costs: _Costs) -> list[int]:
    """Choose where to cut: in each of several windows, where the fewest bytes cross."""
    n = len(costs.jaxpr.eqns)
    if not n:
        return [0]
    count = min(MAX_CUTS, n)
    edges = [round(k * n / count) for k in range(count + 1)]
    inner = [
        min(range(a, b), key=lambda i: costs.crossing[i])
        for a, b in itertools.pairwise(edges[1:])
        if b > a
    ]
    return sorted({0, n, *inner})


def plan_segments(jaxpr: Jaxpr, limit: int) -> SegmentPlan:
    """Choose the segments to recompute, within a limit in bytes."""
    costs = _Costs(jaxpr)
    points = _cut_points(costs)
    m = len(points) - 1
    stored_segments = [costs.segment(points[i], points[i + 1], False) for i in range(m)]
    recomputed_segments = {
        (i, j): costs.segment(points[i], points[j], True)
        for i in range(m)
        for j in range(i + 1, m)
        if not any(costs.fixed[points[i] : points[j]])
    }
    least = _counted(_smallest(stored_segments, recomputed_segments, m))
    if least.bytes > limit:
        raise errors.value_error(
            f"checkpoint: no choice of residuals fits into {limit} bytes.",
            why=f"For this program, cut at {m} places, the least is {least.bytes} bytes.",
            tries=[f"budget({least.bytes})", "a scan over layers, each a checkpoint"],
        )
    cheapest = _cheapest(stored_segments, recomputed_segments, m, limit)
    plans = [least] if cheapest is None else [least, _counted(cheapest)]
    return min(plans, key=lambda p: (p.flops, p.bytes))


def _counted(segments: Sequence[Segment]) -> SegmentPlan:
    return SegmentPlan(tuple(segments), _need(segments), _work(segments))


def _need(segments: Sequence[Segment]) -> int:
    """Return the most bytes alive at any time of the backward pass."""
    most = stored = 0
    for s in segments:
        stored += s.bytes
        cotangents = s.cotangents if s.recomputed else 0
        most = max(most, stored + cotangents + _need(s.inside))
    return most


def _work(segments: Sequence[Segment]) -> float:
    """Return the number of operations recomputed, counting repeated ones every time."""
    return sum(s.flops + _work(s.inside) for s in segments if s.recomputed)


SegmentTable = dict[tuple[int, int], Segment]


def _smallest(
    stored_segments: Sequence[Segment], recomputed_segments: SegmentTable, m: int
) -> list[Segment]:
    """Return the segments that need the fewest bytes."""
    need = {(i, i): 0 for i in range(m + 1)}
    chosen: dict[tuple[int, int], int] = {}  # where the first stretch ends
    for n in range(1, m + 1):
        for s in range(m - n + 1):
            t = s + n
            ways = [(stored_segments[s].bytes + need[s + 1, t], 0)]
            ways += [
                (
                    recomputed_segments[s, k].bytes
                    + max(recomputed_segments[s, k].cotangents + need[s, k], need[k, t]),
                    k,
                )
                for k in range(s + 1, t)
                if (s, k) in recomputed_segments
            ]
            need[s, t], chosen[s, t] = min(ways)
    return _segments_between(
        stored_segments, recomputed_segments, 0, m, lambda s, t, left: chosen[s, t]
    )


def _cheapest(
    stored_segments: Sequence[Segment], recomputed_segments: SegmentTable, m: int, limit: int
) -> list[Segment] | None:
    """Return the segments with the least work within a limit, in units of bytes."""
    sizes = [
        n
        for s in (*stored_segments, *recomputed_segments.values())
        for n in (s.bytes, s.cotangents)
    ]
    unit = math.gcd(*sizes) or 1
    unit = max(unit, -(-limit // STEPS))
    available_units = limit // unit
    units_of = lambda s: -(-s.bytes // unit)
    cotangent_units = lambda s: -(-s.cotangents // unit)
    work = {(i, i): np.zeros(available_units + 1) for i in range(m + 1)}
    chosen: dict[tuple[int, int], Any] = {}
    for n in range(1, m + 1):
        for s in range(m - n + 1):
            t = s + n
            best, ends = (
                np.full(available_units + 1, np.inf),
                np.zeros(available_units + 1, np.int16),
            )
            used = units_of(stored_segments[s])
            if used <= available_units:
                best[used:] = work[s + 1, t][: available_units + 1 - used]
            for k in range(s + 1, t):
                segment = recomputed_segments.get((s, k))
                if segment is None or (used := units_of(segment)) > available_units:
                    continue
                cost = work[k, t][: available_units + 1 - used] + segment.flops
                back = min(cotangent_units(segment), len(cost))
                cost[:back] = np.inf
                cost[back:] += work[s, k][: len(cost) - back]
                better = cost < best[used:]
                best[used:][better] = cost[better]
                ends[used:][better] = k
            work[s, t], chosen[s, t] = best, ends
    if not np.isfinite(work[0, m][available_units]):
        return None
    ends_at = lambda s, t, b: int(chosen[s, t][b])
    return _segments_between(
        stored_segments,
        recomputed_segments,
        0,
        m,
        ends_at,
        available_units,
        units_of,
        cotangent_units,
    )


def _segments_between(
    stored_segments: Sequence[Segment],
    recomputed_segments: SegmentTable,
    s: int,
    t: int,
    end: Any,
    b: int = 0,
    units_of: Any = lambda s: 0,
    cotangent_units: Any = lambda s: 0,
) -> list[Segment]:
    """Return the segments from cut `s` to `t`.

    end(s, t, b): the cut where the first segment ends, 0 if it is stored.
    b: free units of bytes; a segment takes `units_of` of them, and its cotangents take
    `cotangent_units` of those available inside it.
    """
    out = []
    while s < t:
        k = end(s, t, b)
        if not k:
            out.append(stored_segments[s])
            b, s = b - units_of(stored_segments[s]), s + 1
            continue
        segment = recomputed_segments[s, k]
        b -= units_of(segment)
        inside = _segments_between(
            stored_segments,
            recomputed_segments,
            s,
            k,
            end,
            b - cotangent_units(segment),
            units_of,
            cotangent_units,
        )
        out.append(dataclasses.replace(segment, inside=tuple(inside)))
        s = k
    return out


def _divided(
    jaxpr: Jaxpr, segments: Sequence[Segment], wrap: Any, after: set[Any]
) -> list[Equation]:
    """Return the equations, with each recomputed segment as a single one.

    after: the variables that are read later.
    """
    eqns: list[Equation] = []
    for s in reversed(segments):
        own_eqns = list(jaxpr.eqns[s.start : s.end])
        later = set(after)
        after.update(a for e in own_eqns for a in e.ins if type(a) is not Literal)
        if not s.recomputed or not own_eqns:
            eqns = own_eqns + eqns
            continue
        own_outs = dict.fromkeys(v for e in own_eqns for v in e.outs)
        ins = dict.fromkeys(
            a for e in own_eqns for a in e.ins if type(a) is not Literal and a not in own_outs
        )
        outs = [v for v in own_outs if v in later]
        within = _divided(jaxpr, s.inside, wrap, set(outs))
        prim, params = wrap(Jaxpr([], list(ins), outs, within, jaxpr.name))
        # Its own variables, outside: those inside belong to another program.
        call = Equation(prim, list(ins), outs, params, own_eqns[0].source, own_eqns[0].names)
        eqns.insert(0, call)
    return eqns
