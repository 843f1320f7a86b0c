"""REKINDLE_VERIFY compiles hits again in the background. REKINDLE_MODE=refresh compiles each program once per run."""

import os
import time
import unittest

from faultlib import FaultCase, each_way, finish

VERIFY = {"REKINDLE_VERIFY": "1"}
# The process stays long enough for all verifications to finish.
STAY = "sleep=1000"
WORDS = ["client", "compile=name=a add=3", "execute", "tohost", "inspect"]


class Verify(FaultCase):
    def verified(self):
        return [(event["name"], event["outcome"]) for event in self.place.events("verified")]

    def verify_sound(self, way, words, status=0, **environment):
        """Starts again with verification; afterwards only this start's journal exists."""
        self.place.forget_runs()
        return self.run_sound(way, words, status, environment={**VERIFY, **environment}, fork="fork{" in words)

    def compiled_ms(self, milliseconds, **environment):
        return {"FAKE_PJRT_COMPILE_MS": str(milliseconds), **environment}


class Sound(Verify):
    @each_way
    def test_nothing_differs(self, way):
        """There are as many compilations as hits, and the job requested none of them."""
        self.run_sound(way, WORDS)
        outcome = self.verify_sound(way, [*WORDS, "compile=name=a add=3", STAY])
        self.assertEqual(outcome.real_compiles(), ["name=a"] * 2)
        self.assertEqual(self.verified(), [("a", "same")] * 2)
        self.assertEqual([event["compiled"] for event in self.place.events("compile")], [False, False])
        self.assertEqual(outcome.told(), [])
        self.assertEqual(self.place.quarantined(), [])
        self.check_nothing_left(outcome)

    @each_way
    def test_off_by_default(self, way):
        self.run_sound(way, WORDS)
        self.place.forget_runs()
        outcome = self.check_warm(way, [*WORDS, STAY])
        self.assertEqual(self.verified(), [])
        self.check_nothing_left(outcome)

    @each_way
    def test_what_any_two_compilations_differ_in_is_no_difference(self, way):
        for fail in ("unstable_compile", "load_differs"):
            self.fresh()
            self.run_sound(way, WORDS, environment={"FAKE_PJRT_FAIL": fail})
            outcome = self.verify_sound(way, [*WORDS, STAY], FAKE_PJRT_FAIL=fail)
            self.assertEqual(self.verified(), [("a", "same")])
            self.assertEqual((outcome.told(), self.place.quarantined()), ([], []))
            self.check_nothing_left(outcome)

    @each_way
    def test_a_plugin_that_tries_out_code(self, way):
        environment = {"FAKE_PJRT_PLATFORM": "cuda"}
        self.run_sound(way, WORDS, environment=environment)
        self.verify_sound(way, [*WORDS, STAY], FAKE_PJRT_CODEGEN="other", **environment)
        self.assertEqual(self.verified(), [("a", "same")])

    @each_way
    def test_a_compilation_that_fails_is_no_difference(self, way):
        self.run_sound(way, WORDS)
        outcome = self.verify_sound(way, [*WORDS, STAY], FAKE_PJRT_FAIL="compile")
        self.assertEqual(self.verified(), [("a", "failed")])
        self.assertIn("told to fail", self.place.events("verified")[0]["reason"])
        self.assertEqual((outcome.told(), self.place.quarantined()), ([], []))
        self.check_nothing_left(outcome)

    @each_way
    def test_devices_of_other_processes(self, way):
        """Programs for devices of several processes are not verified: compiling them may need all these processes."""
        environment = {"FAKE_PJRT_ADDRESSABLE_DEVICES": "1"}
        self.run_sound(way, WORDS, environment=environment)
        outcome = self.verify_sound(way, [*WORDS, STAY], **environment)
        self.assertEqual((self.verified(), outcome.real_compiles()), ([], []))

    @each_way
    def test_executables_that_go_at_once(self, way):
        """An executable that is destroyed at once is described first and still verified."""
        words = ["client", "repeat=6{", "compile=name=p{r}", "destroy-exec", "}"]
        self.run_sound(way, words)
        outcome = self.verify_sound(way, [*words, STAY])
        self.assertEqual(sorted(self.verified()), [(f"p{number}", "same") for number in range(6)])
        self.check_nothing_left(outcome)


