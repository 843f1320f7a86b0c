"""Programs and edits of their sources. Each edit leaves the program the same or makes it another program.

Every source defines `program()`, which returns a jitted function and its arguments for lowering, and compiles
nothing itself. An edit is a list of replacements; the source must contain the text of each. `file` is the path
under which the edited source is compiled. Read by test_edits.py, run by edits.py.
"""

import dataclasses

SOURCES = {}

HEAD = '''
import functools
import typing

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

def shape(*dims, dtype=jnp.float32, sharding=None):
    return jax.ShapeDtypeStruct(dims, dtype, sharding=sharding)
'''

SOURCES["step"] = HEAD + '''
RATE = 0.25
LAYERS = 2

@jax.jit
def norm(values):
    centred = values - values.mean(-1, keepdims=True)
    return centred * lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5)

@functools.partial(jax.jit, static_argnames="scale")
def gate(values, scale):
    return jnp.where(values > 0, values, values * scale)

def features(kernel, images):
    names = ("NHWC", "HWIO", "NHWC")
    return gate(lax.conv_general_dilated(images, kernel, (1, 1), "SAME", None, None, names), 0.125).max((1, 2))

def forward(params, images, key):
    hidden = features(params["kernel"], images)
    keep = jax.random.bernoulli(key, 0.75, hidden.shape)
    hidden = jnp.where(keep, hidden / 0.75, 0.0)
    for _ in range(LAYERS):
        hidden = norm(hidden @ params["mix"])
    return hidden

def loss_of(params, images, labels, key):
    hidden = forward(params, images, key)
    total, _ = lax.scan(lambda sum, row: (sum + jnp.square(row).sum(), None), 0.0, hidden - labels)
    return total / labels.shape[0]

def step(params, images, labels, key):
    loss, slopes = jax.value_and_grad(loss_of)(params, images, labels, key)
    params = jax.tree.map(lambda p, g: p - RATE * g, params, slopes)
    return {"loss": loss, "params": params}

def program():
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
    whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("x"))
    params = {"kernel": shape(2, 2, 3, 4, sharding=whole), "mix": shape(4, 4, sharding=whole)}
    key = jax.eval_shape(jax.random.key, 0)
    images, labels = shape(4, 6, 6, 3, sharding=rows), shape(4, 4, sharding=rows)
    return jax.jit(step, donate_argnums=0), (params, images, labels, key)
'''

SOURCES["dots"] = HEAD + '''
TABLE = (np.arange(3000) % 7).astype(np.float32).reshape(1000, 3)
FLAGS = np.arange(3000) % 3 == 0

def work(a, b, c):
    product = lax.dot_general(
        a, b, (((1,), (0,)), ((), ())), precision=lax.Precision.DEFAULT, preferred_element_type=jnp.float32
    )
    batched = jnp.einsum("bij,bjk->bik", c, c)
    scaled = (product - a * 2.5) / (b + 1.0)
    chosen = jnp.where(jnp.maximum(scaled, -3.0) < 0.5, True, scaled > 0)
    total = lax.reduce_sum(scaled, (0,))
    picked = (jnp.asarray(TABLE)[:4, 0] * total, jnp.asarray(FLAGS).sum() + 3)
    return batched, chosen, picked, jnp.transpose(c, (0, 2, 1)), lax.broadcast_in_dim(total, (4, 4), (1,))

def program():
    return jax.jit(work, keep_unused=True), (shape(4, 4), shape(4, 4), shape(2, 4, 4))
'''

SOURCES["convolution"] = HEAD + '''
def work(images, kernel):
    out = lax.conv_general_dilated(
        images, kernel, window_strides=(1, 1), padding=((1, 1), (1, 1)),
        lhs_dilation=(1, 1), rhs_dilation=(1, 1),
        dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=1, batch_group_count=1,
    )
    return lax.reduce_window(out, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "SAME")

def program():
    return jax.jit(work), (shape(2, 5, 5, 4), shape(3, 3, 4, 4))
'''

