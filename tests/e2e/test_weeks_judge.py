"""The judge of the weeks: it accepts right outputs and finds every kind of wrong one. Also reads all weeks."""

import copy

import pytest

from weeks import judge, read, said

JOB = """import jax
rate = 0.1
step = jax.jit(lambda x: x * rate)  # LINE: rate
step(1.0)  # LINE: call
print({"steps": 40})
"""
FINDING = {"kind": {"constant"}, "program": "jit_train_step", "line": "rate", "values": (0.1, 0.2)}
SECOND = {"kind": {"shape"}, "program": "jit_eval", "line": "call"}
WEEK = {
    "library": "jax", "python": "jax",
    "starts": [
        {"what": "the first start", "args": "--name 'two words'", "expect": {"compiled": "some", "steps": 40}},
        {
            "what": "another rate",
            "edit": [("rate = 0.1", "\nrate = 0.2")],
            "expect": {
                "compiled": 2, "steps": 40, "findings": [FINDING, SECOND], "may": {"eager_startup"},
                "questions": {"input_shapes_changed": True, "hidden_branch_active": False},
                "advice": [{"argument", "traced"}],
            },
        },
    ],
}  # fmt: skip
LINE, CALL = 4, 5  # in the edited job
RUN, EARLIER = "20261125T1-h-2", "20261125T1-h-1"

QUESTIONS = """  Did the input shapes change?                       yes  x: 8 → 16
  Did flags, options, versions or shardings change?  no
  Did another branch of the graph become active?     no
"""
TEXT = f"""run {RUN} of job-1
2 compilations in 1.5 s: 2 of them have a cause, and cost 1.4 s
{QUESTIONS}
another constant: jit_train_step, 1.0 s, request 7
  constant in multiply: 0.1000001 → 0.2000003
      /w/job.py:{LINE} in <lambda>
  compared with 0123456789ab of run {EARLIER}
  Pass it as an argument.

another shape: jit_eval, 0.40 s, request 9, step 12
  input x: tensor<8xf32> → tensor<16xf32>
      /w/job.py:{CALL} in <module>
"""
STATS_TEXT = "run x\n\nrequests             9\nsteps               40  nothing new after step 1 (2 programs)\n"


def difference(kind, before, after, line):
    return {
        "kind": kind, "function": "main", "op": "parameter", "attribute": "x", "before": before, "after": after,
        "file": "/w/job.py", "line": line,
    }  # fmt: skip


def compilation(cause, name, seq, seconds, *differences, nearest=EARLIER):
    return {
        "seq": seq, "rank": 0, "program": f"p{seq}", "name": name, "seconds": seconds, "compiled": True, "cause": cause,
        "nearest": {"run": nearest}, "differences": list(differences), "advice": "Pass it as an argument.",
    }  # fmt: skip


RIGHT = {
    "index": 1, "run": RUN, "status": 0, "stdout": '{"steps": 40, "loss": 1.0}\n', "stderr": "", "problems": [],
    "explain_text": TEXT,
    "explain": {
        "run": RUN, "patterns": [],
        "questions": {
            "input_shapes_changed": True, "profile_or_sharding_changed": False, "hidden_branch_active": False,
        },
        "compilations": [
            compilation("constant", "jit_train_step", 7, 1.0, difference("constant", "0.1000001", "0.2000003", LINE)),
            compilation("shape", "jit_eval", 9, 0.4, difference("shape", "tensor<8xf32>", "tensor<16xf32>", CALL)),
        ],
    },
    "stats": {"compiled": 2, "steps": {"count": 40}}, "stats_text": STATS_TEXT, "diff_text": "",
    "diff": {
        "environment": [],
        "programs": {
            "only_b": [
                {"name": "jit_train_step", "compiled": True, "seconds": 1.0, "cause": "constant"},
                {"name": "jit_eval", "compiled": True, "seconds": 0.4, "cause": "shape"},
            ],
        },
    },
}  # fmt: skip


@pytest.fixture
def week(tmp_path):
    return make_week(tmp_path, WEEK)


def make_week(folder, fields):
    (folder / "job.py").write_text(JOB)
    (folder / "week.py").write_text(f'"""A job."""\n\nWEEK = {fields!r}\n')
    return read.read(folder)


