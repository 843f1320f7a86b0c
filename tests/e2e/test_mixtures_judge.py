"""The judge of the mixtures: it accepts right explanations and finds every kind of wrong one. Reads all mixtures."""

import pytest

from mixtures import judge, play

JOB = """MIXTURE = {
    "python": "jax",
    "causes": {
        "count": {"kinds": ["counter", "constant"], "line": "count"},
        "read": {"kinds": ["fragments"], "line": "read"},
        "none": {"kinds": ["alternation"], "line": None},
    },
    "may": ["eager_startup"],
    "steps": 8,
}
step(1)  # PLANTED: count
loss.item()  # USED: read
"""
COUNT, READ = 11, 12
STATS = {"steps": {"count": 8}}


@pytest.fixture
def mixture(tmp_path):
    return make(tmp_path, JOB)


def make(folder, job):
    path = folder / "job_one.py"
    path.write_text(job)
    return judge.read(path)


def pattern(kind, line=None, programs=(), seconds=1.0):
    place = {"file": "/w/job_one.py" if line else None, "line": line}
    return {"kind": kind, "programs": list(programs), "seconds": seconds, "summary": f"a {kind}"} | place


def compilation(cause, program, line=None):
    difference = {"kind": "constant", "before": "1", "after": "2", "file": "/w/job_one.py", "line": line}
    return {
        "cause": cause, "program": program, "name": "jit_step", "seq": 1, "seconds": 5.0, "compiled": True,
        "differences": [difference] if line else [],
    }  # fmt: skip


PATTERNS = {
    "count": pattern("counter", COUNT, ["a"]),
    "read": pattern("fragments", READ, ["b"]),
    "none": pattern("alternation", None, ["c"]),
}


def judged(mixture, without=None, patterns=(), more=(), stats=STATS):
    """Judges the right explanation of a variant, with other `patterns` by cause (None: not said), and with `more`."""
    said = {name: told for name, told in (PATTERNS | dict(patterns)).items() if name != without and told}
    members = [compilation("shape", "b")] if "read" in said else []
    compilations = [compilation("first", "a"), *members, *(c for c in more if "cause" in c)]
    explained = {"patterns": [*said.values(), *(p for p in more if "summary" in p)], "compilations": compilations}
    return judge.judge(mixture, without, explained, stats)


def all_judged(mixture, **changed):
    """Judges all variants. `changed`: the verdict of a variant ("whole": without a repair)."""
    verdicts = [changed.get(without or "whole") or judged(mixture, without) for without in mixture.variants()]
    judge.judge_repairs(verdicts)
    return verdicts


def test_what_is_right_passes(mixture):
    verdicts = all_judged(mixture)
    assert [verdict.complaints for verdict in verdicts] == [[]] * 4
    assert judge.counts(verdicts) == (9, 9, 0, 3, 3) and judge.reaches_goals(verdicts)
    assert "NO" not in judge.table(verdicts) and "9/9" in judge.table(verdicts)


def test_a_compilation_is_a_finding_unless_a_pattern_has_it(mixture):
    verdict = judged(mixture, patterns={"count": None}, more=[compilation("constant", "z", COUNT)])
    assert verdict.complaints == [] and set(verdict.found) == {"count", "read", "none"}


@pytest.mark.parametrize(
    "told",
    [None, pattern("counter", READ, ["a"]), pattern("shape_family", COUNT, ["a"]), pattern("counter", None, ["a"])],
)
def test_a_missing_kind_or_line_is_found(mixture, told):
    verdict = judged(mixture, patterns={"count": told})
    assert verdict.missed == ["count"] and bool(verdict.false) == bool(told), verdict
    assert not judge.reaches_goals(all_judged(mixture, whole=verdict))


def test_a_false_finding_is_found(mixture):
    verdict = judged(mixture, more=[pattern("counter", READ)])
    assert len(verdict.false) == 1 and len(verdict.complaints) == 1, verdict
    assert judged(mixture, more=[pattern("eager_startup")]).complaints == []


def test_shares_and_steps(mixture):
    shared = judged(mixture, patterns={"read": pattern("fragments", READ, ["a"])})
    assert "1 programs belong to count and read" in shared.complaints
    costly = judged(mixture, more=[pattern("counter", COUNT, seconds=99)])
    assert any("the causes cost" in text for text in costly.wrong)
    assert judged(mixture, stats={"steps": {"count": 16}}).wrong == ["16 steps, not 8"]
    assert judged(mixture, stats={"steps": None}).wrong == []


@pytest.mark.parametrize("change", [{"patterns": {"read": None}}, {"more": [pattern("counter", COUNT)]}])
def test_a_repair_that_does_not_remove_exactly_one_is_a_failure(mixture, change):
    """It takes another cause with it, or the repaired one is still said."""
    verdicts = all_judged(mixture, count=judged(mixture, "count", **change))
    bad = next(verdict for verdict in verdicts if verdict.without == "count")
    assert bad.shrinks is False and any("shrink" in text for text in bad.complaints), bad
    assert not judge.reaches_goals(verdicts) and "NO" in judge.table(verdicts)
    assert judge.counts(verdicts)[3:] == (2, 3)


def test_a_variant_that_fails_does_not_end_the_others(mixture, monkeypatch, tmp_path):
    def hang(*_):
        raise AssertionError("it hung")

    monkeypatch.setattr(play, "play", hang)
    verdict = play.play_and_judge(mixture, "count", tmp_path, "python")
    assert verdict.missed == ["read", "none"] and verdict.wrong == ["could not be played: it hung"]
    assert not judge.reaches_goals(all_judged(mixture, count=verdict))


@pytest.mark.parametrize(
    "change", [('"line": "count"', '"line": "nowhere"'), ('"may"', '"might"'), ("MIXTURE", "OTHER")]
)
def test_mistakes_in_a_mixture_are_found(tmp_path, change):
    with pytest.raises(AssertionError):
        make(tmp_path, JOB.replace(*change))


def test_every_mixture_can_be_read():
    assert len(judge.read_all()) == 6
