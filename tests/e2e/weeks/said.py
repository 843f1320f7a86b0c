"""Reads the text of `rekindle explain` and `rekindle stats` as a user does, and compares it with the JSON."""

import dataclasses
import re
from pathlib import Path

_TIME = r"(?:<?[\d.]+ (?:ms|s)|\d+ min \d+ s|\d+ h \d+ min)"
_COMPILATION = re.compile(
    rf"^(?P<words>[\w ]+): (?P<name>.+), (?P<time>{_TIME}), request (?P<seq>\d+)(?:, (?:after )?step \d+)?(?: of rank (?P<rank>\d+))?$"
)
_PATTERN = re.compile(r"^[\w ]+ \((?P<kind>\w+)\)(?:, .*)?$")
# The text says causes in words.
_CAUSES = {
    "a new program": "first",
    "another shape": "shape",
    "another type": "dtype",
    "another constant": "constant",
    "other operations": "structure",
    "another order of the operations": "structure",
    "other inputs or results": "parameters",
    "another sharding": "sharding",
    "other compile options": "options",
    "other flags or variables": "environment",
    "another version": "toolchain",
    "other devices": "device",
    "the same program again": "duplicate",
    "evicted from the store": "evicted",
    "an entry that could not be used": "damaged",
    "removed from the store": "removed",
    "not stored": "uncacheable",
    "a failed compilation": "failed",
}
_MORE = re.compile(r"^\d+ more\b")
# Compilations that say the same as the finding.
_ALIKE = re.compile(
    rf"The same (?:holds for|line and advice:) requests? (?P<requests>[\w, ]+?)(?P<more> and \d+ more)? \({_TIME}\): --all"
)
_PLACE = re.compile(r"^ +(?P<file>\S+):(?P<line>\d+)(?: in .*)?$")
_QUESTIONS = {
    "input_shapes_changed": "Did the input shapes change?",
    "profile_or_sharding_changed": "Did flags, options, versions or shardings change?",
    "hidden_branch_active": "Did another branch of the graph become active?",
}
_ANSWERS = {"yes": True, "no": False, "not known": None, "unknown": None}
# The text shows so many differences of a compilation.
_SHOWN = 3


@dataclasses.dataclass
class Finding:
    """A finding that the text prints, with its object in the JSON."""

    kind: str
    block: list  # its lines
    name: str = ""  # of the program; "" for a pattern
    seq: int | None = None
    told: dict | None = None
    names: tuple = ()  # of the programs of a pattern

    @property
    def is_pattern(self):
        return self.seq is None

    @property
    def place(self):
        """Returns (name of the file, line): of the pattern, or of the first difference. None if there is none."""
        if self.is_pattern:
            thing = self.told or {}
        else:
            thing = (self.differences or [{}])[0]
        return (Path(thing["file"]).name, thing["line"]) if thing.get("file") else None

    @property
    def differences(self):
        """Returns the differences that the text shows."""
        return (self.told or {}).get("differences", [])[:_SHOWN]

    @property
    def seconds(self):
        return (self.told or {}).get("seconds") or 0

    @property
    def advice(self):
        return (self.told or {}).get("advice") or ""

    def shows_place(self, place):
        shown = [match for line in self.block if (match := _PLACE.match(line))]
        return any((Path(match["file"]).name, int(match["line"])) == place for match in shown)

    def __str__(self):
        text = " ".join(self.block[0].split())
        if len(self.block) > 1:
            text += f": {self.block[1].strip()}"
        return f"{text} ({self.place[0]}:{self.place[1]})" if self.place else text


@dataclasses.dataclass
class Said:
    """What the text says. `wrong`: contradictions in the text, or between text and JSON."""

    head: list = dataclasses.field(default_factory=list)
    findings: list = dataclasses.field(default_factory=list)
    wrong_head: list = dataclasses.field(default_factory=list)
    wrong: list = dataclasses.field(default_factory=list)


def seconds(text):
    """Returns the seconds of a time such as "0.21 s", "3.2 ms", "2 min 05 s"."""
    units = {"h": 3600, "min": 60, "s": 1, "ms": 1e-3}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (h|min|ms|s)\b", text))


def _blocks(text):
    blocks = [[]]
    for line in text.splitlines():
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def _words(text):
    return " ".join(text.split())


def _find_pattern(block, kind, patterns):
    text = _words(" ".join(block))
    mine = [p for p in patterns if p["kind"] == kind and _words(p.get("summary") or "") in text]
    return mine[0] if mine else None


def _read_block(block, explained, said):
    """Reads one finding."""
    if match := _COMPILATION.match(block[0]):
        seq, name, kind = int(match["seq"]), match["name"], _CAUSES.get(match["words"])
        found = [
            c for c in explained["compilations"]
            if c["seq"] == seq and c["cause"] == kind and c["name"] == name
            and (match["rank"] is None or c.get("rank") == int(match["rank"]))
        ]  # fmt: skip
        finding = Finding(kind, block, name, seq, found[0] if found else None)
    elif match := _PATTERN.match(block[0]):
        told = _find_pattern(block, match["kind"], explained["patterns"])
        finding = Finding(match["kind"], block, told=told)
        programs = set((told or {}).get("programs", ()))
        finding.names = tuple({c["name"] for c in explained["compilations"] if c["program"] in programs} - {None})
    else:
        said.wrong.append(f"not understood: {block[0]}")
        return
    if not finding.told:
        said.wrong.append(f"the text says what the JSON does not: {block[0]}")
    elif finding.place and not finding.shows_place(finding.place):
        said.wrong.append(f"the JSON has the place {finding.place}, the text shows another or none: {block[0]}")
    said.findings.append(finding)


