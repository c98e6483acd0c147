"""diffrax: a neural ODE fitted to data; other solvers, adjoints and noise."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

key = jax.random.PRNGKey(0)
times = jnp.linspace(0.0, 2.0, 8)
spiral = jnp.stack([jnp.cos(times), jnp.sin(times)], 1) * jnp.exp(-0.3 * times)[:, None]


class Field(eqx.Module):
    """The time derivative, computed by a network."""

    mlp: eqx.nn.MLP

    def __call__(self, t, y, args):
        return self.mlp(y)


def solve(field, start):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        times[0],
        times[-1],
        0.1,
        start,
        stepsize_controller=diffrax.PIDController(1e-3, 1e-5),
        saveat=diffrax.SaveAt(ts=times),
    ).ys


field = Field(eqx.nn.MLP(2, 2, 8, 1, jnp.tanh, key=key))
optimizer = optax.adam(3e-2)
state = optimizer.init(eqx.filter(field, eqx.is_inexact_array))


@eqx.filter_jit
def step(field, state):
    loss = lambda f: jnp.mean((solve(f, spiral[0]) - spiral) ** 2)
    value, grads = eqx.filter_value_and_grad(loss)(field)
    updates, state = optimizer.update(grads, state)
    return eqx.apply_updates(field, updates), state, value


for i in range(20):
    field, state, value = step(field, state)
    if i % 5 == 4:
        print("loss", round(float(value), 4))


def decayed(rate, **options):
    term = diffrax.ODETerm(lambda t, y, a: -a * y)
    control = diffrax.PIDController(1e-5, 1e-5)
    return (
        diffrax.diffeqsolve(
            term,
            options.pop("solver", diffrax.Dopri5()),
            0.0,
            2.0,
            0.1,
            jnp.ones(2),
            args=rate,
            stepsize_controller=control,
            **options,
        )
        .ys[-1]
        .sum()
    )


print("forward", np.asarray(jax.vmap(decayed)(jnp.array([0.1, 0.2]))))
backsolve = diffrax.BacksolveAdjoint()
stiff = lambda a: decayed(a, solver=diffrax.Kvaerno3(), adjoint=backsolve)
print("implicit, backsolve", jax.grad(stiff)(0.5))
noise = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-2, (), key)
terms = diffrax.MultiTerm(
    diffrax.ODETerm(lambda t, y, a: -y), diffrax.ControlTerm(lambda t, y, a: 0.1, noise)
)
print("noisy", diffrax.diffeqsolve(terms, diffrax.Euler(), 0.0, 1.0, 0.05, 1.0).ys)
