"""Runs tests of a suite that pytest collects, and writes the verdict of each.

usage: pytest_cases.py SUITE… -- --list | pytest_cases.py SUITE… -- CASES OUT
SUITE are files or folders, relative to the working directory. CASES and OUT are as in lax_cases.py; a test's digest is
empty, for its verdict is its own comparison of the results.
"""

import json
import os
import random
import signal
import sys
import warnings

# Before pytest puts folders of the suite into the path; where that is a package's own source, it must not be this one.
sys.path.pop(0)
sys.path.insert(0, os.getcwd())

import jax
import numpy as np
import pytest

TEST_TIMEOUT_S = 300


def seed():
    """Some tests draw shapes from these generators without a seed, so each process would have other programs."""
    random.seed(0)
    np.random.seed(0)


class OutOfTime(BaseException):
    """Not an Exception, so that no test catches it."""


class Judge:
    """A plugin of pytest: chooses among the tests and writes their verdicts."""

    def __init__(self, chosen, out):
        self.chosen, self.out, self.listed, self.broken = chosen, out, [], []
        self.verdict = None

    def pytest_collectreport(self, report):
        if report.failed:
            lines = str(report.longrepr).strip().splitlines()
            self.broken.append(f"{report.nodeid}: {lines[-1] if lines else ''}"[:200])

    def pytest_collection_modifyitems(self, items):
        self.listed = [item.nodeid for item in items]
        if self.chosen is not None:
            items[:] = [item for item in items if item.nodeid in self.chosen]

    def pytest_runtest_logstart(self, nodeid):
        self.verdict = "passed"
        self.write({"begin": nodeid})
        seed()
        signal.alarm(TEST_TIMEOUT_S)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        del item
        report = (yield).get_result()
        if self.verdict != "passed" or report.passed:
            return
        self.verdict = "skipped" if report.skipped else f"failed: {call.excinfo.typename}"
        if call.excinfo.errisinstance(OutOfTime):
            self.verdict = "timed out"

    def pytest_runtest_logfinish(self, nodeid):
        signal.alarm(0)
        self.write({"case": nodeid, "result": [self.verdict, ""]})

    def write(self, row):
        print(json.dumps(row), file=self.out, flush=True)


def out_of_time(*_):
    raise OutOfTime


def main():
    at = sys.argv.index("--")
    suite, words = sys.argv[1:at], sys.argv[at + 1 :]
    chosen, out = None, sys.stderr
    if words != ["--list"]:
        with open(words[0], encoding="utf-8") as file:
            chosen = set(json.load(file))
        out = open(words[1], "w", encoding="utf-8")
        # Files without a chosen test need not be collected.
        suite = sorted({nodeid.split("::")[0] for nodeid in chosen})
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, out_of_time)
    seed()  # and at import
    judge = Judge(chosen, out)
    options = ["-q", "--continue-on-collection-errors", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir=."]
    ending = pytest.main([*options, *(["--collect-only"] if chosen is None else []), *suite], plugins=[judge])
    if chosen is None:
        notes = [f"Not collected: `{text}`" for text in judge.broken]
        print(json.dumps({"versions": {"jax": jax.__version__}, "cases": judge.listed, "notes": notes}))
        return 0
    # What is in the list and not there any more must not look as if this process had died in it.
    for nodeid in sorted(chosen - set(judge.listed)):
        judge.write({"case": nodeid, "result": ["absent", ""]})
    return 0 if ending in (0, 1) else 1


sys.exit(main())
