#!/usr/bin/env python3
"""Trains a small transformer on sequences that it can learn, in plain JAX.

The script contains no rekindle code:

    rekindle run -- python examples/train_transformer.py

The model is written out: attention, layer norm, GELU, cross-entropy and AdamW in jax.numpy, with
unrolled layers, as in many training scripts. On a small machine nearly all of the first start is
compilation. Data and parameters come from fixed seeds, so two starts print the same numbers. The
last line shows the exact final loss in hexadecimal.
"""

import argparse
import functools
import time

import jax
import jax.numpy as jnp

VOCABULARY = 64
SEQUENCE = 32
WIDTH = 64
HEADS = 4


def init_layer(key):
    keys = jax.random.split(key, 4)

    def normal(key, rows, columns):
        return jax.random.normal(key, (rows, columns)) * rows**-0.5

    return {
        "norm1": {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)},
        "qkv": normal(keys[0], WIDTH, 3 * WIDTH),
        "out": normal(keys[1], WIDTH, WIDTH),
        "norm2": {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)},
        "up": normal(keys[2], WIDTH, 4 * WIDTH),
        "down": normal(keys[3], 4 * WIDTH, WIDTH),
    }


@functools.partial(jax.jit, static_argnames="layers")
def init(seed, layers):
    keys = jax.random.split(jax.random.key(seed), layers + 3)
    params = {
        "tokens": jax.random.normal(keys[0], (VOCABULARY, WIDTH)) * 0.02,
        "positions": jax.random.normal(keys[1], (SEQUENCE, WIDTH)) * 0.02,
        "layers": [init_layer(key) for key in keys[3:]],
        "norm": {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)},
        "head": jax.random.normal(keys[2], (WIDTH, VOCABULARY)) * WIDTH**-0.5,
    }
    zeros = jax.tree.map(jnp.zeros_like, params)
    return {"params": params, "mean": zeros, "variance": zeros, "step": jnp.int32(0)}


def layer_norm(x, norm):
    centred = x - x.mean(-1, keepdims=True)
    deviation = jnp.sqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5)
    return centred / deviation * norm["scale"] + norm["bias"]


def gelu(x):
    return 0.5 * x * (1 + jnp.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def attention(x, layer):
    batch, length, _ = x.shape
    qkv = (x @ layer["qkv"]).reshape(batch, length, 3, HEADS, WIDTH // HEADS)
    q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (WIDTH // HEADS) ** -0.5
    causal = jnp.tril(jnp.ones((length, length), bool))
    scores = jnp.where(causal, scores, -1e9)
    weights = jnp.exp(scores - scores.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, WIDTH)
    return mixed @ layer["out"]


def logits_of(params, tokens):
    x = params["tokens"][tokens] + params["positions"][: tokens.shape[1]]
    for layer in params["layers"]:
        x = x + attention(layer_norm(x, layer["norm1"]), layer)
        x = x + gelu(layer_norm(x, layer["norm2"]) @ layer["up"]) @ layer["down"]
    return layer_norm(x, params["norm"]) @ params["head"]


def cross_entropy(params, tokens):
    logits = logits_of(params, tokens[:, :-1])
    shifted = logits - logits.max(-1, keepdims=True)
    log_probabilities = shifted - jnp.log(jnp.exp(shifted).sum(-1, keepdims=True))
    targets = jax.nn.one_hot(tokens[:, 1:], VOCABULARY)
    return -(targets * log_probabilities).sum(-1).mean()


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, tokens):
    loss, gradients = jax.value_and_grad(cross_entropy)(state["params"], tokens)
    step = state["step"] + 1
    rate = 3e-3 * jnp.minimum(step / 10, 1.0)

    def adamw(param, gradient, mean, variance):
        mean = 0.9 * mean + 0.1 * gradient
        variance = 0.99 * variance + 0.01 * gradient**2
        unbiased_mean = mean / (1 - 0.9**step)
        unbiased_variance = variance / (1 - 0.99**step)
        update = unbiased_mean / (jnp.sqrt(unbiased_variance) + 1e-8) + 1e-4 * param
        return param - rate * update, mean, variance

    updated = jax.tree.map(adamw, state["params"], gradients, state["mean"], state["variance"])
    params, mean, variance = jax.tree.transpose(
        jax.tree.structure(state["params"]), jax.tree.structure((0, 0, 0)), updated
    )
    return {"params": params, "mean": mean, "variance": variance, "step": step}, loss


@jax.jit
def evaluate(params, tokens):
    predicted = logits_of(params, tokens[:, :-1]).argmax(-1)
    # The stride of a sequence is unknown before its second token.
    right = (predicted == tokens[:, 1:])[:, 1:]
    return cross_entropy(params, tokens), right.mean()


@functools.partial(jax.jit, static_argnames="batch")
def make_batch(seed, batch):
    """Returns sequences that count upwards in steps of 1 to 4: x, x + d, x + 2d, … modulo the vocabulary."""
    start_key, stride_key = jax.random.split(jax.random.key(seed))
    start = jax.random.randint(start_key, (batch, 1), 0, VOCABULARY)
    stride = jax.random.randint(stride_key, (batch, 1), 1, 5)
    return (start + stride * jnp.arange(SEQUENCE + 1)) % VOCABULARY


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=16)
    args = parser.parse_args()

    device = jax.devices()[0]
    print(f"jax {jax.__version__} on {device.platform}, {args.layers} layers, {args.steps} steps")

    began = time.perf_counter()
    state = init(0, args.layers)
    for step in range(1, args.steps + 1):
        state, loss = train_step(state, make_batch(step, args.batch))
        if step == 1:
            loss.block_until_ready()
            print(f"first step after {time.perf_counter() - began:.2f} s")
        if step == 1 or step % 10 == 0:
            print(f"step {step:4d}  loss {float(loss):.4f}")

    eval_loss, accuracy = evaluate(state["params"], make_batch(10**6, args.batch))
    print(f"evaluation  loss {float(eval_loss):.4f}  accuracy {float(accuracy):.3f}")
    print(f"final loss {float(loss).hex()}")


if __name__ == "__main__":
    main()
