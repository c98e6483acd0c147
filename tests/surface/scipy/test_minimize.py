"""minimize by BFGS and L-BFGS, on common test functions."""

import numpy as np
import pytest
import scipy.optimize

import minijax as mj
import minijax.numpy as jnp
from minijax.scipy.optimize import OptimizeResults, minimize

LBFGS = "l-bfgs-experimental-do-not-rely-on-this"
METHODS = ("BFGS", LBFGS)


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def matyas(x):
    return 0.26 * jnp.sum(x**2) - 0.48 * x[0] * x[1]


# name: the function, where to start, the solution, the most evaluations.
PROBLEMS = {
    "rosenbrock": (rosenbrock, [0.0, 0], [1, 1], 45),
    "five numbers": (rosenbrock, [0.8, 1.2, -0.5, 1, 2], [1] * 5, 90),
    "himmelblau": (himmelblau, [1.0, 1], [3, 2], 20),
    "matyas": (matyas, [3.0, -1], [0, 0], 20),
    "square": (lambda x: jnp.sum((x - 3) ** 2), [0.0, 0, 0], [3] * 3, 5),
}


@pytest.mark.parametrize("method", METHODS)
def test_minima(method):
    options = {"gtol": 1e-7} if method == "BFGS" else {"gtol": 1e-7, "ftol": 1e-18}

    def run(f, x0):
        result = minimize(f, x0, method=method, options=options)
        return result, mj.value_and_grad(f)(result.x)

    with mj.enable_x64():
        results = mj.jit(
            lambda starts: [run(f, x) for (f, *_), x in zip(PROBLEMS.values(), starts)]
        )([jnp.array(x0) for _, x0, *_ in PROBLEMS.values()])
    for name, (result, (value, slope)) in zip(PROBLEMS, results, strict=True):
        _, _, solution, most = PROBLEMS[name]
        assert result.success and result.status == 0, name
        np.testing.assert_allclose(result.x, solution, atol=1e-6, err_msg=name)
        assert result.nit <= result.nfev == result.njev <= most, name
        np.testing.assert_allclose(result.fun, value, atol=1e-20)
        np.testing.assert_allclose(result.jac, slope, atol=1e-9)
        assert abs(result.jac).max() < 1e-7


def test_the_inverse_hessian():
    with mj.enable_x64():
        result = minimize(himmelblau, jnp.ones(2), method="BFGS")
    exact = np.linalg.inv([[74, 20], [20, 34]])  # 12 x^2 + 4 y - 42, 4 (x + y) ...
    np.testing.assert_allclose(result.hess_inv, exact, rtol=0.1)


def test_single_precision():
    for method in METHODS:
        result = minimize(rosenbrock, np.zeros(2, "float32"), method=method)
        assert result.success and result.x.dtype == "float32"
        np.testing.assert_allclose(result.x, [1, 1], atol=2e-3)


def test_complex_numbers():
    near = np.array([1 + 2j, 3 - 1j])

    def f(z):
        return sum(abs(z - near) ** 2) + abs(z[0] * z[1]) ** 2

    options = {"gtol": 1e-4, "ftol": 0}
    result = minimize(f, jnp.ones(2, "complex64"), method=LBFGS, options=options)
    pairs = lambda x: f(x[:2] + 1j * x[2:])
    expected = scipy.optimize.minimize(pairs, np.array([1, 1, 0, 0.0]))
    assert result.success and abs(result.fun - expected.fun) < 1e-4
    np.testing.assert_allclose(abs(result.jac), 0, atol=1e-4)
    with pytest.raises(TypeError, match="BFGS minimizes over real numbers"):
        minimize(f, jnp.ones(2, "complex64"), method="BFGS")


def test_lanes_and_arguments():
    def f(x, a, scale):
        return scale * jnp.sum((x - a) ** 4 + (x - a) ** 2)

    run = mj.vmap(lambda a: minimize(f, jnp.zeros(2), (a, 3.0), method="BFGS").x)
    np.testing.assert_allclose(run(jnp.arange(3.0)), [[0, 0], [1, 1], [2, 2]], atol=1e-4)


def test_stopping_criteria():
    # Its gradient leads uphill.
    wrong = mj.custom_jvp(lambda x: jnp.sum((x - 1) ** 2))
    wrong.defjvp(lambda x, t: (wrong(*x), jnp.sum(2 * (1 - x[0]) * t[0])))

    def runner(method, f=rosenbrock):
        x0 = jnp.zeros(2)
        return mj.jit(lambda options: minimize(f, x0, method=method, options=options))

    for method in METHODS:
        run = runner(method)
        for n in (0, 3):
            result = run({"maxiter": n, "gtol": 1e-5})
            assert (result.nit, result.status, result.success) == (n, 1, False)
        assert 0.1 < abs(run({"maxiter": 90, "gtol": 3.0}).jac).max() < 3
        # Downhill for ever: the values fall, and no step is long enough.
        assert runner(method, lambda x: -jnp.sum(x))({}).status == 5
        result = runner(method, wrong)({})
        assert result.status == (3 if method == "BFGS" else 5)
        assert abs(result.x).max() < 1e-5 and abs(result.fun - 2) < 1e-5
    names = ("maxfun", "maxgrad", "ftol")
    run = lambda *values: run_lbfgs(dict(zip(names, values, strict=True)))
    run_lbfgs = runner(LBFGS)
    assert run(4, 99, 0.0).status == 2
    assert run(99, 4, 0.0).status == 3
    stopped = run(99, 99, 10.0)
    assert stopped.status == 4 and stopped.success


def test_progress_counts_relative_to_the_value():
    """As in SciPy's L-BFGS-B, `ftol` is relative to large values."""
    result = minimize(
        lambda x: 1e6 + jnp.sum((x - 3) ** 4),
        jnp.zeros(1),
        method=LBFGS,
        options={"ftol": 1e-7, "gtol": 0.0},
    )
    assert result.success and result.status == 4 and abs(result.x[0] - 3) < 1


def test_options():
    x0 = jnp.zeros(2)
    result = minimize(rosenbrock, x0, method="BFGS", options={"norm": 1, "gtol": 100.0})
    assert result.nit == 0
    result = minimize(rosenbrock, x0, method=LBFGS, tol=100.0)
    assert result.nit == 0
    options = {"line_search_maxiter": 1}
    result = minimize(lambda x: -jnp.sum(x), x0, method="BFGS", options=options)
    assert result.nfev == 2


def test_results_and_messages():
    assert OptimizeResults._fields == (
        "x",
        "success",
        "status",
        "fun",
        "jac",
        "hess_inv",
        "nfev",
        "njev",
        "nit",
    )
    for change, error, message in (
        ({"args": [1.0]}, TypeError, "args argument .* must be a tuple"),
        ({"method": "CG"}, ValueError, "Method CG not recognized"),
        ({"x0": jnp.zeros((2, 2))}, ValueError, "x0 must have one axis"),
        ({"x0": jnp.zeros(2, int)}, TypeError, "inputs"),
        ({"options": {"disp": True}}, TypeError, "disp"),
    ):
        with pytest.raises(error, match=message):
            minimize(**{"fun": rosenbrock, "x0": jnp.zeros(2), "method": "BFGS", **change})
