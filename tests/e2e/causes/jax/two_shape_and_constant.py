"""Two causes in one job: the last training batch is smaller, and the sampler gets another number of candidates."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [
        {"cause": "shape", "name": "train_step", "values": [([8, 6], [5, 6])], "place": "batch"},
        {"cause": "constant", "name": "draw", "values": [(0.5, 0.75)], "place": "threshold"},
    ],
    "compiles": {"jit_train_step": 2, "jit_draw": 2},
    "questions": {"input_shapes_changed": True, "profile_or_sharding_changed": False},
}


@jax.jit
def train_step(weights, inputs):
    return weights - 0.1 * jax.grad(lambda w: jnp.mean(jnp.square(inputs @ w - 1)))(weights)  # USED: batch


@functools.partial(jax.jit, static_argnames="threshold")
def draw(key, weights, threshold):
    probabilities = jax.nn.sigmoid(weights)
    return jnp.where(probabilities > threshold, 1, jax.random.bernoulli(key, probabilities))  # PLANTED: threshold


def main():
    rng = np.random.default_rng(71)
    data, weights = rng.normal(size=(21, 6)).astype(np.float32), np.zeros(6, np.float32)
    for start in range(0, 21, 8):
        weights = train_step(weights, data[start : start + 8])  # PLANTED: batch
    key = jax.device_put(np.array([0, 5], np.uint32))
    for threshold in (0.5, 0.75):
        print(np.asarray(draw(key, weights, threshold)))


main()