def judged(week, text=(), index=1, **changes):
    """Judges a changed copy of the right record. `text`: replacements in the text of explain."""
    record = copy.deepcopy(RIGHT)
    for path, value in changes.items():
        *way, last = path.split("__")
        inner = record
        for word in way:
            inner = inner[int(word) if word.isdigit() else word]
        inner[int(last) if last.isdigit() else last] = value
    for old, new in text:
        assert record["explain_text"].count(old) >= 1, old
        record["explain_text"] = record["explain_text"].replace(old, new)
    return judge.judge_start(week.starts[index], record)


def test_what_is_right_passes(week):
    verdict = judged(week)
    assert verdict.good and not verdict.week_wrong, verdict
    assert verdict.first and verdict.header and verdict.form and verdict.compiled and verdict.advice
    assert (verdict.found, verdict.expected, verdict.false, verdict.silent) == (2, 2, [], None)
    assert (verdict.steps, verdict.agree, verdict.compared) == ("right", 2, 2)
    assert (verdict.questions_right, verdict.questions_asked, verdict.questions_unknown) == (2, 2, 0)


def test_lines_are_those_of_the_edited_job(week):
    assert week.starts[0].lines["rate"] == {3} and week.starts[1].lines["rate"] == {LINE}


def test_fields_that_are_absent_have_defaults(week):
    first, second = week.starts
    assert first.args == ["--name", "two words"] and second.args == []
    assert first.findings == [] and second.findings[1].values is None
    # An absent field means three times no. The start that names two questions is not sure of the third.
    assert first.questions == dict.fromkeys(read.QUESTIONS, False)
    assert second.questions == {"input_shapes_changed": True, "hidden_branch_active": False}


CONSTANT = "explain__compilations__0"


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        # Another kind, program, line, file, or other values.
        ([("another constant: jit", "other operations: jit")], {f"{CONSTANT}__cause": "structure"}),
        ([("jit_train_step", "jit_other")], {f"{CONSTANT}__name": "jit_other"}),
        ([(f"job.py:{LINE}", "job.py:3")], {f"{CONSTANT}__differences__0__line": 3}),
        ([(f"/w/job.py:{LINE}", f"/w/lib.py:{LINE}")], {f"{CONSTANT}__differences__0__file": "/w/lib.py"}),
        ([(f"      /w/job.py:{LINE} in <lambda>\n", "")], {f"{CONSTANT}__differences__0__file": None}),
        ([("0.2000003", "0.3")], {f"{CONSTANT}__differences__0__after": "0.3"}),
        ([("0.1000001", "none")], {f"{CONSTANT}__differences__0__before": None}),
    ],
)
def test_a_wrong_first_finding_is_found(week, text, changes):
    verdict = judged(week, text, **changes)
    assert verdict.first is False and verdict.found == 1 and not verdict.good, verdict
    assert verdict.form, verdict


def test_the_first_finding_is_the_one_that_the_text_prints_first(week):
    head, constant, shape = TEXT.split("\n\n")
    swapped = "\n\n".join([head, shape.rstrip(), constant]) + "\n"
    verdict = judged(week, explain_text=swapped)
    assert verdict.first is False and verdict.found == 2 and not verdict.good, verdict
    # The week does not know which of two causes takes longer. Nearly equal costs are in the order of requests.
    for seconds, right in ((1.1, True), (0.85, True), (0.75, False)):
        verdict = judged(week, explain_text=swapped, explain__compilations__1__seconds=seconds)
        assert verdict.first is right, verdict


def pattern(kind, **more):
    told = {"kind": kind, "programs": [], "seconds": 0.1, "summary": "a summary", "file": None, "line": None}
    return told | {"advice": ""} | more


def with_pattern(kind, **more):
    text = [("\n\nanother constant: jit", f"\n\nwords ({kind}), 0.10 s\n  a summary\n\nanother constant: jit")]
    return {"text": text, "explain__patterns": [pattern(kind, **more)]}


def test_a_false_finding_is_found(week):
    verdict = judged(week, **with_pattern("counter"))
    assert verdict.first is False and len(verdict.false) == 1 and verdict.found == 2, verdict
    allowed = judged(week, **with_pattern("eager_startup"))
    assert not allowed.false, allowed
    # But what may be said is not the first thing to say.
    assert allowed.first is False, allowed


def test_the_same_cause_at_another_line_is_false(week):
    other = compilation("constant", "jit_train_step", 8, 0.2, difference("constant", "1", "2", CALL))
    block = f"\nanother constant: jit_train_step, 0.20 s, request 8\n  constant in add: 1 → 2\n      /w/job.py:{CALL} in f\n"
    verdict = judged(
        week, [("2 compilations", "3 compilations"), ("2 of them", "3 of them")], stats__compiled=3,
        explain_text=TEXT + block, explain__compilations=[*RIGHT["explain"]["compilations"], other],
    )  # fmt: skip
    assert verdict.first and verdict.found == 2 and len(verdict.false) == 1, verdict


