"""The environment of the second start enables double precision."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{}, {"env": {"JAX_ENABLE_X64": "1"}}],
    "causes": [{"cause": "dtype", "name": "residual", "values": [("f32", "f64")], "kind": {"dtype"}}],
    "compiles": {"jit_residual": 1},
    "questions": {"hidden_branch_active": False},
}


@jax.jit
def residual(matrix, x, b):
    return jnp.linalg.norm(matrix @ x - b)  # USED


def main():
    rng = np.random.default_rng(92)
    matrix, x, b = rng.normal(size=(5, 5)), rng.normal(size=5), rng.normal(size=5)
    print(float(residual(matrix, x, b)))  # PLANTED


main()
