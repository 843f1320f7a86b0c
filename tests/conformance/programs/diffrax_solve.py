"""Diffrax with EQX_ON_ERROR=nan: an adaptive solution, a gradient through the solver, and an SDE.

Equinox would else raise its errors from a host callback, and such programs cannot be kept. The implicit solvers ask for
LAPACK's kernels, which come with jaxlib's own CPU backend and not with this plugin.
"""

import os

os.environ["EQX_ON_ERROR"] = "nan"

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from digest import digest

TIMES = jnp.linspace(0, 2, 9)


def solve(term, solver, y0, args, controller):
    return diffrax.diffeqsolve(
        term, solver, t0=0.0, t1=2.0, dt0=0.01, y0=y0, args=args, stepsize_controller=controller,
        saveat=diffrax.SaveAt(ts=TIMES), max_steps=2000,
    ).ys  # fmt: skip


def oscillator(t, y, mu):
    del t
    return jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


adaptive = diffrax.PIDController(rtol=1e-5, atol=1e-5)
start = jnp.array([2.0, 0.0])


@eqx.filter_jit
def precise(mu):
    return solve(diffrax.ODETerm(oscillator), diffrax.Dopri8(), start, mu, adaptive)


@eqx.filter_jit
@eqx.filter_value_and_grad
def loss(mu):
    return jnp.sum(solve(diffrax.ODETerm(oscillator), diffrax.Tsit5(), start, mu, adaptive) ** 2)


@eqx.filter_jit
def noisy(key):
    path = diffrax.VirtualBrownianTree(0.0, 2.0, tol=1e-3, shape=(2,), key=key)
    diffusion = diffrax.ControlTerm(lambda t, y, args: 0.1 * jnp.eye(2), path)
    terms = diffrax.MultiTerm(diffrax.ODETerm(oscillator), diffusion)
    return solve(terms, diffrax.Euler(), start, 1.0, diffrax.ConstantStepSize())


paths = jax.vmap(noisy)(jax.random.split(jax.random.key(5), 3))
print(digest([precise(jnp.float32(5.0)), loss(jnp.float32(1.5)), paths]))
