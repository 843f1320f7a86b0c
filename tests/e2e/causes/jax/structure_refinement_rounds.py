"""A solver unrolls its Python loop; its caller sets the number of rounds."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": ["structure", "constant"], "name": "solve", "times": 2, "kind": {"op_added"}}],
    "may": ["repeated_blocks"],
    "compiles": {"jit_solve": 3},
    "questions": {"input_shapes_changed": False},
}


@functools.partial(jax.jit, static_argnames="rounds")
def solve(matrix, target, rounds):
    x = jnp.zeros_like(target)
    for _ in range(rounds):
        x = x + 0.1 * (target - matrix @ x)  # PLANTED
    return x


def main():
    rng = np.random.default_rng(23)
    matrix = (np.eye(6) + 0.1 * rng.normal(size=(6, 6))).astype(np.float32)
    target = rng.normal(size=6).astype(np.float32)
    for rounds in (2, 3, 4):
        print(rounds, float(np.abs(target - matrix @ np.asarray(solve(matrix, target, rounds))).max()))


main()
