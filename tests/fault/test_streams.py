"""Streams and limits that do not disturb the job itself: an unread stderr, closed standard streams, a file size limit.
Only rekindle writes there, so its writes must not end the job."""

import os
import subprocess
import unittest

from faultlib import FaultCase, each_way

REKINDLE = os.environ["FAULT_REKINDLE"]
WORDS = ["init", "client", "compile=name=first", "compile=name=second", "execute", "tohost"]
BARE_LINES = len(WORDS) + 1  # `lib` answers, too


class Streams(FaultCase):
    def run_unread(self, argv, env):
        """Runs a command with an unread stderr. Returns its exit status and the number of lines on stdout."""
        unread, stderr = os.pipe()
        os.close(unread)
        try:
            done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
                                  timeout=60, check=False)
        finally:
            os.close(stderr)
        return done.returncode, len(done.stdout.splitlines())

    @each_way
    def test_a_warning_that_nobody_reads(self, way):
        os.mkdir(self.place.store, 0o700)
        with open(os.path.join(self.place.store, "train.py"), "w", encoding="utf-8"):
            pass  # looks like a project: each process warns that it is no store
        self.assertEqual(len(self.run_sound(way, WORDS).told()), 1)
        for wrapper in ((), (REKINDLE, "run", "--")):
            argv, env, _ = self.place.command(way, WORDS, wrapper=wrapper)
            self.assertEqual(self.run_unread(argv, env), (0, BARE_LINES))

    @each_way
    def test_files_that_may_not_grow(self, way):
        """With a file size limit of 512 bytes the marker fits but a journal does not; the job is not affected."""
        limit = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh"]
        no_trace = {"FAKE_PJRT_TRACE": ""}
        bare = self.place.run("bare", WORDS, wrapper=limit, environment=no_trace)
        self.assertEqual((bare.status, len(bare.answers)), (0, BARE_LINES), bare.story())
        for wrapper in (limit, [*limit, REKINDLE, "run", "--"]):
            outcome = self.place.run(way, WORDS, wrapper=wrapper, environment=no_trace)
            self.assertEqual((outcome.status, outcome.plain()), (0, bare.plain()), outcome.story())
            self.assertIn("File too large", outcome.stderr)
        self.run_sound(way, WORDS)
        self.check_warm(way, WORDS)


if __name__ == "__main__":
    unittest.main()
