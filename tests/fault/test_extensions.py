"""Extensions that a framework adds to a compilation are not part of the key. So a compilation with an unknown extension
is neither stored nor answered from the store."""

import unittest

from faultlib import FaultCase, each_way

JOB = {"REKINDLE_JOB": "job"}
HARMLESS = ["", "1", "1,1"]  # type 1 is the profiler: jaxlib and torch_xla send it with every compilation
UNKNOWN = ["0", "99", "1,99", "99,1"]
AHEAD = ["topology=fake:2", "compile-topology=name=a", "destroy-topology"]


class Extensions(FaultCase):
    def start(self, way, words):
        self.place.forget_runs()
        return self.run_sound(way, words, environment=JOB)

    def client(self, way, *words):
        """Starts with a pause in which prefetching finishes."""
        return self.start(way, ["client", "sleep=300", *words, "compile=name=a", "execute", "tohost"])

    def check_bypass(self, kind):
        event, = self.place.events("compile")
        self.assertEqual(event["outcome"], "bypass")
        self.assertEqual(event["reason"], f"compiled with an extension that rekindle does not know (type {kind})")

    @each_way
    def test_a_known_one_changes_nothing(self, way):
        self.client(way)
        for types in HARMLESS:
            outcome = self.client(way, f"extension={types}", f"program-extension={types}")
            self.assertEqual(outcome.real_compiles(), [], types)
            self.assertEqual(self.place.events("compile")[0]["outcome"], "hit", types)

    @each_way
    def test_what_is_stored_does_not_answer_an_unknown_one(self, way):
        """An unknown extension gets no stored or prefetched executable; the next request without it is a hit."""
        self.client(way)
        for word in ("extension", "program-extension"):
            for types in UNKNOWN:
                with self.subTest(word=word, types=types):
                    outcome = self.client(way, f"{word}={types}")
                    self.assertEqual(len(outcome.real_compiles()), 1)
                    self.check_bypass(types.replace("1,", "").replace(",1", ""))
        outcome = self.client(way)
        self.assertEqual(outcome.real_compiles(), [])
        self.assertEqual(len(self.place.entries()), 1)

    @each_way
    def test_what_is_compiled_with_an_unknown_one_is_not_stored(self, way):
        for _ in range(2):
            outcome = self.client(way, "extension=99")
            self.assertEqual(len(outcome.real_compiles()), 1)
            self.assertEqual(outcome.real_loads(), [])
            self.check_bypass(99)
            self.assertEqual(self.place.entries(), [])

    @each_way
    def test_ahead_of_time(self, way):
        for word in ("extension", "program-extension"):
            self.start(way, [f"{word}=99", *AHEAD])
            self.check_bypass(99)
            self.assertEqual(self.place.entries(), [])
        self.start(way, ["extension=1", *AHEAD])
        self.assertEqual(self.place.events("compile")[0]["outcome"], "miss")
        self.assertEqual(len(self.place.entries()), 1)


if __name__ == "__main__":
    unittest.main()
