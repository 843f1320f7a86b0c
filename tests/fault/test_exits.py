"""Every way to end a process while rekindle is storing. The fake plugin aborts if a call is inside it, or begins,
during the teardown of the process."""

import json
import os
import random
import signal
import subprocess
import time
import unittest

from faultlib import FaultCase, each_way, finish

PROGRAMS = ["client", "compile=name=a outputs=2", "compile=name=b", "execute=0"]
SLOW = {"FAKE_PJRT_SERIALIZE_MS": "500"}
ORDERLY = {"return": [], "exit": ["exit=exit"], "thread": ["exit=thread"]}
SUDDEN = {"_exit": 0, "abort": -signal.SIGABRT, "sigterm": -signal.SIGTERM, "sigkill": -signal.SIGKILL}


class Exits(FaultCase):
    def check_store(self, way):
        """After any end the entries in the store are valid, and the next start uses them."""
        here = len(self.place.entries())
        outcome = self.run_sound(way, PROGRAMS)
        self.assertEqual((len(outcome.real_loads()), len(outcome.real_compiles())), (here, 2 - here))
        self.assertEqual(self.place.quarantined(), [])
        self.check_warm(way, PROGRAMS)

    @each_way
    def test_orderly(self, way):
        """Orderly ends wait until everything is stored."""
        for name, words in ORDERLY.items():
            with self.subTest(end=name):
                self.fresh()
                outcome = self.run_sound(way, [*PROGRAMS, *words], environment=SLOW)
                self.check_nothing_left(outcome, event=0)
                self.assertEqual(len(self.place.entries()), 2)
                self.assertEqual(len(self.place.events("end")), 1)
                self.assertEqual([event["stored"] for event in self.place.events("stored")], [True, True])
                self.check_store(way)

    @each_way
    def test_client_destroyed_first(self, way):
        """Destroying a client first stores its executables, so any end may follow."""
        for name in [*ORDERLY, *SUDDEN]:
            with self.subTest(end=name):
                self.fresh()
                words = [*PROGRAMS, "destroy-client", *([] if name == "return" else [f"exit={name}"])]
                self.run_sound(way, words, status=SUDDEN.get(name, 0), environment=SLOW)
                self.assertEqual(len(self.place.entries()), 2)
                self.check_store(way)

    @each_way
    def test_sudden(self, way):
        """Sudden ends leave no partial entries."""
        for name, status in SUDDEN.items():
            with self.subTest(end=name):
                self.fresh()
                self.run_sound(way, [*PROGRAMS, f"exit={name}"], status=status, environment=SLOW)
                self.check_store(way)

    @each_way
    def test_sudden_while_writing(self, way):
        """Sudden ends leave no partial entries while large files are being written."""
        environment = {"FAKE_PJRT_PAYLOAD_BYTES": str(8 << 20)}
        for name, status in SUDDEN.items():
            with self.subTest(end=name):
                self.fresh()
                self.run_sound(way, [*PROGRAMS, "sleep=10", f"exit={name}"], status=status, environment=environment)
                self.check_store(way)

    @each_way
    def test_without_a_compilation(self, way):
        for words in ([], ["init"], ["client"], ["client", "destroy-client"]):
            self.check_nothing_left(self.run_sound(way, words))

    @each_way
    def test_many_programs_wait(self, way):
        words = ["client", "repeat=24{", "compile=name=p{r}", "}"]
        self.run_sound(way, words, environment={"FAKE_PJRT_SERIALIZE_MS": "20"})
        self.assertEqual(len(self.place.entries()), 24)
        self.check_warm(way, words)

    @each_way
    def test_compiled_after_the_last_client_was_made(self, way):
        """rekindle's exit handler runs before the plugin's, for the third program and for a second client, too. Exit
        handlers run in reverse order of registration."""
        words = ["client", "compile=name=a", "compile=name=b", "client", "compile=name=c", "compile=name=d",
                 "compile=name=e"]
        self.run_sound(way, words, environment={"FAKE_PJRT_SERIALIZE_MS": "50"})
        self.assertEqual(len(self.place.entries()), 5)


