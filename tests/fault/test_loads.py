"""An entry whose load kills the process: the next start compiles and runs; after a second death the key is set aside. A
kill during the load of a healthy entry sets nothing aside."""

import glob
import os
import signal
import subprocess
import time
import unittest

from faultlib import FAKE, HOST, FaultCase, Outcome, each_way, finish, sanitizer_settings

REKINDLE = os.environ["FAULT_REKINDLE"]
ASKED = {"REKINDLE_JOB": "job", "REKINDLE_PRELOAD": "0"}
AHEAD = {"REKINDLE_JOB": "job"}
WORDS = ["client", "compile=name=bad", "execute", "compile=name=good", "execute", "tohost"]
WARMED = ["client", "sleep=300", *WORDS[1:]]
SLOT_BYTES = 64
LOADING = b"\1\0\0\0"


def deadly(how):
    return {"FAKE_PJRT_LOAD_ENDS": f"bad:{how}"}


class Loads(FaultCase):
    def start(self, way, settings, status=0, words=WORDS):
        """Starts again; afterwards only this start's journal exists."""
        self.place.forget_runs()
        outcome = self.place.run(way, words, environment=settings, crash=status not in (0, None))
        return self.check_sound(outcome, status)

    def notes(self):
        return glob.glob(os.path.join(self.place.store, "loads", "note-*"))

    def words(self):
        return sorted(self.place.verdicts().values())

    def names(self, outcome):
        return [line.split()[0] for line in outcome.real_compiles()]

    def reasons(self):
        return {event["name"]: event.get("reason") for event in self.place.events("compile")}

    def check_compiled_instead(self, outcome, what):
        self.assertEqual(self.names(outcome), ["name=bad"])
        self.assertEqual(self.reasons()["bad"], "load_killed")
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        for text in ("bad is compiled instead of loaded", "rekindle rm ", what):
            self.assertIn(text, outcome.told()[0])

    def rekindle(self, *words):
        env = {**os.environ, "REKINDLE_DIR": self.place.store, **sanitizer_settings()}
        done = subprocess.run([REKINDLE, *words], env=env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def begin(self, settings, words=WORDS):
        """Starts `rekindle run` with the host as its child."""
        _, env, trace = self.place.command("bare", words, environment=settings, crash=True)
        argv = [REKINDLE, "run", "--", HOST, "--lib", FAKE, *words]
        return subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, errors="replace", start_new_session=True), trace

    def run_under_rekindle(self, settings) -> Outcome:
        self.place.forget_runs()
        return finish(*self.begin(settings))

    def wait_for_a_load(self, process):
        """Returns the ID of a process with a load in flight; None if `process` ended or loads nothing for a second."""
        until = time.monotonic() + 1
        while time.monotonic() < until and process.poll() is None:
            for path in self.notes():
                with open(path, "rb") as file:
                    data = file.read()
                if any(data[at:at + 4] == LOADING for at in range(SLOT_BYTES, len(data), SLOT_BYTES)):
                    return int(os.path.basename(path).split("-")[1], 16)
            time.sleep(0.002)
        return None


class Deaths(Loads):
    def check_story(self, way, settings, how, status):
        """After one death the entry is compiled and replaced; after a second it is set aside until it is removed."""
        asked = os.path.join(self.place.path, "asked")
        pause = ["sleep=400"] if settings is AHEAD else []  # time for the prefetch
        words = ["client", *pause, f"touch={asked}", "compile=name=bad", "execute", "tohost"]
        self.start(way, settings, words=words)
        self.assertEqual(self.place.files("loads"), [])
        os.remove(asked)
        self.start(way, {**settings, **deadly(how)}, status, words)
        self.assertEqual(os.path.exists(asked), settings is ASKED)
        self.assertEqual(len(self.notes()), 1)
        outcome = self.start(way, {**settings, **deadly(how)}, words=words)
        self.check_compiled_instead(outcome, "the stored executable is replaced")
        self.assertEqual(self.words(), ["suspect"])
        # Loading the new entry also kills. The entry is on trial, so it is loaded on request only.
        os.remove(asked)
        self.start(way, {**settings, **deadly(how)}, status, words)
        self.assertTrue(os.path.exists(asked))
        for _ in range(2):
            outcome = self.start(way, {**settings, **deadly(how)}, words=words)
            self.check_compiled_instead(outcome, "two processes died while loading")
            self.assertEqual(self.words(), ["aside"])
            self.assertEqual(len(self.place.quarantined()), 1)
        self.rekindle("rm", *self.place.verdicts())
        self.assertEqual(self.words(), [])
        self.assertEqual(self.names(self.start(way, settings, words=words)), ["name=bad"])
        self.assertEqual(self.start(way, settings, words=words).real_compiles(), [])
        self.assertEqual(self.place.files("loads"), [])

    @each_way
    def test_a_crash_when_it_is_asked_for(self, way):
        self.check_story(way, ASKED, "segv", -signal.SIGSEGV)

    @each_way
    def test_a_crash_when_it_is_loaded_ahead(self, way):
        self.check_story(way, AHEAD, "abort", -signal.SIGABRT)

    def test_an_exit_looks_the_same(self):
        self.check_story("preload", ASKED, "_exit", 3)

    @each_way
    def test_one_that_loads_after_all_is_trusted(self, way):
        self.start(way, AHEAD)
        self.start(way, {**ASKED, **deadly("segv")}, -signal.SIGSEGV)
        self.check_compiled_instead(self.start(way, AHEAD), "the stored executable is replaced")
        outcome = self.start(way, AHEAD, words=WARMED)  # loaded on request, not prefetched
        self.assertEqual(outcome.real_compiles(), [])
        self.assertEqual(outcome.told(), [])
        self.assertEqual(sorted(event["source"] for event in self.place.events("compile")), ["local", "preload"])
        self.assertEqual(self.place.files("loads"), [])
        self.start(way, AHEAD, words=WARMED)
        self.assertEqual([event["source"] for event in self.place.events("compile")], ["preload"] * 2)

    @each_way
    def test_what_is_asked_for_twice_is_not_tried_in_the_same_process(self, way):
        words = ["client", "compile=name=bad", "compile=name=bad", "sleep=100", "compile=name=bad"]
        self.start(way, ASKED, words=words)
        self.start(way, {**ASKED, **deadly("segv")}, -signal.SIGSEGV, words)
        outcome = self.start(way, {**ASKED, **deadly("segv")}, words=words)
        self.assertEqual(self.names(outcome), ["name=bad"] * 3)

    @each_way
    def test_explain_says_so(self, way):
        self.start(way, ASKED)
        self.start(way, {**ASKED, **deadly("segv")}, -signal.SIGSEGV)
        self.start(way, ASKED)
        self.assertIn("damaged", self.rekindle("explain", "--json"))