def test_a_missing_finding_is_found(week):
    head, constant, _ = TEXT.split("\n\n")
    verdict = judged(
        week, [("2 of them have", "1 of them has")], explain_text=f"{head}\n\n{constant}\n",
        explain__compilations__1__cause="first", explain__compilations__1__differences=[],
    )  # fmt: skip
    assert verdict.first and verdict.found == 1 and any("not said" in line for line in verdict.wrong), verdict


def test_a_healthy_start_must_be_silent(week):
    silent = f"run {RUN} of job-1\n"
    silent += "2 compilations in 1.5 s, each of a new program\n"
    silent += QUESTIONS.replace("yes  x: 8 → 16", "no")
    firsts = [compilation("first", name, seq, 0.1, nearest=None) for name, seq in (("jit_a", 1), ("jit_b", 2))]
    changes = {
        "explain_text": silent, "explain__compilations": firsts, "explain__questions__input_shapes_changed": False,
        "diff": None,
    }  # fmt: skip
    assert judged(week, index=0, **changes).silent
    assert judged(week, index=0, **changes).good
    verdict = judged(week, index=0)
    assert verdict.silent is False and len(verdict.false) == 2 and not verdict.good, verdict


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2 compilations in 1.5 s: 2 of them have", "0 compilations in 0 s: 4 of them have"),
        ("2 compilations in 1.5 s", "3 compilations in 1.5 s"),
        ("2 compilations in 1.5 s", "2 compilations in 0 s"),
        ("2 compilations in 1.5 s", "2 compilations in 0.40 s"),
        ("2 of them have a cause", "1 of them has a cause"),
        ("2 of them have a cause", "3 of them have a cause"),
        (": 2 of them have a cause, and cost 1.4 s", ", each of a new program"),
        ("2 compilations in 1.5 s: 2 of them have a cause, and cost 1.4 s", "Nothing was compiled."),
        ("2 compilations in 1.5 s: 2 of them have a cause, and cost 1.4 s", "All is well."),
        ("change?                       yes", "change?                       no"),
        ("  Did the input shapes change?                       yes  x: 8 → 16\n", ""),
    ],
)
def test_a_header_that_contradicts_is_found(week, old, new):
    verdict = judged(week, [(old, new)])
    assert verdict.header is False and not verdict.good, verdict


def test_failures_are_counted_apart(week):
    head = "2 of them have a cause, and cost 1.4 s"
    assert judged(week, [(head, "1 of them has a cause, and cost 1.0 s; 1 of them failed, after 0.40 s")]).header
    assert judged(week, [(head, "1 of them failed, after 0.40 s")]).header is False


def test_what_was_loaded_again_is_no_compilation(week):
    loaded = "; 1 repeated request loaded a program again, in 0.40 s"
    changes = {"explain__compilations__1__compiled": False, "stats__compiled": 1}
    head = "2 compilations in 1.5 s: 2 of them have a cause, and cost 1.4 s"
    right = "1 compilation in 1.1 s: 1 of them has a cause, and cost 1.0 s"
    assert judged(week, [(head, right + loaded)], **changes).header
    wrong = "1 compilation in 1.1 s: 2 of them have a cause, and cost 1.0 s"
    assert judged(week, [(head, wrong)], **changes).header is False


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ([("request 9", "request 10")], {}),
        ([(f"/w/job.py:{CALL} in <module>", "/w/job.py:77 in <module>")], {}),
        ([], {"explain__patterns": [pattern("counter")]}),
        ([], {"explain__compilations__1__cause": "dtype"}),
        ([("another shape: jit_eval", "Something else about jit_eval")], {}),
    ],
)
def test_text_and_json_must_agree(week, text, changes):
    verdict = judged(week, text, **changes)
    assert verdict.form is False and not verdict.good, verdict


