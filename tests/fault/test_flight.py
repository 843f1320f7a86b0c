"""Single flight: of many processes that need one executable, one compiles. Whatever happens to that process, the others
get the executable."""

import os
import signal
import time
import unittest

from faultlib import SANITIZER, FaultCase, each_way, finish, unprivileged

# Sanitized processes start so slowly that a compilation would end before they join.
SLOW = 3 if SANITIZER else 1
WORDS = ["client", "compile=name=a add=3", "execute", "tohost"]


class Flight(FaultCase):
    def start_many(self, way, words, count, **options):
        return [self.place.start(way, words, **options) for _ in range(count)]

    def finish_all(self, started, **expected):
        return [self.check_sound(finish(*process), **expected) for process in started]

    def compiled(self, outcomes):
        return sum(len(outcome.real_compiles()) for outcome in outcomes)

    def leases(self):
        return self.place.files("leases")

    def wait_for_lease(self):
        deadline = time.monotonic() + 60
        while not self.leases():
            self.assertLess(time.monotonic(), deadline, "no lease was taken")
            time.sleep(0.005)

    def check_answers(self, outcomes):
        for outcome in outcomes:
            self.assertEqual(outcome.of("tohost")[0]["values"], [[3.0] * 4])


class Processes(Flight):
    def test_64_cold_processes_one_program(self):
        started = self.start_many("preload", WORDS, 64, environment={"FAKE_PJRT_COMPILE_MS": "1000"})
        outcomes = self.finish_all(started)
        self.check_answers(outcomes)
        self.assertEqual(self.compiled(outcomes), 1)
        self.assertEqual(len(self.place.entries()), 1)
        self.assertEqual(self.leases(), [])
        events = self.place.events("compile")
        self.assertEqual(sorted(event["outcome"] for event in events), ["hit"] * 63 + ["miss"])
        compiler = next(event for event in events if event["compiled"])
        self.assertNotIn("wait_end", compiler)
        starts = self.place.events("start")
        waited = [event for event in events if "wait_end" in event]
        self.assertGreater(len(waited), 0)
        pids = {f"/{start['pid']}" for start in starts}
        for event in waited:
            self.assertEqual(event["wait_end"], "landed")
            self.assertIn("/" + event["waited_for"].rpartition("/")[2], pids)
            self.assertLessEqual(event["waited_seconds"], event["request_seconds"])
        print(f"64 cold processes, one program: {self.compiled(outcomes)} compiled, {len(waited)} waited")

    @each_way
    def test_many_programs(self, way):
        """Processes that request the programs in different orders compile each program once in total."""
        names = [f"p{number}" for number in range(8)]
        started = []
        for turn in range(8):
            order = names[turn:] + names[:turn]
            words = ["client", *[f"compile=name={name}" for name in order]]
            started += self.start_many(way, words, 1, environment={"FAKE_PJRT_COMPILE_MS": "100"})
        outcomes = self.finish_all(started)
        self.assertEqual(self.compiled(outcomes), len(names))
        self.assertEqual(len(self.place.entries()), len(names))

    @each_way
    def test_threads_wait_too(self, way):
        words = ["client", "thread=16{", "compile=name=a", "execute", "}"]
        outcome = self.run_sound(way, words, environment={"FAKE_PJRT_COMPILE_MS": "300"})
        self.assertEqual(len(outcome.real_compiles()), 1)
        self.assertEqual(len(outcome.real_loads()), 15)
        self.check_nothing_left(outcome)

    @each_way
    def test_nobody_waits_for_zero_seconds(self, way):
        environment = {"FAKE_PJRT_COMPILE_MS": str(1000 * SLOW), "REKINDLE_WAIT_SECONDS": "0"}
        first = self.start_many(way, WORDS, 1, environment=environment)
        self.wait_for_lease()
        outcomes = self.finish_all(first + self.start_many(way, WORDS, 1, environment=environment))
        self.assertEqual(self.compiled(outcomes), 2)

    @each_way
    def test_a_wait_ends_in_time(self, way):
        environment = {"FAKE_PJRT_COMPILE_MS": str(2000 * SLOW), "REKINDLE_WAIT_SECONDS": "0.1"}
        first = self.start_many(way, WORDS, 1, environment=environment)
        self.wait_for_lease()
        environment["FAKE_PJRT_COMPILE_MS"] = "0"
        second = self.run_sound(way, WORDS, environment=environment)
        self.assertEqual(len(second.real_compiles()), 1)
        self.finish_all(first)
        ends = [event.get("wait_end") for event in self.place.events("compile")]
        self.assertIn("gave_up", ends)

    @each_way
    def test_a_job_of_several_processes_does_not_wait(self, way):
        """A job of several processes never waits for a lease, because its compilations may need each other."""
        environment = {"FAKE_PJRT_COMPILE_MS": str(1000 * SLOW), "FAKE_PJRT_ADDRESSABLE_DEVICES": "1"}
        outcomes = self.finish_all(self.start_many(way, WORDS, 2, environment=environment))
        self.assertEqual(self.compiled(outcomes), 2)
        self.assertFalse(os.path.exists(os.path.join(self.place.store, "leases")))

    @each_way
    def test_a_store_for_reading_has_no_leases(self, way):
        os.makedirs(self.place.store, mode=0o700)
        environment = {"REKINDLE_MODE": "readonly", "FAKE_PJRT_COMPILE_MS": "100"}
        outcomes = self.finish_all(self.start_many(way, WORDS, 2, environment=environment))
        self.assertEqual(self.compiled(outcomes), 2)
        self.assertFalse(os.path.exists(os.path.join(self.place.store, "leases")))


