"""Zero-wait restart: the executables of a job's last run are prefetched and give the same results as compiled ones."""

import json

import pytest

from harness import FAST, PROGRAMS, assert_cold, assert_warm, requests

PATIENCE_S = 4  # time to prefetch all of kinds.py


def preload_events(store):
    latest = max((store.directory / "runs").iterdir(), key=lambda folder: folder.stat().st_mtime_ns)
    lines = [json.loads(line) for path in latest.glob("*.jsonl") for line in path.read_text().splitlines()]
    return [line for line in lines if line["ev"] == "preload"]


@pytest.mark.parametrize("way", ["run", "preload", "plugin"])
def test_every_request_is_answered_from_memory(store, way):
    bare = store.start("patient.py", 0, way="bare").json()
    job = {"REKINDLE_JOB": "patient"}
    cold = store.start("patient.py", 0, way=way, env=job).json()
    assert cold == bare
    assert_cold(store.stats())

    warm = store.start("patient.py", PATIENCE_S, way=way, env=job).json()
    assert warm == bare
    stats = store.stats()
    assert_warm(stats)
    assert stats["preloaded"] == stats["hits"] == bare["requests"], stats
    assert stats["preload_wasted"] == 0, stats
    assert stats["load_seconds"] < stats["preload_seconds"] / 10, stats
    (event,) = preload_events(store)
    assert event["claimed"] == event["listed"] == stats["hits"], event

    without = store.start("patient.py", 0, way=way, env=job | {"REKINDLE_PRELOAD": "0"}).json()
    assert without == bare
    stats = store.stats()
    assert_warm(stats)
    assert stats["preloaded"] == 0 and stats["preload_seconds"] == 0, stats


def test_asked_for_while_it_is_being_loaded(store):
    """Nothing is compiled, no matter which executables are ready at the time of the request."""
    job = {"REKINDLE_JOB": "hasty"}
    cold = store.start("patient.py", 0, env=job).json()
    for patience in (0, 0.2, 0.5):
        assert store.start("patient.py", patience, env=job).json() == cold
        stats = store.stats()
        assert_warm(stats)
        assert requests(stats) == cold["requests"]


def test_another_program_of_the_job_is_not_handed_out(store):
    """An executable that is prefetched but never requested does not replace another one."""
    job = {"REKINDLE_JOB": "changing"}
    store.start("patient.py", 0, "train", "scanned", env=job | FAST)
    alone = store.start("patient.py", PATIENCE_S, "train", env=job | FAST).json()
    assert_warm(store.stats())
    assert store.stats()["preload_wasted"] > 0
    assert alone["results"] == store.start("patient.py", 0, "train", way="bare", env=FAST).json()["results"]


def test_other_flags_load_nothing_ahead(store):
    job = {"REKINDLE_JOB": "flags"}
    store.start("patient.py", 0, "train", env=job)
    store.start("patient.py", 1, "train", env=job | FAST)
    stats = store.stats()
    assert stats["preloaded"] == 0 and stats["preload_seconds"] == 0 and stats["compiled"] > 0, stats


def test_the_last_runs_executables_are_still_verified(store):
    """REKINDLE_VERIFY also compiles prefetched hits again, and finds no difference."""
    job = {"REKINDLE_JOB": "verified"} | FAST
    store.start("patient.py", 0, "train", env=job)
    store.start("patient.py", PATIENCE_S, "train", env=job | {"REKINDLE_VERIFY": "1", "REKINDLE_DRAIN_SECONDS": "60"})
    stats = store.stats()
    assert stats["preloaded"] > 0 and stats["verify_differences"] == 0, stats


def test_ranks_that_start_together(store, tmp_path):
    import concurrent.futures

    job = {"REKINDLE_JOB": "ranks", "REKINDLE_RUN": "cold"} | FAST
    store.start("patient.py", 0, "train", way="preload", env=job)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        started = [
            pool.submit(store.start, "patient.py", PATIENCE_S, "train", way="preload",
                        env=job | {"REKINDLE_RUN": "warm", "RANK": str(rank)})
            for rank in range(2)
        ]  # fmt: skip
        assert len({json.dumps(process.result().json()) for process in started}) == 1
    stats = store.stats("--run", "warm")
    assert_warm(stats)
    assert stats["preloaded"] == stats["hits"], stats
    folder = store.directory / "jobs" / "ranks"
    assert sorted(path.name for path in folder.iterdir()) == ["manifest", "manifest-1"]
    assert store.leftovers() == []


def verify(store, *command, status):
    done = store.cli("verify", "--json", "--", *map(str, command), status=status, env=FAST)
    return json.loads(done.stdout)


def test_the_proof_as_a_command(store):
    answer = verify(store, store.python, PROGRAMS / "patient.py", 3, "train", "scanned", status=0)
    assert answer["proved"] and answer["reason"] is None and answer["compiled"] == [], answer
    cold, warm, zero_wait = answer["runs"]
    assert cold["compiled"] == cold["requests"] > 0 == warm["compiled"] == zero_wait["compiled"], answer
    assert warm["hits"] == zero_wait["hits"] == zero_wait["preloaded"] == cold["requests"], answer
    assert warm["preloaded"] == 0 and zero_wait["load_seconds"] < warm["load_seconds"], answer
    assert not store.directory.exists()


def test_a_program_that_is_another_one_in_every_run_proves_nothing(store, tmp_path):
    program = tmp_path / "clock.py"
    program.write_text("import time, jax\nnow = time.time() % 1000\nprint(jax.jit(lambda x: x + now)(1.0))\n")
    answer = verify(store, store.python, program, status=1)
    assert not answer["proved"] and "compiled 1 program" in answer["reason"], answer
    assert [one["reason"] for one in answer["compiled"]] == ["not the same as in the cold run: the program changed"] * 2
