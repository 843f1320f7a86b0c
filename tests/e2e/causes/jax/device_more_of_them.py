"""The second start has eight devices, the first had four; the program uses one device."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{}, {"devices": 8}],
    "causes": [{"cause": "device", "name": "normalize", "values": [(4, 8)], "kind": {"topology"}, "place": None}],
    "compiles": {"jit_normalize": 1},
    "questions": {"input_shapes_changed": False},
}


@jax.jit
def normalize(x, scale):
    centered = x - x.mean(-1, keepdims=True)
    return scale * centered * jax.lax.rsqrt(jnp.mean(centered**2, -1, keepdims=True) + 1e-6)


rng = np.random.default_rng(50)
print(np.asarray(normalize(rng.normal(size=(4, 8)).astype(np.float32), np.ones(8, np.float32))).std())
