"""KeyboardInterrupt at random moments; afterwards everything still works."""

from __future__ import annotations

import os
import signal
import threading
import time
from random import Random

from minijax.base import config
from minijax.ir.core import EVAL, STATE

from .kinds import KINDS
from .report import Budget, Report


def run(budget: Budget) -> Report:
    report, r = Report(), Random(budget.seed)
    names = list(KINDS)
    armed = False  # not an Event: an interrupt in its methods would leave it locked

    def handle(*_: object) -> None:
        if armed:
            raise KeyboardInterrupt

    def bother() -> None:
        own_random = Random(budget.seed + 1)
        while not budget.spent:
            time.sleep(own_random.expovariate(20))
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, handle)
    thread = threading.Thread(target=bother)
    thread.start()
    while not budget.spent and len(report.findings) < 20:
        name, seed = r.choice(names), r.randrange(1 << 30)
        report.operations += 1
        try:
            armed = True
            KINDS[name](Random(seed))
            armed = False
        except KeyboardInterrupt:
            armed = False
            report.faults += 1
            _check(report, name, seed)
        except Exception as e:  # an interrupt in a callback, or under another exception
            armed = False
            if _interrupted(e):
                report.faults += 1
            else:
                report.note(f"{name} with Random({seed})")
            _check(report, name, seed)
    thread.join()
    signal.signal(signal.SIGINT, before)
    return report


def _interrupted(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, KeyboardInterrupt) or "KeyboardInterrupt" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _check(report: Report, name: str, seed: int) -> None:
    """Check that an interrupted call left no state behind, and works when repeated."""
    state = STATE.trace, STATE.axes, STATE.names, config.TRACING.value, config.X64.value
    if state != (EVAL, (), "", False, False):
        report.findings.append(f"{name} with Random({seed}) left {state}")
        STATE.trace, STATE.axes, STATE.names = EVAL, (), ""
        config.TRACING.set_local(False)
        config.X64.update(False)
    try:
        KINDS[name](Random(seed))
    except Exception:
        report.note(f"{name} with Random({seed}), after an interrupt")
