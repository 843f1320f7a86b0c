"""Starts real PyTorch/XLA processes; harness.py starts JAX processes.

torch_xla 2.9 uses an older PJRT version than the CPU plugin, which refuses it. rekindle bridges the versions. A process
without rekindle uses older_caller.c instead, a plugin that does nothing but bridge.
"""

import importlib.util

import pytest

import harness
from harness import BUILD

if importlib.util.find_spec("torch_xla") is None:
    pytest.skip("this Python has no torch_xla: tests/e2e/run torch", allow_module_level=True)

CHILD_TIMEOUT_S = 600
OLDER_CALLER = BUILD / "tests/older_caller.so"

# The ways to make torch_xla load a plugin; `Store.loader` is one of them.
LOADERS = {
    "library": lambda path: {"PJRT_DEVICE": "LIBRARY", "PJRT_LIBRARY_PATH": path},
    "tpu": lambda path: {"PJRT_DEVICE": "TPU", "TPU_LIBRARY_PATH": path},
    # programs/torch_report.py registers a DevicePlugin under this name.
    "device_plugin": lambda path: {"PJRT_DEVICE": "XCPU", "TEST_DEVICE_PLUGIN": path},
}

# The two program formats of torch_xla.
FORMATS = {"hlo": {}, "mlir": {"XLA_STABLEHLO_COMPILE": "1"}}


class Store(harness.Store):
    """A rekindle store and the PyTorch/XLA processes that use it."""

    loader = "library"

    def framework_environment(self, library, way):
        env = harness.clean_environment()
        if way == "bare":
            env["OLDER_CALLER_PLUGIN"] = str(library)
            library = OLDER_CALLER
        return env | LOADERS[self.loader](str(library))

    def start(self, program, *args, **options):
        return super().start(program, *args, **{"timeout_s": CHILD_TIMEOUT_S} | options)


def assert_warm(store, done, same_as):
    """Checks that nothing was compiled and that the results are the same to the bit. Returns the counters."""
    assert done.json()["results"] == same_as.json()["results"]
    stats = store.stats()
    harness.assert_warm(stats)
    assert harness.requests(stats) == done.json()["requests"], stats
    return stats
