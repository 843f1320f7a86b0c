"""The sampling temperature is a Python number: 1 is an integer, 0.7 is a float."""

import jax
import numpy as np

CASE = {
    "causes": [{"cause": "dtype", "name": "sample", "values": [({"i32", "s32"}, "f32")], "kind": {"dtype"}}],
    "compiles": {"jit_sample": 2},
}


@jax.jit
def sample(key, logits, temperature):
    return jax.random.categorical(key, logits / temperature)  # USED


def main():
    key = jax.random.key(0)
    logits = np.random.default_rng(7).normal(size=(4, 12)).astype(np.float32)
    for temperature in (1, 0.7, 0.2):
        print(np.asarray(sample(key, logits, temperature)))  # PLANTED


main()
