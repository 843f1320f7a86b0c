"""Each call on a file of the store fails once, or for good, or is the process's last: the job gets all its results
as it does bare, is told at most once, and no later start sees anything wrong."""

import errno
import os
import signal
import unittest
from concurrent.futures import ThreadPoolExecutor

from faultlib import FaultCase, Place

SHIM = os.environ["FAULT_FAILING_FILES"]
WORDS = ["client", "compile=name=a outputs=2 add=2", "compile=name=b", "execute=0:1", "tohost", "destroy-client"]
MOST_CALLS = 1000  # of a job that compiles two programs into a new store: some 600
AT_ONCE = 6
MOST_FAILING_CALLS = 8  # two of them give leases back


class FailingFiles(FaultCase):
    def start(self, place, nth, number, lasting=False):
        """A run whose n-th call fails: its outcome, and how many calls did."""
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
        outcome = place.run("plugin", WORDS, environment=environment)
        return outcome, os.path.getsize(mark) if os.path.exists(mark) else 0

    def check_entries_are_whole(self, place):
        """A further start finds nothing damaged, and says nothing."""
        outcome = self.run_sound("plugin", WORDS, place=place)
        self.assertEqual(outcome.told(), [], outcome.stderr)
        self.assertEqual(place.quarantined(), [])
        self.check_warm("plugin", WORDS, place=place)

    def for_each_call(self, check):
        """Calls check(place, nth), which says whether the n-th call was reached, for all n; returns how many there
        were. Most of the time goes by waiting for the disk, so several are tried at once."""

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
            # A write and the clean-up after it; then nothing that could change something is tried again.
            self.assertLessEqual(failed, MOST_FAILING_CALLS)
            self.check_sound(outcome)
            self.assertEqual(outcome.plain(), bare.plain())
            self.assertLessEqual(len(outcome.told()), 1, outcome.stderr)
            self.check_nothing_left(outcome)
            if not lasting and not warm:
                self.assertEqual([path for path in place.files("") if "/.tmp" in path], [])
            self.check_entries_are_whole(place)
            return failed > 0

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

    def test_read_only(self):
        self.fail_each(errno.EROFS, lasting=True, least=60)

    def test_killed(self):
        def check(place, nth):
            outcome, killed = self.start(place, nth, 0)
            self.assertEqual(outcome.status, -signal.SIGKILL if killed else 0, outcome.stderr)
            self.check_entries_are_whole(place)
            return killed > 0

        calls = self.for_each_call(check)
        self.assertGreater(calls, 60)
        print(f"killed at each of {calls} calls: 0 bad entries")


if __name__ == "__main__":
    unittest.main()
