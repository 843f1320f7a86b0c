"""Routing to experts: the capacity equals the load of the fullest expert in the previous batch."""

import functools
import os

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": ["constant", "shape"], "name": "dispatch", "times": "many"}],
    "may": ["counter", "shape_family"],
    "compiles": {"jit_dispatch": 8},
    "questions": {"input_shapes_changed": False},
    "remedy": [{"bucket", "round", "fixed", "constant", "upper", "pad"}],
}


LAYERS = int(os.environ.get("STORY_LAYERS", "1"))  # more layers take longer to compile


def layer(tokens, router, weights, capacity):
    chosen = jax.nn.one_hot(jnp.argmax(tokens @ router, axis=1), 4, dtype=jnp.int32)
    place = ((jnp.cumsum(chosen, axis=0) - 1) * chosen).sum(1)
    expert = jnp.argmax(chosen, axis=1)
    buffers = jnp.zeros((4, capacity, tokens.shape[1])).at[expert, place].set(tokens, mode="drop")  # PLANTED
    mixed = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", buffers, weights))  # PLANTED
    return mixed[expert, jnp.minimum(place, capacity - 1)], chosen.sum(0).max()


@functools.partial(jax.jit, static_argnames="capacity")
def dispatch(tokens, routers, weights, capacity):
    loads = []
    for i in range(LAYERS):
        tokens, load = layer(tokens, routers[i], weights[i], capacity)
        loads.append(load)
    return tokens, loads[0]


def main():
    rng = np.random.default_rng(0)
    sizes = (LAYERS, 6, 4), (LAYERS, 4, 6, 6)
    routers, weights = (rng.normal(size=size).astype(np.float32) for size in sizes)
    capacity, seen = 8, set()
    for _ in range(8):
        topic = rng.normal(size=6)
        tokens = (topic + rng.normal(size=(24, 6))).astype(np.float32)
        mixed, fullest = dispatch(tokens, routers, weights, capacity)
        seen.add(capacity)
        capacity = int(fullest)
    print(sorted(seen), np.asarray(mixed).sum())


main()
