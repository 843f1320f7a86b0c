"""Compares what rekindle says of each start of a week with what is true of it (week.py).

Each judgement is True, False or None (nothing to judge). README.md says what the columns mean.
"""

import dataclasses
import json
import re

import drivers
from causes import judge as causes_judge
from weeks import said as said_module
from weeks.read import as_played

JOB = "job.py"
STEPS_TOLERANCE = 0.1
# The constants of a program may be rounded to bfloat16.
NUMBER_TOLERANCE = 2e-3
# explain lists compilations whose costs differ by less than a fifth in the order of their requests (docs/explain.md).
SAME_COST = 0.8
# rekindle diff compares the programs of two runs. It cannot know why an unchanged program was compiled again.
NOT_IN_DIFF = {"evicted", "damaged", "removed", "uncacheable", "failed", "duplicate"}
ENVIRONMENT_KINDS = {
    "environment": {"flag", "variable"}, "toolchain": {"version"}, "device": {"topology"}, "options": {"option"},
}  # fmt: skip

_SHORT_NAMES = {long: short for short, long in causes_judge._LONG_NAMES.items()}


# Values.


def _number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _has_number(wanted, text):
    # Optimizers also use the negative of a rate.
    numbers = causes_judge._numbers(str(text))
    return any(abs(abs(n) - abs(wanted)) <= NUMBER_TOLERANCE * abs(wanted) + 1e-12 for n in numbers)


def same_value(wanted, found):
    """Returns whether a value in a difference is the expected one."""
    if isinstance(wanted, set):
        return any(same_value(one, found) for one in wanted)
    if found is None:
        return wanted in (None, "", "none")
    wanted = _SHORT_NAMES.get(wanted, wanted) if isinstance(wanted, str) else wanted
    if isinstance(wanted, bool) or wanted is None:
        return causes_judge.same_value(wanted, found)
    number = _number(wanted)
    if number is not None and _has_number(number, found):
        return True
    return not isinstance(wanted, (int, float)) and causes_judge.same_value(wanted, found)


def _in_difference(values, difference):
    """Returns whether a difference has both values. The name of a flag or variable may be part of a value."""
    name = (difference.get("attribute") or "").lstrip("-")
    for wanted, found in zip(values, (difference.get("before"), difference.get("after")), strict=True):
        with_name = f"--{name}={found} {name} {found}" if found is not None else None
        if not (same_value(wanted, found) or (isinstance(wanted, str) and same_value(wanted, with_name))):
            return False
    return True


def _in_text(wanted, text):
    """Returns whether the text of a pattern has the value."""
    if wanted is None:
        return True
    if isinstance(wanted, set):
        return any(_in_text(one, text) for one in wanted)
    if isinstance(wanted, (list, tuple)):
        return any(same_value(number, text) for number in wanted)
    # A flag: "name=value".
    parts = wanted.lstrip("-").split("=") if isinstance(wanted, str) else [wanted]
    return all(same_value(part, text) for part in parts)


# Findings.


def _has_program(expected, finding):
    if expected.program in finding.name:
        return True
    if not finding.is_pattern:
        return False
    # A pattern without programs is about the whole run.
    summary = (finding.told or {}).get("summary") or ""
    return not finding.names or any(expected.program in name for name in finding.names) or expected.program in summary


def is_about(expected, finding):
    """Returns whether kind and program are the expected ones."""
    return finding.kind in expected.kinds and _has_program(expected, finding)


def lacks(expected, finding):
    """Returns what is wrong about a finding with the expected kind and program; "" if nothing."""
    wrong = []
    if expected.lines is not None:
        place = finding.place
        if not place:
            wrong.append("no line")
        elif place[0] != JOB or place[1] not in expected.lines:
            wrong.append(f"line {place[0]}:{place[1]}")
    if expected.values:
        if finding.is_pattern:
            summary = (finding.told or {}).get("summary") or ""
            good = all(_in_text(value, summary) for value in expected.values)
        else:
            good = any(_in_difference(expected.values, difference) for difference in finding.differences)
        if not good:
            wrong.append("values")
    return ", ".join(wrong)


