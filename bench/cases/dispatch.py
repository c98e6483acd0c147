"""Calls of a function that is already compiled."""

import numpy as np

from bench.measure import python_calls, thread_time
from bench.rows import Row

TITLE = "Calls of a jitted function"
ROWS = (
    Row("jit call: one array", 0.95),
    Row("jit call: 10 arrays", 0.97),
    Row("jit call: tree of 100 leaves", 1.0),
    Row("jit call: Python scalar", 0.95),
    Row("jit call: static argument", 0.95),
    Row("jit call: keyword argument", 0.95),
    Row("jit call: 5,000 leaves under 2,500 nodes, flattened", 0.3),
    Row("compiled call: one array", 0.95),
    Row("compiled call: 10 arrays", 0.95),
    Row("float(x)", 0.6),
    Row("np.asarray(x), again", 0.95),
    Row("np.asarray(x), fresh", 0.8),
    Row("iterate over 8 rows", 0.65),
    Row("iterate over 100 rows", 0.45),
)


class Layer:
    """A pytree node of a user-defined class."""

    def __init__(self, w, b):
        self.w, self.b = w, b


def measure(jax, sheet) -> None:
    one = jax.numpy.asarray(np.arange(3, dtype=np.float32))
    tree = {f"layer{i:02}": {"w": one, "b": one} for i in range(50)}
    double = jax.jit(lambda x: x + x)
    first = jax.jit(lambda *xs: xs[0] + xs[-1])
    all_of = jax.jit(lambda tree: jax.tree_util.tree_map(lambda x: x + x, tree))
    ten = (one,) * 10
    power = jax.jit(lambda x, n: x * n, static_argnums=1)
    scaled = jax.jit(lambda x, scale: x * scale)
    compiled = double.lower(one).compile()
    compiled_ten = first.lower(*ten).compile()
    util = jax.tree_util
    util.register_pytree_node(Layer, lambda n: ((n.w, n.b), None), lambda _, c: Layer(*c))
    model = [Layer(one, one) for _ in range(2500)]
    if hasattr(util, "flattened"):  # JAX has no equivalent
        model = util.flattened(model)
    read = jax.jit(lambda m: m[0].w + m[-1].b)
    scalar, rows = jax.numpy.asarray(np.float32(2)), jax.numpy.zeros((100, 4))
    slices = 50 if sheet.quick else 200
    for name, call in {
        "jit call: one array": lambda: double(one),
        "jit call: 10 arrays": lambda: first(*ten),
        "jit call: tree of 100 leaves": lambda: all_of(tree),
        "jit call: Python scalar": lambda: double(2.0),
        "jit call: static argument": lambda: power(one, 3),
        "jit call: keyword argument": lambda: scaled(one, scale=one),
        "jit call: 5,000 leaves under 2,500 nodes, flattened": lambda: read(model),
        "compiled call: one array": lambda: compiled(one),
        "compiled call: 10 arrays": lambda: compiled_ten(*ten),
        "float(x)": lambda: float(scalar),
        "np.asarray(x), again": lambda: np.asarray(one),
        "np.asarray(x), fresh": lambda: np.asarray(double(one)),
        "iterate over 8 rows": lambda: list(rows[:8]),
        "iterate over 100 rows": lambda: list(rows),
    }.items():
        sheet.fill(name, lambda call=call: thread_time(call, slices=slices))
        sheet.fill_calls(name, lambda call=call: python_calls(call))
