"""Many threads, many processes, and forks among them."""

import unittest

from faultlib import FaultCase, each_way, finish


class Threads(FaultCase):
    WORDS = ["client", "thread=16{", "compile=name=p{t%8} outputs=2 add={t%8}", "execute=:1", "tohost",
             "destroy-buffers", "inspect", "destroy-exec", "}"]

    def check_answers(self, outcome):
        self.assertEqual(len(outcome.of("compile")), 16)
        for answer in outcome.of("tohost"):
            add = answer["thread"] % 8
            first = [float(i + add) for i in (1, 2, 3, 4)]
            self.assertEqual(answer["values"], [first, [value + 1 for value in first]])
        for answer in outcome.of("inspect"):
            self.assertEqual(answer["name"], f"p{answer['thread'] % 8}")

    @each_way
    def test_sixteen_threads_eight_programs(self, way):
        for environment in ({}, {"FAKE_PJRT_SERIALIZE_MS": "20"}, {"FAKE_PJRT_COMPILE_MS": "20"}):
            self.fresh()
            cold = self.run_sound(way, self.WORDS, environment=environment)
            self.check_answers(cold)
            self.assertEqual(len(set(cold.real_compiles())), 8)
            self.assertEqual(len(self.place.entries()), 8)
            self.check_nothing_left(cold)
            warm = self.check_warm(way, self.WORDS, environment=environment)
            self.check_answers(warm)
            self.check_nothing_left(warm)

    @each_way
    def test_clients_come_and_go_in_threads(self, way):
        words = ["thread=8{", "repeat=4{", "client", "compile=name=p{t%8}", "execute", "destroy-buffers",
                 "destroy-exec", "destroy-client", "}", "}"]
        cold = self.run_sound(way, words)
        self.assertEqual(len(set(cold.real_compiles())), 8)
        self.assertEqual(len(cold.of("execute")), 32)
        self.check_nothing_left(cold)
        self.check_warm(way, words)

    @each_way
    def test_the_journal_counts_every_request(self, way):
        self.run_sound(way, self.WORDS)
        compiles = self.place.events("compile")
        self.assertEqual(sorted(event["seq"] for event in compiles), list(range(1, 17)))
        self.assertEqual(self.place.events("counts")[-1]["executions"], 16)

    @each_way
    def test_every_execution_is_counted(self, way):
        """Every execution is counted, even if threads fill the ring faster than one reader empties it."""
        words = ["client", "compile=name=a", "thread=8{", "compile=name=a", "repeat=1250{", "execute", "destroy-buffers",
                 "}", "}"]
        self.run_sound(way, words)
        self.assertEqual(self.place.events("counts")[-1]["executions"], 10000)
        (program,) = self.place.events("executed")[-1]["programs"]
        self.assertEqual(program["executions"], 10000)
        self.assertEqual(program["rounds"], 10000)
        steps = [line for line in self.place.events("steps") if line["rhythm"] > 0]
        self.assertEqual(sum(line["steps"] for line in steps), 10000)


class Processes(FaultCase):
    @each_way
    def test_two_at_once(self, way):
        words = ["client", "repeat=10{", "compile=name=p{r} add={r}", "execute", "}", "tohost"]
        bare = self.run_sound("bare", words)
        started = [self.place.start(way, words) for _ in range(2)]
        for process, trace in started:
            outcome = self.check_sound(finish(process, trace))
            self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(len(self.place.entries()), 10)
        self.assertEqual(self.place.quarantined(), [])
        self.check_warm(way, words)

    @each_way
    def test_eight_at_once_one_program(self, way):
        words = ["client", "compile=name=a", "execute", "tohost"]
        started = [self.place.start(way, words, environment={"FAKE_PJRT_PAYLOAD_BYTES": "1000000"}) for _ in range(8)]
        for process, trace in started:
            self.check_sound(finish(process, trace))
        self.assertEqual(len(self.place.entries()), 1)
        self.assertEqual(self.place.quarantined(), [])
        warm = self.check_warm(way, words)
        self.assertEqual(warm.of("tohost")[0]["values"], [[0.0] * 4])
        self.assertEqual([event["compiled"] for event in self.place.events("compile")].count(True), 1)


