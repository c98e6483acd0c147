"""`memory`: the bytes that are live over a program, their peak, and the lines that own it.

Live values are counted on the jaxpr in its order, without fusion.  A value is live from the
equation that defines it to the last that reads it; arguments are live throughout.  The work
space of an operation is live while it runs.  One step of a loop is inspected, and the
largest branch.  The memory that XLA allocates, after fusion and reuse, is also reported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ..analysis.cost_model import inner_programs, nbytes, workspace
from ..ir.jaxpr import Equation, Jaxpr, Literal, last_uses
from ..ir.regions import Loop
from .programs import Program, Report, amount, program_of, table
from .source_lines import NOWHERE, SourceLine, source_line_of


@dataclasses.dataclass
class Owner:
    """The bytes of values from one line that are live at the peak.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> owner = tools.memory(lambda x: jnp.outer(x, x).sum(), jnp.ones(10)).owners[0]
    >>> owner.bytes, owner.values
    (400, ['f32[10,10]'])
    """

    place: SourceLine
    what: str
    scope: str
    bytes: int
    values: list[str]

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass
class Moment:
    """The number of live bytes while an equation runs.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> report = tools.memory(lambda x: jnp.outer(x, x).sum(), jnp.ones(10))
    >>> [(m.primitive, m.bytes) for m in report.timeline]
    [('broadcast_in_dim', 80), ('broadcast_in_dim', 120), ('mul', 520), ('reduce_sum', 444)]
    """

    primitive: str
    place: SourceLine
    depth: int
    bytes: int


@dataclasses.dataclass
class MemoryReport(Report):
    """Live bytes over time; `owners` of those at the peak, the largest first.

    arguments, results: their sizes; constants: the size of closed-over constants.
    temporary: the peak without these three.
    xla: XLA's own figures for the compiled program: arguments, results, temporary, aliased;
      empty if there is no single program.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> report = tools.memory(lambda x: jnp.outer(x, x).sum(), jnp.ones(10))
    >>> report.peak, report.arguments, report.results, report.at.primitive
    (520, 40, 4, 'mul')
    """

    peak: int
    at: Moment | None
    owners: list[Owner]
    timeline: list[Moment]
    arguments: int
    results: int
    constants: int
    temporary: int
    xla: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        lines = [
            f"peak {amount(self.peak)} (arguments {amount(self.arguments)}, constants"
            f" {amount(self.constants)}, results {amount(self.results)}, temporary"
            f" {amount(self.temporary)})"
        ]
        if self.at is not None:
            lines[0] += f" in {self.at.primitive} at {self.at.place.short}"
        if self.xla:
            figures = ", ".join(f"{k} {amount(v)}" for k, v in self.xla.items())
            lines.append(f"XLA, compiled: {figures}")
        rows = [
            (
                amount(o.bytes),
                f"{o.bytes / max(self.peak, 1):.0%}",
                o.what,
                o.place.short,
                o.place.variable,
                ", ".join(o.values[:3]) + ", ..." * (len(o.values) > 3),
            )
            for o in self.owners[:20]
        ]
        head = ("bytes", "share", "made by", "line", "variable", "values")
        return "\n".join([*lines, table(head, rows), self.chart()])

    def chart(self, width: int = 60, height: int = 8) -> str:
        """Return a text plot of the live bytes over the program."""
        n = len(self.timeline)
        if not n or not self.peak:
            return ""
        width = min(width, n)
        highs = [
            max(m.bytes for m in self.timeline[i * n // width : (i + 1) * n // width])
            for i in range(width)
        ]
        return "\n".join(
            f"{amount(self.peak * k / height):>9} |"
            + "".join("#" if h >= self.peak * (k - 0.5) / height else " " for h in highs)
            for k in range(height, 0, -1)
        )


def memory(f: Callable[..., Any], *args: Any, **kwargs: Any) -> MemoryReport:
    """Report the live bytes over a program, and which lines own them at the peak.

    Args:
      f: a function of arrays, with any transformations inside; it is not run.
      args, kwargs: its arguments: arrays or `ShapeDtypeStruct`s.

    Returns:
      A `MemoryReport`: `peak`, `owners` (lines, with the values that are live then), a
      `timeline`, and `xla`, the memory that XLA allocates for the compiled program.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> def f(x):
      ...     wide = jnp.outer(x, x)
      ...     return (wide @ wide).sum()
      >>> report = memory(f, jnp.ones(100))
      >>> report.peak, report.owners[0].bytes, report.arguments
      (80400, 40000, 400)
    """
    program = program_of(f, args, kwargs)
    walk = _LivenessWalk()
    jaxpr = program.jaxpr
    owners: dict[Any, Owned] = {}
    for v in jaxpr.constvars:
        owners[v] = Owned(nbytes(v.aval), "a constant", NOWHERE, "", v.aval.str_short(True))
    for v, name in zip(jaxpr.invars[-len(program.names) :], program.names, strict=False):
        owners[v] = Owned(
            nbytes(v.aval), f"argument {name}", NOWHERE, "", v.aval.str_short(True)
        )
    constants = sum(nbytes(v.aval) for v in jaxpr.constvars)
    arguments = sum(nbytes(v.aval) for v in jaxpr.invars)
    walk.peak, walk.owners = arguments + constants, list(owners.values())
    walk.run(jaxpr, owners, [*jaxpr.constvars, *jaxpr.invars], 0, 0, [])
    results = sum(
        nbytes(v.aval) for v in dict.fromkeys(jaxpr.outvars) if type(v) is not Literal
    )
    temporary = max(0, walk.peak - arguments - constants - walk.results_at_peak)
    return MemoryReport(
        walk.peak,
        walk.at,
        _grouped(walk.owners),
        walk.timeline,
        arguments,
        results,
        constants,
        temporary,
        xla_memory(program),
    )


@dataclasses.dataclass
class Owned:
    """One live value: its size and its source."""

    bytes: int
    what: str
    place: SourceLine
    scope: str
    type: str


class _LivenessWalk:
    """A walk through a program that records which values are live when."""

    def __init__(self) -> None:
        self.peak = 0
        self.at: Moment | None = None
        self.owners: list[Owned] = []
        self.results_at_peak = 0
        self.timeline: list[Moment] = []

    def run(
        self,
        jaxpr: Jaxpr,
        live: dict[Any, Owned],
        keep: list[Any],
        outside: int,
        depth: int,
        around: list[Owned],
    ) -> None:
        """Walk one program: `live` at its start, `outside` bytes of `around` throughout."""
        last = last_uses(jaxpr)
        kept_alive = set(keep)
        outs = {v for v in jaxpr.outvars if type(v) is not Literal}
        total = outside + sum(o.bytes for o in live.values())
        for i, eqn in enumerate(jaxpr.eqns):
            # Results are allocated before operands are freed: both are live while it runs.
            for v in eqn.outs:
                live[v] = Owned(
                    nbytes(v.aval),
                    eqn.primitive.name,
                    source_line_of(eqn),
                    eqn.names,
                    v.aval.str_short(True),
                )
                total += live[v].bytes
            extra = workspace(eqn)
            if extra and not eqn.primitive.regions:
                live[eqn] = Owned(
                    extra,
                    f"work space of {eqn.primitive.name}",
                    source_line_of(eqn),
                    eqn.names,
                    f"{extra} bytes",
                )
            elif extra:
                live[eqn] = Owned(
                    extra,
                    f"steps of {eqn.primitive.name}",
                    source_line_of(eqn),
                    eqn.names,
                    f"{extra} bytes",
                )
            self.moment(eqn, live, total + extra, depth, around, outs)
            self.inside(eqn, live, outside, depth, around)
            live.pop(eqn, None)
            for v in last.get(i, ()):
                if v in live and v not in kept_alive:
                    total -= live.pop(v).bytes

    def moment(
        self,
        eqn: Equation,
        live: dict[Any, Owned],
        total: int,
        depth: int,
        around: list[Owned],
        outs: set[Any],
    ) -> None:
        now = Moment(eqn.primitive.name, source_line_of(eqn), depth, total)
        self.timeline.append(now)
        if total > self.peak:
            self.peak, self.at = total, now
            self.owners = [*around, *live.values()]
            self.results_at_peak = sum(live[v].bytes for v in outs if v in live)

    def inside(
        self,
        eqn: Equation,
        live: dict[Any, Owned],
        outside: int,
        depth: int,
        around: list[Owned],
    ) -> None:
        """Walk the programs of an equation: their values are live in addition to `live`."""
        loop = isinstance(eqn.primitive.regions, Loop)
        results = set(eqn.outs)  # a call makes them inside
        for p in inner_programs(eqn):
            body = p.closed.jaxpr
            # Operands are counted outside, except the rows of a loop; so are results.
            body_values = {
                v: Owned(0, "", NOWHERE, "", "") for v in (*body.constvars, *body.invars)
            }
            if loop:
                body_invars, operand_avals = list(body.invars), [a.aval for a in eqn.ins]
                for v, a in zip(body_invars[::-1], operand_avals[::-1], strict=False):
                    if nbytes(v.aval) < nbytes(a):  # a row, sliced from its operand
                        body_values[v] = Owned(
                            nbytes(v.aval),
                            f"a row of {eqn.primitive.name}",
                            source_line_of(eqn),
                            eqn.names,
                            v.aval.str_short(True),
                        )
            live_around = [*around, *(o for v, o in live.items() if loop or v not in results)]
            total = outside + sum(o.bytes for o in live_around[len(around) :])
            self.run(body, body_values, list(body.invars), total, depth + 1, live_around)


def _grouped(owned: list[Owned]) -> list[Owner]:
    owners: dict[Any, Owner] = {}
    for o in owned:
        if not o.bytes:
            continue
        key = (o.what, o.place, o.scope)
        at = owners.setdefault(key, Owner(o.place, o.what, o.scope, 0, []))
        at.bytes += o.bytes
        at.values.append(o.type)
    return sorted(owners.values(), key=lambda o: -o.bytes)


def xla_memory(program: Program) -> dict[str, int]:
    """Return XLA's figures for the compiled program."""
    compiled = program.compiled()
    stats = None if compiled is None else compiled.memory_analysis()
    if stats is None:
        return {}
    return {
        "arguments": int(stats.argument_size_in_bytes),
        "results": int(stats.output_size_in_bytes),
        "temporary": int(stats.temp_size_in_bytes),
        "aliased": int(stats.alias_size_in_bytes),
    }
