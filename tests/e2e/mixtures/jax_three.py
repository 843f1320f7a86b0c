"""Three causes in JAX: prompts of any length, a Python counter in a closure, and a switch of the evaluation that is static."""

import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np

MIXTURE = {
    "python": "jax",
    "causes": {
        "length": {"kinds": ["shape_family"], "line": "length"},
        "turn": {"kinds": ["counter"], "line": "turn"},
        "branch": {"kinds": ["structure", "parameters"], "line": "branch"},
    },
    "may": [],
    "steps": None,
}


@jax.jit
def prefill(table, tokens):
    hidden = table[tokens]  # USED: length
    return (hidden.cumsum(0) / jnp.arange(1, tokens.shape[0] + 1)[:, None])[-1]  # USED: length


@functools.cache
def make_rescore(turn):
    """The penalty grows with the turn: a number of Python, or an argument."""

    @jax.jit
    def rescore(logits, argument):
        penalty = argument if turn is None else turn
        return jax.nn.log_softmax(logits - jnp.arange(8) * penalty)  # PLANTED: turn

    return rescore


@functools.partial(jax.jit, static_argnames="sample")
def choose(scores, key, sample):
    scores = scores - jax.nn.logsumexp(scores)
    if sample:
        scores = scores + jax.random.gumbel(key, scores.shape)  # USED: branch
    return jnp.argmax(scores)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[], choices=MIXTURE["causes"])
    without = parser.parse_args().without
    random = np.random.default_rng(4)
    table, key = random.normal(size=(20, 8)).astype(np.float32), jax.random.key(0)
    for turn, length in enumerate((3, 4, 6, 11, 13, 4), 2):
        tokens = random.integers(20, size=16 if "length" in without else length, dtype=np.int32)
        hidden = prefill(table, tokens)  # PLANTED: length
        scores = make_rescore(None if "turn" in without else turn)(hidden, np.float32(turn))
        sample = "branch" in without or turn != 5
        print(int(choose(scores, key, sample)))  # PLANTED: branch


main()
