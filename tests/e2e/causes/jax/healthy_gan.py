"""A generator and a discriminator take turns: two programs that alternate by design."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {"healthy": True, "compiles": {"jit_train_generator": 1, "jit_train_discriminator": 1}}


def generate(g, z):
    return jnp.tanh(z @ g["a"]) @ g["b"]


def judge(d, x):
    return (jax.nn.relu(x @ d["a"]) @ d["b"])[:, 0]


@jax.jit
def train_discriminator(d, g, z, real):
    def loss(d):
        return jax.nn.softplus(-judge(d, real)).mean() + jax.nn.softplus(judge(d, generate(g, z))).mean()

    return jax.tree.map(lambda p, grad: p - 0.05 * grad, d, jax.grad(loss)(d))


@jax.jit
def train_generator(g, d, z):
    def loss(g):
        return jax.nn.softplus(-judge(d, generate(g, z))).mean()

    return jax.tree.map(lambda p, grad: p - 0.05 * grad, g, jax.grad(loss)(g))


def main():
    rng = np.random.default_rng(90)
    g = {"a": rng.normal(size=(3, 8)).astype(np.float32), "b": rng.normal(size=(8, 2)).astype(np.float32)}
    d = {"a": rng.normal(size=(2, 8)).astype(np.float32), "b": rng.normal(size=(8, 1)).astype(np.float32)}
    for _ in range(6):
        z, real = rng.normal(size=(8, 3)).astype(np.float32), rng.normal(size=(8, 2)).astype(np.float32)
        d = train_discriminator(d, g, z, real)
        g = train_generator(g, d, z)
    print(np.asarray(g["a"]).sum(), np.asarray(d["a"]).sum())


main()
