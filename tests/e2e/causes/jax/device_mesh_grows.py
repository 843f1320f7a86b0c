"""Data-parallel training over all devices; the second start has twice as many."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

CASE = {
    "runs": [{}, {"devices": 8}],
    "causes": [{"cause": ["device", "sharding"], "name": "train_step", "place": None}],
    "compiles": {"jit_train_step": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": True},
}


@jax.jit
def train_step(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean(jnp.square(x @ w)))(w)


def main():
    mesh = jax.make_mesh((len(jax.devices()),), ("data",))
    rng = np.random.default_rng(51)
    w = jax.device_put(rng.normal(size=(6, 2)).astype(np.float32), NamedSharding(mesh, PartitionSpec()))
    x = jax.device_put(rng.normal(size=(16, 6)).astype(np.float32), NamedSharding(mesh, PartitionSpec("data")))
    for _ in range(3):
        w = train_step(w, x)
    print(np.asarray(w).sum())


main()