def test_members_of_a_pattern_need_no_block(week):
    head, constant, _ = TEXT.split("\n\n")
    text = f"{head}\n\nchanging sizes (shape_family), 0.40 s\n  x took 3 sizes: 8, 16, 32\n  /w/job.py:{CALL}\n\n{constant}\n"
    told = pattern(
        "shape_family", summary="x took 3 sizes: 8, 16, 32", programs=["p9"], file="/w/job.py", line=CALL, seconds=0.4
    )
    verdict = judged(week, explain_text=text, explain__patterns=[told])
    # The cause was given as shape; here the week would have to allow the pattern.
    assert verdict.form and verdict.found == 1 and len(verdict.false) == 1, verdict
    week.starts[1].expect["findings"][1]["kind"] = {"shape", "shape_family"}
    verdict = judged(week, explain_text=text, explain__patterns=[told])
    assert verdict.found == 2 and not verdict.false, verdict
    week.starts[1].expect["findings"][1]["values"] = (8, 32)
    assert judged(week, explain_text=text, explain__patterns=[told]).found == 2
    week.starts[1].expect["findings"][1]["values"] = (8, 64)
    assert judged(week, explain_text=text, explain__patterns=[told]).found == 1


@pytest.mark.parametrize(
    ("count", "shown", "result"),
    [
        (40, "40", "right"), (44, "44", "right"), (45, "45", "wrong"), (80, "80", "wrong"),
        (None, "not known", "not known"),
    ],
)
def test_steps(week, count, shown, result):
    steps = None if count is None else {"count": count}
    text = STATS_TEXT.replace("steps               40", f"steps               {shown}")
    verdict = judged(week, stats__steps=steps, stats_text=text)
    assert verdict.steps == result and verdict.good == (result != "wrong"), verdict


def test_steps_of_text_and_json_must_agree(week):
    verdict = judged(week, stats__steps={"count": 41})
    assert not verdict.good and verdict.steps == "right", verdict
    assert said.steps_in_text("steps   1,240  x\n") == 1240


def test_the_number_of_compilations_counts(week):
    verdict = judged(week, [("2 compilations", "3 compilations")], stats__compiled=3)
    assert verdict.compiled is False and verdict.header and not verdict.good, verdict


def test_questions(week):
    text = [("become active?     no", "become active?     yes")]
    verdict = judged(week, text, explain__questions__hidden_branch_active=True)
    assert verdict.questions_right == 1 and verdict.header and not verdict.good, verdict
    verdict = judged(
        week, [("become active?     no", "become active?     unknown")], explain__questions__hidden_branch_active=None
    )
    assert (verdict.questions_right, verdict.questions_unknown) == (1, 1) and verdict.good, verdict


def test_advice(week):
    verdict = judged(week, explain__compilations__0__advice="Pad it.", explain__compilations__1__advice="Pad it.")
    assert verdict.advice is False and not verdict.good, verdict


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("diff__programs__only_b__0__cause", "structure"),
        ("diff__programs__only_b__0__cause", "first"),
        ("diff__programs__only_b", RIGHT["diff"]["programs"]["only_b"][1:]),
    ],
)
def test_diff_must_agree(week, path, value):
    verdict = judged(week, **{path: value})
    assert (verdict.agree, verdict.compared) == (1, 2) and not verdict.good, verdict


def test_what_diff_cannot_know_is_not_compared(week):
    within = judged(week, explain__compilations__0__nearest={"run": RUN}, diff__programs__only_b__0__cause="first")
    assert (within.agree, within.compared) == (1, 1), within


def test_what_a_failed_start_did_not_reach_is_not_compared(week):
    first = {"diff__programs__only_b__0__cause": "first", "diff__programs__only_a": []}
    assert judged(week, diff__a={"exit_status": 0}, **first).compared == 2
    assert judged(week, diff__a={"exit_status": 1}, **first).compared == 1


def test_diff_explains_a_flag_by_the_environment(week):
    flag = {"kind": "flag", "attribute": "xla_cpu_enable_fast_math", "before": None, "after": "true"}
    changes = {
        f"{CONSTANT}__cause": "environment", f"{CONSTANT}__differences": [flag],
        "diff__programs__only_b": RIGHT["diff"]["programs"]["only_b"][1:],
    }  # fmt: skip
    text = [("another constant: jit", "other flags or variables: jit")]
    assert judged(week, text, diff__environment=[flag], **changes).agree == 2
    assert judged(week, text, diff__environment=[], **changes).agree == 1


def test_what_could_not_be_played_is_wrong(week):
    record = {"index": 1, "what": "", "source": "", "problems": ["could not be played: it hung"]}
    verdict = judge.judge_start(week.starts[1], record)
    assert not verdict.good and not verdict.played and verdict.first is None
    # No answer is a wrong answer.
    verdict = judge.judge_start(week.starts[1], record | {"run": RUN})
    assert verdict.first is False and (verdict.found, verdict.expected) == (0, 2)
    assert not judged(week, problems=["rekindle diff: no"]).good