class Different(Verify):
    def store_other_code(self, way, words=WORDS):
        self.run_sound(way, words, environment={"FAKE_PJRT_CODEGEN": "other"})

    @each_way
    def test_what_was_loaded_ahead_of_it_goes_too(self, way):
        """If two prefetched executables come from one different entry, the second one is discarded and compiled."""
        words = ["client", STAY, "compile=name=a add=3", STAY, "compile=name=a add=3"]
        job = {"REKINDLE_JOB": "job"}
        self.run_sound(way, words, environment={"FAKE_PJRT_CODEGEN": "other", **job})
        outcome = self.verify_sound(way, [*words, STAY], **job)
        first, second = self.place.events("compile")
        self.assertEqual((first["outcome"], first.get("source")), ("hit", "preload"))
        self.assertEqual((second["outcome"], second["compiled"]), ("miss", True))
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        self.check_nothing_left(outcome)

    @each_way
    def test_told_and_set_aside(self, way):
        bare = self.run_sound("bare", WORDS, environment={"FAKE_PJRT_CODEGEN": "other"})
        self.store_other_code(way)
        outcome = self.verify_sound(way, [*WORDS, STAY])
        plain = [answer for answer in outcome.plain() if answer["action"] != "sleep"]
        self.assertEqual(plain, bare.plain(), "the job keeps what it has")
        event = self.place.events("verified")[0]
        self.assertEqual((event["outcome"], event["differs"], event["quarantined"]), ("different", "fingerprint", True))
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        for word in ("a", event["key"], "fingerprint"):
            self.assertIn(word, outcome.told()[0])
        self.assertIn(event["key"], self.place.events("warning")[0]["message"])
        self.assertEqual((len(self.place.quarantined()), self.place.entries()), (1, []))
        self.check_nothing_left(outcome)
        # The next start compiles, and later verifications find no difference.
        again = self.verify_sound(way, WORDS)
        self.assertEqual(again.real_compiles(), ["name=a"])
        self.verify_sound(way, [*WORDS, STAY])
        self.assertEqual(self.verified(), [("a", "same")])

    @each_way
    def test_told_once_an_entry(self, way):
        words = ["client", "compile=name=a", "compile=name=a", "compile=name=a", "compile=name=b"]
        self.store_other_code(way, words)
        # The first difference sets the entry aside, so no verification may end before all hits are loaded.
        loaded = os.path.join(self.place.path, "loaded")
        outcome = self.verify_sound(way, [*words, "touch=" + loaded, STAY], FAKE_PJRT_COMPILE_UNTIL=loaded)
        self.assertEqual(sorted(self.verified()), [("a", "different")] * 3 + [("b", "different")])
        self.assertEqual(len(outcome.told()), 2, outcome.stderr)
        self.assertEqual(len(self.place.quarantined()), 2)

    @each_way
    def test_a_store_for_reading(self, way):
        self.store_other_code(way)
        outcome = self.verify_sound(way, [*WORDS, STAY], REKINDLE_MODE="readonly")
        self.assertIn("could not be set aside", outcome.told()[0])
        self.assertEqual((self.place.quarantined(), len(self.place.entries())), ([], 1))


