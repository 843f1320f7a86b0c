"""`rekindle bundle`: what one machine compiled starts another one warm, under another home, path and job."""

import json
import os
from pathlib import Path

import harness
import pytest
from harness import assert_cold, assert_warm
from machines import carry, two


@pytest.fixture
def machines(tmp_path):
    return two(tmp_path)


@pytest.mark.parametrize("program", ["kinds.py", "sorts.py"])
def test_the_other_machine_compiles_nothing(machines, tmp_path, program):
    first, second = machines
    cold, stats = first.start(program)
    assert_cold(stats)
    said, _ = carry(first, second, tmp_path / "job.rkb")
    assert said["imported"]["executables"] == stats["programs"] > 0 and said["refused"] == []
    warm, there = second.start(program)
    assert_warm(there)
    assert warm.json() == cold.json()
    assert json.loads(second.store.cli("fsck", "--json").stdout)["findings"] == []


def test_the_same_job_is_prefetched(machines, tmp_path):
    """The manifest is part of the bundle: executables are loaded before they are asked for."""
    first, second = machines
    name = {"REKINDLE_JOB": "training"}
    first.start("kinds.py", env=name)
    said, _ = carry(first, second, tmp_path / "job.rkb")
    assert said["imported"]["manifests"] == 1
    _, there = second.start("kinds.py", env=name)
    assert_warm(there)
    assert there["preloaded"] > 0, there


def test_what_this_machine_says(machines, tmp_path):
    first, second = machines
    first.start("kinds.py", "train")
    file = tmp_path / "job.rkb"
    _, key = carry(first, second, file)
    here = json.loads(first.bundle("inspect", file, "--for-this-machine", "--json").stdout)
    assert here["usable"] is True and here["mismatches"] == []
    assert here["made_with"]["jax"] and here["made_with"]["host.cpu_features"].count(" ") > 10
    # Another program there tells with what the second machine compiles.
    name = "--xla_backend_optimization_level"
    second.start("sorts.py", env={"XLA_FLAGS": f"{name}=0"})
    there = json.loads(second.bundle("inspect", file, "--for-this-machine", "--json", status=1).stdout)
    assert there["usable"] is False
    assert [(one["what"], one["blocks"]) for one in there["mismatches"]] == [(f"XLA_FLAGS:{name}", False)]
    before = sorted(second.store.entries())
    refused = second.bundle("import", file, "--trust", key, status=1)
    assert f"XLA_FLAGS:{name} differs; --force" in refused.stderr
    assert sorted(second.store.entries()) == before


def other_build(plugin, path):
    """A copy of the plugin that differs in one text of its constants, the name of a source file."""
    path.write_bytes(Path(plugin).read_bytes().replace(b".cc\0", b".CC\0", 1))
    return str(path)


def test_another_build_of_the_plugin(machines, tmp_path):
    first, second = machines
    first.start("kinds.py", "train")
    second.store.plugin = other_build(second.store.plugin, tmp_path / "plugin.so")
    second.start("kinds.py", "train")
    file = tmp_path / "job.rkb"
    first.bundle("export", "-o", file)
    key = json.loads(first.bundle("inspect", file, "--json").stdout)["signature"]["public_key"]
    before = sorted(second.store.entries())
    refused = second.bundle("import", file, "--trust", key, "--force", status=1)
    assert "nothing in it can be used on this machine: plugin." in refused.stderr
    assert refused.stderr.count("blocks") == 1
    assert sorted(second.store.entries()) == before


def as_user(monkeypatch, machine):
    for name, value in (("REKINDLE_DIR", machine.store.directory), ("HOME", machine.home), ("XDG_CONFIG_HOME", "")):
        monkeypatch.setenv(name, str(value))


def test_from_python(machines, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "python"))
    monkeypatch.setenv("PATH", f"{harness.BUILD / 'bin'}:{os.environ['PATH']}")
    from rekindle import bundle

    first, second = machines
    cold, stats = first.start("kinds.py")
    as_user(monkeypatch, first)
    artifacts, info = bundle.save()
    as_user(monkeypatch, second)
    with pytest.raises(RuntimeError, match="--trust"):
        bundle.load(artifacts)
    assert second.store.entries() == []
    imported = bundle.load(artifacts, trust=[info["public_key"]])
    assert imported["imported"]["executables"] == stats["programs"] > 0
    warm, there = second.start("kinds.py")
    assert_warm(there)
    assert warm.json() == cold.json()
    with pytest.raises(RuntimeError, match="no run|not found|nothing"):
        bundle.save(run="20010101T000000Z-nobody-1")
