"""Edits of Flax and Equinox models: an edit that leaves the program the same hits, an edit that changes it misses.

The table is in programs/edits_models.py; it follows the rules of the table in test_edits.py.
"""

import pytest

from harness import assert_warm
from programs.edits_models import HITS, MISSES, SOURCES
from variants import assert_all_differ, describe, run_table, variants_of

pytest.importorskip("flax")
pytest.importorskip("equinox")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return run_table(tmp_path_factory.mktemp("models"), SOURCES, HITS, {"misses": variants_of(MISSES)})


def test_the_same_model_in_other_words_hits(table):
    wrong = describe(table, HITS, "hits", True, "hit")
    assert not wrong, "\n".join(wrong)
    assert_warm(table["hit_stats"])


def test_another_model_misses(table):
    wrong = describe(table, MISSES, "misses", False, "miss")
    assert not wrong, "\n".join(wrong)


def test_no_two_models_have_one_fingerprint(table):
    assert_all_differ(table, MISSES)
