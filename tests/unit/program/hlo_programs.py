"""Real programs as HloModuleProto, made by an installed JAX, before and after compilation for CPUs. For compare_hlo.py.
"""

import os

# Skips optimization, which would take most of the time: the machine code does not matter here.
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4 --xla_backend_optimization_level=0"
os.environ["JAX_PLATFORMS"] = "cpu"

import functools  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

PROGRAMS = {}
WIDE = {"complex_numbers", "wide_and_narrow"}  # these use 64-bit types


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def of(dtype, *shape):
    return jax.ShapeDtypeStruct(shape, dtype)


def program(*args, **jit_options):
    """Registers a function with its arguments for lowering."""

    def register(function):
        PROGRAMS[function.__name__] = (jax.jit(function, **jit_options), args)
        return function

    return register


# --- Models and training steps --------------------------------------------------------------------------


def mlp(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


MLP = [(f32(8, 16), f32(16)), (f32(16, 16), f32(16)), (f32(16, 4), f32(4))]


@program(MLP, f32(32, 8), f32(32, 4), donate_argnums=0)
def train_step_sgd(params, x, y):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((mlp(p, x) - y) ** 2))(params)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), loss


@program(MLP, MLP, MLP, f32(32, 8), of(jnp.int32, 32), of(jnp.int32), donate_argnums=(0, 1, 2))
def train_step_adam(params, m, v, x, labels, step):
    def loss_of(p):
        logits = jax.nn.log_softmax(mlp(p, x))
        return -jnp.mean(jnp.take_along_axis(logits, labels[:, None], axis=1))

    grads = jax.grad(loss_of)(params)
    m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, grads)
    v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, grads)
    scale = jnp.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))
    new = jax.tree.map(lambda p, a, b: p - 1e-3 * scale * a / (jnp.sqrt(b) + 1e-8), params, m, v)
    return new, m, v, step + 1


def attention(q, k, v, mask):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(mask, scores, -1e9)), v)


def layer(x, weights):
    wqkv, wo, w1, w2 = weights
    q, k, v = jnp.split(x @ wqkv, 3, axis=-1)
    heads = [a.reshape(*a.shape[:2], 4, -1) for a in (q, k, v)]
    mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    x = x + attention(*heads, mask).reshape(x.shape) @ wo
    return x + jax.nn.gelu(x @ w1) @ w2


LAYER = (f32(16, 48), f32(16, 16), f32(16, 64), f32(64, 16))
STACK = tuple(f32(3, *w.shape) for w in LAYER)


@program(LAYER, f32(2, 8, 16))
def transformer_layer(weights, x):
    return layer(x, weights)


@program(STACK, f32(2, 8, 16))
def transformer_scan_grad(weights, x):
    def loss(w):
        return jnp.sum(lax.scan(lambda c, one: (layer(c, one), None), x, w)[0])

    return jax.grad(loss)(weights)


@program(STACK, f32(2, 8, 16))
def transformer_remat(weights, x):
    step = jax.checkpoint(lambda c, one: (layer(c, one), None))
    return jax.grad(lambda w: jnp.sum(lax.scan(step, x, w)[0]))(weights)


@program(f32(2, 16, 16, 3), f32(3, 3, 3, 8), f32(3, 3, 8, 8), f32(8, 10))
def convolution_net(x, k1, k2, w):
    dims = ("NHWC", "HWIO", "NHWC")
    x = jax.nn.relu(lax.conv_general_dilated(x, k1, (1, 1), "SAME", dimension_numbers=dims))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = jax.nn.relu(lax.conv_general_dilated(x, k2, (2, 2), "SAME", dimension_numbers=dims))
    return x.mean((1, 2)) @ w


