"""A model is compiled again because its second copy is on another device."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": ["options", "device"], "name": "score", "kind": {"option"}, "place": None}],
    "compiles": {"jit_score": 2},
    "questions": {"input_shapes_changed": False},
}


@jax.jit
def score(weights, x):
    return jnp.tanh(x @ weights).sum(-1)


def main():
    rng = np.random.default_rng(44)
    weights, x = rng.normal(size=(6, 3)).astype(np.float32), rng.normal(size=(4, 6)).astype(np.float32)
    for device in jax.devices()[:2]:
        print(device, np.asarray(score(*jax.device_put((weights, x), device))).sum())


main()
