"""Between two starts a function was moved, renamed and commented; it computes the same."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [
        {},
        {
            "edit": [
                ("@jax.jit\ndef step(", "# One step of gradient descent.\n\n\n@jax.jit\ndef descend("),
                ("    w = step(w, x)", "    # Plain.\n    w = descend(w, x)"),
            ],
        },
    ],
    "healthy": True,
    "compiles": {"jit": 0},
}


@jax.jit
def step(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean(jnp.square(x @ w - 1)))(w)


w = np.zeros(4, np.float32)
for x in np.random.default_rng(97).normal(size=(3, 8, 4)).astype(np.float32):
    w = step(w, x)
print(np.asarray(w))