@program(f32(2, 8, 8, 4), f32(3, 3, 4, 8))
def convolution_gradient(x, k):
    def loss(x, k):
        y = lax.conv_general_dilated(
            x, k, (2, 1), ((1, 1), (0, 2)), dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return jnp.sum(y * y)

    return jax.grad(loss, (0, 1))(x, k)


@program(f32(1, 8, 9, 9), f32(16, 4, 3, 3))
def convolution_grouped_dilated(x, k):
    return lax.conv_general_dilated(
        x, k, (1, 2), ((2, 0), (1, 1)), lhs_dilation=(1, 2), rhs_dilation=(2, 1), feature_group_count=2
    )


@program(f32(4, 8, 8, 2), f32(3, 3, 2, 8))
def convolution_batch_groups(x, k):
    return lax.conv_general_dilated(
        x, k, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"), batch_group_count=2
    )


@program(f32(1, 5, 5, 2), f32(3, 3, 2, 2))
def convolution_transpose(x, k):
    return lax.conv_transpose(x, k, (2, 2), "SAME")


@program(f32(16, 8), f32(8), f32(8))
def layer_norm(x, scale, bias):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-6) * scale + bias


@program(f32(10, 4, 8), f32(8, 32), f32(8, 32))
def lstm(xs, wx, wh):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ wx + h @ wh, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((4, 8))
    return lax.scan(step, (zeros, zeros), xs, unroll=2)


@program(f32(50, 16), of(jnp.int32, 4, 6))
def embedding(table, tokens):
    return table[tokens].sum(1)


@program(f32(50, 16), of(jnp.int32, 4, 6))
def embedding_gradient(table, tokens):
    return jax.grad(lambda t: jnp.sum(jnp.sin(t[tokens])))(table)


# --- Control flow ---------------------------------------------------------------------------------------


@program(f32())
def while_loop(x):
    return lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 1.5), (0, x))


@program(f32(6))
def fori_loop(x):
    return lax.fori_loop(0, 5, lambda i, a: a.at[i].add(a.sum()), x)


@program(of(bool), f32(3), f32(3))
def cond(p, x, y):
    return lax.cond(p, lambda a, b: a + b, lambda a, b: a * b - 1, x, y)


@program(of(jnp.int32), f32(3))
def switch(i, x):
    return lax.switch(i, [jnp.sin, jnp.cos, lambda a: a * 2, lambda a: a.cumsum()], x)


@program(of(jnp.int32), f32(4, 4))
def nested_control(n, x):
    def body(i, a):
        return lax.cond(i % 2 == 0, lambda b: b @ b, lambda b: lax.fori_loop(0, i, lambda _, c: c + 1, b), a)

    return lax.fori_loop(0, n, body, x)


@program(f32(12))
def map_over(x):
    return lax.map(lambda a: jnp.exp(a) + 1, x)


@program(f32(12, 3))
def associative_scan(x):
    return lax.associative_scan(jnp.add, x), jnp.cumprod(x, 1), lax.cummax(x, 0)


@program(f32(8))
def custom_derivative(x):
    @jax.custom_vjp
    def f(a):
        return jnp.sin(a)

    f.defvjp(lambda a: (f(a), a), lambda a, g: (g * 3,))
    return jax.grad(lambda a: f(a).sum())(x)


@program(f32(4))
def inner_functions(x):
    inner = jax.jit(lambda a: jnp.tanh(a) * 2)
    return inner(x) + inner(x + 1) + jax.named_call(inner, name="named")(x)


# --- Single operations ----------------------------------------------------------------------------------


@program(f32(8, 5), of(jnp.int32, 8, 5))
def sort(x, y):
    return jnp.sort(x, 0), lax.sort((x, y), num_keys=2, is_stable=False), jnp.argsort(-x, 1)


@program(f32(4, 64))
def top_k(x):
    return lax.top_k(x, 5), lax.approx_max_k(x, 3)


@program(f32(7, 5, 3), of(jnp.int32, 4, 2))
def gather(x, at):
    return x[at[:, 0], at[:, 1]], jnp.take(x, at, axis=1, mode="clip"), lax.dynamic_slice(x, (1, 2, 0), (2, 2, 3))


@program(f32(7, 5), of(jnp.int32, 4), f32(4, 5))
def scatter(x, at, updates):
    return (
        x.at[at].set(updates),
        x.at[at].add(updates, unique_indices=True, indices_are_sorted=True),
        x.at[at].mul(updates),
        x.at[1:3].max(2.0),
    )


@program(f32(3, 6, 4), of(jnp.int32, 3, 2))
def gather_batched(x, at):
    return jax.vmap(lambda a, i: a[i])(x, at)


