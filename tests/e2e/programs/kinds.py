"""One small program of each kind that a restart must not compile again; prints digests of their results.

    kinds.py            all of them
    kinds.py NAME…      the named ones
"""

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

from report import digest, finish


def data(*shape, dtype=np.float32):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


def train():
    params = {"w1": data(8, 16), "b1": np.zeros(16, np.float32), "w2": data(16, 4)}

    @jax.jit
    def step(params, x, y):
        def loss_of(params):
            hidden = jax.nn.gelu(x @ params["w1"] + params["b1"])
            return jnp.square(hidden @ params["w2"] - y).mean()

        loss, gradients = jax.value_and_grad(loss_of)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss

    losses = []
    for _ in range(4):
        params, loss = step(params, data(32, 8), data(32, 4))
        losses.append(loss)
    assert losses[-1] < losses[0]
    return params, losses


def mesh():
    devices = jax.devices()
    assert len(devices) >= 4, devices
    return Mesh(np.array(devices[:4]).reshape(2, 2), ("data", "model"))


def sharded():
    m = mesh()
    x = jax.device_put(data(8, 16), NamedSharding(m, P("data", None)))
    w = jax.device_put(data(16, 8), NamedSharding(m, P(None, "model")))
    out = NamedSharding(m, P("data", "model"))
    y = jax.jit(lambda x, w: jnp.tanh(x @ w), out_shardings=out)(x, w)
    assert len(y.sharding.device_set) == 4
    return y, jax.jit(lambda y: y.sum(0))(y)


def mapped():
    def mean(x):
        return x - jax.lax.psum(x, ("data", "model")) / 4

    m = mesh()
    spec = P(("data", "model"))
    return jax.jit(jax.shard_map(mean, mesh=m, in_specs=spec, out_specs=spec))(data(8, 4))


def donated():
    @functools.partial(jax.jit, donate_argnums=0)
    def add(state, x):
        return state + x

    state = jnp.asarray(data(64))
    for _ in range(3):
        before, state = state, add(state, data(64))
        assert before.is_deleted()
    return state


def bfloat16():
    x = jnp.asarray(data(16, 16), jnp.bfloat16)
    return jax.jit(lambda x: jax.nn.softmax(x @ x.T) * 2)(x)


def scanned():
    def cell(carry, x):
        carry = jnp.tanh(carry @ data(8, 8) + x)
        return carry, carry.sum()

    return jax.jit(lambda x: jax.lax.scan(cell, jnp.zeros(8), x))(data(12, 8))


def convolution():
    def net(x, kernel):
        y = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME")
        return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    return jax.jit(jax.grad(lambda k: net(data(2, 3, 8, 8), k).sum()))(data(4, 3, 3, 3))


def updated():
    @jax.jit
    def write(cache, value, position):
        cache = jax.lax.dynamic_update_slice(cache, value, (position, 0))
        return cache, jax.lax.dynamic_slice(cache, (position, 0), (2, 4))

    cache = jnp.zeros((16, 4))
    for position in range(3):
        cache, window = write(cache, data(1, 4), position)
    return cache, window


KINDS = (train, sharded, mapped, donated, bfloat16, scanned, convolution, updated)

if __name__ == "__main__":
    wanted = sys.argv[1:] or [kind.__name__ for kind in KINDS]
    finish({kind.__name__: digest(kind()) for kind in KINDS if kind.__name__ in wanted})
