"""Attacks on prefetching: loads that come too early, executables destroyed while others need them, cancelled threads,
ends at the worst moment, foreign manifests. The job always runs as without prefetching."""

import hashlib
import os
import time
import unittest

from faultlib import FaultCase, each_way

JOB = {"REKINDLE_JOB": "job"}
NAMES = "abcd"
WORDS = ["client", *[word for name in NAMES for word in (f"compile=name={name} add=3", "execute")], "tohost"]
SETTLE = "sleep=600"  # time to prefetch a few quick ones
WARM = [WORDS[0], SETTLE, *WORDS[1:]]


class Attack(FaultCase):
    def start(self, way, words, status=0, **environment):
        """Starts again; afterwards only this start's journal exists."""
        self.place.forget_runs()
        # Forked children and cancelled threads of the host leak their objects.
        leaves = any(word.startswith(("fork", "cancel")) for word in words)
        return self.run_sound(way, words, status, environment={**JOB, **environment}, fork=leaves)

    def sources(self):
        return [event.get("source") for event in self.place.events("compile")]


class TooEarly(Attack):
    """A framework may register things with the plugin (custom calls, for example) after it made its client. A prefetch
    runs before that, so the plugin may refuse an executable that it accepts a moment later."""

    def check_harmless(self, way, words, fail):
        self.start(way, words)
        for _ in range(2):
            outcome = self.start(way, [words[0], SETTLE, *words[1:]], FAKE_PJRT_FAIL=fail)
            self.assertEqual(outcome.real_compiles(), [])
            self.assertEqual(self.place.quarantined(), [])
            self.assertEqual(outcome.told(), [])
            for event in self.place.events("compile"):
                self.assertEqual((event["outcome"], event["source"]), ("hit", "local"))

    @each_way
    def test_what_was_refused_ahead_is_asked_for_again(self, way):
        self.check_harmless(way, WORDS, f"deserialize:{len(NAMES)}")

    @each_way
    def test_what_was_not_implemented_ahead_is_asked_for_again(self, way):
        """One load calls the plugin twice, with options and without."""
        self.check_harmless(way, ["client", "compile=name=a", "execute"], "deserialize_unimplemented:2")

    @each_way
    def test_a_load_ahead_without_an_executable(self, way):
        self.check_harmless(way, ["client", "compile=name=a", "execute"], "null_deserialize:1")

    @each_way
    def test_a_request_that_waited_for_a_refusal_asks_again(self, way):
        words = ["client", "compile=name=a", "execute"]
        self.start(way, words)
        outcome = self.start(way, ["client", "sleep=100", *words[1:]], FAKE_PJRT_FAIL="deserialize:1",
                             FAKE_PJRT_LOAD_MS="300")
        self.assertEqual((outcome.real_compiles(), self.place.quarantined(), outcome.told()), ([], [], []))

    @each_way
    def test_what_stays_refused_is_quarantined_as_ever(self, way):
        self.start(way, WORDS)
        outcome = self.start(way, WARM, FAKE_PJRT_FAIL="deserialize")
        self.assertEqual(len(outcome.real_compiles()), len(NAMES))
        self.assertEqual(len(self.place.quarantined()), len(NAMES))
        self.assertEqual(len(outcome.told()), 1)


class ShortOfMemory(Attack):
    @each_way
    def test_threads_that_are_short_of_memory_at_once(self, way):
        """One thread destroys the prefetched executables; the others wait for it; no thread sees an error."""
        threads = ["thread=4{", "compile=name=a", "execute", "}"]
        self.start(way, ["client", *threads, *[f"compile=name={name}" for name in "bcd"]])
        outcome = self.start(way, ["client", SETTLE, *threads], FAKE_PJRT_MAX_TO_EXECUTE="4",
                             FAKE_PJRT_DESTROY_MS="60")
        self.assertEqual([answer["ok"] for answer in outcome.of("execute")], [True] * 4)
        self.assertEqual((outcome.real_compiles(), outcome.told()), ([], []))

    @each_way
    def test_compilations_that_are_short_of_memory_at_once(self, way):
        self.start(way, WORDS)
        outcome = self.start(way, ["client", SETTLE, "thread=4{", "compile=name=new{t}", "}"],
                             FAKE_PJRT_MAX_EXECUTABLES="4", FAKE_PJRT_DESTROY_MS="60")
        self.assertEqual([answer["ok"] for answer in outcome.of("compile")], [True] * 4)
        self.assertEqual(outcome.told(), [])


