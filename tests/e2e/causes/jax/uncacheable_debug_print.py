"""A forgotten jax.debug.print in the step: a callback into this process, which no other process can use.

The plugin cannot run callbacks; the job then trains without the print.
"""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{}, {}],
    "causes": [{"cause": "uncacheable", "name": "noisy_step"}],
    "compiles": {"": 1, "jit_step": 0},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False, "hidden_branch_active": False},
}


def step(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean(jnp.square(x @ w - 1)))(w)


def noisy_step(w, x):
    jax.debug.print("norm of the weights: {}", jnp.linalg.norm(w))  # PLANTED
    return step(w, x)


rng = np.random.default_rng(65)
w, x = np.zeros(4, np.float32), rng.normal(size=(8, 4)).astype(np.float32)
try:
    w = jax.jit(noisy_step)(w, x)
except jax.errors.JaxRuntimeError:
    w = jax.jit(step)(w, x)
print(np.asarray(w))
