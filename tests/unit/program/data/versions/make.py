"""Makes the programs of this folder: one program in many versions of the encoding, and a kernel for TPUs.

    make.py FOLDER
"""

import base64
import io
import os
import re
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jaxlib import _jax

ENCODINGS = (0, 1, 2, 3, 5, 6)
RELEASES = ("0.9.0", "0.14.0", "1.0.0", "1.17.0")


def mesh():
    return Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))


def step(w, x):
    def body(c, _):
        return jnp.tanh(c @ w), c.sum()

    y, s = jax.lax.scan(body, x, None, length=3)
    i = jnp.argsort(s)
    y = jax.lax.with_sharding_constraint(y, NamedSharding(mesh(), P("x", None)))
    return jnp.where(y > 0, y, 0.5) + jnp.array([[1, 2, 3, 4]], jnp.float32), s[i], jnp.take(y, i, axis=0)


def softmax(a, o):
    v = a[...]
    e = jnp.exp(v - v.max(-1, keepdims=True))
    o[...] = e / e.sum(-1, keepdims=True)


def kernel(x):
    return pl.pallas_call(softmax, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def main(folder):
    shardings = (NamedSharding(mesh(), P(None, "y")), None)
    jitted = jax.jit(step, in_shardings=shardings, donate_argnums=1)
    module = jitted.lower(jnp.ones((4, 4)), jnp.ones((8, 4))).compiler_ir()
    for version in ENCODINGS:
        out = io.BytesIO()
        module.operation.write_bytecode(out, desired_version=version)
        with open(f"{folder}/stablehlo_encoding_{version}.mlir", "wb") as file:
            file.write(out.getvalue())
    for release in RELEASES:
        with open(f"{folder}/vhlo_{release}.mlir", "wb") as file:
            file.write(_jax.mlir.serialize_portable_artifact(module, release, True))
    lowered = jax.jit(kernel).trace(jnp.ones((16, 256))).lower(lowering_platforms=("tpu",))
    body = re.search("(TUzv[A-Za-z0-9+/=]+)", str(lowered.compiler_ir()))[1]  # "ML\xEF" in base64
    with open(f"{folder}/mosaic_softmax-{jax.__version__}.mlir", "wb") as file:
        file.write(base64.b64decode(body))


if __name__ == "__main__":
    main(sys.argv[1])
