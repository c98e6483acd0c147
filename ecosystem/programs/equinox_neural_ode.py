"""A whole program: a neural ODE in equinox and diffrax learns oscillators from data."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax


class Field(eqx.Module):
    scale: jax.Array
    mlp: eqx.nn.MLP

    def __init__(self, size, width, depth, *, key):
        self.scale = jnp.ones(())
        self.mlp = eqx.nn.MLP(size, size, width, depth, jax.nn.softplus, jnp.tanh, key=key)

    def __call__(self, t, y, args):
        return self.scale * self.mlp(y)


class NeuralODE(eqx.Module):
    field: Field

    def __call__(self, ts, y0):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(self.field),
            diffrax.Tsit5(),
            ts[0],
            ts[-1],
            ts[1] - ts[0],
            y0,
            saveat=diffrax.SaveAt(ts=ts),
            stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6),
        )
        return solution.ys


def data(count, key):
    def one(y0):
        def f(t, y, args):
            x = y / (1 + y)
            return jnp.stack([x[1], -x[0]], axis=-1)

        return diffrax.diffeqsolve(
            diffrax.ODETerm(f),
            diffrax.Tsit5(),
            ts[0],
            ts[-1],
            0.1,
            y0,
            saveat=diffrax.SaveAt(ts=ts),
        ).ys

    y0s = jr.uniform(key, (count, 2), minval=-0.6, maxval=1)
    return jax.vmap(one)(y0s)


ts = jnp.linspace(0, 5, 20)
ys = data(64, jr.key(0))
model = NeuralODE(Field(2, 32, 2, key=jr.key(1)))
optimizer = optax.adabelief(3e-3)
state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))


@eqx.filter_value_and_grad
def grad_loss(model, ti, yi):
    predicted = jax.vmap(model, in_axes=(None, 0))(ti, yi[:, 0])
    return jnp.mean((yi - predicted) ** 2)


@eqx.filter_jit
def step(ti, yi, model, state):
    loss, grads = grad_loss(model, ti, yi)
    updates, state = optimizer.update(grads, state)
    return loss, eqx.apply_updates(model, updates), state


rng = np.random.default_rng(0)
for length, steps in ((4, 60), (20, 60)):  # first the start of each path
    for _ in range(steps):
        batch = rng.permutation(len(ys))[:32]
        loss, model, state = step(ts[:length], ys[batch, :length], model, state)
    print(length, "points: loss", round(float(loss), 3))
print("path", np.round(model(ts, ys[0, 0])[::5], 1) + 0.0)
