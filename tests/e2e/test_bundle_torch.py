"""`rekindle bundle` with PyTorch/XLA: what one machine compiled starts another one warm, under another home and path."""

import json

import pytest

from harness import assert_cold
from machines import carry, two
from torch_harness import FORMATS, Store, assert_warm


@pytest.mark.parametrize("form", FORMATS)
def test_the_other_machine_compiles_nothing(tmp_path, form):
    """The job has one name on both machines, so its manifest is imported too, and its executables are prefetched."""
    first, second = two(tmp_path, Store)
    env = FORMATS[form] | {"REKINDLE_JOB": "training"}
    job = ("torch_train.py", "--steps", 4, "gpt")
    cold, stats = first.start(*job, env=env)
    assert_cold(stats)
    said, _ = carry(first, second, tmp_path / "job.rkb")
    assert said["imported"]["executables"] == said["imported"]["programs"] == stats["programs"] > 0, said
    assert said["imported"]["manifests"] == 1 and said["refused"] == [], said
    warm, _ = second.start(*job, env=env)
    assert assert_warm(second.store, warm, cold)["preloaded"] > 0
    assert json.loads(second.store.cli("fsck", "--json").stdout)["findings"] == []
    made_with = json.loads(second.bundle("inspect", tmp_path / "job.rkb", "--json").stdout)["made_with"]
    assert made_with["torch"] and made_with["torch_xla"], made_with
