"""Forks after use, in threads too, and spawned processes that compute."""

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
    """What a spawned process does."""
    r = Random(seed)
    for name in r.sample(sorted(KINDS), 5):
        KINDS[name](r)
    return 5


def run(budget: Budget) -> Report:
    report, r = Report(), Random(budget.seed)

    def work() -> None:
        mine = Random(budget.seed + 1)
        while not budget.spent:
            name = mine.choice(list(KINDS))
            try:
                KINDS[name](mine)
                report.operations += 1
            except Exception:
                report.note(name)
                return

    KINDS["eager"](r)  # forks are warned of from the first use on
    beside = threading.Thread(target=work)
    beside.start()
    while not budget.spent and len(report.found) < 20:
        _fork(report)
        if r.random() < 0.2:
            _spawn(report, r.randrange(1 << 30))
        time.sleep(0.05)
    beside.join()
    return report


def _fork(report: Report) -> None:
    """A child that only leaves must be able to, and the parent is told of the danger."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        pid = os.fork()
        if pid == 0:
            os._exit(0)  # the runtime's threads are not here
    report.faults += 1
    if not any("os.fork() was called" in str(w.message) for w in seen):
        report.found.append("a fork was not warned of")
    end = time.monotonic() + 60
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            report.found.append("a forked child did not leave")
            return
        time.sleep(0.005)


def _spawn(report: Report, seed: int) -> None:
    report.faults += 1
    try:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            report.operations += pool.apply_async(child, (seed,)).get(300)
    except Exception:
        report.note(f"a spawned process with seed {seed}")
