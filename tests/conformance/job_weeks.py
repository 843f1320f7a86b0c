"""The module `weeks`: real jobs, started many times with one known change each. tests/e2e/weeks has driver and judge."""

import tempfile

import common
from common import harness
from weeks import judge, play, read


class Weeks:
    """Plays each week once and counts what rekindle says of its starts."""

    name = "weeks"
    counted = "starts"

    def head(self):
        versions = common.pinned(("jax", "flax", "equinox", "optax"), "jax-models")
        files = [path for path in read.HERE.rglob("*") if path.suffix == ".py"]
        return {"build": common.build_id(), "versions": versions | {"files": common.files_id(*files)}}

    def run_week(self, week):
        with tempfile.TemporaryDirectory(prefix="rekindle-week-") as folder:
            verdict = judge.judge_week(week, play.play(week, folder))
        wrong = [f"start {one.index}: {text}" for one in verdict.starts for text in one.wrong + one.week_wrong]
        wrong += [f"strict: {text}" for text in verdict.strict or ()]
        return {"good": verdict.good, "counts": [judge.cell(count) for count in judge.counts(verdict)], "wrong": wrong}

    def run(self, record, arguments, save):
        harness.PLUGIN = common.python_env("--print-plugin")
        head = self.head()
        if record.get("head") != head:
            record = {"head": head, "rows": {}}
        weeks = read.read_all()
        for week in weeks[: arguments.sample or None]:
            if lack := play.missing_environment(week):
                print(f"weeks: {week.name}: skipped: there is no Python environment {lack}", flush=True)
            elif week.name not in record["rows"]:
                record["rows"][week.name] = self.run_week(week)
                save(record)
                print(f"weeks: {week.name} done", flush=True)
        return record

    def is_good(self, record):
        return all(row["good"] for row in record["rows"].values())

    def sum_up(self, record):
        lines = [f"  {name}: {text}" for name, row in record["rows"].items() for text in row["wrong"]]
        return "\n".join([f"weeks: {len(record['rows'])} weeks, {len(lines)} judgements wrong", *lines])

    def table(self, record):
        lines = [f"| {' | '.join(judge.COLUMNS)} |", f"| --- |{' ---: |' * (len(judge.COLUMNS) - 1)}"]
        return lines + [f"| {' | '.join([f'`{name}`', *row['counts']])} |" for name, row in record["rows"].items()]
