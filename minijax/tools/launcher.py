"""The launcher of several processes on this machine: `python -m minijax.launch`.

    python -m minijax.launch -n 4 --devices-per-process 2 train.py --steps 100

Each process runs the script, which calls `jax.distributed.initialize()`; that reads its
configuration from the environment.  Output is printed line by line, prefixed with the
process number.  When one process fails the others are stopped, and the launcher exits with
its status.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from types import FrameType
from typing import IO, Any

_GRACE = 5.0  # seconds for the other processes to exit on their own after a failure


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m minijax.launch",
        description="Run a script in several processes of one cluster on this machine.",
    )
    add = parser.add_argument
    add("-n", "--processes", type=_positive, required=True, help="how many processes")
    add(
        "--devices-per-process",
        type=_positive,
        metavar="K",
        help="virtual CPU devices (default: one) or GPUs, in order, per process",
    )
    add("--port", type=int, default=0, help="the coordinator's port (default: a free one)")
    add("--alias", action="store_true", help="make `import jax` in the script import minijax")
    add("-m", dest="module", action="store_true", help="the script is a module's name")
    add("script", help="the script")
    add("args", nargs=argparse.REMAINDER, help="the script's arguments")
    return parser


def _positive(text: str) -> int:
    n = int(text)
    if n < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return n


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as s:
        return int(s.getsockname()[1])


def _command(options: argparse.Namespace) -> list[str]:
    alias = ["-m", "minijax.tools.alias"] if options.alias else []
    module = ["-m"] if options.module else []
    return [sys.executable, "-u", *alias, *module, options.script, *options.args]


def _environment(options: argparse.Namespace, port: int, i: int) -> dict[str, str]:
    env = {
        **os.environ,
        "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{port}",
        "JAX_COORDINATOR_BIND_ADDRESS": f"127.0.0.1:{port}",
        "JAX_NUM_PROCESSES": str(options.processes),
        "JAX_PROCESS_ID": str(i),
    }
    if options.devices_per_process:
        k = options.devices_per_process
        env["JAX_NUM_CPU_DEVICES"] = str(k)
        env["JAX_LOCAL_DEVICE_IDS"] = ",".join(map(str, range(i * k, i * k + k)))
    return env


# The message of a process that ends because another ended (backends/process_membership.py).
_BLAMES = re.compile(r"minijax: process (\d+) of \d+ has (?:died|ended)")


class _Output:
    """Output of several processes: whole lines, each prefixed with its process number."""

    def __init__(self, count: int) -> None:
        self.width = len(str(count - 1))
        self.lock = threading.Lock()
        self.blamed: list[int] = []  # processes that others name as the reason of their end

    def print_line(self, who: Any, line: str, to: IO[str] | None = None) -> None:
        to = to or sys.stdout
        text = f"[{who!s:>{self.width}}] {line}"
        with self.lock, contextlib.suppress(BrokenPipeError):
            to.write(text if text.endswith("\n") else text + "\n")
            to.flush()

    def copy(self, who: int, source: IO[str], to: IO[str]) -> None:
        for line in source:
            self.print_line(who, line, to)
            if match := _BLAMES.match(line):
                self.blamed.append(int(match[1]))


def _describe_exit(status: int) -> str:
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def launch(options: argparse.Namespace) -> int:
    """Start the processes, forward their output, and return the exit status."""
    port = options.port or _free_port()
    output = _Output(options.processes)
    running: dict[int, subprocess.Popen[str]] = {}
    copying = []
    stopped: list[int] = []

    def stop(number: int, _: FrameType | None = None) -> None:
        stopped.append(number)
        for p in running.values():
            with contextlib.suppress(ProcessLookupError):
                p.send_signal(number)

    # Children are in their own sessions, so that only the launcher gets a Ctrl-C.
    before = {n: signal.signal(n, stop) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        for i in range(options.processes):
            p = running[i] = subprocess.Popen(
                _command(options),
                env=_environment(options, port, i),
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            for source, to in ((p.stdout, sys.stdout), (p.stderr, sys.stderr)):
                thread = threading.Thread(target=output.copy, args=(i, source, to))
                thread.start()
                copying.append(thread)
        failed = _first_failure(running, stopped)
        if failed is not None:
            _wait_or_kill(running)
        for thread in copying:
            thread.join(_GRACE)
    finally:
        for p in running.values():
            _kill(p)
        for number, handler in before.items():
            signal.signal(number, handler)
    if stopped:
        # As a shell reports a program that a signal has ended.
        return 128 + stopped[0]
    if failed is None:
        return 0
    failed = next((i for i in output.blamed if running[i].returncode), failed)
    status = running[failed].returncode
    rest = "" if options.processes == 1 else "; the others were stopped"
    output.print_line(
        "minijax.launch", f"process {failed} {_describe_exit(status)}{rest}", sys.stderr
    )
    return status if status > 0 else 128 - status


def _first_failure(running: dict[int, subprocess.Popen[str]], stopped: list[int]) -> int | None:
    """Wait for the first process that fails; None if all end successfully."""
    while True:
        states = {i: p.poll() for i, p in running.items()}
        bad = [i for i, status in states.items() if status]
        if bad:
            return bad[0]
        if None not in states.values():
            return None
        if stopped:
            return next(i for i, status in states.items() if status is None)
        time.sleep(0.02)


def _wait_or_kill(running: dict[int, subprocess.Popen[str]]) -> None:
    """Give the other processes time to print their messages, then kill them."""
    deadline = time.monotonic() + _GRACE
    for p in running.values():
        with contextlib.suppress(subprocess.TimeoutExpired):
            p.wait(max(0.0, deadline - time.monotonic()))
    for p in running.values():
        _kill(p)
        p.wait()


def _kill(p: subprocess.Popen[str]) -> None:
    """Kill a process and its children."""
    if p.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(p.pid, signal.SIGKILL)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    return launch(_parser().parse_args(argv))
