"""How many programs a Python loop over positions makes the runtime compile or load."""

import numpy as np

from bench.measure import Compiles
from bench.rows import Row

TITLE = "Programs compiled by a loop"
ROWS = (
    Row("x[i] for 100 values of i: programs", 1, "", "count"),
    Row("x[i:i+2] for 100 values of i: programs", 1, "", "count"),
)


def measure(jax, sheet) -> None:
    x = jax.numpy.asarray(np.arange(200, dtype=np.float32))

    def count(look):
        with Compiles() as compiles:
            for i in range(100):
                look(i).block_until_ready()
        return compiles.count

    sheet.fill(ROWS[0].name, lambda: count(lambda i: x[i]))
    sheet.fill(ROWS[1].name, lambda: count(lambda i: x[i : i + 2]))
