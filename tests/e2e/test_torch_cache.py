"""Tests of rekindle that correspond to PyTorch/XLA's own tests of its persistent cache.

A second process loads the executables of the first, in every torch_xla mode. A read-only cache serves entries and
stores none. A damaged file is compiled again. In the report of pytorch/xla #9094 (train, restart, compare) torch_xla's
cache was written but never read: with rekindle below it, the restart hits.
"""

import json
import shutil

import pytest

import harness
import torch_harness

MODES = ("single", "spmd", "devices", "dynamo", "eager")


def new_store(folder):
    store = torch_harness.Store(folder / "store")
    store.loader = "device_plugin"  # torch_xla.launch asks the plugin for the number of processes
    return store


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The output of each mode without rekindle, computed once."""
    store = new_store(tmp_path_factory.mktemp("bare"))
    known = {}

    def ask(mode):
        if mode not in known:
            known[mode] = store.start("torch_modes.py", mode, way="bare").json()["results"]
        return known[mode]

    return ask


@pytest.fixture(scope="module", params=MODES)
def filled(request, bare, tmp_path_factory):
    """A mode, and the store that its first process has filled."""
    store = new_store(tmp_path_factory.mktemp("filled"))
    assert store.start("torch_modes.py", request.param).json()["results"] == bare(request.param)
    stats = store.stats()
    harness.assert_cold(stats)
    assert stats["stored"] == stats["misses"] and stats["bypassed"] == 0, stats
    return request.param, store


@pytest.fixture
def copy(filled, tmp_path):
    mode, store = filled
    shutil.copytree(store.directory, tmp_path / "store")
    return mode, new_store(tmp_path)


def test_second_process_loads_what_the_first_compiled(copy, bare):
    mode, store = copy
    for way in ("run", "plugin") if mode in ("single", "spmd") else ("run",):
        assert store.start("torch_modes.py", mode, way=way).json()["results"] == bare(mode)
        harness.assert_warm(store.stats())


@pytest.mark.parametrize("filled", ["single", "spmd"], indirect=True)
def test_read_only_serves_and_takes_nothing(copy, bare, tmp_path):
    mode, store = copy
    before = store.entries()
    assert store.start("torch_modes.py", mode, env={"REKINDLE_MODE": "readonly"}).json()["results"] == bare(mode)
    harness.assert_warm(store.stats())
    assert store.entries() == before

    empty = new_store(tmp_path / "empty")
    empty.directory.mkdir(parents=True, mode=0o700)
    assert empty.start("torch_modes.py", mode, env={"REKINDLE_MODE": "readonly"}).json()["results"] == bare(mode)
    stats = empty.stats()
    assert stats["compiled"] == stats["misses"] > 0 and stats["stored"] == 0 and empty.entries() == [], stats


@pytest.mark.parametrize("filled", ["single"], indirect=True)
def test_damaged_files_are_compiled_again(copy, bare):
    mode, store = copy
    for damage in ("cut", "empty", "flipped"):
        for path in store.entries():
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes({"cut": data[: len(data) // 2], "empty": b"", "flipped": data}[damage])
        assert store.start("torch_modes.py", mode).json()["results"] == bare(mode)
        stats = store.stats()
        assert stats["hits"] == 0 and stats["quarantined"] == stats["compiled"] == stats["stored"] > 0, stats
    assert store.start("torch_modes.py", mode).json()["results"] == bare(mode)
    harness.assert_warm(store.stats())


def test_the_report_of_issue_9094(tmp_path, capsys):
    """torch_xla's own cache finds its files and loads none; rekindle below it finds and loads everything."""
    store, own = new_store(tmp_path), tmp_path / "own"
    first = store.start("torch_9094.py", own).json()
    cold = store.stats()
    second = store.start("torch_9094.py", own).json()
    warm = store.stats()

    assert second["results"] == first["results"]
    count = first["counters"]["PersistentCacheMiss"]
    assert count > 0 and len(list(own.iterdir())) > 0
    assert second["counters"]["PersistentCacheHit"] == 0
    assert second["counters"]["PersistentCacheDeserializeFailure"] == count

    harness.assert_cold(cold)
    harness.assert_warm(warm)
    assert warm["peers"]["torch_xla"] == {
        "PersistentCacheHit": warm["hits"], "PersistentCacheMiss": 0, "PersistentCacheDeserializeFailure": 0,
    }  # fmt: skip
    assert cold["peers"]["torch_xla"]["PersistentCacheMiss"] == cold["misses"]
    with capsys.disabled():
        print(f"\n#9094: first {json.dumps(first['counters'])}, second {json.dumps(second['counters'])}")
        print(f"beneath: {cold['misses']} misses, then {warm['hits']} hits")
        print(f"until the end of training: {first['seconds']:.1f} s, then {second['seconds']:.1f} s")


def test_what_torch_keeps_of_a_hit_is_whole(tmp_path):
    """After a hit, torch_xla's own cache gets an executable as large as a compiled one, always with the same bytes.
    (Bytes are not compared with a compilation: they differ between any two compilations, also without rekindle.)"""
    store = new_store(tmp_path)
    kept = {}
    for name, way in (("bare", "bare"), ("cold", "run"), ("warm", "run"), ("again", "run")):
        store.start("torch_9094.py", tmp_path / name, way=way)
        kept[name] = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
    harness.assert_warm(store.stats())
    sizes = {name: {file: len(data) for file, data in files.items()} for name, files in kept.items()}
    assert sizes["bare"] and sizes["warm"] == sizes["cold"] == sizes["bare"], sizes
    assert kept["warm"] == kept["again"]
