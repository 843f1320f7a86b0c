"""The fake plugin itself: it detects every misuse and shows every fault."""

import signal
import time
import unittest

from faultlib import FaultCase, finish, read_json_lines


class Fake(FaultCase):
    def test_misuse_is_noticed(self):
        for misuse, message in (
            ("executable", "loaded 1 was used after its destruction"),
            ("client", "client 1 was used after its destruction"),
            ("orphan", "loaded 1 was used after its client was destroyed"),
            ("teardown", "a call is inside the plugin while the process tears it down"),
        ):
            outcome = self.place.run("bare", ["client", "compile=name=a", f"misuse={misuse}"])
            self.assertEqual(outcome.status, -signal.SIGABRT, misuse)
            self.assertEqual(outcome.traced("MISUSE"), [message])

    def test_teardown_may_only_be_noted(self):
        outcome = self.place.run("bare", ["client", "misuse=teardown"], environment={"FAKE_PJRT_TEARDOWN": "note"})
        self.assertEqual(len(outcome.traced("TEARDOWN_VIOLATED")), 1)

    def test_small_structs_are_refused_by_both_sizes(self):
        outcome = self.run_sound("bare", ["client", "compile=name=a", "execute"], status=1,
                                 environment={"FAKE_PJRT_API_MINOR": "97"})
        self.assertIn("Unexpected PJRT_ExecuteOptions size: expected 120, got 112", outcome.of("execute")[0]["message"])
        self.assertEqual(outcome.of("execute")[0]["code"], 3)

    def test_what_it_can_be_told_to_fail(self):
        for fail, words, code in (
            ("initialize", ["init"], 13),
            ("attributes", ["attributes"], 12),
            ("client_create", ["client"], 13),
            ("platform_version", ["client"], 13),
            ("compile", ["client", "compile=name=a"], 13),
            ("execute", ["client", "compile=name=a", "execute"], 13),
            ("serialize", ["client", "compile=name=a", "serialize"], 13),
            ("serialize_unimplemented", ["client", "compile=name=a", "serialize"], 12),
            ("deserialize", ["client", "compile=name=a", "serialize", "load"], 13),
            ("deserialize_unimplemented", ["client", "compile=name=a", "serialize", "load"], 12),
            ("topology", ["client", "compile-topology=name=a"], 13),
            ("get_executable", ["client", "compile=name=a", "inspect"], 13),
        ):
            outcome = self.run_sound("bare", words, status=1, environment={"FAKE_PJRT_FAIL": fail})
            self.assertEqual(outcome.answers[-1].get("code"), code, fail)

    def test_loading_one_program_may_end_the_process(self):
        words = ["client", "compile=name=good", "serialize", "load", "compile=name=bad", "serialize", "load"]
        for how, status in (("segv", -signal.SIGSEGV), ("abort", -signal.SIGABRT), ("_exit", 3)):
            outcome = self.place.run("bare", words, environment={"FAKE_PJRT_LOAD_ENDS": f"bad:{how}"}, crash=True)
            self.assertEqual(outcome.status, status, outcome.story())
            self.assertEqual(outcome.traced("ends"), [how])
            self.assertEqual([line.split()[0] for line in outcome.real_loads()], ["name=good"])

    def test_a_load_may_hang(self):
        words = ["client", "compile=name=bad", "serialize", "load"]
        process, trace = self.place.start("bare", words, environment={"FAKE_PJRT_LOAD_ENDS": "bad:hang"})
        while not any(line["call"] == "ends" for line in read_json_lines(trace)):
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        process.kill()
        self.assertEqual(finish(process, trace).status, -signal.SIGKILL)

    def test_what_the_host_leaves_behind_is_counted(self):
        outcome = self.run_sound("bare", ["client", "compile=name=a", "execute", "compile=bad"], status=1)
        census = outcome.traced("teardown")[0]
        for count in ("error=0", "event=0", "client=1", "loaded=1", "buffer=1"):
            self.assertIn(count, census.split())

    def test_executables_are_of_one_version(self):
        words = ["client", "compile=name=a", "serialize", "load", "execute", "tohost"]
        self.run_sound("bare", words)


if __name__ == "__main__":
    unittest.main()
