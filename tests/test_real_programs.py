"""Whole programs of the kind people write, held to what is known of their results."""

import functools
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

import minijax as mj
import minijax.numpy as jnp
from bench.programs import transformer
from minijax import lax, random

# ------------------------------------------------- an ODE with adaptive steps, adjoint


def odeint(slope, start, end, constants, **options):
    """y(end) for y' = slope(y, *constants), y(0) = start: Bogacki-Shampine 3(2) steps."""

    tolerance = 1e-8 if end.dtype == np.float64 else 1e-4

    def unfinished(state):
        return state[0] < end

    def step(state):
        t, h, y = state
        h = jnp.minimum(h, end - t)
        f = lambda y: slope(y, *constants)
        move = lambda *terms: mj.tree.map(
            lambda y, *ks: y + h * sum(c * k for c, k in zip(weights, ks, strict=True)),
            y,
            *terms,
        )
        k1 = f(y)
        weights = [1 / 2]
        k2 = f(move(k1))
        weights = [3 / 4]
        k3 = f(move(k2))
        weights = [2 / 9, 1 / 3, 4 / 9]
        new = move(k1, k2, k3)
        k4 = f(new)
        weights = [7 / 24, 1 / 4, 1 / 3, 1 / 8]
        gaps = mj.tree.map(lambda a, b: jnp.abs(a - b).max(), new, move(k1, k2, k3, k4))
        error = mj.tree.reduce(jnp.maximum, gaps) + 1e-30
        good = error < tolerance
        y = mj.tree.map(lambda a, b: jnp.where(good, a, b), new, y)
        t = jnp.where(good, t + h, t)
        return t, h * jnp.clip(0.9 * (tolerance / error) ** (1 / 3), 0.2, 5.0), y

    first = jnp.asarray(0.0, end.dtype), jnp.asarray(0.05, end.dtype), start
    return lax.while_loop(unfinished, step, first, **options)[2]


@functools.partial(mj.custom_vjp, nondiff_argnums=(0,))
def adjoint_odeint(slope, start, end, params):
    return odeint(slope, start, end, (params,))


def _forward(slope, start, end, params):
    y = adjoint_odeint(slope, start, end, params)
    return y, (y, end, params)


def _backward(slope, saved, ct):
    """The adjoint equation, back in time: a' = -a df/dy; dL/dp = integral of a df/dp."""
    y, end, params = saved

    def back(state, params):
        y, a, _ = state
        k, pull = mj.vjp(slope, y, params)
        ct_y, ct_params = pull(a)
        return -k, ct_y, ct_params

    state = y, ct, mj.tree.map(jnp.zeros_like, params)
    _, ct_start, ct_params = odeint(back, state, end, (params,))
    return ct_start, (ct * slope(y, params)).sum(), ct_params


adjoint_odeint.defvjp(_forward, _backward)

A = np.array([[-0.4, 1.9], [-2.1, -0.3]])
Y0 = np.array([1.3, -0.4])


def rotate(y, params):
    return params["A"] @ y


def energy(solve, A, y0, t):
    return (solve(rotate, y0, t, {"A": A}) ** 2).sum()


def test_the_adjoint_of_an_ode_with_adaptive_steps_is_right():
    with mj.enable_x64():
        compiled = mj.jit(
            mj.value_and_grad(functools.partial(energy, adjoint_odeint), (0, 1, 2))
        )
        value, (dA, dy, dt) = compiled(A, Y0, 1.5)
    end = expm(1.5 * A) @ Y0
    np.testing.assert_allclose(value, end @ end, rtol=1e-7)
    np.testing.assert_allclose(dy, 2 * expm(1.5 * A).T @ end, rtol=1e-6)
    np.testing.assert_allclose(dt, 2 * end @ A @ end, rtol=1e-6)
    for at in np.ndindex(2, 2):
        step = np.zeros((2, 2))
        step[at] = 1e-5
        up, down = (expm(1.5 * (A + s)) @ Y0 for s in (step, -step))
        np.testing.assert_allclose(dA[at], (up @ up - down @ down) / 2e-5, rtol=1e-5)


