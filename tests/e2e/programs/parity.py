"""Compiles and runs many real JAX programs and reports everything that a framework can observe about each.

    parity.py REPORT.json

The report has for each program a digest of its outputs' bytes, and the executable's optimized program, cost analysis,
memory statistics, layouts, shardings, memory kinds, devices and fingerprint. If a program fails, the report has the
error's type and text instead, because rekindle must not change the error either.
"""

import dataclasses
import functools
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import layout
from jax.experimental import pallas as pl
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

from report import compile_requests, digest

PROGRAMS = {}


@dataclasses.dataclass
class Program:
    """A jitted function and its arguments for compiling and calling."""

    jitted: object
    args: tuple
    x64: bool = False


def program(make):
    PROGRAMS[make.__name__] = make
    return make


def data(*shape, dtype=np.float32, seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    if np.issubdtype(dtype, np.integer):
        values = values * 40
    return jnp.asarray(values.astype(np.float32)).astype(dtype)


def plain(function, *args, **jit_options):
    return Program(jax.jit(function, **jit_options), args)


def mesh(*shape, names=("x", "y")):
    count = int(np.prod(shape))
    return Mesh(np.array(jax.devices()[:count]).reshape(shape), names[: len(shape)])


def mapped(function, *args, in_specs=P("x"), out_specs=P("x"), **options):
    m = mesh(4)
    return plain(
        jax.shard_map(function, mesh=m, in_specs=in_specs, out_specs=out_specs, **options), *args
    )


# --- Training and models ------------------------------------------------------------------------------


def dense_params():
    return {"w1": data(8, 16), "b1": data(16), "w2": data(16, 4)}


def dense_loss(params, x, y):
    hidden = jax.nn.gelu(x @ params["w1"] + params["b1"])
    return jnp.square(hidden @ params["w2"] - y).mean()


def sgd(params, x, y):
    loss, gradients = jax.value_and_grad(dense_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


@program
def train_step():
    return plain(sgd, dense_params(), data(32, 8), data(32, 4))


@program
def train_step_donated():
    return plain(sgd, dense_params(), data(32, 8), data(32, 4), donate_argnums=0)


@program
def train_step_sharded():
    m = mesh(2, 2)
    params = {
        "w1": jax.device_put(data(8, 16), NamedSharding(m, P(None, "y"))),
        "b1": jax.device_put(data(16), NamedSharding(m, P("y"))),
        "w2": jax.device_put(data(16, 4), NamedSharding(m, P("y", None))),
    }
    batch = NamedSharding(m, P("x"))
    return plain(
        sgd, params, jax.device_put(data(32, 8), batch), jax.device_put(data(32, 4), batch),
        donate_argnums=0,
    )


@program
def attention():
    def causal(q, k, v):
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 4
        scores = jnp.where(jnp.tril(jnp.ones((8, 8), bool)), scores, -jnp.inf)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)

    shape = (2, 8, 2, 16)
    return plain(causal, data(*shape), data(*shape, seed=1), data(*shape, seed=2))


@program
def convolution_net():
    def loss(kernels, x):
        for kernel in kernels:
            x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME")
            x = jax.nn.relu(x - x.mean((0, 2, 3), keepdims=True))
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        return jnp.square(x).sum()

    return plain(jax.grad(loss), [data(4, 3, 3, 3), data(4, 4, 3, 3)], data(2, 3, 16, 16))


@program
def convolution_depthwise():
    def depthwise(x, kernel):
        return lax.conv_general_dilated(
            x, kernel, (2, 1), "VALID", rhs_dilation=(1, 2), feature_group_count=4,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )

    return plain(depthwise, data(1, 9, 9, 4), data(3, 3, 1, 8))


@program
def layer_norm_hessian():
    def norm(x):
        return (((x - x.mean()) / jnp.sqrt(x.var() + 1e-5)) ** 3).sum()

    return plain(jax.hessian(norm), data(6))


# --- Control flow -------------------------------------------------------------------------------------


@program
def scan():
    def cell(carry, x):
        carry = jnp.tanh(carry @ jnp.eye(8) + x)
        return carry, carry.sum()

    return plain(lambda x: lax.scan(cell, jnp.zeros(8), x), data(12, 8))


@program
def scan_gradient():
    def total(w, xs):
        return lax.scan(lambda c, x: (jnp.sin(c @ w + x), None), jnp.zeros(4), xs)[0].sum()

    return plain(jax.grad(total), data(4, 4), data(6, 4))


@program
def while_loop():
    def collatz(n):
        def body(state):
            n, count = state
            return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        return lax.while_loop(lambda state: state[0] != 1, body, (n, 0))

    return plain(collatz, jnp.int32(27))


@program
def fori_loop():
    return plain(lambda x: lax.fori_loop(0, 9, lambda i, x: x * 0.5 + i, x), data(3, 3))


@program
def cond():
    return plain(lambda p, x: lax.cond(p, jnp.sin, lambda x: x @ x, x), jnp.bool_(False), data(4, 4))


@program
def switch():
    branches = [jnp.sin, jnp.cos, lambda x: x * x]
    return plain(lambda i, x: lax.switch(i, branches, x), jnp.int32(2), data(5))


@program
def batched_while():
    def root(x):
        return lax.while_loop(lambda g: jnp.abs(g * g - x) > 1e-3, lambda g: 0.5 * (g + x / g), x)

    return plain(jax.vmap(root), jnp.abs(data(7)) + 1)


@program
def remat():
    def deep(x):
        for _ in range(3):
            x = jax.checkpoint(lambda x: jnp.sin(jnp.cos(x)))(x)
        return x.sum()

    return plain(jax.grad(deep), data(9))


@program
def custom_vjp():
    @jax.custom_vjp
    def clip(x):
        return x

    clip.defvjp(lambda x: (x, ()), lambda _, g: (jnp.clip(g, -1, 1),))
    return plain(jax.grad(lambda x: (clip(x) ** 2).sum()), data(11))


# --- Indexing, order, reductions ----------------------------------------------------------------------


@program
def sort():
    return plain(lambda k, v: lax.sort((k, v), num_keys=1), data(33, dtype=np.int32), data(33))


@program
def argsort_argmax():
    return plain(lambda x: (jnp.argsort(x, axis=0), x.argmax(1), jnp.median(x)), data(7, 9))


@program
def top_k():
    return plain(lambda x: lax.top_k(x, 3), data(4, 17))


@program
def gather():
    return plain(lambda x, i: (x[i], jnp.take_along_axis(x, i[:, None], 1)), data(9, 5), jnp.arange(9) % 5)


@program
def scatter():
    return plain(
        lambda x, i: (x.at[i].add(2.0), x.at[i].max(0.5), x.at[3:5].set(0)), data(9, 5), jnp.array([1, 1, 8])
    )


@program
def segment_sum():
    return plain(
        functools.partial(jax.ops.segment_sum, num_segments=4), data(12, 3), jnp.arange(12) * 7 % 4
    )


@program
def dynamic_slices():
    def move(x, i):
        return lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i, 0), (2, 4)) * 2, (0, i))

    return plain(move, data(8, 8), jnp.int32(3))


