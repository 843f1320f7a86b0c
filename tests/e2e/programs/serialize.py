"""Serializes programs with jax.experimental.serialize_executable, runs serialized programs of another process, or calls
programs as any job does. The environment may enable JAX's own cache.

    serialize.py write FILE [NAME]   compiles, serializes, runs
    serialize.py read FILE           loads and runs
    serialize.py run [NAME]          calls the programs

NAME renames the functions. The last line is JSON: the results' bytes, and the hits and misses of JAX's own cache.
"""

import json
import pickle
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import serialize_executable

ARGUMENT = (np.arange(64, dtype=np.float32) / 64).reshape(8, 8)


def training_step(x):
    def loss(w):
        return jnp.mean((jnp.tanh(x @ w) - 1) ** 2)

    return x - 0.1 * jax.grad(loss)(x)


def ordered(x):
    """XLA's CPU plugin cannot serialize this executable after it has run."""
    return jnp.sort(x * 3 % 7, axis=0) @ x.T


def looped(x):
    return jax.lax.fori_loop(0, 5, lambda _, v: jnp.sin(v) + x, x)


FUNCTIONS = (training_step, ordered, looped)
results, events = {}, {"hits": 0, "misses": 0}


def count(event, **_):
    for name in events:
        events[name] += event == f"/jax/compilation_cache/cache_{name}"


def keep(name, result):
    results[name] = np.asarray(result).tobytes().hex()


def named(function, prefix):
    function.__name__ = prefix + function.__name__
    return jax.jit(function)


def write(path, prefix=""):
    kept = {}
    for function in FUNCTIONS:
        name = function.__name__
        compiled = named(function, prefix).lower(ARGUMENT).compile()
        kept[name] = serialize_executable.serialize(compiled)
        keep(name, compiled(ARGUMENT))
    with open(path, "wb") as file:
        pickle.dump(kept, file)


def read(path):
    with open(path, "rb") as file:
        kept = pickle.load(file)
    for name, parts in kept.items():
        loaded = serialize_executable.deserialize_and_load(*parts, execution_devices=jax.devices()[:1])
        keep(name, loaded(ARGUMENT))


def run(prefix=""):
    for function in FUNCTIONS:
        name = function.__name__
        keep(name, named(function, prefix)(ARGUMENT))


if __name__ == "__main__":
    jax.monitoring.register_event_listener(count)
    {"write": write, "read": read, "run": run}[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({"results": results, "own": events}))
