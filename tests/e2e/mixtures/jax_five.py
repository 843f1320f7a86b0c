"""Five causes in JAX in one training step and beside it: a counter of overflows, a capacity from Python, an optional key of
the batch, gradients of None at the first of two micro-batches, and operations outside of the jitted step."""

import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np

MIXTURE = {
    "python": "jax",
    "causes": {
        "counter": {"kinds": ["counter"], "line": "counter"},
        "capacity": {"kinds": ["counter", "constant"], "line": "capacity"},
        "key": {"kinds": ["optional_inputs", "parameters"], "line": "key"},
        "eager": {"kinds": ["fragments"], "line": "eager"},
        "none": {"kinds": ["alternation"], "line": "none"},
    },
    "may": ["repeated_blocks", "eager_startup"],
    "steps": 8,
}

WIDTH, EXPERTS, TOKENS = 8, 4, 24


def mixture(params, batch, capacity):
    x = batch["x"]
    gates = jax.nn.softmax(x @ params["router"])
    gate, expert = gates.max(-1), gates.argmax(-1)
    chosen = jax.nn.one_hot(expert, EXPERTS)
    place = ((jnp.cumsum(chosen, 0) - 1) * chosen).sum(-1)
    sent = place[:, None] == jnp.arange(capacity)  # PLANTED: capacity
    dispatch = chosen[:, :, None] * sent[:, None, :]  # PLANTED: capacity
    inputs = jnp.einsum("nec,nd->ecd", dispatch, x)  # PLANTED: capacity
    hidden = jax.nn.relu(jnp.einsum("ecd,edh->ech", inputs, params["up"]))
    outputs = jnp.einsum("ech,ehd->ecd", hidden, params["down"])
    y = jnp.einsum("nec,ecd->nd", dispatch * gate[:, None, None], outputs)
    errors = jnp.square((x + y) @ params["head"]).mean(-1)
    if "weight" in batch:
        errors = errors * batch["weight"]  # USED: key
    return errors.mean()


@functools.partial(jax.jit, static_argnames="capacity")
def micro(params, gradients, batch, capacity):
    new = jax.grad(mixture)(params, batch, capacity)
    return new if gradients is None else jax.tree.map(jnp.add, gradients, new)  # USED: none


@functools.cache
def make_update(records):
    """The update writes into the history of the run, at a place that Python counts."""

    @jax.jit
    def update(params, gradients, history, slot):
        where = slot if records is None else records
        history = history.at[where].set(gradients["head"].sum())  # PLANTED: counter
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), history

    return update


def batches(without):
    random = np.random.default_rng(5)
    for number in range(16):
        batch = {"x": random.normal(size=(TOKENS, WIDTH)).astype(np.float32)}
        if "key" in without or number in (3, 10):
            batch["weight"] = random.random(TOKENS).astype(np.float32)
        yield batch


def report(params):
    """Sums up the parameters, operation by operation."""
    largest = jnp.abs(params["head"]).max()  # PLANTED: eager
    spread = jnp.sqrt(jnp.square(params["router"]).mean())  # PLANTED: eager
    share = jnp.tanh(largest) / (spread + 1)  # PLANTED: eager
    return float(jnp.round(share, 2))  # PLANTED: eager


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[], choices=MIXTURE["causes"])
    without = parser.parse_args().without
    sizes = {"router": (WIDTH, EXPERTS), "up": (EXPERTS, WIDTH, 16), "down": (EXPERTS, 16, WIDTH), "head": (WIDTH, 3)}
    random = np.random.default_rng(6)
    params = {name: random.normal(size=size).astype(np.float32) / 3 for name, size in sizes.items()}
    zeros = {name: np.zeros(size, np.float32) for name, size in sizes.items()}
    history, source = np.zeros(16, np.float32), batches(without)
    for step in range(8):
        capacity = 8 if "capacity" in without else 8 + 2 * (step // 2 % 3)
        gradients = zeros if "none" in without else None
        for _ in range(2):
            gradients = micro(params, gradients, next(source), capacity)  # PLANTED: none  # PLANTED: key
        params, history = make_update(None if "counter" in without else step)(params, gradients, history, np.int32(step))
        if "eager" not in without:
            print(report(params))
    print(float(history.sum()))


main()
