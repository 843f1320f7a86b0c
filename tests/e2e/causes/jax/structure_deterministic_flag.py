"""Flax dropout with a static `train` flag: one function is traced with dropout, then without."""

import functools

import flax.linen as nn
import jax
import numpy as np

CASE = {
    "causes": [{"cause": ["structure", "parameters"], "name": "forward"}],
    "compiles": {"jit_forward": 2},
    "questions": {"input_shapes_changed": False, "hidden_branch_active": True},
}


class Network(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.Dense(16, name="hidden")(x))  # USED
        x = nn.Dropout(0.25, deterministic=not train)(x)  # PLANTED
        return nn.Dense(3, name="head")(x)  # USED


@functools.partial(jax.jit, static_argnames="train")
def forward(params, x, key, train):
    return Network().apply({"params": params}, x, train, rngs={"dropout": key})  # USED


def main():
    rng = np.random.default_rng(100)
    sizes = {"hidden": (6, 16), "head": (16, 3)}
    params = {
        name: {"kernel": rng.normal(size=size).astype(np.float32), "bias": np.zeros(size[1], np.float32)}
        for name, size in sizes.items()
    }
    x, key = rng.normal(size=(4, 6)).astype(np.float32), jax.random.key(0)
    for train in (True, True, False):
        print(np.asarray(forward(params, x, key, train=train)).sum())  # PLANTED


main()
