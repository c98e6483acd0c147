"""Functions that are traced, lowered, compiled and run, in either library.

Each returns `(function, arguments)`. They use only common functions of JAX, and draw
their numbers with NumPy, so both libraries get the same ones.
"""

import itertools

import numpy as np


def chain(jax, operations):
    """Return a chain of `operations` elementwise operations on f32[8]."""
    jnp = jax.numpy

    def f(x):
        for _ in range(operations // 3):
            x = jnp.sin(x) * 0.5 + x
        return x.sum()

    return f, (np.linspace(0, 1, 8, dtype=np.float32),)


def perceptron_loss(jax, batch=64, sizes=(64, 128, 128, 10)):
    """Return the loss of a small classifier."""
    jnp = jax.numpy
    draw = np.random.default_rng(0)
    params = [
        {
            "w": draw.normal(size=(m, n)).astype(np.float32) / np.sqrt(m, dtype="f"),
            "b": np.zeros(n, np.float32),
        }
        for m, n in itertools.pairwise(sizes)
    ]
    x = draw.normal(size=(batch, sizes[0])).astype(np.float32)
    y = np.eye(sizes[-1], dtype=np.float32)[draw.integers(0, sizes[-1], batch)]

    def loss(params, x, y):
        for layer in params[:-1]:
            x = jnp.tanh(x @ layer["w"] + layer["b"])
        x = x @ params[-1]["w"] + params[-1]["b"]
        return -(y * log_softmax(jnp, x)).sum(-1).mean()

    return loss, (params, x, y)


def perceptron(jax, **shape):
    """Return one step of gradient descent on the classifier."""
    loss, args = perceptron_loss(jax, **shape)

    def step(params, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        move = lambda p, g: p - 0.1 * g
        return jax.tree_util.tree_map(move, params, grads), value

    return step, args


def transformer(
    jax, layers, *, width=64, heads=4, length=32, batch=2, words=128, wrap=lambda layer: layer
):
    """Return the loss of a causal language model; `wrap` transforms each layer."""
    jnp = jax.numpy
    draw = np.random.default_rng(0)
    size = width // heads
    mask = np.tril(np.ones((length, length), bool))

    def weights(*shape):
        return (draw.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)

    params = {
        "words": weights(words, width),
        "places": weights(length, width),
        "layers": [
            {
                "qkv": weights(width, 3 * width),
                "out": weights(width, width),
                "up": weights(width, 4 * width),
                "down": weights(4 * width, width),
                "scale1": np.ones(width, np.float32),
                "scale2": np.ones(width, np.float32),
            }
            for _ in range(layers)
        ],
        "scale": np.ones(width, np.float32),
    }
    tokens = draw.integers(0, words, (batch, length + 1)).astype(np.int32)

    def normalise(x, scale):
        x = x - x.mean(-1, keepdims=True)
        return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale

    def split(x):
        return x.reshape(batch, length, heads, size).transpose(0, 2, 1, 3)

    @wrap
    def layer(p, x):
        q, k, v = jnp.split(normalise(x, p["scale1"]) @ p["qkv"], 3, axis=-1)
        q, k, v = split(q), split(k), split(v)
        scores = q @ k.transpose(0, 1, 3, 2) / np.float32(size**0.5)
        scores = jnp.where(mask, scores, np.float32(-1e9))
        mixed = jnp.exp(log_softmax(jnp, scores)) @ v
        x = x + mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ p["out"]
        hidden = normalise(x, p["scale2"]) @ p["up"]
        return x + (hidden * 0.5 * (1 + jnp.tanh(hidden * 0.8))) @ p["down"]

    def loss(params, tokens):
        x = params["words"][tokens[:, :-1]] + params["places"]
        for p in params["layers"]:
            x = layer(p, x)
        scores = log_softmax(jnp, normalise(x, params["scale"]) @ params["words"].T)
        chosen = tokens[:, 1:, None] == jnp.arange(words)
        return -jnp.where(chosen, scores, 0.0).sum(-1).mean()

    return loss, (params, tokens)


def log_softmax(jnp, x):
    x = x - x.max(-1, keepdims=True)
    return x - jnp.log(jnp.exp(x).sum(-1, keepdims=True))


def remat_transformer(jax, layers=12, wrap=None):
    """Return the gradient of a transformer whose layers the backward pass recomputes."""
    size = {"width": 128, "heads": 4, "length": 64, "batch": 4}
    loss, args = transformer(jax, layers, wrap=wrap or jax.checkpoint, **size)
    return jax.value_and_grad(loss), args


def recurrent(jax, width=64, length=200, batch=8):
    """Return the gradient of a character model: a gated recurrent cell under scan."""
    jnp = jax.numpy
    draw = np.random.default_rng(0)
    text = np.frombuffer((__doc__ * 20).encode(), np.uint8)[: batch * (length + 1)]
    text = text.astype(np.int32).reshape(batch, length + 1).T

    def weights(*shape):
        return (draw.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)

    params = {
        "in": weights(128, 2 * width),
        "state": weights(width, 2 * width),
        "out": weights(width, 128),
    }

    def loss(params, text):
        def cell(state, pair):
            now, following = pair
            both = params["in"][now] + state @ params["state"]
            gate, new = jnp.split(both, 2, axis=-1)
            gate = 1 / (1 + jnp.exp(-gate))
            state = gate * state + (1 - gate) * jnp.tanh(new)
            scores = log_softmax(jnp, state @ params["out"])
            chosen = following[:, None] == jnp.arange(128)
            return state, -jnp.where(chosen, scores, 0.0).sum(-1).mean()

        start = jnp.zeros((batch, width))
        return jax.lax.scan(cell, start, (text[:-1], text[1:]))[1].mean()

    return jax.value_and_grad(loss), (params, text)


def neural_ode(jax, width=16, batch=4):
    """Return the gradient of an adaptive ODE solution by its adjoint, with custom_vjp."""
    jnp = jax.numpy
    tree_map = jax.tree_util.tree_map
    draw = np.random.default_rng(0)
    params = {
        "w1": (0.3 * draw.normal(size=(width, 32))).astype(np.float32),
        "w2": (0.3 * draw.normal(size=(32, width))).astype(np.float32),
    }
    x = draw.normal(size=(batch, width)).astype(np.float32)

    def slope(x, params):
        return jnp.tanh(x @ params["w1"]) @ params["w2"]

    def solve(f, start, *constants):
        """Solve from t = 0 to 1 by Heun's method, with adaptive steps."""

        def unfinished(carry):
            return carry[0] < 1.0

        def step(carry):
            t, dt, y = carry
            dt = jnp.minimum(dt, 1.0 - t)
            k1 = f(y, *constants)
            euler = tree_map(lambda y, k: y + dt * k, y, k1)
            k2 = f(euler, *constants)
            heun = tree_map(lambda y, a, b: y + dt / 2 * (a + b), y, k1, k2)
            gaps = tree_map(lambda a, b: jnp.abs(a - b).max(), euler, heun)
            error = sum(jax.tree_util.tree_leaves(gaps)) + 1e-9
            fine = error < 1e-3
            y = tree_map(lambda new, old: jnp.where(fine, new, old), heun, y)
            t = jnp.where(fine, t + dt, t)
            return t, dt * jnp.clip(0.9 * jnp.sqrt(1e-3 / error), 0.2, 5.0), y

        carry = (jnp.float32(0), jnp.float32(0.1), start)
        return jax.lax.while_loop(unfinished, step, carry)[2]

    @jax.custom_vjp
    def flow(x, params):
        return solve(slope, x, params)

    def forward(x, params):
        end = flow(x, params)
        return end, (end, params)

    def backward(saved, ct):
        end, params = saved

        def back_in_time(state, params):
            y, a, _ = state
            k, pull = jax.vjp(slope, y, params)
            ct_y, ct_params = pull(a)
            return -k, ct_y, ct_params

        state = (end, ct, tree_map(jnp.zeros_like, params))
        _, ct_x, ct_params = solve(back_in_time, state, params)
        return ct_x, ct_params

    flow.defvjp(forward, backward)

    def loss(params, x):
        return (flow(x, params) ** 2).mean()

    return jax.value_and_grad(loss), (params, x)


def hamiltonian(jax, chains=16, draws=50, leaps=10, size=4):
    """Return Hamiltonian Monte Carlo on a correlated Gaussian: nested scans under vmap."""
    jnp, random, lax = jax.numpy, jax.random, jax.lax
    spread = np.eye(size, dtype=np.float32) + 0.3

    def energy(x):
        return 0.5 * (x @ (spread @ x))

    pull = jax.grad(energy)

    def leap(state, _):
        x, p = state
        p = p - 0.1 * pull(x)
        x = x + 0.2 * p
        return (x, p - 0.1 * pull(x)), None

    def draw(x, key):
        key1, key2 = random.split(key)
        p = random.normal(key1, (size,))
        (new, q), _ = lax.scan(leap, (x, p), None, length=leaps)
        change = energy(x) + 0.5 * p @ p - energy(new) - 0.5 * q @ q
        x = jnp.where(jnp.log(random.uniform(key2)) < change, new, x)
        return x, x

    def one_chain(key):
        return lax.scan(draw, jnp.zeros(size), random.split(key, draws))[1]

    def sample(key):
        return jax.vmap(one_chain)(random.split(key, chains))

    return sample, (np.array([0, 7], np.uint32),)