@program(f32(4, 8), f32(2, 2), of(jnp.int32))
def dynamic_update(x, y, i):
    return lax.dynamic_update_slice(x, y, (i, 2))


@program(f32(4, 6))
def slices_and_pads(x):
    return x[1:4:2, ::3], jnp.pad(x, ((1, 2), (0, 3))), lax.pad(x, 0.5, ((1, -1, 2), (0, 0, 1))), x[::-1]


@program(f32(2, 3, 4))
def shapes(x):
    return x.transpose(2, 0, 1), x.reshape(6, 4), jnp.concatenate([x, x], 1), jnp.broadcast_to(x, (5, 2, 3, 4))


@program(f32(4, 5))
def reductions(x):
    return x.sum(), x.max(0), x.argmin(1), jnp.any(x > 0), jnp.prod(x), jnp.median(x), jnp.linalg.norm(x)


@program(f32(8, 8))
def windows(x):
    pooled = lax.reduce_window(x, 0.0, lax.add, (3, 2), (2, 2), ((1, 1), (0, 1)), window_dilation=(1, 2))
    return pooled, jax.grad(lambda a: lax.reduce_window(a, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID").sum())(x)


@program(of(jnp.complex64, 4, 8), f32(4, 8))
def fft(z, x):
    return jnp.fft.fft(z), jnp.fft.ifft2(z), jnp.fft.rfft(x), jnp.fft.irfft(z, 14)


@program(of(jnp.complex64, 3), of(jnp.complex128, 3))
def complex_numbers(x, y):
    return x * (2 - 3j) + jnp.conj(x), jnp.abs(y), jnp.exp(x), jnp.array([1 + 2j, 3 - 4j])


@program(of(jnp.uint32, 2), static_argnums=())
def random_threefry(key):
    a, b, c = jax.random.split(key, 3)
    return jax.random.normal(a, (4, 4)), jax.random.randint(b, (3,), 0, 10), jax.random.permutation(c, 8)


@program(of(jnp.uint32, 4))
def random_bit_generator(key):
    return lax.rng_bit_generator(key, (4, 3), jnp.uint32, lax.RandomAlgorithm.RNG_PHILOX), lax.rng_bit_generator(
        key, (5,), jnp.uint32
    )


@program(f32())
def random_uniform_op(x):
    return lax.rng_uniform(0.0, x, (3,))


@program(f32(4, 8), f32(8, 4))
def precisions(x, y):
    highest = jnp.matmul(x, y, precision="highest")
    return highest + lax.dot_general(x, y, (((1,), (0,)), ((), ())), precision=("high", "default"))


@program(of(jnp.bfloat16, 4, 8), of(jnp.bfloat16, 8, 4))
def bfloat16(x, y):
    return jnp.dot(x, y, preferred_element_type=jnp.float32), x * 1.5 + jnp.array([1, 2, 3, 4, 5, 6, 7, 8], jnp.bfloat16)


@program(of(jnp.bfloat16, 4, 8), of(jnp.bfloat16, 8, 4))
def dot_algorithm(x, y):
    return lax.dot(x, y, precision=lax.DotAlgorithmPreset.BF16_BF16_F32, preferred_element_type=jnp.float32)


@program(of(jnp.int8, 4, 8), of(jnp.int8, 8, 4))
def int8_matmul(x, y):
    return lax.dot(x, y, preferred_element_type=jnp.int32), x + np.arange(8, dtype=np.int8)


@program(f32(4))
def small_integers(x):
    i4 = x.astype(jnp.int4)
    return i4.astype(jnp.int8), (x.astype(jnp.uint4) * 2).astype(jnp.float32), jnp.array([1, -2, 3], jnp.int4)


@program(f32(4, 4))
def float8(x):
    a, b = x.astype(jnp.float8_e4m3fn), x.astype(jnp.float8_e5m2)
    return a.astype(jnp.float32) + b.astype(jnp.float32), jnp.array([1.0, 2.0], jnp.float8_e4m3fn)


@program(of(jnp.float16, 4), of(jnp.float64, 4))
def wide_and_narrow(x, y):
    return x + np.float16(0.1), y * np.pi, y.astype(jnp.int64) + 12345678901234, jnp.array([1, 2], jnp.uint16)


@program(of(jnp.int32, 5), of(jnp.uint8, 5))
def bits(x, y):
    return x << 2, x >> 1, x ^ 7, ~y, lax.population_count(y), lax.clz(x), lax.shift_right_logical(x, x)


@program(of(bool, 4), of(bool, 4))
def booleans(x, y):
    return x & y, ~x | y, jnp.where(x, 1, 2), np.array([True, False, True, True]) ^ x


@program(f32(5))
def elementwise(x):
    return [g(x) for g in (jnp.sin, jnp.exp, jnp.expm1, jnp.log1p, jnp.sqrt, lax.rsqrt, jnp.cbrt, jnp.floor,
                           jnp.ceil, jnp.round, jnp.sign, jnp.tan, lax.logistic, lax.erf, jnp.isfinite)]  # fmt: skip


@program(f32(5), f32(5))
def comparisons(x, y):
    return x < y, x >= y, x == y, x != y, jnp.clip(x, 0, 1), lax.nextafter(x, y), jnp.arctan2(x, y), x % y


@program(f32(5))
def reduced_precision(x):
    return lax.reduce_precision(x, 5, 10), lax.bitcast_convert_type(x, jnp.int32), lax.optimization_barrier(x)


@program()
def iotas():
    return jnp.arange(10), lax.broadcasted_iota(jnp.int32, (3, 4), 1), jnp.eye(3)


@program(f32(64, 64))
def large_constants(x):
    table = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    return x @ table, jnp.asarray(np.arange(300, dtype=np.int32) - 150), jnp.asarray(np.arange(200) % 3 == 0)


@program(f32(4, 4))
def linear_algebra(x):
    a = x @ x.T + jnp.eye(4)
    return jnp.linalg.cholesky(a), jnp.linalg.qr(a), jnp.linalg.eigh(a), jnp.linalg.inv(a), jnp.linalg.svd(a)


@program(f32(3, 4, 4), f32(3, 4, 2))
def triangular_solve(a, b):
    solve = functools.partial(lax.linalg.triangular_solve, a, b, left_side=True)
    return solve(lower=True, transpose_a=True), solve(lower=False, unit_diagonal=True)


@program(f32(6, 4), f32(3, 4, 5), of(jnp.int32, 3))
def ragged_dot(x, w, sizes):
    return lax.ragged_dot(x, w, sizes)


@program(f32(2, 3, 4), f32(2, 4, 5))
def batched_matmul(x, y):
    return jnp.einsum("bij,bjk->bik", x, y), jnp.tensordot(x, y, ((0, 2), (0, 1)))


@program(f32(3), f32(3))
def tuples(x, y):
    return {"b": (x, y), "a": [x + y, None]}, ()


@program(f32(8, 8), keep_unused=True)
def donated_and_aliased(x):
    return x.at[0].set(1.0)


PROGRAMS["donation"] = (jax.jit(lambda a, b: (a + 1, b * 2), donate_argnums=(0, 1)), (f32(4), f32(8)))
PROGRAMS["hessian"] = (jax.jit(jax.hessian(lambda x: jnp.sum(jnp.sin(x) ** 3))), (f32(3),))
PROGRAMS["interpolation"] = (jax.jit(lambda x, a, b: jnp.interp(x, a, b)), (f32(5), f32(7), f32(7)))
PROGRAMS["resize"] = (jax.jit(lambda x: jax.image.resize(x, (9, 7, 3), "bilinear")), (f32(4, 5, 3),))
PROGRAMS["histogram"] = (jax.jit(lambda x: jnp.histogram(x, 5)), (f32(30),))
PROGRAMS["convolve"] = (jax.jit(jnp.convolve), (f32(9), f32(4)))
PROGRAMS["polynomial"] = (jax.jit(lambda c, x: jnp.polyval(c, x)), (f32(5), f32(3)))


@program(f32(16, 16))
def pallas_interpreted(x):
    from jax.experimental import pallas as pl

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2 + pl.program_id(0)

    spec = pl.BlockSpec((8, 16), lambda i: (i, 0))
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(kernel, out, grid=(2,), in_specs=[spec], out_specs=spec, interpret=True)(x)


# --- Four devices ---------------------------------------------------------------------------------------

MESH = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("data", "model"))
LINE = Mesh(np.array(jax.devices()[:4]), ("i",))


def sharded(*spec):
    return NamedSharding(MESH, P(*spec))


@program(
    f32(8, 16), f32(16, 8),
    in_shardings=(sharded("data", None), sharded(None, "model")), out_shardings=sharded("data", "model"),
)  # fmt: skip
def sharded_matmul(x, w):
    return jnp.tanh(x @ w)


@program(f32(8, 16), in_shardings=(sharded(("data", "model")),))
def sharded_constraints(x):
    x = lax.with_sharding_constraint(x * 2, sharded(None, "model"))
    return lax.with_sharding_constraint(x.T, sharded()).sum()


@program(
    [f32(8, 16), f32(16, 8)], f32(8, 8),
    in_shardings=([sharded(None, "model"), sharded("model", None)], sharded("data")), donate_argnums=0,
)  # fmt: skip
def sharded_train_step(ws, x):
    grads = jax.grad(lambda w: jnp.mean((jax.nn.relu(x @ w[0]) @ w[1]) ** 2))(ws)
    return [w - 0.1 * g for w, g in zip(ws, grads)]


def mapped(function, inputs, outputs):
    make = getattr(jax, "shard_map", None)
    return make(function, mesh=LINE, in_specs=inputs, out_specs=outputs)


def collective(function, spec=P("i"), out=P("i"), name=None):
    PROGRAMS[name] = (jax.jit(mapped(function, (spec,), out)), (f32(8, 8),))


collective(lambda x: lax.psum(x, "i"), out=P(), name="psum")
collective(lambda x: lax.pmax(x, "i"), out=P(), name="pmax")
collective(lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True), name="all_to_all")
collective(lambda x: lax.ppermute(x, "i", [(j, (j + 1) % 4) for j in range(4)]), name="ppermute")
collective(lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True), name="psum_scatter")
collective(lambda x: x + lax.axis_index("i"), name="axis_index")
collective(lambda x: lax.all_gather(x, "i", axis=1).sum(1), name="all_gather")


