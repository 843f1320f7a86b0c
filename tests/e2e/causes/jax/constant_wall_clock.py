"""The start time is the noise seed and is baked into the program: no start finds an entry of an earlier start."""

import time

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{}, {}],
    "causes": [{"cause": "constant", "name": "perturb", "kind": {"constant"}}],
    "may": ["counter"],
    "compiles": {"jit_perturb": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
}

STARTED = time.time_ns() // 1_000_000 % 100_000_007


@jax.jit
def perturb(x):
    phase = jnp.sin(x * STARTED)  # PLANTED
    return x + 0.01 * phase


print(np.asarray(perturb(np.random.default_rng(94).normal(size=8).astype(np.float32))).sum())
