"""The launcher gives the second start another thread pool size (NPROC)."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{"env": {"NPROC": "1"}}, {"env": {"NPROC": "2"}}],
    "causes": [{"cause": "environment", "name": "fit", "values": [(1, 2)], "kind": {"variable"}, "place": None}],
    "may": ["flag_drift"],
    "compiles": {"fit": 1},
    "questions": {"profile_or_sharding_changed": True, "input_shapes_changed": False},
}


@eqx.filter_jit
def fit(x, y):
    return jnp.linalg.norm(x.T @ y, axis=0) / jnp.sum(x * x)


rng = np.random.default_rng(47)
print(np.asarray(fit(*(rng.normal(size=(16, 3)).astype(np.float32) for _ in range(2)))))