def test_it_agrees_with_reverse_mode_through_the_steps_themselves():
    """`max_steps` makes the loop itself reverse-differentiable: no adjoint equation."""

    def through(slope, start, end, params):
        return odeint(slope, start, end, (params,), max_steps=2048)

    with mj.enable_x64():
        grads = [
            mj.jit(mj.grad(functools.partial(energy, solve), (0, 1)))(A, Y0, 1.5)
            for solve in (adjoint_odeint, through)
        ]
    for a, b in zip(*grads, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_many_of_them_under_vmap():
    """Lanes take different numbers of steps in one loop."""
    starts = np.linspace(-2, 2, 5)[:, None] * Y0
    with mj.enable_x64():
        one = mj.grad(functools.partial(energy, adjoint_odeint), 1)
        together = mj.jit(mj.vmap(one, (None, 0, None)))(A, starts, 1.5)
    rotated = expm(1.5 * A)
    np.testing.assert_allclose(together, 2 * starts @ rotated.T @ rotated, rtol=1e-5, atol=1e-9)


def test_a_neural_ode_learns_a_flow():
    """A small network becomes the vector field of a spiral, seen only at its end."""
    keys = random.split(random.key(0), 3)
    params = {
        "w1": random.normal(keys[0], (2, 16)) * 0.5,
        "w2": random.normal(keys[1], (16, 2)) * 0.2,
    }
    x = np.asarray(random.normal(keys[2], (32, 2)))
    y = (x @ expm(0.5 * A).T).astype(np.float32)

    def field(y, p):
        return jnp.tanh(y @ p["w1"]) @ p["w2"]

    @mj.jit
    @mj.value_and_grad
    def loss(params):
        end = adjoint_odeint(field, x, jnp.float32(0.5), params)
        return ((end - y) ** 2).mean()

    first, _ = loss(params)
    moment = mj.tree.map(jnp.zeros_like, params)
    for _ in range(150):
        value, grads = loss(params)
        moment = mj.tree.map(lambda m, g: 0.9 * m + g, moment, grads)
        params = mj.tree.map(lambda p, m: p - 0.1 * m, params, moment)
    assert value < 0.03 * first, (first, value)


# -------------------------------------------------------------- an RNN on real text

TEXT = "".join(
    p.read_text(encoding="utf-8")
    for p in sorted((Path(__file__).parents[1] / "tutorials").glob("0*.py"))
)


def test_a_recurrent_network_learns_the_tutorials():
    """A character model by scan: better than any guess without a memory."""
    letters = sorted(set(TEXT))
    codes = np.array([letters.index(c) for c in TEXT], np.int32)
    n, width, length, batch = len(letters), 64, 48, 32
    counts = np.bincount(codes) / len(codes)
    entropy = -(counts * np.log(np.where(counts > 0, counts, 1))).sum()
    keys = random.split(random.key(1), 3)
    params = {
        "in": random.normal(keys[0], (n, 2 * width)) * 0.1,
        "state": random.normal(keys[1], (width, 2 * width)) / 8,
        "out": random.normal(keys[2], (width, n)) * 0.1,
        "bias": jnp.zeros(n),
    }

    def cell(params, state, code):
        gate, new = jnp.split(params["in"][code] + state @ params["state"], 2, -1)
        gate = mj.nn.sigmoid(gate)
        return gate * state + (1 - gate) * jnp.tanh(new)

    def loss(params, rows):
        def step(state, pair):
            now, following = pair
            state = cell(params, state, now)
            scores = mj.nn.log_softmax(state @ params["out"] + params["bias"])
            return state, scores[jnp.arange(batch), following]

        _, picked = lax.scan(step, jnp.zeros((batch, width)), (rows[:-1], rows[1:]))
        return -picked.mean()

    @functools.partial(mj.jit, donate_argnums=(0, 1, 2))
    def train(params, first, second, t, rows):
        value, grads = mj.value_and_grad(loss)(params, rows)
        first = mj.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = mj.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, grads)
        rate = 0.02 * jnp.sqrt(1 - 0.99**t) / (1 - 0.9**t)
        move = lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8)
        return mj.tree.map(move, params, first, second), first, second, value

    first = mj.tree.map(jnp.zeros_like, params)
    second = mj.tree.map(jnp.zeros_like, params)
    draw = np.random.default_rng(0)
    values = []
    for t in range(1, 121):
        at = draw.integers(0, len(codes) - length - 1, batch)
        rows = codes[at[None] + np.arange(length + 1)[:, None]]
        params, first, second, value = train(params, first, second, np.float32(t), rows)
        values.append(float(value))
    assert values[0] == pytest.approx(np.log(n), rel=0.1)
    # Better than knowing the letters' counts.
    assert np.mean(values[-10:]) < 0.8 * entropy


