"""Plain JAX: an epoch of equal batches, one step program and one evaluation program, each compiled once."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {"healthy": True, "compiles": {"jit_train_step": 1, "jit_evaluate": 1}}


def predict(params, x):
    return jnp.tanh(x @ params["a"]) @ params["b"]


@jax.jit
def train_step(params, x, y):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((predict(p, x) - y) ** 2))(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


@jax.jit
def evaluate(params, x, y):
    return jnp.mean((predict(params, x) - y) ** 2)


def main():
    rng = np.random.default_rng(80)
    params = {"a": rng.normal(size=(4, 8)).astype(np.float32), "b": rng.normal(size=(8, 1)).astype(np.float32)}
    data = rng.normal(size=(32, 4)).astype(np.float32)
    for _ in range(3):
        for start in range(0, 32, 8):
            batch = data[start : start + 8]
            params, loss = train_step(params, batch, batch[:, :1])
        print(float(loss), float(evaluate(params, data[:8], data[:8, :1])))


main()
