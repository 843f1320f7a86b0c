"""A Python flag enables clipping by norm after the loss has grown."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "structure", "name": "update", "kind": {"op_added"}}],
    "compiles": {"jit_update": 2},
    "questions": {"input_shapes_changed": False, "hidden_branch_active": True},
}


@functools.partial(jax.jit, static_argnames="clip")
def update(params, batch, clip=False):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean(jnp.exp(batch @ p)))(params)
    if clip:
        grads = grads / jnp.maximum(1.0, jnp.linalg.norm(grads))  # PLANTED
    return params + 0.5 * grads, loss


def main():
    rng = np.random.default_rng(20)
    params, loss = rng.normal(size=6).astype(np.float32), 0.0
    for _ in range(6):
        params, loss = update(params, rng.normal(size=(8, 6)).astype(np.float32), clip=bool(loss > 3))
    print(float(loss))


main()
