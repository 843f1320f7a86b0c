"""The user stories in examples/stories, and checks of their explanations beyond those of the suite."""

import harness
from causes.case import read_all

FOLDER = harness.ROOT / "examples/stories"

# An ordinary terminal beside an editor.
LINES, COLUMNS = 40, 100


def of_framework(name):
    """Returns the cases that import the framework."""
    return [case for case in read_all(FOLDER) if f"\nimport {name}\n" in case.path.read_text()]


def assert_one_screen(outcome):
    lines = outcome.text.splitlines()
    rows = sum(max(1, -(-len(line) // COLUMNS)) for line in lines)
    assert rows <= LINES, f"{rows} rows\n{outcome.text}"


def assert_remedy(outcome):
    text = " ".join(outcome.text.split()).lower()
    for words in outcome.case.declared["remedy"]:
        assert any(word.lower() in text for word in words), f"none of {words} in\n{outcome.text}"