@program
def cumulative():
    return plain(lambda x: (jnp.cumsum(x, 0), jnp.cumprod(x, 1), lax.cummax(x)), data(6, 6))


@program
def associative_scan():
    return plain(lambda x: lax.associative_scan(jnp.matmul, x), data(8, 2, 2))


@program
def reduce_window():
    window = ((1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    return plain(
        lambda x: (lax.reduce_window(x, 0.0, lax.add, *window), lax.reduce_window(x, -jnp.inf, lax.max, *window)),
        data(1, 8, 8, 2),
    )


@program
def shapes():
    def shuffle(x):
        return jnp.pad(jnp.concatenate([x[::-1], x.T.reshape(4, 6)]), ((1, 0), (0, 2))), jnp.roll(x, 2, 1)

    return plain(shuffle, data(4, 6))


@program
def einsum():
    return plain(
        lambda a, b, c: jnp.einsum("bij,bjk,kl->bil", a, b, c), data(3, 4, 5), data(3, 5, 6), data(6, 2)
    )


# --- Types --------------------------------------------------------------------------------------------


@program
def bfloat16():
    return plain(lambda x: jax.nn.softmax(x @ x.T) * 2, data(16, 16, dtype=jnp.bfloat16))


@program
def float16():
    return plain(lambda x: jnp.exp(x @ x), data(8, 8, dtype=np.float16))


@program
def float8():
    return plain(lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32), data(32))


@program
def float64():
    return Program(jax.jit(lambda x: jnp.sin(x) @ x), (np.linspace(0.0, 1.0, 9),), x64=True)


@program
def int8_dot():
    dot = functools.partial(jnp.dot, preferred_element_type=jnp.int32)
    return plain(dot, data(8, 16, dtype=np.int8), data(16, 8, dtype=np.int8))


@program
def complex_numbers():
    return plain(lambda x: (jnp.exp(1j * x) @ jnp.exp(-1j * x).T, jnp.abs(x + 2j)), data(5, 5))


@program
def bits():
    return plain(
        lambda x: (lax.population_count(x), x ^ (x << 3), lax.bitcast_convert_type(x, jnp.float32)),
        data(16, dtype=np.uint32),
    )


@program
def special_functions():
    return plain(lambda x: (lax.erf_inv(jnp.tanh(x)), lax.lgamma(x), lax.digamma(x), jnp.log1p(x)), data(16))


@program
def not_numbers():
    return plain(lambda x: (x / 0, jnp.sqrt(x), jnp.nanmax(jnp.log(x)), jnp.isnan(x)), data(9))


@program
def fft():
    return plain(lambda x: (jnp.fft.fft2(x), jnp.fft.irfft(jnp.fft.rfft(x))), data(8, 16))


# --- Randomness ---------------------------------------------------------------------------------------


@program
def random_threefry():
    return plain(lambda key: (jax.random.normal(key, (5, 5)), jax.random.split(key)), jax.random.key(3))


@program
def random_rbg():
    return plain(lambda key: jax.random.uniform(key, (33,)), jax.random.key(3, impl="rbg"))


@program
def random_choice():
    return plain(lambda key: jax.random.permutation(key, 12), jax.random.key(4))


# --- Many devices -------------------------------------------------------------------------------------


@program
def sharded_matmul():
    m = mesh(2, 2)
    x = jax.device_put(data(8, 16), NamedSharding(m, P("x", None)))
    w = jax.device_put(data(16, 8), NamedSharding(m, P(None, "y")))
    return plain(lambda x, w: jnp.tanh(x @ w), x, w, out_shardings=NamedSharding(m, P("y", "x")))


@program
def sharded_reversed_devices():
    m = Mesh(np.array(jax.devices()[:4])[::-1], ("x",))
    return plain(lambda x: x.sum(0), jax.device_put(data(8, 4), NamedSharding(m, P("x"))))


@program
def other_device():
    return plain(lambda x: x * 2 + 1, jax.device_put(data(6), jax.devices()[3]))


@program
def collective_psum():
    return mapped(lambda x: lax.psum(x, "x"), data(8, 4), out_specs=P())


@program
def collective_all_gather():
    return mapped(lambda x: lax.all_gather(x, "x", tiled=True) * lax.axis_index("x"), data(8, 4))


@program
def collective_ppermute():
    return mapped(lambda x: lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)]), data(8, 4))


