"""Three ranks of one job. Only rank 0 returns its gradient norm, for the log. So only rank 0 has this program, and
compiles it at every start while the others wait."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

CASE = {
    "runs": [{"ranks": 3}],
    "patterns": [("rank_divergence", "")],
    "may": ["parameters", "structure"],
    "compiles": {"jit_train_step": 2},
    "questions": {"input_shapes_changed": False},
    "remedy": [{"every rank", "all ranks", "each rank"}],
}

RANK = int(os.environ.get("RANK", "0"))
LAYERS = int(os.environ.get("STORY_LAYERS", "1"))  # more layers take longer to compile
optimizer = optax.adam(1e-2)


def loss_of(params, x):
    for w in params["layers"]:
        x = x + jnp.tanh(x @ w)
    return jnp.mean(jnp.square(jnp.tanh(x @ params["w"]) + params["b"]))


@jax.jit
def train_step(params, state, x):
    loss, grads = jax.value_and_grad(loss_of)(params, x)
    updates, state = optimizer.update(grads, state)
    metrics = {"loss": loss}
    if RANK == 0:
        metrics["gradient norm"] = optax.global_norm(grads)  # PLANTED
    return optax.apply_updates(params, updates), state, metrics


def main():
    rng = np.random.default_rng(RANK)
    params = {"w": np.ones((4, 3), np.float32), "b": np.zeros(3, np.float32)}
    params["layers"] = np.ones((LAYERS - 1, 4, 4), np.float32)
    state = jax.tree.map(np.asarray, optimizer.init(params))
    for _ in range(4):
        params, state, metrics = train_step(params, state, rng.normal(size=(8, 4)).astype(np.float32))
    if RANK == 0:
        print({name: float(value) for name, value in metrics.items()})


main()
