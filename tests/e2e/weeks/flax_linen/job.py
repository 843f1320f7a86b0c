"""Trains a small transformer that tells apart four kinds of token sequences (Flax linen)."""

import argparse
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax.training import train_state

VOCABULARY, LENGTH, CLASSES = 64, 24, 4


class Block(nn.Module):
    heads: int
    dropout: float
    dtype: jnp.dtype

    @nn.compact
    def __call__(self, x, train):
        width = x.shape[-1]
        y = nn.LayerNorm(dtype=self.dtype)(x)  # LINE: block
        y = nn.MultiHeadDotProductAttention(num_heads=self.heads, dtype=self.dtype)(y, y)  # LINE: block
        x = x + nn.Dropout(self.dropout, deterministic=not train)(y)  # LINE: dropout
        y = nn.LayerNorm(dtype=self.dtype)(x)  # LINE: block
        y = nn.Dense(4 * width, dtype=self.dtype)(y)  # LINE: block
        y = nn.gelu(y)  # LINE: block
        y = nn.Dense(width, dtype=self.dtype)(y)  # LINE: block
        return x + nn.Dropout(self.dropout, deterministic=not train)(y)  # LINE: dropout


class Classifier(nn.Module):
    width: int
    layers: int
    heads: int = 4
    dropout: float = 0.1
    dtype: jnp.dtype = jnp.float32

    @nn.compact
    def __call__(self, tokens, train):
        x = nn.Embed(VOCABULARY, self.width, dtype=self.dtype)(tokens)  # LINE: embed
        position = self.param("position", nn.initializers.normal(0.02), (LENGTH, self.width))  # LINE: embed
        x = x + position.astype(self.dtype)  # LINE: embed
        for _ in range(self.layers):
            x = Block(self.heads, self.dropout, self.dtype)(x, train)  # LINE: block
        x = nn.LayerNorm(dtype=self.dtype)(x)  # LINE: head
        return nn.Dense(CLASSES)(x.mean(axis=1).astype(jnp.float32))  # LINE: head


def synthetic(rng, count):
    """Each class prefers another quarter of the vocabulary."""
    labels = rng.integers(0, CLASSES, count)
    common = rng.integers(0, VOCABULARY, (count, LENGTH))
    typical = labels[:, None] * (VOCABULARY // CLASSES) + rng.integers(0, VOCABULARY // CLASSES, (count, LENGTH))
    tokens = np.where(rng.random((count, LENGTH)) < 0.3, typical, common)
    return {"tokens": tokens.astype(np.int32), "labels": labels.astype(np.int32)}


def batches(data, size, rng):
    """Yields shuffled batches of equal size without end."""
    count = len(data["labels"])
    while True:
        order = rng.permutation(count)
        for start in range(0, count - size + 1, size):
            yield {name: array[order[start : start + size]] for name, array in data.items()}


def loss_and_accuracy(logits, labels):
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
    return loss, (logits.argmax(-1) == labels).mean()


@jax.jit
def train_step(state, batch, dropout_key):
    def loss_of(params):
        key = jax.random.fold_in(dropout_key, state.step)
        logits = state.apply_fn({"params": params}, batch["tokens"], train=True, rngs={"dropout": key})
        return loss_and_accuracy(logits, batch["labels"])

    (loss, accuracy), grads = jax.value_and_grad(loss_of, has_aux=True)(state.params)
    metrics = {"loss": loss, "accuracy": accuracy}  # LINE: metrics
    return state.apply_gradients(grads=grads), metrics  # LINE: update


@jax.jit
def eval_step(state, batch):
    logits = state.apply_fn({"params": state.params}, batch["tokens"], train=False)
    loss, accuracy = loss_and_accuracy(logits, batch["labels"])
    return {"loss": loss, "accuracy": accuracy}


def evaluate(state, data, size):
    results = []
    for start in range(0, len(data["labels"]), size):
        batch = {name: array[start : start + size] for name, array in data.items()}
        results.append(jax.device_get(eval_step(state, batch)))  # LINE: eval
    return {name: float(np.mean([result[name] for result in results])) for name in results[0]}


@functools.partial(jax.jit, static_argnames=("model", "learning_rate"))
def create_state(key, model, learning_rate):
    params = model.init(key, jnp.zeros((1, LENGTH), jnp.int32), train=False)["params"]
    return train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(learning_rate))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--eval-every", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    rng = np.random.default_rng(args.seed)
    train, test = synthetic(rng, 512), synthetic(rng, 48)
    init_key, dropout_key = jax.random.split(jax.random.key(args.seed))
    model = Classifier(args.width, args.layers, dtype=jnp.dtype(args.dtype))
    state = create_state(init_key, model, args.lr)  # LINE: init

    for step, batch in zip(range(1, args.steps + 1), batches(train, args.batch, rng)):
        state, metrics = train_step(state, batch, dropout_key)  # LINE: train
        if step % args.eval_every == 0:
            scores = evaluate(state, test, size=16)
            print(f"step {step}: loss {metrics['loss']:.4f}, test accuracy {scores['accuracy']:.3f}")
    print(json.dumps({"steps": int(state.step), "loss": float(metrics["loss"]), **scores}))


main()
