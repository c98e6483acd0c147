"""`residuals`: the values stored for the backward pass; `plan_remat`: a better choice.

A residual is a value that the forward pass computes or receives, and that an equation of
the backward pass reads.  The names of equations show which pass they belong to.  Loops and
calls are inspected on both sides, to find the lines.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

import numpy as np

from ..analysis.cost_model import equation_flops, flops, inner_programs, nbytes
from ..api.autodiff import grad
from ..control.calls.remat import checkpoint
from ..control.calls.remat_budget import Budget, Segment, SegmentPlan, budget, plan_segments
from ..control.calls.remat_regions import inline_calls
from ..control.refs.discharge import discharge_own_refs
from ..ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal
from .memory_report import xla_memory
from .programs import Report, amount, program_of, table, without_statics
from .source_lines import NOWHERE, SourceLine, is_backward, source_line_of


@dataclasses.dataclass
class Residual:
    """A value that is stored for the backward pass.

    made, read: the lines that compute it, and that read it in the backward pass.
    by: the operation that computes it, or "argument x", or "constant".
    flops: the cost of recomputing it from arguments and other stored values.
    why: that cost in words, or that recomputing is free.

    >>> from minijax import tools
    >>> import minijax as mj, minijax.numpy as jnp
    >>> slope = mj.grad(lambda x: jnp.sin(x).sum())
    >>> (kept,) = tools.residuals(slope, jnp.ones(8)).residuals
    >>> kept.type, kept.bytes, kept.by, kept.reader, kept.flops
    ('f32[8]', 32, 'cos', 'mul', 8.0)
    """

    type: str
    bytes: int
    by: str
    scope: str
    made: SourceLine
    read: SourceLine
    reader: str
    flops: float
    why: str

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass
class Ledger(Report):
    """The residuals, largest first, and sums by scope; arguments are counted separately.

    backward: whether there is a backward pass at all.

    >>> from minijax import tools
    >>> import minijax as mj, minijax.numpy as jnp
    >>> ledger = tools.residuals(mj.grad(lambda x: jnp.sin(x).sum()), jnp.ones(8))
    >>> len(ledger), ledger.bytes, ledger.scopes
    (1, 32, {'jvp()': 32})
    """

    residuals: list[Residual]
    scopes: dict[str, int]
    bytes: int
    arguments: int
    backward: bool = True

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def __len__(self) -> int:
        return len(self.residuals)

    def __str__(self) -> str:
        if not self.backward:
            return "There is no backward pass. Call residuals(grad(f), ...), for example."
        head = (
            f"{len(self.residuals)} residuals, {amount(self.bytes)} kept by the forward"
            f" pass; arguments read backwards, {amount(self.arguments)}"
        )
        rows = [
            (
                amount(r.bytes),
                r.type,
                r.by,
                f"{r.made.short} {r.made.variable}",
                f"{r.read.short} by {r.reader}",
                r.why,
            )
            for r in self.residuals[:40]
        ]
        columns = ("bytes", "type", "made by", "at", "read at", "recomputing")
        sums = [
            (amount(n), s or "(no scope)")
            for s, n in sorted(self.scopes.items(), key=lambda item: -item[1])
        ]
        return "\n".join([head, table(columns, rows), "", table(("bytes", "scope"), sums)])


def residuals(grad_f: Callable[..., Any], *args: Any, **kwargs: Any) -> Ledger:
    """List what the forward pass of a gradient stores for the backward pass.

    Args:
      grad_f: a function that differentiates: `grad(f)`, a training step, with any
        transformations around and inside; it is not run.
      args, kwargs: its arguments: arrays, or `ShapeDtypeStruct`s.

    Returns:
      A `Ledger`: for each residual its bytes and type, the line that computes it, the line
      that reads it in the backward pass, and the cost of recomputing it; sums by scope.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> f = lambda x: jnp.exp(x @ x).sum()
      >>> ledger = residuals(mj.grad(f), jnp.ones((8, 8)))
      >>> [(r.type, r.by, r.why) for r in ledger.residuals]
      [('f32[8,8]', 'exp', '1.09 kflop (dot_general, exp)')]
      >>> ledger.bytes, ledger.arguments
      (256, 256)
    """
    program = program_of(grad_f, args, kwargs)
    entries: list[Residual] = []
    arguments = 0
    gradients = list(_gradients(program.jaxpr))
    for jaxpr, inputs in gradients:
        residual_readers, defining_eqn = _residual_readers(jaxpr), _defining_eqns(jaxpr)
        work = _Work(jaxpr, residual_readers)
        for v, reader in residual_readers.items():
            if v in inputs:
                arguments += nbytes(v.aval)
            else:
                entries.append(_residual(v, reader, defining_eqn, work))
    entries.sort(key=lambda r: -r.bytes)
    scopes: dict[str, int] = {}
    for r in entries:
        scopes[r.scope] = scopes.get(r.scope, 0) + r.bytes
    return Ledger(entries, scopes, sum(r.bytes for r in entries), arguments, bool(gradients))


def _gradients(jaxpr: Jaxpr) -> Iterator[tuple[Jaxpr, set[Any]]]:
    """Yield programs with a forward and a backward pass, with calls inlined."""
    jaxpr = inline_calls(jaxpr)
    if any(map(is_backward, jaxpr.eqns)):
        yield jaxpr, {*jaxpr.constvars, *jaxpr.invars}
    for eqn in jaxpr.eqns:
        if not is_backward(eqn):
            for p in inner_programs(eqn):
                yield from _gradients(p.closed.jaxpr)


def _residual_readers(jaxpr: Jaxpr) -> dict[Any, Equation]:
    """Return the forward values that the backward pass reads, and their first reader."""
    defining_eqn = _defining_eqns(jaxpr)
    readers: dict[Any, Equation] = {}
    for eqn in jaxpr.eqns:
        if not is_backward(eqn):
            continue
        for a in eqn.ins:
            if type(a) is Literal or a in readers:
                continue
            if a not in defining_eqn or not is_backward(defining_eqn[a]):
                readers[a] = eqn
    return readers


def _defining_eqns(jaxpr: Jaxpr) -> dict[Any, Equation]:
    return {v: eqn for eqn in jaxpr.eqns for v in eqn.outs}


def _residual(
    v: Any, reader: Equation, defining_eqn: dict[Any, Equation], work: _Work
) -> Residual:
    eqn = defining_eqn[v]
    inner = _innermost_maker(eqn, list(eqn.outs).index(v), defining_eqn)
    use = _innermost_reader(reader, [a is v for a in reader.ins].index(True))
    total, names = work.of(v)
    why = "free: it only moves stored values"
    if total:
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        why = f"{amount(total, 'flop')} ({shown})"
    return Residual(
        v.aval.str_short(True),
        nbytes(v.aval),
        inner.primitive.name,
        inner.names or eqn.names,
        source_line_of(inner),
        source_line_of(use),
        use.primitive.name,
        total,
        why,
    )


def _innermost_maker(eqn: Equation, i: int, defining_eqn: dict[Any, Equation]) -> Equation:
    """Return the innermost equation that computes result `i`, before it is moved."""
    regions = eqn.primitive.regions
    if regions is None:
        data_movement = eqn.primitive.facts.data_movement
        operands = [eqn.ins[i]] if data_movement == "nothing" else eqn.ins
        moved: list[Any] = [
            a for a in operands if a in defining_eqn and a.aval.dtype == eqn.outs[i].aval.dtype
        ]
        if data_movement in ("moved", "in order", "nothing") and len(moved) == 1:
            before = defining_eqn[moved[0]]
            return _innermost_maker(before, list(before.outs).index(moved[0]), defining_eqn)
        return eqn
    body = regions.bodies(eqn.params)[-1].jaxpr
    out = body.outvars[i] if i < len(body.outvars) else None
    inside = {v: inner for inner in body.eqns for v in inner.outs}
    if out in inside:
        return _innermost_maker(inside[out], list(inside[out].outs).index(out), inside)
    return eqn


def _innermost_reader(eqn: Equation, i: int) -> Equation:
    """Return the innermost equation that reads operand `i` first."""
    regions = eqn.primitive.regions
    if regions is None:
        return eqn
    body = regions.bodies(eqn.params)[-1].jaxpr
    at = i + len(body.invars) - len(eqn.ins)
    v = body.invars[at] if 0 <= at < len(body.invars) else None
    for inner in body.eqns:
        for k, a in enumerate(inner.ins):
            if a is v:
                return _innermost_reader(inner, k)
    return eqn


class _Work:
    """The operations that compute values from arguments and other stored values."""

    def __init__(self, jaxpr: Jaxpr, stored: Container[Any]) -> None:
        self.flops = np.array([equation_flops(eqn) for eqn in jaxpr.eqns])
        self.names = np.array([eqn.primitive.name for eqn in jaxpr.eqns])
        self.number = {v: i for i, eqn in enumerate(jaxpr.eqns) for v in eqn.outs}
        # For each equation its set of operations, including itself, as the bits of an int: a
        # union of sets then counts shared operations once.
        self.before: list[int] = []
        for i, eqn in enumerate(jaxpr.eqns):
            bits = 1 << i
            for a in eqn.ins:
                if type(a) is not Literal and a in self.number and a not in stored:
                    bits |= self.before[self.number[a]]
            self.before.append(bits)

    def of(self, v: Any) -> tuple[float, list[str]]:
        """Return the work for a value, and its operations, the most expensive first."""
        n = len(self.flops)
        bits = self.before[self.number[v]].to_bytes(n // 8 + 1, "little")
        used = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[:n] > 0
        names, kinds = np.unique(self.names[used], return_inverse=True)
        work = np.bincount(kinds, self.flops[used], len(names))
        sorted_indices = [i for i in np.argsort(-work, kind="stable") if work[i]]
        return float(work.sum()), [str(names[i]) for i in sorted_indices]


# -------------------------------------------------------------------------------- plans


@dataclasses.dataclass
class Piece:
    """A segment of the program: its lines, and whether it is recomputed.

    depth: how many recomputed segments contain it.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> plan = tools.plan_remat(lambda x: jnp.sin(x).sum(), 100, jnp.ones(8))
    >>> [(piece.recomputed, piece.bytes) for piece in plan.pieces]
    [(False, 32)]
    """

    first: SourceLine
    last: SourceLine
    recomputed: bool
    bytes: int
    residuals: int
    flops: float
    depth: int


@dataclasses.dataclass
class RematPlan(Report):
    """What to recompute under a budget.

    function: `f` with this plan, to be differentiated.
    bytes: what the plan stores.
    extra_flops: the operations that it computes twice; extra: these as a part of the
      gradient's.
    measured: bytes of temporaries of XLA's executable of the gradient: of `f` itself
      ("before"), and with the plan ("after"); empty if not requested.

    >>> from minijax import tools
    >>> import minijax as mj, minijax.numpy as jnp
    >>> plan = tools.plan_remat(lambda x: jnp.sin(x).sum(), 100, jnp.ones(8))
    >>> plan.bytes <= plan.budget, plan.extra_flops
    (True, 0)
    >>> mj.grad(plan.function)(jnp.zeros(2))
    Array([1., 1.], dtype=float32)
    """

    function: Callable[..., Any]
    budget: int
    pieces: list[Piece]
    bytes: int
    extra_flops: float
    extra: float
    measured: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        fields = dataclasses.fields(self)
        data = {x.name: getattr(self, x.name) for x in fields if x.name != "function"}
        return {**data, "pieces": [dataclasses.asdict(p) for p in self.pieces]}

    def __str__(self) -> str:
        lines = [
            f"{amount(self.bytes)} of {amount(self.budget)};"
            f" {amount(self.extra_flops, 'flop')} are computed twice,"
            f" {self.extra:.0%} of the gradient's"
        ]
        if self.measured:
            lines.append(
                f"temporaries of the executable: {amount(self.measured['before'])} before,"
                f" {amount(self.measured['after'])} with the plan"
            )
        rows = [
            (
                "  " * p.depth + ("recompute" if p.recomputed else "keep"),
                p.first.short,
                p.last.short,
                amount(p.bytes),
                amount(p.residuals),
                amount(p.flops, "flop"),
            )
            for p in self.pieces
        ]
        head = ("what", "from", "to", "stored", "residuals", "flops")
        return "\n".join([*lines, table(head, rows)])


def plan_remat(
    f: Callable[..., Any], nbytes: int, *args: Any, measure: bool = False, **kwargs: Any
) -> RematPlan:
    """Choose what the gradient of a function recomputes, to fit a memory budget.

    Args:
      f: a scalar function, to be differentiated by its first argument.
      nbytes: the budget for residuals.
      args, kwargs: its arguments: arrays, or `ShapeDtypeStruct`s.
      measure: compile the gradient with and without the plan, and measure the memory.

    Returns:
      A `RematPlan`: `function` is `checkpoint(f, policy=budget(nbytes))`; `pieces` are the
      segments that it stores and recomputes, with their lines; `measured`, if requested.

    Raises:
      ValueError: no choice fits; the message states the least budget that does.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> def f(x):
      ...     for _ in range(8):
      ...         x = jnp.sin(x)
      ...     return x.sum()
      >>> plan = plan_remat(f, 5 * 4000, jnp.zeros(1000))
      >>> plan.bytes <= 20000, plan.extra_flops
      (True, 3000.0)
    """
    f, args, kwargs, _ = without_statics(f, args, kwargs)
    program = program_of(f, args, kwargs)
    jaxpr = discharge_own_refs(ClosedJaxpr(inline_calls(program.jaxpr))).jaxpr
    segments_plan: SegmentPlan = plan_segments(jaxpr, int(nbytes))
    policy: Budget = budget(nbytes)
    remat_f = checkpoint(f, policy=policy)
    pieces = list(_pieces(jaxpr, segments_plan.segments, 0))
    gradient = program_of(grad(f), args, kwargs)
    measured = {}
    if measure:
        after = program_of(grad(remat_f), args, kwargs)
        measured = {
            "before": xla_memory(gradient).get("temporary", 0),
            "after": xla_memory(after).get("temporary", 0),
        }
    return RematPlan(
        remat_f,
        int(nbytes),
        pieces,
        segments_plan.bytes,
        segments_plan.flops,
        segments_plan.flops / max(flops(gradient.jaxpr), 1.0),
        measured,
    )


def _pieces(jaxpr: Jaxpr, segments: Sequence[Segment], depth: int) -> Iterator[Piece]:
    """Yield segments with their lines; neighbours that are stored become one."""
    for recomputed, group in itertools.groupby(segments, lambda s: s.recomputed):
        for some in ([s] for s in group) if recomputed else [list(group)]:
            eqns = jaxpr.eqns[some[0].start : some[-1].end]
            first = source_line_of(eqns[0]) if eqns else NOWHERE
            last = source_line_of(eqns[-1]) if eqns else NOWHERE
            yield Piece(
                first,
                last,
                recomputed,
                sum(s.bytes for s in some),
                sum(s.residuals for s in some),
                sum(s.flops for s in some),
                depth,
            )
            for s in some:
                if any(inner.recomputed for inner in s.inside):
                    yield from _pieces(jaxpr, s.inside, depth + 1)
