"""Compiles, prints a digest, and ends at once, while rekindle is still storing the executable.

    leave.py return|exit|os-exit|uncaught|sigterm|sigkill|abort
"""

import os
import signal
import sys

import jax

from kinds import train
from report import digest

LEAVE = {
    "return": lambda: None,
    "exit": lambda: sys.exit(5),
    "os-exit": lambda: os._exit(6),
    "uncaught": lambda: 1 / 0,
    "sigterm": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "sigkill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "abort": os.abort,
}

if __name__ == "__main__":
    print(digest(train()), flush=True)
    # This executable is certainly still being stored: its compilation has just returned.
    jax.jit(lambda x: jax.numpy.sort(x) @ x).lower(jax.numpy.ones(128)).compile()
    LEAVE[sys.argv[1]]()
