"""An activation constraint is edited: it moves from the batch axis to the feature axis."""

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

CASE = {
    "runs": [{}, {"edit": [('PartitionSpec("x", None)', 'PartitionSpec(None, "x")')]}],
    "causes": [{"cause": "sharding", "name": "block", "kind": {"sharding", "attribute"}}],
    "compiles": {"jit_block": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": True},
}

mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Auto,))


@jax.jit
def block(x, up, down):
    hidden = jax.nn.relu(x @ up)
    hidden = jax.lax.with_sharding_constraint(hidden, NamedSharding(mesh, PartitionSpec("x", None)))  # PLANTED
    return hidden @ down


def main():
    rng = np.random.default_rng(42)
    replicated = NamedSharding(mesh, PartitionSpec())
    arrays = [rng.normal(size=size).astype(np.float32) for size in ((8, 4), (4, 8), (8, 4))]
    print(np.asarray(block(*(jax.device_put(array, replicated) for array in arrays))).sum())


main()
