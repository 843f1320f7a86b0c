"""Attention over packed sequences; their total length depends on the documents."""

import os

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "shape", "name": "attend", "times": 6, "kind": {"shape"}}],
    "patterns": [("shape_family", "")],
    "compiles": {"jit_attend": 7},
    "questions": {"input_shapes_changed": True},
    "remedy": [{"pad", "bucket"}],
}


LAYERS = int(os.environ.get("STORY_LAYERS", "1"))  # more layers take longer to compile


def layer(qkv, out, x, segments):
    q, k, v = jnp.split(x @ qkv, 3, axis=-1)  # USED
    same = segments[:, None] == segments[None, :]  # USED
    causal = jnp.tril(jnp.ones((len(x), len(x)), bool))
    scores = jnp.where(same & causal, q @ k.T / jnp.sqrt(16.0), -1e9)
    return jax.nn.softmax(scores) @ v @ out


@jax.jit
def attend(weights, x, segments):
    for qkv, out in zip(weights["qkv"], weights["out"], strict=True):
        x = layer(qkv, out, x, segments)
    return x


def main():
    rng = np.random.default_rng(0)
    sizes = {"qkv": (LAYERS, 16, 48), "out": (LAYERS, 16, 16)}
    weights = {name: rng.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    for lengths in ((5, 9), (12, 3), (20, 7), (5, 9), (31, 2), (8, 8), (17, 30), (4, 6)):
        segments = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        x = rng.normal(size=(len(segments), 16)).astype(np.float32)
        y = attend(weights, x, segments)  # PLANTED
    print(np.asarray(y).sum())


main()
