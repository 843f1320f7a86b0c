"""Each file operation on the store fails once, fails from then on, or is the last before a kill. The job gets all its
results, warns at most once, and no later start is affected."""

import errno
import json
import os
import re
import signal
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from faultlib import FAKE, HOST, PLUGIN_WAY, FaultCase, Place

SHIM = os.environ["FAULT_FAILING_FILES"]
WORDS = ["client", "compile=name=a outputs=2 add=2", "compile=name=b", "execute=0:1", "tohost", "destroy-client"]
MOST_CALLS = 1000  # a job that compiles two programs into a new store makes about 600
AT_ONCE = 6
LINE = 7  # of a journal: after the lines for start, client, two devices' memory and one compilation
# After a lasting failure each kind of file is tried at most once more, with its clean-up: a lease, an entry, a program,
# the journal, the usage log, its clock, the manifest. The number of programs of the job does not matter.
MOST_FAILING_CALLS = 14
MANY_PROGRAMS = 40
GIVES_A_LEASE_BACK = re.compile(r"unlinkat [0-9a-f]{64}")  # tried for each held lease


class FailingFiles(FaultCase):
    def start(self, place, nth, number, lasting=False, words=WORDS):
        """Starts a job whose n-th call fails. Returns its outcome and the failed calls."""
        mark = os.path.join(place.path, "mark")
        environment = {
            "LD_PRELOAD": SHIM,
            "FAILING_FILES_DIR": place.store,
            "FAILING_FILES_AT": str(nth),
            "FAILING_FILES_ERRNO": str(number),
            "FAILING_FILES_MARK": mark,
        }
        if lasting:
            environment["FAILING_FILES_LASTING"] = "1"
        outcome = place.run("plugin", words, environment=environment)
        if not os.path.exists(mark):
            return outcome, []
        with open(mark, encoding="utf-8") as file:
            return outcome, file.read().splitlines()

    def check_few_failed(self, calls):
        tried = [call for call in calls if not GIVES_A_LEASE_BACK.fullmatch(call)]
        self.assertLessEqual(len(tried), MOST_FAILING_CALLS, "\n".join(tried))

    def check_entries_are_whole(self, place):
        """Another start finds no damage and prints nothing."""
        outcome = self.run_sound("plugin", WORDS, place=place)
        self.assertEqual(outcome.told(), [], outcome.stderr)
        self.assertEqual(place.quarantined(), [])
        self.check_warm("plugin", WORDS, place=place)

    def for_each_call(self, check):
        """Calls check(place, nth) for all n until it returns False: n-th call not reached. Returns the number of
        calls. Most of the time is disk waits, so several run in parallel."""

        def one(nth):
            place = Place()
            try:
                return check(place, nth)
            except AssertionError as error:
                raise AssertionError(f"call {nth}: {error}") from error
            finally:
                place.close()

        with ThreadPoolExecutor(AT_ONCE) as pool:
            for first in range(1, MOST_CALLS, AT_ONCE):
                reached = list(pool.map(one, range(first, first + AT_ONCE)))
                if not all(reached):
                    return first + reached.index(False) - 1
        raise AssertionError("the last call is never reached")

    def fail_each(self, number, *, lasting=False, warm=False, least):
        bare = self.run_sound("bare", WORDS)

        def check(place, nth):
            if warm:
                self.run_sound("plugin", WORDS, place=place)
            outcome, failed = self.start(place, nth, number, lasting)
            self.check_few_failed(failed)
            self.check_sound(outcome)
            self.assertEqual(outcome.plain(), bare.plain())
            self.assertLessEqual(len(outcome.told()), 1, outcome.stderr)
            self.check_nothing_left(outcome)
            if not lasting and not warm:
                self.assertEqual([path for path in place.files("") if "/.tmp" in path], [])
            self.check_entries_are_whole(place)
            return bool(failed)

        calls = self.for_each_call(check)
        self.assertGreater(calls, least)
        kind = f"{errno.errorcode[number]}{' for good' if lasting else ''}, {'warm' if warm else 'cold'} start"
        print(f"{kind}: at each of {calls} calls, 0 results lost, 0 bad entries")

    def test_input_output_error_cold(self):
        self.fail_each(errno.EIO, least=60)

    def test_input_output_error_warm(self):
        self.fail_each(errno.EIO, warm=True, least=30)

    def test_disk_full(self):
        self.fail_each(errno.ENOSPC, lasting=True, least=60)

    def test_disk_full_with_many_programs(self):
        words = ["client", *(f"compile=name=p{i} outputs=2 add={i}" for i in range(MANY_PROGRAMS)), "execute=0:1"]

        def check(nth):
            place = Place()
            outcome, failed = self.start(place, nth, errno.ENOSPC, lasting=True, words=words)
            self.check_sound(outcome)
            self.check_few_failed(failed)
            place.close()
            return bool(failed)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            reached = list(pool.map(check, range(1, 4000, 37)))
        self.assertGreater(sum(reached), MANY_PROGRAMS)

    def test_read_only(self):
        self.fail_each(errno.EROFS, lasting=True, least=60)

    def test_killed(self):
        def check(place, nth):
            outcome, killed = self.start(place, nth, 0)
            self.assertEqual(outcome.status, -signal.SIGKILL if killed else 0, outcome.stderr)
            self.check_entries_are_whole(place)
            return bool(killed)

        calls = self.for_each_call(check)
        self.assertGreater(calls, 60)
        print(f"killed at each of {calls} calls: 0 bad entries")


