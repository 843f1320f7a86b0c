"""libtpu on a machine without a TPU: AOT compilation of real programs for absent topologies.

This machine cannot load the executables: a later start finds the stored entries, but still compiles. Needs FULL=1 (two
versions of libtpu, 1.3 GB).
"""

import importlib.util
import json
from pathlib import Path

import pytest

import harness
from programs import topology_table as table

TOPOLOGIES = ["v5e:2x2", "v4:2x2x1", "v6e:2x4"]
COUNT = len(table.ON_TPU)


class TpuStore(harness.Store):
    """A store whose processes compile for TPUs and see only the libtpu plugin."""

    def __init__(self, directory, python=None):
        super().__init__(directory, python or harness.sys.executable)
        self.plugin = libtpu_of(self.python)

    def framework_environment(self, library, way):
        del way
        return harness.clean_environment() | {
            "TPU_LIBRARY_PATH": str(library),
            "JAX_PLATFORMS": "cpu",  # for everything that is not compiled for the topology
            "TPU_SKIP_MDS_QUERY": "1",  # no TPU machine, so no metadata server answers
            "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
            "TPU_LOG_DIR": str(self.directory.parent),
        }

    def compile_for(self, *args, **options):
        done = self.start("topology.py", *args, timeout_s=600, **options)
        return done.json(), self.stats() if options.get("way") != "bare" else None


def libtpu_of(python):
    if python == harness.sys.executable:
        return str(Path(importlib.util.find_spec("libtpu").origin).parent / "libtpu.so")
    found = harness.run_process([python, "-c", "import libtpu; print(libtpu.get_library_path())"],
                                harness.clean_environment())
    return found.stdout.strip()


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A store that a first start has filled for all topologies, the output of that start, and its events."""
    store = TpuStore(tmp_path_factory.mktemp("tpu") / "store")
    said, events = {}, {}
    for name in TOPOLOGIES:
        said[name], stats = store.compile_for(name)
        events[name] = store.compile_events()
        assert not [one for one in said[name]["compiled"].values() if "error" in one], said[name]
        assert stats["ahead_of_time"] == stats["compiled"] == stats["misses"] == stats["stored"] == COUNT, stats
        assert stats["found"] == stats["hits"] == stats["bypassed"] == stats["fingerprint_fallbacks"] == 0, stats
        assert stats["warnings"] == [], stats
    return store, said, events


def test_it_is_the_real_compiler(stored):
    _, said, _ = stored
    kinds = {name: one["kind"] for name, one in said.items()}
    assert kinds == {"v5e:2x2": "TPU v5 lite", "v4:2x2x1": "TPU v4", "v6e:2x4": "TPU v6 lite"}
    assert {one["processes"] for one in said.values()} == {1, 2}


# All programs for the first topology; three for each of the others, since a compilation takes seconds.
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_the_second_start_finds_what_the_first_stored(stored, name):
    store, said, events = stored
    asked = list(table.ON_TPU) if name == TOPOLOGIES[0] else ["sharded_transformer", "ring", "pallas_matmul"]
    before = store.entries()
    again, stats = store.compile_for(name, *asked)
    assert again["compiled"] == {program: said[name]["compiled"][program] for program in asked}
    assert stats["ahead_of_time"] == stats["found"] == stats["compiled"] == len(asked), stats
    assert stats["stored"] == stats["hits"] == 0, stats
    keys = {program: event["key"] for program, event in zip(table.ON_TPU, events[name], strict=True)}
    assert [event["key"] for event in store.compile_events()] == [keys[program] for program in asked]
    assert {event["reason"] for event in store.compile_events()} == {"no_client"}
    assert store.entries() == before
    text = store.cli("stats").stdout
    assert "AOT" in text and "found" in text, text


def test_rekindle_changes_nothing(stored, tmp_path):
    _, said, _ = stored
    bare, _ = TpuStore(tmp_path / "store").compile_for("v5e:2x2", way="bare")
    assert bare == said["v5e:2x2"]


def test_keys_differ_between_topologies(stored):
    store, _, events = stored
    keys = [event["key"] for of_one in events.values() for event in of_one]
    assert len(set(keys)) == len(keys) == COUNT * len(TOPOLOGIES) == len(store.entries())
    assert len({event["environment"] for of_one in events.values() for event in of_one}) == len(TOPOLOGIES)
    # A program for one device is the same on every topology.
    for name in table.ON_ONE_DEVICE:
        place = list(table.ON_TPU).index(name)
        assert len({of_one[place]["program"] for of_one in events.values()}) == 1, name


def test_keys_differ_between_versions_of_libtpu(stored):
    if not harness.OTHER_PYTHON:
        pytest.skip("there is one version of libtpu alone")
    store, said, events = stored
    older = TpuStore(store.directory, python=harness.OTHER_PYTHON)
    other, stats = older.compile_for("v5e:2x2")
    assert other["jax"] == said["v5e:2x2"]["jax"] and other["platform_version"] != said["v5e:2x2"]["platform_version"]
    assert stats["found"] == 0 and stats["stored"] == COUNT, stats
    for mine, theirs in zip(events["v5e:2x2"], older.compile_events(), strict=True):
        assert mine["program"] == theirs["program"] and mine["options"] == theirs["options"]
        assert mine["environment"] != theirs["environment"] and mine["key"] != theirs["key"]
    _, stats = older.compile_for("v5e:2x2", "ring", "pallas_matmul")
    assert stats["found"] == 2, stats


def test_flags_of_libtpu_are_in_the_key(stored):
    store, _, _ = stored
    flags = {"LIBTPU_INIT_ARGS": "--xla_tpu_enable_latency_hiding_scheduler=false"}
    _, stats = store.compile_for("v5e:2x2", "ring", env=flags)
    assert stats["found"] == 0 and stats["stored"] == 1, stats
    _, stats = store.compile_for("v5e:2x2", "ring", env=flags)
    assert stats["found"] == 1, stats


@pytest.mark.parametrize("way", ["preload", "plugin"])
def test_the_other_ways_in(stored, way):
    store, said, _ = stored
    again, stats = store.compile_for("v5e:2x2", "ring", "pallas_matmul", way=way)
    assert again["compiled"] == {name: said["v5e:2x2"]["compiled"][name] for name in ("ring", "pallas_matmul")}
    assert stats["found"] == stats["ahead_of_time"] == 2, stats


def test_how_an_entry_is_shown(stored):
    store, _, events = stored
    event = events["v6e:2x4"][0]
    shown = json.loads(store.cli("show", event["key"], "--json").stdout)
    assert shown["ahead_of_time"] is True and shown["metadata"]["ahead_of_time"] is True
    assert shown["metadata"]["platform"] == "tpu" and shown["metadata"]["devices"] == 8
    assert shown["metadata"]["addressable_devices"] == 4  # the topology has two processes
    values = {part["name"]: part.get("value") for part in shown["components"]["environment"]}
    assert values["topology.devices"] == "8 TPU v6 lite\naddressable 4\n" and values["topology.fingerprint"]
    program = store.cli("show", event["key"], "--program").stdout
    assert "stablehlo" in program and "models.py" in program
