"""REKINDLE_VERIFY=1: every hit is compiled again and must be the same; an entry with another executable is reported and
quarantined. REKINDLE_MODE=refresh: a run compiles each program once."""

import concurrent.futures
import json
import threading
import time

import pytest

import harness
from harness import assert_warm, requests
from programs.edits_table import HITS, SOURCES
from variants import variants_of

VERIFY = {"REKINDLE_VERIFY": "1"}


def events(store, run, kind):
    lines = [line for path in (store.directory / "runs" / run).glob("*.jsonl") for line in path.read_text().splitlines()]
    return [event for event in map(json.loads, lines) if event["ev"] == kind]


def start_verified(store, tmp_path, *words, env=None):
    """Runs a program until all its hits are verified. Returns the process, the counters and the name of the run."""
    run = f"verified-{time.monotonic_ns()}"
    until, through = tmp_path / run, tmp_path / f"{run}.through"
    over = threading.Event()

    def watch():
        while not over.wait(0.1):
            if not through.exists():
                continue
            hits = [event for event in events(store, run, "compile") if event["outcome"] == "hit"]
            if hits and len(events(store, run, "verified")) == len(hits):
                until.touch()
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        done = store.start("linger.py", until, *words, way="preload", env=VERIFY | {"REKINDLE_RUN": run} | (env or {}))
    finally:
        over.set()
        watcher.join()
    return done, store.stats("--run", run), run


def assert_same(stats):
    assert stats["verified"] == stats["hits"] > 0, stats
    assert stats["verify_differences"] == 0 and stats["quarantined"] == 0 and stats["warnings"] == [], stats
    assert stats["verify_seconds"] > 0, stats


@pytest.mark.parametrize("program", ["kinds.py", "sorts.py"])
def test_what_is_loaded_is_what_is_compiled(store, tmp_path, program):
    cold = store.start(program).json()
    done, stats, _ = start_verified(store, tmp_path, program)
    assert json.loads(done.stdout.splitlines()[-1]) == cold
    assert_warm(stats)
    assert_same(stats)


def test_parity_programs(store, tmp_path):
    store.start("parity.py", tmp_path / "cold.json")
    _, stats, _ = start_verified(store, tmp_path, "parity.py", tmp_path / "warm.json")
    assert_same(stats)
    assert stats["hits"] > 100, stats


def test_programs_of_other_names_and_lines(store, tmp_path):
    """Verification passes for entries that were made from another text with the same meaning."""
    originals = [{"file": f"/job/{name}.py", "source": source} for name, source in SOURCES.items()]
    for name, variants in (("first", originals), ("second", variants_of(HITS))):
        (tmp_path / f"{name}.json").write_text(json.dumps(variants))
    store.start("edits.py", tmp_path / "first.json", env=harness.FAST)
    _, stats, _ = start_verified(store, tmp_path, "edits.py", tmp_path / "second.json", env=harness.FAST)
    assert_warm(stats)
    assert_same(stats)


def test_an_entry_that_holds_another_program(store, tmp_path):
    """Verification finds a valid entry with the right key that contains another program of the same signature. Only a
    new compilation can find it."""
    right = store.start("pair.py").json()["results"]
    keys = {event["name"]: event["key"] for event in store.compile_events()}
    tool = harness.BUILD / "tests/swap_entry"
    done = harness.run_process([tool, store.directory, keys["jit_double"], keys["jit_triple"]], store.environment("bare"))
    assert done.returncode == 0, done.stderr
    done, stats, run = start_verified(store, tmp_path, "pair.py")
    wrong = json.loads(done.stdout.splitlines()[-1])["results"]
    assert wrong["double"] == wrong["triple"] == right["triple"] != right["double"]
    assert stats["verified"] == stats["hits"] and stats["verify_differences"] == 1, stats
    different = [event for event in events(store, run, "verified") if event["outcome"] == "different"]
    assert [event["key"] for event in different] == [keys["jit_double"]]
    assert "optimized program" in different[0]["differs"] and different[0]["quarantined"]
    assert keys["jit_double"] in done.stderr and keys["jit_double"] in stats["warnings"][0]
    assert keys["jit_double"] in [path.name[:64] for path in (store.directory / "quarantine").iterdir()]
    # The next start compiles only that program, and its results are right.
    assert store.start("pair.py").json()["results"] == right
    stats = store.stats()
    assert stats["compiled"] == stats["misses"] == 1, stats
    _, stats, _ = start_verified(store, tmp_path, "pair.py")
    assert_same(stats)


def test_a_refreshing_run_compiles_each_program_once(store):
    env = {"REKINDLE_MODE": "refresh"}
    store.start("kinds.py")
    expected = store.stats()
    for run in ("one", "two"):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            how = {"way": "preload", "env": env | {"REKINDLE_RUN": run}}
            started = [pool.submit(store.start, "kinds.py", **how) for _ in range(3)]
            results = [process.result().json()["results"] for process in started]
        assert results[0] == results[1] == results[2]
        stats = store.stats("--run", run)
        assert stats["compiled"] == stats["stored"] == stats["programs"] == expected["programs"], stats
        assert requests(stats) == 3 * requests(expected) and stats["quarantined"] == 0, stats
        reasons = {event["reason"] for event in events(store, run, "compile") if event["compiled"]}
        assert reasons == {"refresh"}
    store.start("kinds.py")
    assert_warm(store.stats())
