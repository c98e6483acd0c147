"""The number of programs that a Python loop over indices compiles or loads."""

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

    def count(read):
        with Compiles() as compiles:
            for i in range(100):
                read(i).block_until_ready()
        return compiles.count

    sheet.fill(ROWS[0].name, lambda: count(lambda i: x[i]))
    sheet.fill(ROWS[1].name, lambda: count(lambda i: x[i : i + 2]))
