"""Reads a week: its starts, the job at each start, and what is true of each start. README.md has the format."""

import dataclasses
import re
import shlex
from pathlib import Path

from causes import judge as causes_judge
from causes.case import read_literal

HERE = Path(__file__).resolve().parent
KINDS = causes_judge.CAUSES | causes_judge.PATTERNS
QUESTIONS = causes_judge.QUESTIONS

_MARKER = re.compile(r"# LINE: ?([\w-]+)\s*$")
_WEEK_FIELDS = {"library", "python", "env", "starts"}
_START_FIELDS = {
    "what", "args", "env", "edit", "python", "shadow", "devices", "rm", "evict", "other", "fails", "expect",
}  # fmt: skip
_EXPECT_FIELDS = {"compiled", "findings", "may", "steps", "questions", "advice"}
_FINDING_FIELDS = {"kind", "program", "line", "values"}


@dataclasses.dataclass
class Expected:
    """A finding that is true of a start."""

    kinds: set
    program: str = ""
    lines: set | None = None  # None: any line is right
    values: tuple | None = None

    def __str__(self):
        text = "/".join(sorted(self.kinds))
        if self.program:
            text += f" {self.program}"
        if self.values:
            text += f" {self.values[0]} → {self.values[1]}"
        if self.lines is not None:
            text += f" at line {' or '.join(map(str, sorted(self.lines)))}"
        return text


def _tags(finding):
    tags = finding.get("line")
    return [tags] if isinstance(tags, str) else tags


@dataclasses.dataclass
class Start:
    """One start of the job: how it is made, and what is true of it."""

    index: int
    fields: dict
    source: str  # the job as edited so far
    lines: dict  # tag -> set of line numbers

    @property
    def what(self):
        return self.fields["what"]

    @property
    def expect(self):
        return self.fields["expect"]

    @property
    def args(self):
        return shlex.split(self.fields.get("args", ""))

    @property
    def questions(self):
        """Returns the answers that are sure: all are no, unless the field says otherwise."""
        return self.expect.get("questions", dict.fromkeys(QUESTIONS, False))

    @property
    def findings(self):
        return [self._expected(finding) for finding in self.expect.get("findings", ())]

    def _expected(self, finding):
        tags = _tags(finding)
        lines = None if tags is None else set().union(*(self.lines[tag] for tag in tags))
        return Expected(finding["kind"], finding.get("program", ""), lines, finding.get("values"))

    @property
    def is_healthy(self):
        return not self.expect.get("findings") and not self.fields.get("fails")


@dataclasses.dataclass
class Week:
    name: str
    what: str
    fields: dict
    starts: list

    @property
    def python(self):
        return self.fields["python"]

    @property
    def is_torch(self):
        return self.python.startswith("torch")

    @property
    def environments(self):
        """Returns the names of the Python environments of all starts."""
        return {self.python} | {s.fields["python"] for s in self.starts if s.fields.get("python")}


def markers(source):
    """Returns {tag: set of line numbers}."""
    lines = {}
    for number, line in enumerate(source.splitlines(), 1):
        if match := _MARKER.search(line):
            lines.setdefault(match[1], set()).add(number)
    return lines


def as_played(start, source):
    """Returns the start with the lines of `source`, the job as it was when it was played."""
    lines = start.lines | markers(source)
    return dataclasses.replace(start, source=source, lines=lines)


def _unknown(where, fields, known):
    unknown = set(fields) - known
    assert not unknown, f"{where}: unknown fields {sorted(unknown)}"


def _check_start(where, start):
    _unknown(where, start.fields, _START_FIELDS)
    assert start.fields.get("what"), f"{where}: what changes?"
    expect = start.fields.get("expect")
    assert isinstance(expect, dict), f"{where}: nothing is expected"
    _unknown(where, expect, _EXPECT_FIELDS)
    _unknown(where, start.questions, set(QUESTIONS))
    assert isinstance(start.fields.get("args", ""), str), f"{where}: the arguments are one text"
    compiled = expect.get("compiled")
    assert compiled in ("none", "some", None) or isinstance(compiled, int), f"{where}: compiled {compiled!r}"
    for finding in expect.get("findings", ()):
        _unknown(where, finding, _FINDING_FIELDS)
        assert isinstance(finding.get("kind"), set), f"{where}: the kinds of a finding are a set"
        for tag in _tags(finding) or ():
            assert tag in start.lines, f"{where}: no line of the job ends in '# LINE: {tag}'"
        values = finding.get("values")
        assert values is None or len(values) == 2, f"{where}: values are (before, after)"
    words = set().union(*(expected.kinds for expected in start.findings)) | set(expect.get("may", ()))
    assert words <= KINDS, f"{where}: neither cause nor pattern: {sorted(words - KINDS)}"


def _edit(where, source, edits):
    for old, new in edits:
        assert source.count(old) == 1, f"{where}: {old!r} is there {source.count(old)} times"
        source = source.replace(old, new)
    return source


def read(folder):
    """Reads the week in `folder`."""
    path = folder / "week.py"
    fields, what = read_literal(path, "WEEK")
    _unknown(path, fields, _WEEK_FIELDS)
    source = (folder / "job.py").read_text()
    starts = []
    for index, given in enumerate(fields["starts"]):
        where = f"{folder.name}, start {index}"
        source = _edit(where, source, given.get("edit", ()))
        starts.append(Start(index, given, source, markers(source)))
        _check_start(where, starts[-1])
    return Week(folder.name, what, fields, starts)


def names():
    """Returns the names of all weeks."""
    return sorted(path.parent.name for path in HERE.glob("*/week.py") if (path.parent / "job.py").exists())


def read_all():
    return [read(HERE / name) for name in names()]
