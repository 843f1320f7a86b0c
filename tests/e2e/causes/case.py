"""Reads a script and its declaration.

Each script in jax/ and torch/ is a small ordinary job without rekindle code. It starts with a literal, `CASE`, which is
read but never executed. All fields are optional:

    runs        a list with one item per start of the job:
                    env       variables, added to those of every start
                    args      arguments
                    edit      [(old, new)]: edits of the source before this start; each old text occurs once. The
                              planted lines are those of the script after the last edit
                    python    "newest": uses another version of the framework
                    ranks     number of processes at once, with RANK set
                    devices   number of devices of the plugin from this start on
                    rebuilt   True: the plugin is another build from this start on
                    damage    name of a program whose entry is damaged before this start
                    remove    name of a program whose entry `rekindle rm` removes before this start
                    evict     name of a program whose entry `rekindle gc` evicts before this start
    judge       index of the start that is explained (default: the last)
    compiles    {program: n}: how often the judged start calls the compiler for programs of that name. The count comes
                from the journal, not from `explain`: it shows whether the script does what it claims to do
    causes      the planted causes, a list of:
                    cause     its class, or a list of classes if contracts.md leaves it open
                    name      part of the name of the program
                    times     number of compilations with this cause (1); "many": at least one
                    values    [(before, after)]: each is the headline of one of these compilations. A list is a shape,
                              a number a number (with tolerance), a string a part of the text, None nothing, a set
                              alternatives
                    kind      allowed kinds of the headline, a set
                    place     tag of the lines (default ""), or None if no line can be known
    patterns    [(kind, tag)]: the planted patterns; a tag of None requires no line
    may         kinds of patterns and classes of causes that are also true, but not required
    questions   {question: answer}: the answers that are required
    remedy      [{words}]: the text of `explain` contains at least one word of each set (the stories)
    healthy     nothing is planted: only first compilations, no pattern, all three answers are no

The planted line ends in `# PLANTED`, or `# PLANTED: tag` if there are several causes. If a parameter carries the cause,
the planted line is the call; the first use in the function, marked `# USED` in the same way, is accepted too.
"""

import ast
import dataclasses
import re
from pathlib import Path

_MARKER = re.compile(r"# (PLANTED|USED)(?:: (\w+))?$")
_FIELDS = {"runs", "judge", "compiles", "causes", "patterns", "may", "questions", "healthy", "remedy"}
_RUN_FIELDS = {"env", "args", "edit", "python", "ranks", "damage", "evict", "remove", "devices", "rebuilt"}
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
        """Returns the correct lines for a cause."""
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
    """Returns the same case with the lines of `path`, the edited script."""
    return dataclasses.replace(case, lines=_markers(path.read_text()))


def read_literal(path, name):
    """Returns the literal that a script assigns to `name`, and the script's docstring. Executes nothing."""
    tree = ast.parse(path.read_text())
    found = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name
    ]
    assert len(found) == 1, f"{path}: {name} is assigned {len(found)} times, not once"
    return found[0], ast.get_docstring(tree) or ""


def read(path):
    """Reads the case in the file `path`."""
    declared, what = read_literal(path, "CASE")
    case = Case(path, what, declared, _markers(path.read_text()))
    _check(path, case)
    return case


def read_all(folder):
    return [read(path) for path in sorted(folder.glob("*.py"))]
