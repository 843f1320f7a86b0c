"""Inference with Equinox; the second start loads a half-precision checkpoint."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{"args": ["float32"]}, {"args": ["bfloat16"]}],
    "causes": [{"cause": "dtype", "name": "infer", "values": [("f32", "bf16")], "kind": {"dtype"}}],
    "compiles": {"infer": 1},
    "may": ["shape"],
}


class Scorer(eqx.Module):
    first: jax.Array
    second: jax.Array

    def __call__(self, x):
        hidden = jax.nn.silu(self.first @ x)  # USED
        return self.second @ hidden


@eqx.filter_jit
def infer(model, batch):
    return jax.vmap(model)(batch)


def main():
    rng = np.random.default_rng(6)
    dtype = jnp.dtype(sys.argv[1])
    model = Scorer(rng.normal(size=(8, 5)).astype(dtype), rng.normal(size=(2, 8)).astype(dtype))
    batch = rng.normal(size=(4, 5)).astype(np.float32)
    print(np.asarray(infer(model, batch)).sum())  # PLANTED


main()
