"""NumPyro: NUTS on a hierarchical regression with two chains in turn, its predictions, and a variational fit."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from digest import digest
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

rng = np.random.default_rng(3)
GROUP = rng.integers(0, 4, size=60)
X = rng.normal(size=60).astype(np.float32)
Y = (0.5 * GROUP + X + rng.normal(scale=0.1, size=60)).astype(np.float32)


def model(x, group, y=None):
    centre = numpyro.sample("centre", dist.Normal(0, 1))
    width = numpyro.sample("width", dist.HalfNormal(1))
    with numpyro.plate("groups", 4):
        offset = numpyro.sample("offset", dist.Normal(centre, width))
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    noise = numpyro.sample("noise", dist.Exponential(1))
    numpyro.sample("y", dist.Normal(offset[group] + slope * x, noise), obs=y)


mcmc = MCMC(NUTS(model), num_warmup=60, num_samples=60, num_chains=2, chain_method="sequential", progress_bar=False)
mcmc.run(jax.random.key(0), X, GROUP, Y)
samples = mcmc.get_samples()
predictions = Predictive(model, samples)(jax.random.key(1), X, GROUP)
svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.01), Trace_ELBO())
fit = svi.run(jax.random.key(2), 100, X, GROUP, Y, progress_bar=False)
print(digest([samples, predictions, fit.params, jnp.asarray(fit.losses)]))
