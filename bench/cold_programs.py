"""Compiles JAX programs of different sizes and prints the time of each inside the backend, as JSON.

Started by bench/cold, bare and with rekindle. Measures `lowered.compile()`, in which the framework waits for
the plugin, and for rekindle if it is there.
"""

import argparse
import json
import sys
import time
from pathlib import Path

_process_start = time.perf_counter()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
import train_transformer  # noqa: E402


def tiny(number):
    """Distinct programs of two operations, such as eager code makes by the dozen."""
    return jax.jit(lambda x: jnp.tanh(x) * (number + 0.5)), (np.ones(8, np.float32),)


def dense():
    sizes = [16, 64, 64, 8]
    params = [np.ones(shape, np.float32) for shape in zip(sizes, sizes[1:])]

    def loss(params, x):
        for w in params:
            x = jax.nn.gelu(x @ w)
        return jnp.square(x).mean()

    def step(params, x):
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params, x))

    return jax.jit(step), (params, np.ones((32, 16), np.float32))


def convolutions():
    kernels = [np.ones((8, 8, 3, 3), np.float32)] * 4

    def loss(kernels, x):
        for kernel in kernels:
            x = jax.nn.relu(jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME"))
            x = (x - x.mean((0, 2, 3), keepdims=True)) / (x.std((0, 2, 3), keepdims=True) + 1e-5)
        return jnp.square(x).sum()

    return jax.jit(jax.grad(loss)), (kernels, np.ones((2, 8, 16, 16), np.float32))


def transformer(layers):
    state = jax.eval_shape(lambda: train_transformer.init(0, layers))
    tokens = jax.eval_shape(lambda: train_transformer.make_batch(0, 16))
    return train_transformer.train_step, (state, tokens)


def programs(tiny_count, large):
    for number in range(tiny_count):
        yield "tiny", tiny(number)
    yield "dense train step", dense()
    yield "convolutions", convolutions()
    yield "transformer, 1 layer", transformer(1)
    if large:
        yield "transformer, 4 layers", transformer(4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tiny", type=int, required=True)
    parser.add_argument("--large", action="store_true")
    args = parser.parse_args()
    jax.devices()
    times = []
    for name, (jitted, arguments) in programs(args.tiny, args.large):
        lowered = jitted.lower(*arguments)
        start = time.perf_counter()
        lowered.compile()
        times.append([name, time.perf_counter() - start])
    print(json.dumps({"times": times, "process_seconds": time.perf_counter() - _process_start}))


if __name__ == "__main__":
    main()
