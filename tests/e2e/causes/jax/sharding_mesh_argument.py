"""The second start uses another mesh layout: 2 by 2 instead of 4 by 1."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

CASE = {
    "runs": [{"args": ["4", "1"]}, {"args": ["2", "2"]}],
    "causes": [{"cause": "sharding", "name": "forward", "kind": {"sharding", "attribute"}, "place": None}],
    "compiles": {"jit_forward": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": True},
}


def main():
    mesh = jax.make_mesh((int(sys.argv[1]), int(sys.argv[2])), ("data", "model"))

    def place(array, *axes):
        return jax.device_put(array, NamedSharding(mesh, PartitionSpec(*axes)))

    @jax.jit
    def forward(weights, batch):
        return jnp.tanh(batch @ weights).sum()

    rng = np.random.default_rng(41)
    weights = place(rng.normal(size=(6, 4)).astype(np.float32), None, "model")
    batch = place(rng.normal(size=(8, 6)).astype(np.float32), "data", None)
    print(float(forward(weights, batch)))


main()
