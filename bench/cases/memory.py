"""The memory of an equation of a jaxpr."""

import gc
import tracemalloc

from bench.measure import resident_bytes
from bench.programs import chain
from bench.rows import Row

TITLE = "Memory per equation"
ROWS = (
    Row("memory per equation: Python objects", 0.5, "B"),
    Row("memory per equation: whole process", 0.5, "B"),
    Row("objects per equation that the collector walks", 0.45, ""),
)


def measure(jax, sheet) -> None:
    sheet.fill(ROWS[1].name, lambda: _growth(jax, resident_bytes, 30_000))
    collected = lambda: len(gc.get_objects())
    sheet.fill(ROWS[2].name, lambda: _growth(jax, collected, 6_000))
    tracemalloc.start()
    in_python = lambda: tracemalloc.get_traced_memory()[0]
    sheet.fill(ROWS[0].name, lambda: _growth(jax, in_python, 6_000))


def _growth(jax, now, operations) -> float:
    """Return the growth of `now()` per equation of a chain that is traced and kept."""
    f, args = chain(jax, operations)
    short, _ = chain(jax, 300)
    jax.make_jaxpr(short)(*args)
    gc.collect()
    before = now()
    jaxpr = jax.make_jaxpr(f)(*args)
    gc.collect()
    after = now()
    return (after - before) / len(jaxpr.jaxpr.eqns)
