"""The user lowers the learning rate between epochs, in an optax optimizer that the step closes over."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

CASE = {
    "causes": [{"cause": "constant", "name": "step", "times": 2, "values": [(-0.5, -0.25), ({-0.5, -0.25}, -0.125)]}],
    "may": ["counter"],
    "compiles": {"jit_step": 3},
    "questions": {"input_shapes_changed": False},
}


def make_step(rate):
    optimizer = optax.sgd(rate)

    @jax.jit
    def step(params, state, x, y):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(params)
        updates, state = optimizer.update(grads, state)  # PLANTED
        return optax.apply_updates(params, updates), state, loss

    return optimizer, step


def main():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(8, 3)).astype(np.float32)
    y = x.sum(1)
    params = {"w": np.zeros(3, np.float32), "b": np.float32(0)}
    for rate in (0.5, 0.25, 0.125):
        optimizer, step = make_step(rate)
        state = optimizer.init(params)
        for _ in range(3):
            params, state, loss = step(params, state, x, y)
    print(float(loss))


main()
