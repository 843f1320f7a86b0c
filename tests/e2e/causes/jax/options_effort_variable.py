"""A JAX variable lowers the compiler's effort at the second start."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{}, {"env": {"JAX_OPTIMIZATION_LEVEL": "O1"}}],
    "causes": [{"cause": "options", "name": "train_step", "values": [({None, 0}, {19, "O1"})], "kind": {"option"}, "place": None}],
    "may": ["flag_drift"],
    "compiles": {"jit_train_step": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": True, "hidden_branch_active": False},
}


@jax.jit
def train_step(w, x):
    loss, grads = jax.value_and_grad(lambda w: jnp.mean(jax.nn.softplus(x @ w)))(w)
    return w - 0.1 * grads, loss


w = np.zeros(4, np.float32)
for x in np.random.default_rng(95).normal(size=(3, 8, 4)).astype(np.float32):
    w, loss = train_step(w, x)
print(float(loss))
