"""The loss captures newly computed class weights: the array becomes a constant of the program."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "constant", "name": "weighted_loss", "values": [(0.5, 0.75)], "kind": {"constant"}}],
    "compiles": {"jit_weighted_loss": 2},
    "questions": {"input_shapes_changed": False},
}


def make_loss(counts):
    class_weights = (counts / counts.sum()).astype(np.float32)

    @jax.jit
    def weighted_loss(logits, labels):
        chosen = -jax.nn.log_softmax(logits)[jnp.arange(len(labels)), labels]
        return jnp.mean(chosen * jnp.asarray(class_weights)[labels])  # PLANTED

    return weighted_loss


def main():
    rng = np.random.default_rng(13)
    logits, labels = rng.normal(size=(8, 3)).astype(np.float32), rng.integers(3, size=8, dtype=np.int32)
    print(float(make_loss(np.array([4.0, 2.0, 2.0]))(logits, labels)))
    print(float(make_loss(np.array([6.0, 1.0, 1.0]))(logits, labels)))


main()
