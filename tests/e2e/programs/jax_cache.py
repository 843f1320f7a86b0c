"""Runs a few functions, and prints their results and how JAX's own compilation cache was used, by JAX's events.

usage: jax_cache.py [more]
"""

import collections
import json
import sys

import jax
import jax.numpy as jnp
from jax import monitoring

events = collections.Counter()
monitoring.register_event_listener(lambda event, **_: events.update([event]))


@jax.jit
def layer(x, w):
    return jnp.tanh(x @ w)


@jax.jit
def loss(x):
    return (x**2).mean()


@jax.jit
def more(x):
    return jnp.sort(jnp.sin(x).cumsum())


x = jnp.linspace(0.0, 1.0, 64 * 64).reshape(64, 64)
results = [float(loss(layer(x, x))), float(jax.jit(jax.grad(loss))(x)[3, 5])]
if sys.argv[1:] == ["more"]:
    results.append(float(more(x[0])[7]))
count = {name: events[f"/jax/compilation_cache/cache_{name}"] for name in ("hits", "misses")}
print(json.dumps({"results": results} | count))
