"""The compiled function captures random features; each start draws new ones, without a seed."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{}, {}],
    "causes": [{"cause": "constant", "name": "features", "kind": {"constant"}}],
    "compiles": {"jit_features": 1},
    "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
}

frequencies = np.random.default_rng().normal(size=(4, 32)).astype(np.float32)


@jax.jit
def features(x):
    projected = x @ frequencies  # PLANTED
    return jnp.concatenate([jnp.cos(projected), jnp.sin(projected)], axis=-1)


print(np.asarray(features(np.ones((3, 4), np.float32))).shape)
