"""Every request jits a new functools.partial: each one is traced and requested again, then loaded from the store."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "patterns": [("duplicate_storm", "")],
    "may": ["duplicate"],
    "compiles": {"distance": 1},
    "questions": {"input_shapes_changed": False},
}


def distance(query, keys, order):
    return jnp.linalg.norm(keys - query, ord=order, axis=1)  # USED


def nearest(query, keys):
    search = jax.jit(functools.partial(distance, order=2))  # PLANTED
    return int(np.argmin(search(query, keys)))  # PLANTED


def main():
    rng = np.random.default_rng(61)
    keys = rng.normal(size=(32, 4)).astype(np.float32)
    print([nearest(rng.normal(size=4).astype(np.float32), keys) for _ in range(8)])


main()
