"""Each call on a file of the store fails once, or for good, or is the process's last: the job gets all its results
as it does bare, is told at most once, and no later start sees anything wrong."""

import errno
import os
import signal
import unittest

from faultlib import FaultCase

SHIM = os.environ["FAULT_FAILING_FILES"]
WORDS = ["client", "compile=name=a outputs=2 add=2", "compile=name=b", "execute=0:1", "tohost", "destroy-client"]
MOST_CALLS = 2000


class FailingFiles(FaultCase):
    def shimmed(self, nth, number, lasting=False):
        """Options for a run whose n-th call fails, and the file that says whether it came to that."""
        mark = os.path.join(self.place.path, "mark")
        environment = {
            "LD_PRELOAD": SHIM,
            "FAILING_FILES_DIR": self.place.store,
            "FAILING_FILES_AT": str(nth),
            "FAILING_FILES_ERRNO": str(number),
            "FAILING_FILES_MARK": mark,
        }
        if lasting:
            environment["FAILING_FILES_LASTING"] = "1"
        return {"environment": environment}, mark

    def check_entries_are_whole(self):
        """A further start finds nothing damaged, and says nothing."""
        outcome = self.run_sound("plugin", WORDS)
        self.assertEqual(outcome.told(), [], outcome.stderr)
        self.assertEqual(self.place.quarantined(), [])
        self.check_warm("plugin", WORDS)

    def fail_each(self, number, lasting, warm):
        """Returns how many calls there were."""
        bare = self.run_sound("bare", WORDS)
        for nth in range(1, MOST_CALLS):
            self.fresh()
            if warm:
                self.run_sound("plugin", WORDS)
            options, mark = self.shimmed(nth, number, lasting)
            outcome = self.run_sound("plugin", WORDS, **options)
            with self.subTest(nth=nth, errno=errno.errorcode[number], lasting=lasting, warm=warm):
                self.assertEqual(outcome.plain(), bare.plain())
                self.assertLessEqual(len(outcome.told()), 1, outcome.stderr)
                self.check_nothing_left(outcome)
                if not lasting and not warm:
                    left = [path for path in self.place.files("") if "/.tmp" in path]
                    self.assertEqual(left, [])
                self.check_entries_are_whole()
            if not os.path.exists(mark):
                print(f"{errno.errorcode[number]}{' for good' if lasting else ''}, "
                      f"{'warm' if warm else 'cold'}: at each of {nth - 1} calls, 0 results lost")
                return nth - 1
            self.place.close()
        raise AssertionError("the last call is never reached")

    def test_input_output_error_cold(self):
        self.assertGreater(self.fail_each(errno.EIO, lasting=False, warm=False), 60)

    def test_input_output_error_warm(self):
        self.assertGreater(self.fail_each(errno.EIO, lasting=False, warm=True), 30)

    def test_disk_full(self):
        self.assertGreater(self.fail_each(errno.ENOSPC, lasting=True, warm=False), 60)

    def test_over_quota(self):
        self.assertGreater(self.fail_each(errno.EDQUOT, lasting=False, warm=False), 60)

    def test_killed(self):
        for nth in range(1, MOST_CALLS):
            self.fresh()
            options, mark = self.shimmed(nth, 0)
            outcome = self.place.run("plugin", WORDS, **options)
            killed = os.path.exists(mark)
            self.assertEqual(outcome.status, -signal.SIGKILL if killed else 0, outcome.stderr)
            with self.subTest(nth=nth):
                self.check_entries_are_whole()
            if not killed:
                print(f"killed at each of {nth - 1} calls: 0 bad entries")
                return
            self.place.close()


if __name__ == "__main__":
    unittest.main()