# --- Operations that no JAX function lowers to on CPUs --------------------------------------------------

TEXTS = {
    "text_tuple_constant": """
ENTRY e { ROOT c = (f32[2], (s32[], pred[3])) constant(({1, 2}, (3, {1, 0, 1}))) }""",
    "text_infeed": """
ENTRY e {
  t = token[] after-all()
  i = (f32[3]{0}, token[]) infeed(t), infeed_config="configured"
  d = f32[3]{0} get-tuple-element(i), index=0
  n = token[] get-tuple-element(i), index=1
  ROOT o = token[] outfeed(d, n), outfeed_shape=f32[3]{0}
}""",
    "text_send_recv": """
ENTRY e {
  x = f32[4] parameter(0)
  t = token[] after-all()
  s = (f32[4], u32[], token[]) send(x, t), channel_id=5, is_host_transfer=true
  d = token[] send-done(s), channel_id=5, is_host_transfer=true
  r = (f32[4], u32[], token[]) recv(d), channel_id=6, is_host_transfer=true
  ROOT v = (f32[4], token[]) recv-done(r), channel_id=6, is_host_transfer=true
}""",
    "text_custom_call": """
ENTRY e {
  x = f32[4,4]{1,0} parameter(0)
  a = f32[4,4]{1,0} custom-call(x), custom_call_target="first", operand_layout_constraints={f32[4,4]{1,0}}, custom_call_has_side_effect=true, backend_config="bytes"
  b = f32[4,4]{0,1} custom-call(a, x), custom_call_target="second", api_version=API_VERSION_TYPED_FFI, output_to_operand_aliasing={{}: (0, {})}, frontend_attributes={b="2",a="1"}
  ROOT c = f32[4,4]{0,1} copy(b), control-predecessors={a}
}""",
    "text_dynamic": """
ENTRY e {
  x = f32[8,4] parameter(0)
  n = s32[] parameter(1)
  d = f32[<=8,4] set-dimension-size(x, n), dimensions={0}
  s = s32[] get-dimension-size(d), dimensions={0}
  ROOT t = (f32[<=8,4], s32[]) tuple(d, s)
}""",
    "text_collectives": """
add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT s = f32[] add(x, y) }
ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] all-reduce(x), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=add
  s = f32[8] all-reduce-start(a), channel_id=2, replica_groups=[2,2]<=[4], use_global_device_ids=true, to_apply=add
  d = f32[8] all-reduce-done(s)
  g = f32[16] all-gather(d), replica_groups=[2,2]<=[2,2]T(1,0), dimensions={0}
  p = f32[16] collective-permute(g), source_target_pairs={{0,1},{1,0}}
  ROOT r = f32[8] reduce-scatter(p), replica_groups={{0,1}}, dimensions={0}, to_apply=add
}""",
    "text_async": """
wrapped { x = f32[8] parameter(0)  ROOT n = f32[8] negate(x) }, execution_thread="side"
ENTRY e {
  x = f32[8] parameter(0)
  s = ((f32[8]), f32[8], u32[]) async-start(x), async_execution_thread="side", calls=wrapped
  ROOT d = f32[8] async-done(s)
}""",
    "text_normalization": """
ENTRY e {
  x = f32[2,3,4] parameter(0)
  s = f32[4] parameter(1)
  ROOT n = (f32[2,3,4], f32[4], f32[4]) batch-norm-training(x, s, s), epsilon=0.001, feature_index=2
}""",
    "text_shardings": """
ENTRY e {
  x = f32[8,4] parameter(0), sharding={devices=[2,2]0,2,1,3}
  y = f32[8,4] parameter(1), sharding={replicated}
  a = f32[8,4] add(x, y), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  b = f32[8,4] multiply(a, x), sharding={maximal device=1}
  ROOT t = (f32[8,4], f32[8,4]) tuple(a, b), sharding={{replicated}, {devices=[1,4]<=[2,2]T(1,0)}}
}""",
    "text_layouts": """
ENTRY e {
  x = bf16[16,128]{1,0:T(8,128)(2,1)} parameter(0)
  y = bf16[16,128]{0,1:T(8,128)S(5)} copy(x)
  ROOT z = s4[16]{0:E(4)} constant({1,2,3,4,5,6,7,-8,1,2,3,4,5,6,7,-8})
}""",
    "text_domain": """
ENTRY e {
  x = f32[4] parameter(0), sharding={maximal device=0}
  ROOT d = f32[4] domain(x), domain={kind="sharding", entry={maximal device=0}, exit={maximal device=1}}
}""",
}