SOURCES["indexing"] = HEAD + '''
MODE = lax.GatherScatterMode

def work(x, i):
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    gathered = lax.gather(x, i, numbers, (1, 4), indices_are_sorted=False, unique_indices=False, mode=MODE.CLIP)
    scattered = x.at[i[:, 0]].add(gathered, indices_are_sorted=False, unique_indices=False, mode="drop")
    ordered = lax.sort((x, -x), dimension=1, is_stable=True, num_keys=1)
    window = lax.dynamic_slice(x, (i[0, 0], 0), (2, 3))
    padded = lax.pad(x[1:5:2], 0.0, ((1, 0, 0), (0, 0, 1)))
    joined = lax.concatenate((window, window), 0)
    return scattered, ordered, padded, joined, lax.rev(x, (0,)), lax.iota(jnp.int32, 5), lax.top_k(x, 2)

def program():
    return jax.jit(work), (shape(6, 4), shape(3, 1, dtype=jnp.int32))
'''

SOURCES["loops"] = HEAD + '''
def work(x, flag):
    carried, ys = lax.scan(lambda c, v: (c * 0.5 + v, c), x[0], x, length=6, reverse=False)
    _, counted = lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 2.0), (0, carried))
    chosen = lax.cond(flag, lambda v: jnp.sin(v), lambda v: jnp.cos(v), counted)
    running = lax.cumsum(x, 0, reverse=False)
    return chosen, ys, running

def program():
    return jax.jit(work), (shape(6, 4), shape(dtype=jnp.bool_))
'''

SOURCES["numbers"] = HEAD + '''
def work(x, n, z, key):
    rounded = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    reduced = lax.reduce_precision(x, exponent_bits=8, mantissa_bits=7)
    transformed = jnp.fft.fft(z, n=8)
    shifted = (lax.shift_right_arithmetic(n, 2), n // 3, n & 5)
    compared = (x < rounded, n == 4, lax.convert_element_type(x, jnp.int32))
    noise = jax.random.uniform(key, (3,), minval=0.0, maxval=1.0)
    wide = lax.exp(x.astype(jnp.float16)).astype(jnp.float32)
    return rounded, reduced, transformed, shifted, compared, noise, wide, lax.clamp(0.0, x, 6.0)

def program():
    key = jax.eval_shape(lambda: jax.random.key(0, impl="threefry2x32"))
    return jax.jit(work), (shape(8), shape(8, dtype=jnp.int32), shape(8, dtype=jnp.complex64), key)
'''

SOURCES["mesh"] = HEAD + '''
def work(x, w):
    x = lax.with_sharding_constraint(x, NamedSharding(MESH, P("x", None)))
    return jnp.tanh(x @ w)

def program():
    global MESH
    MESH = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
    rows, columns = NamedSharding(MESH, P("x", None)), NamedSharding(MESH, P(None, "y"))
    arguments = (shape(8, 16, sharding=rows), shape(16, 8, sharding=columns))
    return jax.jit(work, out_shardings=NamedSharding(MESH, P("x", "y"))), arguments
'''

SOURCES["collectives"] = HEAD + '''
def work(x):
    ring = lax.ppermute(x, "x", [(0, 1), (1, 2), (2, 3), (3, 0)])
    total = lax.psum(ring, "x", axis_index_groups=[[0, 1], [2, 3]])
    spread = lax.all_gather(total, "x", axis=0, tiled=True)
    return lax.all_to_all(spread, "x", split_axis=0, concat_axis=1, tiled=True) + lax.axis_index("x")

def program():
    mesh = Mesh(np.array(jax.devices()[:4]), ("x",))
    mapped = jax.shard_map(work, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
    return jax.jit(mapped), (shape(16, 4),)
'''

SOURCES["calls"] = HEAD + '''
def call(x):
    target = jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct(x.shape, x.dtype), has_side_effect=False)
    return target(x, size=4)

def work(x, y):
    return lax.optimization_barrier(call(x)) + y

def program():
    return jax.jit(work), (shape(4), shape(4))
'''

