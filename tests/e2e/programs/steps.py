"""Trains with gradient accumulation and sometimes evaluates; with `mark`, reports where its steps end.

usage: steps.py STEPS [mark] [stats] [late]
"""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

import rekindle


@jax.jit
def grad(w, x):
    return jax.grad(lambda w: ((x @ w) ** 2).mean())(w)


@jax.jit
def update(w, g):
    return w - 0.01 * g


@jax.jit
def evaluate(w, x):
    return ((x @ w) ** 2).mean()


steps, words = int(sys.argv[1]), sys.argv[2:]
w = jnp.ones((8, 8))
for step in range(1, steps + 1):
    for _ in range(2 if "mark" in words else 4):
        x = np.ones((12 if "late" in words and step == steps - 5 else 16, 8), np.float32)
        g = grad(w, x)
    w = update(w, g)
    if step % 50 == 0:
        evaluate(w, x), evaluate(w, x)
    if "mark" in words and step % 10 == 0:
        rekindle.step()
jax.block_until_ready(w)
print(json.dumps({"stats": rekindle.stats() if "stats" in words else None, "explain": rekindle.explain()}))
