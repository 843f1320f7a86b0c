"""Between two starts the entry of one of two programs is removed by `rekindle rm`."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{}, {"remove": "jit_evaluate"}],
    "causes": [{"cause": "removed", "name": "evaluate", "place": None}],
    "compiles": {"jit_evaluate": 1, "jit_train_step": 0},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False, "hidden_branch_active": False},
}


@jax.jit
def train_step(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean(jnp.square(x @ w - 1)))(w)


@jax.jit
def evaluate(w, x):
    return jnp.max(jnp.abs(x @ w - 1))


rng = np.random.default_rng(63)
w, x = np.zeros(4, np.float32), rng.normal(size=(8, 4)).astype(np.float32)
for _ in range(3):
    w = train_step(w, x)
print(float(evaluate(w, x)))
