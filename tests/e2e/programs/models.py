"""Compiles real models of Flax (linen and nnx) and Equinox, with optax's training steps; runs none of them.

    models.py           all of them
    models.py NAME…     the named ones

Flax models are lowered for shapes alone and Equinox models for arrays of zeros, so that only the models themselves are
compiled. Prints the result as JSON.
"""

import functools
import json
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen, nnx
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

PROGRAMS = {}


def program(make):
    """Registers `make`, which returns a jitted function and its arguments for lowering."""
    PROGRAMS[make.__name__] = make
    return make


def f32(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def i32(*shape):
    return f32(*shape, dtype=jnp.int32)


KEY = jax.eval_shape(lambda: jax.random.key(0))


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


# --- Flax linen ---------------------------------------------------------------------------------------


class Block(linen.Module):
    heads: int = 4
    dropout: float = 0.1
    dtype: object = jnp.float32

    @linen.compact
    def __call__(self, x, train=False):
        mask = linen.make_causal_mask(x[..., 0])
        y = linen.LayerNorm(dtype=self.dtype)(x)
        y = linen.MultiHeadDotProductAttention(self.heads, dtype=self.dtype)(y, mask=mask)
        x = x + linen.Dropout(self.dropout, deterministic=not train)(y)
        y = linen.Dense(4 * x.shape[-1], dtype=self.dtype)(linen.LayerNorm(dtype=self.dtype)(x))
        return x + linen.Dense(x.shape[-1], dtype=self.dtype)(linen.gelu(y))


class LanguageModel(linen.Module):
    vocabulary: int = 61
    width: int = 32
    layers: int = 2
    dtype: object = jnp.float32

    @linen.compact
    def __call__(self, tokens, train=False):
        embed = linen.Embed(self.vocabulary, self.width, dtype=self.dtype)
        x = embed(tokens) + self.param("place", linen.initializers.normal(), (tokens.shape[1], self.width))
        for _ in range(self.layers):
            x = Block(dtype=self.dtype)(x, train)
        return embed.attend(linen.LayerNorm(dtype=self.dtype)(x))


class ConvolutionNet(linen.Module):
    @linen.compact
    def __call__(self, x, train=False):
        for features in (8, 16):
            x = linen.Conv(features, (3, 3), use_bias=False)(x)
            x = linen.relu(linen.BatchNorm(use_running_average=not train, momentum=0.9)(x))
            x = linen.max_pool(x, (2, 2), (2, 2))
        x = linen.GroupNorm(4)(linen.ConvTranspose(8, (2, 2), (2, 2))(x))
        return linen.Dense(10)(x.mean((1, 2)))


class Recurrent(linen.Module):
    cell: object

    @linen.compact
    def __call__(self, x):
        return linen.Dense(3)(linen.Bidirectional(linen.RNN(self.cell(12)), linen.RNN(self.cell(12)))(x))


class Stacked(linen.Module):
    """One block, scanned over its layers and rematerialized for the gradient."""

    @linen.compact
    def __call__(self, x):
        layer = linen.remat(Block)
        scanned = linen.scan(
            lambda module, x, _: (module(x), None), variable_axes={"params": 0}, split_rngs={"params": True}, length=4
        )
        return scanned(layer(), x, None)[0]


def linen_step(model, transformation, inputs, loss, *others):
    """Returns a whole training step of a linen model, with donated state."""
    variables = jax.eval_shape(model.init, KEY, inputs)
    params = variables["params"]
    state = jax.eval_shape(transformation.init, params)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state, *inputs):
        value, slopes = jax.value_and_grad(lambda p: loss(p, *inputs))(params)
        updates, state = transformation.update(slopes, state, params)
        return optax.apply_updates(params, updates), state, value

    return step, (params, state, inputs, *others)


def language_step(transformation, **settings):
    model = LanguageModel(**settings)

    def loss(params, tokens, key):
        logits = model.apply({"params": params}, tokens, train=True, rngs={"dropout": key})
        return cross_entropy(logits[:, :-1], tokens[:, 1:])

    return linen_step(model, transformation, i32(4, 16), loss, KEY)


@program
def linen_transformer_adamw():
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 100)
    return language_step(optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule)))


@program
def linen_transformer_bfloat16():
    return language_step(optax.lion(1e-3), dtype=jnp.bfloat16)


@program
def linen_transformer_gradient_accumulation():
    return language_step(optax.MultiSteps(optax.sgd(0.1, momentum=0.9), 3), layers=1)


@program
def linen_transformer_adafactor():
    return language_step(optax.adafactor(1e-3), layers=1)


