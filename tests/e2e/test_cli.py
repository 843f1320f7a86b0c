"""The command line on real stores, from end to end. Unit tests cover its texts and options."""

import json
import os
import re
import sys

import pytest

import harness
from harness import REKINDLE, run_process

SUMMARY = re.compile(r"^rekindle: (\d+) programs?, (\d+) loaded, (\d+) compiled(.*)$", re.M)


@pytest.fixture(scope="module")
def warmed(tmp_path_factory):
    """A store after a cold and a warm run of `kinds.py train donated`, and both finished processes."""
    store = harness.Store(tmp_path_factory.mktemp("warmed") / "store")
    done = [store.start("kinds.py", "train", "donated") for _ in range(2)]
    return store, *done


def test_summary_line(warmed):
    _, cold, warm = warmed
    programs, loaded, compiled = map(int, SUMMARY.search(cold.stderr).groups()[:3])
    assert loaded == 0 and compiled == programs > 0
    assert SUMMARY.search(warm.stderr).groups()[:3] == (str(programs), str(programs), "0")
    assert "saved" in SUMMARY.search(warm.stderr)[4] and " in " in SUMMARY.search(cold.stderr)[4]
    assert "rekindle" not in cold.stdout + warm.stdout


def test_a_misspelt_setting_is_told(store):
    command = [REKINDLE, "run", "--", sys.executable, "-c", ""]
    done = run_process(command, store.environment("run") | {"REKINDLE_MDOE": "off", "REKINDLE_OTHER": "1"})
    assert done.returncode == 0
    assert "REKINDLE_MDOE is not a setting and has no effect; did you mean REKINDLE_MODE?" in done.stderr
    assert "REKINDLE_OTHER" not in done.stderr


def test_the_remedy_for_the_built_in_backend_works_as_pasted(store):
    """A script on JAX's own CPU backend: what `run` prints, pasted into a shell, uses the plugin, and then loads."""
    kept = {k: v for k, v in store.environment("run").items() if k != "PJRT_NAMES_AND_LIBRARY_PATHS"}
    kept |= {"JAX_PLATFORMS": "cpu", "PATH": f"{REKINDLE.parent}:{os.environ['PATH']}"}
    code = "import jax; print(jax.jit(lambda x: x * 2 + 1)(jax.numpy.arange(3.0)), 'it\\'s')\nprint('end')"
    first = run_process([REKINDLE, "run", "--", sys.executable, "-c", code], kept)
    assert first.returncode == 0 and "no PJRT plugin was seen" in first.stderr
    sentence, _, rest = first.stderr.partition("\n")
    paste, _, last = rest.rpartition("\nrekindle: ")
    assert "has no LAPACK" in sentence and "no PJRT plugin" in last, first.stderr
    assert paste.startswith("  rekindle run --cpu-plugin -- "), first.stderr
    for compiled in (True, False):
        again = run_process(["sh", "-c", paste], kept)
        assert again.stdout == first.stdout and SUMMARY.search(again.stderr), again.stderr
        assert (" 0 compiled" in again.stderr) != compiled, again.stderr


@pytest.mark.parametrize("status", [0, 1, 42, 255])
def test_status_is_passed_on(store, status):
    done = run_process(
        [REKINDLE, "run", "--", sys.executable, "-c", f"print('out'); raise SystemExit({status})"],
        store.environment("run"),
    )
    assert (done.returncode, done.stdout) == (status, "out\n")


def test_command_that_is_missing(store):
    done = run_process([REKINDLE, "run", "--", "/nonexistent/command"], store.environment("run"))
    assert done.returncode == 127 and "/nonexistent/command" in done.stderr


@pytest.mark.parametrize("argv", [["run"], ["run", "--"], ["nonsense"], ["stats", "--nonsense"]])
def test_wrong_usage(store, argv):
    assert store.cli(*argv, status=2).stderr.startswith("rekindle")


