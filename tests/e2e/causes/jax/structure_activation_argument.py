"""The second start selects another activation function on its command line (Equinox)."""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{"args": ["--activation", "relu"]}, {"args": ["--activation", "tanh"]}],
    "causes": [{"cause": "structure", "name": "evaluate", "kind": {"op_added", "op_removed"}}],
    "compiles": {"evaluate": 1},
    "questions": {"input_shapes_changed": False},
}


class Tower(eqx.Module):
    weights: list
    activation: callable = eqx.field(static=True)

    def __call__(self, x):
        for weight in self.weights[:-1]:
            x = self.activation(weight @ x)  # PLANTED
        return self.weights[-1] @ x


@eqx.filter_jit
def evaluate(tower, batch):
    return jnp.mean(jax.vmap(tower)(batch) ** 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--activation", choices=["relu", "tanh"])
    activation = {"relu": jax.nn.relu, "tanh": jnp.tanh}[parser.parse_args().activation]
    rng = np.random.default_rng(21)
    weights = [rng.normal(size=size).astype(np.float32) for size in ((8, 4), (1, 8))]
    print(float(evaluate(Tower(weights, activation), rng.normal(size=(6, 4)).astype(np.float32))))


main()
