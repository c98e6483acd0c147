"""What is still computed when the process ends is waited for."""

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


def test_it_is_waited_for_at_exit():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.split() == ["0", "1"]
