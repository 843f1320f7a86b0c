"""A classifier serves sentences of any length without padding."""

import jax
import numpy as np

CASE = {
    "causes": [{"cause": "shape", "name": "classify", "times": 5, "values": [([1, 7], [1, 9])], "kind": {"shape"}}],
    "patterns": [("shape_family", "")],
    "compiles": {"jit_classify": 6},
    "questions": {"input_shapes_changed": True},
}


@jax.jit
def classify(params, tokens):
    embedded = params["embedding"][tokens]  # USED
    pooled = jax.nn.gelu(embedded @ params["hidden"]).mean(axis=1)
    return jax.nn.softmax(pooled @ params["head"])


def main():
    rng = np.random.default_rng(1)
    params = {
        "embedding": rng.normal(size=(50, 8)).astype(np.float32),
        "hidden": rng.normal(size=(8, 16)).astype(np.float32),
        "head": rng.normal(size=(16, 3)).astype(np.float32),
    }
    for length in (7, 9, 12, 5, 31, 18, 9, 7, 12):
        sentence = rng.integers(50, size=(1, length), dtype=np.int32)
        answer = classify(params, sentence)  # PLANTED
        print(length, int(np.argmax(answer)))


main()
