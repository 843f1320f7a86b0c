"""Sentences of any length are padded to one length; the mask is always present."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {"healthy": True, "compiles": {"jit_classify": 1}}

LENGTH = 32


@jax.jit
def classify(params, tokens, mask):
    hidden = jax.nn.gelu(params["embedding"][tokens] @ params["hidden"]) * mask[..., None]
    return jnp.argmax(hidden.sum(1) / mask.sum(1, keepdims=True) @ params["head"], -1)


def main():
    rng = np.random.default_rng(86)
    sizes = {"embedding": (50, 8), "hidden": (8, 16), "head": (16, 3)}
    params = {name: rng.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    for length in (7, 9, 12, 5, 31, 18, 9):
        tokens, mask = np.zeros((1, LENGTH), np.int32), np.zeros((1, LENGTH), np.float32)
        tokens[0, :length], mask[0, :length] = rng.integers(50, size=length), 1
        print(length, int(classify(params, tokens, mask)[0]))


main()
