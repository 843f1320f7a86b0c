"""XLA's CUDA plugin: its table is newer than the header, it has a chain of extensions and its own errors. Only the last
steps need a GPU; they run if there is one."""

import importlib.util
import json
from pathlib import Path

import pytest

import harness
from harness import BUILD, PLUGIN_LIBRARY, PRELOAD_LIBRARY, REKINDLE, run_process

HOST = BUILD / "tests/pjrt_host"
WAYS = ("preload", "plugin")


def find_cuda_plugin():
    spec = importlib.util.find_spec("jax_plugins")
    for folder in spec.submodule_search_locations if spec else ():
        for found in Path(folder).glob("xla_cuda*/xla_cuda_plugin.so"):
            return str(found)
    return None


PLUGIN = find_cuda_plugin()
pytestmark = pytest.mark.skipif(PLUGIN is None, reason="no CUDA plugin in this environment")


def environment(way, store):
    env = harness.clean_environment() | {"REKINDLE_DIR": str(store)}
    if way == "preload":
        env["LD_PRELOAD"] = str(PRELOAD_LIBRARY)
    if way == "plugin":
        env["REKINDLE_PLUGIN"] = PLUGIN
    return env


def host(way, store, *words):
    """Returns the answers of a minimal framework, by action."""
    library = PLUGIN_LIBRARY if way == "plugin" else PLUGIN
    done = run_process([HOST, "--lib", library, *words], environment(way, store))
    assert done.returncode in (0, 1), done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {answer.pop("action"): {k: v for k, v in answer.items() if k != "pid"} for answer in answers}


def journal(store):
    lines = [line for path in store.glob("runs/*/*.jsonl") for line in path.read_text().splitlines()]
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return host("bare", tmp_path_factory.mktemp("bare"), "table", "init", "attributes", "client")


@pytest.mark.parametrize("way", WAYS)
def test_table_and_extensions(way, bare, tmp_path):
    ours = host(way, tmp_path, "table", "again")
    for key in ("struct_size", "major", "minor", "absent", "extensions"):
        assert ours["table"][key] == bare["table"][key], key
    assert ours["table"]["minor"] > 81 and len(ours["table"]["extensions"]) > 5
    assert ours["again"]["same"]


@pytest.mark.parametrize("way", WAYS)
def test_what_needs_no_device(way, bare, tmp_path):
    ours = host(way, tmp_path, "init", "attributes", "client")
    assert ours["init"] == bare["init"] == {"ok": True}
    assert ours["attributes"] == bare["attributes"] and "cuda_version" in ours["attributes"]["attributes"]
    # Without a GPU both get the plugin's own error, word for word; with a GPU both get the same client.
    assert ours["client"] == bare["client"]
    if not bare["client"]["ok"]:
        told = [event["reason"] for event in journal(tmp_path) if event["ev"] == "unwatched"]
        assert told == ["it made no client: " + bare["client"]["message"]] and not list(tmp_path.glob("objects/*/*"))


def test_probe(bare, tmp_path):
    done = run_process([REKINDLE, "probe", "--json", PLUGIN], environment("bare", tmp_path))
    seen = json.loads(done.stdout)
    assert seen["api"]["minor"] == bare["table"]["minor"]
    assert [[e["type"], e["struct_size"]] for e in seen["extensions"]] == bare["table"]["extensions"]
    assert all(e["name"] for e in seen["extensions"])
    assert seen["alive"] == bare["client"]["ok"]
    if seen["alive"]:
        assert done.returncode == 0 and seen["keeps_executables"]
    else:
        assert (done.returncode, seen["reason"]) == (1, bare["client"]["message"])
        assert "NVIDIA GPU" in seen["remedy"]


def test_framework_sees_the_same(tmp_path):
    """JAX reports the same plugin error with and without rekindle."""
    if host("bare", tmp_path, "client")["client"]["ok"]:
        pytest.skip("there is a GPU: JAX's own tests are for it")
    reports = {}
    for way in ("bare", *WAYS):
        library = PLUGIN_LIBRARY if way == "plugin" else PLUGIN
        env = environment(way, tmp_path) | {
            "PJRT_NAMES_AND_LIBRARY_PATHS": f"xgpu:{library}", "JAX_PLATFORMS": "xgpu",
        }  # fmt: skip
        done = run_process([harness.sys.executable, "-c", "import jax; jax.devices()"], env)
        assert done.returncode == 1, done
        reports[way] = done.stderr.splitlines()[-1]
    assert "xgpu" in reports["bare"]
    assert reports["preload"] == reports["plugin"] == reports["bare"]
