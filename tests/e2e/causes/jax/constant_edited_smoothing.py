"""The label smoothing is edited in the source between two starts."""

import jax
import numpy as np

CASE = {
    "runs": [{}, {"edit": [("smoothing = 0.25", "smoothing = 0.125")]}],
    "causes": [{"cause": "constant", "name": "loss_of", "values": [({0.75, 0.0625}, {0.875, 0.03125})]}],
    "compiles": {"jit_loss_of": 1},
}


@jax.jit
def loss_of(weights, x, labels):
    smoothing = 0.25
    targets = jax.nn.one_hot(labels, 4) * (1 - smoothing) + smoothing / 4  # PLANTED
    return -(targets * jax.nn.log_softmax(x @ weights)).sum(1).mean()


def main():
    rng = np.random.default_rng(14)
    weights, x = rng.normal(size=(5, 4)).astype(np.float32), rng.normal(size=(8, 5)).astype(np.float32)
    print(float(loss_of(weights, x, rng.integers(4, size=8, dtype=np.int32))))


main()
