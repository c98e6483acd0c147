"""From a traced function to StableHLO: the `.lower()` of `jit(f).trace(...)`."""

from bench.cases.trace import NAMES, programs
from bench.measure import once_each
from bench.rows import Row

TITLE = "Lowering"
GOALS = (0.25, 0.25, 0.2, 0.22)
ROWS = tuple(Row(f"lower: {n}", g) for n, g in zip(NAMES, GOALS, strict=True))


def measure(jax, sheet) -> None:
    times = 3 if sheet.quick else 7
    for name, (f, args) in programs(jax).items():

        def make(f=f, args=args):
            return jax.jit(lambda *args: f(*args)).trace(*args).lower

        sheet.fill(f"lower: {name}", lambda make=make: once_each(make, times=times))