class Forks(FaultCase):
    def check_child(self, outcome):
        for answer in outcome.of("fork"):
            self.assertEqual(answer["status"], 0)
        parents = {event["pid"] for event in self.place.events("start")}
        children = {answer["child"] for answer in outcome.of("fork")}
        self.assertEqual(len(self.place.events("start")), 1)
        self.assertEqual(parents & children, set())

    @each_way
    def test_child_compiles(self, way):
        """The child's compilations bypass rekindle; the parent's are stored."""
        for end in ([], ["exit=_exit"], ["exit=exit"]):
            self.fresh()
            words = ["client", "compile=name=before", "fork{", "compile=name=child", "execute", *end, "}",
                     "compile=name=after", "execute"]
            outcome = self.run_sound(way, words, fork=True)
            self.check_child(outcome)
            self.assertEqual(outcome.real_compiles(), ["name=before", "name=child", "name=after"])
            self.assertEqual([event["name"] for event in self.place.events("compile")], ["before", "after"])
            self.assertEqual(self.place.events("counts")[-1]["executions"], 1)
            self.assertEqual(len(self.place.events("end")), 1)
            self.assertEqual(len(self.place.entries()), 2)

    @each_way
    def test_child_of_a_busy_parent(self, way):
        """The child of a parent that is storing has no storing thread: it neither waits nor stores."""
        words = ["client", "compile=name=a", "compile=name=b", "fork{", "compile=name=c", "}", "fork{",
                 "exit=exit", "}", "fork{", "exit=_exit", "}"]
        outcome = self.run_sound(way, words, fork=True, environment={"FAKE_PJRT_SERIALIZE_MS": "400"})
        self.check_child(outcome)
        self.assertEqual(len(self.place.entries()), 2)

    @each_way
    def test_child_destroys(self, way):
        """A child may destroy inherited objects."""
        words = ["client", "compile=name=a", "fork{", "destroy-exec", "destroy-client", "}", "execute"]
        outcome = self.run_sound(way, words, fork=True, environment={"FAKE_PJRT_SERIALIZE_MS": "0"})
        self.check_child(outcome)

    @each_way
    def test_child_makes_a_client(self, way):
        words = ["client", "compile=name=a", "fork{", "client", "compile=name=child", "execute", "destroy-exec",
                 "destroy-client", "}", "compile=name=b"]
        outcome = self.run_sound(way, words, fork=True)
        self.check_child(outcome)
        self.assertEqual(len(self.place.entries()), 2)

    @each_way
    def test_fork_before_the_first_client(self, way):
        """A child forked before the first client is an ordinary process, like multiprocessing and torchrun workers."""
        words = ["init", "fork{", "client", "compile=name=a", "}", "fork{", "client", "compile=name=a", "}",
                 "client", "compile=name=a"]
        outcome = self.run_sound(way, words, fork=True)
        self.assertEqual(len(outcome.real_compiles()), 1)
        self.assertEqual(len(self.place.events("start")), 3)
        self.assertEqual([answer["status"] for answer in outcome.of("fork")], [0, 0])

    @each_way
    def test_forks_among_threads(self, way):
        """Forks are safe while other threads hold any lock."""
        words = ["client", "thread=4{", "repeat=10{", "compile=name=p{t}-{r}", "fork{", "compile=name=c{t}-{r}",
                 "exit=_exit", "}", "destroy-exec", "}", "}"]
        outcome = self.run_sound(way, words, fork=True)
        self.assertEqual({answer["status"] for answer in outcome.of("fork")}, {0})
        self.assertEqual(len(self.place.entries()), 40)
        names = {event["name"] for event in self.place.events("compile")}
        self.assertEqual({name[0] for name in names}, {"p"})


if __name__ == "__main__":
    unittest.main()
