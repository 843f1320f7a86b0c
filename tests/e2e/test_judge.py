"""The judge of the suite: it accepts a right explanation and finds every kind of wrong one."""

import copy
from pathlib import Path

import pytest

from causes import judge
from causes.case import read

FOLDER = Path(__file__).parent / "causes/jax"
CASE = read(FOLDER / "shape_last_batch.py")
SCRIPT = "shape_last_batch.py"
CALL = min(CASE.lines["PLANTED", ""])
NO = dict.fromkeys(judge.QUESTIONS, False)


def compilation(cause, *differences, name="jit_train_step"):
    return {
        "seq": 1, "program": "ab", "name": name, "step": None, "seconds": 0.1, "cause": cause, "nearest": None,
        "differences": list(differences), "advice": "Pad the last batch.",
    }  # fmt: skip


def difference(before="f32[8,4]", after="f32[4,4]", kind="shape", line=CALL, file="/job/shape_last_batch.py"):
    return {
        "kind": kind, "function": "main", "op": "parameter", "attribute": "", "before": before, "after": after,
        "file": file, "line": line,
    }  # fmt: skip


RIGHT = {
    "run": "r", "questions": NO | {"input_shapes_changed": True}, "patterns": [],
    "compilations": [compilation("first"), compilation("shape", difference())],
}  # fmt: skip


def verdict(**changes):
    explained = copy.deepcopy(RIGHT) | changes
    return judge.judge(CASE, SCRIPT, explained)


def test_what_is_right_passes():
    good = verdict()
    assert good.good and good.right_class and good.right_line and good.right_values and good.quiet, good.wrong


@pytest.mark.parametrize(
    ("field", "second"),
    [
        ("right_class", compilation("structure", difference())),
        ("right_class", compilation("first")),
        ("right_class", compilation("shape", difference(), name="jit_other")),
        ("right_line", compilation("shape", difference(line=CALL + 1))),
        ("right_line", compilation("shape", difference(line=None))),
        ("right_line", compilation("shape", difference(file="/job/other.py"))),
        ("right_line", compilation("shape")),
        ("right_values", compilation("shape", difference(after="f32[4,5]"))),
        ("right_values", compilation("shape", difference(before=None))),
        ("right_values", compilation("shape", difference(kind="constant"))),
        ("quiet", compilation("no_such_class", difference())),
        ("quiet", compilation("shape", difference()) | {"advice": ""}),
    ],
)
def test_what_is_wrong_is_found(field, second):
    found = verdict(compilations=[compilation("first"), second])
    assert not found.good and getattr(found, field) is False, found


def test_further_alarms_are_found():
    found = verdict(compilations=RIGHT["compilations"] + [compilation("constant", name="jit_other")])
    assert found.right_class and not found.quiet, found
    twice = verdict(compilations=RIGHT["compilations"] + [compilation("shape", difference())])
    assert twice.right_class is False, twice
    pattern = {"kind": "counter", "programs": [], "seconds": 1, "summary": "", "file": None, "line": None, "advice": "a"}
    assert not verdict(patterns=[pattern]).quiet
    assert not verdict(questions=NO).quiet


def test_a_healthy_job_must_be_silent():
    healthy = read(FOLDER / "healthy_training.py")
    silent = RIGHT | {"questions": NO, "compilations": [compilation("first"), compilation("first", name="jit_evaluate")]}
    assert judge.judge(healthy, "healthy_training.py", silent).good
    for change in ({"questions": RIGHT["questions"]}, {"compilations": RIGHT["compilations"]}):
        assert not judge.judge(healthy, "healthy_training.py", silent | change).good


@pytest.mark.parametrize("kind", ["counter", "shape_family"])
def test_patterns_are_asked_for(kind):
    case = read(FOLDER / "two_counter_and_lengths.py")
    lines = {"counter": case.lines["PLANTED", "turn"], "shape_family": case.lines["PLANTED", "length"]}
    patterns = [
        {"kind": name, "file": "two_counter_and_lengths.py", "line": min(of), "advice": "a", "summary": ""}
        for name, of in lines.items()
    ]
    found = judge.judge(case, "two_counter_and_lengths.py", RIGHT | {"patterns": patterns})
    assert found.right_patterns
    missing = [pattern for pattern in patterns if pattern["kind"] != kind]
    found = judge.judge(case, "two_counter_and_lengths.py", RIGHT | {"patterns": missing})
    assert found.right_patterns is False
    (elsewhere,) = [pattern | {"line": 1} for pattern in patterns if pattern["kind"] == kind]
    found = judge.judge(case, "two_counter_and_lengths.py", RIGHT | {"patterns": missing + [elsewhere]})
    assert found.right_line is False


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ([8, 4], "tensor<8x4xf32>", True),
        ([8, 4], "f32[8,4]{1,0}", True),
        ([8, 4], "f32[4,8]", False),
        ([8, 4], [8, 4], True),
        ("f32", "tensor<8x4xf32>", True),
        ("f32", "float32", True),
        ("f32", "bf16[8,4]", False),
        ("f16", "bf16[8,4]", False),
        ("f16", "tensor<8x4xf16>", True),
        ({"ui8", "u8"}, "u8[16,6,6]", True),
        (0.1, "dense<0.100000001> : tensor<f32>", True),
        (2, "3", False),
        (2, "s32[] 2", True),
        (True, "true", True),
        (True, "false", False),
        (None, None, True),
        (None, "0", False),
        ("true", None, False),
    ],
)
def test_values_are_read_leniently_and_no_more(wanted, found, same):
    assert judge.same_value(wanted, found) is same


def test_goals_count_what_was_asked():
    verdicts = [verdict(), verdict(compilations=[compilation("first")])]
    assert "right_class: 1 of 2, wanted 95%" in judge.reaches_goals(verdicts)
    assert judge.reaches_goals([verdict()]) == []
    assert "1/2" in judge.table(verdicts).splitlines()[-1]
