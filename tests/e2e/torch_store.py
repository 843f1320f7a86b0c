"""A store and the PyTorch/XLA processes that use it. Imports neither torch nor pytest; torch_harness.py is for tests.

torch_xla 2.9 uses an older PJRT version than the CPU plugin, which refuses it. rekindle bridges the versions. A process
without rekindle uses older_caller.c instead, a plugin that does nothing but bridge.
"""

import harness

CHILD_TIMEOUT_S = 600
OLDER_CALLER = harness.BUILD / "tests/older_caller.so"

# The ways to make torch_xla load a plugin; `Store.loader` is one of them.
LOADERS = {
    "library": lambda path: {"PJRT_DEVICE": "LIBRARY", "PJRT_LIBRARY_PATH": path},
    "tpu": lambda path: {"PJRT_DEVICE": "TPU", "TPU_LIBRARY_PATH": path},
    # programs/torch_report.py registers a DevicePlugin under this name.
    "device_plugin": lambda path: {"PJRT_DEVICE": "XCPU", "TEST_DEVICE_PLUGIN": path},
}


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


def kind_of_store(python):
    """Returns the class for a Python environment of this name."""
    return Store if python.startswith("torch") else harness.Store
