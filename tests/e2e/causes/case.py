"""A script and what it declares about itself.

Each script in jax/ and torch/ is a small honest job that knows nothing of rekindle. At its top stands a literal,
`CASE`, which is read and never executed; all fields may be missing:

    runs        a list, one for each start of the job, of
                    env       variables, beside those of every start
                    args      arguments
                    edit      [(old, new)]: the source is edited so before this start, each text being there once. The
                              planted lines are those of the script as the last edit left it
                    python    "newest": with another version of the framework
                    ranks     so many processes at once, with RANK set
                    devices   the plugin has so many from now on
                    rebuilt   True: from now on the plugin is another build
                    damage    name of a program whose entry is spoiled before this start
                    evict     name of a program whose entry is removed before this start
    judge       which start is explained: its index (default: the last)
    compiles    {program: n}: how often the judged start calls the compiler for programs of that name. This is asked
                of the journal and not of `explain`: it says whether the script does what it claims to do
    causes      the causes that are planted, a list of
                    cause     its class, or a list of classes where contracts.md leaves it open
                    name      part of the name of the program
                    times     how many compilations have it (1); "many": at least one
                    values    [(before, after)]: each is the headline of one of these compilations. A list is a shape,
                              a number a number (with tolerance), a string a part of the text, None nothing, a set
                              alternatives
                    kind      kinds of the headline, a set
                    place     tag of the lines (default ""), or None: no line can be known
    patterns    [(kind, tag)]: the patterns that are planted; a tag of None says that no line is asked
    may         kinds of patterns, and classes of causes, that are true as well, and not asked
    questions   {question: answer}, where they are asked
    remedy      [{words}]: of each set, one is in what `explain` says to people (the stories)
    healthy     nothing is planted: only first compilations, no pattern, three times no

The planted line ends in `# PLANTED`, or `# PLANTED: tag` where there are several causes. Where a cause comes in through
a parameter, its line is that of the call, and the first use in the function, marked `# USED` in the same way, is
accepted as well.
"""

import ast
import dataclasses
import re
from pathlib import Path

_MARKER = re.compile(r"# (PLANTED|USED)(?:: (\w+))?$")
_FIELDS = {"runs", "judge", "compiles", "causes", "patterns", "may", "questions", "healthy", "remedy"}
_RUN_FIELDS = {"env", "args", "edit", "python", "ranks", "damage", "evict", "devices", "rebuilt"}
_CAUSE_FIELDS = {"cause", "name", "times", "values", "kind", "place"}


@dataclasses.dataclass
class Case:
    path: Path
    what: str
    declared: dict
    lines: dict  # (marker, tag) -> set of line numbers

    @property
    def name(self):
        return self.path.stem

    @property
    def runs(self):
        return self.declared.get("runs") or [{}]

    @property
    def judged(self):
        return range(len(self.runs))[self.declared.get("judge", -1)]

    @property
    def healthy(self):
        return self.declared.get("healthy", False)

    @property
    def causes(self):
        return self.declared.get("causes", [])

    @property
    def patterns(self):
        return self.declared.get("patterns", [])

    @property
    def may(self):
        return set(self.declared.get("may", ()))

    def planted(self, tag):
        """The lines that are right for a cause."""
        return self.lines.get(("PLANTED", tag), set()) | self.lines.get(("USED", tag), set())


def _check(path, case):
    unknown = set(case.declared) - _FIELDS
    unknown |= {field for run in case.runs for field in run} - _RUN_FIELDS
    unknown |= {field for cause in case.causes for field in cause} - _CAUSE_FIELDS
    assert not unknown, f"{path}: unknown {unknown}"
    assert case.what, f"{path}: no docstring"
    assert case.healthy != bool(case.causes or case.patterns), f"{path}: healthy, or something planted"
    asked = {cause.get("place", "") for cause in case.causes} | {tag for _, tag in case.patterns}
    for tag in asked - {None}:
        assert ("PLANTED", tag) in case.lines, f"{path}: nothing is planted as {tag!r}"


def _markers(source):
    lines = {}
    for number, line in enumerate(source.splitlines(), 1):
        if match := _MARKER.search(line):
            lines.setdefault((match[1], match[2] or ""), set()).add(number)
    return lines


def as_edited(case, path):
    """The same case with the lines of `path`, the script as edits have left it."""
    return dataclasses.replace(case, lines=_markers(path.read_text()))


def read(path):
    """The case in the file `path`."""
    source = path.read_text()
    tree = ast.parse(source)
    declared = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "CASE"
    ]
    assert len(declared) == 1, f"{path}: one CASE is wanted"
    case = Case(path, ast.get_docstring(tree) or "", declared[0], _markers(source))
    _check(path, case)
    return case


def read_all(folder):
    return [read(path) for path in sorted(folder.glob("*.py"))]
