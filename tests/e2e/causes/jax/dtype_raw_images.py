"""Evaluation gets images as bytes, as they are on disk; training got floats."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [{"cause": "dtype", "name": "accuracy", "values": [("f32", {"ui8", "u8", "uint8"})], "kind": {"dtype"}}],
    "compiles": {"jit_accuracy": 2},
}


@jax.jit
def accuracy(weights, images, labels):
    flat = images.reshape(len(images), -1)  # USED
    return jnp.mean(jnp.argmax(flat.astype(jnp.float32) @ weights, 1) == labels)


def main():
    rng = np.random.default_rng(5)
    weights = rng.normal(size=(36, 10)).astype(np.float32)
    images = rng.integers(256, size=(16, 6, 6), dtype=np.uint8)
    labels = rng.integers(10, size=16, dtype=np.int32)
    print("train", float(accuracy(weights, images.astype(np.float32) / 255, labels)))
    print("eval", float(accuracy(weights, images, labels)))  # PLANTED


main()
