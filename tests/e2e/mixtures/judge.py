"""Compares what `rekindle explain` says of a mixture with its planted causes. README.md says what counts as right."""

import dataclasses
import re
from pathlib import Path

import drivers
from causes.case import read_literal

_MARKER = re.compile(r"# (?:PLANTED|USED): (\w+)")
_FIELDS = {"python", "causes", "may", "steps"}


@dataclasses.dataclass
class Mixture:
    """A script with several causes, and a switch that repairs each of them."""

    path: Path
    declared: dict
    lines: dict  # tag -> set of line numbers

    @property
    def name(self):
        return self.path.stem

    @property
    def python(self):
        return self.declared["python"]

    @property
    def environments(self):
        return {self.python}

    @property
    def causes(self):
        return self.declared["causes"]

    def variants(self):
        """Returns the repairs to play: none, then each cause alone."""
        return [None, *self.causes]


def read(path):
    declared, _ = read_literal(path, "MIXTURE")
    assert set(declared) == _FIELDS, f"{path}: MIXTURE has the fields {sorted(_FIELDS)}"
    lines = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for tag in _MARKER.findall(line):
            lines.setdefault(tag, set()).add(number)
    for name, cause in declared["causes"].items():
        assert cause["line"] is None or cause["line"] in lines, f"{path}: nothing is planted as {name}"
    return Mixture(path, declared, lines)


def read_all():
    return [read(path) for path in sorted(Path(__file__).parent.glob("[a-z]*_*.py"))]


@dataclasses.dataclass
class Finding:
    """A pattern, or a compilation with a cause that is in no pattern: what the text of `explain` lists."""

    kind: str
    place: tuple | None
    seconds: float
    programs: frozenset
    text: str

    def __str__(self):
        place = f" at {self.place[0]}:{self.place[1]}" if self.place else ""
        return f"{self.kind}{place}, {self.seconds:.2f} s: {' '.join(self.text.split())[:110]}"


def _place(thing):
    return (Path(thing["file"]).name, thing["line"]) if thing.get("file") else None


def findings(explained):
    found = [
        Finding(p["kind"], _place(p), p["seconds"] or 0, frozenset(p["programs"]), p["summary"])
        for p in explained["patterns"]
    ]
    members = frozenset().union(*(finding.programs for finding in found))
    for c in explained["compilations"]:
        if c["cause"] == "first" or c["program"] in members:
            continue
        head = (c["differences"] or [{}])[0]
        text = f"{c['name']} request {c['seq']}: {head.get('kind')} {head.get('before')} -> {head.get('after')}"
        found.append(Finding(c["cause"], _place(head), c["seconds"] or 0, frozenset([c["program"]]), text))
    return found


@dataclasses.dataclass
class Verdict:
    """What is said of one variant of a mixture."""

    mixture: Mixture
    without: str | None
    found: dict = dataclasses.field(default_factory=dict)  # name of a cause -> its findings
    missed: list = dataclasses.field(default_factory=list)
    false: list = dataclasses.field(default_factory=list)
    wrong: list = dataclasses.field(default_factory=list)  # shares of the seconds, steps; or how it failed
    seconds: float = 0
    shrinks: bool | None = None  # the repair removes its cause and leaves all others; None: not judged

    @property
    def complaints(self):
        lines = [f"missed {name}" for name in self.missed] + [f"false {finding}" for finding in self.false] + self.wrong
        if self.shrinks is False:
            lines.append(f"the list does not shrink by one: the repair of {self.without} leaves {sorted(self.found)}")
        return lines


def _is_of(mixture, cause, finding):
    if finding.kind not in cause["kinds"]:
        return False
    if cause["line"] is None:
        return True
    return finding.place is not None and finding.place[0] == mixture.path.name and (
        finding.place[1] in mixture.lines[cause["line"]]
    )


