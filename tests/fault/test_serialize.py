"""Serializing an executable from the store gives the bytes in the store, although the plugin's own bytes of a loaded
executable are bad. If the entry is gone, serializing fails with an error."""

import os
import shutil
import unittest

from faultlib import FAKE, FaultCase, each_way, finish

JOB = {"REKINDLE_JOB": "job", "FAKE_PJRT_FAIL": "reserialize"}
CALL = "PJRT_Executable_Serialize"
SETTLE = "sleep=600"  # time to prefetch a few quick ones
PROGRAM = "compile=name=a add=1 outputs=2"
KEEP = ["serialize=0", "load", "execute", "tohost"]  # a framework with its own cache does this


class Serialize(FaultCase):
    def serialized(self, outcome):
        return [(answer["ok"], answer.get("bytes")) for answer in outcome.of("serialize")]

    def fill(self, way, words=("client", PROGRAM), environment=JOB):
        return self.run_sound(way, [*words], environment=environment)

    def asked(self, outcome):
        return sum(detail.startswith("begin") for detail in outcome.traced(CALL))

    def test_the_fake_shows_the_fault(self):
        """Without rekindle, serializing a loaded executable gives bytes that cannot be loaded."""
        words = ["client", PROGRAM, "serialize", "load", "serialize", "load"]
        outcome = self.run_sound("bare", words, status=1, environment=JOB)
        self.assertEqual([answer["ok"] for answer in outcome.of("load")], [True, False])

    @each_way
    def test_same_as_bare(self, way):
        """A cold, a warm, a prefetched, a readonly and a refresh start give the same answers as without rekindle."""
        words = ["client", SETTLE, PROGRAM, *KEEP]
        bare = self.run_sound("bare", words, environment=JOB)
        for changes in ({}, {"REKINDLE_PRELOAD": "0"}, {}, {"REKINDLE_MODE": "readonly"}, {"REKINDLE_MODE": "refresh"}, {}):
            outcome = self.run_sound(way, words, environment=JOB | changes)
            self.assertEqual(outcome.plain(), bare.plain())
            self.check_nothing_left(outcome)
            hit = self.place.events("compile")[-1]["outcome"] == "hit"
            self.assertEqual(self.asked(outcome) == 0, hit)
        self.assertEqual(self.place.events("compile")[-1].get("source"), "preload")

    @each_way
    def test_a_plugin_that_serializes_what_it_loaded_is_not_asked_either(self, way):
        environment = {"REKINDLE_JOB": "job"}
        words = ["client", PROGRAM, *KEEP]
        bare = self.run_sound("bare", words)
        for _ in range(2):
            outcome = self.run_sound(way, words, environment=environment)
            self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(self.asked(outcome), 0)

    @each_way
    def test_what_the_framework_loaded_itself_is_the_plugins(self, way):
        words = ["client", PROGRAM, "serialize", "load", "serialize", "load"]
        for _ in range(2):
            outcome = self.run_sound(way, words, status=1, environment=JOB)
            self.assertEqual([answer["ok"] for answer in outcome.of("load")], [True, False])

    @each_way
    def test_an_entry_that_is_gone(self, way):
        """If the entry is removed, damaged or replaced after its load, or the store is gone, serializing fails."""
        self.fill(way, ["client", PROGRAM, "compile=name=b add=2"])
        stored = self.place.entries()
        saved = self.place.path + "/saved"
        shutil.copytree(self.place.store, saved)

        def damage(path):
            with open(path, "r+b") as file:
                file.seek(os.path.getsize(path) // 2)
                byte = file.read(1)
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes([byte[0] ^ 1]))

        def exchange():
            os.rename(stored[0], stored[0] + "x")
            os.rename(stored[1], stored[0])
            os.rename(stored[0] + "x", stored[1])

        cases = {
            "removed": lambda: [os.unlink(path) for path in stored],
            "damaged": lambda: [damage(path) for path in stored],
            "other": exchange,
            "store": lambda: os.rename(self.place.store, self.place.path + "/gone"),
        }
        for name, spoil in cases.items():
            with self.subTest(case=name):
                shutil.rmtree(self.place.store, ignore_errors=True)
                shutil.copytree(saved, self.place.store)
                ready = os.path.join(self.place.path, "ready-" + name)
                process, trace = self.place.start(
                    way, ["client", PROGRAM, "touch=" + ready, "sleep=400", "serialize"],
                    environment=JOB | {"REKINDLE_PRELOAD": "0"})
                while process.poll() is None and not os.path.exists(ready):
                    pass
                spoil()
                outcome = self.check_sound(finish(process, trace), status=1)
                answer = outcome.of("serialize")[0]
                self.assertEqual((answer["ok"], self.asked(outcome)), (False, 0), outcome.story())
                self.assertIn("Start the job again", answer["message"])

    @each_way
    def test_fork(self, way):
        """A forked child can serialize the parent's executables."""
        words = ["client", PROGRAM, "fork{", *KEEP, "}", *KEEP]
        self.fill(way)
        outcome = self.run_sound(way, words, fork=True, environment=JOB)
        bare = self.run_sound("bare", words, fork=True, environment=JOB)
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(len(set(self.serialized(outcome))), 1)

    def test_two_plugins(self):
        copy = os.path.join(self.place.path, "copy.so")
        shutil.copy(FAKE, copy)
        words = ["client", PROGRAM, *KEEP, "destroy-buffers", "lib=" + copy, "client", PROGRAM, "serialize", "load",
                 "execute", "tohost"]
        bare = self.run_sound("bare", words, environment=JOB)
        for _ in range(2):
            outcome = self.run_sound("preload", words, environment=JOB)
            self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual((outcome.real_compiles(), self.asked(outcome)), ([], 0))

    @each_way
    def test_handles_are_used_again(self, way):
        """Executables at the addresses of destroyed ones serialize correctly, loaded after compiled and vice versa."""
        self.fill(way, ["client", "repeat=12{", "compile=name=p{r} add={r}", "}"])
        words = ["client"]
        for number in range(12):
            words += [f"compile=name=p{number} add={number}", "serialize", "load", "execute",
                      f"compile=name=new{number} add={number}", "serialize", "load", "execute",
                      f"destroy-exec={4 * number}", f"destroy-exec={4 * number + 1}",
                      f"destroy-exec={4 * number + 2}", f"destroy-exec={4 * number + 3}"]
        words += ["tohost"]
        environment = JOB | {"FAKE_PJRT_REUSE": "1", "REKINDLE_PRELOAD": "0"}
        outcome = self.run_sound(way, words, environment=environment)
        bare = self.run_sound("bare", words, environment=environment)
        self.assertEqual(outcome.plain(), bare.plain())
        self.check_nothing_left(outcome)

    @each_way
    def test_threads(self, way):
        """All threads serialize the same entries at once while others destroy executables."""
        words = ["client", "thread=8{", "repeat=6{", "compile=name=p{r} add={r}", "serialize", "load", "execute",
                 "destroy-exec", "}", "tohost", "}"]
        bare = self.run_sound("bare", words, environment=JOB)
        for _ in range(3):
            outcome = self.run_sound(way, words, environment=JOB)
            self.assertTrue(all(answer["ok"] for answer in outcome.answers), outcome.story())
            self.assertEqual(sorted(map(str, self.serialized(outcome))), sorted(map(str, self.serialized(bare))))
        self.assertEqual(outcome.real_compiles(), [])
        self.assertEqual(self.asked(outcome), 0)


if __name__ == "__main__":
    unittest.main()