@program
def collective_all_to_all():
    return mapped(lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True), data(16, 4))


@program
def collective_reduce_scatter():
    return mapped(lambda x: lax.psum_scatter(x, "x", tiled=True), data(16, 4))


# --- Interfaces of a program --------------------------------------------------------------------------


@program
def donated_pair():
    return plain(lambda a, b: (a + b, a - b), data(64), data(64, seed=1), donate_argnums=(0, 1))


@program
def large_constant():
    table = np.asarray(data(256, 256))
    return plain(lambda i: jnp.asarray(table)[i], jnp.array([3, 200]))


@program
def no_arguments():
    return plain(lambda: jnp.arange(12.0).reshape(3, 4) @ jnp.ones((4, 2)))


@program
def many_outputs():
    return plain(lambda x: {"a": (x, x + 1), "b": [x.sum(), {"c": x * 2}], "d": ()}, data(3, 3))


@program
def empty_arrays():
    return plain(lambda x, y: (jnp.concatenate([x, y]), x.sum(), x.T), data(0, 4), data(0, 4))


@program
def scalars():
    return plain(lambda a, b: (a + b, a * b, a < b), jnp.float32(2.5), jnp.int32(3))


@program
def barrier():
    return plain(lambda x: lax.optimization_barrier(x * 2) + 1, data(8))


@program
def pallas_interpreted():
    def kernel(x_ref, y_ref, out_ref):
        out_ref[...] = x_ref[...] * y_ref[...] + 1

    def call(x, y):
        block = pl.BlockSpec((4, 8), lambda i: (i, 0))
        return pl.pallas_call(
            kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(2,),
            in_specs=[block, block], out_specs=block, interpret=True,
        )(x, y)

    return plain(call, data(8, 8), data(8, 8, seed=1))