def _judge_shares(verdict, explained):
    """One compilation belongs to one cause, and all causes together cost no more than all compilations."""
    owners = {}
    for name, group in verdict.found.items():
        for program in frozenset().union(*(finding.programs for finding in group)):
            owners.setdefault(program, []).append(name)
    shared = {program: names for program, names in owners.items() if len(names) > 1}
    for names in sorted({tuple(sorted(names)) for names in shared.values()}):
        count = sum(sorted(mine) == list(names) for mine in shared.values())
        verdict.wrong.append(f"{count} programs belong to {' and '.join(names)}")
    total = sum(c["seconds"] or 0 for c in explained["compilations"] if c["compiled"])
    spent = sum(finding.seconds for group in verdict.found.values() for finding in group)
    if spent > total * 1.001:
        verdict.wrong.append(f"the causes cost {spent:.2f} s, all compilations {total:.2f} s")
    verdict.seconds = total


def judge(mixture, without, explained, stats):
    """Returns the verdict on one variant. `explained` and `stats` are decoded JSON."""
    verdict = Verdict(mixture, without)
    planted = {name: cause for name, cause in mixture.causes.items() if name != without}
    for finding in findings(explained):
        owner = next((name for name, cause in planted.items() if _is_of(mixture, cause, finding)), None)
        if owner:
            verdict.found.setdefault(owner, []).append(finding)
        elif finding.kind not in mixture.declared["may"]:
            verdict.false.append(finding)
    verdict.missed = [name for name in planted if name not in verdict.found]
    _judge_shares(verdict, explained)
    wanted, steps = mixture.declared["steps"], stats.get("steps")
    count = steps and steps["count"]
    if wanted is not None and count is not None and abs(count - wanted) > 0.1 * wanted + 0.5:
        verdict.wrong.append(f"{count} steps, not {wanted}")
    return verdict


def failed(mixture, without, problem):
    """Returns the verdict on a variant that could not be played: nothing is found."""
    missed = [name for name in mixture.causes if name != without]
    return Verdict(mixture, without, missed=missed, wrong=[f"could not be played: {problem}"])


def judge_repairs(verdicts):
    """Judges whether each repair removes its cause from the list and leaves all others. `verdicts`: of one mixture."""
    whole = next((verdict for verdict in verdicts if verdict.without is None), None)
    for verdict in verdicts:
        if whole and verdict is not whole:
            verdict.shrinks = set(verdict.found) == set(whole.found) - {verdict.without} and not verdict.false


def counts(verdicts):
    """Returns found and planted causes, false findings, and right and all repairs, of one mixture or several."""
    found = sum(len(verdict.found) for verdict in verdicts)
    planted = found + sum(len(verdict.missed) for verdict in verdicts)
    false = sum(len(verdict.false) for verdict in verdicts)
    shrinks = [verdict.shrinks for verdict in verdicts if verdict.shrinks is not None]
    return found, planted, false, sum(shrinks), len(shrinks)


def table(verdicts):
    """Formats the verdicts, with the totals in the last row."""
    rows = [("mixture", "repaired", "found at line", "false", "list shrinks by one", "shares, steps")]
    for verdict in verdicts:
        planted = len(verdict.found) + len(verdict.missed)
        rows.append((
            verdict.mixture.name, verdict.without or "-", f"{len(verdict.found)}/{planted}", str(len(verdict.false)),
            {None: "", True: "yes", False: "NO"}[verdict.shrinks], "NO" if verdict.wrong else "ok",
        ))  # fmt: skip
    found, planted, false, right, repairs = counts(verdicts)
    rows.append(("", "all", f"{found}/{planted}", str(false), f"{right}/{repairs}", ""))
    return drivers.aligned(rows)


def reaches_goals(verdicts):
    """Goals: 90 % of the planted causes at their lines, nothing false, every repair removes one finding."""
    found, planted, false, right, repairs = counts(verdicts)
    return found >= 0.9 * planted and not false and right == repairs and not any(verdict.wrong for verdict in verdicts)
