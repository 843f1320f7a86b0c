"""The records of a data set may have sample weights, a mask, both or neither."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "parameters", "name": "train_step", "times": 3}],
    "patterns": [("optional_inputs", "")],
    "compiles": {"jit_train_step": 4},
    "questions": {"input_shapes_changed": False, "hidden_branch_active": True},
}


@jax.jit
def train_step(weights, batch):
    def loss_of(weights):
        error = jnp.square(batch["x"] @ weights - batch["y"])
        if batch.get("mask") is not None:
            error = error * batch["mask"]  # USED
        if batch.get("weight") is not None:
            error = error * jax.nn.softmax(batch["weight"])  # USED
        return error.mean()

    return weights - 0.1 * jax.grad(loss_of)(weights)


def main():
    rng = np.random.default_rng(31)
    weights = np.zeros(3, np.float32)
    for extra in ([], ["mask"], ["weight"], [], ["mask", "weight"], ["mask"]):
        batch = {"x": rng.normal(size=(8, 3)).astype(np.float32)}
        batch["y"] = batch["x"].sum(1)
        for key in extra:
            batch[key] = rng.random(8).astype(np.float32)
        weights = train_step(weights, batch)  # PLANTED
    print(np.asarray(weights))


main()
