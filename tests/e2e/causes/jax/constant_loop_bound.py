"""The iteration count of a fixed-point loop is a static argument that the caller tunes."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "constant", "name": "fixed_point", "times": 2, "values": [(10, 20)], "kind": {"constant", "attribute"}}],
    "may": ["counter"],
    "compiles": {"jit_fixed_point": 3},
    "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
}


@functools.partial(jax.jit, static_argnums=1)
def fixed_point(matrix, iterations):
    def body(_, x):
        return jnp.tanh(matrix @ x + 0.5)

    return jax.lax.fori_loop(0, iterations, body, jnp.zeros(4))  # PLANTED


def main():
    matrix = (0.3 * np.random.default_rng(99).normal(size=(4, 4))).astype(np.float32)
    for iterations in (10, 20, 40):
        print(iterations, np.asarray(fixed_point(matrix, iterations)))


main()
