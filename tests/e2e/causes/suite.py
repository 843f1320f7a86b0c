"""Plays many cases in parallel and checks the results for the tests."""

import concurrent.futures
import dataclasses
import os
import traceback

import pytest

import harness
from causes import judge
from causes.case import as_edited
from causes.play import Player

ABREAST = min(4, os.cpu_count() or 2)


@dataclasses.dataclass
class Outcome:
    """The result of a case; an error if it could not be played or explained."""

    case: object
    compiles: dict | None = None
    verdict: judge.Verdict | None = None
    text: str = ""
    error: str = ""
    missing: str = ""


def chosen(request, cases):
    """Returns the cases of the selected tests, or all cases if only the goals test is selected."""
    items = [item for item in request.session.items if item.module is request.module]
    names = {item.callspec.params["name"] for item in items if hasattr(item, "callspec")}
    return [case for case in cases if case.name in names] if names else cases


def _play(case, folder, make_store, env, timeout_s):
    outcome = Outcome(case)
    if any(run.get("python") == "newest" for run in case.runs) and not harness.OTHER_PYTHON:
        outcome.missing = "no Python with another version of the framework is set up"
        return outcome
    try:
        folder.mkdir()
        player = Player(case, folder, make_store(folder / "store"), env, timeout_s)
        run = player.play()[case.judged]
        outcome.compiles = player.compiles(run)
        explained, outcome.text = player.explain(run)
        outcome.verdict = judge.judge(as_edited(case, player.script), player.script.name, explained)
    except Exception:  # noqa: BLE001 (one failing case must fail one test only)
        outcome.error = traceback.format_exc()
    return outcome


def play_all(cases, folder, make_store, env, timeout_s):
    """Returns {name: Outcome}."""
    with concurrent.futures.ThreadPoolExecutor(ABREAST) as pool:
        started = {case.name: pool.submit(_play, case, folder / case.name, make_store, env, timeout_s) for case in cases}
        return {name: future.result() for name, future in started.items()}


def assert_claims(outcome):
    """By the journal, the script compiles as often as it claims."""
    if outcome.missing:
        pytest.skip(outcome.missing)
    assert outcome.compiles is not None, outcome.error
    for name, count in outcome.case.declared.get("compiles", {}).items():
        found = sum(number for program, number in outcome.compiles.items() if name in program)
        assert found == count, f"{name}: compiled {found} times, not {count}: {outcome.compiles}"


def assert_explained(outcome):
    """`rekindle explain` reports what the script declares, and nothing else."""
    if outcome.missing:
        pytest.skip(outcome.missing)
    assert outcome.verdict is not None, outcome.error
    assert outcome.verdict.good, "\n".join([*outcome.verdict.wrong, "", outcome.text])


def assert_goals(outcomes, capsys):
    """All cases together reach the goals, which allow a few failures."""
    outcomes = {name: outcome for name, outcome in outcomes.items() if not outcome.missing}
    verdicts = [outcome.verdict for outcome in outcomes.values() if outcome.verdict]
    with capsys.disabled():
        print(f"\n{judge.table(verdicts)}")
    assert len(verdicts) == len(outcomes), [name for name, outcome in outcomes.items() if not outcome.verdict]
    assert judge.reaches_goals(verdicts) == []
