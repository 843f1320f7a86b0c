"""A set holds the heads of a model: each start traces them in another order."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{"env": {"PYTHONHASHSEED": "1"}}, {"env": {"PYTHONHASHSEED": "3"}}],
    "causes": [{"cause": ["structure", "constant", "parameters"], "name": "heads"}],
    "compiles": {"jit_heads": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False},
}

HEADS = {"relu", "tanh", "sigmoid", "softplus"}


@jax.jit
def heads(x):
    hidden = x
    for name in HEADS:
        hidden = getattr(jax.nn, name)(hidden) + x  # PLANTED
    return jnp.sum(hidden)


print(float(heads(np.random.default_rng(93).normal(size=(4, 4)).astype(np.float32))))
