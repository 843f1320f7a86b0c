"""Real programs bare, cold and warm: everything that a framework can observe about an executable stays the same.

programs/parity.py has the programs and the compared properties.
"""

import difflib
import json

import pytest

import harness

# With fewer programs the test would not prove its promise.
LEAST_PROGRAMS = 25


def report_of(store, path, way):
    store.start("parity.py", path, way=way)
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=["run", "plugin"])
def reports(request, tmp_path_factory):
    """Three reports: bare, cold and warm; the last two include rekindle's counters."""
    folder = tmp_path_factory.mktemp("parity")
    store = harness.Store(folder / "store")
    result = {"bare": report_of(store, folder / "bare.json", "bare")}
    for name in ("cold", "warm"):
        result[name] = report_of(store, folder / f"{name}.json", request.param)
        result[name]["stats"] = store.stats()
    return result


def differences(one, other):
    """Yields each property that differs, as a short text diff."""
    for program, before in one["programs"].items():
        after = other["programs"][program]
        for name in sorted(before.keys() | after.keys()):
            old, new = str(before.get(name)), str(after.get(name))
            if old != new:
                lines = difflib.unified_diff(
                    old.replace("\\n", "\n").splitlines(), new.replace("\\n", "\n").splitlines(),
                    lineterm="", n=0,
                )
                yield f"{program}: {name}\n" + "\n".join(line[:300] for line in list(lines)[:12])


def failed(report):
    return {name for name, program in report["programs"].items() if not program["ok"]}


def test_enough_programs_work(reports):
    programs = reports["bare"]["programs"]
    assert len(programs) - len(failed(reports["bare"])) >= LEAST_PROGRAMS
    # Some programs fail on purpose, to compare errors; all others must work.
    assert all(name.startswith("fails_") for name in failed(reports["bare"])), [
        programs[name]["error"] for name in failed(reports["bare"])
    ]


@pytest.mark.parametrize("temperature", ["cold", "warm"])
def test_nothing_differs_from_the_bare_plugin(reports, temperature):
    found = list(differences(reports["bare"], reports[temperature]))
    assert not found, "\n\n".join([f"{len(found)} properties differ", *found[:10]])


def test_warm_run_compiles_only_what_fails(reports):
    """The warm run compiles only the programs that fail to compile; it loads all others."""
    failures = len(failed(reports["bare"]))
    stats = reports["warm"]["stats"]
    assert stats["compiled"] == stats["misses"] + stats["bypassed"] == failures, stats
    assert stats["hits"] == reports["warm"]["requests"] - failures > LEAST_PROGRAMS, stats
    assert stats["deserialize_failures"] == 0 and stats["quarantined"] == 0, stats


def test_cold_run_compiles_every_program_once(reports):
    stats = reports["cold"]["stats"]
    assert harness.requests(stats) == reports["cold"]["requests"], stats
    assert stats["compiled"] == stats["misses"] + stats["bypassed"], stats
    assert stats["stored"] == stats["compiled"] - len(failed(reports["bare"])), stats
