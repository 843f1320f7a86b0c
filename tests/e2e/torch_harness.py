"""Starts real PyTorch/XLA processes (torch_store.py); harness.py starts JAX processes."""

import importlib.util

import pytest

import harness
from torch_store import CHILD_TIMEOUT_S, LOADERS, Store  # noqa: F401 (for the tests)

if importlib.util.find_spec("torch_xla") is None:
    pytest.skip("this Python has no torch_xla: tests/e2e/run torch", allow_module_level=True)

# The two program formats of torch_xla.
FORMATS = {"hlo": {}, "mlir": {"XLA_STABLEHLO_COMPILE": "1"}}


def assert_warm(store, done, same_as):
    """Checks that nothing was compiled and that the results are the same to the bit. Returns the counters."""
    assert done.json()["results"] == same_as.json()["results"]
    stats = store.stats()
    harness.assert_warm(stats)
    assert harness.requests(stats) == done.json()["requests"], stats
    return stats
