"""The programs of bench/explain.

    explain_programs.py job COUNT SIZE       compiles COUNT distinct functions of a matrix with SIZE rows
    explain_programs.py pair FOLDER LAYERS   writes two programs, of eight operations a layer, that differ in one layer
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxlib._jax import mlir as portable
from jaxlib.mlir.dialects import stablehlo

WIDTH = 16
STEPS = ("jnp.tanh(y)", "y @ y.T @ y", "jax.nn.softmax(y)", "y * jax.nn.sigmoid(y)", "jnp.sort(y)", "y - y.mean(-1, keepdims=True)")


def source(count):
    """A module of `count` functions, each on its own lines and with other operations."""
    lines = []
    for number in range(count):
        lines += [f"def function_{number}(x):", f"    y = x * {number + 0.5}"]
        lines += [f"    y = {STEPS[number // len(STEPS) ** place % len(STEPS)]}" for place in range(3)]
        lines += ["    return y", ""]
    return "\n".join(lines)


def job(count, size):
    where = Path(__file__).with_name("explained.py")
    scope = {"jax": jax, "jnp": jnp}
    exec(compile(source(count), where, "exec"), scope)  # so that locations name that file
    for number in range(count):
        jax.jit(scope[f"function_{number}"])(np.ones((size, WIDTH), np.float32))


def bytecode(function, *args):
    module = jax.jit(function).lower(*args).compiler_ir("stablehlo")
    return portable.serialize_portable_artifact(module, stablehlo.get_current_version(), True)


def tower(x, layers, other):
    for layer in range(layers):
        y = x * 1.5 + 0.25
        y = jnp.sin(y) if layer == other else jnp.tanh(y)
        y = jax.lax.rsqrt(y * y + 1.0)
        x = jnp.maximum(y - x, 0.5)
    return x


def pair(folder, layers):
    x = np.ones(WIDTH, np.float32)
    for name, other in (("before", -1), ("after", layers // 2)):
        (folder / f"{name}.mlirbc").write_bytes(bytecode(lambda x, other=other: tower(x, layers, other), x))


if __name__ == "__main__":
    if sys.argv[1] == "job":
        job(int(sys.argv[2]), int(sys.argv[3]))
    else:
        pair(Path(sys.argv[2]), int(sys.argv[3]))
