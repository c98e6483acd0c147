"""odeint and its derivatives against known solutions, and its steps against SciPy's."""

import numpy as np
import pytest
import scipy.integrate

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental import ode
from minijax.experimental.ode import odeint

TIGHT = {"rtol": 1e-9, "atol": 1e-9}
T = np.array([0.0, 0.3, 1.0, 1.5])


def close(got, expected, tol=1e-7):
    np.testing.assert_allclose(got, expected, rtol=tol, atol=tol)


def oscillator(y, t, rate):
    """Return an oscillator, whose solution is a rotation by rate * t."""
    return {"x": -rate * y["v"], "v": rate * y["x"]}


def test_solutions_and_slopes():
    start = {"x": jnp.ones(2), "v": jnp.zeros(2)}

    def solve(y0, t, rate):
        return odeint(oscillator, y0, t, rate, **TIGHT)

    def last(y0, t, rate):
        # `closed` is not an argument, but what the derivative closes over.
        closed = lambda y, t: oscillator(y, t, rate)
        weights = jnp.array([1.0, 0.0, 2.0, 5.0])
        ys = odeint(closed, y0, t, **TIGHT)
        return jnp.sum(weights[:, None] * ys["x"])

    @mj.jit
    def run(y0, t, rate):
        slopes = mj.grad(last, (0, 1, 2))(y0, t, rate)
        return solve(y0, t, rate), slopes

    with mj.enable_x64():
        start = mj.tree.map(lambda x: x.astype("float64"), start)
        rates = jnp.array([2.0, 3.0])
        ys, (by_y, by_t, by_rate) = run(start, jnp.array(T), rates)
    angles = np.outer(T, rates)
    close(ys["x"], np.cos(angles))
    close(ys["v"], np.sin(angles))
    w = np.array([1.0, 0, 2, 5])[:, None]
    close(by_y["x"], (w * np.cos(angles)).sum(0))
    close(by_y["v"], -(w * np.sin(angles)).sum(0))
    later = -(w * np.sin(angles) * np.array(rates)).sum(1)
    close(by_t, [-later.sum(), *later[1:]])
    close(by_rate, -(w * np.sin(angles) * T[:, None]).sum(0))


def test_complex_numbers_and_lanes():
    def rotated(a, rate):
        y = odeint(lambda y, t: 1j * rate * y, a, jnp.array([0.0, 1.0]), **TIGHT)
        return y[-1]

    def energy(a, rate):
        return abs(rotated(a, rate) - 1) ** 2

    with mj.enable_x64():
        a, rates = jnp.array(1 + 2j), jnp.array([0.5, 2.0])
        run = lambda r: (rotated(a, r), *mj.grad(energy, (0, 1))(a, r))
        ys, by_a, by_rate = mj.jit(mj.vmap(run))(rates)
    turn = np.exp(1j * np.array(rates))
    rest = np.array(a) * turn - 1
    close(ys, np.array(a) * turn)
    close(by_a, 2 * rest.conj() * turn)
    close(by_rate, (2 * rest.conj() * 1j * np.array(a) * turn).real)


def test_second_derivatives():
    def f(rate):
        return odeint(lambda y, t, r: -r * y, 1.0, jnp.array([0.0, 0.5]), rate, **TIGHT)[1]

    with mj.enable_x64():
        close(mj.jit(mj.grad(mj.grad(f)))(2.0), 0.25 * np.exp(-1.0), 1e-6)


def test_steps_match_scipy():
    """Both count evaluations in the same way: 6 per step, and two initial ones."""
    calls = []

    def f(y, t):
        mj.debug.callback(lambda t: calls.append(float(t)), t)
        return -y * t

    with mj.enable_x64():
        y = odeint(f, jnp.array(1.0), jnp.array([0.0, 2.0]), rtol=1e-6, atol=1e-6)
        mj.effects_barrier()
    expected = scipy.integrate.solve_ivp(
        lambda t, y: -y * t, (0, 2), [1.0], "RK45", rtol=1e-6, atol=1e-6
    )
    assert abs(y[1] - np.exp(-2)) < 1e-5
    assert (len(calls) - 2) % 6 == 0 and abs(len(calls) - expected.nfev) <= 24


def test_limits_of_steps():
    f = lambda y, t: -y
    tolerances = {"rtol": 1e-2, "atol": 1e-2}
    t = jnp.array([0.0, 4.0])
    y = [odeint(f, jnp.array(1.0), t, hmax=h, **tolerances)[1] for h in (np.inf, 0.05)]
    assert abs(y[1] - np.exp(-4)) < 1e-6 < abs(y[0] - np.exp(-4))
    # Two steps do not reach the end: the last polynomial extrapolates.
    assert not abs(odeint(f, jnp.array(1.0), t, mxstep=2, **tolerances)[1] - np.exp(-4)) < 1e-4
    assert odeint(f, jnp.array(2.0), jnp.zeros(1)).tolist() == [2]


def test_a_step_is_of_order_five():
    with mj.enable_x64():
        errors = []
        for h in (0.1, 0.05):
            y, one = jnp.array([1.0]), jnp.array(h)
            f = lambda y, t: y * jnp.cos(t)
            y1, f1, error, k = ode.runge_kutta_step(f, y, f(y, 0.0), jnp.array(0.0), one)
            exact = np.exp(np.sin(h))
            errors.append((abs(y1 - exact)[0], abs(error)[0]))
            close(f1, y1 * np.cos(h), 1e-15)
            a = ode.interp_fit_dopri(y, y1, k, one)
            close(jnp.polyval(a, 0.3)[0], np.exp(np.sin(0.3 * h)), 30 * h**5)
            close(jnp.polyval(a, 1.0), y1, 1e-14)
        assert 50 < errors[0][0] / errors[1][0] < 80  # 2^6 and 2^5
        assert 25 < errors[0][1] / errors[1][1] < 40


def test_sizes_of_steps():
    assert ode.optimal_step_size(0.5, 0.0) == 5
    assert ode.optimal_step_size(0.5, 1e9) == pytest.approx(0.1)
    assert ode.optimal_step_size(0.5, 0.99) == 0.5
    assert ode.optimal_step_size(1.0, 16.0, safety=1.0, order=4.0) == 0.5
    constant = jnp.zeros(2)
    h = ode.initial_step_size(lambda y, t: 0 * y, 0.0, constant, 4, 1e-5, 1e-5, constant)
    assert h == pytest.approx(1e-6)  # the value of a constant solution
    ratio = ode.mean_error_ratio(jnp.array([3e-3j, 4e-3]), 1e-3, 0.0, constant + 1, constant)
    assert ratio == pytest.approx(np.sqrt(12.5))
    assert ode.map(abs, [-1, 2]) == [1, 2]
    with pytest.raises(ValueError, match="argument"):
        ode.zip([1], [])


def test_messages():
    f, one = lambda y, t, *args: -y, jnp.array(1.0)
    with pytest.raises(TypeError, match=r"contents of odeint \*args must be arrays"):
        odeint(f, one, jnp.arange(2.0), "rate")
    for t in (jnp.arange(2), [0.0, 1.0]):
        with pytest.raises(TypeError, match="t must be an array of floats"):
            odeint(f, one, t)
