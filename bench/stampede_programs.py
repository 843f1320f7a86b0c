"""One of many processes that start together: gets ready, waits for the signal, compiles and runs its programs.

Started by bench/stampede. Prints JSON: seconds from the signal to the end, and the sum of each program's results.
"""

import argparse
import json
import os
import time
from pathlib import Path

import jax
import numpy as np
from cold_programs import convolutions, dense, tiny

PROGRAMS = [dense, convolutions, lambda: tiny(1), lambda: tiny(2), lambda: tiny(3)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    args = parser.parse_args()
    jax.devices()
    lowered = []
    for make in PROGRAMS:
        jitted, arguments = make()
        lowered.append((jitted.lower(*arguments), arguments))
    (args.folder / f"ready-{os.getpid()}").touch()
    while not (args.folder / "go").exists():
        time.sleep(0.005)
    start = time.perf_counter()
    sums = []
    for program, arguments in lowered:
        results = program.compile()(*arguments)
        sums.append(sum(float(np.asarray(leaf, np.float64).sum()) for leaf in jax.tree.leaves(results)))
    print(json.dumps({"seconds": time.perf_counter() - start, "sums": sums}))


if __name__ == "__main__":
    main()
