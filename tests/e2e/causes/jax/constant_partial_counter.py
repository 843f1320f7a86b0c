"""Each boosting round jits a functools.partial over its round number, which only scales the update."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "constant", "times": 4}],
    "patterns": [("counter", "")],
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
}


def boost(number, prediction, x, y):
    residual = y - prediction
    direction = jnp.sign(x.T @ residual)
    return prediction + (x @ direction) / (number + 4.0)  # PLANTED


def main():
    rng = np.random.default_rng(101)
    x, y = rng.normal(size=(16, 3)).astype(np.float32), rng.normal(size=16).astype(np.float32)
    prediction = np.zeros(16, np.float32)
    for number in range(5):
        prediction = jax.jit(functools.partial(boost, number))(prediction, x, y)
    print(float(np.abs(y - prediction).mean()))


main()