class Ends(Verify):
    """The process ends while a verification is inside the plugin's slow compiler."""

    SECONDS = 30  # the test must not wait for the slow compilation

    def slow(self, way, words, seconds=1, **environment):
        self.run_sound(way, WORDS)
        began = time.monotonic()
        outcome = self.verify_sound(way, words, FAKE_PJRT_COMPILE_MS=str(1000 * seconds), **environment)
        self.assertLess(time.monotonic() - began, self.SECONDS)
        return outcome

    @each_way
    def test_client_destroyed(self, way):
        outcome = self.slow(way, [*WORDS, "sleep=200", "destroy-buffers", "destroy-exec", "destroy-client"])
        self.assertEqual(len(outcome.traced("client_left")), 1)
        self.check_nothing_left(outcome)

    @each_way
    def test_client_destroyed_with_many_waiting(self, way):
        """Destroying a client cancels verifications that have not begun."""
        words = ["client", "repeat=40{", "compile=name=p{r}", "destroy-exec", "}", "destroy-client"]
        self.run_sound(way, words)
        outcome = self.verify_sound(way, words, FAKE_PJRT_COMPILE_MS="500")
        self.assertLessEqual(len(outcome.real_compiles()), 2)
        self.check_nothing_left(outcome)

    @each_way
    def test_client_destroyed_while_it_cannot_be_waited_for(self, way):
        outcome = self.slow(way, [*WORDS, "sleep=200", "destroy-client"], seconds=60, REKINDLE_DRAIN_SECONDS="0.2",
                            FAKE_PJRT_TEARDOWN="note")
        self.assertEqual(outcome.traced("PJRT_Client_Destroy"), [])
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)

    @each_way
    def test_exit(self, way):
        """The exit waits for a verification that has begun."""
        outcome = self.slow(way, [*WORDS, "sleep=200"])
        self.assertEqual(self.verified(), [("a", "same")])
        self.check_nothing_left(outcome)

    @each_way
    def test_exit_past_the_deadline(self, way):
        outcome = self.slow(way, [*WORDS, "sleep=200"], seconds=60, REKINDLE_DRAIN_SECONDS="0.2",
                            FAKE_PJRT_TEARDOWN="note")
        self.assertEqual(self.verified(), [])
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        self.assertEqual(len(self.place.events("end")), 1)

    @each_way
    def test_fork(self, way):
        words = [*WORDS, "sleep=200", "fork{", "destroy-exec", "compile=name=a add=3", "execute", "exit=exit", "}",
                 "fork{", "exit=_exit", "}", "execute"]
        outcome = self.slow(way, words)
        self.assertEqual([answer["status"] for answer in outcome.of("fork")], [0, 0])
        self.assertEqual(self.verified(), [("a", "same")])

    @each_way
    def test_threads(self, way):
        words = ["client", "thread=8{", "repeat=4{", "compile=name=p{t%8}-{r}", "execute", "destroy-exec", "}", "}"]
        self.run_sound(way, words)
        outcome = self.verify_sound(way, [*words, STAY])
        self.assertEqual({name[1] for name in self.verified()}, {"same"})
        self.assertEqual(len(self.verified()), 32)
        self.check_nothing_left(outcome)


class Refresh(FaultCase):
    REFRESH = {"REKINDLE_MODE": "refresh"}

    def start_many(self, way, words, count, run, **environment):
        environment = {**self.REFRESH, "REKINDLE_RUN": run, **environment}
        started = [self.place.start(way, words, environment=environment) for _ in range(count)]
        return [self.check_sound(finish(*process)) for process in started]

    @each_way
    def test_one_run_compiles_each_program_once(self, way):
        words = ["client", "repeat=3{", "compile=name=p{r}", "execute", "}"]
        self.run_sound(way, words)
        before = {path: os.stat(path).st_ino for path in self.place.entries()}
        for run in ("first", "second"):
            self.place.forget_runs()
            outcomes = self.start_many(way, words, 6, run, FAKE_PJRT_COMPILE_MS="100")
            compiled = [name for outcome in outcomes for name in outcome.real_compiles()]
            self.assertEqual(sorted(compiled), ["name=p0", "name=p1", "name=p2"])
            events = self.place.events("compile")
            self.assertEqual({event["reason"] for event in events if event["compiled"]}, {"refresh"})
            self.assertEqual(sum(event["outcome"] == "hit" for event in events), 15)
            after = {path: os.stat(path).st_ino for path in self.place.entries()}
            self.assertEqual(before.keys(), after.keys())
            self.assertTrue(all(before[path] != after[path] for path in after), "replaced")
            before = after
        self.assertEqual(self.place.files("leases"), [])
        self.check_warm(way, words)

    @each_way
    def test_processes_without_a_run_refresh_each_for_itself(self, way):
        words = ["client", "compile=name=a", "compile=name=a"]
        for _ in range(2):
            outcome = self.run_sound(way, words, environment=self.REFRESH)
            self.assertEqual((len(outcome.real_compiles()), len(outcome.real_loads())), (1, 1))


if __name__ == "__main__":
    unittest.main()
