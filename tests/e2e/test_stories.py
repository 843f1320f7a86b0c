"""The JAX stories of examples/stories: explained on one screen, with the remedy. See causes/case.py."""

import pytest

import harness
from causes import stories, suite

CASES = stories.of_framework("jax")


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    chosen = suite.chosen(request, CASES)
    folder = tmp_path_factory.mktemp("stories")
    return suite.play_all(chosen, folder, harness.Store, harness.FAST, harness.CHILD_TIMEOUT_S)


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_the_story_happens(outcomes, name):
    suite.assert_claims(outcomes[name])


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_explained_in_one_screen(outcomes, name):
    suite.assert_explained(outcomes[name])
    stories.assert_one_screen(outcomes[name])
    stories.assert_remedy(outcomes[name])
