"""The compiled step makes its dropout key from the epoch number, a Python integer of the trainer."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "constant", "name": "step", "times": 3}],
    "patterns": [("counter", "")],
    "compiles": {"jit_step": 4},
    "questions": {"input_shapes_changed": False},
}


class Trainer:
    def __init__(self, weights):
        self.weights = weights
        self.epoch = 0

    def compile(self):
        def step(weights, batch):
            key = jax.random.key(self.epoch)  # PLANTED
            kept = jax.random.bernoulli(key, 0.9, batch.shape)
            return weights - 0.1 * jax.grad(lambda w: jnp.abs((batch * kept) @ w).sum())(weights)

        return jax.jit(step)

    def run_epoch(self, batches):
        step = self.compile()
        for batch in batches:
            self.weights = step(self.weights, batch)
        self.epoch += 1


def main():
    rng = np.random.default_rng(12)
    trainer = Trainer(rng.normal(size=(4, 4)).astype(np.float32))
    for _ in range(4):
        trainer.run_epoch(rng.normal(size=(3, 8, 4)).astype(np.float32))
    print(np.asarray(trainer.weights).sum())


main()