class NoEnd(FaultCase):
    """Processes that never end orderly, such as children of multiprocessing and Go programs."""

    def wait_until_known(self, count):
        """Waits for the manifest and the entries, however slow the disk is."""
        end = time.monotonic() + 50
        while time.monotonic() < end:
            for path in self.place.files("jobs", "manifest"):
                with open(path, encoding="ascii") as file:
                    uses = sum(line.startswith("use ") for line in file)
                    if (uses, len(self.place.entries())) == (count, count):
                        return
            time.sleep(0.05)
        self.fail("the manifest was not written, or the executables were not stored")

    @each_way
    def test_loaded_ahead_all_the_same(self, way):
        """The programs of a killed process are in the manifest and are prefetched at the next start."""
        compiles = ["repeat=17{", "compile=name=p{r}", "}"]
        job = {"REKINDLE_JOB": "job"}
        process, trace = self.place.start(way, ["client", *compiles, "sleep=60000"], environment=job)
        self.wait_until_known(17)
        process.kill()
        finish(process, trace)
        self.place.forget_runs()
        self.run_sound(way, ["client", "sleep=2000", *compiles, "exit=_exit"], environment=job)
        self.assertEqual([event.get("source") for event in self.place.events("compile")], ["preload"] * 17)

    BIG = {"FAKE_PJRT_PAYLOAD_BYTES": str(48 << 20), "REKINDLE_JOB": "job"}

    def start_big(self, is_time):
        """Starts a process that compiles a big program, and kills it as soon as `is_time()` is true."""
        process, trace = self.place.start("preload", ["client", "compile=name=big", "execute", "sleep=60000"],
                                          environment=self.BIG)
        end = time.monotonic() + 50
        while not is_time():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)
        process.kill()
        finish(process, trace)

    def rekindle(self, *words):
        done = subprocess.run([os.environ["FAULT_REKINDLE"], *words, "--json"], capture_output=True, text=True,
                              env={**os.environ, "REKINDLE_DIR": self.place.store}, check=True)
        return json.loads(done.stdout)

    def lost(self):
        stats = self.rekindle("stats")
        return stats["compiled"], stats["stored"], stats["not_stored"], stats["lost"]

    def test_what_is_big_is_stored_while_the_job_runs(self):
        """A big executable is stored while the job runs. A kill during writing is counted, and `explain` reports it."""
        for _ in range(5):  # writing may end before the kill
            self.fresh()
            self.start_big(lambda: self.place.files("objects", ""))
            if not self.place.events("stored"):
                break
        self.assertEqual((self.place.entries(), self.lost()), ([], (1, 0, 0, 1)))
        self.start_big(lambda: self.place.events("stored"))
        self.assertEqual((len(self.place.entries()), self.lost()), (1, (1, 1, 0, 0)))
        again, = self.rekindle("explain")["compilations"]
        self.assertIn("ended during the write", again["advice"])
        self.assertEqual([path for path in self.place.files("objects") if "/.tmp" in path], [])
        self.check_warm("preload", ["client", "compile=name=big"], environment=self.BIG)

    @each_way
    def test_what_is_lost_can_be_told(self, way):
        """The journal records for each program the begin of its storing, and its end if it was stored."""
        words = ["client", "compile=name=a", "compile=name=b"]
        self.run_sound(way, [*words, "exit=_exit"], environment={"FAKE_PJRT_SERIALIZE_MS": "60000"})
        self.assertEqual([event.get("storing") for event in self.place.events("compile")], [True, True])
        self.assertEqual(self.place.events("stored"), [])
        self.place.forget_runs()
        self.run_sound(way, words)
        self.assertEqual(len(self.place.events("stored")), 2)
        self.place.forget_runs()
        self.run_sound(way, words)
        self.assertEqual([event.get("storing") for event in self.place.events("compile")], [None, None])


