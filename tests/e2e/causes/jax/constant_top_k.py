"""A sampler takes its number of candidates from each request."""

import functools

import jax
import numpy as np

CASE = {
    "causes": [{"cause": "constant", "name": "candidates", "times": 2, "values": [(5, 10)], "kind": {"constant", "attribute"}}],
    "may": ["counter"],
    "compiles": {"jit_candidates": 3},
    "questions": {"input_shapes_changed": False},
}


@functools.partial(jax.jit, static_argnums=2)
def candidates(key, logits, k):
    values, tokens = jax.lax.top_k(logits, k)  # PLANTED
    choice = jax.random.categorical(key, values)
    return tokens[choice]


def main():
    key = jax.random.key(3)
    logits = np.random.default_rng(11).normal(size=40).astype(np.float32)
    for k in (5, 10, 20, 5, 10):
        print(k, int(candidates(key, logits, k)))


main()
