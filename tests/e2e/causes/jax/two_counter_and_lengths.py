"""Serving with two causes: a growing penalty is a counter in one function, and sentence lengths vary in another."""

import jax
import jax.numpy as jnp
import numpy as np

CASE = {
    "causes": [
        {"cause": "shape", "name": "prefill", "times": 3, "kind": {"shape"}, "place": "length"},
        {"cause": "constant", "name": "rescore", "times": 3, "values": [({1, 2}, 3)], "place": "turn"},
    ],
    "patterns": [("counter", "turn"), ("shape_family", "length")],
    "compiles": {"jit_prefill": 4, "jit_rescore": 4},
    "questions": {"input_shapes_changed": True, "profile_or_sharding_changed": False},
}


@jax.jit
def prefill(table, tokens):
    return table[tokens].cumsum(0)[-1]  # USED: length


class Session:
    def __init__(self):
        self.turn = 0

    def rescore(self, logits):
        self.turn += 1

        def rescore(logits):
            return jax.nn.log_softmax(logits - jnp.arange(8) * self.turn)  # PLANTED: turn

        return jax.jit(rescore)(logits)


def main():
    rng = np.random.default_rng(74)
    table, session = rng.normal(size=(20, 8)).astype(np.float32), Session()
    for length in (3, 4, 6, 11):
        hidden = prefill(table, rng.integers(20, size=length, dtype=np.int32))  # PLANTED: length
        print(int(np.argmax(session.rescore(hidden))))


main()
