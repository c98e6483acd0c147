"""From a traced function to StableHLO: the `.lower()` of `jit(f).trace(...)`."""

from bench.cases.trace import NAMES, programs
from bench.measure import once_each
from bench.rows import Row

TITLE = "Lowering"
ROWS = tuple(Row(f"lower: {name}", 0.25) for name in NAMES)


def measure(jax, sheet) -> None:
    times = 3 if sheet.quick else 7
    for name, (f, args) in programs(jax).items():

        def make(f=f, args=args):
            return jax.jit(lambda *args: f(*args)).trace(*args).lower

        sheet.fill(f"lower: {name}", lambda make=make: once_each(make, times=times))