def test_stats(warmed):
    store, cold, _ = warmed
    stats = store.stats()
    for name in (
        "run", "job", "mode", "programs", "hits", "misses", "bypassed", "compiled",
        "deserialize_failures", "preloaded", "remote_hits", "stored", "quarantined", "compile_seconds",
        "load_seconds", "saved_seconds", "executions", "host_to_device", "device_to_host", "warnings",
    ):  # fmt: skip
        assert name in stats, name
    assert stats["mode"] == "readwrite" and stats["warnings"] == []
    assert stats["saved_seconds"] > 0 == stats["compile_seconds"]
    total = store.stats("--all")
    assert len(total["runs"]) == 2 and total["programs"] == stats["programs"]
    assert total["hits"] == stats["hits"] and total["misses"] == total["compiled"] == stats["hits"]
    assert str(stats["hits"]) in store.cli("stats").stdout
    assert store.cli("stats").stdout.startswith(f"Nothing was compiled: all {stats['hits']} requests were loaded")
    assert re.search(r"^store +[\d.]+ [kM]B of at most 20 GB, in ", store.cli("stats").stdout, re.MULTILINE)


def test_runs(warmed):
    store, *_ = warmed
    runs = json.loads(store.cli("runs", "--json").stdout)["runs"]
    assert {run["run"] for run in runs} == set(store.runs()) and len(runs) == 2
    for run in store.runs():
        assert run in store.cli("runs").stdout
        assert store.stats("--run", run)["run"] == run
    assert store.cli("runs").stdout.count("  kinds.py train donated  ") == 2
    for which, run in zip(("-2", "-1", "last"), (*store.runs(), store.runs()[-1]), strict=True):
        assert store.stats("--run", which)["run"] == run


def test_diff_of_runs(warmed, tmp_path):
    """`diff` finds no difference between equal runs, and finds an added kind and a changed flag in another store."""
    store, *_ = warmed
    cold, warm = store.runs()
    both = json.loads(store.cli("diff", cold, warm, "--json").stdout)
    programs = store.stats("--run", cold)["programs"]
    assert (both["a"]["run"], both["b"]["run"]) == (cold, warm)
    lists = ("other_options", "other_environment", "again", "only_a", "only_b")
    assert both["programs"] == {"in_both": programs, "under_other_keys": 0, **{name: [] for name in lists}}
    assert both["environment"] == []
    assert "Nothing differs" in store.cli("diff", cold, warm).stdout
    refused = store.cli("diff", cold, "ab12", status=2)
    assert "compare two runs or two programs" in refused.stderr

    other = harness.Store(tmp_path / "store")
    other.start("kinds.py", "train")
    other.start("kinds.py", "train", "scanned", env={"XLA_FLAGS": "--xla_cpu_enable_fast_math=true"})
    diff = json.loads(other.cli("diff", *other.runs(), "--json").stdout)
    assert diff["programs"]["under_other_keys"] == diff["programs"]["in_both"] > 0
    assert diff["programs"]["only_a"] == [] and diff["programs"]["only_b"]
    assert [one["attribute"] for one in diff["environment"]] == ["XLA_FLAGS:--xla_cpu_enable_fast_math"]


def test_memory(warmed):
    """If the plugin reports no memory statistics, `memory` names its devices, the plugin and a remedy."""
    store, _, _ = warmed
    seen = json.loads(store.cli("memory", "--json", status=1).stdout)
    assert [device["name"] for device in seen["devices"]] == [f"CpuDevice(id={n})" for n in range(4)]
    assert {device["bytes_in_use"] for device in seen["devices"]} == {None}
    (problem,) = seen["problems"]
    assert store.plugin in problem and "PJRT API 0." in problem and "of the process" in problem, problem
    shown = store.cli("memory", status=1)
    assert "CpuDevice(id=3)" in shown.stdout and "does not report device memory" in " ".join(shown.stdout.split())