SOURCES["interface"] = HEAD + '''
def inner(a):
    return jnp.sin(a) * 2.0

def work(a, b):
    return inner(a) + b, a - b

def program():
    device = jax.devices()[0]
    place = jax.sharding.SingleDeviceSharding(device, memory_kind=None)
    return jax.jit(work, donate_argnums=(), in_shardings=place, out_shardings=place), (shape(4, 6), shape(4, 6))
'''

# Layouts of arguments and results; with `automatic` the compiler chooses.
SOURCES["layouts"] = HEAD + '''
from jax.experimental import layout

def program():
    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    rows, columns = (layout.Format(layout.Layout(major_to_minor=order), device) for order in ((0, 1), (1, 0)))
    automatic = layout.Format(layout.Layout.AUTO, device)
    return jax.jit(lambda x: x * 3, in_shardings=rows, out_shardings=rows), (shape(4, 6),)
'''

SOURCES["remat"] = HEAD + '''
def block(x):
    return jnp.sin(jnp.exp(x) @ x)

def work(x):
    return jax.checkpoint(block, policy=jax.checkpoint_policies.nothing_saveable)(x).sum()

def program():
    return jax.jit(jax.grad(work)), (shape(4, 4),)
'''


@dataclasses.dataclass
class Row:
    name: str
    base: str
    edits: list
    file: str = ""
    sources: dict = dataclasses.field(default_factory=lambda: SOURCES)

    def source(self):
        text = self.sources[self.base]
        for old, new in self.edits:
            assert old in text, f"{self.name}: {old!r} is not in {self.base!r}"
            text = text.replace(old, new)
        return text


def rows(table, **common):
    return [Row(name, base, list(edits), **common) for name, base, *edits in table]


DIMENSIONS = "(((1,), (0,)), ((), ()))"
X64 = "def program():\n    jax.config.update('jax_enable_x64', True)"

