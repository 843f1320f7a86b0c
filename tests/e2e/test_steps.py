"""Steps, detected automatically or marked by the program, on both entry paths."""

import json
import sys

import pytest

import harness
from harness import PROGRAMS, run_process

PYTHON = {"PYTHONPATH": harness.ROOT / "python"}


@pytest.mark.parametrize("way", ["run", "preload", "plugin"])
def test_steps_are_found(store, way):
    store.start("steps.py", 120, "late", way=way, env=PYTHON)
    steps = store.stats()["steps"]
    assert steps["count"] == 120 and not steps["marked"], steps
    # A step has four micro-steps and an update; evaluate() runs twice after steps 50 and 100.
    assert steps["per_step"]["executions"] == pytest.approx((120 * 5 + 4) / 120), steps
    assert steps["per_step"]["host_to_device"]["count"] >= 4, steps
    assert steps["flat_after"] <= 2 and steps["late"] == 2, steps  # evaluate(), and another length
    assert [point["step"] for point in steps["curve"]][-2:] == [51, 115], steps
    programs = [point["programs"] for point in steps["curve"]]
    assert programs == sorted(set(programs)), steps
    assert f"51 and 115 ({programs[-1]} programs); nothing new since" in store.cli("stats").stdout


@pytest.mark.parametrize("way", ["run", "preload", "plugin"])
def test_steps_are_marked_and_counters_are_there(store, way):
    done = store.start("steps.py", 60, "mark", "stats", way=way, env=PYTHON)
    inside, after = done.json()["stats"], store.stats()
    assert inside["run"] == after["run"] and inside["compiled"] == after["compiled"] > 0
    assert inside["steps"]["marked"] and inside["steps"]["count"] == after["steps"]["count"] == 6
    assert inside["executions"] == after["executions"]
    explained = done.json()["explain"]
    assert explained["run"] == after["run"] and len(explained["compilations"]) == after["compiled"], explained


@pytest.mark.parametrize("way", ["bare", "off"])
def test_elsewhere_nothing_happens(store, way):
    env = PYTHON | ({"REKINDLE_MODE": "off"} if way == "off" else {})
    done = store.start("steps.py", 20, "mark", "stats", way="bare" if way == "bare" else "run", env=env)
    assert done.json() == {"stats": None, "explain": None}


def test_a_job_that_dies_has_no_steps_that_it_did_not_make(store):
    """Neither the first time, nor when all programs are loaded."""
    for _ in range(2):
        store.start("dies.py", 8, "init", status=1)
        assert store.stats()["steps"] is None, store.stats()["steps"]
        assert "not known" in store.cli("stats").stdout
    store.start("dies.py", 8, "step", status=1)
    steps = store.stats()["steps"]
    assert steps is None or steps["count"] == 2, steps


def test_a_restart_that_loads_has_no_late_compilation(store):
    for _ in range(2):
        store.start("steps.py", 120, "late", env=PYTHON)
    assert store.stats()["compiled"] == 0
    assert store.stats()["steps"]["late"] == 0 and store.stats()["steps"]["count"] == 120


def test_a_program_without_a_device(store):
    """The functions also work if nothing is watched."""
    code = "import rekindle; rekindle.step(); rekindle.mark_warm(); print(rekindle.stats())"
    env = store.environment("preload", PYTHON)
    done = run_process([sys.executable, "-c", code], env, cwd=PROGRAMS)
    assert (done.returncode, done.stdout) == (0, "None\n"), done
    assert not json.loads(store.cli("stats", "--all", "--json").stdout)["runs"]
