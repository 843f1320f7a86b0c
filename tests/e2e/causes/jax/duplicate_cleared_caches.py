"""The job clears JAX's caches after each epoch. Cheap programs are not stored, so they are compiled again."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{"env": {"REKINDLE_MIN_COMPILE_SECONDS": "60"}}],
    "causes": [{"cause": "duplicate", "name": "step", "times": 2}],
    "may": ["duplicate_storm"],
    "compiles": {"jit_step": 3},
    "questions": {"profile_or_sharding_changed": False},
}


@jax.jit
def step(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean(jnp.abs(x @ w)))(w)  # USED


def main():
    rng = np.random.default_rng(62)
    w = rng.normal(size=4).astype(np.float32)
    for _ in range(3):
        for _ in range(4):
            w = np.asarray(step(w, rng.normal(size=(8, 4)).astype(np.float32)))  # PLANTED
        jax.clear_caches()
    print(w)


main()
