"""Programs with control flow: tracing and lowering, operations, run time."""

from bench.cases.compiled import fill_compiled
from bench.measure import once_each, wait_for, wall_time
from bench.programs import hamiltonian, neural_ode, recurrent, remat_transformer
from bench.rows import Row

TITLE = "Control flow"
PROGRAMS = {
    "neural ODE, gradient by adjoint": neural_ode,
    "RNN by scan, gradient": recurrent,
    "Hamiltonian Monte Carlo": hamiltonian,
    "12-layer remat transformer, gradient": remat_transformer,
}
ROWS = tuple(
    row
    for name in PROGRAMS
    for row in (
        Row(f"{name}: trace and lower", 0.35),
        Row(f"{name}: HLO operations", 1.0, ""),
        Row(f"{name}: run time", 1.0),
    )
) + (
    Row("RNN by scan: residual bytes of the backward pass", 1.0, "B"),
    Row("remat transformer: temporary bytes, of those without remat", 0.33, "", "count"),
    Row("remat transformer: run time, of that without remat", 1.4, "", "count"),
)


def measure(jax, sheet) -> None:
    times = 3 if sheet.quick else 5
    for name, program in PROGRAMS.items():

        def make(program=program):
            f, args = program(jax)  # new functions, which no cache has
            return lambda: jax.jit(f).lower(*args)

        row = f"{name}: trace and lower"
        sheet.fill(row, lambda make=make: once_each(make, times=times))
        fill_compiled(jax, sheet, name, *program(jax))
    residuals, memory, speed = (row.name for row in ROWS[-3:])
    sheet.fill(residuals, lambda: _residual_bytes(jax))
    without, remat = _with_and_without_remat(jax)
    sheet.fill(memory, lambda: _temporary_bytes(remat) / _temporary_bytes(without))
    seconds = 1.0 if sheet.quick else 3.0
    sheet.fill(speed, lambda: _run_time(remat, seconds) / _run_time(without, seconds))


def _residual_bytes(jax) -> int:
    """Return the residual bytes of the RNN's forward scan, without the losses."""
    f, args = recurrent(jax)
    equations = jax.make_jaxpr(f)(*args).jaxpr.eqns
    forward = next(e for e in equations if e.primitive.name == "scan")
    residuals = [v.aval for v in forward.outvars[forward.params["num_carry"] :]]
    losses = forward.params["length"] * 4
    return sum(aval.size * aval.dtype.itemsize for aval in residuals) - losses


def _with_and_without_remat(jax):
    """Return the transformer's compiled gradient and arguments, without and with remat."""
    programs = []
    for wrap in (lambda layer: layer, jax.checkpoint):
        f, args = remat_transformer(jax, wrap=wrap)
        args = jax.tree_util.tree_map(jax.numpy.asarray, args)
        programs.append((jax.jit(f).lower(*args).compile(), args))
    return programs


def _temporary_bytes(program) -> int:
    return program[0].memory_analysis().temp_size_in_bytes


def _run_time(program, seconds) -> float:
    compiled, args = program
    return wall_time(lambda: wait_for(compiled(*args)), seconds=seconds)
