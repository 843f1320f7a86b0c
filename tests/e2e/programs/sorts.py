"""Many small programs with a sort, each executed right after its compilation; prints a digest of each result.

XLA's CPU plugin can serialize such an executable only before its first execution: afterwards it reports
"`LessThan` is not serializable".
"""

import jax
import jax.numpy as jnp
import numpy as np

from report import digest, finish


def sort_of(number):
    return jax.jit(lambda x: jnp.sort(x * (number + 1)) + number)


if __name__ == "__main__":
    values = np.random.default_rng(0).standard_normal(65).astype(np.float32)
    finish({str(number): digest(sort_of(number)(values)) for number in range(16)})
