"""Lowers programs with Pallas kernels for a TPU and compiles each once with the current plugin, in the given order.
That plugin does not support such kernels and may refuse them, but it receives the same module as a TPU plugin would.

    edits_pallas.py VARIANTS.json

VARIANTS.json: [{"file": …, "source": …}, …]. Every source defines `program()`, which returns a jitted function and
its arguments for lowering. Prints for each "compiled" or the error.
"""

import json
import sys

import jax
from jax._src.lib import xla_client

# A setting that a source may change; it is reset before each source.
FULL_TRACEBACKS = "jax_include_full_tracebacks_in_locations"


def run(variant):
    jax.config.update(FULL_TRACEBACKS, True)
    names = {"__name__": "variant"}
    exec(compile(variant["source"], variant["file"], "exec"), names)
    jitted, arguments = names["program"]()
    module = jitted.trace(*arguments).lower(lowering_platforms=("tpu",)).compiler_ir()
    device = jax.devices()[0]
    try:
        device.client.compile_and_load(module, xla_client.DeviceList((device,)), xla_client.CompileOptions())
    except jax.errors.JaxRuntimeError as error:
        return str(error)
    return "compiled"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        variants = json.load(file)
    print(json.dumps({"jax": jax.__version__, "results": [run(variant) for variant in variants]}))


if __name__ == "__main__":
    main()
