"""A digest of a tree of arrays, keys of random numbers and scalars: over bytes, types and shapes."""

import hashlib

import jax
import numpy as np


def digest(tree):
    hasher = hashlib.sha256()
    for leaf in jax.tree_util.tree_leaves(tree):
        if jax.dtypes.issubdtype(getattr(leaf, "dtype", None), jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        array = np.asarray(leaf)
        hasher.update(f"{array.dtype} {array.shape};".encode())
        hasher.update(array.tobytes())
    return hasher.hexdigest()[:32]
