"""jnp.append keeps the loss history: outside jit, but compiled again for each new length."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "shape", "times": "many", "kind": {"shape"}}],
    "patterns": [("shape_family", "")],
    "may": ["fragments", "constant"],
    "compiles": {"jit_train_step": 1},
    "questions": {"input_shapes_changed": True, "profile_or_sharding_changed": False},
}


@jax.jit
def train_step(w, x):
    loss, grads = jax.value_and_grad(lambda w: jnp.mean(jnp.square(x @ w - 1)))(w)
    return w - 0.1 * grads, loss


def main():
    rng = np.random.default_rng(98)
    w, history = np.zeros(4, np.float32), jnp.zeros(1)
    for _ in range(8):
        w, loss = train_step(w, rng.normal(size=(8, 4)).astype(np.float32))
        history = jnp.append(history, loss)  # PLANTED
    print(np.asarray(history))


main()
