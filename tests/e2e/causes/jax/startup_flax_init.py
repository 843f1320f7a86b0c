"""A Flax model is initialized outside of jit: each operation of each layer is a program of its own."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

CASE = {
    "patterns": [("eager_startup", "")],
    "compiles": {"jit_train_step": 1},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False, "hidden_branch_active": False},
}


class Classifier(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (12, 16, 20, 24, 28, 32):
            x = nn.relu(nn.LayerNorm()(nn.Dense(width)(x)))
        return nn.Dense(1)(x)[:, 0]


model, optimizer = Classifier(), optax.sgd(1e-2)


def create(x):
    variables = model.init(jax.random.key(0), x)  # PLANTED
    return variables, optimizer.init(variables)


@jax.jit
def train_step(variables, state, x, y):
    loss, grads = jax.value_and_grad(lambda v: jnp.mean((model.apply(v, x) - y) ** 2))(variables)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(variables, updates), state, loss


def main():
    x = np.random.default_rng(92).normal(size=(8, 6)).astype(np.float32)
    variables, state = create(x)
    for _ in range(8):
        variables, state, loss = train_step(variables, state, x, x.sum(1))
    print(float(loss))


main()
