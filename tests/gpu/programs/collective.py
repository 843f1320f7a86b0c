"""Collective programs over all devices, also if there is only one; prints digests of their results."""

import functools
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "e2e/programs"))

from report import compile_requests, digest  # noqa: E402

DEVICES = jax.devices()
COUNT = len(DEVICES)
MESH = Mesh(np.array(DEVICES), ("all",))
# Whole numbers, so the order of additions across devices does not change the sum.
X = np.arange(COUNT * COUNT * 4, dtype=np.float32).reshape(COUNT * COUNT, 4)


def mapped(function, out_specs=P("all")):
    return jax.jit(jax.shard_map(function, mesh=MESH, in_specs=P("all"), out_specs=out_specs))(X)


def summed():
    result = mapped(lambda x: jax.lax.psum(x, "all"), P())
    assert (np.asarray(result) == X.reshape(COUNT, COUNT, 4).sum(0)).all()
    return result


def gathered():
    return mapped(lambda x: x + jax.lax.all_gather(x, "all", tiled=True).sum())


def scattered():
    return mapped(lambda x: jax.lax.psum_scatter(x, "all", tiled=True))


def exchanged():
    return mapped(lambda x: jax.lax.all_to_all(x, "all", 0, 0, tiled=True))


def permuted():
    around = [(i, (i + 1) % COUNT) for i in range(COUNT)]
    return mapped(lambda x: jax.lax.ppermute(x, "all", around))


def split_training():
    """The data is split over all devices, each device has all weights: the compiler adds the gradient's sum."""
    x = jax.device_put(X / X.size, NamedSharding(MESH, P("all")))
    w = jax.device_put(np.ones((4, 4), np.float32), NamedSharding(MESH, P()))

    @functools.partial(jax.jit, out_shardings=NamedSharding(MESH, P()))
    def step(w, x):
        return w - 0.5 * jax.grad(lambda w: jnp.square(jnp.tanh(x @ w)).mean())(w)

    for _ in range(3):
        w = step(w, x)
    return w


if __name__ == "__main__":
    kinds = (summed, gathered, scattered, exchanged, permuted, split_training)
    results = {kind.__name__: digest(kind()) for kind in kinds}
    print(json.dumps({"devices": COUNT, "requests": compile_requests(), "results": results}))
