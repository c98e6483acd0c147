"""Programs that run at exit are waited for."""

import subprocess
import sys

PROGRAM = """
import atexit, os
atexit.register(lambda: print(len(waited), flush=True))  # runs last
import minijax.numpy as jnp
from minijax.runtime.running import shutdown
waited, run = [], shutdown._run_last
shutdown._run_last = lambda where: (run(where), waited.append(where))
jnp.ones(3) + 1
if not (child := os.fork()):
    raise SystemExit  # whose threads are the parent's
os.waitpid(child, 0)
"""


def test_running_programs_are_awaited_at_exit():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.split() == ["0", "1"]
