"""Gradient accumulation: the number of micro-batches in a batch varies, so a leading axis changes."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

CASE = {
    "causes": [{"cause": "shape", "name": "update", "values": [([4, 4, 6], [2, 4, 6])], "kind": {"shape"}}],
    "compiles": {"jit_update": 2},
    "questions": {"input_shapes_changed": True},
}

optimizer = optax.sgd(0.05, momentum=0.9)


@jax.jit
def update(weights, state, batches):
    def gradient(total, batch):
        loss, grads = jax.value_and_grad(lambda w: jnp.square(batch @ w).mean())(weights)
        return jax.tree.map(jnp.add, total, grads), loss

    grads, losses = jax.lax.scan(gradient, jnp.zeros_like(weights), batches)  # USED
    updates, state = optimizer.update(grads, state, weights)
    return optax.apply_updates(weights, updates), state, losses.mean()


def main():
    rng = np.random.default_rng(4)
    weights = rng.normal(size=(6, 3)).astype(np.float32)
    state = optimizer.init(weights)
    for samples in (16, 16, 8, 16, 8):
        data = rng.normal(size=(samples, 6)).astype(np.float32)
        weights, state, loss = update(weights, state, data.reshape(-1, 4, 6))  # PLANTED
    print(float(loss))


main()
