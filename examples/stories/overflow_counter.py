"""A mixture of experts in Equinox; the module counts the tokens that exceed the capacity of their expert.

The count is a Python integer, so filter_jit makes it a part of the program instead of an input. After a step that
drops tokens, the next step is compiled again.
"""

import os

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "constant", "name": "train_step", "times": "many", "kind": {"constant"}}],
    "patterns": [("counter", "")],
    "compiles": {"train_step": 6},
    "questions": {"input_shapes_changed": False},
    "remedy": [{"array", "traced", "argument"}],
}

CAPACITY = 3
LAYERS = int(os.environ.get("STORY_LAYERS", "1"))  # more layers take longer to compile


class Experts(eqx.Module):
    routers: jax.Array
    weights: jax.Array
    overflow: int

    def layer(self, tokens, router, weights):
        expert = jnp.argmax(tokens @ router, axis=1)
        chosen = jax.nn.one_hot(expert, len(weights))
        place = (jnp.cumsum(chosen, axis=0) * chosen).sum(1)
        kept = (place <= CAPACITY)[:, None]
        mixed = jnp.einsum("te,edf,td->tf", chosen, weights, tokens)
        return jnp.where(kept, mixed, tokens), ~kept

    def __call__(self, tokens):
        for router, weights in zip(self.routers, self.weights, strict=True):
            tokens, dropped = self.layer(tokens, router, weights)
        return tokens, dropped


@eqx.filter_jit
def train_step(experts, tokens):
    def loss_of(experts):
        mixed, dropped = experts(tokens)
        crowded = jnp.var((tokens @ experts.routers[0]).mean(0)) * experts.overflow  # PLANTED
        return jnp.mean((mixed - 1) ** 2) + 1e-3 * crowded, dropped

    grads, dropped = eqx.filter_grad(loss_of, has_aux=True)(experts)
    return eqx.apply_updates(experts, jax.tree.map(lambda g: -0.1 * g, grads)), dropped


def main():
    rng = np.random.default_rng(0)
    sizes = (LAYERS, 4, 3), (LAYERS, 3, 4, 4)
    experts = Experts(*(rng.normal(size=size).astype(np.float32) for size in sizes), 2)
    experts = jax.tree.map(lambda leaf: leaf if isinstance(leaf, int) else jnp.asarray(leaf), experts)
    for _ in range(6):
        experts, dropped = train_step(experts, rng.normal(size=(14, 4)).astype(np.float32))
        experts = eqx.tree_at(lambda e: e.overflow, experts, experts.overflow + int(dropped.sum()))
    print("dropped in all:", experts.overflow)


main()
