"""Derivatives outside of jit, where every call differentiates anew."""

import numpy as np

from bench.measure import python_calls, thread_time
from bench.rows import Row

TITLE = "Un-jitted gradients"
ROWS = (
    Row("grad of a three-operation function", 0.12),
    Row("vmap of it", 0.25),
)


def measure(jax, sheet) -> None:
    jnp = jax.numpy
    x = jnp.float32(0.5)
    xs = jnp.asarray(np.linspace(0, 1, 8, dtype=np.float32))
    slope = jax.grad(lambda x: jnp.sin(x) * x + 1.0)
    slopes = jax.vmap(slope)
    slices = 30 if sheet.quick else 100
    for row, call in zip(ROWS, (lambda: slope(x), lambda: slopes(xs)), strict=True):
        sheet.fill(row.name, lambda call=call: thread_time(call, slices=slices))
        sheet.fill_calls(row.name, lambda call=call: python_calls(call))
