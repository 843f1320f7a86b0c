"""A launcher has two flag profiles, `safe` and `fast`, and successive starts use different ones."""

import os

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [
        {"env": {"XLA_FLAGS": "--xla_cpu_enable_fast_math=false"}},
        {"env": {"XLA_FLAGS": "--xla_cpu_enable_fast_math=true --xla_cpu_enable_fast_min_max=true"}},
    ],
    "causes": [
        {"cause": "environment", "name": "jit", "times": 2, "values": [("false", "true")], "kind": {"flag"}, "place": None},
    ],
    "patterns": [("flag_drift", None)],
    "compiles": {"jit_train_step": 1, "jit_evaluate": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": True, "hidden_branch_active": False},
    "remedy": [{"pin", "same flags", "keep the flags", "REKINDLE_KEY_IGNORE"}, {"xla_cpu_enable_fast_math"}],
}


LAYERS = int(os.environ.get("STORY_LAYERS", "1"))  # more layers take longer to compile


def model(params, x):
    hidden = jnp.tanh(x @ params["a"])
    for w in params["hidden"]:
        hidden = hidden + jnp.tanh(hidden @ w)
    return hidden @ params["b"]


@jax.jit
def train_step(params, x, y):
    def loss_of(params):
        return jnp.mean((model(params, x) - y) ** 2)

    loss, grads = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


@jax.jit
def evaluate(params, x):
    return model(params, x)


def main():
    rng = np.random.default_rng(0)
    sizes = {"a": (6, 16), "b": (16, 1), "hidden": (LAYERS - 1, 16, 16)}
    params = {name: rng.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    x = rng.normal(size=(32, 6)).astype(np.float32)
    for _ in range(4):
        params, loss = train_step(params, x, x[:, :1])
    print(float(loss), np.asarray(evaluate(params, x)).sum())


main()
