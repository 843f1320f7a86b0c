"""Between two starts the disk damages the entry of one of two programs."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "runs": [{}, {"damage": "jit_embed"}],
    "causes": [{"cause": "damaged", "name": "embed", "place": None}],
    "compiles": {"jit_embed": 1, "jit_classify": 0},
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False, "hidden_branch_active": False},
}


@jax.jit
def embed(table, tokens):
    return jax.nn.standardize(table[tokens].mean(1))


@jax.jit
def classify(head, embedded):
    return jnp.argmax(embedded @ head, 1)


rng = np.random.default_rng(64)
table, head = rng.normal(size=(30, 6)).astype(np.float32), rng.normal(size=(6, 3)).astype(np.float32)
print(np.asarray(classify(head, embed(table, rng.integers(30, size=(4, 5), dtype=np.int32)))))
