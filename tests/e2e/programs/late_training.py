"""Trains until warm-up ends by itself, then compiles more and prints the outcome: another batch, random values of another
shape, a flag, other functions with a known name, a first evaluation with a shorter last batch, and a later evaluation.
"""

import functools
import json
import time

import jax
import jax.numpy as jnp


def loss(p, x):
    return ((jnp.tanh(x @ p["a"]) @ p["b"]) ** 2).mean()


def make_training():
    @jax.jit
    def step(p, x):
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, jax.grad(loss)(p, x))

    return step


def make_validation():
    @jax.jit
    def step(p, x):
        return jnp.floor(loss(p, x))

    return step


class Small:
    def apply(self, w):
        return jnp.tanh(w) * 2


class Large:
    def apply(self, w):
        return jnp.tanh(jnp.sin(w) @ jnp.cos(w)).sum()


@functools.partial(jax.jit, static_argnames="log")
def flagged(w, log):
    w = jnp.sin(w) * jnp.cos(w)
    return jnp.sort(w).max() + jnp.exp(w).sum() if log else w.sum()


@jax.jit
def evaluate(total, p, x):
    return total + loss(p, x)


def draw(n):
    jax.random.normal(key, (n, 3))
    jax.random.uniform(key, (n, 3))
    return jax.random.permutation(key, n)


def train():
    global p
    for _ in range(30):
        p = jax.block_until_ready(step(p, x))
    time.sleep(3.1)


def tried(name, call):
    try:
        jax.block_until_ready(call())
        results[name] = None
    except jax.errors.JaxRuntimeError as error:
        results[name] = str(error)


results = {}
key = jax.random.key(0)
p = {"a": jnp.ones((64, 64)), "b": jnp.ones((64, 64))}
x, shorter, later = jnp.ones((16, 64)), jnp.ones((12, 64)), jnp.ones((7, 64))
draw(4)
jax.jit(Small().apply)(x)
flagged(x, log=False)
step, validation = make_training(), make_validation()
train()
tried("random", lambda: draw(5))
tried("apply", lambda: jax.jit(Large().apply)(p["a"]))
tried("validation", lambda: validation(p, x))
tried("validation, last batch", lambda: validation(p, shorter))
total = evaluate(0, p, x)  # from here on an array
tried("total", lambda: evaluate(total, p, x))
tried("last batch", lambda: evaluate(total, p, shorter))
tried("training", lambda: step(p, shorter))
tried("flag", lambda: flagged(x, log=True))
train()
tried("later validation", lambda: validation(p, later))
tried("later batch", lambda: evaluate(total, p, later))
print(json.dumps(results))
