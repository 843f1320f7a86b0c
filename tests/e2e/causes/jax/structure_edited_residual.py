"""Between two starts a residual connection is added to a layer (Flax)."""

import flax.linen as nn
import jax
import numpy as np

CASE = {
    "runs": [
        {},
        {"edit": [("x = nn.gelu(nn.Dense(8, name=name)(x))", "x = x + nn.gelu(nn.Dense(8, name=name)(x))")]},
    ],
    "causes": [{"cause": "structure", "name": "forward", "kind": {"op_added"}}],
    "compiles": {"jit_forward": 1},
    "questions": {"input_shapes_changed": False},
}


class Stack(nn.Module):
    @nn.compact
    def __call__(self, x):
        for name in ("first", "second"):
            x = nn.gelu(nn.Dense(8, name=name)(x))  # PLANTED
        return x


@jax.jit
def forward(variables, x):
    return Stack().apply(variables, x).sum(-1)


def main():
    rng = np.random.default_rng(22)
    layers = {
        name: {"kernel": rng.normal(size=(8, 8)).astype(np.float32), "bias": np.zeros(8, np.float32)}
        for name in ("first", "second")
    }
    print(np.asarray(forward({"params": layers}, rng.normal(size=(4, 8)).astype(np.float32))))


main()
