"""Processes of one cluster, started by a test and never waited for without end."""

import os
import pathlib
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent.parent
LIMIT = 120.0  # seconds, after which a process counts as hanging


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def environment(**more: str) -> dict[str, str]:
    """The environment of a process that knows of no cluster but what is said."""
    variables = {
        k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "SLURM_", "OMPI_"))
    }
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**variables, "PYTHONPATH": os.pathsep.join(paths), **more}


def together(command: list[str], count: int, **more: str) -> list[tuple[int, str]]:
    """Run a command of Python's in `count` processes: the status and output of each."""
    port = free_port()
    started = [
        subprocess.Popen(
            [sys.executable, *command],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(
                JAX_COORDINATOR_ADDRESS=f"127.0.0.1:{port}",
                JAX_NUM_PROCESSES=str(count),
                JAX_PROCESS_ID=str(i),
                **more,
            ),
        )
        for i in range(count)
    ]
    outputs = []
    try:
        for p in started:
            text, _ = p.communicate(timeout=LIMIT)
            outputs.append((p.returncode, text))
    finally:
        for p in started:
            p.kill()
    return outputs