@program
def linen_convolution_net():
    model = ConvolutionNet()
    variables = jax.eval_shape(model.init, KEY, f32(4, 16, 16, 3))
    transformation = optax.sgd(0.1, momentum=0.9, nesterov=True)
    state = jax.eval_shape(transformation.init, variables["params"])

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def step(params, statistics, state, images, labels):
        def loss(params):
            logits, changed = model.apply(
                {"params": params, "batch_stats": statistics}, images, train=True, mutable=["batch_stats"]
            )
            return cross_entropy(logits, labels), changed["batch_stats"]

        (value, statistics), slopes = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = transformation.update(slopes, state, params)
        return optax.apply_updates(params, updates), statistics, state, value

    return step, (variables["params"], variables["batch_stats"], state, f32(4, 16, 16, 3), i32(4))


@program
def linen_convolution_net_serving():
    model = ConvolutionNet()
    return jax.jit(model.apply), (jax.eval_shape(model.init, KEY, f32(1, 16, 16, 3)), f32(1, 16, 16, 3))


def recurrent_step(cell):
    model = Recurrent(cell)

    def loss(params, x, y):
        return optax.huber_loss(model.apply({"params": params}, x), y).mean()

    return linen_step(model, optax.rmsprop(1e-2), f32(4, 9, 6), loss, f32(4, 9, 3))


@program
def linen_lstm():
    return recurrent_step(linen.OptimizedLSTMCell)


@program
def linen_gru():
    return recurrent_step(linen.GRUCell)


@program
def linen_scanned_layers():
    model = Stacked()

    def loss(params, x):
        return jnp.square(model.apply({"params": params}, x)).mean()

    return linen_step(model, optax.lamb(1e-3), f32(2, 8, 16), loss)


@program
def linen_decode():
    """One generation step with a key-value cache."""
    model = linen.MultiHeadDotProductAttention(4, decode=True)
    variables = jax.eval_shape(model.init, KEY, f32(2, 12, 16))

    @functools.partial(jax.jit, donate_argnums=1)
    def step(params, cache, x):
        return model.apply({"params": params, "cache": cache}, x, mutable=["cache"])

    return step, (variables["params"], variables["cache"], f32(2, 1, 16))


@program
def linen_sharded_step():
    """A step with data and model parallelism on four devices."""
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("data", "model"))
    step, (params, state, images, labels) = mlp_step(optax.adam(1e-3))

    def place(leaf):
        spec = P(None, "model") if leaf.ndim == 2 else P()
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, spec))

    def rows(leaf):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, P("data")))

    return step, (*jax.tree.map(place, (params, state)), rows(images), rows(labels))


def mlp_step(transformation):
    model = linen.Sequential([linen.Dense(32), linen.silu, linen.RMSNorm(), linen.Dense(8)])

    def loss(params, x, labels):
        return cross_entropy(model.apply({"params": params}, x), labels)

    return linen_step(model, transformation, f32(16, 12), loss, i32(16))


# --- Flax nnx -----------------------------------------------------------------------------------------


def nnx_step(make, transformation, loss, *inputs):
    """Returns a training step of an nnx model as a function of its state: parameters, statistics and random numbers."""
    model = nnx.eval_shape(make)
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    state = jax.eval_shape(transformation.init, params)

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def step(params, rest, state, *inputs):
        def loss_of(params):
            model = nnx.merge(graph, params, rest, copy=True)
            value = loss(model, *inputs)
            return value, nnx.split(model, nnx.Param, ...)[2]

        (value, rest), slopes = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, state = transformation.update(slopes, state, params)
        return optax.apply_updates(params, updates), rest, state, value

    return step, (params, rest, state, *inputs)


