"""From a Python function to its jaxpr."""

from bench.measure import once_each, python_calls
from bench.programs import chain, transformer
from bench.rows import Row

TITLE = "Tracing: make_jaxpr"
CHAIN, CHAIN_GRAD, FORWARD, BACKWARD = NAMES = (
    "3,000-operation chain",
    "its grad",
    "24-layer transformer, forward",
    "24-layer transformer, value_and_grad",
)
GOALS = (0.25, 0.2, 0.3, 0.25)
ROWS = tuple(Row(f"make_jaxpr: {n}", g) for n, g in zip(NAMES, GOALS, strict=True))


def programs(jax):
    """The functions of this case, and of `lower`: name -> (function, arguments)."""
    line, line_args = chain(jax, 3000)
    model, model_args = transformer(jax, 24)
    return {
        CHAIN: (line, line_args),
        CHAIN_GRAD: (jax.grad(line), line_args),
        FORWARD: (model, model_args),
        BACKWARD: (jax.value_and_grad(model), model_args),
    }


def measure(jax, sheet) -> None:
    times = 3 if sheet.quick else 7
    for name, (f, args) in programs(jax).items():

        def make(f=f, args=args):
            fresh = lambda *args: f(*args)
            return lambda: jax.make_jaxpr(fresh)(*args)

        row = f"make_jaxpr: {name}"
        sheet.fill(row, lambda make=make: once_each(make, times=times))
        sheet.fill_calls(row, lambda make=make: python_calls(lambda: make()()))
