"""Steps and REKINDLE_STRICT with PyTorch/XLA, in both of its program formats."""

import pytest

import harness
import torch_harness

PROGRAM = harness.PROGRAMS / "torch_late.py"
LINES = {"PYTHONPATH": harness.ROOT / "python", "XLA_HLO_DEBUG": "1"}
FAIL = LINES | {"REKINDLE_STRICT": "fail", "REKINDLE_WARMUP": "mark"}


def line_of(word):
    (number,) = [n for n, line in enumerate(PROGRAM.read_text().splitlines(), 1) if line.endswith(f"# LINE {word}")]
    return f"{PROGRAM}:{number}"


@pytest.fixture
def store(tmp_path):
    return torch_harness.Store(tmp_path / "store")


@pytest.mark.parametrize("form", torch_harness.FORMATS)
def test_a_late_compilation_is_an_exception(store, form):
    env = FAIL | torch_harness.FORMATS[form]
    result = store.start("torch_late.py", "late", env=env).json()
    text = result["error"]
    assert "REKINDLE_STRICT=fail" in text and "after warm-up, after 30 steps" in text, result
    assert "cause: another shape" in text and "16x8xf32" in text and "12x8xf32" in text, text
    if form == "hlo":  # MLIR from torch_xla has no lines
        assert line_of("step") in text, text
    stats = store.stats()
    assert (stats["refused"], stats["compiled"], stats["steps"]["count"]) == (1, 1, 30), stats

    # After the program is stored, it is loaded.
    env = LINES | torch_harness.FORMATS[form]
    assert store.start("torch_late.py", "late", env=env).json()["error"] is None
    assert store.start("torch_late.py", "late", env=env | FAIL).json()["error"] is None
    assert store.stats()["compiled"] == 0


def test_warnings_let_it_pass(store):
    done = store.start("torch_late.py", "late", env=FAIL | {"REKINDLE_STRICT": "warn"})
    assert done.json()["error"] is None
    (line,) = [line for line in done.stderr.splitlines() if "after warm-up" in line]
    assert "cause: another shape" in line and line_of("step") in line, line
    assert store.stats()["steps"]["late"] == 1
