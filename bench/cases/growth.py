"""Growth of costs: the exponent b in cost = a * size**b, by least squares on logarithms.

The cost of nested gradients grows by a factor per level in every library; for them the
number is this factor.
"""

import numpy as np

from bench.measure import once_each, thread_time
from bench.programs import chain
from bench.rows import Row

TITLE = "Growth"
TRACE, GRAD, LOWER = (
    "trace, 1k to 50k operations: exponent",
    "trace of grad, 1k to 50k operations: exponent",
    "lower, 1k to 50k operations: exponent",
)
LEAVES = "jit call, 10 to 10k leaves: exponent"
VMAPS = "vmap nested 2 to 32 deep: exponent"
GRADS = "grad nested 1 to 5 deep: factor a level"
NAMES = (TRACE, GRAD, LOWER, LEAVES, VMAPS, GRADS)
ROWS = tuple(Row(name, unit="", kind="growth") for name in NAMES)


def exponent(cost, sizes) -> float:
    costs = [cost(size) for size in sizes]
    return np.polyfit(np.log(sizes), np.log(costs), 1)[0]


def measure(jax, sheet) -> None:
    sizes = (1_000, 4_000, 10_000) if sheet.quick else (1_000, 5_000, 20_000, 50_000)
    jnp = jax.numpy

    def trace(n, transform=lambda f: f):
        f, args = chain(jax, n)
        make = lambda: lambda: jax.make_jaxpr(transform(lambda x: f(x)))(*args)
        return once_each(make, times=2)

    def lower(n):
        f, args = chain(jax, n)
        return once_each(lambda: jax.jit(lambda x: f(x)).trace(*args).lower, times=2)

    def call(leaves):
        f = jax.jit(lambda tree: tree[0])
        tree = [jnp.float32(1)] * leaves
        return thread_time(lambda: f(tree), slices=20)

    def vmaps(depth):
        def make():
            f = lambda x: jnp.sin(x) * 2.0
            for _ in range(depth):
                f = jax.vmap(f)
            return lambda: jax.make_jaxpr(f)(np.ones((1,) * depth, np.float32))

        return once_each(make, times=5)

    def grads(depth):
        def make():
            f = lambda x: jnp.sin(x) * x
            for _ in range(depth):
                f = jax.grad(f)
            return lambda: jax.make_jaxpr(f)(1.0)

        return once_each(make, times=5)

    def factor(cost, depths):
        costs = [cost(depth) for depth in depths]
        return np.exp(np.polyfit(depths, np.log(costs), 1)[0])

    sheet.fill(TRACE, lambda: exponent(trace, sizes))
    sheet.fill(GRAD, lambda: exponent(lambda n: trace(n, jax.grad), sizes))
    sheet.fill(LOWER, lambda: exponent(lower, sizes))
    sheet.fill(LEAVES, lambda: exponent(call, (10, 100, 1_000, 10_000)))
    sheet.fill(VMAPS, lambda: exponent(vmaps, (2, 8, 16, 32)))
    sheet.fill(GRADS, lambda: factor(grads, (1, 2, 3, 4, 5)))
