"""Between two starts a function moves down by some lines, and one of its operations is replaced."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [
        {},
        {
            "edit": [
                ("@jax.jit\n", "# Robust against outliers.\n#\n# As in the paper.\n\n\n@jax.jit\n"),
                ("return jnp.mean(error**2)  #", "return jnp.mean(jnp.log(jnp.cosh(error)))  #"),
            ],
        },
    ],
    "causes": [{"cause": "structure", "name": "loss_of", "kind": {"op_added", "op_removed"}}],
    "compiles": {"jit_loss_of": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
}


@jax.jit
def loss_of(w, x, y):
    error = jnp.tanh(x @ w) - y
    return jnp.mean(error**2)  # PLANTED


rng = np.random.default_rng(96)
print(float(loss_of(*(rng.normal(size=size).astype(np.float32) for size in ((4,), (8, 4), (8,))))))
