"""Forks after use, also beside threads, and spawned processes that compute."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import warnings
from random import Random

from .kinds import KINDS
from .report import Budget, Report


def child(seed: int) -> int:
    """Run five kinds of calls in a spawned process."""
    r = Random(seed)
    for name in r.sample(sorted(KINDS), 5):
        KINDS[name](r)
    return 5


def run(budget: Budget) -> Report:
    report, r = Report(), Random(budget.seed)

    def work() -> None:
        own_random = Random(budget.seed + 1)
        while not budget.spent:
            name = own_random.choice(list(KINDS))
            try:
                KINDS[name](own_random)
                report.operations += 1
            except Exception:
                report.note(name)
                return

    KINDS["eager"](r)  # forks raise a warning after the first use
    worker = threading.Thread(target=work)
    worker.start()
    while not budget.spent and len(report.findings) < 20:
        _fork(report)
        if r.random() < 0.2:
            _spawn(report, r.randrange(1 << 30))
        time.sleep(0.05)
    worker.join()
    return report


def _fork(report: Report) -> None:
    """Check that a forked child can exit, and that the parent is warned."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        pid = os.fork()
        if pid == 0:
            os._exit(0)  # the child does not have the runtime's threads
    report.faults += 1
    if not any("os.fork() was called" in str(w.message) for w in seen):
        report.findings.append("a fork raised no warning")
    end = time.monotonic() + 60
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            report.findings.append("a forked child did not exit")
            return
        time.sleep(0.005)


def _spawn(report: Report, seed: int) -> None:
    report.faults += 1
    try:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            report.operations += pool.apply_async(child, (seed,)).get(300)
    except Exception:
        report.note(f"a spawned process with seed {seed}")