# Edits that leave the program the same.
HITS = rows([
    ("moved lines", "step", ("\n@jax.jit", "\n\n\n\n@jax.jit"),
     ("    hidden = features", "\n\n    hidden = features")),
    ("comments", "step", ("    hidden = features", "    # What the images show.\n    hidden = features")),
    ("docstring", "step", ("(params, images, key):\n", '(params, images, key):\n    """Predicts."""\n')),
    ("indentation", "step", ("    loss, slopes =", "    if True:\n        loss, slopes =")),
    ("function renamed", "step", ("def step(", "def train_one_batch("), ("jit(step", "jit(train_one_batch")),
    ("inner jit renamed", "step", ("norm", "standardize")),
    ("inner jits renamed crosswise", "step", ("norm", "third"), ("gate", "norm"), ("third", "gate")),
    ("arguments renamed", "step", ("images", "pictures"), ("labels", "targets")),
    ("locals renamed", "step", ("hidden", "activations"), ("centred", "c")),
    ("constant renamed", "step", ("RATE", "LEARNING_RATE"), ("LAYERS", "DEPTH")),
    ("constant written otherwise", "step", ("RATE = 0.25", "RATE = 1 / 4"), ("1e-5", "0.00001")),
    ("helper renamed", "step", ("forward", "predict"), ("loss_of", "cost")),
    ("helper written out", "step", ("features(params[\"kernel\"], images)",
     'gate(lax.conv_general_dilated(images, params["kernel"], (1, 1), "SAME", None, None,'
     ' ("NHWC", "HWIO", "NHWC")), 0.125).max((1, 2))')),
    ("named_scope added", "step", ("    hidden = features(params[\"kernel\"], images)",
     "    with jax.named_scope('encoder'):\n        hidden = features(params[\"kernel\"], images)")),
    ("named_call added", "step",
     ("features(params[\"kernel\"]", "jax.named_call(features, name='eyes')(params[\"kernel\"]")),
    ("key of the result renamed", "step", ('"loss": loss', '"cost": loss')),
    ("key of an argument renamed", "step", ('"mix"', '"weights"'), ('"kernel"', '"filter"')),
    ("result in a named tuple", "step",
     ('return {"loss": loss, "params": params}', 'return Result(loss, params)'),
     ("RATE = 0.25", "RATE = 0.25\n"
      "Result = typing.NamedTuple('Result', [('loss', object), ('params', object)])")),
    ("result in a plain tuple", "step", ('return {"loss": loss, "params": params}', 'return loss, params')),
    ("lambda", "step", ("jax.jit(step,", "jax.jit(lambda p, i, l, k: step(p, i, l, k),")),
    ("partial", "step", ("def step(params,", "def step(rate, params,"), ("RATE * g", "rate * g"),
     ("jit(step,", "jit(functools.partial(step, RATE),")),
    ("method", "step", ("jax.jit(step,", "jax.jit(Model().step,"),
     ("def program", "class Model:\n    def step(self, *arguments):\n"
      "        return step(*arguments)\n\ndef program")),
    ("decorator or call", "step", ("@jax.jit\ndef norm", "def norm"),
     ("def features", "norm = jax.jit(norm)\n\ndef features")),
    ("helpers in another order", "step",
     ("@functools.partial(jax.jit, static_argnames=\"scale\")\ndef gate(values, scale):\n"
      "    return jnp.where(values > 0, values, values * scale)\n", ""),
     ("@jax.jit\ndef norm", "@functools.partial(jax.jit, static_argnames=\"scale\")\ndef gate(values, scale):\n"
      "    return jnp.where(values > 0, values, values * scale)\n\n@jax.jit\ndef norm")),
    ("static argument by keyword", "step", ("names), 0.125)", "names), scale=0.125)")),
    ("donated by name", "step", ("donate_argnums=0", "donate_argnames='params'")),
    ("annotations", "step", ("(params, images, key):", "(params: dict, images: jax.Array, key) -> jax.Array:")),
    ("modules under other names", "step", ("jax.numpy as jnp", "jax.numpy as xp"), ("jnp.", "xp.")),
    ("loop written otherwise", "step",
     ("    for _ in range(LAYERS):\n        hidden = norm(hidden @ params[\"mix\"])\n",
     "    hidden = norm(hidden @ params[\"mix\"])\n    hidden = norm(hidden @ params[\"mix\"])\n")),
    ("name for a checkpoint", "step", ("hidden / 0.75", "checkpoint_name(hidden, 'h') / 0.75")),
    ("other programs traced before", "step", ("def program():", "def program():\n"
     "    jax.jit(lambda x: norm(gate(x, 0.5)) + norm(x)).lower(shape(3, 3))")),
    ("no full tracebacks", "step", ("def program():", "def program():\n"
     "    jax.config.update('jax_include_full_tracebacks_in_locations', False)")),
    ("shorter tracebacks", "step", ("def program():", "def program():\n"
     "    jax.config.update('jax_traceback_in_locations_limit', 2)")),
    ("mapped function renamed", "collectives", ("def work(x)", "def shmap_body(x)"),
     ("map(work", "map(shmap_body")),
    ("function of a sharded program renamed", "mesh", ("work", "matmul")),
    ("branches renamed", "loops", ("lambda v: jnp.sin(v)", "jnp.sin")),
    ("table made otherwise", "dots", ("(np.arange(3000) % 7)", "np.tile(np.arange(7), 429)[:3000]")),
]) + [Row("other file", "step", [], file="/somewhere/else/entirely/train.py")]

