"""Real programs bare, cold and warm: whatever a framework can see of an executable stays the same.

The programs, and what is compared of each, are in programs/parity.py.
"""

import difflib
import json

import pytest

import harness

# Fewer than this and the test no longer says what it promises.
LEAST_PROGRAMS = 25


def report_of(store, path, way):
    store.start("parity.py", path, way=way)
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=["run", "plugin"])
def reports(request, tmp_path_factory):
    """Three reports: bare, cold and warm; the counters of the last two beside them."""
    folder = tmp_path_factory.mktemp("parity")
    store = harness.Store(folder / "store")
    result = {"bare": report_of(store, folder / "bare.json", "bare")}
    for name in ("cold", "warm"):
        result[name] = report_of(store, folder / f"{name}.json", request.param)
        result[name]["stats"] = store.stats()
    return result


def differences(one, other):
    """Each property that differs, as a short diff in words."""
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
    # Programs that fail are there to compare errors; no other may slip in among them.
    assert all(name.startswith("fails_") for name in failed(reports["bare"])), [
        programs[name]["error"] for name in failed(reports["bare"])
    ]


@pytest.mark.parametrize("temperature", ["cold", "warm"])
def test_nothing_differs_from_the_bare_plugin(reports, temperature):
    found = list(differences(reports["bare"], reports[temperature]))
    assert not found, "\n\n".join([f"{len(found)} properties differ", *found[:10]])


def test_warm_run_compiles_only_what_fails(reports):
    """A program that does not compile cannot be kept; everything else is loaded."""
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
