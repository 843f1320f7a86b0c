"""Each of three ranks bakes its rank number into the noise that it adds."""

import os

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{"ranks": 3}],
    "causes": [{"cause": "constant", "name": "augment", "times": 2}],
    "patterns": [("rank_divergence", "")],
    "may": ["counter"],
    "compiles": {"jit_augment": 3},
    "questions": {"input_shapes_changed": False},
}

rank = int(os.environ["RANK"])


@jax.jit
def augment(key, images):
    key = jax.random.fold_in(key, rank)  # PLANTED
    noise = jax.random.normal(key, images.shape)
    return jnp.clip(images + 0.1 * noise, 0, 1)


images = np.random.default_rng(67).random((2, 6, 6), np.float32)
key = jax.device_put(np.array([1, 2], np.uint32))
print(rank, np.asarray(augment(key, images)).mean())
