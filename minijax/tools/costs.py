"""`cost`: operations and bytes by line and scope, compared with the device's limits.

Each equation of the jaxpr is counted separately; the compiler fuses equations, and so moves
fewer bytes.  XLA's own estimate for the compiled program is also shown.  The cost model is
in analysis/cost_model.py.

Source of the picture: Williams, Waterman & Patterson, Roofline, CACM 52 (2009).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..analysis.cost_model import bytes_accessed, flops, own_flops, walk
from ..api.aot import jit
from ..api.devices import device_put
from ..base import util
from ..prims import lax
from ..runtime.backends import client
from .programs import Report, amount, program_of, table
from .source_lines import SourceLine, source_line_of


@dataclasses.dataclass(frozen=True)
class Roofline:
    """A device's limits: operations per second, and bytes per second from its memory.

    >>> Roofline(flops=1e12, bandwidth=1e11).ridge
    10.0
    >>> Roofline(1e12, 1e11).seconds(1e12, 5e11)
    5.0
    """

    flops: float
    bandwidth: float

    @property
    def ridge(self) -> float:
        """Operations per byte above which operations, not bytes, are the limit."""
        return self.flops / self.bandwidth

    def seconds(self, flops: float, nbytes: float) -> float:
        """Return the least time for this many operations and bytes."""
        return max(flops / self.flops, nbytes / self.bandwidth)


@dataclasses.dataclass
class LineCost:
    """The cost of a line of the program.

    flops, bytes: of all its operations, each counted separately.
    equations: their number.
    known: whether the number of times that each runs is known; otherwise it is a minimum.
    limit: "compute" or "memory", whichever limits the line on the device.
    seconds: the least time under this limit.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> report = tools.cost(jnp.sin, jnp.ones(8), roofline=tools.Roofline(1e12, 1e11))
    >>> (line,) = report.lines
    >>> line.flops, line.bytes, line.limit
    (8.0, 64, 'memory')
    """

    place: SourceLine
    scope: str
    flops: float
    bytes: int
    equations: int
    known: bool
    limit: str
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass
class CostReport(Report):
    """The cost of a program: `lines` from the most expensive one, `scopes` by name.

    once: the operations if each loop's body is counted once, and only one of several
      devices, as XLA counts.
    xla: XLA's flops, transcendentals and bytes of the compiled program; empty if there is
      no single program.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> report = tools.cost(jnp.sin, jnp.ones(8), roofline=tools.Roofline(1e12, 1e11))
    >>> report.flops, report.bytes, report.known, report.xla['transcendentals']
    (8.0, 64, True, 8.0)
    """

    lines: list[LineCost]
    scopes: dict[str, tuple[float, int]]
    flops: float
    bytes: int
    once: float
    known: bool
    roofline: Roofline
    seconds: float
    xla: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        least = "" if self.known else "at least "
        head = [
            f"{least}{amount(self.flops, 'flop')} and {amount(self.bytes)}, operations counted"
            f" separately: {amount(self.flops / max(self.bytes, 1), 'flop/B')}",
            f"device: {amount(self.roofline.flops, 'flop/s')},"
            f" {amount(self.roofline.bandwidth, 'B/s')}; ridge at"
            f" {self.roofline.ridge:.3g} flop/B",
        ]
        if self.xla:
            work = self.xla["flops"] + self.xla["transcendentals"]
            head.append(
                f"XLA, compiled, loops once, one device: {amount(work, 'flop')} and"
                f" {amount(self.xla['bytes'])}; this report, counted so:"
                f" {amount(self.once, 'flop')}"
            )
        rows = [
            (
                amount(x.flops, "flop"),
                f"{x.flops / max(self.flops, 1):.0%}",
                amount(x.bytes),
                x.limit,
                x.place.short,
                x.place.variable,
                x.scope,
                x.place.text[:50],
            )
            for x in self.lines[:20]
        ]
        columns = ("flops", "share", "bytes", "limit", "line", "variable", "scope", "code")
        return "\n".join([*head, table(columns, rows)])


def cost(
    f: Callable[..., Any], *args: Any, roofline: Roofline | None = None, **kwargs: Any
) -> CostReport:
    """Count a function's operations and bytes, by line and by scope.

    Loop bodies count as often as they run, if that is known.  The most expensive branch
    counts.  A program on several devices counts once per device.

    Args:
      f: a function of arrays, with any transformations inside; it is not run.
      args, kwargs: its arguments: arrays, or `ShapeDtypeStruct`s.
      roofline: the device's limits; by default the default device is measured, once per
        process.

    Returns:
      A `CostReport`: `lines` and `scopes` with flops and bytes, the totals, XLA's estimate
      for the compiled program, and which lines the device's memory limits.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> x = jnp.ones((64, 64))
      >>> report = cost(lambda x: jnp.sin(x @ x), x, roofline=Roofline(1e12, 1e11))
      >>> report.flops, report.xla['flops'], report.xla['transcendentals']
      (528384.0, 524288.0, 4096.0)
      >>> report.lines[0].limit
      'compute'
    """
    program = program_of(f, args, kwargs)
    device = roofline or measured(client.local_devices()[0])
    groups: dict[tuple[SourceLine, str], LineCost] = {}
    scopes: dict[str, tuple[float, int]] = {}
    for eqn, times, known in walk(program.jaxpr):
        source_line, scope = source_line_of(eqn), eqn.names
        at = groups.setdefault(
            (source_line, scope), LineCost(source_line, scope, 0.0, 0, 0, True, "", 0.0)
        )
        n, size = own_flops(eqn) * times, bytes_accessed(eqn) * times
        at.flops, at.bytes, at.equations = (at.flops + n, at.bytes + size, at.equations + 1)
        at.known = at.known and known
        f_n, b_n = scopes.get(scope, (0.0, 0))
        scopes[scope] = f_n + n, b_n + size
    for line in groups.values():
        line.seconds = device.seconds(line.flops, line.bytes)
        line.limit = "compute" if line.flops >= device.ridge * line.bytes else "memory"
    lines = sorted(groups.values(), key=lambda x: (-x.seconds, -x.flops))
    total, size = flops(program.jaxpr), sum(x.bytes for x in lines)
    return CostReport(
        lines,
        scopes,
        total,
        size,
        flops(program.jaxpr, True),
        all(x.known for x in lines),
        device,
        sum(x.seconds for x in lines),
        xla_cost(program.compiled()),
    )


def xla_cost(compiled: Any) -> dict[str, float]:
    """Return XLA's estimate for a compiled program."""
    analysis = None if compiled is None else compiled.cost_analysis()
    if not analysis:
        return {}
    return {
        "flops": float(analysis.get("flops", 0.0)),
        "transcendentals": float(analysis.get("transcendentals", 0.0)),
        "bytes": float(analysis.get("bytes accessed", 0.0)),
    }


@util.cached(8)
def measured(device: Any) -> Roofline:
    """Measure the roofline of a device, with a float32 matrix product and a reduction."""
    n, m = (1024, 1 << 24) if device.platform == "cpu" else (8192, 1 << 28)
    x = device_put(np.ones((n, n), np.float32), device)
    long = device_put(np.ones(m, np.float32), device)
    product = _best(jit(lambda x: x @ x), x)
    reading = _best(jit(lambda x: lax.reduce_max(lax.abs(x), (0,))), long)
    return Roofline(2.0 * n**3 / product, 4.0 * m / reading)


def _best(f: Any, x: Any) -> float:
    f(x).block_until_ready()
    took = []
    for _ in range(3):
        began = time.perf_counter()
        f(x).block_until_ready()
        took.append(time.perf_counter() - began)
    return min(took)
