"""The second start selects another optimizer on its command line; that optimizer has its own state (optax)."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

CASE = {
    "runs": [{"args": ["sgd"]}, {"args": ["momentum"]}],
    "causes": [
        {"cause": "parameters", "name": "train_step", "values": [(None, [5, 2])], "kind": {"parameter_added"}},
    ],
    "compiles": {"jit_train_step": 1},
}

optimizer = {"sgd": optax.sgd(0.1), "momentum": optax.sgd(0.1, momentum=0.9)}[sys.argv[1]]


@jax.jit
def train_step(params, state, batch):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean(jnp.square(batch @ p)))(params)
    updates, state = optimizer.update(grads, state, params)  # USED
    return optax.apply_updates(params, updates), state, loss


def main():
    rng = np.random.default_rng(33)
    params = rng.normal(size=(5, 2)).astype(np.float32)
    state = optimizer.init(params)
    for _ in range(3):
        params, state, loss = train_step(params, state, rng.normal(size=(8, 5)).astype(np.float32))  # PLANTED
    print(float(loss))


main()
