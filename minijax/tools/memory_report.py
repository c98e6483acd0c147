"""`memory`: which values live when, what the peak is, and which lines own it.

Counted on the jaxpr in its order, without fusion: a value lives from the equation that
makes it to the last that reads it; arguments live throughout.  The work space of an
operation lives while it runs.  Of loops one step is looked into, of branches the largest
one.  What XLA needed, which fuses and reuses, stands beside.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ..ir.jaxpr import Equation, Jaxpr, Literal, last_uses
from ..ir.regions import Loop
from ..passes.cost_model import inner_programs, nbytes, workspace
from .programs import Program, Report, amount, program_of, table
from .source_lines import NOWHERE, SourceLine, source_line_of


@dataclasses.dataclass
class Owner:
    """What lives at the peak: so many bytes of values made by a line.

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
    """How many bytes live while an equation runs.

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
    """Bytes that live, by moment; `owners` of those at the peak, the largest first.

    arguments, results: their sizes; constants: of what the program closes over.
    temporary: the peak without all these.
    xla: XLA's own figures of the compiled program: arguments, results, temporary, aliased;
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
            said = ", ".join(f"{k} {amount(v)}" for k, v in self.xla.items())
            lines.append(f"XLA, compiled: {said}")
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
        """The live bytes over the program, as a picture of text."""
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
    """Tell how many bytes live over a program, and which lines own them at the peak.

    Args:
      f: a function of arrays, with any transformations inside; it is not run.
      args, kwargs: its arguments: arrays, or `ShapeDtypeStruct`s.

    Returns:
      A `MemoryReport`: `peak`, `owners` (lines, with the values that live then), a
      `timeline`, and `xla`, what XLA needed for the compiled program.

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
    walk = _Walk()
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
    """One value that lives: how large, and whose."""

    bytes: int
    what: str
    place: SourceLine
    scope: str
    type: str


class _Walk:
    """Runs through a program and remembers what lives when."""

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
        """One program: `live` at its start, `outside` bytes of `around` all the time."""
        last = last_uses(jaxpr)
        kept = set(keep)
        outs = {v for v in jaxpr.outvars if type(v) is not Literal}
        total = outside + sum(o.bytes for o in live.values())
        for i, eqn in enumerate(jaxpr.eqns):
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
                if v in live and v not in kept:
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
        """The programs of an equation: what they make lives beside what lives here."""
        loop = isinstance(eqn.primitive.regions, Loop)
        results = set(eqn.outs)  # a call makes them inside
        for p in inner_programs(eqn):
            body = p.closed.jaxpr
            # Operands are counted outside, but for the rows of a loop; so are results.
            mine = {v: Owned(0, "", NOWHERE, "", "") for v in (*body.constvars, *body.invars)}
            if loop:
                own, given = list(body.invars), [a.aval for a in eqn.ins]
                for v, a in zip(own[::-1], given[::-1], strict=False):
                    if nbytes(v.aval) < nbytes(a):  # a row, which is cut out
                        mine[v] = Owned(
                            nbytes(v.aval),
                            f"a row of {eqn.primitive.name}",
                            source_line_of(eqn),
                            eqn.names,
                            v.aval.str_short(True),
                        )
            here = [*around, *(o for v, o in live.items() if loop or v not in results)]
            total = outside + sum(o.bytes for o in here[len(around) :])
            self.run(body, mine, list(body.invars), total, depth + 1, here)


def _grouped(owned: list[Owned]) -> list[Owner]:
    found: dict[Any, Owner] = {}
    for o in owned:
        if not o.bytes:
            continue
        key = (o.what, o.place, o.scope)
        at = found.setdefault(key, Owner(o.place, o.what, o.scope, 0, []))
        at.bytes += o.bytes
        at.values.append(o.type)
    return sorted(found.values(), key=lambda o: -o.bytes)


def xla_memory(program: Program) -> dict[str, int]:
    """XLA's figures of the compiled program."""
    compiled = program.compiled()
    found = None if compiled is None else compiled.memory_analysis()
    if found is None:
        return {}
    return {
        "arguments": int(found.argument_size_in_bytes),
        "results": int(found.output_size_in_bytes),
        "temporary": int(found.temp_size_in_bytes),
        "aliased": int(found.alias_size_in_bytes),
    }
