"""An executable's optimized program: frameworks request it twice, but the plugin makes it once, or once for the store
and never again. Each executable has its own."""

import unittest

from faultlib import FaultCase, each_way

CALL = "PJRT_Executable_OptimizedProgram"
JOB = {"REKINDLE_JOB": "job"}
SETTLE = "sleep=600"  # time to prefetch a few quick ones


class Optimized(FaultCase):
    def asked(self, outcome):
        """Returns how often the plugin was called, for size or content."""
        return sum(detail.startswith("begin") for detail in outcome.traced(CALL))

    def asked_for_the_job(self, outcome):
        """Returns how often the plugin was called on threads of the job, not for the store or for prefetching."""
        clients = {line["tid"] for line in outcome.trace if line["call"] == "PJRT_Client_Create"}
        asked = (line for line in outcome.trace if line["call"] == CALL and line["detail"].startswith("begin"))
        return sum(line["tid"] in clients for line in asked)

    def programs(self, outcome):
        return [answer["programs"] for answer in outcome.of("optimized")]

    def check_same_as_bare(self, outcome, words, **environment):
        bare = self.run_sound("bare", words, environment=environment)
        self.assertEqual(self.programs(outcome), self.programs(bare))
        self.assertTrue(all(self.programs(bare)))
        return bare

    @each_way
    def test_made_once_for_two(self, way):
        words = ["client", "compile=name=a add=1", "optimized=0:2"]
        outcome = self.run_sound(way, words)
        bare = self.check_same_as_bare(outcome, words)
        self.assertEqual((self.asked(bare), self.asked(outcome), self.asked_for_the_job(outcome)), (4, 4, 2))

    @each_way
    def test_what_comes_later_is_the_plugins_to_answer(self, way):
        words = ["client", "compile=name=a add=1", "optimized=0:5"]
        outcome = self.run_sound(way, words)
        self.check_same_as_bare(outcome, words)
        self.assertEqual(self.asked_for_the_job(outcome), 2 + 2 * 3)

    @each_way
    def test_read_with_the_load(self, way):
        words = ["client", SETTLE, "compile=name=a add=1", "optimized=0:2", "compile=name=b", "optimized=1:2"]
        environment = JOB | {"REKINDLE_KEEP_PROGRAMS": "0"}  # keeps the optimized program out of the store
        self.run_sound(way, words, environment=environment)
        outcome = self.run_sound(way, words, environment=environment)
        self.assertEqual([event.get("source") for event in self.place.events("compile")][-2:], ["preload"] * 2)
        self.check_same_as_bare(outcome, words)
        self.assertEqual((self.asked(outcome), self.asked_for_the_job(outcome)), (4, 0))

    @each_way
    def test_from_the_store(self, way):
        """For a prefetched or a requested hit the plugin is called only after the second request."""
        words = ["client", SETTLE, "compile=name=a add=1", "optimized=0:2", "compile=name=b", "optimized=1:2"]
        self.run_sound(way, words, environment=JOB)
        for preload in ("0", "1"):
            environment = JOB | {"REKINDLE_PRELOAD": preload}
            outcome = self.run_sound(way, words, environment=environment)
            events = self.place.events("compile")[-2:]
            self.assertEqual([event["outcome"] for event in events], ["hit"] * 2)
            self.assertEqual([event.get("source") == "preload" for event in events], [preload == "1"] * 2)
            self.check_same_as_bare(outcome, words)
            self.assertEqual(self.asked(outcome), 0)
            outcome = self.run_sound(way, [*words, "optimized=0:2"], environment=environment)
            self.check_same_as_bare(outcome, [*words, "optimized=0:2"])
            self.assertEqual(self.asked(outcome), 2)

    @each_way
    def test_not_in_the_store(self, way):
        """If the store has no programs, or if settings remove options from the key, the plugin makes the program."""
        words = ["client", "compile=name=a add=1", "optimized=0:2"]
        for name, value in (("REKINDLE_KEEP_PROGRAMS", "0"), ("REKINDLE_KEY_IGNORE", "xla_dump_to")):
            environment = {name: value, "REKINDLE_PRELOAD": "0", "REKINDLE_NAMESPACE": name}
            self.assertEqual(self.asked(self.run_sound(way, words, environment=environment)), 2)
            self.place.forget_runs()
            outcome = self.run_sound(way, words, environment=environment)
            self.assertEqual([event["outcome"] for event in self.place.events("compile")], ["hit"])
            self.check_same_as_bare(outcome, words)
            self.assertEqual(self.asked(outcome), 2)

    @each_way
    def test_each_has_its_own(self, way):
        """New executables, and new handles for old ones, at the addresses of destroyed ones keep their own program."""
        words = ["client"]
        for number in range(12):
            words += [f"compile=name=p{number} add={number}", f"optimized={number}"]
        for number in range(0, 12, 2):
            words += [f"destroy-exec={number}"]
        for number in range(12, 24):
            words += [f"compile=name=p{number} add={number}", f"optimized={number}:3", f"optimized={number}"]
        for number in range(1, 12, 2):
            words += [f"optimized={number}:2"]
        for reuse in ("", "1"):
            environment = {"FAKE_PJRT_REUSE": reuse}
            outcome = self.run_sound(way, words, environment=environment)
            self.check_same_as_bare(outcome, words, **environment)
            self.check_nothing_left(outcome)
            self.place.forget_runs()
        self.assertIn("name=p11 ", self.programs(outcome)[11][0][1])

    @each_way
    def test_many(self, way):
        """Of many programs, each is made once."""
        words = ["client", "repeat=40{", "compile=name=p{r} add={r}", "optimized=:2", "}"]
        outcome = self.run_sound(way, words)
        self.check_same_as_bare(outcome, words)
        self.assertEqual((self.asked(outcome), self.asked_for_the_job(outcome)), (4 * 40, 2 * 40))

    @each_way
    def test_nobody_asks_for_what_was_loaded_ahead(self, way):
        words = ["client", SETTLE, "compile=name=a add=1", "compile=name=b add=2"]
        self.run_sound(way, words, environment=JOB)
        words = ["client", SETTLE, "compile=name=c add=3", "optimized", "destroy-client"]
        self.check_nothing_left(self.run_sound(way, words, environment=JOB))

    @each_way
    def test_a_plugin_that_fails(self, way):
        """If the plugin fails once, the next call works; if it always fails, the framework gets the plugin's error."""
        words = ["client", "compile=name=a", "optimized=0:2"]
        once = {"FAKE_PJRT_FAIL": "optimized:1", "REKINDLE_KEEP_PROGRAMS": "0"}  # without the call for the store
        outcome = self.run_sound(way, words, environment=once)
        self.assertEqual(self.programs(outcome), self.programs(self.run_sound("bare", words)))
        environment = {"FAKE_PJRT_FAIL": "optimized", "REKINDLE_NAMESPACE": "failing"}  # a namespace without entries
        for preload in ("0", "1"):
            environment["REKINDLE_PRELOAD"] = preload
            outcome = self.place.run(way, words, environment=environment)
            bare = self.place.run("bare", words, environment=environment)
            self.assertEqual(outcome.plain(), bare.plain())
            self.assertIn("told to fail optimized", str(bare.plain()))

    @each_way
    def test_fork(self, way):
        words = ["client", "compile=name=a add=1", "optimized", "fork{", "optimized=0:3", "exit=_exit", "}", "optimized=0:2"]
        outcome = self.run_sound(way, words, fork=True)
        self.check_same_as_bare(outcome, words)

    @each_way
    def test_threads(self, way):
        words = ["client", "thread=8{", "repeat=6{", "compile=name=p{t}-{r} add={r}", "optimized=:3", "}", "}"]
        self.run_sound(way, words, environment=JOB)
        outcome = self.run_sound(way, words, environment=JOB)
        for thread in range(8):
            answers = [answer for answer in outcome.of("optimized") if answer["thread"] == thread]
            self.assertEqual(len(answers), 6)
            for number, answer in enumerate(answers):
                self.assertEqual(len(answer["programs"]), 3)
                for _, text in answer["programs"]:
                    self.assertIn(f"name=p{thread}-{number} add={number}", text)


if __name__ == "__main__":
    unittest.main()
