"""The environment of the second start raises the default precision of matrix products."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{}, {"env": {"JAX_DEFAULT_MATMUL_PRECISION": "highest"}}],
    "causes": [
        {
            "cause": ["structure", "constant", "environment"],
            "name": "attend",
            "values": [("default", "highest")],
            "kind": {"attribute"},
        },
    ],
    "compiles": {"jit_attend": 1},
    "questions": {"input_shapes_changed": False},
}


@jax.jit
def attend(query, key, value):
    scores = query @ key.T / jnp.sqrt(8.0)  # PLANTED
    return jax.nn.softmax(scores) @ value  # PLANTED


def main():
    rng = np.random.default_rng(24)
    query, key, value = rng.normal(size=(3, 6, 8)).astype(np.float32)
    print(np.asarray(attend(query, key, value)).sum())


main()
