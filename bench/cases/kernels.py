"""The functions most used, compiled, on arrays of a million elements: processor time.

At this size the compiled program determines the time, not the call.  Processor time sums
over all threads, so it is also meaningful on a busy machine.  The number of operations of
a compiled program does not depend on the machine's load.
"""

import math
import time

import numpy as np

from bench.cases.most_used import CALLS
from bench.measure import hlo_operations, thread_time
from bench.rows import Row

TITLE = "The functions most used, compiled, on a million elements"
LARGER = {
    "arange(16)": "arange(1 << 20)",
    "(4, 4)": "(1024, 1024)",
    "ones(8)": "ones(1 << 20)",
    "full((4,)": "full((1 << 20,)",
    "eye(4)": "eye(1024)",
    "1.0, 8)": "1.0, 1 << 20)",
    "(2, 8)": "(512, 2048)",
    "(8, 2)": "(2048, 512)",
    "k, (4,)": "k, (1 << 20,)",
    "one_hot(i, 4)": "one_hot(i, 1024)",
    "broadcast_to(v": "broadcast_to(w",
}
MEAN = "compiled, geometric mean"


def larger(text: str) -> str:
    """Return the expression with large arrays."""
    for small, large in LARGER.items():
        text = text.replace(small, large)
    return text


BIG = [larger(text) for text in CALLS if "data" not in text]
ROWS = (
    Row(MEAN, 1.0),
    *(
        row
        for text in BIG
        for row in (Row(f"{text}, compiled", 1.1), Row(f"{text}, operations", None, ""))
    ),
)


def measure(jax, sheet) -> None:
    jnp = jax.numpy
    m = jnp.asarray(np.random.default_rng(0).random((1024, 1024), np.float32) + 1)
    arrays = {
        "m": m,
        "n": m[::-1],
        "b": m > 1.5,
        "v": m.reshape(-1),
        "w": m[0],
        "u": m[None],
        "i": jnp.arange(1024),
        "k": jax.random.PRNGKey(0),
    }
    names = {"jax": jax, "jnp": jnp, "lax": jax.lax}
    logs = []
    for text in BIG:
        code = compile(text, "<call>", "eval")
        run = jax.jit(lambda arrays, code=code: eval(code, {**names, **arrays}))

        def call(run=run):
            return jax.block_until_ready(run(arrays))

        name = f"{text}, compiled"
        sheet.fill(
            name,
            lambda call=call: thread_time(
                call, slices=5 if sheet.quick else 20, clock=time.process_time
            ),
        )
        logs.append(math.log(sheet.values[name]))
        sheet.fill(
            f"{text}, operations", lambda run=run: hlo_operations(run.lower(arrays).compile())
        )
    sheet.put(MEAN, math.exp(sum(logs) / len(logs)))
