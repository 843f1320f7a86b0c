"""Training loops of other libraries. Prints the true number of steps, as loops.py.

usage: loops_libraries.py LOOP [STEPS]
"""

import json
import os
import sys

os.environ["KERAS_BACKEND"] = "jax"

import jax
import jax.numpy as jnp
import numpy as np

RANDOM = np.random.default_rng(0)


def keras_fit(steps):
    """Epochs of twelve batches, the last one smaller, each with a validation of four."""
    import keras

    model = keras.Sequential([
        keras.layers.Input((12,)), keras.layers.Dense(16, activation="relu"), keras.layers.BatchNormalization(),
        keras.layers.Dropout(0.1), keras.layers.Dense(3),
    ])  # fmt: skip
    model.compile("adam", "mse", metrics=["mae"])
    x, y = RANDOM.normal(size=(92, 12)), RANDOM.normal(size=(92, 3))
    model.fit(x, y, batch_size=8, epochs=max(1, steps // 12), validation_data=(x[:32], y[:32]), verbose=0)
    return max(1, steps // 12) * 12


def haiku(steps):
    import haiku as hk
    import optax

    def net(x):
        return hk.nets.MLP([16, 16, 3])(x)

    model = hk.without_apply_rng(hk.transform(net))
    params = model.init(jax.random.PRNGKey(0), np.zeros((8, 12), np.float32))
    optimizer = optax.adam(1e-3)
    state, average = optimizer.init(params), params

    def loss_of(params, x, y):
        return ((model.apply(params, x) - y) ** 2).mean()

    @jax.jit
    def update(params, state, average, x, y):
        updates, state = optimizer.update(jax.grad(loss_of)(params, x, y), state)
        params = optax.apply_updates(params, updates)
        return params, state, optax.incremental_update(params, average, step_size=0.001)

    evaluate = jax.jit(loss_of)
    for step in range(steps):
        x, y = RANDOM.normal(size=(8, 12)), RANDOM.normal(size=(8, 3))
        if step % 10 == 0:
            print(float(evaluate(average, x, y)), file=sys.stderr)
        params, state, average = update(params, state, average, x, y)
    return steps


def numpyro_svi(steps):
    """A loop over svi.update, which is jitted."""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    def model(x, y):
        w = numpyro.sample("w", dist.Normal(jnp.zeros(12), 1.0).to_event(1))
        numpyro.sample("y", dist.Normal(x @ w, 0.1), obs=y)

    svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.01), Trace_ELBO())
    x, y = RANDOM.normal(size=(32, 12)), RANDOM.normal(size=32)
    state, update = svi.init(jax.random.PRNGKey(0), x, y), jax.jit(svi.update)
    for step in range(steps):
        state, loss = update(state, x, y)
        if step % 20 == 0:
            print(float(loss), file=sys.stderr)
    return steps


def numpyro_mcmc(steps):
    """With a progress bar the host calls the sampler for each sample; without, all are one program."""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    def model(y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(mean, 1), obs=y)

    mcmc = MCMC(NUTS(model), num_warmup=steps // 2, num_samples=steps // 2, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), RANDOM.normal(size=20))
    return None


def blackjax(steps):
    """A loop over a jitted kernel, with eager keys."""
    import blackjax

    def log_density(x):
        return -0.5 * jnp.sum(x**2)

    sampler = blackjax.nuts(log_density, step_size=0.1, inverse_mass_matrix=jnp.ones(4))
    state, kernel, key = sampler.init(jnp.ones(4)), jax.jit(sampler.step), jax.random.PRNGKey(0)
    for _ in range(steps):
        key, one = jax.random.split(key)
        state, info = kernel(one, state)
    return steps


if __name__ == "__main__":
    true = globals()[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 60)
    print(json.dumps({"steps": true}))
