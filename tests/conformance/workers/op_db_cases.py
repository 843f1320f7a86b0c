"""Runs cases of torch's OpInfo database on the xla device: an operation and a type of its inputs are a case.

usage: op_db_cases.py --list | op_db_cases.py CASES OUT
CASES and OUT are as in lax_cases.py. The results of a case are those of some of the samples that the operation comes
with, and their gradients. A case that takes too long ends the process by SIGALRM.
"""

import hashlib
import json
import random
import re
import signal
import sys
import warnings
import zlib

# This module of torch reads the command line itself.
WORDS, sys.argv = sys.argv[1:], sys.argv[:1]

import numpy as np
import torch
import torch_xla
import torch_xla.core.xla_model as xm
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

CASE_TIMEOUT_S = 180
# Evenly spaced among those of a case; some operations come with hundreds.
SAMPLES = 4
DTYPES = (torch.float32, torch.bfloat16, torch.complex64, torch.int64, torch.bool)
DEVICE = "xla"


def cases():
    """By name, in the order of the database."""
    return {
        f"{'.'.join(filter(None, (op.name, op.variant_test_name)))}-{str(dtype).removeprefix('torch.')}": (op, dtype)
        for op in op_db
        for dtype in DTYPES
        if dtype in op.supported_dtypes("cpu")
    }


def samples(op, dtype, name):
    """Made on the CPU, so that no program is needed for them, and the same whatever ran before."""
    seed(name)
    slopes = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    made = list(op.sample_inputs("cpu", dtype, requires_grad=slopes, set_seed=False))
    return made[:: -(-len(made) // SAMPLES) or 1]


def seed(name):
    number = zlib.crc32(name.encode())
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)


def moved(thing):
    """To the device under test: tensors, and what names a device."""
    if isinstance(thing, torch.Tensor):
        with torch.no_grad():
            there = thing.to(DEVICE)
        return there.requires_grad_(thing.requires_grad)
    if isinstance(thing, torch.device) or (isinstance(thing, str) and thing == "cpu"):
        return DEVICE
    return thing


def tensors_of(tree):
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def computed(tensors):
    """On the CPU. Only these are computed, not what a case before has left behind."""
    torch_xla._XLAC._xla_sync_multi([tensor for tensor in tensors if tensor.is_xla], [])
    return [tensor.detach().cpu() for tensor in tensors]


def digest(tensors):
    hasher = hashlib.sha256()
    for tensor in tensors:
        tensor = tensor.resolve_conj().resolve_neg().contiguous()
        hasher.update(f"{tensor.dtype} {tuple(tensor.shape)};".encode())
        hasher.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return hasher.hexdigest()[:32]


def run_sample(op, sample):
    """What the operation returns, and the gradients of its inputs, in one program."""
    arguments = pytree.tree_map(moved, (sample.input, sample.args, sample.kwargs))
    results = op(arguments[0], *arguments[1], **arguments[2])
    outputs = tensors_of(sample.output_process_fn_grad(results))
    with_slope = [tensor for tensor in outputs if tensor.requires_grad]
    inputs = [tensor for tensor in tensors_of(arguments) if tensor.requires_grad]
    slopes = ()
    if with_slope and inputs:
        ones = [torch.ones_like(tensor) for tensor in with_slope]
        slopes = torch.autograd.grad(with_slope, inputs, ones, allow_unused=True)
    return digest(computed([*tensors_of(results), *filter(lambda slope: slope is not None, slopes)]))


def run(op, dtype, name):
    """The verdict, and the digest of the results of all samples, or the first error among them."""
    results, verdict, first = [], "passed", ""
    try:
        for sample in samples(op, dtype, name):
            xm.set_rng_state(zlib.crc32(name.encode()))
            try:
                results.append(run_sample(op, sample))
            except Exception as error:
                lines = str(error).splitlines() or [""]
                results.append(re.sub(r"0x[0-9a-f]+", "0x", lines[0])[:300])
                verdict, first = f"failed: {type(error).__name__}", first or results[-1]
    except Exception as error:
        return f"failed: no samples: {type(error).__name__}", str(error)[:300]
    digest_of_all = hashlib.sha256(json.dumps(results).encode()).hexdigest()[:32]
    return verdict, f"{digest_of_all} {first}".strip()


def main():
    known = cases()
    if WORDS[0] == "--list":
        versions = {"torch": torch.__version__, "torch_xla": torch_xla.__version__}
        print(json.dumps({"versions": versions, "cases": list(known)}))
        return
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with open(WORDS[0], encoding="utf-8") as file:
        names = json.load(file)
    with open(WORDS[1], "w", encoding="utf-8") as out:
        for name in names:
            print(json.dumps({"begin": name}), file=out, flush=True)
            signal.alarm(CASE_TIMEOUT_S)
            result = run(*known[name], name)
            signal.alarm(0)
            print(json.dumps({"case": name, "result": result}), file=out, flush=True)


main()