class NnxBlock(nnx.Module):
    def __init__(self, width, rngs):
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(4, width, decode=False, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.up = nnx.Linear(width, 4 * width, rngs=rngs)
        self.down = nnx.Linear(4 * width, width, rngs=rngs)

    def __call__(self, x):
        x = x + self.dropout(self.attention(self.norm(x)))
        return x + self.down(nnx.gelu(self.up(x)))


class NnxConvolutionNet(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Conv(3, 8, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.second = nnx.Conv(8, 8, (3, 3), strides=2, feature_group_count=4, rngs=rngs)
        self.last = nnx.Linear(8, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.avg_pool(nnx.relu(self.norm(self.first(x))), (2, 2), (2, 2))
        return self.last(nnx.relu(self.second(x)).mean((1, 2)))


class NnxRecurrent(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(6, 12, rngs=rngs))
        self.last = nnx.Linear(12, 3, rngs=rngs)

    def __call__(self, x):
        return self.last(self.rnn(x))


@program
def nnx_transformer():
    def loss(model, x, y):
        return optax.l2_loss(model(x), y).mean()

    return nnx_step(lambda: NnxBlock(16, nnx.Rngs(0)), optax.adamw(1e-3), loss, f32(2, 8, 16), f32(2, 8, 16))


@program
def nnx_convolution_net():
    def loss(model, images, labels):
        return cross_entropy(model(images), labels)

    make = lambda: NnxConvolutionNet(nnx.Rngs(0))  # noqa: E731
    return nnx_step(make, optax.sgd(0.1, momentum=0.9), loss, f32(4, 16, 16, 3), i32(4))


@program
def nnx_gru():
    def loss(model, x, y):
        return optax.log_cosh(model(x), y).mean()

    return nnx_step(lambda: NnxRecurrent(nnx.Rngs(0)), optax.adagrad(1e-2), loss, f32(4, 9, 6), f32(4, 9, 3))


# --- Equinox ------------------------------------------------------------------------------------------


class EquinoxNet(eqx.Module):
    first: eqx.nn.Conv2d
    pool: eqx.nn.MaxPool2d
    last: eqx.nn.Linear

    def __init__(self, key):
        first, last = jax.random.split(key)
        self.first = eqx.nn.Conv2d(3, 8, 3, padding=1, key=first)
        self.pool = eqx.nn.MaxPool2d(2, 2)
        self.last = eqx.nn.Linear(8 * 8 * 8, 10, key=last)

    def __call__(self, x):
        return self.last(self.pool(jax.nn.relu(self.first(x))).ravel())


class EquinoxAttention(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    norm: eqx.nn.LayerNorm
    dropout: eqx.nn.Dropout

    def __init__(self, key):
        self.attention = eqx.nn.MultiheadAttention(4, 16, key=key)
        self.norm = eqx.nn.LayerNorm(16)
        self.dropout = eqx.nn.Dropout(0.1)

    def __call__(self, x, key):
        y = jax.vmap(self.norm)(x)
        mask = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool))
        return x + self.dropout(self.attention(y, y, y, mask=mask), key=key)


class EquinoxRecurrent(eqx.Module):
    cell: eqx.Module
    last: eqx.nn.Linear

    def __init__(self, make, key):
        self.cell = make(6, 12, key=key)
        self.last = eqx.nn.Linear(12, 3, key=key)

    def __call__(self, xs):
        state = jnp.zeros(12)
        if isinstance(self.cell, eqx.nn.LSTMCell):
            state = (state, state)
        state, _ = lax.scan(lambda state, x: (self.cell(x, state), None), state, xs)
        return self.last(state[0] if isinstance(state, tuple) else state)


def zeros(leaf):
    """Returns an array for a shape. Equinox traces a leaf only if it is an array."""
    if not isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    if leaf.dtype == KEY.dtype:
        return jax.random.wrap_key_data(jax.device_put(np.zeros(2, np.uint32)))
    return jax.device_put(np.zeros(leaf.shape, leaf.dtype))


def equinox_step(make, transformation, loss, *inputs):
    model = eqx.filter_eval_shape(make, KEY)
    state = eqx.filter_eval_shape(lambda key: transformation.init(eqx.filter(make(key), eqx.is_inexact_array)), KEY)

    @eqx.filter_jit(donate="all-except-first")
    def step(inputs, model, state):
        value, slopes = eqx.filter_value_and_grad(loss)(model, *inputs)
        updates, state = transformation.update(slopes, state, eqx.filter(model, eqx.is_inexact_array))
        return eqx.apply_updates(model, updates), state, value

    return step, jax.tree.map(zeros, (inputs, model, state))


@program
def equinox_mlp():
    def make(key):
        return eqx.nn.MLP(12, 8, 32, 3, activation=jax.nn.softplus, key=key)

    def loss(model, x, labels):
        return cross_entropy(jax.vmap(model)(x), labels)

    return equinox_step(make, optax.adam(1e-3), loss, f32(16, 12), i32(16))


@program
def equinox_convolution_net():
    def loss(model, images, labels):
        return cross_entropy(jax.vmap(model)(images), labels)

    return equinox_step(EquinoxNet, optax.novograd(1e-3), loss, f32(4, 3, 16, 16), i32(4))


@program
def equinox_attention():
    def loss(model, x, key):
        return jnp.square(jax.vmap(model)(x, jax.random.split(key, x.shape[0]))).mean()

    return equinox_step(EquinoxAttention, optax.radam(1e-3), loss, f32(2, 8, 16), KEY)


def equinox_recurrent(cell):
    def loss(model, x, y):
        return jnp.square(jax.vmap(model)(x) - y).mean()

    make = functools.partial(EquinoxRecurrent, cell)
    return equinox_step(make, optax.adabelief(1e-3), loss, f32(4, 9, 6), f32(4, 3))


@program
def equinox_lstm():
    return equinox_recurrent(eqx.nn.LSTMCell)


@program
def equinox_gru():
    return equinox_recurrent(eqx.nn.GRUCell)


@program
def equinox_serving():
    arguments = jax.tree.map(zeros, (eqx.filter_eval_shape(EquinoxNet, KEY), f32(2, 3, 16, 16)))
    return eqx.filter_jit(lambda model, x: jax.nn.softmax(jax.vmap(model)(x))), arguments


def main():
    wanted = sys.argv[1:] or list(PROGRAMS)
    for name in wanted:
        jitted, arguments = PROGRAMS[name]()
        jitted.lower(*arguments).compile()
    print(json.dumps({"jax": jax.__version__, "compiled": wanted}))


if __name__ == "__main__":
    main()
