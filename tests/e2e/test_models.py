"""Edits of models of Flax and Equinox: the same model in other words is found, another one is not.

The table is in programs/edits_models.py; what holds of it is what holds of the one in test_edits.py.
"""

import pytest

import harness
from harness import assert_warm
from programs.edits_models import HITS, MISSES, SOURCES
from variants import describe, run_variants, variants_of

pytest.importorskip("flax")
pytest.importorskip("equinox")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Compile events: of the models by their names, of the rows of each table in their order."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "elsewhere").mkdir()
    store = harness.Store(folder / "store")
    originals = [{"file": f"/job/{name}.py", "source": source} for name, source in SOURCES.items()]
    events = run_variants(store, folder / "first.json", originals + variants_of(MISSES), seed="1")
    hits = run_variants(store, folder / "second.json", variants_of(HITS), seed="2", cwd=folder / "elsewhere")
    bases = dict(zip(SOURCES, events))
    return {"bases": bases, "misses": events[len(SOURCES) :], "hits": hits, "hit_stats": store.stats()}


def test_the_same_model_in_other_words_hits(table):
    wrong = describe(table, HITS, "hits", True, "hit")
    assert not wrong, "\n".join(wrong)
    assert_warm(table["hit_stats"])


def test_another_model_misses(table):
    wrong = describe(table, MISSES, "misses", False, "miss")
    assert not wrong, "\n".join(wrong)


def test_no_two_models_have_one_fingerprint(table):
    programs = [event["program"] for event in (*table["bases"].values(), *table["misses"])]
    assert len(set(programs)) == len(programs)
