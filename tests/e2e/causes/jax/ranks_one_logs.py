"""Two ranks of one run; only rank 0 computes its gradient norm for the log, inside the compiled step."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

CASE = {
    "runs": [{"ranks": 2}],
    "patterns": [("rank_divergence", "")],
    "may": ["parameters", "structure"],
    "compiles": {"jit_train_step": 2},
    "questions": {"input_shapes_changed": False},
}

RANK = int(os.environ["RANK"])
optimizer = optax.sgd(0.1)


@jax.jit
def train_step(params, state, x):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean(jnp.square(x @ p["w"] + p["b"])))(params)
    updates, state = optimizer.update(grads, state)
    metrics = {"loss": loss}
    if RANK == 0:
        metrics["norm"] = optax.global_norm(grads)  # PLANTED
    return optax.apply_updates(params, updates), state, metrics


def main():
    rng = np.random.default_rng(66)
    params = {"w": rng.normal(size=(4, 2)).astype(np.float32), "b": np.zeros(2, np.float32)}
    state = optimizer.init(params)
    for _ in range(3):
        params, state, metrics = train_step(params, state, rng.normal(size=(8, 4)).astype(np.float32))
    if RANK == 0:
        print({name: float(value) for name, value in metrics.items()})


main()
