"""Trains a score-based diffusion model, an MLP-Mixer, on synthetic pictures, on all devices (Equinox)."""

import argparse
import functools
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

SIDE, T1 = 12, 4.0


class MixerBlock(eqx.Module):
    patch_mixer: eqx.nn.MLP
    hidden_mixer: eqx.nn.MLP
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm

    def __init__(self, patches, hidden, mix_patches, mix_hidden, *, key):
        patch_key, hidden_key = jr.split(key)  # LINE: init
        self.patch_mixer = eqx.nn.MLP(patches, patches, mix_patches, depth=1, key=patch_key)  # LINE: init
        self.hidden_mixer = eqx.nn.MLP(hidden, hidden, mix_hidden, depth=1, key=hidden_key)  # LINE: init
        self.norm1 = eqx.nn.LayerNorm((hidden, patches))  # LINE: init
        self.norm2 = eqx.nn.LayerNorm((patches, hidden))  # LINE: init

    def __call__(self, y):
        y = y + jax.vmap(self.patch_mixer)(self.norm1(y))
        y = y.T
        y = y + jax.vmap(self.hidden_mixer)(self.norm2(y))
        return y.T


class Mixer(eqx.Module):
    conv_in: eqx.nn.Conv2d
    conv_out: eqx.nn.ConvTranspose2d
    blocks: list
    norm: eqx.nn.LayerNorm

    def __init__(self, hidden, layers, *, key, patch=3):
        patches = (SIDE // patch) ** 2
        in_key, out_key, *keys = jr.split(key, 2 + layers)  # LINE: init
        self.conv_in = eqx.nn.Conv2d(2, hidden, patch, stride=patch, key=in_key)  # LINE: init
        self.conv_out = eqx.nn.ConvTranspose2d(hidden, 1, patch, stride=patch, key=out_key)  # LINE: init
        self.blocks = [MixerBlock(patches, hidden, 2 * patches, 2 * hidden, key=k) for k in keys]  # LINE: init
        self.norm = eqx.nn.LayerNorm((hidden, patches))  # LINE: init

    def __call__(self, t, y):
        t = jnp.broadcast_to(t / T1, (1, SIDE, SIDE))
        y = self.conv_in(jnp.concatenate([y, t]))
        hidden, height, width = y.shape
        y = y.reshape(hidden, height * width)
        for block in self.blocks:
            y = block(y)
        return self.conv_out(self.norm(y).reshape(hidden, height, width))


def int_beta(t):
    return t


def single_loss(model, data, t, noise):
    std = jnp.sqrt(jnp.maximum(1 - jnp.exp(-int_beta(t)), 1e-5))
    y = data * jnp.exp(-0.5 * int_beta(t)) + std * noise
    return std**2 * jnp.mean((model(t, y) + noise / std) ** 2)


def batch_loss(model, data, key):
    size = data.shape[0]
    time_key, noise_key = jr.split(key)
    t = jr.uniform(time_key, (size,), maxval=T1 / size) + (T1 / size) * jnp.arange(size)
    noise = jr.normal(noise_key, data.shape)
    return jnp.mean(jax.vmap(functools.partial(single_loss, model))(data, t, noise))


@eqx.filter_jit
def make_step(model, data, key, opt_state, opt_update, replicated):
    loss, grads = eqx.filter_value_and_grad(batch_loss)(model, data, key)
    updates, opt_state = opt_update(grads, opt_state)  # LINE: update
    model = eqx.apply_updates(model, updates)
    key = jr.split(key, 1)[0]
    return loss, *eqx.filter_shard((model, key, opt_state), replicated)


@eqx.filter_jit
def eval_loss(model, data, key):
    return batch_loss(model, data, key)


@eqx.filter_jit
def sample(model, key, steps):
    """Solves the reverse ODE with `steps` steps of Euler's method."""
    dt = T1 / steps  # LINE: sampler

    def step(i, y):
        t = T1 - i * dt  # LINE: sampler
        return y + 0.5 * dt * (y + model(t, y))  # LINE: sampler

    def one(y):
        return jax.lax.fori_loop(0, steps, step, y)  # LINE: sampler

    return jax.vmap(one)(jr.normal(key, (4, 1, SIDE, SIDE)))


def synthetic(rng, count):
    """Pictures of one round blob each."""
    grid = np.arange(SIDE)
    x, y = rng.uniform(3, SIDE - 3, (2, count, 1, 1))
    pictures = np.exp(-((grid[None, :, None] - y) ** 2 + (grid[None, None, :] - x) ** 2) / 6)
    return ((pictures - pictures.mean()) / pictures.std()).astype(np.float32)[:, None]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--eval-batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--blocks", type=int, default=1)
    parser.add_argument("--eval-every", type=int, default=8)
    parser.add_argument("--sample-steps", type=int, default=20)
    args = parser.parse_args()

    mesh = Mesh(np.array(jax.devices()), ("batch",))
    over_batch, replicated = NamedSharding(mesh, PartitionSpec("batch")), NamedSharding(mesh, PartitionSpec())
    rng = np.random.default_rng(0)
    train, test = synthetic(rng, 512), synthetic(rng, 48)
    model_key, train_key, eval_key, sample_key = jr.split(jr.key(0), 4)
    model = Mixer(args.hidden, args.blocks, key=model_key)  # LINE: init
    optimizer = optax.adabelief(args.lr)
    opt_state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))  # LINE: init
    model, train_key, opt_state = eqx.filter_shard((model, train_key, opt_state), replicated)

    for step in range(args.steps):
        data = jax.device_put(train[rng.choice(len(train), args.batch, replace=False)], over_batch)
        inputs = (model, data, train_key, opt_state, optimizer.update, replicated)
        loss, model, train_key, opt_state = make_step(*inputs)  # LINE: train
        if (step + 1) % args.eval_every == 0:
            parts = [test[start : start + args.eval_batch] for start in range(0, len(test), args.eval_batch)]
            parts = [jax.device_put(part, over_batch) for part in parts]
            scores = [float(eval_loss(model, part, eval_key)) for part in parts]  # LINE: eval
            print(f"step {step + 1}: loss {loss:.4f}, test loss {np.mean(scores):.4f}")
    pictures = sample(model, sample_key, args.sample_steps)  # LINE: sample
    spread = float(np.asarray(pictures).std())
    print(json.dumps({"steps": args.steps, "loss": float(loss), "spread": spread}))


main()
