"""Programs with control flow: trace and lower, what is compiled, how it runs."""

from bench.cases.compiled import fill_compiled
from bench.measure import once_each
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
) + (Row("RNN by scan: residual bytes of the backward pass", 1.0, "B"),)


def measure(jax, sheet) -> None:
    times = 3 if sheet.quick else 5
    for name, program in PROGRAMS.items():

        def make(program=program):
            f, args = program(jax)  # new functions, which no cache knows
            return lambda: jax.jit(f).lower(*args)

        row = f"{name}: trace and lower"
        sheet.fill(row, lambda make=make: once_each(make, times=times))
        fill_compiled(jax, sheet, name, *program(jax))
    sheet.fill(ROWS[-1].name, lambda: _residual_bytes(jax))


def _residual_bytes(jax) -> int:
    """What the forward scan of the RNN's gradient keeps, but for the losses."""
    f, args = recurrent(jax)
    equations = jax.make_jaxpr(f)(*args).jaxpr.eqns
    forward = next(e for e in equations if e.primitive.name == "scan")
    kept = [v.aval for v in forward.outvars[forward.params["num_carry"] :]]
    losses = forward.params["length"] * 4
    return sum(aval.size * aval.dtype.itemsize for aval in kept) - losses