# ------------------------------------------------------- Hamiltonian Monte Carlo

MEAN = np.array([1.0, -2.0, 0.5])
SPREAD = np.array([[2.0, 0.8, 0.3], [0.8, 1.0, -0.2], [0.3, -0.2, 0.5]])


def test_hamiltonian_monte_carlo_draws_from_its_target():
    """Scans in scans under vmap, with gradients inside: mean and covariance are known."""
    precision = jnp.asarray(np.linalg.inv(SPREAD), np.float32)

    def energy(x):
        return 0.5 * (x - MEAN) @ precision @ (x - MEAN)

    def leap(state, _):
        x, p = state
        p = p - 0.15 * mj.grad(energy)(x)
        x = x + 0.3 * p
        return (x, p - 0.15 * mj.grad(energy)(x)), None

    def draw(x, key):
        key1, key2 = random.split(key)
        p = random.normal(key1, (3,))
        (new, q), _ = lax.scan(leap, (x, p), length=8)
        change = energy(x) + 0.5 * p @ p - energy(new) - 0.5 * q @ q
        accepted = jnp.log(random.uniform(key2)) < change
        x = jnp.where(accepted, new, x)
        return x, (x, accepted)

    def chain(key):
        return lax.scan(draw, jnp.zeros(3), random.split(key, 400))[1]

    chains = random.split(random.key(7), 64)
    samples, accepted = mj.jit(mj.vmap(chain))(chains)
    assert 0.6 < accepted.mean() <= 1
    draws = np.asarray(samples)[:, 100:].reshape(-1, 3)
    # Five standard errors, were one draw in four independent.
    error = 5 * np.sqrt(np.diag(SPREAD) / (len(draws) / 4))
    assert (np.abs(draws.mean(0) - MEAN) < error).all()
    np.testing.assert_allclose(np.cov(draws.T), SPREAD, atol=0.1)
    # The same chain alone gives the same draws.
    alone = mj.jit(chain)(chains[3])[0]
    np.testing.assert_allclose(alone[:20], samples[3, :20], rtol=1e-3, atol=1e-3)


# ------------------------------------------------------ memory of the backward pass


def _gradient(wrap):
    loss, args = transformer(mj, 12, width=128, heads=4, length=64, batch=4, wrap=wrap)
    return mj.jit(mj.value_and_grad(loss)).lower(*args).compile(), args


def test_remat_keeps_a_third_of_a_transformers_memory():
    stored, args = _gradient(lambda layer: layer)
    again, _ = _gradient(mj.checkpoint)
    temporary = [f.memory_analysis().temp_size_in_bytes for f in (stored, again)]
    assert temporary[0] > 3 * temporary[1], temporary
    for a, b in zip(*(mj.tree.leaves(f(*args)) for f in (stored, again)), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-6)


def test_a_policy_chooses_between_memory_and_work():
    def compiled(policy):
        wrap = functools.partial(mj.checkpoint, policy=policy)
        f, _ = _gradient(wrap)
        return f.memory_analysis().temp_size_in_bytes, f.cost_analysis()["flops"]

    policies = mj.checkpoint_policies
    nothing = compiled(policies.nothing_saveable)
    dots = compiled(policies.dots_saveable)
    everything = compiled(policies.everything_saveable)
    assert nothing[0] < dots[0] < everything[0]
    assert nothing[1] > dots[1] >= everything[1]
