"""Runs eight small programs on four devices, and prints a digest of each one's result as JSON.

It is written for every JAX from 0.4.30 on. A failed program is reported with the first line of its error.
"""

import json
import os
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "programs"))
from digest import digest

DEVICES = 4

try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map


def values(*shape):
    """The same in every process, without a program of their own."""
    count = int(np.prod(shape))
    return (np.arange(count, dtype=np.float32).reshape(shape) % 17 - 8) / 9


def mesh():
    return Mesh(np.array(jax.devices()[:DEVICES]), ("x",))


def matmul():
    return jax.jit(lambda a, b: a @ b)(values(33, 65), values(65, 17))


def gradient():
    return jax.jit(jax.grad(lambda w, x: jnp.sum(jnp.tanh(x @ w) ** 2)))(values(24, 8), values(16, 24))


def scan():
    def step(carry, x):
        carry = jnp.sin(carry @ x)
        return carry, carry.sum()

    return jax.jit(lambda start, xs: jax.lax.scan(step, start, xs))(values(4, 12), values(6, 12, 12))


def vmap():
    return jax.jit(jax.vmap(lambda a, b: jnp.cumsum(a * b) / (1 + jnp.max(b)), in_axes=(0, None)))(
        values(9, 31), values(31)
    )


def training():
    """Three steps of a network of two layers, whose buffers are donated."""

    def loss(parameters, x, y):
        hidden = jax.nn.relu(x @ parameters["in"] + parameters["bias"])
        return jnp.mean((hidden @ parameters["out"] - y) ** 2)

    def step(parameters, x, y):
        value, slopes = jax.value_and_grad(loss)(parameters, x, y)
        return jax.tree_util.tree_map(lambda p, g: p - 0.05 * g, parameters, slopes), value

    compiled = jax.jit(step, donate_argnums=0)
    parameters = {"in": values(12, 32), "bias": values(32), "out": values(32, 3)}
    losses = []
    for _ in range(3):
        parameters, value = compiled(parameters, values(20, 12), values(20, 3))
        losses.append(value)
    return parameters, losses


def split(array):
    """Its rows lie on four devices."""
    return jax.device_put(array, NamedSharding(mesh(), PartitionSpec("x", None)))


def everywhere(array):
    return jax.device_put(array, NamedSharding(mesh(), PartitionSpec()))


def sharded_jit():
    """A product whose rows lie on four devices, with a sum over all of them."""
    a, b = split(values(16, 24)), everywhere(values(24, 8))
    return jax.jit(lambda a, b: (a @ b, jnp.sum(a)), out_shardings=(a.sharding, b.sharding))(a, b)


def less_mean(x):
    return x - jax.lax.psum(x, "x") / DEVICES


def sharded_map():
    """A collective that the program itself names."""
    spec = PartitionSpec("x", None)
    return jax.jit(shard_map(less_mean, mesh=mesh(), in_specs=spec, out_specs=spec))(split(values(8, 5)))


def unplaced():
    """The same, where JAX asks the executable how its argument is to be split."""
    spec = PartitionSpec("x", None)
    return jax.jit(shard_map(less_mean, mesh=mesh(), in_specs=spec, out_specs=spec))(values(12, 5))


PROGRAMS = (matmul, gradient, scan, vmap, training, sharded_jit, sharded_map, unplaced)


def run(program):
    try:
        return digest(program())
    except Exception as error:
        line = (str(error).splitlines() or [""])[0]
        return f"failed: {type(error).__name__}: {re.sub(r'0x[0-9a-f]+', '0x…', line)}"


def main():
    print(json.dumps({program.__name__: run(program) for program in PROGRAMS}), flush=True)


main()
