"""Some batches have a padding mask, others do not."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [
        {"cause": "parameters", "name": "encode", "values": [(None, [4, 6])], "kind": {"parameter_added"}},
    ],
    "may": ["optional_inputs", "alternation"],
    "compiles": {"jit_encode": 2},
    "questions": {"hidden_branch_active": True},
}


@jax.jit
def encode(weights, batch):
    hidden = jnp.tanh(batch["inputs"] @ weights)
    if "mask" in batch:
        hidden = hidden * batch["mask"][..., None]  # USED
    return hidden.mean(1)


def main():
    rng = np.random.default_rng(30)
    weights = rng.normal(size=(5, 3)).astype(np.float32)
    for number in range(6):
        batch = {"inputs": rng.normal(size=(4, 6, 5)).astype(np.float32)}
        if number % 3 == 2:
            batch["mask"] = (rng.random((4, 6)) < 0.8).astype(np.float32)
        encoded = encode(weights, batch)  # PLANTED
    print(np.asarray(encoded).sum())


main()
