"""A small job on the real CPU plugin, started many times. The parent imports the frameworks once, and each start is a
forked process with its own plugin. For each line on stdin it prints one line with the outcome of a start.

With BITFLIP_JAX_CACHE the job uses JAX's own persistent cache in that directory.
"""

import json
import os
import signal
import sys

import jax
import numpy as np

START_SECONDS = 60


def work():
    """Compiles and runs one program with weights baked in. Returns whether it was loaded, and its results."""
    hits = []
    cache = os.environ.get("BITFLIP_JAX_CACHE")
    if cache:
        jax.config.update("jax_compilation_cache_dir", cache)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
    weights = np.random.RandomState(7).standard_normal((16, 24)).astype(np.float32)

    def step(x):
        y = jax.numpy.tanh(x @ weights)
        return jax.numpy.sort(y, axis=1), (y * y).sum(axis=0)

    x = np.linspace(-1, 1, 8 * 16, dtype=np.float32).reshape(8, 16)
    results = [np.asarray(part).tobytes().hex() for part in jax.jit(step)(x)]
    return "/jax/compilation_cache/cache_hits" in hits, results


def child(out):
    # Messages of a damaged executable must not disturb the table.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    signal.alarm(START_SECONDS)
    try:
        loaded, results = work()
        answer = {"loaded": loaded, "results": results}
    except Exception as problem:
        answer = {"error": f"{type(problem).__name__}: {problem}"[:200]}
    os.write(out, json.dumps(answer).encode())
    os.close(out)
    # An ordinary end of Python, so that pending entries are stored.
    sys.exit(0)


def start(run):
    inward, outward = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(inward)
        os.environ["REKINDLE_RUN"] = run
        child(outward)
    os.close(outward)
    with os.fdopen(inward, "rb") as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    answer = json.loads(text) if text else {}
    return answer | {"status": status}


def main():
    from jax._src import compilation_cache as jax_cache

    compressor = "zlib"
    if getattr(jax_cache, "zstd", None) or getattr(jax_cache, "zstandard", None):
        compressor = "zstandard"
    print(json.dumps({"version": jax.__version__, "compressor": compressor}), flush=True)
    for line in sys.stdin:
        print(json.dumps(start(line.strip())), flush=True)


main()
