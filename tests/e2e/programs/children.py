"""Starts one multiprocessing child per method at once: fork and forkserver children end by os._exit, spawn as usual."""

import multiprocessing
import sys
import time

METHODS = ["fork", "forkserver", "spawn"]


def work(number):
    import jax  # not before the fork: JAX has threads
    import numpy as np

    jax.devices()
    time.sleep(0.5)  # prefetching starts now
    matrix = np.ones((64, 64), np.float32)
    for constant in (0, 1 + number):  # one program shared by all children, one of this child only
        jax.jit(lambda x, constant=constant: jax.numpy.sin(x) @ x + constant)(matrix).block_until_ready()
    time.sleep(1)  # storing runs in the background


if __name__ == "__main__":
    children = [multiprocessing.get_context(method).Process(target=work, args=(number,))
                for number, method in enumerate(METHODS)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    sys.exit(sum(child.exitcode != 0 for child in children))
