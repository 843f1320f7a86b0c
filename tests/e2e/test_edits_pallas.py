"""Edits of programs with Pallas kernels for TPUs, whose payloads contain their own source locations. Edits that do not
affect the compiled code leave the fingerprint unchanged; all other edits change it.

No TPU is needed: the kernels are lowered for a TPU and passed to the CPU plugin, which may refuse them.
"""

import dataclasses

import pytest

from variants import assert_all_differ, describe, run_table, variants_of

SOURCES = {}

HEAD = """
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def shape(*dims, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(dims, dtype)
"""

SOURCES["scale"] = HEAD + """
def kernel(x_ref, y_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = x * 2.0 + y_ref[...]

def rows(i):
    return i, 0

def work(x, y):
    block = pl.BlockSpec((8, 128), rows)
    call = pl.pallas_call(
        kernel,
        out_shape=shape(64, 128),
        grid=(8,),
        in_specs=[block, block],
        out_specs=block,
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )
    return call(x, y) + 1.0

def program():
    return jax.jit(work), (shape(64, 128), shape(64, 128))
"""

SOURCES["matmul"] = HEAD + """
def kernel(x_ref, y_ref, o_ref, sum_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        sum_ref[...] = jnp.zeros_like(sum_ref)

    sum_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        o_ref[...] = sum_ref[...].astype(o_ref.dtype)

def work(x, y):
    return pl.pallas_call(
        kernel,
        out_shape=shape(256, 256, dtype=jnp.bfloat16),
        grid=(2, 2, 2),
        in_specs=[
            pl.BlockSpec((128, 128), lambda i, j, k: (i, k)),
            pl.BlockSpec((128, 128), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((128, 128), jnp.float32)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary"), vmem_limit_bytes=16777216
        ),
        cost_estimate=pl.CostEstimate(flops=1000, bytes_accessed=2000, transcendentals=0),
    )(x, y)

def program():
    return jax.jit(work), (shape(256, 256, dtype=jnp.bfloat16), shape(256, 256, dtype=jnp.bfloat16))
"""

SOURCES["loop"] = HEAD + """
def kernel(count_ref, x_ref, o_ref):
    def body(i, carry):
        return carry + jnp.sin(x_ref[...])

    o_ref[...] = lax.fori_loop(0, count_ref[0], body, jnp.zeros_like(x_ref))

def work(count, x):
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(2,),
        in_specs=[pl.BlockSpec((8, 128), lambda i, count: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, count: (i, 0)),
    )
    return pl.pallas_call(kernel, out_shape=shape(16, 128), grid_spec=grid_spec)(count, x)

def program():
    return jax.jit(work), (shape(1, dtype=jnp.int32), shape(16, 128))
"""

SOURCES["flash"] = HEAD + """
from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention

def loss(q, k, v):
    return flash_attention(q, k, v, causal=True, sm_scale=0.5).sum()

def program():
    return jax.jit(jax.grad(loss)), (shape(1, 2, 256, 128),) * 3
"""


@dataclasses.dataclass
class Row:
    name: str
    base: str
    edits: tuple
    file: str = ""

    def source(self):
        text = SOURCES[self.base]
        for old, new in self.edits:
            assert old in text, (self.name, old)
            text = text.replace(old, new)
        return text


HITS = [
    Row("lines moved", "scale", (("def kernel", "\n\n\ndef kernel"),)),
    Row("lines within the kernel moved", "scale", (("    o_ref", "\n    # As ever.\n    o_ref"),)),
    Row("lines of the index map moved", "scale", (("    return i, 0", "\n    return i, 0"),)),
    Row("an expression on two lines", "scale", (("x * 2.0 + y_ref[...]", "(x * 2.0\n        + y_ref[...])"),)),
    Row("another file", "scale", (), file="/elsewhere/kernels/scale.py"),
    Row("a shorter path", "matmul", (), file="k.py"),
    Row("a local variable renamed", "scale", (("x = x_ref", "value = x_ref"), ("= x * 2.0", "= value * 2.0"))),
    Row("references renamed", "scale", (("x_ref", "left"), ("y_ref", "right"), ("o_ref", "out"))),
    Row("index map renamed", "scale", (("rows", "blocks_of_rows"),)),
    Row("index map a lambda", "scale", (("(8, 128), rows", "(8, 128), lambda i: (i, 0)"),)),
    Row("the function around it renamed", "scale", (("work", "shift_and_scale"),)),
    Row("the function around it in a function", "scale",
        (("return call(x, y) + 1.0", "return (lambda a, b: call(a, b))(x, y) + 1.0"),)),
    Row("lines moved, with branches", "matmul", (("    @pl.when", "\n\n    @pl.when"),)),
    Row("functions in the kernel renamed", "matmul", (("def _()", "def branch()"),)),
    Row("lines moved, with a loop", "loop", (("        return carry", "\n        return carry"),)),
    Row("another file, with a loop", "loop", (), file="/a/very/long/path/to/a/file/of/kernels.py"),
    Row("a kernel of the library called elsewhere", "flash", (("def loss", "\n\n\ndef loss"),), file="/other.py"),
    Row("locations without tracebacks", "scale",
        (("def program():", "jax.config.update('jax_include_full_tracebacks_in_locations', False)\ndef program():"),)),
]

