"""Compiled programs: their number of operations, and their run time."""

from bench.measure import hlo_operations, wait_for, wall_time
from bench.programs import chain, perceptron, transformer
from bench.rows import Row

TITLE = "Compiled programs"
NAMES = (
    "300-operation chain",
    "perceptron step",
    "6-layer transformer, forward",
    "6-layer transformer, value_and_grad",
)
ROWS = tuple(
    row
    for name in NAMES
    for row in (Row(f"{name}: HLO operations", 1.0, ""), Row(f"{name}: run time", 1.0))
)


def measure(jax, sheet) -> None:
    model, model_args = transformer(jax, 6, width=128, length=64, batch=4)
    programs = (
        chain(jax, 300),
        perceptron(jax),
        (model, model_args),
        (jax.value_and_grad(model), model_args),
    )
    for name, (f, args) in zip(NAMES, programs, strict=True):
        fill_compiled(jax, sheet, name, f, args)


def fill_compiled(jax, sheet, name, f, args) -> None:
    """Fill the two rows of one program: its operations, and its run time on arrays."""
    args = jax.tree_util.tree_map(jax.numpy.asarray, args)
    compiled = jax.jit(f)
    seconds = 0.5 if sheet.quick else 1.5
    sheet.fill(
        f"{name}: HLO operations", lambda: hlo_operations(compiled.lower(*args).compile())
    )
    sheet.fill(
        f"{name}: run time",
        lambda: wall_time(lambda: wait_for(compiled(*args)), seconds=seconds),
    )
