"""Evaluation also requests per-sample losses: the same function returns more results."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "parameters", "name": "run", "values": [(None, [8])], "kind": {"parameter_added"}}],
    "compiles": {"jit_run": 2},
    "questions": {"input_shapes_changed": False},
}


@functools.partial(jax.jit, static_argnames="details")
def run(weights, x, y, details=False):
    losses = huber(x @ weights - y)
    answer = {"loss": losses.mean()}
    if details:
        answer["losses"] = losses  # PLANTED
    return answer


def huber(error):
    return jnp.where(jnp.abs(error) < 1, 0.5 * error**2, jnp.abs(error) - 0.5)  # PLANTED


def main():
    rng = np.random.default_rng(32)
    weights, x = rng.normal(size=3).astype(np.float32), rng.normal(size=(8, 3)).astype(np.float32)
    print(float(run(weights, x, x.sum(1))["loss"]))
    print(float(run(weights, x, x.sum(1), details=True)["losses"].max()))  # PLANTED


main()