class Known(Loads):
    """`rekindle run` sees how the job ended."""

    def test_a_crash_sets_aside_at_once(self):
        self.assertEqual(self.run_under_rekindle(ASKED).status, 0)
        self.assertEqual(self.run_under_rekindle({**ASKED, **deadly("segv")}).status, 128 + signal.SIGSEGV)
        self.assertEqual(self.words(), ["aside"])
        self.assertEqual(self.notes(), [])
        outcome = self.run_under_rekindle({**ASKED, **deadly("segv"), "REKINDLE_LOG": "warn"})
        self.assertEqual(outcome.status, 0, outcome.stderr)
        self.assertIn("a process died of SIGSEGV while loading", outcome.stderr)
        self.assertEqual(self.names(outcome), ["name=bad"])

    def test_an_exit_blames_nobody(self):
        self.assertEqual(self.run_under_rekindle(ASKED).status, 0)
        self.assertEqual(self.run_under_rekindle({**ASKED, **deadly("_exit")}).status, 3)
        self.assertEqual(self.place.files("loads"), [])

    def test_a_kill_blames_nobody(self):
        self.assertEqual(self.run_under_rekindle(ASKED).status, 0)
        for _ in range(3):
            process, trace = self.begin({**AHEAD, "FAKE_PJRT_LOAD_MS": "5000"}, ["client", "sleep=60000"])
            victim = self.wait_for_a_load(process)
            self.assertIsNotNone(victim)
            os.kill(victim, signal.SIGKILL)
            self.assertEqual(finish(process, trace).status, 128 + signal.SIGKILL)
            self.assertEqual(self.place.files("loads"), [])


class Killed(Loads):
    def test_kills_of_a_healthy_job_set_nothing_aside(self):
        """Kills in the middle of prefetching, whose cause is unknown, set nothing aside."""
        rounds = int(os.environ.get("REKINDLE_TEST_KILLS", "8"))
        words = ["client", "sleep=60", *[f"compile=name=p{n}" for n in range(6)]]
        self.start("preload", AHEAD, words=words)
        killed = 0
        for _ in range(rounds):
            process, trace = self.place.start("preload", ["client", "sleep=60000"],
                                              environment={**AHEAD, "FAKE_PJRT_LOAD_MS": "5000"})
            killed += self.wait_for_a_load(process) == process.pid
            process.kill()
            self.assertEqual(finish(process, trace).status, -signal.SIGKILL)
            self.start("preload", AHEAD, words=words)
            self.assertNotIn("aside", self.words())
            self.assertEqual(self.place.quarantined(), [])
        self.assertEqual(killed, rounds)

    def test_a_job_without_an_end_leaves_a_note_of_nothing(self):
        self.start("preload", ASKED)
        words = [*WORDS, "exit=_exit"]
        self.start("preload", ASKED, None, words)
        self.assertEqual(len(self.notes()), 1)
        self.start("preload", ASKED)
        self.assertEqual(self.place.files("loads"), [])


class Refused(Loads):
    @each_way
    def test_nothing_is_noted_where_nothing_may_be_written(self, way):
        self.start(way, ASKED)
        outcome = self.start(way, {**ASKED, "REKINDLE_MODE": "readonly"})
        self.assertEqual(outcome.real_compiles(), [])
        self.assertFalse(os.path.exists(os.path.join(self.place.store, "loads")))

    @each_way
    def test_a_file_where_the_folder_should_be(self, way):
        self.start(way, ASKED)
        with open(os.path.join(self.place.store, "loads"), "w", encoding="ascii"):
            pass
        outcome = self.start(way, ASKED)
        self.assertEqual((outcome.real_compiles(), outcome.told()), ([], []))


if __name__ == "__main__":
    unittest.main()