MISSES = [
    Row("constant", "scale", (("x * 2.0", "x * 2.5"),)),
    Row("constant outside of the kernel", "scale", (("+ 1.0", "+ 1.5"),)),
    Row("operation", "scale", (("x * 2.0 +", "x / 2.0 +"),)),
    Row("other operation", "scale", (("+ y_ref[...]", "- y_ref[...]"),)),
    Row("order of operands", "scale", (("x * 2.0 + y_ref[...]", "y_ref[...] * 2.0 + x"),)),
    Row("an operation more", "scale", (("x * 2.0 +", "jnp.exp(x) * 2.0 +"),)),
    Row("block shape", "scale", (("(8, 128), rows", "(16, 128), rows"), ("grid=(8,)", "grid=(4,)"))),
    Row("grid", "scale", (("grid=(8,)", "grid=(4,)"),)),
    Row("index map", "scale", (("return i, 0", "return 7 - i, 0"),)),
    Row("dimension semantics", "scale", (('"parallel"', '"arbitrary"'),)),
    Row("memory limit", "scale", (('("parallel",)', '("parallel",), vmem_limit_bytes=1 << 24'),)),
    Row("another memory limit", "matmul", (("16777216", "33554432"),)),
    Row("flags of the compiler", "scale", (('("parallel",)', '("parallel",), flags={"xla_tpu_flag": True}'),)),
    Row("value of a flag of the compiler", "scale",
        (('("parallel",)', '("parallel",), flags={"xla_tpu_flag": False}'),)),
    Row("side effects", "scale", (('("parallel",)', '("parallel",), has_side_effects=True'),)),
    Row("checks of bounds", "scale", (('("parallel",)', '("parallel",), disable_bounds_checks=True'),)),
    Row("name of the kernel", "scale", (("grid=(8,)", 'grid=(8,), name="other"'),)),
    Row("input aliased with the output", "scale", (("grid=(8,)", "grid=(8,), input_output_aliases={0: 0}"),)),
    Row("types of elements", "matmul", (("bfloat16", "float32"),)),
    Row("precision of a product", "matmul", (("y_ref[...], pref", "y_ref[...], precision='highest', pref"),)),
    Row("condition", "matmul", (("pl.num_programs(2) - 1", "pl.num_programs(2) - 2"),)),
    Row("order of the grid", "matmul", (("(i, k))", "(j, k))"),)),
    Row("semantics of one dimension", "matmul", (('"parallel", "parallel"', '"arbitrary", "parallel"'),)),
    Row("estimated cost", "matmul", (("flops=1000", "flops=1001"),)),
    Row("scratch memory", "matmul", (("VMEM((128, 128)", "VMEM((256, 128)"), ("sum_ref[...]", "sum_ref[:128]"),
                                     ("zeros_like(sum_ref)", "zeros((128, 128), jnp.float32)"))),
    Row("body of a loop", "loop", (("jnp.sin", "jnp.cos"),)),
    Row("bound of a loop", "loop", (("count_ref[0]", "count_ref[0] + 1"),)),
    Row("begin of a loop", "loop", (("fori_loop(0", "fori_loop(1"),)),
    Row("mask of a kernel of the library", "flash", (("causal=True", "causal=False"),)),
    Row("scale of a kernel of the library", "flash", (("sm_scale=0.5", "sm_scale=0.25"),)),
    Row("lengths for a kernel of the library", "flash", (("2, 256, 128", "2, 512, 128"),)),
]

LEAST_HITS, LEAST_MISSES = 15, 25


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    first = {"misses": variants_of(MISSES)}
    return run_table(
        tmp_path_factory.mktemp("edits_pallas"), SOURCES, HITS, first, script="edits_pallas.py", env={}
    )


def test_tables_are_long_enough():
    assert len(HITS) >= LEAST_HITS and len(MISSES) >= LEAST_MISSES
    assert len({row.name for row in HITS + MISSES}) == len(HITS + MISSES)


def test_edits_without_meaning_leave_the_fingerprint(table):
    wrong = describe(table, HITS, "hits", True)
    assert not wrong, "\n".join(wrong)


def test_edits_with_meaning_change_the_fingerprint(table):
    wrong = describe(table, MISSES, "misses", False)
    assert not wrong, "\n".join(wrong)


def test_no_two_programs_have_one_fingerprint(table):
    assert_all_differ(table, MISSES)
