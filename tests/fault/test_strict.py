"""Strict mode: after warm-up, a program that is not in the store is refused before the plugin is called, or reported. A
refusal blocks nothing else."""

import os
import time
import unittest

from faultlib import SANITIZER, FaultCase, each_way, finish

FAILED_PRECONDITION = 9
SLOW = 3 if SANITIZER else 1


def strict(mode, warmup, **more):
    return {"REKINDLE_STRICT": mode, "REKINDLE_WARMUP": warmup, **more}


class Strict(FaultCase):
    def compiles(self, outcome):
        return [(answer["ok"], answer.get("code")) for answer in outcome.of("compile")]

    def check_refused(self, answer):
        self.assertFalse(answer["ok"], answer)
        self.assertEqual(answer["code"], FAILED_PRECONDITION, answer)
        self.assertIn("REKINDLE_STRICT=fail", answer["message"])
        self.assertIn("after warm-up", answer["message"])
        self.assertIn("remedy: ", answer["message"])

    @each_way
    def test_a_late_compilation_is_refused(self, way):
        words = ["client", "compile=name=a", "execute", "compile=name=b", "compile=name=a", "execute"]
        outcome = self.run_sound(way, words, status=1, environment=strict("fail", "1 compiles"))
        first, second, third = outcome.of("compile")
        self.check_refused(second)
        self.assertTrue(first["ok"] and third["ok"], outcome.story())
        self.assertEqual(len(outcome.real_compiles()), 1)  # the second one never reached the plugin
        self.assertEqual(len(outcome.real_loads()), 1)
        self.check_nothing_left(outcome)
        first, second, third = self.place.events("compile")
        self.assertTrue(second["refused"] and second["late"] and second["failed"] and not second["compiled"])
        self.assertNotIn("late", first)
        self.assertNotIn("late", third)
        (warm,) = self.place.events("warm")
        self.assertEqual((warm["because"], warm["executions"]), ("compiles", 1))

    @each_way
    def test_what_the_store_holds_is_always_loaded(self, way):
        words = ["client", "compile=name=a", "compile=name=b", "execute"]
        self.run_sound(way, words)
        outcome = self.run_sound(way, words, environment=strict("fail", "0 compiles"))
        self.assertEqual((outcome.real_compiles(), len(outcome.real_loads())), ([], 2))
        self.assertEqual(self.place.events("compile")[-1]["outcome"], "hit")

    @each_way
    def test_warnings_are_told_and_the_job_goes_on(self, way):
        words = ["client", "compile=name=a", "compile=name=b", "execute"]
        outcome = self.run_sound(way, words, environment=strict("warn", "1 compiles"))
        self.assertEqual(len(outcome.real_compiles()), 2)
        (line,) = outcome.told()
        self.assertIn("is compiled after warm-up", line)
        self.assertEqual([event.get("late", False) for event in self.place.events("compile")], [False, True])
        # The program is stored as usual.
        self.check_warm(way, words, environment=strict("fail", "0 compiles"))

    @each_way
    def test_slow_ones_are_told_again(self, way):
        words = ["client", "compile=name=a"]
        environment = strict("warn", "0 compiles", FAKE_PJRT_COMPILE_MS="1200")
        outcome = self.run_sound(way, words, environment=environment)
        self.assertRegex(outcome.told()[1], r"^rekindle: a took 1\.\d s to compile, after warm-up$")

    @each_way
    def test_the_program_says_when(self, way):
        words = ["client", "compile=name=a", "compile=name=b", "mark-warm", "compile=name=c"]
        outcome = self.run_sound(way, words, status=1, environment=strict("fail", "mark"))
        self.assertEqual([answer["ok"] for answer in outcome.of("compile")], [True, True, False])
        self.assertEqual([event["because"] for event in self.place.events("warm")], ["mark"])

    @each_way
    def test_so_many_steps(self, way):
        """Warm-up ends after the set number of steps: three steps of two executions each, with transfers in between."""
        words = ["client", "compile=name=a", "compile=name=b", "repeat=3{", "execute=0", "execute=1", "tohost", "}"]
        late = ["compile=name=c"]
        more = self.run_sound(way, words + late, status=0, environment=strict("fail", "4 steps"))
        self.assertEqual(len(more.real_compiles()), 3)
        self.fresh()
        reached = self.run_sound(way, words + late, status=1, environment=strict("fail", "3 steps"))
        self.check_refused(reached.of("compile")[-1])
        self.assertIn("after 3 steps", reached.of("compile")[-1]["message"])

    @each_way
    def test_marked_steps(self, way):
        words = ["client", "compile=name=a", "repeat=5{", "execute", "execute", "step", "}", "compile=name=c"]
        outcome = self.run_sound(way, words, status=1, environment=strict("fail", "5 steps"))
        self.check_refused(outcome.of("compile")[-1])
        steps = self.place.events("steps")
        self.assertEqual(sum(line["steps"] for line in steps if line.get("marked")), 5)

    @each_way
    def test_so_many_seconds(self, way):
        words = ["client", "compile=name=a", "sleep=700", "compile=name=b"]
        outcome = self.run_sound(way, words, status=1, environment=strict("fail", "0.6 seconds"))
        self.assertEqual([answer["ok"] for answer in outcome.of("compile")], [True, False])

    @each_way
    def test_when_nothing_new_came_for_long(self, way):
        """Warm-up ends automatically only after both enough steps and enough time without new programs."""
        steps = ["repeat=25{", "execute=0", "}"]
        words = ["client", "compile=name=a", *steps, "compile=name=b", "sleep=3200", "compile=name=c"]
        words += [*steps, "sleep=3200", "compile=name=d"]
        outcome = self.run_sound(way, words, environment=strict("fail", "auto"))
        self.assertEqual([(event["because"], event["executions"]) for event in self.place.events("warm")], [("auto", 50)])
        # The program d cannot be read, so it is not known whether it is a version of an earlier one.
        self.assertEqual([answer["ok"] for answer in outcome.of("compile")], [True] * 4)
        self.assertEqual([event.get("late", False) for event in self.place.events("compile")], [False] * 4)

    @each_way
    def test_ahead_of_time_is_another_matter(self, way):
        words = ["topology=fake:1", "compile-topology=name=a"]
        outcome = self.run_sound(way, words, environment=strict("fail", "0 compiles"))
        self.assertEqual(len(outcome.real_compiles()), 1)

    @each_way
    def test_programs_that_cannot_be_kept_are_compilations_too(self, way):
        environment = strict("fail", "0 compiles", FAKE_PJRT_FAIL="deserialize_unimplemented")
        outcome = self.run_sound(way, ["client", "compile=name=a"], status=1, environment=environment)
        self.check_refused(outcome.of("compile")[0])

    @each_way
    def test_off_is_off(self, way):
        outcome = self.run_sound(way, ["client", "mark-warm", "compile=name=a"])
        self.assertEqual(len(outcome.real_compiles()), 1)
        self.assertEqual(outcome.told(), [])

    @each_way
    def test_threads_that_want_the_same_are_all_refused(self, way):
        words = ["client", "thread=8{", "compile=name=a", "}"]
        began = time.monotonic()
        outcome = self.run_sound(way, words, status=1, environment=strict("fail", "0 compiles"))
        self.assertLess(time.monotonic() - began, 20 * SLOW)
        self.assertEqual([answer["ok"] for answer in outcome.of("compile")], [False] * 8)
        self.assertEqual(outcome.real_compiles(), [])
        self.assertEqual(self.place.files("leases"), [])

    @each_way
    def test_other_processes_decide_for_themselves(self, way):
        """A warm process refuses; the others compile once in total, and then the entry is loaded."""
        words = ["client", "compile=name=a", "execute"]
        started = [self.place.start(way, words, environment=strict("fail", "0 compiles")) for _ in range(4)]
        started += [self.place.start(way, words, environment={"FAKE_PJRT_COMPILE_MS": "300"}) for _ in range(4)]
        outcomes = [self.check_sound(finish(*process), status=None) for process in started]
        self.assertEqual(sum(len(outcome.real_compiles()) for outcome in outcomes), 1)
        self.assertEqual([outcome.status for outcome in outcomes[4:]], [0] * 4)
        self.assertEqual(self.place.files("leases"), [])
        self.check_warm(way, words, environment=strict("fail", "0 compiles"))

    @each_way
    def test_a_store_that_cannot_be_used_is_no_excuse(self, way):
        os.mkdir(self.place.store, 0o777)
        os.chmod(self.place.store, 0o777)
        outcome = self.run_sound(way, ["client", "compile=name=a"], status=1, environment=strict("fail", "0 compiles"))
        self.check_refused(outcome.of("compile")[0])


if __name__ == "__main__":
    unittest.main(verbosity=1)
