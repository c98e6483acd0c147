"""Single operations on small arrays, outside jit, each already compiled."""

import numpy as np

from bench.measure import python_calls, thread_time
from bench.rows import Row

TITLE = "Eager operations"
ROWS = (
    Row("x + y", 0.7),
    Row("x + 1", 0.6),
    Row("jnp.sin(x)", 0.95),
    Row("x.sum()", 0.85),
    Row("jnp.dot(x, y)", 0.98),
    Row("jnp.where(c, x, y)", 0.8),
    Row("20 operations", 0.75),
    Row("x.reshape(2, 4)", 0.35),
    Row("x.astype(jnp.int32)", 0.4),
    Row("x[1]", 0.2),
    Row("x.at[0].set(1)", 0.1),
    Row("jnp.zeros(3)", 0.18),
    Row("jnp.arange(8)", 0.3),
)


def measure(jax, sheet) -> None:
    jnp = jax.numpy
    x = jnp.asarray(np.arange(8, dtype=np.float32))
    y = jnp.asarray(np.ones(8, np.float32))
    c = x > 3

    def twenty():
        z = x
        for _ in range(5):
            z = jnp.sin(z + y) * y - x
        return z

    calls = {
        "x + y": lambda: x + y,
        "x + 1": lambda: x + 1,
        "jnp.sin(x)": lambda: jnp.sin(x),
        "x.sum()": lambda: x.sum(),
        "jnp.dot(x, y)": lambda: jnp.dot(x, y),
        "20 operations": twenty,
        "jnp.where(c, x, y)": lambda: jnp.where(c, x, y),
        "x.reshape(2, 4)": lambda: x.reshape(2, 4),
        "x.astype(jnp.int32)": lambda: x.astype(jnp.int32),
        "x[1]": lambda: x[1],
        "x.at[0].set(1)": lambda: x.at[0].set(1),
        "jnp.zeros(3)": lambda: jnp.zeros(3),
        "jnp.arange(8)": lambda: jnp.arange(8),
    }
    slices = 50 if sheet.quick else 200
    for name, call in calls.items():
        sheet.fill(name, lambda call=call: thread_time(call, slices=slices))
        sheet.fill_calls(name, lambda call=call: python_calls(call))
