"""Several PJRT clients in one process; prints a digest of each client's results.

    clients.py again             one after the other, on one plugin
    clients.py both              two plugins, xcpu and ycpu, side by side
    clients.py threads           one client; many threads compile for it at once
"""

import sys
import threading

import jax
import jax.extend.backend
import jax.numpy as jnp
import numpy as np

from kinds import train
from report import digest, finish


def again():
    results = []
    for _ in range(3):
        results.append(digest(train()))
        jax.clear_caches()
        jax.extend.backend.clear_backends()
    return results


def both():
    results = []
    for platform in ("xcpu", "ycpu"):
        x = jax.device_put(np.ones((8, 8), np.float32), jax.devices(platform)[1])
        results.append(digest(jax.jit(lambda x: jnp.tanh(x) @ x)(x)))
    return results


def threads():
    results = [None] * 12

    def work(i):
        # Three different programs; four threads compile each.
        results[i] = digest(jax.jit(lambda x: jnp.sort(x * (i % 3 + 2)) @ x)(np.ones(64, np.float32)))

    workers = [threading.Thread(target=work, args=(i,)) for i in range(len(results))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return results


if __name__ == "__main__":
    results = {"again": again, "both": both, "threads": threads}[sys.argv[1]]()
    finish({str(i): result for i, result in enumerate(results)})