def test_ls_show_rm(warmed):
    store, *_ = warmed
    entries = json.loads(store.cli("ls", "--json").stdout)["entries"]
    assert len(entries) == len(store.entries()) > 0
    key = entries[0]["key"]
    shown = json.loads(store.cli("show", "--json", key[:12]).stdout)
    assert key in shown["key"].values() and shown["digest_ok"]
    assert shown["metadata"]["name"] == entries[0]["name"]
    kinds = {component["kind"] for part in shown["components"].values() for component in part}
    assert kinds >= {"option", "version", "topology"}, kinds
    assert key[:12] in store.cli("ls").stdout and key in store.cli("show", key).stdout
    seconds = [entry["compile_seconds"] for entry in entries]
    assert seconds == sorted(seconds, reverse=True)
    names = [entry["name"] for entry in entries]
    once = next(name for name in names if names.count(name) == 1)
    assert once in store.cli("show", once).stdout
    store.cli("rm", "--dry-run", key)
    assert len(store.entries()) == len(entries)
    store.cli("rm", key)
    assert len(store.entries()) == len(entries) - 1
    store.cli("show", key, status=2)
    # Only the removed entry is compiled again.
    store.start("kinds.py", "train", "donated")
    stats = store.stats()
    assert stats["compiled"] == stats["misses"] == 1, stats


def test_default_directory(tmp_path):
    """Without REKINDLE_DIR the store is in the user's cache folder."""
    store = harness.Store(tmp_path / "xdg-cache" / "rekindle")
    env = store.environment("run", {"XDG_CACHE_HOME": tmp_path / "xdg-cache"})
    del env["REKINDLE_DIR"]
    done = run_process(store.argv("kinds.py", "donated"), env)
    assert done.returncode == 0, done.stderr
    assert len(store.entries()) > 0
    shown = json.loads(run_process([REKINDLE, "config", "--json"], env).stdout)
    assert str(store.directory) in json.dumps(shown)


def test_version_and_help(store):
    assert re.search(r"\d+\.\d+\.\d+", store.cli("version").stdout)
    for verb in ("run", "stats", "runs", "ls", "show", "config", "rm", "version"):
        assert verb in store.cli("help").stdout


STACKED = """
import jax
import jax.numpy as jnp

def loss(w, x):
    return jnp.mean(jnp.square(x @ w) * {weight})

@jax.jit
def step(w, x):
    return w - jax.grad(loss)(w, x)

def epoch(w, sizes):
    for size in sizes:
        w = step(w, jnp.ones((size, 4)))

def main():
    epoch(jnp.ones((4, 2)), {sizes})

main()
"""


def stacks(explained, cause):
    (compilation,) = (c for c in explained["compilations"] if c["cause"] == cause)
    head = compilation["differences"][0]
    return head, [(frame["line"], frame["function"]) for frame in head["stack"] if frame["file"] == head["file"]]


def test_what_a_readonly_run_compiled_cannot_be_compared(store, tmp_path):
    script = tmp_path / "job.py"
    script.write_text(STACKED.format(weight=0.5, sizes=(32,)))
    run_process([REKINDLE, "run", "--", sys.executable, script], store.environment("run"))
    script.write_text(STACKED.format(weight=0.25, sizes=(32,)))
    readonly = store.environment("run") | {"REKINDLE_MODE": "readonly"}
    run_process([REKINDLE, "run", "--", sys.executable, script], readonly)
    assert json.loads(store.cli("stats", "--json").stdout)["compiled"] == 1
    text = store.cli("explain").stdout
    assert "1 of them cannot be compared" in text and "of a new program" not in text


def test_the_whole_stack(store, tmp_path):
    """`explain --stack` shows the whole stack of a changed constant and of a call with another shape."""
    script = tmp_path / "job.py"
    for weight, sizes in ((0.5, (32,)), (0.25, (32, 24))):
        script.write_text(STACKED.format(weight=weight, sizes=sizes))
        run_process([REKINDLE, "run", "--", sys.executable, script], store.environment("run"))
    explained = json.loads(store.cli("explain", "--json", "--stack").stdout)
    head, frames = stacks(explained, "constant")
    assert (head["line"], head["file"]) == (6, str(script))
    assert frames == [(6, "loss"), (10, "step"), (14, "epoch"), (17, "main"), (19, "<module>")]
    head, frames = stacks(explained, "shape")
    assert frames == [(14, "epoch"), (17, "main"), (19, "<module>")]
    text = store.cli("explain", "--stack").stdout
    assert f"{script}:6 in loss\n          {script}:10 in step\n" in text
    plain = json.loads(store.cli("explain", "--json").stdout)
    assert not any("stack" in d for c in plain["compilations"] for d in c["differences"])
