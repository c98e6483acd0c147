"""A whole program: Bayesian regression in blackjax, adapted NUTS, several chains."""

import blackjax
import jax
import jax.numpy as jnp
import jax.scipy.stats as stats
import numpy as np

rng = np.random.default_rng(0)
x = rng.normal(size=(100, 2))
y = x @ [1.5, -0.7] + 0.3 + rng.normal(0, 0.5, 100)


def logdensity(p):
    scale = jnp.exp(p["log_scale"])
    mean = x @ p["slopes"] + p["offset"]
    return (
        stats.norm.logpdf(y, mean, scale).sum()
        + stats.norm.logpdf(p["slopes"], 0, 2).sum()
        + stats.norm.logpdf(p["offset"], 0, 2)
        + stats.expon.logpdf(scale) + p["log_scale"]
    )  # fmt: skip


start = {"slopes": jnp.zeros(2), "offset": jnp.zeros(()), "log_scale": jnp.zeros(())}
warm, run = jax.random.split(jax.random.key(0))
adapt = blackjax.window_adaptation(blackjax.nuts, logdensity)
(state, parameters), _ = adapt.run(warm, start, num_steps=300)
kernel = jax.jit(blackjax.nuts(logdensity, **parameters).step)


def chain(key):
    def one(state, key):
        state, info = kernel(key, state)
        return state, (state.position, info.acceptance_rate)

    return jax.lax.scan(one, state, jax.random.split(key, 300))[1]


positions, rates = jax.jit(jax.vmap(chain))(jax.random.split(run, 4))
print("step size", round(float(parameters["step_size"]), 3))
for name, values in sorted(positions.items()):
    mean, spread = values.mean((0, 1)), values.std((0, 1))
    converged = blackjax.diagnostics.potential_scale_reduction(values)
    print(name, np.round(mean, 3), np.round(spread, 3), bool((converged < 1.05).all()))
print("accepted", round(float(rates.mean()), 2))
