"""Compiles programs that are given as text, each once, in the order given.

    edits.py VARIANTS.json

VARIANTS.json: [{"file": …, "source": …}, …], see edits_table.py: Python source and the path that it is compiled
under; or [{"module": …}, …], see edits_modules.py: StableHLO. Prints for each whether it compiled, or the error.
"""

import json
import sys

import jax
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

# What a source may change, and the next one must find as it was.
CONFIG = ("jax_include_full_tracebacks_in_locations", "jax_traceback_in_locations_limit", "jax_enable_x64")


def prepare(variant):
    """All but the compilation itself, which is what is returned."""
    if "module" in variant:
        with mlir.make_ir_context():
            module = ir.Module.parse(variant["module"])
        device = jax.devices()[0]
        devices = xla_client.DeviceList((device,))
        return lambda: device.client.compile_and_load(module, devices, xla_client.CompileOptions())
    names = {"__name__": "variant"}
    exec(compile(variant["source"], variant["file"], "exec"), names)
    jitted, arguments = names["program"]()
    return jitted.lower(*arguments).compile


def run(variant):
    compilation = prepare(variant)
    try:
        compilation()
    except jax.errors.JaxRuntimeError as error:  # what this plugin cannot compile has a fingerprint all the same
        return str(error)
    return "compiled"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        variants = json.load(file)
    before = {name: getattr(jax.config, name) for name in CONFIG}
    results = []
    for variant in variants:
        results.append(run(variant))
        for name, value in before.items():
            jax.config.update(name, value)
    print(json.dumps({"jax": jax.__version__, "results": results}))


if __name__ == "__main__":
    main()
