"""Optimizers against their papers' formulas in float64, on trees; their states."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.example_libraries import optimizers

rng = np.random.default_rng(0)
X0 = rng.normal(size=(2, 3))
G = [rng.normal(size=(2, 3)) for _ in range(3)] + [np.zeros((2, 3))]
ETA = 0.1


def sgd(i, g, x):
    return [x - ETA * g]


def momentum(i, g, x, v):
    v = 0.8 * v + g
    return [x - ETA * v, v]


def nesterov(i, g, x, v):
    v = 0.8 * v + g
    return [x - ETA * (0.8 * v + g), v]


def adagrad(i, g, x, s, m):
    s = s + g**2
    m = 0.9 * m + 0.1 * g / np.sqrt(s)
    return [x - ETA * m, s, m]


def rmsprop(i, g, x, s):
    s = 0.9 * s + 0.1 * g**2
    return [x - ETA * g / np.sqrt(s + 1e-8), s]


def rmsprop_momentum(i, g, x, s, m):
    s = 0.9 * s + 0.1 * g**2
    m = 0.7 * m + ETA * g / np.sqrt(s + 1e-8)
    return [x - m, s, m]


def adam(i, g, x, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    mean, square = m / (1 - 0.9 ** (i + 1)), v / (1 - 0.999 ** (i + 1))
    return [x - ETA * mean / (np.sqrt(square) + 1e-8), m, v]


def adamax(i, g, x, m, u):
    m, u = 0.9 * m + 0.1 * g, np.maximum(0.999 * u, abs(g))
    return [x - ETA / (1 - 0.9 ** (i + 1)) * m / (u + 1e-8), m, u]


def sm3(i, g, x, m, rows, columns):
    s = np.minimum(rows[:, :1], columns[:1]) + g**2
    rows = np.broadcast_to(s.max(1, keepdims=True), s.shape)
    columns = np.broadcast_to(s.max(0), s.shape)
    m = 0.9 * m + 0.1 * g / np.sqrt(s)
    return [x - ETA * m, m, rows, columns]


CASES = {
    "sgd": (sgd, 0, {}),
    "momentum": (momentum, 1, {"mass": 0.8}),
    "nesterov": (nesterov, 1, {"mass": 0.8}),
    "adagrad": (adagrad, 2, {}),
    "rmsprop": (rmsprop, 1, {}),
    "rmsprop_momentum": (rmsprop_momentum, 2, {"momentum": 0.7}),
    "adam": (adam, 2, {}),
    "adamax": (adamax, 2, {}),
    "sm3": (sm3, 3, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_steps(name):
    formula, more, options = CASES[name]
    opt = getattr(optimizers, name)(lambda i: ETA, **options)
    assert type(opt) is optimizers.Optimizer
    state = opt.init_fn({"w": jnp.asarray(X0, "float32"), "v": [jnp.ones(2)]})
    update = mj.jit(opt.update_fn)
    expected = [X0] + [np.zeros_like(X0)] * more
    for i, g in enumerate(G):
        state = update(i, {"w": jnp.asarray(g, "float32"), "v": [jnp.ones(2)]}, state)
        expected = formula(i, g, *expected)
        got = opt.params_fn(state)
        np.testing.assert_allclose(got["w"], expected[0], rtol=2e-5, atol=1e-6)
    one = opt.init_fn(jnp.ones(2))
    for i in range(len(G)):
        one = opt.update_fn(i, jnp.ones(2), one)
    np.testing.assert_allclose(got["v"][0], opt.params_fn(one), rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_numbers_and_empty_trees(name):
    opt = getattr(optimizers, name)(ETA, **CASES[name][2])
    state = opt.update_fn(0, jnp.float32(2.0), opt.init_fn(jnp.float32(1.0)))
    same_lengths = opt.update_fn(0, jnp.full(1, 2.0), opt.init_fn(jnp.ones(1)))
    assert opt.params_fn(state) == opt.params_fn(same_lengths)[0] < 1
    assert opt.params_fn(opt.update_fn(0, {}, opt.init_fn({}))) == {}


def test_states_can_be_saved():
    opt = optimizers.adam(ETA)
    state = opt.init_fn({"w": jnp.ones(2), "v": (jnp.zeros(1),)})
    marked = optimizers.unpack_optimizer_state(state)
    assert isinstance(marked["v"][0], optimizers.JoinPoint)
    assert [len(list(mj.tree.leaves(list(p)))) for p in mj.tree.leaves(marked)] == [3, 3]
    repeated = optimizers.pack_optimizer_state(marked)
    assert mj.tree.structure(repeated) == mj.tree.structure(state)
    with pytest.raises(TypeError, match="leaves must be JoinPoints"):
        optimizers.pack_optimizer_state({"w": 1})


def test_messages():
    opt = optimizers.sgd(ETA)
    with pytest.raises(TypeError, match="passed a gradient tree that did not match"):
        opt.update_fn(0, [1.0], opt.init_fn({"w": 1.0}))
    wild = optimizers.optimizer(lambda: (lambda x: x, lambda i, g, x: (x, g), lambda x: x))()
    with pytest.raises(TypeError, match="produced an output structure that did not"):
        wild.update_fn(0, 1.0, wild.init_fn(1.0))


SCHEDULES = {
    "constant": ((0.3,), lambda i: 0.3),
    "exponential_decay": ((0.3, 4, 0.5), lambda i: 0.3 * 0.5 ** (i / 4)),
    "inverse_time_decay": ((0.3, 4, 0.5), lambda i: 0.3 / (1 + 0.5 * i / 4)),
    "polynomial_decay": ((0.3, 4, 0.1, 2.0), lambda i: 0.2 * (1 - min(i, 4) / 4) ** 2 + 0.1),
    "piecewise_constant": (([1, 3], [3.0, 2.0, 1.0]), lambda i: 3 - (i > 1) - (i > 3)),
    "make_schedule": ((0.3,), lambda i: 0.3),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    args, formula = SCHEDULES[name]
    schedule = getattr(optimizers, name)(*args)
    for i in (0, 1, 2, 4, 9):
        np.testing.assert_allclose(schedule(i), formula(i), rtol=1e-6)
    np.testing.assert_allclose(mj.jit(schedule)(2), formula(2), rtol=1e-6)


def test_more_schedules():
    steps = optimizers.inverse_time_decay(0.3, 4, 0.5, staircase=True)
    np.testing.assert_allclose([steps(3), steps(5)], [0.3, 0.2], rtol=1e-6)
    assert optimizers.make_schedule(steps) is steps
    with pytest.raises(TypeError):
        optimizers.make_schedule(jnp.ones(3))
    with pytest.raises(ValueError, match="boundaries length must be one shorter"):
        optimizers.piecewise_constant([1, 3], [1.0, 2.0])
    with pytest.raises(ValueError, match="must be sequences"):
        optimizers.piecewise_constant(1, [1.0, 2.0])


def test_norms():
    tree = {"a": jnp.array([3.0, 0.0]), "b": [jnp.array(4.0)]}
    assert optimizers.l2_norm(tree) == 5
    clipped = optimizers.clip_grads(tree, 2.5)
    assert (clipped["a"].tolist(), clipped["b"][0]) == ([1.5, 0.0], 2.0)
    assert optimizers.clip_grads(tree, 6.0)["a"].tolist() == [3.0, 0.0]


def test_maps_of_equal_lengths():
    assert optimizers.map(max, [1, 5], (3, 4)) == [3, 5]
    assert optimizers.zip([1, 2], "ab") == [(1, "a"), (2, "b")]
    assert optimizers.unzip2([(1, 2), (3, 4)]) == ((1, 3), (2, 4))
    with pytest.raises(ValueError, match=r"safe_map\(\) argument 3 is shorter"):
        optimizers.safe_map(max, [1, 5], [3])
    with pytest.raises(ValueError, match=r"safe_zip\(\) argument 2 is longer"):
        optimizers.safe_zip([1], [3, 4])