def matches(expected, finding):
    return is_about(expected, finding) and not lacks(expected, finding)


@dataclasses.dataclass
class Verdict:
    """What is right about one start."""

    index: int
    what: str
    played: bool = True
    ended: bool = True  # as the week says; otherwise the start is not judged
    compiled: bool | None = None
    compiled_count: int | None = None
    first_text: str = ""
    first: bool | None = None
    silent: bool | None = None
    found: int = 0  # expected findings that are said
    expected: int = 0
    false: list = dataclasses.field(default_factory=list)
    steps: str | None = None  # right, not known, wrong
    steps_count: int | None = None
    agree: int = 0
    compared: int = 0
    header: bool | None = None
    form: bool | None = None
    questions_right: int = 0
    questions_unknown: int = 0
    questions_asked: int = 0
    advice: bool | None = None
    wrong: list = dataclasses.field(default_factory=list)
    week_wrong: list = dataclasses.field(default_factory=list)  # the expectation itself looks wrong

    @property
    def good(self):
        return self.played and not self.wrong


def _judge_first(verdict, expected, findings):
    """The first finding that the text prints is the most costly expected one."""
    right = bool(findings) and matches(expected[0], findings[0])
    if findings and not right:
        # If the costs are close, their order is not the week's to say.
        main = [finding for finding in findings if matches(expected[0], finding)]
        others = [one for one in expected[1:] if matches(one, findings[0])]
        right = bool(main and others) and findings[0].seconds >= SAME_COST * main[0].seconds
    verdict.first = right
    if not right:
        told = str(findings[0]) if findings else "nothing"
        detail = lacks(expected[0], findings[0]) if findings and is_about(expected[0], findings[0]) else ""
        verdict.wrong.append(f"first: should say {expected[0]}; said {told}{f' [wrong: {detail}]' if detail else ''}")


def _judge_findings(verdict, start, findings):
    expected, may = start.findings, set(start.expect.get("may", ()))
    verdict.expected = len(expected)
    if expected:
        _judge_first(verdict, expected, findings)
    claimed, open_ones = set(), []
    for number, one in enumerate(expected):
        mine = {id(finding) for finding in findings if matches(one, finding)}
        claimed |= mine
        verdict.found += bool(mine)
        if not mine:
            open_ones.append((number, one))
    for number, one in open_ones:
        near = [finding for finding in findings if id(finding) not in claimed and is_about(one, finding)]
        if near:
            claimed.add(id(near[0]))
        if number > 0 or (near and near[0] is not findings[0]):
            told = f"said {near[0]} [wrong: {lacks(one, near[0])}]" if near else "not said"
            verdict.wrong.append(f"should say {one}; {told}")
    false = [finding for finding in findings if id(finding) not in claimed and finding.kind not in may]
    verdict.false = [str(finding) for finding in false]
    verdict.wrong += [f"false: {text}" for text in verdict.false]
    if not expected:
        verdict.silent = not false


def _judge_compiled(verdict, start, stats):
    wanted, count = start.expect.get("compiled"), stats.get("compiled")
    if wanted is None or count is None:
        return
    verdict.compiled = {"none": count == 0, "some": count > 0}.get(wanted, count == wanted)
    if not verdict.compiled:
        verdict.wrong.append(f"compiled {count}, expected {wanted}")


def _judge_steps(verdict, start, record):
    truth = start.expect.get("steps")
    count = said_module.steps_in_json(record["stats"])
    text = said_module.steps_in_text(record.get("stats_text", ""))
    if text != count:
        verdict.wrong.append(f"steps: the text of stats says {text}, the JSON {count}")
    if truth is None:
        return
    if count is None:
        verdict.steps = "not known"
    elif abs(count - truth) <= STEPS_TOLERANCE * truth:
        verdict.steps = "right"
    else:
        verdict.steps = "wrong"
        verdict.wrong.append(f"steps: {count}, in truth {truth}")


