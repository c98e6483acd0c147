"""A whole program: Bayesian regression in blackjax, adapted NUTS, several chains.

`norm.logpdf` rounds differently than in JAX, whose squares of scales overflow, and chains
amplify the last digit. The program prints only results that any chain of this length finds.
"""

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
        + stats.expon.logpdf(scale)
        + p["log_scale"]
    )


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
print("step size", 0.5 < parameters["step_size"] < 1.2)
(fit, *_) = np.linalg.lstsq(np.c_[x, np.ones(100)], y)
rest = np.std(y - np.c_[x, np.ones(100)] @ fit)
expected = {"slopes": fit[:2], "offset": fit[2], "log_scale": np.log(rest)}
for name, values in sorted(positions.items()):
    near = abs(values.mean((0, 1)) - expected[name]) < 0.04
    spread = abs(values.std((0, 1)) - 0.06) < 0.03
    converged = blackjax.diagnostics.potential_scale_reduction(values) < 1.05
    print(name, near.all(), spread.all(), converged.all())
print("accepted", 0.7 < rates.mean() < 0.97)