def test_doubtful_weeks_are_reported(week):
    assert judged(week, stdout='{"steps": 39}\n').week_wrong
    assert judged(week, stdout="done\n").week_wrong
    # If the job does not end as it should, nothing else is judged.
    failed = judged(week, [("another constant: jit", "other operations: jit")], status=1)
    assert failed.week_wrong and not failed.wrong and failed.first is None, failed


def test_strict(week):
    usual = {"stdout": "a\n{}\n"}
    good = usual | {"status": 0, "stderr": "", "problems": [], "stats": {"refused": 0}}
    assert judge.judge_strict(good, usual) == []
    for change in ({"status": 1}, {"stats": {"refused": 1}}, {"stdout": "{1}\n"}, {"problems": ["it hung"]}):
        assert judge.judge_strict(good | change, usual) != [], change
    assert [start.is_healthy for start in week.starts] == [True, False]


def test_the_table_counts(week):
    good, bad = copy.deepcopy(RIGHT), copy.deepcopy(RIGHT)
    bad["explain_text"] = TEXT.replace("0.2000003", "0.3")
    bad["explain"]["compilations"][0]["differences"][0]["after"] = "0.3"
    for one in (good, bad):
        one["source"] = week.starts[1].source
    record = {"starts": [good, bad], "strict": None}
    verdict = judge.judge_week(week, record)
    assert not verdict.good
    names, row, total = [line.split("  ") for line in judge.table([verdict]).splitlines()]
    cells = [cell.strip() for cell in total if cell.strip()]
    assert cells[:5] == ["total", "2/2", "1/2", "3/4", "0"], cells
    assert judge.judge_week(week, {"starts": [good], "strict": None}).good
    # A record is judged by the lines of the job as it was played.
    assert not judge.judge_week(week, {"starts": [good | {"source": "\n" + good["source"]}], "strict": None}).good


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        (0.001, "1.000000e-03", True),
        ("0.001", "1.000000e-03", True),
        (0.001, "-0.00100000005", True),
        (1e-5, "2e-5", False),
        (1e-3, "9.99451e-04", True),
        (16, "tensor<16x32xf32>", True),
        (16, "tensor<12x32xf32>", False),
        ([16, 32], "tensor<16x32xf32>", True),
        ("bf16", "tensor<16x32xbf16>", True),
        ("bf16", "tensor<16x32xf32>", False),
        ("float32", "tensor<16xf32>", True),
        ("float32", "tensor<16xbf16>", False),
        (None, None, True),
        (None, "true", False),
        ("true", "true", True),
    ],
)
def test_values(wanted, found, same):
    assert judge.same_value(wanted, found) is same


def test_a_flag_may_be_given_with_its_name(week):
    flag = {"kind": "flag", "attribute": "xla_cpu_enable_fast_math", "before": None, "after": "true"}
    for values in (("none", "true"), ("", "--xla_cpu_enable_fast_math=true"), (None, "xla_cpu_enable_fast_math")):
        assert judge._in_difference(values, flag), values
        assert all(judge._in_text(value, "flag xla_cpu_enable_fast_math from none to true") for value in values)
    assert not judge._in_text("xla_cpu_enable_fast_math=false", "flag xla_cpu_enable_fast_math from none to true")
    for values in ((None, "false"), ("true", "true"), (None, "xla_other")):
        assert not judge._in_difference(values, flag), values


@pytest.mark.parametrize(
    "change",
    [
        {"edit": [("rate", "x")]},
        {"edit": [("not there", "x")]},
        {"evicted": True},
        {"what": ""},
        {"expect": {"findings": [FINDING | {"line": "nowhere"}]}},
        {"expect": {"findings": [FINDING | {"kind": {"konstant"}}]}},
        {"expect": {"findings": [FINDING | {"cause": "constant"}]}},
        {"expect": {"findings": [FINDING | {"kind": "constant"}]}},
        {"expect": {"compiled": "many"}},
        {"args": ["--lr", "0.1"]},
        {"expect": {"questions": {"input_shape_changed": True}}},
    ],
)
def test_mistakes_in_a_week_are_found(tmp_path, change):
    fields = copy.deepcopy(WEEK)
    fields["starts"][1] |= change
    with pytest.raises(AssertionError):
        make_week(tmp_path, fields)


@pytest.mark.parametrize("name", read.names())
def test_every_week_can_be_read(name):
    week = read.read(read.HERE / name)
    assert week.what and len(week.starts) >= 10
    for start in week.starts:
        compile(start.source, f"{name}, start {start.index}", "exec")
