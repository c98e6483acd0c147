"""Calling a function that is compiled already."""

import numpy as np

from bench.measure import python_calls, thread_time
from bench.rows import Row

TITLE = "Calls of a jitted function"
ROWS = (
    Row("jit call: one array", 1.05),
    Row("jit call: 10 arrays", 1.0),
    Row("jit call: tree of 100 leaves", 0.9),
)


def measure(jax, sheet) -> None:
    one = jax.numpy.asarray(np.arange(3, dtype=np.float32))
    tree = {f"layer{i:02}": {"w": one, "b": one} for i in range(50)}
    double = jax.jit(lambda x: x + x)
    first = jax.jit(lambda *xs: xs[0] + xs[-1])
    all_of = jax.jit(lambda tree: jax.tree_util.tree_map(lambda x: x + x, tree))
    ten = (one,) * 10
    slices = 50 if sheet.quick else 200
    for name, call in {
        "jit call: one array": lambda: double(one),
        "jit call: 10 arrays": lambda: first(*ten),
        "jit call: tree of 100 leaves": lambda: all_of(tree),
    }.items():
        sheet.fill(name, lambda call=call: thread_time(call, slices=slices))
        sheet.fill_calls(name, lambda call=call: python_calls(call))
