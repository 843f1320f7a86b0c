"""Classifies handwritten digits with dm-haiku and optax, data-parallel over all devices, with averaged parameters."""

import argparse
import json
from typing import NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from sklearn.datasets import load_digits

CLASSES = 10


class TrainingState(NamedTuple):
    params: hk.Params
    average: hk.Params
    opt_state: optax.OptState
    rng: jax.Array


class Batch(NamedTuple):
    image: np.ndarray
    label: np.ndarray


def load_batches():
    digits = load_digits()
    images = (digits.images[..., None] / 16.0).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order], digits.target[order].astype(np.int32)
    return Batch(images[256:], labels[256:]), Batch(images[:256], labels[:256])


def shuffled(data, size, steps):
    random = np.random.default_rng(1)
    for _ in range(steps):
        rows = random.choice(len(data.label), size, replace=False)
        yield Batch(data.image[rows], data.label[rows])


def make_network(channels, width):
    def network(images, is_training):
        x = hk.Conv2D(channels, kernel_shape=3, stride=2)(images)  # LINE: network
        x = jax.nn.relu(x)  # LINE: network
        x = hk.Conv2D(2 * channels, kernel_shape=3, stride=2)(x)  # LINE: network
        x = hk.Flatten()(jax.nn.relu(x))  # LINE: network
        mlp = hk.nets.MLP([width, CLASSES])
        rate = 0.1 if is_training else None
        return mlp(x, dropout_rate=rate, rng=hk.next_rng_key() if is_training else None)  # LINE: network

    return hk.transform(network)


def make_optimizer(name, lr):
    if name == "adamw":
        return optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(lr, weight_decay=1e-3))
    return optax.sgd(lr, momentum=0.9)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--optimizer", choices=("sgd", "adamw"), default="sgd")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--eval-every", type=int, default=0)
    parser.add_argument("--log-every", type=int, default=6)
    args = parser.parse_args()

    mesh = Mesh(np.array(jax.devices()), ("data",))
    replicated, split = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    train, test = load_batches()
    network = make_network(args.channels, args.width)
    optimizer = make_optimizer(args.optimizer, args.lr)

    def loss_fn(params, rng, batch):
        logits = network.apply(params, rng, batch.image, is_training=True)  # LINE: apply
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch.label)
        return losses.mean()

    @jax.jit
    def update(state, batch):
        rng, dropout = jax.random.split(state.rng)
        loss, grads = jax.value_and_grad(loss_fn)(state.params, dropout, batch)  # LINE: grad
        updates, opt_state = optimizer.update(grads, state.opt_state, state.params)  # LINE: update
        params = optax.apply_updates(state.params, updates)
        average = optax.incremental_update(params, state.average, step_size=0.05)
        metrics = {"loss": loss}
        return TrainingState(params, average, opt_state, rng), metrics

    @jax.jit
    def evaluate(params, batch):
        logits = network.apply(params, None, batch.image, is_training=False)  # LINE: evaluate
        return jnp.mean(jnp.argmax(logits, axis=-1) == batch.label)

    def init_state(rng, image):
        init_rng, rng = jax.random.split(rng)  # LINE: init
        params = network.init(init_rng, image, is_training=True)  # LINE: init
        return TrainingState(params, params, optimizer.init(params), rng)  # LINE: init

    state = init_state(jax.random.key(0), train.image[:1])
    state = jax.device_put(state, replicated)
    for step, batch in enumerate(shuffled(train, args.batch, args.steps), 1):
        state, metrics = update(state, jax.device_put(batch, split))  # LINE: call
        if step % args.log_every == 0:
            print(f"step {step}: " + ", ".join(f"{name} {float(value):.4f}" for name, value in metrics.items()))
        if args.eval_every and step % args.eval_every == 0:
            accuracy = evaluate(state.average, jax.device_put(test, split))  # LINE: evaluate
            print(f"step {step}: accuracy {float(accuracy):.3f}")
    print(json.dumps({"steps": step, "loss": float(metrics["loss"])}))


if __name__ == "__main__":
    main()
