"""Greedy decoding appends to its key-value cache, so the cache grows by one with each token."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "shape", "name": "decode", "times": 5, "values": [([3, 8], [4, 8])], "kind": {"shape"}}],
    "patterns": [("shape_family", "")],
    "compiles": {"jit_decode": 6},
    "questions": {"input_shapes_changed": True, "hidden_branch_active": False},
}


@jax.jit
def decode(weights, cache, token):
    hidden = weights["embedding"][token]
    keys = jnp.concatenate([cache, (hidden @ weights["key"])[None]])  # USED
    attention = jax.nn.softmax(keys @ (hidden @ weights["query"]))
    return keys, jnp.argmax(weights["embedding"] @ (attention @ keys))


def main():
    rng = np.random.default_rng(2)
    weights = {name: rng.normal(size=(8, 8)).astype(np.float32) for name in ("key", "query")}
    weights["embedding"] = rng.normal(size=(20, 8)).astype(np.float32)
    cache, token = np.zeros((3, 8), np.float32), np.int32(4)
    for _ in range(6):
        cache, token = decode(weights, cache, token)  # PLANTED
    print(int(token), cache.shape)


main()
