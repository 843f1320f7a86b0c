"""Training shards its batch over four devices; evaluation does not."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

CASE = {
    "causes": [{"cause": "sharding", "name": "loss_of", "values": [("data", {"{}", "replicated"})], "kind": {"sharding"}}],
    "compiles": {"jit_loss_of": 2},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": True},
}


@jax.jit
def loss_of(weights, batch):
    return jnp.mean(jnp.square(batch @ weights))  # USED


def main():
    mesh = jax.make_mesh((4,), ("data",))
    rng = np.random.default_rng(40)
    weights = jax.device_put(rng.normal(size=(6, 2)).astype(np.float32), NamedSharding(mesh, PartitionSpec()))
    batch = rng.normal(size=(8, 6)).astype(np.float32)
    for sharding in (PartitionSpec("data"), PartitionSpec("data"), PartitionSpec()):
        placed = jax.device_put(batch, NamedSharding(mesh, sharding))
        print(float(loss_of(weights, placed)))  # PLANTED


main()
