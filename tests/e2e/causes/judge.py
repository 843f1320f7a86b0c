"""Compares the output of `rekindle explain --json` with a script's declaration. Relies on contracts.md alone.

Values are compared leniently, because no contract fixes how a shape is written: `f32[8,4]`, `tensor<8x4xf32>` and
`[8, 4]` are all the shape (8, 4).
"""

import dataclasses
import re
from pathlib import Path

import drivers

CAUSES = {
    "first", "shape", "dtype", "constant", "structure", "parameters", "sharding", "options", "environment", "toolchain",
    "device", "duplicate", "evicted", "damaged", "removed", "uncacheable", "failed",
}  # fmt: skip
PATTERNS = {
    "counter", "alternation", "shape_family", "optional_inputs", "fragments", "flag_drift", "rank_divergence",
    "repeated_blocks", "duplicate_storm", "toolchain_drift", "eager_startup",
}  # fmt: skip
KINDS = {
    "shape", "dtype", "constant", "op_added", "op_removed", "attribute", "parameter_added", "parameter_removed", "sharding",
    "option", "flag", "variable", "version", "topology",
}  # fmt: skip
QUESTIONS = ("input_shapes_changed", "profile_or_sharding_changed", "hidden_branch_active")

_DTYPES = re.compile(r"(?:bf|f|i|u|s|ui|si|c|complex|float|bfloat|int|uint|pred)\d+(?:e\dm\d\w*)?", re.IGNORECASE)
_NUMBERS = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_LONG_NAMES = {
    "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "i8": "int8", "i32": "int32", "i64": "int64",
}  # fmt: skip


def _numbers(text):
    return [float(number) for number in _NUMBERS.findall(_DTYPES.sub(" ", text).replace("x", " "))]


def same_value(wanted, found):
    """Returns whether the value `found` in a difference matches the declared value."""
    if isinstance(wanted, set):
        return any(same_value(one, found) for one in wanted)
    if wanted is None:
        return found in (None, "", [], {})
    if found is None:
        return False
    text = str(found)
    if isinstance(wanted, bool):
        return text.lower() in (str(wanted).lower(), str(int(wanted))) or f"<{str(wanted).lower()}>" in text
    if isinstance(wanted, (list, tuple)):
        dimensions = [float(size) for size in wanted]
        numbers = _numbers(re.sub(r"\{[\d,]*\}", "", text))
        # A value may show only the dimension that changed.
        return numbers == dimensions or (len(numbers) == 1 and numbers[0] in dimensions)
    if isinstance(wanted, (int, float)):
        return any(abs(number - wanted) <= 1e-5 * max(1.0, abs(wanted)) for number in _numbers(text))
    # bf16 is not f16; the x of 8x4xf16 belongs to the shape.
    names = (wanted, _LONG_NAMES.get(wanted, wanted))
    return any(re.search(f"(?<![a-wyz]){re.escape(name)}", text, re.IGNORECASE) for name in names)


@dataclasses.dataclass
class Verdict:
    """Which judgements passed, with a message for each failure. None: not required."""

    case: object
    right_class: bool | None = None
    right_line: bool | None = None
    right_values: bool | None = None
    right_patterns: bool | None = None
    quiet: bool = True
    said: str = ""
    wrong: list = dataclasses.field(default_factory=list)

    def note(self, field, good, complaint):
        """Records one judgement; a failed field stays failed."""
        setattr(self, field, good and getattr(self, field) is not False)
        if not good:
            self.wrong.append(complaint)

    @property
    def good(self):
        return not self.wrong


def _headline(compilation):
    return (compilation["differences"] or [{}])[0]


def _at(thing, script, lines):
    return Path(thing.get("file") or "").name == script and thing.get("line") in lines


def _place(thing):
    return f"{Path(thing.get('file') or '-').name}:{thing.get('line') or '-'}"


def _describe(compilation):
    head = _headline(compilation)
    text = f"{compilation['name']} {compilation['cause']}"
    if head:
        text += f" {head['kind']} {head.get('before')} -> {head.get('after')} at {_place(head)}"
    return text


def _is_many(found, times):
    return found >= 1 if times == "many" else found == times


def _judge_cause(verdict, script, cause, compilations):
    """Judges one planted cause. Returns the compilations that have it."""
    classes = cause["cause"] if isinstance(cause["cause"], list) else [cause["cause"]]
    mine = [c for c in compilations if c["cause"] in classes and cause.get("name", "") in c["name"]]
    times = cause.get("times", 1)
    told = "; ".join(_describe(c) for c in compilations if c["cause"] != "first") or "nothing but first compilations"
    verdict.note("right_class", _is_many(len(mine), times), f"wanted {times} × {classes}, found: {told}")
    if not mine:
        # A missing cause has no line either.
        if cause.get("place", "") is not None:
            verdict.right_line = False
        return mine
    tag = cause.get("place", "")
    if tag is not None:
        lines = verdict.case.planted(tag)
        for compilation in mine:
            good = _at(_headline(compilation), script, lines)
            verdict.note("right_line", good, f"wanted {script}:{sorted(lines)}, found: {_describe(compilation)}")
    for before, after in cause.get("values", ()):
        good = any(
            same_value(before, _headline(c).get("before")) and same_value(after, _headline(c).get("after")) for c in mine
        )
        verdict.note("right_values", good, f"wanted {before} -> {after}, found: {told}")
    if kinds := cause.get("kind"):
        good = all(_headline(c).get("kind") in kinds for c in mine)
        verdict.note("right_values", good, f"wanted kinds {kinds}, found: {told}")
    return mine


