"""Edits of typical Flax and Equinox models: some leave the program the same, others change it.

The rules of edits_table.py also apply here. Read by test_models.py, run by edits.py.
"""

from programs.edits_table import rows

SOURCES = {}

SOURCES["linen"] = '''
import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

WIDTH = 16

class Block(nn.Module):
    width: int
    heads: int = 4

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm(epsilon=1e-6)(x)
        x = x + nn.MultiHeadDotProductAttention(self.heads, name="attention")(y)
        y = nn.Dense(2 * self.width, use_bias=True)(nn.LayerNorm()(x))
        return x + nn.Dense(x.shape[-1], name="down")(nn.gelu(y))

class Model(nn.Module):
    layers: int = 2

    @nn.compact
    def __call__(self, x):
        for i in range(self.layers):
            x = Block(WIDTH, name=f"block_{i}")(x)
        return nn.Dense(8, name="head")(x)

def loss_of(params, x, y):
    return jnp.square(Model().apply({"params": params}, x) - y).mean()

TRANSFORMATION = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3, weight_decay=0.01))

def train_step(params, state, x, y):
    loss, slopes = jax.value_and_grad(loss_of)(params, x, y)
    updates, state = TRANSFORMATION.update(slopes, state, params)
    return optax.apply_updates(params, updates), state, loss

def program():
    x, y = jax.ShapeDtypeStruct((2, 6, WIDTH), jnp.float32), jax.ShapeDtypeStruct((2, 6, 8), jnp.float32)
    params = jax.eval_shape(Model().init, jax.eval_shape(lambda: jax.random.key(0)), x)["params"]
    state = jax.eval_shape(TRANSFORMATION.init, params)
    return jax.jit(train_step, donate_argnums=(0, 1)), (params, state, x, y)
'''

SOURCES["nnx"] = '''
import jax
import jax.numpy as jnp
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Conv(3, 8, (3, 3), padding="SAME", rngs=rngs)
        self.norm = nnx.BatchNorm(8, momentum=0.9, use_running_average=False, rngs=rngs)
        self.last = nnx.Linear(8, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.norm(self.first(x)))
        return self.last(nnx.max_pool(x, (2, 2), (2, 2)).mean((1, 2)))

def program():
    graph, state = nnx.split(nnx.eval_shape(lambda: Net(nnx.Rngs(0))))

    @jax.jit
    def predict(state, x):
        net = nnx.merge(graph, state, copy=True)
        return net(x), nnx.state(net, nnx.BatchStat)

    return predict, (state, jax.ShapeDtypeStruct((2, 8, 8, 3), jnp.float32))
'''

SOURCES["equinox"] = '''
import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax

class Recurrent(eqx.Module):
    cell: eqx.nn.GRUCell
    head: eqx.nn.MLP

    def __init__(self, key):
        self.cell = eqx.nn.GRUCell(6, 12, use_bias=True, key=key)
        self.head = eqx.nn.MLP(12, 3, width_size=16, depth=2, activation=jax.nn.relu, key=key)

    def __call__(self, sequence):
        hidden, _ = lax.scan(lambda hidden, x: (self.cell(x, hidden), None), jnp.zeros(12), sequence)
        return self.head(hidden)

def program():
    model = eqx.filter_eval_shape(Recurrent, jax.eval_shape(lambda: jax.random.key(0)))
    arrays, rest = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def predict(arrays, sequences):
        return jax.vmap(eqx.combine(arrays, rest))(sequences)

    return jax.jit(predict), (arrays, jax.ShapeDtypeStruct((4, 9, 6), jnp.float32))
'''

