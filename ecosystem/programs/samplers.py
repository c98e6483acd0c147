"""numpyro and blackjax: the eight schools by NUTS, variational inference, other kernels.

Chains amplify the last digit of each number. So only the means of samples are printed,
rounded to the accuracy of any chain of this length.
"""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, autoguide, reparam

effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools(effects=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    around = dist.transforms.AffineTransform(mu, tau)
    config = {"theta": reparam.TransformReparam()}
    with numpyro.plate("schools", 8), numpyro.handlers.reparam(config=config):
        shape = dist.TransformedDistribution(dist.Normal(0.0, 1.0), around)
        theta = numpyro.sample("theta", shape)
        numpyro.sample("obs", dist.Normal(theta, errors), obs=effects)


key = jax.random.PRNGKey(0)
chain = MCMC(NUTS(schools), num_warmup=200, num_samples=200, progress_bar=False)
chain.run(key, effects)
samples = chain.get_samples()
print("mu", 2.0 < samples["mu"].mean() < 7.0, "tau", 1.0 < samples["tau"].mean() < 8.0)
print("predicted", Predictive(schools, samples)(key)["obs"].shape)
guide = autoguide.AutoNormal(schools)
fit = SVI(schools, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
losses = fit.run(key, 100, effects, progress_bar=False).losses
print("bound", round(float(losses[-1]), 1))
for d in (
    dist.Gamma(2.0, 1.0),
    dist.Beta(2.0, 3.0),
    dist.StudentT(3.0),
    dist.Poisson(2.0),
    dist.Dirichlet(jnp.ones(3)),
    dist.LKJCholesky(3, 1.0),
    dist.Categorical(jnp.ones(3) / 3),
    dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)),
):
    drawn = d.sample(jax.random.PRNGKey(2), (2,))
    print(type(d).__name__, np.round(d.log_prob(drawn), 3))


def logdensity(x):
    return -0.5 * ((x["a"] - 1) ** 2).sum() - 0.5 * (x["b"] / 2) ** 2


start = {"a": jnp.zeros(2), "b": jnp.array(1.0)}
adapted = blackjax.window_adaptation(blackjax.nuts, logdensity)
(state, parameters), _ = adapted.run(key, start, 100)
kernel = blackjax.nuts(logdensity, **parameters).step
_, positions = jax.lax.scan(
    lambda s, k: (s := kernel(k, s)[0], s.position), state, jax.random.split(key, 300)
)
print("nuts", bool((abs(positions["a"].mean(0) - 1) < 0.4).all()))
steps = blackjax.mcmc.random_walk.normal(jnp.ones(3) / 2)
for name, kernel in {
    "hmc": blackjax.hmc(logdensity, 0.2, jnp.ones(3), 5),
    "rmh": blackjax.rmh(logdensity, steps),
    "mala": blackjax.mala(logdensity, 0.1),
}.items():
    state, _ = jax.jit(kernel.step)(key, kernel.init(start))
    print(name, np.round(state.position["a"], 3))
