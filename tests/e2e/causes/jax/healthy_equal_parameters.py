"""An optimizer updates 40 parameters of equal shape, each by the same few operations: these are no layers."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

CASE = {"healthy": True, "compiles": {"jit_step": 1, "jit_init_fn": 1}}

optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))


def predict(tables, x):
    return x.sum() * sum(jnp.sum(table) for table in tables.values())


@jax.jit
def step(tables, state, x):
    grads = jax.grad(lambda t: predict(t, x) ** 2)(tables)
    updates, state = optimizer.update(grads, state, tables)
    return optax.apply_updates(tables, updates), state


def main():
    rng = np.random.default_rng(91)
    tables = {f"table_{number}": rng.normal(size=(8, 8)).astype(np.float32) for number in range(40)}
    state = jax.jit(optimizer.init)(tables)
    for _ in range(8):
        tables, state = step(tables, state, np.ones(4, np.float32))
    print(float(tables["table_0"].sum()))


main()
