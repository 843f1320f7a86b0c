"""Asks for many small programs, then for a big one; prints the time of each request, as JSON.

    scale_programs.py COUNT [--patience SECONDS]

Started by bench/scale. --patience waits between the client and the first request, as imports and data loading would.
"""

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
import train_transformer  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--patience", type=float, default=0)
    args = parser.parse_args()
    began = time.perf_counter()
    jax.devices()
    client = time.perf_counter() - began
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    time.sleep(args.patience)
    programs = [
        jax.jit(lambda x, n=number: jnp.tanh(x) * (n + 0.5)).lower(np.ones(8, np.float32)) for number in range(args.count)
    ]
    state = jax.eval_shape(lambda: train_transformer.init(0, 2))
    tokens = jax.eval_shape(lambda: train_transformer.make_batch(0, 16))
    programs.append(train_transformer.train_step.lower(state, tokens))
    times, kept = [], []
    for lowered in programs:
        began = time.perf_counter()
        kept.append(lowered.compile())
        times.append(time.perf_counter() - began)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({
        "client": client, "small": times[:-1], "big": times[-1], "sum": sum(times), "rss": rss * 1024,
        "most_rss": most * 1024, "seconds": time.time() - float(os.environ["BENCH_STARTED"]),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
