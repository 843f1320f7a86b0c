"""A Flax classifier; its batches may have a padding mask, sample weights, both or neither."""

import os

import flax.linen as nn
import jax
import numpy as np
import optax

CASE = {
    "causes": [{"cause": "parameters", "name": "train_step", "times": 3}],
    "patterns": [("optional_inputs", "")],
    "compiles": {"jit_train_step": 4},
    "questions": {"input_shapes_changed": False, "hidden_branch_active": True},
    "remedy": [{"always", "every batch", "neutral", "zeros", "ones", "same keys"}],
}


LAYERS = int(os.environ.get("STORY_LAYERS", "1"))  # more layers take longer to compile


class Classifier(nn.Module):
    @nn.compact
    def __call__(self, tokens, mask):
        hidden = nn.Embed(50, 8)(tokens)
        for _ in range(LAYERS):
            hidden = nn.gelu(nn.Dense(16)(hidden))
        if mask is not None:
            hidden = hidden * mask[..., None]  # USED
        return nn.Dense(3)(hidden.mean(1))


model, optimizer = Classifier(), optax.sgd(0.1)


@jax.jit
def train_step(params, state, batch):
    def loss_of(params):
        logits = model.apply(params, batch["tokens"], batch.get("mask"))
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["labels"])
        if "weight" in batch:
            losses = losses * jax.nn.softmax(batch["weight"])  # USED
        return losses.mean()

    loss, grads = jax.value_and_grad(loss_of)(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, loss


def batches(rng):
    for optional in ((), ("mask",), ("weight",), (), ("mask", "weight"), ("weight",)):
        batch = {"tokens": rng.integers(50, size=(8, 6)), "labels": rng.integers(3, size=8)}
        shapes = {"mask": (8, 6), "weight": (8,)}
        yield batch | {key: rng.random(shapes[key], np.float32) for key in optional}


def main():
    rng = np.random.default_rng(0)
    shapes = jax.eval_shape(model.init, jax.random.key(0), np.zeros((8, 6), np.int32), None)
    params = jax.tree.map(lambda s: rng.normal(scale=0.3, size=s.shape).astype(np.float32), shapes)
    state = optimizer.init(params)
    for batch in batches(rng):
        params, state, loss = train_step(params, state, batch)  # PLANTED
    print(float(loss))


main()