class Ends(Attack):
    @each_way
    def test_a_thread_that_is_cancelled_while_it_destroys_its_client(self, way):
        """A thread that waits for a load in flight releases its locks when it is cancelled."""
        words = ["client", *[f"compile=name={name}" for name in NAMES]]
        self.start(way, words)
        began = time.monotonic()
        outcome = self.start(way, ["client", "sleep=50", "cancel=100{", "destroy-client", "}"],
                             FAKE_PJRT_LOAD_MS="500", FAKE_PJRT_TEARDOWN="note")  # may end in the plugin
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(outcome.told(), [])

    @each_way
    def test_a_plugin_that_ends_the_process_while_it_loads_ahead(self, way):
        """exit() called on a prefetch thread does not deadlock by waiting for itself."""
        self.start(way, WORDS)
        began = time.monotonic()
        self.start(way, ["client", "sleep=20000"], status=3, FAKE_PJRT_FAIL="exit_deserialize:1",
                   FAKE_PJRT_TEARDOWN="note")
        self.assertLess(time.monotonic() - began, 15)

    @each_way
    def test_a_load_without_end_is_waited_for_once(self, way):
        """The destruction of the client waits for a hanging load; the exit does not wait again."""
        self.start(way, WORDS)
        began = time.monotonic()
        self.start(way, ["client", "sleep=50", "destroy-client"], FAKE_PJRT_LOAD_MS="60000",
                   REKINDLE_DRAIN_SECONDS="6", FAKE_PJRT_TEARDOWN="note")
        self.assertLess(time.monotonic() - began, 11.5)


class Departing(Attack):
    """A run that requests other programs than the last one stops prefetching and destroys what it does not need. A run
    whose other requests cannot be in a manifest must not do so."""

    def check_last_is_loaded(self, way, words, **environment):
        self.start(way, words, **environment)
        outcome = self.start(way, [words[0], SETTLE, SETTLE, *words[1:]], **environment)
        self.assertEqual(self.sources()[-1], "preload", self.place.events("preload"))
        return outcome

    @each_way
    def test_programs_that_are_too_cheap_to_store(self, way):
        """Programs that are compiled in every run and in no manifest do not stop prefetching."""
        words = ["client", *[f"compile=name=cheap{n}" for n in range(20)], "compile=name=dear sleep_ms=400"]
        outcome = self.check_last_is_loaded(way, words, REKINDLE_MIN_COMPILE_SECONDS="0.3")
        self.assertEqual(len(outcome.real_compiles()), 20)

    @each_way
    def test_a_program_that_is_asked_for_again_and_again(self, way):
        """More requests than the manifest lists for a program do not stop prefetching."""
        words = ["client", "repeat=40{", "compile=name=again", "destroy-exec", "}", "compile=name=last"]
        outcome = self.check_last_is_loaded(way, words)
        self.assertEqual((outcome.real_compiles(), self.sources().count("preload")), ([], 17))

    @each_way
    def test_entries_that_were_evicted(self, way):
        """Entries that are in the manifest but not in the store do not stop prefetching."""
        words = ["client", *[f"compile=name=gone{n}" for n in range(20)], "compile=name=last"]
        self.start(way, words[:-1])
        for path in self.place.entries():
            os.remove(path)
        self.start(way, [words[0], words[-1]])
        self.start(way, [words[0], SETTLE, SETTLE, *words[1:]])
        self.assertEqual(self.sources()[-1], "preload", self.place.events("preload"))


class Manifests(Attack):
    def rewrite(self, change):
        """Rewrites the manifest with `change` and gives it a correct digest."""
        path = os.path.join(self.place.store, "jobs", "job", "manifest")
        with open(path, "rb") as file:
            lines = file.read().splitlines(keepends=True)[:-1]
        body = b"".join(change(lines))
        with open(path, "wb") as file:
            file.write(body + b"digest " + hashlib.blake2b(body, digest_size=32).hexdigest().encode() + b"\n")

    @each_way
    def test_options_that_are_not_those_of_the_key(self, way):
        """Nothing is loaded with options that differ from those of the key, even if the manifest lists such options."""
        self.start(way, WORDS)
        self.rewrite(lambda lines: [b" ".join([*line.split()[:2], b"08011a00"]) + b"\n" if line.startswith(b"options")
                                    else line for line in lines])
        outcome = self.start(way, WARM)
        self.assertEqual(self.sources(), ["local"] * len(NAMES))
        self.assertEqual(outcome.real_compiles(), [])
        self.assertEqual(self.place.events("preload"), [])

    @each_way
    def test_what_is_rewritten_with_a_right_digest_is_read(self, way):
        """A rewritten manifest with a correct digest is used. Otherwise the other tests here would attack nothing."""
        self.start(way, WORDS)
        self.rewrite(lambda lines: lines)
        self.start(way, WARM)
        self.assertEqual(self.sources(), ["preload"] * len(NAMES))


if __name__ == "__main__":
    unittest.main()
