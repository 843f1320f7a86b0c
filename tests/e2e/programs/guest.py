"""A JAX process with typical activities of real jobs beside JAX; prints a digest of its results.

    guest.py plain
    guest.py imports             imports modules that load shared libraries
    guest.py subprocess          a child program before and after the first compilation
    guest.py spawn|forkserver|fork
                                 multiprocessing children; only the first two use JAX, because JAX
                                 does not survive a fork
    guest.py os-fork             bare os.fork; the children end in several ways
    guest.py fork-first          two JAX processes, forked before JAX is imported
    guest.py faketime            reports the date that the process sees
"""

import ctypes
import multiprocessing
import os
import subprocess
import sys
import warnings


def square_sum(n):
    """Runs in a child: ordinary work without JAX."""
    return sum(i * i for i in range(n))


def jax_square_sum(n):
    """Runs in a child with its own JAX. Destroys the client explicitly, because a pool's child ends by os._exit.

    The client is destroyed, which finishes all storing, only when nothing refers to it any more: neither the
    result nor uncollected garbage.
    """
    import gc

    import jax
    import jax.extend.backend
    import jax.numpy as jnp

    result = float(jax.jit(lambda x: (x * x).sum())(jnp.arange(float(n))))
    jax.clear_caches()
    jax.extend.backend.clear_backends()
    gc.collect()
    return result


def in_children(method, function):
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        results = pool.map_async(function, [10, 20]).get(timeout=120)
        pool.close()
        pool.join()
        return results


def around(what):
    if what == "imports":
        import hashlib
        import lzma
        import sqlite3
        import ssl
        import zlib

        ctypes.CDLL(None)
        assert sqlite3.connect(":memory:").execute("select 1 + 1").fetchone() == (2,)
        assert ssl.create_default_context() and hashlib.sha256(b"").hexdigest()
        assert lzma.decompress(lzma.compress(b"x")) == zlib.decompress(zlib.compress(b"x"))
    elif what == "subprocess":
        assert subprocess.check_output(["echo", "child"], text=True) == "child\n"
        assert subprocess.run([sys.executable, "-c", "import json"], check=True).returncode == 0
    elif what in ("spawn", "forkserver"):
        assert in_children(what, jax_square_sum) == [285.0, 2470.0]
    elif what == "fork":
        assert in_children("fork", square_sum) == [285, 2470]
    elif what == "os-fork":
        # Not sys.exit: JAX crashes or hangs in a child that finalizes Python. exit(3) runs the exit handlers of
        # libraries, like a child written in C.
        exit_by_c = ctypes.CDLL(None).exit
        leave = (lambda: os._exit(3), lambda: exit_by_c(3), os.abort, lambda: os.execlp("true", "true"))
        return [forked(one) for one in leave]
    elif what == "faketime":
        import time

        return [time.strftime("%Y-%m-%d")]
    return []


def forked(leave):
    """Returns the exit status of a child that ends through `leave`, or the negative signal number."""
    child = os.fork()
    if child == 0:
        leave()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    what = sys.argv[1]
    # JAX warns at every fork, with and without rekindle.
    warnings.filterwarnings("ignore", message=".*fork.*")
    if what == "subprocess":
        around(what)
    child = os.fork() if what == "fork-first" else None

    import jax

    from kinds import sharded, train
    from report import digest, finish

    first = digest(jax.jit(lambda x: x @ x.T)(jax.numpy.ones((4, 4))))
    seen = around(what)
    results = {"first": first, "train": digest(train()), "sharded": digest(sharded())}
    if child == 0:
        return
    if child:
        seen = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]
    finish({"seen": seen, **results})


if __name__ == "__main__":
    main()
