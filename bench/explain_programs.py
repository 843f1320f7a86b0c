"""What bench/explain explains.

    explain_programs.py job COUNT            compiles COUNT programs: a dozen functions, each with other sizes and numbers
    explain_programs.py pair FOLDER LAYERS   writes two programs, of ten operations a layer, which differ in one layer
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxlib._jax import mlir as portable
from jaxlib.mlir.dialects import stablehlo

WIDTH = 16


def dense(x, number):
    return jnp.tanh(x @ jnp.ones((WIDTH, WIDTH)) + number)


def attend(x, number):
    weights = jax.nn.softmax(x @ x.T / number)
    return weights @ x


def normalize(x, number):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + number)


def gate(x, number):
    return jax.nn.sigmoid(x) * x * number


def best(x, number):
    values, where = jax.lax.top_k(x, 2)
    return values * number + where


def smooth(x, number):
    return jax.lax.scan(lambda mean, row: (mean * number + row, mean), x[0], x)[1]


def gradient(x, number):
    return jax.grad(lambda x: jnp.sum(dense(normalize(x, 1e-3), number)))(x)


def block(x, number):
    return x + attend(normalize(x, 1e-3), number)


FUNCTIONS = (dense, attend, normalize, gate, best, smooth, gradient, block)


def job(count):
    """Every function in turn; of each, sizes and numbers in turn."""
    for index in range(count):
        function, variant = FUNCTIONS[index % len(FUNCTIONS)], index // len(FUNCTIONS)
        size, number = 4 + variant // 2, 1.5 + (variant + 1) // 2
        jax.jit(function, static_argnums=1)(np.ones((size, WIDTH), np.float32), number)


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
        job(int(sys.argv[2]))
    else:
        pair(Path(sys.argv[2]), int(sys.argv[3]))
