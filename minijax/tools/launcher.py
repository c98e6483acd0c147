"""Several processes of one program on this machine: `python -m minijax.launch`.

    python -m minijax.launch -n 4 --devices-per-process 2 train.py --steps 100

Each process runs the script, which calls `jax.distributed.initialize()` and finds what it
needs in its environment.  Their output comes out line by line, with the number of the
process before it.  When one fails the others are stopped, and its status is the launcher's.
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

_GRACE = 5.0  # seconds in which processes may end by themselves, once one has failed


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
        help="virtual CPU devices of each (default: one), or GPUs, in order",
    )
    add("--port", type=int, default=0, help="the coordinator's (default: a free one)")
    add("--alias", action="store_true", help="let the script's `import jax` give minijax")
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


def _command(said: argparse.Namespace) -> list[str]:
    alias = ["-m", "minijax.tools.alias"] if said.alias else []
    module = ["-m"] if said.module else []
    return [sys.executable, "-u", *alias, *module, said.script, *said.args]


def _environment(said: argparse.Namespace, port: int, i: int) -> dict[str, str]:
    env = {
        **os.environ,
        "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{port}",
        "JAX_COORDINATOR_BIND_ADDRESS": f"127.0.0.1:{port}",
        "JAX_NUM_PROCESSES": str(said.processes),
        "JAX_PROCESS_ID": str(i),
    }
    if said.devices_per_process:
        k = said.devices_per_process
        env["JAX_NUM_CPU_DEVICES"] = str(k)
        env["JAX_LOCAL_DEVICE_IDS"] = ",".join(map(str, range(i * k, i * k + k)))
    return env


# What a process says that ends since another has (runtime/backends/process_membership.py).
_BLAMES = re.compile(r"minijax: process (\d+) of \d+ has (?:died|ended)")


class _Output:
    """Lines of several processes, each whole, with its process before it."""

    def __init__(self, count: int) -> None:
        self.width = len(str(count - 1))
        self.lock = threading.Lock()
        self.blamed: list[int] = []  # those that others name as the reason of their end

    def say(self, who: Any, line: str, to: IO[str] | None = None) -> None:
        to = to or sys.stdout
        text = f"[{who!s:>{self.width}}] {line}"
        with self.lock, contextlib.suppress(BrokenPipeError):
            to.write(text if text.endswith("\n") else text + "\n")
            to.flush()

    def copy(self, who: int, source: IO[str], to: IO[str]) -> None:
        for line in source:
            self.say(who, line, to)
            if found := _BLAMES.match(line):
                self.blamed.append(int(found[1]))


def _told(status: int) -> str:
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def launch(said: argparse.Namespace) -> int:
    """Start the processes, hand on what they say, and return the status of the whole."""
    port = said.port or _free_port()
    output = _Output(said.processes)
    running: dict[int, subprocess.Popen[str]] = {}
    copying = []
    stopped: list[int] = []

    def stop(number: int, _: FrameType | None = None) -> None:
        stopped.append(number)
        for p in running.values():
            with contextlib.suppress(ProcessLookupError):
                p.send_signal(number)

    before = {n: signal.signal(n, stop) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        for i in range(said.processes):
            p = running[i] = subprocess.Popen(
                _command(said),
                env=_environment(said, port, i),
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
        return 128 + stopped[0]
    if failed is None:
        return 0
    failed = next((i for i in output.blamed if running[i].returncode), failed)
    status = running[failed].returncode
    rest = "" if said.processes == 1 else "; the others were stopped"
    output.say("minijax.launch", f"process {failed} {_told(status)}{rest}", sys.stderr)
    return status if status > 0 else 128 - status


def _first_failure(running: dict[int, subprocess.Popen[str]], stopped: list[int]) -> int | None:
    """The process that fails first; None once all have ended well."""
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
    """Let the others say what they have to say, and end them."""
    deadline = time.monotonic() + _GRACE
    for p in running.values():
        with contextlib.suppress(subprocess.TimeoutExpired):
            p.wait(max(0.0, deadline - time.monotonic()))
    for p in running.values():
        _kill(p)
        p.wait()


def _kill(p: subprocess.Popen[str]) -> None:
    """End a process with all that it has started."""
    if p.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(p.pid, signal.SIGKILL)


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    return launch(_parser().parse_args(argv))
