"""The modules `weeks` and `mixtures`: jobs of tests/e2e, and whether rekindle says what is true of them."""

import tempfile
from pathlib import Path

import common
import drivers
import mixtures.judge
import mixtures.play
import weeks.judge
import weeks.play
import weeks.read
from common import harness


def play_week(week, folder):
    verdict = weeks.judge.judge_week(week, weeks.play.play(week, folder))
    wrong = [f"start {one.index}: {text}" for one in verdict.starts for text in one.wrong + one.week_wrong]
    wrong += [f"strict: {text}" for text in verdict.strict or ()]
    return {"good": verdict.good, "cells": [weeks.judge.cell(count) for count in weeks.judge.counts(verdict)], "wrong": wrong}


def play_mixture(mixture, folder):
    """Plays a mixture as it is, and once with each cause repaired."""
    python = drivers.python_env("--print-python", mixture.python)
    verdicts = [
        mixtures.play.play_and_judge(mixture, without, folder / str(without), python) for without in mixture.variants()
    ]
    mixtures.judge.judge_repairs(verdicts)
    wrong = [f"without {one.without}: {text}" for one in verdicts for text in one.complaints]
    found, planted, false, shrinks, repairs = mixtures.judge.counts(verdicts)
    cells = [str(len(verdicts)), f"{found} of {planted}", str(false), f"{shrinks} of {repairs}"]
    return {"good": mixtures.judge.reaches_goals(verdicts), "cells": cells, "wrong": wrong}


class Jobs:
    """Plays each job once. A job that fails is reported, and the others are played.

    `folder`: their files; `read_all()`: the jobs; `play(job, folder)`: a row; `columns`: the names of its cells;
    `packages` of a Python environment are the versions of the module.
    """

    def __init__(self, name, folder, read_all, play, columns, environment, packages):
        self.name, self.folder, self.read_all, self.play, self.columns = name, folder, read_all, play, columns
        self.environment, self.packages = environment, packages

    def versions(self):
        files = common.files_id(*self.folder.rglob("*.py"))
        return common.pinned(self.packages, self.environment) | {"files": files}

    def playable(self, jobs):
        for job in jobs:
            if lack := drivers.missing_environment(job):
                print(f"{self.name}: {job.name}: skipped: there is no Python environment {lack}", flush=True)
            else:
                yield job

    def row(self, job):
        with tempfile.TemporaryDirectory(prefix=f"rekindle-{self.name}-") as folder:
            try:
                return self.play(job, Path(folder))
            except AssertionError as problem:
                cells = ["–"] * (len(self.columns) - 1)
                return {"good": False, "cells": cells, "wrong": [f"could not be played: {problem}"]}

    def run(self, record, arguments, save):
        harness.PLUGIN = common.python_env("--print-plugin")
        jobs = self.playable(self.read_all()[: arguments.sample or None])
        return common.add_rows(self.name, record, self.versions(), jobs, self.row, save)

    def is_good(self, record):
        return all(row["good"] for row in record["rows"].values())

    def sum_up(self, record):
        lines = [f"  {name}: {text}" for name, row in record["rows"].items() for text in row["wrong"]]
        return "\n".join([f"{self.name}: {len(record['rows'])} jobs, {len(lines)} judgements wrong", *lines])

    def table(self, record):
        lines = [f"| {' | '.join(self.columns)} |", f"| --- |{' ---: |' * (len(self.columns) - 1)}"]
        return lines + [f"| {' | '.join([f'`{name}`', *row['cells']])} |" for name, row in record["rows"].items()]


MIXTURE_COLUMNS = ("mixture", "variants", "found at line", "false", "list shrinks by one")


def modules():
    here = Path(mixtures.judge.__file__).parent
    return [
        Jobs(
            "weeks", weeks.read.HERE, weeks.read.read_all, play_week, weeks.judge.COLUMNS,
            "jax-models", ("jax", "flax", "equinox", "optax"),
        ),
        Jobs("mixtures", here, mixtures.judge.read_all, play_mixture, MIXTURE_COLUMNS, "jax", ("jax",)),
    ]  # fmt: skip
