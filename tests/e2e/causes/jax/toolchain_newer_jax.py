"""JAX is upgraded between two starts of the same job."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{}, {"python": "newest"}],
    "causes": [{"cause": "toolchain", "name": "train_step", "kind": {"version"}, "place": None}],
    "patterns": [("toolchain_drift", None)],
    "compiles": {"jit_train_step": 1},
    "questions": {"input_shapes_changed": False},
}


@jax.jit
def train_step(params, x, y):
    def loss_of(params):
        logits = jax.nn.relu(x @ params["a"]) @ params["b"]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()

    loss, grads = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def main():
    rng = np.random.default_rng(49)
    params = {"a": rng.normal(size=(6, 8)).astype(np.float32), "b": rng.normal(size=(8, 3)).astype(np.float32)}
    x, y = rng.normal(size=(8, 6)).astype(np.float32), rng.integers(3, size=8, dtype=np.int32)
    for _ in range(3):
        params, loss = train_step(params, x, y)
    print(jax.__version__, float(loss))


main()
