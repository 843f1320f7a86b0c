"""Each step jits a new lambda; cheap programs are not stored, so each lambda is compiled."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{"env": {"REKINDLE_MIN_COMPILE_SECONDS": "60"}}],
    "causes": [{"cause": "duplicate", "name": "lambda", "times": 5}],
    "patterns": [("duplicate_storm", "")],
    "compiles": {"jit__lambda": 6},
    "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
}


def main():
    rng = np.random.default_rng(60)
    w = np.zeros(4, np.float32)
    for _ in range(6):
        x = rng.normal(size=(8, 4)).astype(np.float32)
        step = jax.jit(lambda w, x: w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w))  # PLANTED
        w = step(w, x)  # PLANTED
    print(np.asarray(w))


main()
