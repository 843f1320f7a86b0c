"""Trains a small convolutional network on synthetic pictures (Flax NNX)."""

import argparse
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

SIDE, CLASSES = 12, 8


class CNN(nnx.Module):
    """Two convolutions and two dense layers."""

    def __init__(self, width, dropout, rngs):
        self.conv1 = nnx.Conv(1, width, kernel_size=(3, 3), rngs=rngs)  # LINE: model
        self.norm1 = nnx.BatchNorm(width, rngs=rngs)  # LINE: model
        self.conv2 = nnx.Conv(width, 2 * width, kernel_size=(3, 3), rngs=rngs)  # LINE: model
        self.norm2 = nnx.BatchNorm(2 * width, rngs=rngs)  # LINE: model
        self.dense1 = nnx.Linear((SIDE // 4) ** 2 * 2 * width, 64, rngs=rngs)  # LINE: model
        self.dropout = nnx.Dropout(dropout, rngs=rngs)
        self.dense2 = nnx.Linear(64, CLASSES, rngs=rngs)  # LINE: model
        self.pool = functools.partial(nnx.avg_pool, window_shape=(2, 2), strides=(2, 2))

    def __call__(self, x):
        x = self.pool(nnx.relu(self.norm1(self.conv1(x))))
        x = self.pool(nnx.relu(self.norm2(self.conv2(x))))
        x = x.reshape(x.shape[0], -1)
        x = nnx.relu(self.dense1(x))
        x = self.dropout(x)  # LINE: dropout
        return self.dense2(x)


def synthetic(rng, patterns, count):
    """Each class has its own pattern; noise is added."""
    labels = rng.integers(0, CLASSES, count)
    images = patterns[labels] + 2.0 * rng.standard_normal((count, SIDE, SIDE, 1))
    return {"image": images.astype(np.float32), "label": labels.astype(np.int32)}


def batches(data, size, rng):
    count = len(data["label"])
    while True:
        order = rng.permutation(count)
        for start in range(0, count - size + 1, size):
            yield {name: array[order[start : start + size]] for name, array in data.items()}


def loss_fn(model, batch):
    logits = model(batch["image"])
    return optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"]).mean(), logits


@nnx.jit
def train_step(model, optimizer, metrics, batch):
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, batch)
    metrics.update(loss=loss, logits=logits, labels=batch["label"])
    optimizer.update(model, grads)


@nnx.jit
def add_gradients(model, metrics, total, batch):
    """Adds the gradients of a part of a batch."""
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, batch)
    metrics.update(loss=loss, logits=logits, labels=batch["label"])
    return jax.tree.map(jnp.add, total, grads)


@functools.partial(nnx.jit, static_argnames="parts")
def apply_gradients(model, optimizer, total, parts):
    optimizer.update(model, jax.tree.map(lambda grad: grad / parts, total))


@functools.partial(nnx.jit, static_argnames="k")
def eval_step(model, batch, k):
    logits = model(batch["image"])
    _, best = jax.lax.top_k(logits, k)  # LINE: top_k
    return (best == batch["label"][:, None]).any(axis=-1).mean()  # LINE: hits


def evaluate(model, data, size, k):
    model.eval()
    scores = []
    for start in range(0, len(data["label"]), size):
        batch = {name: array[start : start + size] for name, array in data.items()}
        scores.append(float(eval_step(model, batch, k=k)))  # LINE: eval
    model.train()
    return float(np.mean(scores))


def update_in_parts(model, optimizer, metrics, zeros, batch, parts):
    total = zeros
    for part in range(parts):
        total = add_gradients(model, metrics, total, {name: array[part::parts] for name, array in batch.items()})
    apply_gradients(model, optimizer, total, parts=parts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--top-k", type=int, default=1)
    parser.add_argument("--eval-every", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    rng = np.random.default_rng(args.seed)
    patterns = rng.standard_normal((CLASSES, SIDE, SIDE, 1))
    train, test = synthetic(rng, patterns, 512), synthetic(rng, patterns, 48)
    model = CNN(args.width, args.dropout, nnx.Rngs(args.seed))  # LINE: init
    tx = optax.inject_hyperparams(optax.adamw)(learning_rate=args.lr)
    optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)  # LINE: init
    metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"), accuracy=nnx.metrics.Accuracy())
    zeros = jax.tree.map(jnp.zeros_like, nnx.state(model, nnx.Param))

    for step, batch in zip(range(1, args.steps + 1), batches(train, args.batch, rng)):
        if args.accumulate > 1:
            update_in_parts(model, optimizer, metrics, zeros, batch, args.accumulate)
        else:
            train_step(model, optimizer, metrics, batch)  # LINE: train
        if step % args.eval_every == 0:
            means = {name: float(value) for name, value in metrics.compute().items()}
            metrics.reset()
            score = evaluate(model, test, 16, args.top_k)
            print(f"step {step}: loss {means['loss']:.4f}, top-{args.top_k} accuracy {score:.3f}")
    print(json.dumps({"steps": int(optimizer.step[...]), "loss": means["loss"], "accuracy": score}))


main()
