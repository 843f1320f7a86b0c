"""Runs cases of JAX's own harnesses for lax, and writes each verdict and a digest of each result.

usage: lax_cases.py --list | lax_cases.py CASES OUT
CASES is a JSON list of names. OUT gets a line of JSON before a case ({"begin"}) and one after it, so that the driver
sees in which case the process died.
"""

import json
import os
import re
import sys
import warnings
import zlib

import jax
import numpy as np
from jax._src.internal_test_util import test_harnesses

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "programs"))
from digest import digest


def run(harness):
    """The verdict, and the digest of the result or the error."""
    if any(limit.skip_run and limit.filter("cpu", harness.dtype) for limit in harness.jax_unimplemented):
        return "skipped", ""
    # Each case has arguments of its own, whatever ran before it.
    rng = np.random.RandomState(zlib.crc32(harness.fullname.encode()))
    try:
        return "passed", digest(jax.jit(harness.dyn_fun)(*harness.dyn_args_maker(rng)))
    except Exception as error:
        lines = str(error).splitlines() or [""]
        return f"failed: {type(error).__name__}", re.sub(r"0x[0-9a-f]+", "0x", lines[0])[:300]


def main():
    harnesses = {harness.fullname: harness for harness in test_harnesses.all_harnesses}
    if sys.argv[1] == "--list":
        print(json.dumps({"versions": {"jax": jax.__version__}, "cases": sorted(harnesses)}))
        return
    warnings.simplefilter("ignore")
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        for name in cases:
            print(json.dumps({"begin": name}), file=out, flush=True)
            print(json.dumps({"case": name, "result": run(harnesses[name])}), file=out, flush=True)


main()
