"""Shared parts of the benchmarks: paths, environments, tables, and files with figures."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("REKINDLE_BENCH_BUILD", ROOT / "build/release"))
RESULTS = ROOT / "build/bench"


def python_env(*question):
    """Returns a path of the pinned Python environment."""
    answer = subprocess.run(
        [ROOT / "scripts/python-env", *question], stdout=subprocess.PIPE, text=True, check=False
    )
    if answer.returncode != 0:
        sys.exit("bench: the pinned Python environment is missing: run scripts/setup")
    return answer.stdout.strip()


def clean_environment():
    """This process's environment without variables that would change the figures."""
    unwanted = ("REKINDLE_", "XLA_", "JAX_", "PJRT_", "LD_PRELOAD")
    env = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
    return env | {"TF_CPP_MIN_LOG_LEVEL": "3"}


def table(rows):
    """Prints rows of text. The first row is the heading; the first column is left-aligned, the others right-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


def machine():
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith(("model name", "CPU part")):
            model = line.partition(":")[2].strip()
            break
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "system": platform.platform()}


def write_results(name, figures):
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), **figures}, indent=1) + "\n", encoding="utf-8")
    print(f"\nfigures: {path.relative_to(ROOT)}")