class Journal(FaultCase):
    """A journal whose n-th line cannot be written for any reason, while the disk has space."""

    WORDS = ["client", "compile=name=a", "compile=name=b", "compile=name=c", "execute", "sleep=200"]

    def environment(self, nth, number):
        return {"LD_PRELOAD": SHIM, "FAILING_FILES_DIR": self.place.store, "FAILING_FILES_WRITES": ".jsonl",
                "FAILING_FILES_AT": str(nth), "FAILING_FILES_ERRNO": str(number),
                "FAILING_FILES_MARK": os.path.join(self.place.path, "mark")}

    def rekindle(self, *words, status=0, **environment):
        env = {**os.environ, "REKINDLE_DIR": self.place.store, "REKINDLE_PLUGIN": FAKE, **environment}
        done = subprocess.run([os.environ["FAULT_REKINDLE"], *words], env=env, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def check_incomplete(self):
        compiled = len(self.place.events("compile"))
        self.assertIn(compiled, (1, 2))
        stats = json.loads(self.rekindle("stats", "--json").stdout)
        wanted = {"state": "incomplete", "incomplete_journals": 1, "compiled": compiled, "lost": 0, "ends_not_known": 0}
        self.assertEqual({name: stats[name] for name in wanted}, wanted)
        self.assertIn("a write to its journal failed", self.rekindle("stats").stdout)
        self.assertNotIn("lost", self.rekindle("stats").stdout)
        for _ in range(2):  # no cached totals may hide that the journal is incomplete
            run, = json.loads(self.rekindle("runs", "--json").stdout)["runs"]
            self.assertEqual((run["state"], run["incomplete_journals"]), ("incomplete", 1))
        self.assertIn("incomplete", self.rekindle("runs").stdout)
        self.assertIn("A write to the journal of this run failed", self.rekindle("explain").stdout)

    def test_each_reason(self):
        for number in (errno.EDQUOT, errno.EIO, errno.ENOSPC):
            self.fresh()
            self.run_sound("plugin", self.WORDS, environment=self.environment(LINE, number))
            self.check_incomplete()

    def test_the_line_at_the_end_of_a_run(self):
        for nth, text in ((LINE, " 0 loaded, "), (2, "not known: the journal of this run")):
            self.fresh()
            done = self.rekindle("run", "--", HOST, "--lib", PLUGIN_WAY, *self.WORDS,
                                 **self.environment(nth, errno.EIO))
            line = done.stderr.splitlines()[-1]
            self.assertIn(text, line)
            if nth == LINE:
                self.assertIn("there may be more: the journal ends early, since a write to it failed", line)
                self.check_incomplete()

    def test_a_descriptor_that_the_program_closes(self):
        """If the program closes the journal's descriptor, as daemons do, the run is reported as incomplete."""
        words = ["client", "compile=name=a", "close-files=/0.jsonl", "compile=name=b", "sleep=200"]
        self.run_sound("plugin", words)
        self.check_incomplete()

    def test_a_whole_journal_has_no_sign(self):
        self.run_sound("plugin", self.WORDS)
        stats = json.loads(self.rekindle("stats", "--json").stdout)
        self.assertEqual((stats["state"], stats["incomplete_journals"]), ("ended", 0))
        self.assertNotIn("journal", self.rekindle("explain").stdout)


if __name__ == "__main__":
    unittest.main()
