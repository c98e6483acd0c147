"""What is still computed when the process ends is waited for."""

import subprocess
import sys

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.runtime import ending
from minijax.runtime.array import default_placement


def test_the_last_program_ends_last():
    """All that this thread has started is done by then, held or not."""
    slow = mj.jit(lambda x: lax.fori_loop(0, 300, lambda _, x: jnp.tanh(x @ x), x))
    x = mj.block_until_ready(jnp.full((256, 256), 1e-2))
    slow(x).block_until_ready()
    out = slow(x)
    assert not out.is_ready()
    ending._run_last(default_placement())
    assert out.is_ready()


PROGRAM = """
import atexit, os
atexit.register(lambda: print(len(waited), flush=True))  # runs last
import minijax.numpy as jnp
from minijax.runtime import ending
waited, run = [], ending._run_last
ending._run_last = lambda where: (run(where), waited.append(where))
jnp.ones(3) + 1
if not (child := os.fork()):
    raise SystemExit  # whose threads are the parent's
os.waitpid(child, 0)
"""


def test_it_is_waited_for_at_exit():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.split() == ["0", "1"]