HITS = rows([
    ("lines moved in a module", "linen", ("    @nn.compact", "\n\n    # The forward pass.\n    @nn.compact")),
    ("docstring of a module", "linen", ("class Model(nn.Module):", 'class Model(nn.Module):\n    """Two blocks."""\n')),
    ("step function renamed", "linen", ("train_step", "update_once")),
    ("module class renamed", "linen", ("Block", "Layer")),
    ("submodule renamed", "linen", ('"attention"', '"attending"')),
    ("submodules renamed, in the same order", "linen", ('"down"', '"out"')),
    ("parameters of all blocks renamed", "linen", ('f"block_{i}"', 'f"cell_{i}"')),
    ("attribute of a module renamed", "linen", ("heads", "parts")),
    ("default written out", "linen", ("Model()", "Model(layers=2)")),
    ("optimizer written otherwise", "linen", ("1e-3, weight_decay=0.01", "weight_decay=1 / 100, learning_rate=0.001")),
    ("setup instead of compact", "linen",
     ("    layers: int = 2\n\n    @nn.compact\n    def __call__(self, x):\n        for i in range(self.layers):\n"
      '            x = Block(WIDTH, name=f"block_{i}")(x)\n        return nn.Dense(8, name="head")(x)\n',
      "    layers: int = 2\n\n    def setup(self):\n"
      '        self.blocks = [Block(WIDTH, name=f"block_{i}") for i in range(self.layers)]\n'
      '        self.head = nn.Dense(8, name="head")\n\n    def __call__(self, x):\n'
      "        for block in self.blocks:\n            x = block(x)\n        return self.head(x)\n")),
    ("lines moved in an nnx module", "nnx", ("    def __call__", "\n\n\n    def __call__")),
    ("nnx module renamed", "nnx", ("Net", "Classifier")),
    ("attribute of an nnx module renamed", "nnx", ("first", "early"), ("last", "later")),
    ("lines moved in an Equinox module", "equinox", ("    def __call__", "\n    # Reads all of it.\n\n    def __call__")),
    ("Equinox module renamed", "equinox", ("Recurrent", "Reader")),
    ("fields of an Equinox module renamed", "equinox", ("cell:", "gate:"), ("self.cell", "self.gate"),
     ("head:", "output:"), ("self.head", "self.output")),
], sources=SOURCES) + rows([("other folder", "linen", ("WIDTH = 16", "WIDTH = 8 * 2"))], file="/home/somebody/models/train.py", sources=SOURCES)

MISSES = rows([
    # This is also a rename, but JAX passes dictionary entries in the order of their names.
    ("parameters come in another order", "linen", ('"attention"', '"mixing"')),
    ("submodule named by Flax", "linen", (', name="down"', "")),
    ("parameters of the blocks come last", "linen", ('f"block_{i}"', 'f"layer_{i}"')),
    ("attributes come in another order", "nnx", ("first", "second")),
    ("hidden width", "linen", ("2 * self.width", "4 * self.width")),
    ("width", "linen", ("WIDTH = 16", "WIDTH = 32")),
    ("activation", "linen", ("nn.gelu", "nn.silu")),
    ("approximate activation", "linen", ("nn.gelu(y)", "nn.gelu(y, approximate=False)")),
    ("epsilon of a norm", "linen", ("epsilon=1e-6", "epsilon=1e-5")),
    ("another norm", "linen", ("nn.LayerNorm(epsilon=1e-6)", "nn.RMSNorm(epsilon=1e-6)")),
    ("heads", "linen", ("heads: int = 4", "heads: int = 2")),
    ("number of layers", "linen", ("layers: int = 2", "layers: int = 3")),
    ("no bias", "linen", ("use_bias=True", "use_bias=False")),
    ("computed again for the gradient", "linen", ("x = Block(WIDTH", "x = nn.remat(Block)(WIDTH")),
    ("type of the computation", "linen", ("nn.Dense(8, name", "nn.Dense(8, dtype=jnp.bfloat16, name")),
    ("learning rate", "linen", ("1e-3,", "2e-3,")),
    ("weight decay", "linen", ("0.01", "0.1")),
    ("norm that gradients are clipped to", "linen", ("by_global_norm(1.0)", "by_global_norm(0.5)")),
    ("another optimizer", "linen", ("optax.adamw", "optax.lamb")),
    ("no donation", "linen", (", donate_argnums=(0, 1)", "")),
    ("momentum of the statistics", "nnx", ("momentum=0.9", "momentum=0.99")),
    ("statistics or batch", "nnx", ("use_running_average=False", "use_running_average=True")),
    ("padding of an nnx convolution", "nnx", ('"SAME"', '"VALID"')),
    ("pooling", "nnx", ("max_pool", "avg_pool")),
    ("strides of an nnx convolution", "nnx", ("(3, 3), padding", "(3, 3), strides=2, padding")),
    ("activation of an nnx module", "nnx", ("nnx.relu", "nnx.tanh")),
    ("activation of an MLP", "equinox", ("jax.nn.relu", "jax.nn.gelu")),
    ("depth of an MLP", "equinox", ("depth=2", "depth=3")),
    ("width of an MLP", "equinox", ("width_size=16", "width_size=32")),
    ("no bias in a cell", "equinox", ("use_bias=True", "use_bias=False")),
    ("scan from the end", "equinox", ("jnp.zeros(12), sequence)", "jnp.zeros(12), sequence, reverse=True)")),
    ("first state", "equinox", ("jnp.zeros(12)", "jnp.ones(12)")),
], sources=SOURCES)
