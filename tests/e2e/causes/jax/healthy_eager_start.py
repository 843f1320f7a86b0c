"""Setup runs some small operations outside jit; the training then compiles nothing more."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {"healthy": True, "compiles": {"jit_train_step": 1}}


@jax.jit
def train_step(weights, table, x):
    return weights - 0.01 * jax.grad(lambda w: jnp.mean((x @ w - table) ** 2))(weights)


def main():
    rng = np.random.default_rng(87)
    angles = jnp.linspace(0, jnp.pi, 6)
    table = jnp.sin(angles)
    mask = jnp.tril(jnp.ones((6, 6)))
    weights = jnp.asarray(rng.normal(size=(4, 6)).astype(np.float32)) @ mask
    for _ in range(10):
        weights = train_step(weights, table, rng.normal(size=(8, 4)).astype(np.float32))
    print(np.asarray(weights).sum())


main()