def _judge_questions(verdict, start, explained):
    for name, wanted in start.questions.items():
        answer = explained["questions"].get(name)
        verdict.questions_asked += 1
        verdict.questions_unknown += answer is None
        verdict.questions_right += answer is wanted
        if answer not in (wanted, None):
            evidence = explained["questions"].get("evidence", {}).get(name)
            verdict.wrong.append(f"{name}: {answer}, in truth {wanted} (evidence: {evidence})")


def _judge_advice(verdict, start, findings):
    if not (asked := start.expect.get("advice")):
        return
    advice = " ".join(finding.advice for finding in findings).lower()
    missing = [sorted(words) for words in asked if not any(word.lower() in advice for word in words)]
    verdict.advice = not missing
    for words in missing:
        verdict.wrong.append(f"advice: none of {words} in {advice!r}")


def _heads(items, name="name"):
    """Returns the most costly item of each program name."""
    heads = {}
    for item in items:
        if item[name] not in heads or item["seconds"] > heads[item[name]]["seconds"]:
            heads[item[name]] = item
    return heads


def _diff_causes(diff):
    """Returns the causes that `rekindle diff` gives: {name: cause} of new programs, and those of the environment."""
    programs = diff["programs"]["only_b"] + diff["programs"].get("other_options", [])
    new = {name: item["cause"] for name, item in _heads(programs).items() if item["compiled"]}
    kinds = {difference["kind"] for difference in diff["environment"]}
    of_all = {cause for cause, its_kinds in ENVIRONMENT_KINDS.items() if kinds & its_kinds}
    return new, of_all


def _judge_diff(verdict, record):
    """`rekindle diff` of the previous and this run gives the same cause for the same program."""
    diff, explained = record.get("diff"), record["explain"]
    if not diff:
        return
    new, of_all = _diff_causes(diff)
    compiled = [c for c in explained["compilations"] if c.get("compiled", True) and c["name"]]
    for name, head in _heads(compiled).items():
        within_run = (head.get("nearest") or {}).get("run") == explained["run"]
        cause, other = head["cause"], new.get(name)
        if within_run or cause in NOT_IN_DIFF or (cause == "first" and other in ("first", None)):
            continue
        if other == "first" and diff.get("a", {}).get("exit_status") and name not in _heads(diff["programs"]["only_a"]):
            continue  # the previous run failed before it requested this program
        verdict.compared += 1
        same = cause in of_all if cause in ENVIRONMENT_KINDS and other is None else cause == other
        verdict.agree += same
        if not same:
            told = other or (f"no cause, environment {sorted(of_all)}" if of_all else "nothing")
            verdict.wrong.append(f"diff: explain says {cause} of {name}, diff says {told}")


def _check_week(verdict, start, record):
    """The job itself confirms what the week says of it."""
    failed, wanted = record["status"] != 0, bool(start.fields.get("fails"))
    verdict.ended = failed == wanted
    if not verdict.ended:
        tail = " | ".join(record["stderr"].strip().splitlines()[-3:])
        verdict.week_wrong.append(f"the job ended with {record['status']}: {tail}")
    if failed or start.expect.get("steps") is None:
        return
    try:
        told = json.loads(record["stdout"].splitlines()[-1])["steps"]
    except (ValueError, LookupError, TypeError):
        verdict.week_wrong.append("the last line of the job is no JSON with steps")
        return
    if told != start.expect["steps"]:
        verdict.week_wrong.append(f"the job counts {told} steps, the week says {start.expect['steps']}")


def judge_start(start, record):
    """Returns the verdict on the record of one start (play.py)."""
    verdict = Verdict(start.index, start.what)
    verdict.wrong += record["problems"]
    if "explain" not in record or "stats" not in record or "explain_text" not in record:
        verdict.played = False
        if record.get("run"):  # rekindle gives no answer
            verdict.expected = len(start.findings)
            verdict.first, verdict.silent = (False, None) if verdict.expected else (None, False)
        return verdict
    explained, stats = record["explain"], record["stats"]
    text = said_module.read(record["explain_text"], explained, stats)
    verdict.first_text = str(text.findings[0]) if text.findings else "nothing"
    verdict.compiled_count, verdict.steps_count = stats.get("compiled"), said_module.steps_in_json(stats)
    _check_week(verdict, start, record)
    if not verdict.ended:
        return verdict
    _judge_compiled(verdict, start, stats)
    _judge_findings(verdict, start, text.findings)
    _judge_steps(verdict, start, record)
    _judge_questions(verdict, start, explained)
    _judge_advice(verdict, start, text.findings)
    _judge_diff(verdict, record)
    verdict.header, verdict.form = not text.wrong_head, not text.wrong
    verdict.wrong += [f"header: {complaint}" for complaint in text.wrong_head]
    verdict.wrong += [f"text and JSON: {complaint}" for complaint in text.wrong]
    return verdict


