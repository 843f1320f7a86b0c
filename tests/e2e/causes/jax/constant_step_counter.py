"""A learning-rate warm-up takes the step number as a static argument."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "constant", "name": "train_step", "times": 4, "values": [({0.002, 0.004}, 0.006)], "kind": {"constant"}}],
    "patterns": [("counter", "")],
    "compiles": {"jit_train_step": 5},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
}


@functools.partial(jax.jit, static_argnames="step")
def train_step(weights, batch, step):
    grads = jax.grad(lambda w: jnp.square(batch @ w).sum())(weights)
    rate = 0.01 * min(1.0, (step + 1) / 5)
    return weights - rate * grads  # PLANTED


def main():
    rng = np.random.default_rng(8)
    weights = rng.normal(size=(4, 2)).astype(np.float32)
    for step in range(5):
        weights = train_step(weights, rng.normal(size=(8, 4)).astype(np.float32), step)
    print(np.asarray(weights).sum())


main()
