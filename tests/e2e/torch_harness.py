"""Starts real PyTorch/XLA processes, as harness.py does those of JAX.

torch_xla 2.9 speaks an older PJRT than the CPU plugin, which refuses it. With rekindle in between it works; a bare
process gets older_caller.c in between instead, a plugin that does nothing but that.
"""

import functools
import importlib.util
import subprocess
import tempfile
from pathlib import Path

import pytest

import harness
from harness import HERE

if importlib.util.find_spec("torch_xla") is None:
    pytest.skip("this Python has no torch_xla: tests/e2e/run torch", allow_module_level=True)

CHILD_TIMEOUT_S = 600

# How torch_xla is told to load a plugin; `Store.loader` is one of them.
LOADERS = {
    "library": lambda path: {"PJRT_DEVICE": "LIBRARY", "PJRT_LIBRARY_PATH": path},
    "tpu": lambda path: {"PJRT_DEVICE": "TPU", "TPU_LIBRARY_PATH": path},
    # programs/torch_report.py registers a DevicePlugin under this name.
    "device_plugin": lambda path: {"PJRT_DEVICE": "XCPU", "TEST_DEVICE_PLUGIN": path},
}

# The two formats in which torch_xla hands its programs over.
FORMATS = {"hlo": {}, "mlir": {"XLA_STABLEHLO_COMPILE": "1"}}


@functools.cache
def older_caller():
    """older_caller.c, built once a session against the header beside the plugin."""
    folder = tempfile.TemporaryDirectory(prefix="rekindle-e2e-")
    library = Path(folder.name) / "older_caller.so"
    header = Path(harness.find_plugin()).parent / "include"
    subprocess.run(
        ["cc", "-std=gnu17", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden",
         f"-I{header}", "-o", library, HERE / "older_caller.c", "-ldl"],
        check=True,
    )  # fmt: skip
    return library, folder  # the folder lives as long as this answer is kept


class Store(harness.Store):
    """A rekindle store and the PyTorch/XLA processes that use it."""

    loader = "library"

    def framework_environment(self, library, way):
        env = harness.clean_environment()
        if way == "bare":
            env["OLDER_CALLER_PLUGIN"] = str(library)
            library = older_caller()[0]
        return env | LOADERS[self.loader](str(library))

    def start(self, program, *args, **options):
        return super().start(program, *args, **{"timeout_s": CHILD_TIMEOUT_S} | options)


def assert_warm(store, done, same_as):
    """Nothing was compiled, and what came out is the same to the bit. Returns the counters."""
    assert done.json()["results"] == same_as.json()["results"]
    stats = store.stats()
    harness.assert_warm(stats)
    assert harness.requests(stats) == done.json()["requests"], stats
    return stats
