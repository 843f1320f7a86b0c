"""Trains on batches of the given lengths, in the given order: each new length is its own program."""

import sys

import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def step(table, tokens, mask):
    return (table[tokens].sum(-1) * mask).sum()


table = jnp.ones((50, 8))
for length in map(int, sys.argv[1:]):
    tokens, mask = np.zeros((4, length), np.int32), np.ones((4, length), np.float32)
    step(table, tokens, mask).block_until_ready()
