"""`rekindle run -- torchrun …`: all workers belong to one run; and the effect of killing `rekindle run`."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import harness
import torch_harness

PROGRAM = harness.PROGRAMS / "torch_workers.py"
LAUNCH = ["--standalone", "--nproc-per-node", "2", PROGRAM]


@pytest.fixture
def store(tmp_path):
    return torch_harness.Store(tmp_path / "store")


def command(way, store, *words):
    torchrun = [Path(store.python).parent / "torchrun", *LAUNCH, *words]
    return [str(word) for word in ([harness.REKINDLE, "run", "--"] if way == "run" else []) + torchrun]


def environment(way, store):
    return store.environment(way, {"OMP_NUM_THREADS": 1, "PYTHONPATH": harness.PROGRAMS})


def said(folder):
    return [(folder / f"worker-{rank}").read_text() for rank in (0, 1)]


def test_workers_are_of_one_run(store, tmp_path):
    results, stats = [], []
    for start in ("cold", "warm"):
        folder = tmp_path / start
        folder.mkdir()
        done = harness.run_process(command("run", store, "train", folder), environment("run", store))
        assert done.returncode == 0, done.stderr
        results.append(said(folder))
        stats.append(store.stats())
        assert (stats[-1]["processes"], stats[-1]["state"]) == (2, "ended"), stats
    assert results[0] == results[1] and results[0][0] != results[0][1]
    harness.assert_cold(stats[0])
    harness.assert_warm(stats[1])
    assert stats[1]["preloaded"] == stats[1]["hits"], stats


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=60):
    limit = time.monotonic() + seconds
    while not condition() and time.monotonic() < limit:
        time.sleep(0.05)
    return condition()


def killed(way, store, folder):
    """Kills the started process. Returns whether torchrun ended too, and how many of its workers stayed."""
    folder.mkdir()
    process = subprocess.Popen(
        command(way, store, "wait", folder), env=environment(way, store), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    workers = []
    try:
        assert wait_until(lambda: len(list(folder.glob("worker-*"))) == 2, seconds=torch_harness.CHILD_TIMEOUT_S)
        pairs = [tuple(map(int, text.split())) for text in said(folder)]
        workers, launcher = [worker for worker, _ in pairs], pairs[0][1]
        assert {parent for _, parent in pairs} == {launcher} and (launcher == process.pid) == (way == "bare")
        process.kill()
        process.wait(30)
        gone = wait_until(lambda: not is_alive(launcher))
        time.sleep(1)
        return gone, sum(map(is_alive, workers))
    finally:
        process.kill()
        process.wait(30)
        for worker in workers:
            if is_alive(worker):
                os.kill(worker, signal.SIGKILL)


def test_a_killed_run_leaves_what_a_killed_torchrun_leaves(store, tmp_path):
    """Killing `rekindle run` kills torchrun and leaves its workers, like killing torchrun itself (docs/cli.md)."""
    bare = killed("bare", store, tmp_path / "bare")
    assert killed("run", store, tmp_path / "run") == bare
    assert bare == (True, 2)
