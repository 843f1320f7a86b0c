"""Edits that do not affect the compiled code find the stored entry; all other edits do not.

The tables are in programs/edits_table.py and programs/edits_modules.py. Two processes use one store. The first
compiles the unedited programs and the edits that must miss. The second runs in another folder with another hash seed
and compiles the edits that must hit.
"""

import shutil
import subprocess

import pytest

import harness
from harness import FAST, assert_cold, assert_warm, requests
from programs.edits_modules import MODULES
from programs.edits_table import HITS, MISSES, OPTIONS, SOURCES
from variants import assert_all_differ, describe, run_table, variants_of

# The project promises tables of at least these sizes.
LEAST_HITS, LEAST_MISSES = 15, 25


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    modules = [{"module": text} for _, _, *pair in MODULES for text in pair]
    first = {"misses": variants_of(MISSES), "options": variants_of(OPTIONS), "modules": modules}
    return run_table(tmp_path_factory.mktemp("edits"), SOURCES, HITS, first)


def test_tables_are_long_enough():
    assert len(HITS) >= LEAST_HITS and len(MISSES) >= LEAST_MISSES
    assert len({row.name for row in HITS + MISSES}) == len(HITS + MISSES)


def test_edits_without_meaning_hit(table):
    wrong = describe(table, HITS, "hits", True, "hit")
    assert not wrong, "\n".join(wrong)
    assert_warm(table["hit_stats"])


def test_edits_with_meaning_miss(table):
    wrong = describe(table, MISSES, "misses", False, "miss")
    assert not wrong, "\n".join(wrong)


def test_other_options_miss(table):
    wrong = describe(table, OPTIONS, "options", True, "miss")
    assert not wrong, "\n".join(wrong)


def test_modules(table):
    events, wrong = iter(table["modules"]), []
    for name, wanted, *_ in MODULES:
        first, second = next(events), next(events)
        got = "hit" if first["program"] == second["program"] else "miss"
        line = f"{name:44} wanted: {wanted:5} got: {got}"
        print(line)
        if got != wanted or "by_bytes" in first | second:
            wrong.append(f"{line}: {first}, {second}")
    assert not wrong, "\n".join(wrong)


def test_no_two_programs_have_one_fingerprint(table):
    assert_all_differ(table, MISSES)


def test_edited_training_script_compiles_nothing(store, tmp_path):
    """A restart after typical edits compiles nothing: blank lines inserted by sed, and a renamed step function.

    The journal gives the program the name that the function has now.
    """
    script = shutil.copy(harness.ROOT / "examples/train_transformer.py", tmp_path / "train.py")
    arguments = (script, "--layers", 1, "--steps", 2)
    before = store.start(*arguments, env=FAST)
    assert_cold(store.stats())
    subprocess.run(["sed", "-i", r"s/^def /\n\n&/; s/train_step/one_more_step/g", script], check=True)
    assert "def one_more_step(" in script.read_text()
    after = store.start(*arguments, env=FAST)
    assert_warm(store.stats())
    assert before.stdout.splitlines()[-1] == after.stdout.splitlines()[-1]
    assert requests(store.stats()) >= 4
    names = {event["name"] for event in store.compile_events()}
    assert "jit_one_more_step" in names and "jit_train_step" not in names
