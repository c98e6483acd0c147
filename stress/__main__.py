"""`python -m stress [PART ...] [--minutes M] [--seed N]`: run the stress tests."""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import time

from .report import Budget, Report

PARTS = ("threads", "interrupts", "processes", "disk", "memory")


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="stress", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of: {', '.join(PARTS)}")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each part (1)")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument(
        "--in-process", action="store_true", help="run one part in this process"
    )
    chosen = parser.parse_args(argv)
    if unknown := set(chosen.parts) - set(PARTS):
        parser.error(f"unknown part: {', '.join(sorted(unknown))}")
    return chosen


def run_part(part: str, minutes: float, seed: int, threads: int = 16) -> Report:
    """Run a part in its own process; the part fails if the process does."""
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        "-m",
        "stress",
        part,
        "--in-process",
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
        return Report(findings=[f"{part} did not end\n{e.stderr}"])
    if done.returncode != 0:
        return Report(findings=[f"{part}: rc {done.returncode}\n{done.stderr[-4000:]}"])
    return Report.of(done.stdout.splitlines()[-1])


def main() -> int:
    chosen = arguments()
    if chosen.in_process:
        part = importlib.import_module(f"stress.{chosen.parts[0]}")
        report = part.run(Budget(chosen.minutes * 60, chosen.threads, chosen.seed))
        print(report.text(), flush=True)
        return 0
    print(f"seed {chosen.seed}, {chosen.minutes} minutes per part", flush=True)
    wrong = 0
    for part in chosen.parts or PARTS:
        report = run_part(part, chosen.minutes, chosen.seed, chosen.threads)
        numbers = "".join(f", {k} {v:g}" for k, v in report.numbers.items())
        print(
            f"{part}: {report.operations} operations, {report.faults} faults{numbers},"
            f" {len(report.findings)} findings",
            flush=True,
        )
        for text in report.findings:
            print(f"  {text}", flush=True)
        wrong += len(report.findings)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
