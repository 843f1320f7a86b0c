"""The module `mixtures`: jobs with several causes of compilation at once. tests/e2e/mixtures has driver and judge."""

import tempfile
from pathlib import Path

import common
from common import harness
from mixtures import judge, play


class Mixtures:
    """Plays each mixture as it is, and once with each cause repaired."""

    name = "mixtures"
    counted = "variants"

    def head(self):
        files = sorted(Path(judge.__file__).parent.glob("*.py"))
        versions = common.pinned(("jax",), "jax")
        return {"build": common.build_id(), "versions": versions | {"files": common.files_id(*files)}}

    def run_mixture(self, mixture, python):
        with tempfile.TemporaryDirectory(prefix="rekindle-mixture-") as folder:
            verdicts = [
                judge.judge(mixture, without, *play.play(mixture, without, Path(folder) / str(without), python))
                for without in mixture.variants()
            ]
        wrong = [
            f"without {verdict.without}: {text}"
            for verdict in verdicts
            for text in [f"missed {name}" for name in verdict.missed] + [f"false {one}" for one in verdict.false] + verdict.wrong
        ]
        found, planted, false, shrinks, repairs = judge.counts(verdicts)
        cells = [str(len(verdicts)), f"{found} of {planted}", str(false), f"{shrinks} of {repairs}"]
        return {"good": judge.reaches_goals(verdicts), "cells": cells, "wrong": wrong}

    def run(self, record, arguments, save):
        harness.PLUGIN = common.python_env("--print-plugin")
        head = self.head()
        if record.get("head") != head:
            record = {"head": head, "rows": {}}
        for mixture in judge.read_all()[: arguments.sample or None]:
            python = play.python_env("--print-python", mixture.python)
            if not python:
                print(f"mixtures: {mixture.name}: skipped: there is no Python environment {mixture.python}", flush=True)
            elif mixture.name not in record["rows"]:
                record["rows"][mixture.name] = self.run_mixture(mixture, python)
                save(record)
                print(f"mixtures: {mixture.name} done", flush=True)
        return record

    def is_good(self, record):
        return all(row["good"] for row in record["rows"].values())

    def sum_up(self, record):
        lines = [f"  {name}: {text}" for name, row in record["rows"].items() for text in row["wrong"]]
        return "\n".join([f"mixtures: {len(record['rows'])} jobs, {len(lines)} judgements wrong", *lines])

    def table(self, record):
        lines = ["| job | variants | found at line | false | list shrinks by one |", f"| --- |{' ---: |' * 4}"]
        return lines + [f"| {' | '.join([f'`{name}`', *row['cells']])} |" for name, row in record["rows"].items()]
