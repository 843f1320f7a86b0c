"""Runs one model from process start to the end of its first training step; prints the times as JSON.

    warm_start_models.py NAME [--small]

Started by bench/warm_start, bare, with JAX's own cache, and with rekindle; contains no code for either. Plain JAX. Like
most training scripts, it first looks up the devices, then makes parameters and a batch, and then runs a step.
"""

import argparse
import json
import os
import sys
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
import train_transformer  # noqa: E402

in_requests, requests = 0.0, 0


def count(event, duration, **_):
    global in_requests, requests
    if event == "/jax/core/compile/backend_compile_duration":
        in_requests += duration
        requests += 1


jax.monitoring.register_event_duration_secs_listener(count)


def sgd(loss):
    """A training step of plain gradient descent."""

    @jax.jit
    def step(params, batch):
        value, gradients = jax.value_and_grad(loss)(params, batch)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients), value

    return step


def dense(key, rows, columns):
    return {"w": jax.random.normal(key, (rows, columns)) * rows**-0.5, "b": jnp.zeros(columns)}


def apply(layer, x):
    return x @ layer["w"] + layer["b"]


# --- the models: each returns (step, params, batch) ------------------------------------------------------


def mlp(small):
    widths = [64] + [256] * (2 if small else 6) + [10]

    @jax.jit
    def init(key):
        return [dense(k, a, b) for k, a, b in zip(jax.random.split(key, len(widths)), widths, widths[1:])]

    def loss(params, batch):
        x, y = batch
        for layer in params[:-1]:
            x = jax.nn.gelu(apply(layer, x))
        return -(jax.nn.log_softmax(apply(params[-1], x)) * y).sum(-1).mean()

    batch = jax.random.normal(jax.random.key(1), (128, 64)), jax.nn.one_hot(jnp.arange(128) % 10, 10)
    return sgd(loss), init(jax.random.key(0)), batch


def transformer(layers):
    def make(small):
        count = max(1, layers // 6) if small else layers
        return train_transformer.train_step, train_transformer.init(0, count), train_transformer.make_batch(1, 16)

    return make


def resnet(small):
    stages = [(16, 1), (32, 2)] if small else [(16, 3), (32, 3), (64, 3)]

    def kernel(key, inputs, outputs, size=3):
        return jax.random.normal(key, (outputs, inputs, size, size)) * (inputs * size * size) ** -0.5

    @jax.jit
    def init(key):
        keys = iter(jax.random.split(key, 64))
        params, width = {"stem": kernel(next(keys), 3, 16), "blocks": []}, 16
        for outputs, blocks in stages:
            for number in range(blocks):
                block = {"a": kernel(next(keys), width, outputs), "b": kernel(next(keys), outputs, outputs)}
                if number == 0:
                    block["skip"] = kernel(next(keys), width, outputs, 1)
                params["blocks"].append(block)
                width = outputs
        return params | {"head": dense(next(keys), width, 10)}

    def convolve(x, weights, stride=1):
        return jax.lax.conv_general_dilated(x, weights, (stride, stride), "SAME")

    def normalise(x):
        return (x - x.mean((0, 2, 3), keepdims=True)) / (x.std((0, 2, 3), keepdims=True) + 1e-5)

    def loss(params, batch):
        images, labels = batch
        x = jax.nn.relu(normalise(convolve(images, params["stem"])))
        for block in params["blocks"]:
            stride = 2 if "skip" in block else 1
            y = jax.nn.relu(normalise(convolve(x, block["a"], stride)))
            y = normalise(convolve(y, block["b"]))
            x = jax.nn.relu(y + (convolve(x, block["skip"], stride) if "skip" in block else x))
        logits = apply(params["head"], x.mean((2, 3)))
        return -(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, 10)).sum(-1).mean()

    batch = jax.random.normal(jax.random.key(1), (8, 3, 32, 32)), jnp.arange(8) % 10
    return sgd(loss), init(jax.random.key(0)), batch


def rnn(small):
    width, length = (64, 32) if small else (256, 128)

    @jax.jit
    def init(key):
        a, b, c = jax.random.split(key, 3)
        return {"gates": dense(a, 2 * width, 4 * width), "in": dense(b, 32, width), "out": dense(c, width, 32)}

    def loss(params, batch):
        def cell(carry, x):
            hidden, memory = carry
            gates = apply(params["gates"], jnp.concatenate([hidden, x], -1))
            forget, write, read, new = jnp.split(gates, 4, -1)
            memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(write) * jnp.tanh(new)
            hidden = jax.nn.sigmoid(read) * jnp.tanh(memory)
            return (hidden, memory), hidden

        zero = jnp.zeros((batch.shape[1], width))
        _, hidden = jax.lax.scan(cell, (zero, zero), apply(params["in"], batch))
        return jnp.square(apply(params["out"], hidden[:-1]) - batch[1:]).mean()

    return sgd(loss), init(jax.random.key(0)), jax.random.normal(jax.random.key(1), (length, 16, 32))


