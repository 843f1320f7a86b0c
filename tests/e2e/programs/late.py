"""Compiles after warm-up and prints the outcome: another length, a changed constant, a new function; or control flow
outside of any jitted function, over another function or with another length.

usage: late.py [shape] [constant] [new] [control] [length] [wait] [unmarked]
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


def scan(body, length=8):
    return jax.lax.scan(body, np.zeros(8, np.float32), np.ones((length, 8), np.float32))


def walk(carry, x):
    return carry + jnp.sin(x), None


def leap(carry, x):
    carry = jnp.where(jnp.exp(carry) > jnp.cos(x), jnp.tanh(carry) / (x + 2), carry - jnp.floor(x))
    return carry, jnp.cumsum(carry)


def tried(name, call):
    try:
        jax.block_until_ready(call())
        return {"name": name, "error": None}
    except jax.errors.JaxRuntimeError as error:
        return {"name": name, "error": str(error)}


step, w = make_step(3.5), jnp.ones((8, 8))
long, short = np.ones((16, 8), np.float32), np.ones((12, 8), np.float32)
if "control" in words or "length" in words:
    scan(walk)
    jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, w))
    jax.lax.cond(w[0, 0] > 0, lambda w: w + 1, lambda w: w - 1, w)
for _ in range(30):
    jax.block_until_ready(step(w, long))
if "wait" in words:  # until warm-up ends by itself
    time.sleep(3.1)
elif "unmarked" not in words:
    rekindle.mark_warm()
results = []
if "shape" in words:
    results.append(tried("shape", lambda: step(w, short)))  # LINE shape
if "constant" in words:
    results.append(tried("constant", lambda: make_step(4.5)(w, long)))
if "new" in words:
    results.append(tried("new", lambda: other(w)))  # LINE new
if "length" in words:
    results.append(tried("length", lambda: scan(walk, 9)))
if "control" in words:
    results.append(tried("scan", lambda: scan(leap)))
    results.append(
        tried("while", lambda: jax.lax.while_loop(lambda c: c[1].sum() < 3, lambda c: (c[0], c[1] + c[0].min()), (w, w)))
    )
    results.append(tried("cond", lambda: jax.lax.cond(w[0, 0] > 2, jnp.sin, lambda w: jnp.exp(w) / (w + 3), w)))
results.append(tried("known", lambda: step(w, long)))
print(json.dumps(results))
