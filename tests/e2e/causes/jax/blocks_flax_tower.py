"""A Flax tower of eight residual layers of equal size, trained with optax."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

CASE = {
    "patterns": [("repeated_blocks", "")],
    "compiles": {"jit_train_step": 1},
    "questions": {"input_shapes_changed": False, "hidden_branch_active": False},
}


class Residual(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        hidden = nn.silu(nn.Dense(2 * self.width)(nn.LayerNorm()(x)))  # USED
        return x + nn.Dense(self.width)(hidden)  # USED


class Tower(nn.Module):
    depth: int = 8

    @nn.compact
    def __call__(self, x):
        for number in range(self.depth):
            x = Residual(8, name=f"layer_{number}")(x)  # PLANTED
        return nn.Dense(1)(x)


tower, optimizer = Tower(), optax.adam(1e-3)


@jax.jit
def train_step(variables, state, x, y):
    loss, grads = jax.value_and_grad(lambda v: jnp.mean((tower.apply(v, x)[:, 0] - y) ** 2))(variables)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(variables, updates), state, loss


def main():
    rng = np.random.default_rng(70)
    x = rng.normal(size=(8, 8)).astype(np.float32)
    shapes = jax.eval_shape(tower.init, jax.random.key(0), x)
    variables = jax.tree.map(lambda s: rng.normal(scale=0.1, size=s.shape).astype(np.float32), shapes)
    state = jax.tree.map(np.asarray, optimizer.init(variables))
    for _ in range(3):
        variables, state, loss = train_step(variables, state, x, x.sum(1))
    print(float(loss))


main()
