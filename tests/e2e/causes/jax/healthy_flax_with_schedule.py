"""Flax with optax: Adam with a schedule over the traced step number, dropout with its own key."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

CASE = {"healthy": True, "compiles": {"jit_train_step": 1, "jit_eval_step": 1}}


class Classifier(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.Dense(16)(x))
        x = nn.Dropout(0.1, deterministic=not train)(x)
        return nn.Dense(3)(x)


model = Classifier()
optimizer = optax.adam(optax.cosine_decay_schedule(1e-2, 20))


@jax.jit
def train_step(params, state, key, x, labels):
    def loss_of(params):
        logits = model.apply(params, x, train=True, rngs={"dropout": key})
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    loss, grads = jax.value_and_grad(loss_of)(params)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


@jax.jit
def eval_step(params, x, labels):
    return jnp.mean(jnp.argmax(model.apply(params, x, train=False), -1) == labels)


def main():
    rng = np.random.default_rng(81)
    x, labels = rng.normal(size=(16, 5)).astype(np.float32), rng.integers(3, size=16, dtype=np.int32)
    key = jax.random.key(0)
    params = jax.jit(model.init, static_argnames="train")(key, x, train=False)
    state = optimizer.init(params)
    for step in range(4):
        params, state, loss = train_step(params, state, jax.random.fold_in(key, step), x, labels)
    print(float(loss), float(eval_step(params, x, labels)))


main()