class Deadline(FaultCase):
    """A plugin whose serialization takes a minute. REKINDLE_DRAIN_SECONDS (default 10) limits the wait at exit."""

    # Generous: the test only shows that the exit does not wait for 60 s of serialization.
    LIMIT_SECONDS = 30
    ENVIRONMENT = {"FAKE_PJRT_SERIALIZE_MS": "60000", "REKINDLE_DRAIN_SECONDS": "1", "FAKE_PJRT_TEARDOWN": "note"}

    def check_ends(self, way, words):
        start = time.monotonic()
        outcome = self.run_sound(way, words, environment=self.ENVIRONMENT)
        self.assertLess(time.monotonic() - start, self.LIMIT_SECONDS)
        self.assertEqual(self.place.entries(), [])
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        # Programs whose storing had not begun are cancelled and recorded.
        self.assertIn("out_of_time", {event.get("reason") for event in self.place.events("stored")})
        return outcome

    @each_way
    def test_exit(self, way):
        """After the deadline the process ends although a call is still inside the plugin."""
        self.check_ends(way, ["client", "compile=name=a", "compile=name=b"])

    @each_way
    def test_client_destroy(self, way):
        """After the deadline a client in use stays alive; it is not destroyed during the call."""
        outcome = self.check_ends(way, ["client", "compile=name=a", "compile=name=b", "destroy-client"])
        self.assertEqual(outcome.traced("PJRT_Client_Destroy"), [])

    @each_way
    def test_no_waiting_at_all(self, way):
        environment = {"FAKE_PJRT_SERIALIZE_MS": "60000", "REKINDLE_DRAIN_SECONDS": "0", "FAKE_PJRT_TEARDOWN": "note"}
        start = time.monotonic()
        self.run_sound(way, ["client", "compile=name=a", "compile=name=b"], environment=environment)
        self.assertLess(time.monotonic() - start, self.LIMIT_SECONDS)


class Kills(FaultCase):
    @each_way
    def test_fifty_random_kills(self, way):
        """After kill -9 at random moments every entry is valid and is loaded. A program whose load was in flight at a
        kill is compiled once more, because the load may have caused the end. A program whose load was in flight at two
        kills is set aside."""
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        words = ["client", "repeat=40{", "compile=name=p{r}", "destroy-exec", "}", "exit=exit"]
        environment = {"FAKE_PJRT_SERIALIZE_MS": "1", "FAKE_PJRT_LOAD_MS": "1", "FAKE_PJRT_PAYLOAD_BYTES": "65536"}
        for _ in range(50):
            process, trace = self.place.start(way, words, environment=environment)
            time.sleep(chance.uniform(0.0, 0.25))
            process.kill()
            outcome = finish(process, trace)
            self.assertEqual(outcome.traced("MISUSE"), [], f"seed {seed}")
        before = self.place.entry_keys()
        self.place.forget_runs()
        self.run_sound(way, words, environment=environment)
        names = {event["key"]: event["name"] for event in self.place.events("compile")}
        loaded = {event["key"] for event in self.place.events("compile") if event["outcome"] == "hit"}
        doubted = {event["key"] for event in self.place.events("compile") if event.get("reason") == "load_killed"}
        aside = {key for key, word in self.place.verdicts().items() if word == "aside"}
        self.assertEqual(len(names), 40, f"seed {seed}")
        self.assertEqual(loaded, before - doubted, f"seed {seed}")
        self.assertLessEqual(doubted - before, aside, f"seed {seed}")
        self.assertLessEqual(aside, doubted, f"seed {seed}")
        self.assertLess(len(doubted), 20, f"seed {seed}")
        quarantined = {os.path.basename(path).split(".")[0] for path in self.place.quarantined()}
        self.assertLessEqual(quarantined, aside, f"seed {seed}")
        outcome = self.run_sound(way, words, environment=environment)
        compiled = sorted(line.split()[0] for line in outcome.real_compiles())
        self.assertEqual(compiled, sorted(f"name={names[key]}" for key in aside), f"seed {seed}")


if __name__ == "__main__":
    unittest.main()
