"""The first micro-batch creates the gradients, the second adds to them, and each step ends by dropping them."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [
        {"cause": "parameters", "name": "micro_step", "values": [(None, {(6, 2), (1, 2)})], "kind": {"parameter_added"}},
    ],
    "patterns": [("alternation", "")],
    "may": ["optional_inputs"],
    "compiles": {"jit_micro_step": 2},
    "questions": {"input_shapes_changed": False, "hidden_branch_active": True},
}


@jax.jit
def micro_step(params, accumulated, batch):
    grads = jax.grad(lambda p: jnp.mean(jnp.square(batch @ p["w"] + p["b"])))(params)
    if accumulated is None:
        return grads
    return jax.tree.map(jnp.add, accumulated, grads)  # USED


@jax.jit
def apply(params, grads):
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads)


def main():
    rng = np.random.default_rng(34)
    params = {"w": rng.normal(size=(6, 2)).astype(np.float32), "b": np.zeros((1, 2), np.float32)}
    for _ in range(6):
        grads = None
        for _ in range(2):
            grads = micro_step(params, grads, rng.normal(size=(4, 6)).astype(np.float32))  # PLANTED
        params = apply(params, grads)
    print(np.asarray(params["w"]).sum())


main()
