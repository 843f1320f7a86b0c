"""A regression trains over an epoch; the last batch is smaller."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "shape", "name": "train_step", "values": [([8, 4], [4, 4])], "kind": {"shape"}}],
    "compiles": {"jit_train_step": 2},
    "questions": {"input_shapes_changed": True, "profile_or_sharding_changed": False},
}


@jax.jit
def train_step(params, inputs, targets):
    def loss_of(params):
        hidden = jnp.tanh(inputs @ params["in"])  # USED
        return jnp.mean((hidden @ params["out"] - targets) ** 2)

    loss, grads = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def main():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(20, 4)).astype(np.float32)
    params = {"in": rng.normal(size=(4, 8)).astype(np.float32), "out": rng.normal(size=(8, 1)).astype(np.float32)}
    for _ in range(2):
        for start in range(0, len(data), 8):
            batch = data[start : start + 8]
            params, loss = train_step(params, batch, batch.sum(1, keepdims=True))  # PLANTED
    print(float(loss))


main()
