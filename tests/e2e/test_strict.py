"""REKINDLE_STRICT with JAX: a late compilation is an exception with cause and line; stored programs are loaded."""

import json

import harness
import pytest

PROGRAM = harness.PROGRAMS / "late.py"
PYTHON = {"PYTHONPATH": harness.ROOT / "python"}
FAIL = PYTHON | {"REKINDLE_STRICT": "fail", "REKINDLE_WARMUP": "mark"}
WARN = PYTHON | {"REKINDLE_STRICT": "warn", "REKINDLE_WARMUP": "mark"}
ALL = ("shape", "constant", "new")


def line_of(word):
    (number,) = [n for n, line in enumerate(PROGRAM.read_text().splitlines(), 1) if line.endswith(f"# LINE {word}")]
    return f"{PROGRAM}:{number}"


def errors(done):
    return {result["name"]: result["error"] for result in done.json()}


@pytest.mark.parametrize("way", ["run", "preload", "plugin"])
def test_a_late_compilation_is_an_exception(store, way):
    done = store.start("late.py", *ALL, way=way, env=FAIL)
    found = errors(done)
    assert found.pop("known") is None
    for text in found.values():
        assert text.startswith("FAILED_PRECONDITION") and "REKINDLE_STRICT=fail" in text, text
        assert "after 30 steps" in text or "after 31 steps" in text, text
    assert "jit_step" in found["shape"] and line_of("shape") in found["shape"], found
    assert "cause: another shape, input x: tensor<16x8xf32> → tensor<12x8xf32>" in found["shape"], found
    assert "rekindle shapes" in found["shape"]
    assert "cause: another constant" in found["constant"] and "3.5 → 4.5" in found["constant"], found
    assert line_of("constant") in found["constant"], found
    assert "jit_other" in found["new"] and "cause: a new program" in found["new"] and line_of("new") in found["new"], found
    stats = store.stats()
    assert stats["refused"] == 3 and stats["warnings"] == [], stats
    assert "refused" in store.cli("stats").stdout
    assert way != "run" or "3 refused" in done.stderr, done.stderr
    told = store.cli("explain").stdout
    assert "3 requests were refused (REKINDLE_STRICT=fail)" in told, told
    assert told.index("jit_step, refused, request") < told.index("jit_other, refused, request"), told
    refused = {c["name"]: c for c in json.loads(store.cli("explain", "--json").stdout)["compilations"] if c["refused"]}
    assert refused["jit_other"]["cause"] == "first" and line_of("new") in told, told


@pytest.mark.parametrize("way", ["run", "plugin"])
def test_what_is_kept_is_loaded_in_a_second_run(store, way):
    store.start("late.py", *ALL, way=way, env=PYTHON)
    done = store.start("late.py", *ALL, way=way, env=FAIL)
    assert set(errors(done).values()) == {None}
    assert store.stats()["compiled"] == 0 and store.stats()["refused"] == 0


def test_warnings_go_to_stderr_at_once(store):
    done = store.start("late.py", *ALL, env=WARN)
    assert set(errors(done).values()) == {None}
    told = [line for line in done.stderr.splitlines() if "after warm-up" in line]
    assert len(told) == 3, done.stderr
    assert told[0].startswith(f"rekindle: {line_of('shape')}: jit_step is compiled after warm-up, after 30 steps"), told
    assert "cause: another shape, input x: tensor<16x8xf32> → tensor<12x8xf32>" in told[0], told
    assert "cause: another constant" in told[1], told
    # All programs are stored now.
    done = store.start("late.py", *ALL, env=FAIL)
    assert set(errors(done).values()) == {None}


def test_warm_up_ends_by_itself(store):
    env = PYTHON | {"REKINDLE_STRICT": "fail"}
    found = errors(store.start("late.py", "shape", "wait", env=env))
    assert "cause: another shape" in found["shape"] and found["known"] is None, found


def test_a_function_that_comes_later_has_its_own_warm_up(store):
    """`auto` cannot foresee the first evaluation. Another version of a known function is late."""
    found = errors(store.start("late.py", "shape", "new", "wait", env=PYTHON | {"REKINDLE_STRICT": "fail"}))
    assert found["new"] is None and "cause: another shape" in found["shape"], found
    assert store.stats()["refused"] == 1


def test_control_flow_outside_of_functions_has_its_own_warm_up(store):
    """JAX names a bare scan `jit_scan`, whatever the function that it scans over."""
    env = PYTHON | {"REKINDLE_STRICT": "fail"}
    found = errors(store.start("late.py", "shape", "control", "length", "wait", env=env))
    assert "cause: another shape" in found.pop("shape") and "cause: another shape" in found.pop("length"), found
    assert found == {"scan": None, "while": None, "cond": None, "known": None}
    assert store.stats()["refused"] == 2


def test_what_a_healthy_training_compiles_later_is_not_late(store):
    """A function that comes later has its own warm-up: an evaluation begins with an int and ends with a shorter batch."""
    found = store.start("late_training.py", env=PYTHON | {"REKINDLE_STRICT": "fail"}).json()
    refused = {name: error for name, error in found.items() if error}
    assert list(refused) == ["training", "flag", "later validation", "later batch"], refused
    assert "cause: other operations" in refused.pop("flag")
    assert all("cause: another shape" in error for error in refused.values()), refused
    assert store.stats()["refused"] == 4


def test_off_is_off(store):
    done = store.start("late.py", *ALL, env=PYTHON)
    assert set(errors(done).values()) == {None} and "warm-up" not in done.stderr


def never_began(done):
    return [line for line in done.stderr.splitlines() if "never began" in line]


def test_the_end_says_that_strict_mode_never_began(store):
    env = PYTHON | {"REKINDLE_STRICT": "fail", "REKINDLE_WARMUP": "200 steps"}
    done = store.start("late.py", "shape", "unmarked", env=env)
    assert set(errors(done).values()) == {None}
    (line,) = never_began(done)
    assert line.startswith("rekindle: REKINDLE_STRICT=fail never began"), line
    assert " of 200 steps; set REKINDLE_WARMUP to fewer steps" in line, line
    # A start that compiles nothing has nothing to refuse.
    assert never_began(store.start("late.py", "shape", "unmarked", env=env)) == []


def test_the_end_says_nothing_if_strict_mode_began(store):
    assert never_began(store.start("late.py", *ALL, env=FAIL)) == []
    assert never_began(store.start("late.py", "unmarked", env=PYTHON | {"REKINDLE_MODE": "refresh"})) == []
