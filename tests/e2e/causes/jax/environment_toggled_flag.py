"""The second start tries a flag for faster arithmetic."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [
        {"env": {"XLA_FLAGS": "--xla_cpu_enable_fast_math=false"}},
        {"env": {"XLA_FLAGS": "--xla_cpu_enable_fast_math=true"}},
    ],
    "causes": [
        {"cause": "environment", "name": "jit", "times": 2, "values": [("false", "true")], "kind": {"flag"}, "place": None},
    ],
    "patterns": [("flag_drift", None)],
    "compiles": {"jit_update": 1, "jit_evaluate": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": True, "hidden_branch_active": False},
}


@jax.jit
def update(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.log1p(jnp.exp(-x @ w)).mean())(w)


@jax.jit
def evaluate(w, x):
    return jnp.mean((x @ w) > 0)


def main():
    rng = np.random.default_rng(45)
    w, x = np.zeros(4, np.float32), rng.normal(size=(16, 4)).astype(np.float32)
    for _ in range(3):
        w = update(w, x)
    print(float(evaluate(w, x)))


main()
