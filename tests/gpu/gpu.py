"""A store whose processes run on a GPU, and checks for a GPU and a Python. See run."""

import functools
import glob
import json
import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
sys.path.insert(0, str(HERE.parent / "e2e"))

import harness  # noqa: E402

# "cpu" for tests of these tests themselves.
PLATFORM = os.environ.get("REKINDLE_GPU_PLATFORM", "cuda")
PYTHON = os.environ.get("REKINDLE_GPU_PYTHON", "")

# Compilation times kernels and takes the fastest, so two compilations may differ in bits. These flags prevent that.
SAME_BITS = {"XLA_FLAGS": "--xla_gpu_autotune_level=0 --xla_gpu_deterministic_ops=true"}


def device_files():
    return glob.glob("/dev/nvidia[0-9]*")


@functools.cache
def missing():
    """Returns the reason why nothing can run here; None if everything is present."""
    if PLATFORM != "cpu" and not device_files():
        return "this machine has no NVIDIA GPU (/dev/nvidia0)"
    if not PYTHON:
        return "no Python for GPUs: run scripts/python-env --create cuda, or set REKINDLE_GPU_PYTHON"
    return None


class Store(harness.Store):
    """A rekindle store and the processes that use it, on the devices under test."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.python = shutil.which(PYTHON) or PYTHON
        self.plugin = harness.find_plugin() if PLATFORM == "cpu" else None

    def framework_environment(self, library, way):
        if PLATFORM == "cpu":
            return super().framework_environment(library, way)
        # By default JAX takes three quarters of the GPU's memory, but PyTorch needs some of it.
        return harness.clean_environment() | {"JAX_PLATFORMS": PLATFORM, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


@functools.cache
def seen(framework, folder):
    """Returns the output of programs/devices.py for `framework`, or the end of its stderr if it fails."""
    done = Store(Path(folder) / "store").start(PROGRAMS / "devices.py", framework, PLATFORM, way="bare", status=None)
    if done.returncode == 0:
        return done.json()
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return {"error": lines[-20:] or [f"exit status {done.returncode}"]}


def said(done):
    """Returns rekindle's lines on stderr."""
    return [line for line in done.stderr.splitlines() if line.startswith("rekindle:")]


def explained(store):
    return json.loads(store.cli("explain", "--json").stdout)
