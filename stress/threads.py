"""Random calls in many threads, while caches are cleared."""

from __future__ import annotations

import sys
import threading
from random import Random

import minijax as mj

from .kinds import KINDS
from .report import Budget, Report


def run(budget: Budget) -> Report:
    report = Report()
    sys.setswitchinterval(1e-4)

    def work(number: int) -> None:
        r, done = Random(f"{budget.seed} {number}"), 0
        names = list(KINDS)
        while not budget.spent and len(report.findings) < 20:
            name = r.choice(names)
            seed = r.randrange(1 << 30)
            try:
                KINDS[name](Random(seed))
            except Exception:
                report.note(f"{name} with Random({seed})")
            done += 1
        counts.append(done)

    counts: list[int] = []
    threads = [
        threading.Thread(target=work, args=(i,), daemon=True) for i in range(budget.threads)
    ]
    for t in threads:
        t.start()
    r = Random(budget.seed)
    while any(t.is_alive() for t in threads):
        threads[0].join(r.uniform(0.2, 2.0))
        mj.clear_caches()
        report.faults += 1
        for t in threads[1:]:
            if budget.spent:
                t.join(120)
        if budget.spent and any(t.is_alive() for t in threads):
            threads[0].join(120)
            if stuck := sum(t.is_alive() for t in threads):
                report.findings.append(f"{stuck} threads did not return")
                break
    report.operations = sum(counts)
    return report
