"""Compiles programs AOT for a topology that this machine does not have; runs nothing.

    topology.py NAME [PROGRAM…]           for the TPU topology with libtpu's name NAME ("v5e:2x2")
    topology.py attached:N [PROGRAM…]     for N devices of the default client's topology
    topology.py client:N [PROGRAM…]       for the same devices through that client, as jobs do

Prints, as JSON, the compiled programs and what libtpu or the plugin reports about them.
"""

import json
import sys

import jax
import jax.numpy as jnp
import models
import numpy as np
import optax
from jax import lax
from jax.experimental import pallas as pl, topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from topology_table import ON_ONE_DEVICE, ON_TPU

PROGRAMS = {}


def program(make):
    """Registers `make`; `make(mesh)` returns a jitted function and its arguments for lowering."""
    PROGRAMS[make.__name__] = make
    return make


def placed(mesh, spec, leaf):
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, spec))


def on_one_device(name):
    def make(mesh):
        jitted, arguments = models.PROGRAMS[name]()
        alone = Mesh(mesh.devices.flatten()[:1], ("all",))
        return jitted, jax.tree.map(lambda leaf: placed(alone, P(), leaf), arguments)

    return make


PROGRAMS.update({name: on_one_device(name) for name in ON_ONE_DEVICE if name in models.PROGRAMS})


@program
def sharded_transformer(mesh):
    """Flax's transformer and AdamW; the batch and the last dimension of every matrix are sharded over all devices."""
    count = mesh.devices.size
    step, (params, state, _, key) = models.language_step(optax.adamw(1e-3), width=32 * count)

    def place(leaf):
        split = leaf.ndim >= 2 and leaf.shape[-1] % count == 0
        return placed(mesh, P(*[None] * (leaf.ndim - 1), "all") if split else P(), leaf)

    tokens = placed(mesh, P("all"), models.i32(4 * count, 16))
    return step, (*jax.tree.map(place, (params, state)), tokens, placed(mesh, P(), key))


@program
def ring(mesh):
    """Every device passes its part around a ring, with explicit collectives."""
    count = mesh.devices.size
    around = [(i, (i + 1) % count) for i in range(count)]

    def part(x):
        return lax.fori_loop(0, count, lambda i, c: (lax.ppermute(c[0], "all", around), c[1] + c[0] @ c[0].T), (x, x))[1]

    mapped = jax.shard_map(part, mesh=mesh, in_specs=P("all"), out_specs=P("all"))
    return jax.jit(mapped), (placed(mesh, P("all"), models.f32(8 * count, 8)),)


@program
def sampling(mesh):
    alone = Mesh(mesh.devices.flatten()[:1], ("all",))

    def sample(key, logits):
        values, places = lax.top_k(logits, 5)
        return jnp.sort(logits), jnp.take_along_axis(places, jax.random.categorical(key, values)[:, None], 1)

    return jax.jit(sample), (placed(alone, P(), models.KEY), placed(alone, P(), models.f32(8, 512)))


@program
def pallas_matmul(mesh):
    """A custom kernel that only libtpu can compile."""

    def kernel(x, y, out):
        @pl.when(pl.program_id(2) == 0)
        def _():
            out[...] = jnp.zeros_like(out)

        out[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)

    def matmul(x, y):
        return pl.pallas_call(
            kernel,
            grid=(2, 2, 2),
            in_specs=[pl.BlockSpec((128, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
            out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)),
            out_shape=models.f32(256, 256),
        )(x, y)

    alone = Mesh(mesh.devices.flatten()[:1], ("all",))
    return jax.jit(matmul), [placed(alone, P(), models.f32(256, 256))] * 2


def devices_of(name):
    kind, _, count = name.partition(":")
    if kind == "client":
        return jax.devices()[: int(count)]
    if kind == "attached":
        from jax._src.lib import xla_client

        return xla_client.get_topology_for_devices(jax.devices())._make_compile_only_devices()[: int(count)]
    return topologies.get_topology_desc(platform="tpu", topology_name=name).devices


def compile_one(make, mesh):
    jitted, arguments = make(mesh)
    lowered = jitted.lower(*arguments)
    try:
        compiled = lowered.compile()
    except jax.errors.JaxRuntimeError as error:
        return {"error": str(error)}
    memory = compiled.memory_analysis()
    return {"arguments": memory.argument_size_in_bytes, "outputs": memory.output_size_in_bytes,
            "flops": (compiled.cost_analysis() or {}).get("flops"), "text": len(compiled.as_text())}


def main():
    name, *wanted = sys.argv[1:]
    devices = devices_of(name)
    mesh = Mesh(np.array(devices), ("all",))
    compiled = {one: compile_one(PROGRAMS[one], mesh) for one in wanted or ON_TPU}
    print(json.dumps({
        "jax": jax.__version__, "devices": len(devices), "kind": devices[0].device_kind,
        "processes": len({device.process_index for device in devices}),
        "platform_version": devices[0].client.platform_version, "compiled": compiled,
    }))


if __name__ == "__main__":
    main()
