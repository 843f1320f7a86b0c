"""The suite of injected causes in JAX: what `rekindle explain` reports about scripts in causes/jax. See causes/case.py.

Prints a table; the goals are 95 % right class, 90 % exact line, and no alarm on healthy scripts.
"""

from pathlib import Path

import pytest

import harness
from causes import suite
from causes.case import read_all

CASES = read_all(Path(__file__).parent / "causes/jax")

# Skips optimization, which would take most of the time. The flag has no effect on programs with loops.
FAST = harness.FAST


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    chosen = suite.chosen(request, CASES)
    return suite.play_all(chosen, tmp_path_factory.mktemp("causes"), harness.Store, FAST, harness.CHILD_TIMEOUT_S)


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_the_script_does_what_it_says(outcomes, name):
    suite.assert_claims(outcomes[name])


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_explained(outcomes, name):
    suite.assert_explained(outcomes[name])


def test_goals(outcomes, capsys):
    suite.assert_goals(outcomes, capsys)