def experts(small):
    width, count, layers = (64, 4, 1) if small else (128, 8, 4)

    @jax.jit
    def init(key):
        def layer(key):
            a, b, c = jax.random.split(key, 3)
            return {
                "route": dense(a, width, count),
                "up": jax.random.normal(b, (count, width, 4 * width)) * width**-0.5,
                "down": jax.random.normal(c, (count, 4 * width, width)) * (4 * width) ** -0.5,
            }

        return [layer(k) for k in jax.random.split(key, layers)]

    def loss(params, batch):
        x = batch
        for layer in params:
            weights, chosen = jax.lax.top_k(jax.nn.softmax(apply(layer["route"], x)), 2)
            gate = (jax.nn.one_hot(chosen, count) * weights[..., None]).sum(-2)
            hidden = jax.nn.gelu(jnp.einsum("td,edf->tef", x, layer["up"]))
            x = x + jnp.einsum("tef,efd,te->td", hidden, layer["down"], gate)
        return jnp.square(x - batch[::-1]).mean()

    return sgd(loss), init(jax.random.key(0)), jax.random.normal(jax.random.key(1), (256, width))


def unet(small):
    widths = [16, 32] if small else [32, 64, 128]

    def kernel(key, inputs, outputs):
        return jax.random.normal(key, (outputs, inputs, 3, 3)) * (9 * inputs) ** -0.5

    @jax.jit
    def init(key):
        keys = iter(jax.random.split(key, 64))
        down = [(a, b) for a, b in zip([3, *widths], widths)]
        up = [(2 * b, a) for a, b in zip([widths[0], *widths], widths)][::-1]
        block = lambda a, b: {"a": kernel(next(keys), a, b), "b": kernel(next(keys), b, b), "t": dense(next(keys), 64, b)}
        attend = {name: dense(next(keys), widths[-1], widths[-1]) for name in "qkvo"}
        return {"down": [block(*d) for d in down], "attend": attend, "up": [block(*u) for u in up],
                "out": kernel(next(keys), widths[0], 3)}  # fmt: skip

    def convolve(x, weights):
        return jax.lax.conv_general_dilated(x, weights, (1, 1), "SAME")

    def residual(x, block, time_code):
        y = jax.nn.silu(convolve(x, block["a"]) + apply(block["t"], time_code)[:, :, None, None])
        return jax.nn.silu(convolve(y, block["b"])) + y

    def attention(x, layers):
        batch, channels, height, width = x.shape
        flat = x.reshape(batch, channels, -1).swapaxes(1, 2)
        q, k, v = (apply(layers[name], flat) for name in "qkv")
        mixed = jax.nn.softmax(q @ k.swapaxes(1, 2) * channels**-0.5) @ v
        return x + apply(layers["o"], mixed).swapaxes(1, 2).reshape(x.shape)

    def loss(params, batch):
        noise, moment = batch
        angles = moment[:, None] * 2.0 ** jnp.arange(32)
        code = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1)
        x, skips = noise, []
        for block in params["down"]:
            x = residual(x, block, code)
            skips.append(x)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        x = attention(x, params["attend"])
        for block in params["up"]:
            x = jax.image.resize(x, (*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3]), "nearest")
            x = residual(jnp.concatenate([x, skips.pop()], 1), block, code)
        return jnp.square(convolve(x, params["out"]) - noise).mean()

    batch = jax.random.normal(jax.random.key(1), (4, 3, 32, 32)), jnp.linspace(0, 1, 4)
    return sgd(loss), init(jax.random.key(0)), batch


def sharded(small):
    """A transformer over 4 devices: batch over two, heads and hidden units over two."""
    layers, width, heads = (1, 64, 4) if small else (4, 128, 8)
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("data", "model"))
    columns, rows, both = P(None, "model"), P("model", None), P("data", None)

    @partial(jax.jit, out_shardings=[{k: NamedSharding(mesh, rows if k in ("out", "down") else columns)
                                      for k in ("q", "k", "v", "out", "up", "down")}] * layers)  # fmt: skip
    def init(key):
        def layer(key):
            keys = jax.random.split(key, 6)
            shapes = {"q": 1, "k": 1, "v": 1, "out": 1, "up": 4}
            params = {n: jax.random.normal(k, (width, s * width)) * width**-0.5 for k, (n, s) in zip(keys, shapes.items())}
            return params | {"down": jax.random.normal(keys[5], (4 * width, width)) * (4 * width) ** -0.5}

        return [layer(k) for k in jax.random.split(key, layers)]

    def loss(params, x):
        target = x
        for layer in params:
            q, k, v = ((x @ layer[n]).reshape(*x.shape[:2], heads, -1) for n in "qkv")
            weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) * (width // heads) ** -0.5)
            x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ layer["out"]
            x = x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]
        return jnp.square(x - target[:, ::-1]).mean()

    batch = jax.device_put(np.random.default_rng(0).standard_normal((8, 32, width), np.float32), NamedSharding(mesh, both))
    return sgd(loss), init(jax.random.key(0)), batch


MODELS = {
    "mlp": mlp,
    "transformer-12": transformer(12),
    "transformer-48": transformer(48),
    "resnet": resnet,
    "rnn-scan": rnn,
    "mixture-of-experts": experts,
    "unet": unet,
    "sharded-transformer": sharded,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    jax.devices()
    with_devices = time.time()
    step, params, batch = MODELS[args.model](args.small)
    params, loss = step(params, batch)
    loss.block_until_ready()
    first_step = time.time()
    started = float(os.environ["BENCH_STARTED"])
    print(json.dumps({
        "to_devices": with_devices - started, "to_first_step": first_step - started, "in_requests": in_requests,
        "requests": requests, "loss": float(loss).hex(),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
