"""Data-parallel training on four devices; everything is placed once and stays there."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

CASE = {"healthy": True, "compiles": {"jit_train_step": 1}}

mesh = jax.make_mesh((2, 2), ("data", "model"), axis_types=(AxisType.Auto, AxisType.Auto))
batch_sharding = NamedSharding(mesh, PartitionSpec("data"))
weight_sharding = NamedSharding(mesh, PartitionSpec(None, "model"))


@functools.partial(jax.jit, donate_argnums=0, out_shardings=(weight_sharding, None))
def train_step(weights, x):
    def loss_of(weights):
        hidden = jax.lax.with_sharding_constraint(x @ weights, NamedSharding(mesh, PartitionSpec("data", "model")))
        return jnp.mean(jnp.square(hidden))

    loss, grads = jax.value_and_grad(loss_of)(weights)
    return weights - 0.1 * grads, loss


def main():
    rng = np.random.default_rng(85)
    weights = jax.device_put(rng.normal(size=(6, 4)).astype(np.float32), weight_sharding)
    for _ in range(4):
        x = jax.device_put(rng.normal(size=(8, 6)).astype(np.float32), batch_sharding)
        weights, loss = train_step(weights, x)
    print(float(loss))


main()
