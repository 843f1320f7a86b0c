"""The number of steps of real training loops is within 10 % of the truth. Strict mode refuses what is compiled late.

tests/unit/diagnose/loops has the recorded events of the same loops.
"""

import importlib.util
import os
import re

import pytest

import harness

FULL = os.environ.get("FULL") == "1"
ALL = os.environ.get("REKINDLE_ALL_LOOPS") == "1"
WARM_STEPS = 20
STRICT = {"REKINDLE_STRICT": "fail", "REKINDLE_WARMUP": f"{WARM_STEPS} steps"}
# These compile versions of known functions after 20 steps, or operations outside of the steps: strict mode refuses that.
# By loop: so many steps or more contain such a compilation.
COMPILES_LATE = {"counter": 21, "sweep": 21, "gan": 20}
# Its steps are many small operations without a jitted function, and may be not known.
MAY_BE_UNKNOWN = ("eager",)

# Loops of programs/loops.py and their length: those that run in each check, those that FULL=1 adds, and those that only
# `make conformance` adds. The recorded events of all of them are read in each check.
ALWAYS = [("many_parameters", 30), ("eval_first", 25), ("accumulation", 5), ("flax_linen", 11)]
IN_FULL = [
    (loop, 60)
    for loop in (
        "plain", "logging", "eval_more_than_training", "scan", "eager", "target_network", "serving", "flax_nnx",
        "optax_multi_steps", "reinforcement", "sharded", "gan", "counter",
    )
] + [("plain", 5), ("counter", 20)]  # fmt: skip
IN_CONFORMANCE = [
    (loop, 60)
    for loop in (
        "eval_many", "eval_one", "epochs", "eager_update", "eager_accumulation", "two_phases", "equinox", "optax_eager",
        "sweep", "regression", "grad_and_update", "jitted_accumulation", "average", "augmentation",
    )
] + [(loop, steps) for loop in ("plain", "gan", "counter") for steps in (5, 11, 20)]  # fmt: skip
IN_CONFORMANCE += [("logging", 5), ("eval_one", 11), ("equinox", 20)]
LIBRARIES = [(loop, 60) for loop in ("keras_fit", "haiku", "numpyro_svi", "numpyro_mcmc", "blackjax")]
TORCH = [
    ("plain", 60), ("plain", 11), ("plain", 5), ("sgd", 11), ("capturable", 40), ("item", 11), ("logging", 60),
    ("accumulation", 40), ("accumulation", 8), ("evaluation", 60), ("two_optimizers", 40), ("two_critics", 20),
    ("segmentation", 21),
]  # fmt: skip


def jobs():
    if importlib.util.find_spec("torch_xla"):
        return [("loops_torch.py", loop, steps) for loop, steps in TORCH]
    if importlib.util.find_spec("numpyro"):
        return [("loops_libraries.py", loop, steps) for loop, steps in LIBRARIES]
    loops = ALWAYS + (IN_FULL if FULL or ALL else []) + (IN_CONFORMANCE if ALL else [])
    return [("loops.py", loop, steps) for loop, steps in dict.fromkeys(loops)]


@pytest.fixture
def store(tmp_path):
    if importlib.util.find_spec("torch_xla"):
        import torch_harness

        return torch_harness.Store(tmp_path / "store")
    return harness.Store(tmp_path / "store")


def is_late(loop, steps):
    return steps >= COMPILES_LATE.get(loop, steps + 1)


def is_right(loop, count, true):
    """Returns whether the count is right. `true` is None for a loop that has no steps to count."""
    if count is None or true is None:
        return count is None and (true is None or loop in MAY_BE_UNKNOWN)
    return any(abs(count - one) <= 0.1 * one for one in (true if isinstance(true, list) else [true]))


@pytest.mark.parametrize("program, loop, steps", jobs())
def test_steps_are_counted(store, program, loop, steps):
    env = harness.FAST if is_late(loop, steps) else harness.FAST | STRICT
    true = store.start(program, loop, steps, env=env).json()["steps"]
    stats = store.stats()
    count = stats["steps"] and stats["steps"]["count"]
    assert is_right(loop, count, true), (true, stats["steps"])
    assert stats["refused"] == 0, stats
    shown = store.cli("stats").stdout
    if count is None:
        assert "not known" in shown, shown
    elif steps <= 20 and loop == "plain":
        assert f"nothing new since step {stats['steps']['last_new']}, of {count} steps (" in shown, shown


@pytest.mark.parametrize("program, loop, steps", [job for job in jobs() if is_late(*job[1:])])
def test_only_late_compilations_are_refused(store, program, loop, steps):
    done = store.start(program, loop, steps, env=harness.FAST | STRICT, status=None)
    assert store.stats()["refused"] > 0, done.stderr
    refused_in = [int(step) for step in re.findall(r"after warm-up, after (\d+) step", done.stderr)]
    # The exception of the last step is not always shown.
    assert all(step >= WARM_STEPS for step in refused_in), done.stderr