def judge_strict(record, started):
    """Returns complaints about the start in strict mode. `started`: the record of the same start without it."""
    if record["problems"] or "status" not in record:
        return record["problems"] or ["not played"]
    wrong = []
    if record["status"] != 0:
        refusals = re.findall(r".*REKINDLE_STRICT=fail.*", record["stderr"])
        wrong.append(f"status {record['status']}: {' | '.join(refusals[:2]) or record['stderr'][-300:]}")
    if refused := record.get("stats", {}).get("refused"):
        wrong.append(f"{refused} refused")
    last, usual = (part["stdout"].splitlines()[-1:] for part in (record, started))
    if not wrong and last != usual:
        wrong.append(f"another result: {last}, not {usual}")
    return wrong


@dataclasses.dataclass
class WeekVerdict:
    name: str
    starts: list
    strict: list | None = None  # complaints; None: no such start

    @property
    def good(self):
        return not self.strict and all(verdict.good and not verdict.week_wrong for verdict in self.starts)


def judge_week(week, record):
    starts = [as_played(week.starts[played["index"]], played["source"]) for played in record["starts"]]
    verdicts = [judge_start(start, played) for start, played in zip(starts, record["starts"], strict=True)]
    strict = record.get("strict")
    if strict:
        started = next(played for played in record["starts"] if played["index"] == strict["index"])
        strict = judge_strict(strict, started)
    return WeekVerdict(week.name, verdicts, strict)


# The table.

COLUMNS = (
    "week", "starts", "first finding", "findings", "false", "silent", "steps right", "not known", "wrong", "diff",
    "header", "form", "questions", "not known", "advice", "compiled", "strict",
)  # fmt: skip


def _share(values):
    asked = [value for value in values if value is not None]
    return sum(asked), len(asked)


def counts(week):
    """Returns the columns as numbers or pairs (right, asked)."""
    starts = week.starts
    steps = [verdict.steps for verdict in starts]
    return (
        (sum(v.played and v.ended for v in starts), len(starts)),
        _share(v.first for v in starts),
        (sum(v.found for v in starts), sum(v.expected for v in starts)),
        sum(len(v.false) for v in starts),
        _share(v.silent for v in starts),
        (steps.count("right"), len(steps) - steps.count(None)),
        steps.count("not known"),
        steps.count("wrong"),
        (sum(v.agree for v in starts), sum(v.compared for v in starts)),
        _share(v.header for v in starts),
        _share(v.form for v in starts),
        (sum(v.questions_right for v in starts), sum(v.questions_asked for v in starts)),
        sum(v.questions_unknown for v in starts),
        _share(v.advice for v in starts),
        _share(v.compiled for v in starts),
        (int(not week.strict), 1) if week.strict is not None else (0, 0),
    )


def _add(one, other):
    return tuple(a + b for a, b in zip(one, other, strict=True)) if isinstance(one, tuple) else one + other


def cell(count):
    return f"{count[0]}/{count[1]}" if isinstance(count, tuple) else str(count)


def table(weeks):
    """Formats the verdicts of all weeks, with the sums in the last row."""
    numbers = [counts(week) for week in weeks]
    total = numbers[0]
    for row in numbers[1:]:
        total = tuple(map(_add, total, row))
    rows = [COLUMNS, *((week.name, *map(cell, row)) for week, row in zip(weeks, numbers, strict=True))]
    rows.append(("total", *map(cell, total)))
    return drivers.aligned(rows)
