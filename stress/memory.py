"""The memory after many calls of every kind; it must not grow with their number."""

from __future__ import annotations

import gc
import sys
from random import Random

from .kinds import KINDS
from .report import Budget, Report

CALLS = 100_000
GROWTH_KB = 20_000  # for all calls together, allowed for fragmentation
GROWTH_OBJECTS = 3_000


def resident() -> int:
    """Return the memory of this process in kB."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4


def run(budget: Budget, calls: int = CALLS) -> Report:
    """Run each kind in turn, in rounds; the first fifth of the rounds is the warm-up."""
    report, r = Report(), Random(budget.seed)
    names = list(KINDS)
    rounds = max(5, calls // len(names))
    start = 0, 0
    for i in range(rounds):
        for name in names:
            try:
                KINDS[name](r)
            except Exception:
                report.note(name)
            report.operations += 1
        if i == rounds // 5:
            start = _measure()
        if budget.spent and i > rounds // 5:
            break
        if report.findings:
            return report
    end = _measure()
    growth, objects = end[0] - start[0], end[1] - start[1]
    report.numbers = {
        "calls": report.operations,
        "growth_kB": growth,
        "growth_objects": objects,
        "resident_kB": end[0],
    }
    if growth > GROWTH_KB or objects > GROWTH_OBJECTS:
        report.findings.append(f"memory grew by {growth} kB, {objects} objects")
    return report


def _measure() -> tuple[int, int]:
    for _ in range(3):
        gc.collect()
    return resident(), len(gc.get_objects())


if sys.platform != "linux":
    raise ImportError("memory is read from /proc")
