"""Routing to experts: the capacity equals the load of the fullest expert in the previous batch."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": ["constant", "shape"], "name": "route", "times": 3, "values": [({4, 5, 6, 8}, 5)]}],
    "may": ["counter", "shape_family"],
    "compiles": {"jit_route": 4},
    "questions": {"input_shapes_changed": False},
}


@functools.partial(jax.jit, static_argnames="capacity")
def route(tokens, router, capacity):
    expert = jnp.argmax(tokens @ router, axis=1)
    place = jnp.cumsum(jax.nn.one_hot(expert, 4, dtype=jnp.int32), axis=0)[jnp.arange(len(tokens)), expert] - 1
    buffers = jnp.zeros((4, capacity, tokens.shape[1]))  # PLANTED
    return buffers.at[expert, place].set(tokens, mode="drop"), jnp.bincount(expert, length=4)


def main():
    rng = np.random.default_rng(10)
    router = np.eye(4, 4, dtype=np.float32)
    capacity = 4
    for fullest in (6, 5, 8, 5):
        tokens = rng.normal(scale=0.1, size=(12, 4)).astype(np.float32)
        tokens[:fullest, 0] += 5
        tokens[fullest:, 1] += 5
        buffers, load = route(tokens, router, capacity)
        capacity = int(load[0])
    print(buffers.shape)


main()
