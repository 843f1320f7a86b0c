"""A Python loop applies six equal transformer blocks, one after the other."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "patterns": [("repeated_blocks", "")],
    "compiles": {"jit_forward": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False, "hidden_branch_active": False},
}


def normalize(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)  # USED


def block(params, x):
    q, k, v = jnp.split(normalize(x) @ params["qkv"], 3, axis=-1)  # USED
    weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) / jnp.sqrt(8.0))  # USED
    x = x + weights @ v @ params["out"]  # USED
    return x + jax.nn.gelu(normalize(x) @ params["up"]) @ params["down"]  # USED


@jax.jit
def forward(layers, x):
    for params in layers:
        x = block(params, x)  # PLANTED
    return normalize(x)


def main():
    rng = np.random.default_rng(69)
    sizes = {"qkv": (8, 24), "out": (8, 8), "up": (8, 16), "down": (16, 8)}
    layers = [{name: rng.normal(size=size).astype(np.float32) for name, size in sizes.items()} for _ in range(6)]
    print(np.asarray(forward(layers, rng.normal(size=(2, 5, 8)).astype(np.float32))).sum())


main()