def _check_summary(said, line, explained, stats):
    """Checks the line that sums up the run."""
    wrong = said.wrong_head
    again = [c for c in explained["compilations"] if c["cause"] != "first" and c.get("compiled", True)]
    if line.startswith("Nothing was compiled"):
        if stats.get("compiled"):
            wrong.append(f"{line} But stats counts {stats['compiled']}")
        return
    match = re.match(rf"(\d+) compilations? in ({_TIME})", line)
    if not match:
        wrong.append(f"the summary is not understood: {line}")
        return
    count, total = int(match[1]), seconds(match[2])
    if "compiled" in stats and count != stats["compiled"]:
        wrong.append(f"{line}. But stats counts {stats['compiled']}")
    if count and not total:
        wrong.append(f"{count} compilations in no time: {line}")
    part, failed = re.search(r"(\d+) of them (?:has|have) a cause", line), re.search(r"(\d+) of them failed", line)
    if part or failed or "which failed" in line:
        told = sum(int(match[1]) for match in (part, failed) if match) + ("which failed" in line)
        if told > count:
            wrong.append(f"{told} of {count}: {line}")
        singles = [f for f in said.findings if not f.is_pattern and (f.told or {}).get("compiled", True)]
        if told < len(singles):
            wrong.append(f"{len(singles)} are listed: {line}")
        if (cost := re.search(rf"cost ({_TIME})", line)) and seconds(cost[1]) > 1.06 * total + 1e-4:
            wrong.append(f"a part costs more than all: {line}")
    elif again and "cannot be compared" not in line:
        wrong.append(f"{len(again)} have a cause: {line}")


def _check_questions(said, explained):
    for name, words in _QUESTIONS.items():
        lines = [line for line in said.head if words in line]
        if not lines:
            if said.findings:
                said.wrong_head.append(f"not there: {words}")
            continue
        answer = re.match(r"(not known|unknown|yes|no)\b", lines[0].split(words)[1].strip())
        if not answer or _ANSWERS[answer[1]] is not explained["questions"].get(name):
            said.wrong_head.append(f"the JSON says {explained['questions'].get(name)}: {lines[0].strip()}")


def _check_complete(said, blocks, explained):
    """Everything in the JSON that is worth a mention is in the text."""
    if any(_MORE.match(block[0]) for block in blocks):
        return
    printed = [id(finding.told) for finding in said.findings]
    alike = [match for finding in said.findings if (match := _ALIKE.search(_words(" ".join(finding.block))))]
    if any(match["more"] for match in alike):
        return
    named = [pair for match in alike for pair in re.findall(r"(\d+)(?: of rank (\d+))?", match["requests"])]
    requests = {(int(seq), int(rank) if rank else None) for seq, rank in named}
    for pattern in explained["patterns"]:
        if id(pattern) not in printed:
            said.wrong.append(f"the text lacks the pattern {pattern['kind']}: {pattern.get('summary')}")
    members = {program for pattern in explained["patterns"] for program in pattern["programs"]}
    for c in explained["compilations"]:
        is_printed = id(c) in printed or not requests.isdisjoint({(c["seq"], None), (c["seq"], c.get("rank"))})
        if c["cause"] != "first" and not is_printed and c["program"] not in members:
            said.wrong.append(f"the text lacks {c['cause']} {c['name']}, request {c['seq']}")


def read(text, explained, stats):
    """Reads the output of `rekindle explain`: as text and as JSON."""
    blocks = _blocks(text)
    if not blocks:
        return Said(wrong=["explain printed nothing"])
    said = Said(head=blocks[0])
    for block in blocks[1:]:
        if not _MORE.match(block[0]):
            _read_block(block, explained, said)
    summary = [line for line in said.head if re.match(r"\d+ compilations?\b|Nothing was compiled", line)]
    if len(summary) != 1:
        said.wrong_head.append(f"{len(summary)} lines sum up the run: {said.head}")
    else:
        _check_summary(said, summary[0], explained, stats)
        if not (summary[0].startswith("Nothing") and not said.findings):
            _check_questions(said, explained)
    _check_complete(said, blocks, explained)
    return said


def steps_in_text(text):
    """Returns the number of steps that `rekindle stats` prints; None if it prints none or "not known"."""
    match = re.search(r"^steps +([\d,]+)\b", text, re.MULTILINE)
    return int(match[1].replace(",", "")) if match else None


def steps_in_json(stats):
    """Returns the number of steps in `rekindle stats --json`; None if it is not known."""
    steps = stats.get("steps")
    return steps and steps["count"]
