"""Compiles programs given as text, each once, in the given order.

    edits.py VARIANTS.json

VARIANTS.json: [{"file": …, "source": …}, …], see edits_table.py: Python source and the path under which it is
compiled; or [{"module": …}, …], see edits_modules.py: StableHLO. Prints for each "compiled" or the error.
"""

import json
import sys

import jax
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

# Settings that a source may change; they are reset before the next source.
CONFIG = ("jax_include_full_tracebacks_in_locations", "jax_traceback_in_locations_limit", "jax_enable_x64")


def prepare(variant):
    """Does everything except the compilation. Returns a function that compiles."""
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
    except jax.errors.JaxRuntimeError as error:  # a program that this plugin cannot compile also has a fingerprint
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
