"""jax.random initializes layers of three sizes one by one, as in many tutorials; then the job trains."""

import jax
import jax.numpy as jnp
import numpy as np

# On a slow machine the initialization costs enough to be worth the advice.
CASE = {"healthy": True, "may": ["eager_startup"], "compiles": {"jit_update": 1, "jit_loss": 1}}


def init(key, sizes):
    keys = jax.random.split(key, len(sizes))
    return [
        (jax.random.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros(n))
        for k, m, n in zip(keys, sizes[:-1], sizes[1:], strict=False)
    ]


def loss(params, x, y):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return jnp.mean((x @ w + b - y) ** 2)


@jax.jit
def update(params, x, y):
    return [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(params, jax.grad(loss)(params, x, y), strict=True)]


def main():
    rng = np.random.default_rng(88)
    x = rng.normal(size=(16, 5)).astype(np.float32)
    params = init(jax.random.key(0), [5, 16, 8, 1])
    for _ in range(5):
        params = update(params, x, x[:, :1])
    print(float(jax.jit(loss)(params, x, x[:, :1])))


main()
