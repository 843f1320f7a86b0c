"""The stories that users told, in examples/stories, and what is asked of their explanations beyond the suite."""

import harness
from causes.case import read_all

FOLDER = harness.ROOT / "examples/stories"

# A terminal of ordinary size, as people have it beside an editor.
LINES, COLUMNS = 40, 100


def of_framework(name):
    """Those that import the framework."""
    return [case for case in read_all(FOLDER) if f"\nimport {name}\n" in case.path.read_text()]


def assert_one_screen(outcome):
    lines = outcome.text.splitlines()
    rows = sum(max(1, -(-len(line) // COLUMNS)) for line in lines)
    assert rows <= LINES, f"{rows} rows\n{outcome.text}"


def assert_remedy(outcome):
    text = " ".join(outcome.text.split()).lower()
    for words in outcome.case.declared["remedy"]:
        assert any(word.lower() in text for word in words), f"none of {words} in\n{outcome.text}"
