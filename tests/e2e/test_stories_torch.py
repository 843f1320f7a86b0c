"""The PyTorch/XLA stories of examples/stories; test_stories.py has the JAX stories."""

import pytest

import harness
import torch_harness
from causes import stories, suite

LINES = {"XLA_IR_DEBUG": "1", "XLA_HLO_DEBUG": "1"}
CASES = stories.of_framework("torch_xla")


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    chosen = suite.chosen(request, CASES)
    folder = tmp_path_factory.mktemp("stories")
    return suite.play_all(chosen, folder, torch_harness.Store, harness.FAST | LINES, torch_harness.CHILD_TIMEOUT_S)


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_the_story_happens(outcomes, name):
    suite.assert_claims(outcomes[name])


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_explained_in_one_screen(outcomes, name):
    suite.assert_explained(outcomes[name])
    stories.assert_one_screen(outcomes[name])
    stories.assert_remedy(outcomes[name])
