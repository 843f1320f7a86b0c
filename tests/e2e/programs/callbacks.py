"""Programs with host callbacks, which no cache may store, beside one without.

If a plugin cannot run callbacks, like the CPU plugin, the result is the error's type and text.
"""

import jax
import numpy as np

from kinds import train
from report import digest, finish


def outcome(function, *args):
    try:
        return digest(jax.jit(function)(*args))
    except Exception as error:  # noqa: BLE001 (a plugin may raise any error)
        return f"{type(error).__name__}: {error}"


def pure(x):
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def printed(x):
    jax.debug.print("x is {}", x)
    return x


def ordered(x):
    jax.debug.print("x is {}", x, ordered=True)
    return x


if __name__ == "__main__":
    x = np.ones(4, np.float32)
    results = {f.__name__: outcome(f, x) for f in (pure, printed, ordered)}
    finish(results | {"train": digest(train())})