def _judge_patterns(verdict, script, found):
    for kind, tag in verdict.case.patterns:
        mine = [pattern for pattern in found if pattern["kind"] == kind]
        told = ", ".join(f"{p['kind']} at {_place(p)}" for p in found) or "none"
        verdict.note("right_patterns", bool(mine), f"wanted pattern {kind}, found: {told}")
        if mine and tag is not None:
            lines = verdict.case.planted(tag)
            good = any(_at(pattern, script, lines) for pattern in mine)
            verdict.note("right_line", good, f"wanted pattern {kind} at {script}:{sorted(lines)}, found: {told}")
        if mine:
            verdict.note("right_patterns", all(p["advice"] for p in mine), f"pattern {kind} without advice")
    wanted = {kind for kind, _ in verdict.case.patterns} | verdict.case.may
    for pattern in found:
        if pattern["kind"] not in wanted:
            verdict.note("quiet", False, f"false alarm: {pattern['kind']} at {_place(pattern)}: {pattern['summary']}")


def _answer(question):
    """Returns the answer as a bool, with or without evidence beside it."""
    return bool(question.get("answer", question.get("value"))) if isinstance(question, dict) else bool(question)


def _judge_form(verdict, explained):
    """Checks what contracts.md fixes about the JSON."""
    if set(QUESTIONS) - set(explained["questions"]):
        verdict.note("quiet", False, f"questions are missing: {explained['questions']}")
    words = {c["cause"] for c in explained["compilations"]} - CAUSES
    words |= {p["kind"] for p in explained["patterns"]} - PATTERNS
    words |= {d["kind"] for c in explained["compilations"] for d in c["differences"]} - KINDS
    if words:
        verdict.note("quiet", False, f"not in contracts.md: {words}")
    for c in explained["compilations"]:
        if c["cause"] in CAUSES - {"first", "uncacheable"} and not c["advice"]:
            verdict.note("quiet", False, f"without advice: {_describe(c)}")


def judge(case, script, explained):
    """Returns the verdict on an explanation (decoded JSON) of the file `script`."""
    verdict = Verdict(case)
    _judge_form(verdict, explained)
    compilations = explained["compilations"]
    verdict.said = "; ".join(dict.fromkeys(_describe(c) for c in compilations if c["cause"] != "first"))
    claimed = []
    for cause in case.causes:
        claimed += _judge_cause(verdict, script, cause, compilations)
    for compilation in compilations:
        if compilation["cause"] not in {"first"} | case.may and compilation not in claimed:
            verdict.note("quiet", False, f"false alarm: {_describe(compilation)}")
    _judge_patterns(verdict, script, explained["patterns"])
    answers = {name: _answer(explained["questions"].get(name)) for name in QUESTIONS}
    wanted = case.declared.get("questions", {}) | (dict.fromkeys(QUESTIONS, False) if case.healthy else {})
    for name, answer in wanted.items():
        if answers[name] != answer:
            verdict.note("quiet", False, f"{name}: wanted {answer}, found {explained['questions'].get(name)}")
    return verdict


def _mark(value):
    return {None: "", True: "yes", False: "NO"}[value]


def _share(verdicts, field):
    asked = [value for verdict in verdicts if (value := getattr(verdict, field)) is not None]
    return sum(asked), len(asked)


FIELDS = ("right_class", "right_line", "right_values", "right_patterns", "quiet")


def table(verdicts):
    """Formats the verdicts as a table, with totals in the last row."""
    rows = [("script", "planted", "class", "line", "values", "patterns", "quiet")]
    for v in verdicts:
        planted = [str(c["cause"] if isinstance(c["cause"], str) else c["cause"][0]) for c in v.case.causes]
        planted += [kind for kind, _ in v.case.patterns]
        rows.append((v.case.name, ", ".join(planted) or "healthy", *(_mark(getattr(v, field)) for field in FIELDS)))
    rows.append(("", "right", *("{}/{}".format(*_share(verdicts, field)) for field in FIELDS)))
    return drivers.aligned(rows)


def reaches_goals(verdicts):
    """Returns complaints. Goals: 95 % right class, 90 % exact line, no false alarm on healthy scripts."""
    complaints = []
    for field, goal in (("right_class", 0.95), ("right_line", 0.90)):
        right, asked = _share(verdicts, field)
        if asked and right / asked < goal:
            complaints.append(f"{field}: {right} of {asked}, wanted {goal:.0%}")
    alarmed = [verdict.case.name for verdict in verdicts if verdict.case.healthy and not verdict.good]
    return complaints + [f"false alarm on {name}" for name in alarmed]
