"""Fits a neural ODE to damped oscillations, with equinox, diffrax and optax."""

import argparse
import json

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax


class Func(eqx.Module):
    mlp: eqx.nn.MLP

    def __init__(self, width, depth, *, key):
        self.mlp = eqx.nn.MLP(2, 2, width, depth, activation=jax.nn.softplus, final_activation=jnp.tanh, key=key)

    def __call__(self, t, y, args):
        return self.mlp(y)  # LINE: func


class NeuralODE(eqx.Module):
    func: Func
    dt: float = eqx.field(static=True)

    def __call__(self, ts, y0):
        solution = diffrax.diffeqsolve(  # LINE: solve
            diffrax.ODETerm(self.func),  # LINE: solve
            diffrax.Heun(),  # LINE: solve
            t0=ts[0],  # LINE: solve
            t1=ts[-1],  # LINE: solve
            dt0=self.dt,  # LINE: solve
            y0=y0,  # LINE: solve
            saveat=diffrax.SaveAt(ts=ts),  # LINE: solve
            max_steps=256,  # LINE: solve
            throw=False,  # LINE: solve
        )
        return solution.ys


def make_data(samples, length, seed):
    """Solves the oscillator by fourth-order Runge-Kutta."""
    field = np.array([[-0.1, 1.3], [-1.0, -0.1]])
    y = np.random.default_rng(seed).uniform(-0.6, 1.0, (samples, 2))
    ts, fine = np.linspace(0.0, 5.0, length), 20
    dt = ts[1] / fine
    ys = [y]
    for step in range(1, fine * (length - 1) + 1):
        k1 = y @ field.T
        k2 = (y + dt / 2 * k1) @ field.T
        k3 = (y + dt / 2 * k2) @ field.T
        k4 = (y + dt * k3) @ field.T
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if step % fine == 0:
            ys.append(y)
    return ts.astype(np.float32), np.stack(ys, axis=1).astype(np.float32)


def shuffled(data, size, seed):
    random = np.random.default_rng(seed)
    while True:
        order = random.permutation(len(data))
        for start in range(0, len(data) - size + 1, size):
            yield data[order[start : start + size]]


@eqx.filter_value_and_grad
def grad_loss(model, ts, ys):
    predicted = jax.vmap(model, in_axes=(None, 0))(ts, ys[:, 0])  # LINE: model
    return jnp.mean((ys - predicted) ** 2)  # LINE: loss


@eqx.filter_jit
def evaluate(model, ts, ys):
    predicted = jax.vmap(model, in_axes=(None, 0))(ts, ys[:, 0])  # LINE: model
    return jnp.mean(jnp.abs(ys - predicted))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--beginning", type=int, default=24, help="observations in the first half of the training")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--dt", type=float, default=0.1)
    parser.add_argument("--eval-every", type=int, default=12)
    args = parser.parse_args()

    ts, ys = make_data(224, 24, seed=0)
    train, test = ys[:192], ys[192:]
    model = NeuralODE(Func(args.width, args.depth, key=jr.key(0)), args.dt)
    optimizer = optax.adabelief(args.lr)
    opt_state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def make_step(model, opt_state, ts, ys):
        loss, grads = grad_loss(model, ts, ys)  # LINE: grad
        updates, opt_state = optimizer.update(grads, opt_state)  # LINE: update
        return loss, eqx.apply_updates(model, updates), opt_state  # LINE: apply

    batches = shuffled(train, args.batch, seed=1)
    for step in range(1, args.steps + 1):
        length = args.beginning if step <= args.steps // 2 else len(ts)
        batch = next(batches)
        loss, model, opt_state = make_step(model, opt_state, ts[:length], batch[:, :length])  # LINE: call
        if step % 4 == 0:
            print(f"step {step}: loss {loss.item():.5f}")
        if step % args.eval_every == 0:
            print(f"step {step}: error {evaluate(model, ts, test).item():.4f}")  # LINE: evaluate
    print(json.dumps({"steps": step, "loss": loss.item()}))


if __name__ == "__main__":
    main()
