"""A single query has one axis less than the batches before it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "shape", "name": "score", "values": [([6, 5], [5])], "kind": {"shape"}}],
    "compiles": {"score": 2},
    "questions": {"input_shapes_changed": True, "profile_or_sharding_changed": False},
}


@eqx.filter_jit
def score(weights, query):
    return jax.nn.sigmoid(jnp.tensordot(query, weights, axes=1))  # USED


def main():
    rng = np.random.default_rng(91)
    weights = rng.normal(size=(5, 3)).astype(np.float32)
    queries = rng.normal(size=(6, 5)).astype(np.float32)
    print(np.asarray(score(weights, queries)).sum())  # PLANTED
    print(np.asarray(score(weights, queries[0])).sum())  # PLANTED


main()