@program
def compiler_options():
    return plain(lambda x: jnp.exp(x) / x, data(65), compiler_options={"xla_cpu_enable_fast_min_max": True})


@program
def chosen_layouts():
    device = SingleDeviceSharding(jax.devices()[0])
    column_major = layout.Format(layout.Layout(major_to_minor=(1, 0)), device)
    automatic = layout.Format(layout.Layout.AUTO, device)
    x = jax.device_put(data(4, 6), column_major)
    return plain(lambda x: x + 1, x, in_shardings=column_major, out_shardings=automatic)


@program
def named_parts():
    def inner(x):
        with jax.named_scope("block"):
            return jax.jit(lambda x: x * x, inline=False)(x)

    return plain(lambda x: inner(x) + inner(x + 1), data(4))


# --- Unsupported by this plugin: the same error every time ----------------------------------------------


@program
def fails_unknown_custom_call():
    def call(x):
        return jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    return plain(call, data(4))


@program
def fails_memory_kind():
    host = SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
    return plain(lambda x: x * 3, data(8), out_shardings=host)


@program
def fails_lapack():
    return plain(jnp.linalg.qr, data(4, 4))


@program
def fails_host_callback():
    def call(x):
        return jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    return plain(call, data(4))


# --- The report ---------------------------------------------------------------------------------------


def attempt(question):
    """Returns an answer as text, or the error: rekindle must change neither."""
    try:
        answer = question()
    except Exception as error:  # noqa: BLE001 (a plugin may raise any error)
        return f"{type(error).__name__}: {error}"
    if isinstance(answer, dict):
        answer = sorted(answer.items())
    return repr(answer)


def fields(statistics):
    """Returns the numbers of an object without a text form in every JAX version."""
    names = [name for name in dir(statistics) if name.endswith("_in_bytes")]
    assert names, dir(statistics)
    return {name: getattr(statistics, name) for name in names}


def proto_bytes(shardings):
    return [sharding.SerializeToString().hex() for sharding in shardings or ()]


def describe(compiled):
    executable = compiled.runtime_executable()
    modules = executable.hlo_modules
    return {
        "optimized program": attempt(compiled.as_text),
        "modules": attempt(lambda: [module.to_string() for module in modules()]),
        "cost analysis": attempt(compiled.cost_analysis),
        "cost analysis of the executable": attempt(executable.cost_analysis),
        "memory statistics": attempt(lambda: fields(compiled.memory_analysis())),
        "code size": attempt(executable.size_of_generated_code_in_bytes),
        "input formats": attempt(lambda: compiled.input_formats),
        "output formats": attempt(lambda: compiled.output_formats),
        "input layouts": attempt(lambda: [str(x) for x in executable.get_parameter_layouts()]),
        "output layouts": attempt(lambda: [str(x) for x in executable.get_output_layouts()]),
        "input shardings": attempt(lambda: proto_bytes(executable.get_parameter_shardings())),
        "output shardings": attempt(lambda: proto_bytes(executable.get_output_shardings())),
        "memory kinds": attempt(executable.get_output_memory_kinds),
        "devices": attempt(executable.local_devices),
        "fingerprint": attempt(lambda: executable.fingerprint),
        "serializes": attempt(lambda: len(executable.serialize()) > 0),
    }


def is_live(x):
    return not isinstance(x, jax.Array) or not x.is_deleted()


def examine(make):
    made = make()
    with jax.enable_x64(made.x64):
        try:
            compiled = made.jitted.lower(*made.args).compile()
            description = describe(compiled)
            result = compiled(*made.args)
            # Calls the same executable again if its arguments are still live.
            if all(map(is_live, jax.tree.leaves(made.args))):
                description["second call"] = digest(compiled(*made.args))
            description["outputs"] = digest(result)
            description["placement"] = attempt(lambda: [str(x.sharding) for x in jax.tree.leaves(result)])
            return {"ok": True, **description}
        except Exception as error:  # noqa: BLE001
            return {"ok": False, "error": f"{type(error).__name__}: {error}"}


def main():
    report = {name: examine(make) for name, make in PROGRAMS.items()}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"jax": jax.__version__, "requests": compile_requests(), "programs": report}, file)


if __name__ == "__main__":
    main()
