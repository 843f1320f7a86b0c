"""Compiles after warm-up and prints the outcome: another length, a changed constant, a new function.

usage: late.py [shape] [constant] [new] [wait]
"""

import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import rekindle

words = sys.argv[1:]


def make_step(capacity):
    @jax.jit
    def step(w, x):
        return jax.grad(lambda w: ((x @ w) ** 2).mean() + capacity)(w) * capacity  # LINE constant

    return step


@jax.jit
def other(w):
    return w + 1


def tried(name, call):
    try:
        jax.block_until_ready(call())
        return {"name": name, "error": None}
    except jax.errors.JaxRuntimeError as error:
        return {"name": name, "error": str(error)}


step, w = make_step(3.5), jnp.ones((8, 8))
long, short = np.ones((16, 8), np.float32), np.ones((12, 8), np.float32)
for _ in range(30):
    jax.block_until_ready(step(w, long))
if "wait" in words:  # until warm-up ends by itself
    time.sleep(3.1)
else:
    rekindle.mark_warm()
results = []
if "shape" in words:
    results.append(tried("shape", lambda: step(w, short)))  # LINE shape
if "constant" in words:
    results.append(tried("constant", lambda: make_step(4.5)(w, long)))
if "new" in words:
    results.append(tried("new", lambda: other(w)))  # LINE new
results.append(tried("known", lambda: step(w, long)))
print(json.dumps(results))
