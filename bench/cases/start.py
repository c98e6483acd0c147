"""From the start of a process to results: CPU time of the whole process, all threads.

Cold: no compiled program is on disk. Warm: an earlier process stored the programs; JAX,
which stores none by default, is configured to store them.
"""

import pathlib
import shutil

from bench.rows import Row

TITLE = "Process start to result"
ROWS = (
    Row("first jitted result, cold", 0.5),
    Row("first jitted result, warm", 0.4),
    Row("first jitted result, warm: wall clock", None),
    Row("training script, cold", 0.6),
    Row("training script, warm", 0.5),
    Row("training script, cold: wall clock", None),
    Row("training script, warm: wall clock", None),
    Row("four processes to a first step, cold", None),
    Row("four processes to a first step, warm", None),
    Row("four processes to a first step, cold: wall clock", 0.6),
    Row("four processes to a first step, warm: wall clock", 0.6),
)

FIRST = """
import LIB as jax
import LIB.numpy as jnp
print(jax.jit(lambda x: x * 2 + 1)(jnp.arange(3.0)))
"""
SCRIPTS = pathlib.Path(__file__).parents[1] / "scripts"


def outside(side, sheet) -> None:
    _cold_and_warm(side, sheet, "first jitted result", FIRST)
    for name, script in (
        ("training script", "training.py"),
        ("four processes to a first step", "processes.py"),
    ):
        _cold_and_warm(side, sheet, name, (SCRIPTS / script).read_text())


def _cold_and_warm(side, sheet, name, text) -> None:
    row_names = {row.name for row in ROWS}
    runs = {"cold": [], "warm": []}
    for _ in range(1 if sheet.quick else 2):
        shutil.rmtree(side.cache, ignore_errors=True)
        runs["cold"].append(side.script(text))
        side.script(text, keep_programs=True)
        runs["warm"].append(side.script(text, keep_programs=True))
    for state, done in runs.items():
        sheet.put(f"{name}, {state}", min(run.cpu for run in done))
        wall = f"{name}, {state}: wall clock"
        if wall in row_names:
            sheet.put(wall, min(run.wall for run in done))
