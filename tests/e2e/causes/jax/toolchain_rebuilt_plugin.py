"""The plugin is reinstalled between two starts: same version, another build."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{}, {"rebuilt": True}],
    "causes": [{"cause": "toolchain", "name": "step", "kind": {"version"}, "place": None}],
    "patterns": [("toolchain_drift", None)],
    "compiles": {"jit_step": 1},
    "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
}


@jax.jit
def step(state, inputs):
    return jax.lax.scan(lambda carry, x: (jnp.tanh(carry + x), carry.sum()), state, inputs)


rng = np.random.default_rng(48)
state, sums = step(np.zeros(4, np.float32), rng.normal(size=(6, 4)).astype(np.float32))
print(np.asarray(sums))
