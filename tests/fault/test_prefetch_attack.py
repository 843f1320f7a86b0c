"""Loading ahead under attack: what is loaded too early, what is destroyed while others want it, threads that are
cancelled, ends at the worst moment, manifests that nobody wrote. Whatever happens, the job is as without it."""

import os
import unittest

from faultlib import FaultCase, each_way

JOB = {"REKINDLE_JOB": "job"}
NAMES = "abcd"
WORDS = ["client", *[word for name in NAMES for word in (f"compile=name={name} add=3", "execute")], "tohost"]
SETTLE = "sleep=300"  # until a few quick ones are loaded
WARM = [WORDS[0], SETTLE, *WORDS[1:]]


class Attack(FaultCase):
    def start(self, way, words, status=0, **environment):
        """A further start: its journal alone is left."""
        self.place.forget_runs()
        return self.run_sound(way, words, status, environment={**JOB, **environment}, fork="fork{" in words)

    def sources(self):
        return [event.get("source") for event in self.place.events("compile")]


class TooEarly(Attack):
    """What a framework registers with the plugin after it made its client (custom calls, say) is not there when we
    load ahead: then the plugin refuses what it takes a moment later."""

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
        """One load asks twice, with options and without."""
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


if __name__ == "__main__":
    unittest.main()
