"""A whole program: the eight schools in numpyro, by NUTS with four chains."""

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.diagnostics import summary
from numpyro.infer import MCMC, NUTS, Predictive
from numpyro.infer.reparam import TransformReparam

effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools(sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("J", len(sigma)):
        with numpyro.handlers.reparam(config={"theta": TransformReparam()}):
            around = dist.transforms.AffineTransform(mu, tau)
            shape = dist.TransformedDistribution(dist.Normal(0.0, 1.0), around)
            theta = numpyro.sample("theta", shape)
        numpyro.sample("obs", dist.Normal(theta, sigma), obs=y)


mcmc = MCMC(
    NUTS(schools, target_accept_prob=0.9),
    num_warmup=500,
    num_samples=500,
    num_chains=4,
    chain_method="vectorized",
    progress_bar=False,
)
mcmc.run(jax.random.key(0), errors, y=effects, extra_fields=("diverging",))
for name, table in summary(mcmc.get_samples(group_by_chain=True)).items():
    print(name, "mean", np.round(table["mean"], 3), "std", np.round(table["std"], 3))
print("divergences", int(mcmc.get_extra_fields()["diverging"].sum()))
predictive = Predictive(schools, mcmc.get_samples())
print("next", np.round(predictive(jax.random.key(1), errors)["obs"].mean(), 3))