def serialized(module):
    return module.as_serialized_hlo_module_proto()


def lowered_and_compiled(name, lowered):
    yield name, serialized(lowered.compiler_ir("hlo"))
    try:
        compiled = lowered.compile()
    except Exception as error:  # noqa: BLE001 (some programs compile only for other devices)
        print(f"{name} does not compile here: {str(error).splitlines()[0]}")
        return
    for module in compiled.runtime_executable().hlo_modules():
        yield name + ".compiled", serialized(module)


def model_modules():
    """Yields the programs of tests/e2e/programs/models.py (Flax and Equinox) as JAX passes them to the compiler."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "e2e/programs"))
    import models

    for name, make in models.PROGRAMS.items():
        jitted, arguments = make()
        lowered = jitted.lower(*arguments)
        # Equinox wraps JAX's lowered object.
        yield name, serialized(getattr(lowered, "lowered", lowered).compiler_ir("hlo"))


def modules(with_models):
    """Yields (name, serialized HloModuleProto)."""
    from jaxlib import _hlo

    for name, (function, args) in PROGRAMS.items():
        jax.config.update("jax_enable_x64", name in WIDE)
        yield from lowered_and_compiled(name, function.lower(*args))
    jax.config.update("jax_enable_x64", False)
    if with_models:
        yield from model_modules()
    for name, text in TEXTS.items():
        yield name, serialized(_hlo.hlo_module_from_text("HloModule m\n" + text))
