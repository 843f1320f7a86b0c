"""PyTorch/XLA: the executables of a job's last run are prefetched, in both formats, and train to the same bits."""

import pytest

import torch_harness
from torch_harness import FORMATS, assert_warm


@pytest.mark.parametrize("form", FORMATS)
def test_loaded_ahead(tmp_path, form):
    store = torch_harness.Store(tmp_path / "store")
    arguments = ("torch_train.py", "--steps", 4, "lstm", "convnet")
    env = FORMATS[form]
    cold = store.start(*arguments, env=env)
    warm = store.start(*arguments, env=env)
    stats = assert_warm(store, warm, cold)
    assert 0 < stats["preloaded"] <= stats["hits"] and stats["preload_wasted"] == 0, stats
    without = store.start(*arguments, env=env | {"REKINDLE_PRELOAD": "0"})
    stats = assert_warm(store, without, cold)
    assert stats["preloaded"] == 0, stats
