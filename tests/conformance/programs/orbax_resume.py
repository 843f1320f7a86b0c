"""Orbax: a training loop that saves checkpoints, restores one and goes on."""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp
from digest import digest
from flax import linen as nn


class Network(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))


network, optimizer = Network(), optax.adam(1e-2)
x = jax.random.normal(jax.random.key(0), (32, 5))
y = jnp.sum(x, axis=1, keepdims=True)


@jax.jit
def train_step(state):
    def loss(parameters):
        return jnp.mean((network.apply(parameters, x) - y) ** 2)

    value, slopes = jax.value_and_grad(loss)(state["parameters"])
    updates, optimizer_state = optimizer.update(slopes, state["optimizer"])
    return {"parameters": optax.apply_updates(state["parameters"], updates), "optimizer": optimizer_state}, value


def train(state, steps, manager=None):
    for step in range(steps):
        state, value = train_step(state)
        if manager:
            manager.save(step, args=ocp.args.StandardSave(state))
    return state, value


parameters = network.init(jax.random.key(1), x)
begin = {"parameters": parameters, "optimizer": optimizer.init(parameters)}
with tempfile.TemporaryDirectory() as folder:
    options = ocp.CheckpointManagerOptions(max_to_keep=2, save_interval_steps=2)
    with ocp.CheckpointManager(Path(folder) / "checkpoints", options=options) as manager:
        end, value = train(begin, 7, manager)
        manager.wait_until_finished()
        restored = manager.restore(4, args=ocp.args.StandardRestore(begin))
    resumed, again = train(restored, 2)
print(digest([end, value, resumed, again]))
assert digest(end) == digest(resumed)