# Edits that make another program, some by a minimal difference.
MISSES = rows([
    # Constants.
    ("float constant", "dots", ("2.5", "2.500001")),
    ("float constant of a step", "step", ("RATE = 0.25", "RATE = 0.26")),
    ("int constant", "dots", ("+ 3", "+ 4")),
    ("bool constant", "dots", ("0.5, True,", "0.5, False,")),
    ("sign of zero", "indexing", ("lax.pad(x[1:5:2], 0.0", "lax.pad(x[1:5:2], -0.0")),
    ("one element of a large table", "dots", ("\nFLAGS", "\nTABLE[900, 1] += 1\nFLAGS")),
    ("one bit of a large table", "dots",
     ("\nFLAGS", "\nTABLE[900, 1] = np.nextafter(TABLE[900, 1], np.float32(9))\nFLAGS")),
    ("one bool of a large table", "dots", ("\ndef work", "\nFLAGS[2999] = not FLAGS[2999]\n\ndef work")),
    ("constant in a loop", "loops", ("c * 0.5", "c * 0.25")),
    # Shapes and types.
    ("shape", "dots", ("(shape(4, 4), shape(4, 4)", "(shape(4, 4), shape(1, 4)"),
     (DIMENSIONS, "(((0,), (1,)), ((), ()))")),
    ("rank", "interface", ("shape(4, 6)", "shape(4, 6, 1)")),
    ("dtype bfloat16", "interface", ("shape(4, 6)", "shape(4, 6, dtype=jnp.bfloat16)")),
    ("dtype int32", "interface", ("shape(4, 6)", "shape(4, 6, dtype=jnp.int32)"), ("def program():", X64)),
    ("dtype int64", "interface", ("shape(4, 6)", "shape(4, 6, dtype=jnp.int64)"), ("def program():", X64)),
    ("dtype unsigned", "interface", ("shape(4, 6)", "shape(4, 6, dtype=jnp.uint32)"), ("def program():", X64)),
    ("dtype float64", "interface", ("shape(4, 6)", "shape(4, 6, dtype=jnp.float64)"), ("def program():", X64)),
    ("dtype in between", "numbers", ("jnp.float16", "jnp.bfloat16")),
    ("conversion", "numbers", ("(x, jnp.int32)", "(x, jnp.uint32)")),
    # Operations.
    ("add or subtract", "interface", ("inner(a) + b", "inner(a) - b")),
    ("maximum or minimum", "dots", ("jnp.maximum", "jnp.minimum")),
    ("operands of subtract", "interface", ("a - b", "b - a")),
    ("operands of divide", "dots", ("(product - a * 2.5) / (b + 1.0)", "(b + 1.0) / (product - a * 2.5)")),
    ("operands of dot", "dots", ("a, b, (((1", "b, a, (((1")),
    ("direction of a comparison", "numbers", ("x < rounded", "x <= rounded")),
    ("equal or not equal", "numbers", ("n == 4", "n != 4")),
    ("logical or arithmetic shift", "numbers", ("shift_right_arithmetic", "shift_right_logical")),
    ("another function", "interface", ("jnp.sin", "jnp.cos")),
    ("rounding of ties", "numbers", ("TO_NEAREST_EVEN", "AWAY_FROM_ZERO")),
    ("bits of a rounded number", "numbers", ("mantissa_bits=7", "mantissa_bits=10")),
    ("bounds of clamp", "numbers", ("lax.clamp(0.0, x, 6.0)", "lax.clamp(0.0, x, 5.0)")),
    # Products, reductions, movements.
    ("precision", "dots", ("Precision.DEFAULT", "Precision.HIGHEST")),
    ("type of the sums", "dots", ("preferred_element_type=jnp.float32", "preferred_element_type=jnp.float64"),
     ("def program():", X64)),
    ("contracted dimension", "dots", (DIMENSIONS, "(((1,), (1,)), ((), ()))")),
    ("einsum", "dots", ("bij,bjk->bik", "bij,bkj->bik")),
    ("reduced dimension", "dots", ("lax.reduce_sum(scaled, (0,))", "lax.reduce_sum(scaled, (1,))")),
    ("reduction", "dots", ("lax.reduce_sum", "lax.reduce_max")),
    ("permutation", "dots", ("(0, 2, 1)", "(1, 2, 0)"), ("shape(2, 4, 4)", "shape(4, 4, 4)")),
    ("broadcast dimension", "dots", ("lax.broadcast_in_dim(total, (4, 4), (1,))",
     "lax.broadcast_in_dim(total, (4, 4), (0,))")),
    ("reversed dimension", "indexing", ("lax.rev(x, (0,))", "lax.rev(x, (1,))")),
    ("concatenated dimension", "indexing", ("(window, window), 0", "(window, window), 1")),
    ("stride of a slice", "indexing", ("x[1:5:2]", "x[1:4:2]")),
    ("amount of padding", "indexing", ("((1, 0, 0), (0, 0, 1))", "((0, 1, 0), (0, 0, 1))")),
    ("length of iota", "indexing", ("lax.iota(jnp.int32, 5)", "lax.iota(jnp.int32, 6)")),
    ("padding of a convolution", "convolution", ("((1, 1), (1, 1))", "((0, 2), (1, 1))")),
    ("strides of a convolution", "convolution", ("window_strides=(1, 1)", "window_strides=(2, 1)")),
    ("dilation of the images", "convolution", ("lhs_dilation=(1, 1)", "lhs_dilation=(1, 2)")),
    ("dilation of the kernel", "convolution", ("rhs_dilation=(1, 1)", "rhs_dilation=(2, 1)")),
    ("feature groups", "convolution", ("feature_group_count=1", "feature_group_count=2"),
     ("3, 3, 4, 4", "3, 3, 2, 4")),
    ("batch groups", "convolution", ("batch_group_count=1", "batch_group_count=2")),
    ("dimensions of a convolution", "convolution", ('"HWIO"', '"WHIO"')),
    ("window", "convolution", ("(1, 2, 2, 1)", "(1, 2, 1, 2)")),
    ("sorted indices of gather", "indexing",
     ("(1, 4), indices_are_sorted=False", "(1, 4), indices_are_sorted=True")),
    ("gather clips or fills", "indexing", ("MODE.CLIP", "MODE.FILL_OR_DROP")),
    ("unique indices of scatter", "indexing",
     ("gathered, indices_are_sorted=False, unique_indices=False",
     "gathered, indices_are_sorted=False, unique_indices=True")),
    ("sorted indices of scatter", "indexing",
     ("gathered, indices_are_sorted=False", "gathered, indices_are_sorted=True")),
    ("scatter clips or drops", "indexing", ('mode="drop"', 'mode="clip"')),
    ("scatter adds or multiplies", "indexing", ("].add(", "].multiply(")),
    ("stable sort", "indexing", ("is_stable=True", "is_stable=False")),
    ("sorted dimension", "indexing", ("dimension=1", "dimension=0")),
    ("keys of a sort", "indexing", ("num_keys=1", "num_keys=2")),
    ("k of top-k", "indexing", ("top_k(x, 2)", "top_k(x, 3)")),
    # Control flow.
    ("length of a scan", "loops", ("length=6", "length=5"), ("x[0], x,", "x[0], x[:5],")),
    ("direction of a scan", "loops", ("length=6, reverse=False", "length=6, reverse=True")),
    ("bound of a while loop", "loops", ("s[0] < 10", "s[0] < 11")),
    ("condition of a while loop", "loops", ("s[0] < 10", "s[0] <= 10")),
    ("branches swapped", "loops",
     ("lambda v: jnp.sin(v), lambda v: jnp.cos(v)", "lambda v: jnp.cos(v), lambda v: jnp.sin(v)")),
    ("direction of cumsum", "loops", ("(x, 0, reverse=False)", "(x, 0, reverse=True)")),
    ("unrolled scan", "loops", ("reverse=False)\n    _", "reverse=False, unroll=2)\n    _")),
    # Fourier, random numbers, foreign calls.
    ("kind of FFT", "numbers", ("fft.fft(", "fft.ifft(")),
    ("length of FFT", "numbers", ("n=8", "n=16")),
    ("random number generator", "numbers", ("threefry2x32", "rbg")),
    ("range of random numbers", "numbers", ("maxval=1.0", "maxval=2.0")),
    ("target of a call", "calls", ("no_such_target", "no_such_other_target")),
    ("attribute of a call", "calls", ("size=4", "size=5")),
    ("type of an attribute of a call", "calls", ("size=4", "size=np.int32(4)")),
    ("name of an attribute of a call", "calls", ("size=4", "count=4")),
    ("side effect of a call", "calls", ("has_side_effect=False", "has_side_effect=True")),
    ("operand of a call", "calls", ("call(x)) + y", "call(y)) + x")),
    ("barrier", "calls", ("lax.optimization_barrier(call(x))", "call(x)")),
    # Interfaces.
    ("donation", "interface", ("donate_argnums=()", "donate_argnums=0")),
    ("which argument is donated", "interface", ("donate_argnums=()", "donate_argnums=1")),
    ("donation of a step", "step", ("donate_argnums=0", "donate_argnums=()")),
    ("memory kind", "interface", ("memory_kind=None", "memory_kind='pinned_host'")),
    ("one result less", "interface", ("return inner(a) + b, a - b", "return inner(a) + b")),
    ("one result twice", "interface", ("return inner(a) + b, a - b", "return inner(a) + b, a - b, a - b")),
    ("order of the results", "interface", ("return inner(a) + b, a - b", "return a - b, inner(a) + b")),
    ("order of the arguments", "interface", ("def work(a, b)", "def work(b, a)")),
    ("one argument more", "interface", ("def work(a, b)", "def work(a, b, *_)"),
     ("(shape(4, 6), shape(4, 6))", "(shape(4, 6),) * 3"), ("jit(work,", "jit(work, keep_unused=True,")),
    ("function inlined or not", "interface", ("def inner", "@jax.jit\ndef inner")),
    ("layout of the argument", "layouts", ("in_shardings=rows", "in_shardings=columns")),
    ("layout of the result", "layouts", ("out_shardings=rows", "out_shardings=columns")),
    ("layout chosen by the compiler", "layouts", ("out_shardings=rows", "out_shardings=automatic")),
    ("what is saved for the gradient", "remat", ("nothing_saveable", "dots_saveable")),
    ("gradient without rematerialization", "remat",
     ("jax.checkpoint(block, policy=jax.checkpoint_policies.nothing_saveable)", "block")),
    # Many devices.
    ("sharding of an argument", "mesh", ("shape(8, 16, sharding=rows)", "shape(8, 16, sharding=columns)")),
    ("sharding of the result", "mesh",
     ("NamedSharding(MESH, P(\"x\", \"y\"))", "NamedSharding(MESH, P(\"y\", \"x\"))")),
    ("sharding constraint", "mesh",
     ("constraint(x, NamedSharding(MESH, P(\"x\", None)))",
     "constraint(x, NamedSharding(MESH, P(\"y\", None)))")),
    ("no sharding constraint", "mesh",
     ("    x = lax.with_sharding_constraint(x, NamedSharding(MESH, P(\"x\", None)))\n", "")),
    ("shape of the mesh", "mesh", ("reshape(2, 2)", "reshape(4, 1)")),
    ("axes of the mesh", "mesh", ('("x", "y"))\n    rows', '("y", "x"))\n    rows')),
    ("permutation of devices", "collectives", ("[(0, 1), (1, 2), (2, 3), (3, 0)]",
     "[(0, 3), (1, 0), (2, 1), (3, 2)]")),
    ("one pair of devices less", "collectives", ("(2, 3), (3, 0)]", "(2, 3)]")),
    ("groups of devices", "collectives", ("[[0, 1], [2, 3]]", "[[0, 2], [1, 3]]")),
    ("order in a group of devices", "collectives", ("[[0, 1], [2, 3]]", "[[1, 0], [2, 3]]")),
    ("gathered dimension", "collectives", ("axis=0, tiled=True", "axis=1, tiled=True")),
    ("split dimension", "collectives", ("split_axis=0, concat_axis=1", "split_axis=1, concat_axis=0")),
    ("sum or maximum over devices", "collectives",
     ('lax.psum(ring, "x", axis_index_groups=[[0, 1], [2, 3]])', 'lax.pmax(ring, "x")')),
    ("specification of a mapped function", "collectives", ('out_specs=P("x")', 'out_specs=P()')),
])

# Edits that leave the program the same but change its options: same fingerprint, other key.
OPTIONS = rows([
    ("order of the devices", "mesh", (".reshape(2, 2)", "[::-1].reshape(2, 2)")),
    ("another device", "interface", ("devices()[0]", "devices()[1]")),
    ("an option of the compiler", "remat",
     ("jax.jit(jax.grad(work))",
     "jax.jit(jax.grad(work), compiler_options={'xla_cpu_enable_fast_min_max': True})")),
])
