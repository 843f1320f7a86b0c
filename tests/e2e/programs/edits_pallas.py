"""Lowers programs with Pallas kernels for a TPU, and has the plugin at hand compile them, each once, in the order
given. That plugin knows no such kernels and may refuse; what it is handed is what a TPU's would be.

    edits_pallas.py VARIANTS.json

VARIANTS.json: [{"file": …, "source": …}, …]. Every source defines `program()`, which gives a jitted function and
the arguments to lower it with. Prints for each whether it compiled, or the error.
"""

import json
import sys

import jax
from jax._src.lib import xla_client

# What a source may change, and the next one must find as it was.
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
