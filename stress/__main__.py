"""`python -m stress [PART ...] [--minutes M] [--seed N]`: everything at once, for long."""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import time

from .report import Budget, Report

PARTS = ("threads", "interrupts", "processes", "disk", "memory")


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="stress", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of: {', '.join(PARTS)}")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each part (1)")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--here", action="store_true", help="in this process: one part")
    chosen = parser.parse_args(given)
    if unknown := set(chosen.parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    return chosen


def run_part(part: str, minutes: float, seed: int, threads: int = 16) -> Report:
    """Run a part in a process of its own; that it ends well is part of the test."""
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        "-m",
        "stress",
        part,
        "--here",
        f"--minutes={minutes}",
        f"--seed={seed}",
        f"--threads={threads}",
    ]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "JAX_NUM_CPU_DEVICES": "8"},
            capture_output=True,
            text=True,
            timeout=minutes * 60 * 3 + 600,
        )
    except subprocess.TimeoutExpired as e:
        return Report(found=[f"{part} did not end\n{e.stderr}"])
    if done.returncode != 0:
        return Report(found=[f"{part}: rc {done.returncode}\n{done.stderr[-4000:]}"])
    return Report.of(done.stdout.splitlines()[-1])


def main() -> int:
    chosen = arguments()
    if chosen.here:
        part = importlib.import_module(f"stress.{chosen.parts[0]}")
        report = part.run(Budget(chosen.minutes * 60, chosen.threads, chosen.seed))
        print(report.text(), flush=True)
        return 0
    print(f"seed {chosen.seed}, {chosen.minutes} minutes a part", flush=True)
    wrong = 0
    for part in chosen.parts or PARTS:
        report = run_part(part, chosen.minutes, chosen.seed, chosen.threads)
        numbers = "".join(f", {k} {v:g}" for k, v in report.numbers.items())
        print(
            f"{part}: {report.operations} operations, {report.faults} faults{numbers},"
            f" {len(report.found)} findings",
            flush=True,
        )
        for text in report.found:
            print(f"  {text}", flush=True)
        wrong += len(report.found)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