class Ends(Flight):
    """Ends of the compiling process."""

    def start_holder(self, way, words=WORDS, **environment):
        environment = {"FAKE_PJRT_COMPILE_MS": "100000", **environment}
        holder = self.place.start(way, words, environment=environment, crash=True)
        self.wait_for_lease()
        return holder

    def check_others(self, way, holder, end):
        """Four processes wait for the holder; after its end one of them compiles at once."""
        started = self.start_many(way, WORDS, 4, environment={"FAKE_PJRT_COMPILE_MS": "200"})
        time.sleep(0.3)
        self.assertEqual([process.poll() for process, _ in started], [None] * 4)
        began = time.monotonic()
        end(holder)
        outcomes = self.finish_all(started)
        self.assertLess(time.monotonic() - began, 20)  # a lease without heartbeat would expire only after 30 s
        self.check_answers(outcomes)
        self.assertEqual(self.compiled(outcomes), 1)
        self.assertEqual(len(self.place.entries()), 1)
        self.assertEqual(self.leases(), [])

    @each_way
    def test_killed(self, way):
        def kill(holder):
            os.killpg(holder[0].pid, signal.SIGKILL)
            finish(*holder)

        self.check_others(way, self.start_holder(way), kill)

    @each_way
    def test_killed_and_not_reaped(self, way):
        holder = self.start_holder(way)
        self.check_others(way, holder, lambda holder: os.killpg(holder[0].pid, signal.SIGKILL))
        finish(*holder)

    @each_way
    def test_exits_while_a_thread_compiles(self, way):
        """exit() releases the leases, also while a thread is compiling."""
        environment = {"FAKE_PJRT_TEARDOWN": "note"}
        leaver = self.place.start(way, ["client", "misuse=teardown"], environment=environment)
        self.wait_for_lease()
        self.assertEqual(finish(*leaver).status, 0)
        self.assertEqual(self.leases(), [])
        self.assertEqual(self.place.entries(), [])

    @each_way
    def test_a_cancelled_thread_that_waits(self, way):
        """A cancelled thread stops waiting at once and leaves nothing locked."""
        holder = self.start_holder(way)
        words = ["client", "cancel=300{", WORDS[1], "}", "compile=name=b add=3", "execute", "tohost"]
        began = time.monotonic()
        outcome = self.run_sound(way, words, fork=True)
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(outcome.of("cancel")[0]["cancelled"], True)
        self.assertEqual(outcome.real_compiles(), ["name=b"])
        self.check_answers([outcome])
        self.assertEqual(len(self.leases()), 1)
        os.killpg(holder[0].pid, signal.SIGKILL)
        finish(*holder)

    @each_way
    def test_a_cancelled_thread_that_compiles(self, way):
        """After a thread is cancelled inside the plugin, one of the next requests for the same program compiles it."""
        words = ["client", "cancel=300{", "compile=name=a sleep_ms=3000", "}", "compile=name=b",
                 "thread=2{", "compile=name=a sleep_ms=3000", "}"]
        outcome = self.run_sound(way, words, fork=True, environment={"FAKE_PJRT_TEARDOWN": "note"})
        self.assertEqual(outcome.of("cancel")[0]["cancelled"], True)
        self.assertEqual(sorted(outcome.real_compiles()), ["name=a", "name=a", "name=b"])
        self.assertEqual(self.leases(), [])
        self.assertEqual(len(self.place.entries()), 2)

    @each_way
    def test_compile_errors_are_everybodys_own(self, way):
        words = ["client", "compile=name=a fail=because"]
        bare = self.place.run("bare", words)
        started = self.start_many(way, words, 4, environment={"FAKE_PJRT_COMPILE_MS": "200"})
        for outcome in self.finish_all(started, status=1):
            self.assertEqual(outcome.of("compile")[0]["message"], bare.of("compile")[0]["message"])
        self.assertEqual(self.place.entries(), [])

    @each_way
    def test_what_cannot_be_serialized_is_compiled_by_all(self, way):
        environment = {"FAKE_PJRT_COMPILE_MS": "500", "FAKE_PJRT_FAIL": "serialize"}
        outcomes = self.finish_all(self.start_many(way, WORDS, 4, environment=environment))
        self.check_answers(outcomes)
        self.assertEqual(self.compiled(outcomes), 4)
        self.assertEqual(self.place.entries(), [])
        # The lease stays for a while with the state "not stored": later requests do not wait.
        self.assertEqual(len(self.leases()), 1)
        later = self.run_sound(way, WORDS, environment=environment)
        self.assertEqual(len(later.real_compiles()), 1)

    @each_way
    def test_too_quick_to_be_stored(self, way):
        environment = {"FAKE_PJRT_COMPILE_MS": "200", "REKINDLE_MIN_COMPILE_SECONDS": "5"}
        outcomes = self.finish_all(self.start_many(way, WORDS, 3, environment=environment))
        self.check_answers(outcomes)
        self.assertEqual(self.compiled(outcomes), 3)
        self.assertEqual(self.place.entries(), [])

    @each_way
    def test_a_store_that_breaks(self, way):
        """If leases/ is a file, jobs store their entries. If leases/ refuses writes (for root: without the capabilities
        that override permissions), nothing is stored, because after one refused write rekindle tries no others."""
        for spoil, stored in ((lambda path: open(path, "w").close(), 1), (lambda path: os.mkdir(path, 0o500), 0)):
            self.fresh()
            os.makedirs(self.place.store, mode=0o700)
            with open(os.path.join(self.place.store, "REKINDLE_STORE"), "w") as marker:
                marker.write("rekindle store 1\n")
            spoil(os.path.join(self.place.store, "leases"))
            wrapper = unprivileged()
            outcomes = self.finish_all(self.start_many(way, WORDS, 2, wrapper=wrapper or ()))
            self.check_answers(outcomes)
            self.assertEqual(len(self.place.entries()), 1 if wrapper is None else stored)

    @each_way
    def test_rubbish_for_a_lease(self, way):
        """An invalid lease counts as held by an unknown process: a request waits for it, but not forever."""
        self.run_sound(way, WORDS)
        name = os.path.basename(self.place.entries()[0]).removesuffix(".rkx")
        for rubbish in (b"", b"\0" * 100000):
            os.remove(self.place.entries()[0])
            os.makedirs(os.path.join(self.place.store, "leases"), exist_ok=True)
            with open(os.path.join(self.place.store, "leases", name), "wb") as lease:
                lease.write(rubbish)
            outcome = self.run_sound(way, WORDS, environment={"REKINDLE_WAIT_SECONDS": "0.2"})
            self.assertEqual(len(outcome.real_compiles()), 1)
            self.check_answers([outcome])


if __name__ == "__main__":
    unittest.main()
