"""The suite of injected causes in PyTorch/XLA: what `rekindle explain` reports about the scripts in causes/torch.

Like test_causes.py. Most scripts run with the variables that make torch_xla record Python lines.
"""

from pathlib import Path

import pytest

import harness
import torch_harness
from causes import suite
from causes.case import read_all

CASES = read_all(Path(__file__).parent / "causes/torch")
LINES = {"XLA_IR_DEBUG": "1", "XLA_HLO_DEBUG": "1"}


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    chosen = suite.chosen(request, CASES)
    folder = tmp_path_factory.mktemp("causes")
    return suite.play_all(chosen, folder, torch_harness.Store, harness.FAST | LINES, torch_harness.CHILD_TIMEOUT_S)


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_the_script_does_what_it_says(outcomes, name):
    suite.assert_claims(outcomes[name])


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_explained(outcomes, name):
    suite.assert_explained(outcomes[name])


def test_goals(outcomes, capsys):
    suite.assert_goals(outcomes, capsys)
