"""A small convolutional network (Flax); its image size, a command line argument, changes between two starts."""

import argparse

import flax.linen as nn
import jax
import numpy as np

CASE = {
    "runs": [{"args": ["--size", "12"]}, {"args": ["--size", "16"]}],
    "causes": [
        {"cause": "shape", "name": "predict", "values": [([2, 12, 12, 3], [2, 16, 16, 3])], "kind": {"shape"}},
    ],
    "compiles": {"jit_predict": 1},
    "questions": {"input_shapes_changed": True},
}


class Network(nn.Module):
    @nn.compact
    def __call__(self, images):
        features = nn.relu(nn.Conv(4, (3, 3))(images))  # USED
        return nn.Dense(10)(features.mean((1, 2)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int)
    size = parser.parse_args().size
    rng = np.random.default_rng(3)
    network = Network()
    variables = {
        "params": {
            "Conv_0": {"kernel": rng.normal(size=(3, 3, 3, 4)).astype(np.float32), "bias": np.zeros(4, np.float32)},
            "Dense_0": {"kernel": rng.normal(size=(4, 10)).astype(np.float32), "bias": np.zeros(10, np.float32)},
        }
    }

    @jax.jit
    def predict(variables, images):
        return network.apply(variables, images).argmax(-1)

    images = rng.normal(size=(2, size, size, 3)).astype(np.float32)
    print(np.asarray(predict(variables, images)))  # PLANTED


main()
