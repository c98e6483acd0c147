"""cg, bicgstab and gmres against direct solves; derivatives, lanes, trees, stopping."""

import functools

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.scipy.sparse import linalg

rng = np.random.default_rng(0)
N = 6
GENERAL = rng.normal(size=(N, N)) + 5 * np.eye(N)
POSITIVE = GENERAL @ GENERAL.T + np.eye(N)
MIXED = GENERAL + 1j * rng.normal(size=(N, N))
HERMITIAN = MIXED @ MIXED.conj().T
B = rng.normal(size=N)
C = B + 1j * rng.normal(size=N)
step_by_step = functools.partial(linalg.gmres, solve_method="incremental")
# name: the solver, a real matrix and a complex one that it takes.
SOLVERS = {
    "cg": (linalg.cg, POSITIVE, HERMITIAN),
    "bicgstab": (linalg.bicgstab, GENERAL, MIXED),
    "gmres": (linalg.gmres, GENERAL, MIXED),
    "incremental": (step_by_step, GENERAL, MIXED),
}
every_solver = pytest.mark.parametrize("name", SOLVERS)
close = functools.partial(np.testing.assert_allclose, rtol=1e-8, atol=1e-8)


@every_solver
def test_solutions_and_derivatives(name):
    solver, A, _ = SOLVERS[name]
    general = name in ("cg", "bicgstab")  # what all share is tested with the cheap ones

    @mj.jit
    def program(A, b):
        def solution(A, b, **options):
            return solver(A, b, tol=1e-11, **options)[0]

        diagonal = jnp.diag(A)
        result = {"plain": solution(A, b), "by M": solution(A, b, M=lambda x: x / diagonal)}
        slopes = mj.grad(
            lambda A, b: jnp.sum(jnp.sin(solution(A, b, M=jnp.diag(1 / diagonal)))), (0, 1)
        )(A, b)
        if not general:
            return result, slopes
        result["function"] = solution(lambda x: A @ x, b, x0=jnp.ones(N))
        lanes = mj.vmap(lambda s: solution(A * s, b))(jnp.array([1.0, 3.0, 0.5]))
        twice = mj.jacfwd(mj.grad(lambda b: jnp.sum(solution(A, b) ** 3)))(b)
        return result, slopes, lanes, twice, mj.jvp(solution, (A, b), (A.T, 2 * b))[1]

    with mj.enable_x64():
        result, (by_A, by_b), *rest = program(A, B)
    x, inverse = np.linalg.solve(A, B), np.linalg.inv(A)
    for way, got in result.items():
        close(got, x, err_msg=way)
    ct = inverse.T @ np.cos(x)
    close(by_b, ct)
    close(by_A, -np.outer(ct, x))
    if general:
        lanes, twice, tangent = rest
        close(lanes, [x, x / 3, x / 0.5])
        close(twice, inverse.T @ np.diag(6 * x) @ inverse)
        close(tangent, inverse @ (2 * B - A.T @ x))


@every_solver
def test_complex_trees(name):
    solver, _, A = SOLVERS[name]
    b = {"u": C[:2], "v": C[2:, None]}

    def apply(tree):
        y = A @ jnp.concatenate([tree["u"], tree["v"][:, 0]])
        return {"u": y[:2], "v": y[2:, None]}

    def program(b):
        return solver(apply, b, tol=1e-11)[0]

    def energy(b):
        return sum(jnp.sum(abs(x) ** 2) for x in program(b).values())

    with mj.enable_x64():
        x, slope = mj.jit(lambda b: (program(b), mj.grad(energy)(b)))(b)
    solution = np.linalg.solve(A, C)
    close(np.concatenate([x["u"], x["v"][:, 0]]), solution)
    # What is carried back is the conjugate of the steepest direction.
    ct = np.linalg.solve(A.T, 2 * solution.conj())
    close(np.concatenate([slope["u"], slope["v"][:, 0]]), ct)


@every_solver
def test_stopping_criteria(name):
    solver, A, _ = SOLVERS[name]
    A, b = A.astype("float32"), B.astype("float32")
    options = {} if name in ("cg", "bicgstab") else {"restart": 2}

    @mj.jit
    def run(b, n, atol):
        return solver(A, b, tol=1e-6, maxiter=n, atol=atol, **options)[0]

    size = [np.linalg.norm(b - A @ run(b, n, 0.0)) for n in (0, 1, 200)]
    assert size[0] == pytest.approx(np.linalg.norm(b))
    assert size[2] < 3e-6 * size[0] and size[2] < size[1]
    assert not np.any(run(b, 200, 2 * size[0]))  # good enough to begin with
    assert not np.any(run(0 * b, 200, 0.0))


def test_residuals_are_minimal_over_a_cycle():
    b = B.astype("float32")
    for m in (3,):
        basis = np.stack([np.linalg.matrix_power(GENERAL, k) @ B for k in range(m)], 1)
        y = np.linalg.lstsq(GENERAL @ basis, B, rcond=None)[0]
        for method in ("batched", "incremental"):
            options = {"restart": m, "maxiter": 1, "solve_method": method}
            got, info = linalg.gmres(GENERAL.astype("float32"), b, **options)
            np.testing.assert_allclose(got, basis @ y, atol=1e-5)
            assert info == 0 and info.dtype == "int32"


@every_solver
def test_dtypes(name):
    solver = SOLVERS[name][0]
    A = 2 * jnp.eye(3)
    half = "bfloat16"
    x = solver(A.astype(half), jnp.arange(3).astype(half))[0]
    assert x.dtype == half and x.tolist() == [0, 0.5, 1]
    assert solver(A, jnp.arange(3))[0].tolist() == [0, 0.5, 1]
    assert solver(lambda x: 4 * x, 2.0)[0] == 0.5


@every_solver
def test_messages(name):
    solver, b = SOLVERS[name][0], jnp.ones(2)
    for A, x0, error, message in (
        (np.ones((2, 3)), None, ValueError, r"must be a square matrix.*\(2, 3\)"),
        ([[1.0]], None, TypeError, "must be either a function or ndarray"),
        (3, None, TypeError, "must be either a function or ndarray"),
        (lambda x: x, [b], ValueError, "must have matching tree structure"),
        (lambda x: x, jnp.ones(3), ValueError, "must have matching shapes"),
        (lambda x: x[:1], None, ValueError, "output shapes must match b"),
    ):
        with pytest.raises(error, match=message):
            solver(A, b, x0)
    with pytest.raises(ValueError, match="invalid solve_method qr"):
        linalg.gmres(jnp.eye(2), b, solve_method="qr")
