"""Three starts under three launch profiles, each with different TPU flags."""

import jax
import numpy as np

CASE = {
    "runs": [
        {"env": {"LIBTPU_INIT_ARGS": "--xla_tpu_enable_async_collective_fusion=true"}},
        {"env": {"LIBTPU_INIT_ARGS": ""}},
        {"env": {"LIBTPU_INIT_ARGS": "--xla_tpu_scoped_vmem_limit_kib=98304"}},
    ],
    "causes": [
        {"cause": "environment", "name": "convolve", "values": [(None, 98304)], "kind": {"flag"}, "place": None},
    ],
    "patterns": [("flag_drift", None)],
    "compiles": {"jit_convolve": 1},
    "questions": {"profile_or_sharding_changed": True},
}


@jax.jit
def convolve(image, kernel):
    return jax.scipy.signal.convolve2d(image, kernel, mode="same").sum()


def main():
    rng = np.random.default_rng(46)
    print(float(convolve(rng.normal(size=(12, 12)).astype(np.float32), rng.normal(size=(3, 3)).astype(np.float32))))


main()
