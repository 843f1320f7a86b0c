"""Zero-wait restart: the executables of the last run are prefetched, answer only requests with the same key, and never
disturb an end, a fork, or a plugin that is short of memory."""

import os
import time
import unittest

from faultlib import FaultCase, each_way, finish

NAMES = "abcd"
WORDS = ["client", *[word for name in NAMES for word in (f"compile=name={name} add=3", "execute")], "tohost"]
SETTLE = "sleep=600"  # time to prefetch a few quick ones
JOB = {"REKINDLE_JOB": "job"}


class Prefetch(FaultCase):
    def start(self, way, words, status=0, **environment):
        """Starts again; afterwards only this start's journal exists."""
        self.place.forget_runs()
        return self.run_sound(way, words, status, environment={**JOB, **environment}, fork="fork{" in words)

    def cold(self, way, words=WORDS, **environment):
        outcome = self.start(way, words, **environment)
        self.assertNotEqual(outcome.real_compiles(), [])
        return outcome

    def check_left(self, outcome, loaded):
        """At its teardown the plugin has only what the host loaded itself, nothing of rekindle's."""
        self.check_nothing_left(outcome)
        self.assertIn(f"loaded={loaded}", outcome.traced("teardown")[-1].split())

    def sources(self):
        return [event.get("source") for event in self.place.events("compile")]

    def preload(self):
        events = self.place.events("preload")
        self.assertEqual(len(events), 1, events)
        return events[0]

    def manifest(self, rank=""):
        path = os.path.join(self.place.store, "jobs", "job", "manifest" + rank)
        with open(path, encoding="ascii") as lines:
            return [line.split() for line in lines]

    def uses(self, rank=""):
        return [line for line in self.manifest(rank) if line[0] == "use"]

    def measured(self):
        """Returns the load time and the size of each program, as the manifest has them."""
        return {use[1]: use[-2:] for use in self.uses()}


def warmed(words=WORDS):
    """Returns the same words with a pause for prefetching after the first."""
    return [words[0], SETTLE, *words[1:]]


class Loaded(Prefetch):
    @each_way
    def test_the_same_answers_without_a_load_in_any_request(self, way):
        bare = self.run_sound("bare", warmed())
        self.cold(way)
        self.assertEqual(len(self.uses()), len(NAMES))
        outcome = self.start(way, warmed())
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(outcome.real_compiles(), [])
        self.assertEqual(len(outcome.real_loads()), len(NAMES))
        self.assertEqual(self.sources(), ["preload"] * len(NAMES))
        event = self.preload()
        self.assertEqual([event[k] for k in ("listed", "loaded", "claimed", "wasted")], [4, 4, 4, 0])
        for compile_event in self.place.events("compile"):
            self.assertLess(compile_event["request_seconds"], 1)
            self.assertGreater(compile_event["saved_seconds"], 0)
        self.assertEqual(outcome.told(), [])
        self.check_left(outcome, loaded=len(NAMES))

    @each_way
    def test_the_next_start_does_as_well(self, way):
        self.cold(way)
        for _ in range(6):
            self.start(way, warmed())
            self.assertEqual(self.sources(), ["preload"] * len(NAMES))

    @each_way
    def test_what_is_asked_for_twice_is_loaded_twice(self, way):
        words = ["client", "compile=name=a", "compile=name=a", "compile=name=a"]
        self.cold(way, words)
        self.start(way, warmed(words))
        self.assertEqual(self.sources(), ["preload"] * 3)

    @each_way
    def test_a_request_waits_for_what_is_being_loaded(self, way):
        slow = {"FAKE_PJRT_LOAD_MS": "2000"}
        words = ["client", "compile=name=a"]
        self.cold(way, words)
        began = time.monotonic()
        outcome = self.start(way, ["client", "sleep=700", "compile=name=a"], **slow)
        self.assertEqual(len(outcome.real_loads()), 1)
        event = self.place.events("compile")[0]
        self.assertEqual(event["source"], "preload")
        self.assertLess(event["request_seconds"], 1.9)
        self.assertGreater(event["preload_seconds"], 1.9)
        self.assertEqual(self.preload()["waited"], 1)
        self.assertLess(time.monotonic() - began, 30)

    @each_way
    def test_nothing_waits_behind_others(self, way):
        """While both prefetch threads load slowly, a request for a queued executable loads it itself at once."""
        words = ["client", *[f"compile=name=p{n}" for n in range(8)]]
        self.cold(way, words)
        outcome = self.start(way, ["client", "sleep=100", "compile=name=p7"], FAKE_PJRT_LOAD_MS="1000")
        event = self.place.events("compile")[0]
        self.assertEqual(event["source"], "local")
        self.assertLess(event["request_seconds"], 1.8)
        self.assertEqual(outcome.real_compiles(), [])

    @each_way
    def test_a_journal_and_a_manifest_after_a_kill(self, way):
        """A few seconds after its requests a process has written them, so a kill does not lose them."""
        outcome = self.place.run(way, [*WORDS, "sleep=4000", "exit=sigkill"], environment=JOB)
        self.assertEqual(outcome.status, -9)
        self.assertEqual(len(self.uses()), len(NAMES))
        self.start(way, warmed())
        self.assertEqual(self.sources(), ["preload"] * len(NAMES))


class Modes(Prefetch):
    @each_way
    def test_off(self, way):
        self.cold(way)
        outcome = self.start(way, warmed(), REKINDLE_PRELOAD="0")
        self.assertEqual(self.sources(), ["local"] * len(NAMES))
        self.assertEqual(self.place.events("preload"), [])
        self.assertEqual(outcome.real_compiles(), [])

    @each_way
    def test_refresh_uses_nothing_old(self, way):
        self.cold(way)
        outcome = self.start(way, warmed(), REKINDLE_MODE="refresh")
        self.assertEqual(len(outcome.real_compiles()), len(NAMES))
        self.assertEqual(outcome.real_loads(), [])

    @each_way
    def test_readonly_reads_it_and_writes_nothing(self, way):
        self.cold(way)
        before = self.manifest()
        self.start(way, [*warmed(), "compile=name=other"], REKINDLE_MODE="readonly")
        self.assertEqual(self.sources()[: len(NAMES)], ["preload"] * len(NAMES))
        self.assertEqual(self.manifest(), before)

    @each_way
    def test_mode_off_is_off(self, way):
        self.cold(way)
        outcome = self.start(way, warmed(), REKINDLE_MODE="off")
        self.assertEqual(outcome.real_loads(), [])

    @each_way
    def test_nothing_before_the_first_client(self, way):
        self.cold(way)
        outcome = self.start(way, ["init", "attributes", SETTLE])
        self.assertEqual(outcome.real_loads(), [])


class Mismatch(Prefetch):
    def check_not_used(self, way, words=None, loads=0, **environment):
        outcome = self.start(way, words or warmed(), **environment)
        self.assertNotIn("preload", self.sources())
        self.assertEqual(len(outcome.real_loads()), loads)
        return outcome

    @each_way
    def test_another_environment(self, way):
        self.cold(way)
        for environment in ({"XLA_FLAGS": "--xla_other=1"}, {"FAKE_PJRT_VERSION": "fake 2.0"},
                            {"FAKE_PJRT_DEVICES": "4"}, {"REKINDLE_NAMESPACE": "other"}):
            outcome = self.check_not_used(way, **environment)
            self.assertEqual(len(outcome.real_compiles()), len(NAMES))

    @each_way
    def test_other_options(self, way):
        """An executable with other options is prefetched in vain and never answers a request."""
        data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "host", "data")
        plain = [f"compile=@{data}/add.mlir", "execute=:2", "tohost"]
        with_options = [f"compile=@{data}/add.mlir:{data}/options.pb", "execute=:2", "tohost"]
        self.cold(way, ["client", *plain])
        outcome = self.start(way, ["client", SETTLE, *with_options])
        self.assertEqual(len(outcome.real_compiles()), 1)
        event = self.preload()
        self.assertEqual((event["loaded"], event["claimed"], event["wasted"]), (1, 0, 1))
        self.check_left(outcome, loaded=1)

    @each_way
    def test_a_bad_manifest_is_ignored_and_written_anew(self, way):
        path = os.path.join(self.place.store, "jobs", "job", "manifest")
        self.cold(way)
        with open(path, "rb") as file:
            sound = file.read()
        for bad in (b"", b"rekindle manifest 1\n", sound[:-1], sound.replace(b"use", b"USE"), b"\0" * 4096,
                    sound.replace(b"manifest 1", b"manifest 2")):
            with open(path, "wb") as file:
                file.write(bad)
            outcome = self.check_not_used(way, loads=len(NAMES))
            self.assertEqual((outcome.real_compiles(), outcome.told()), ([], []))
            self.assertEqual(len(self.uses()), len(NAMES))
        self.start(way, warmed())
        self.assertEqual(self.sources(), ["preload"] * len(NAMES))

    @each_way
    def test_a_manifest_that_names_what_is_not_there(self, way):
        self.cold(way)
        for path in self.place.entries():
            os.remove(path)
        outcome = self.start(way, warmed())
        self.assertEqual(len(outcome.real_compiles()), len(NAMES))
        self.assertEqual([event["reason"] for event in self.place.events("compile")], ["absent"] * len(NAMES))
        self.assertEqual(outcome.told(), [])

    @each_way
    def test_damaged_entries_are_quarantined_and_told_as_ever(self, way):
        self.cold(way)
        self.start(way, warmed(), FAKE_PJRT_LOAD_MS="20")
        measured = self.measured()
        for path in self.place.entries():
            with open(path, "r+b") as file:
                file.seek(300)
                file.write(b"damage")
        outcome = self.start(way, warmed())
        self.assertEqual(len(outcome.real_compiles()), len(NAMES))
        events = self.place.events("compile")
        self.assertEqual([(e["reason"], e["quarantined"]) for e in events], [("damaged", True)] * len(NAMES))
        self.assertEqual(len(self.place.quarantined()), len(NAMES))
        # The measured load times stay: a compilation gives only a guess.
        self.assertEqual(self.measured(), measured)
        self.check_warm(way, warmed(), environment=JOB)

    @each_way
    def test_entries_that_the_plugin_refuses(self, way):
        self.cold(way)
        outcome = self.start(way, warmed(), FAKE_PJRT_FAIL="deserialize")
        self.assertEqual(len(outcome.real_compiles()), len(NAMES))
        events = self.place.events("compile")
        self.assertEqual([(e["reason"], e["deserialize_failed"]) for e in events], [("refused", True)] * len(NAMES))
        self.assertEqual(len(self.place.quarantined()), len(NAMES))
        self.assertEqual(len(outcome.told()), 1)

    @each_way
    def test_a_plugin_that_cannot_load(self, way):
        self.cold(way)
        outcome = self.start(way, warmed(), FAKE_PJRT_FAIL="deserialize_unimplemented")
        self.assertEqual(len(outcome.real_compiles()), len(NAMES))
        self.assertEqual(self.place.quarantined(), [])
        self.assertEqual(len(outcome.told()), 1)

    @each_way
    def test_a_plugin_that_overrides_nothing(self, way):
        self.cold(way)
        outcome = self.start(way, warmed(), FAKE_PJRT_FAIL="deserialize_override")
        self.assertEqual(self.sources(), ["preload"] * len(NAMES))
        self.assertEqual(outcome.told(), [])


class Unwanted(Prefetch):
    @each_way
    def test_a_framework_that_registers_a_pass(self, way):
        """Once a framework registers a compiler pass, nothing uses the cache: prefetched executables are destroyed and
        prefetching ends."""
        words = ["client", *[f"compile=name=p{n}" for n in range(30)]]
        self.cold(way, words)
        warm = ["client", "sleep=100", "transform", "compile=name=p0", "sleep=300"]
        self.start(way, warm, FAKE_PJRT_LOAD_MS="200", FAKE_PJRT_TRANSFORM="1")
        self.assertEqual([event["outcome"] for event in self.place.events("compile")], ["bypass"])
        event = self.preload()
        self.assertEqual(event["loaded"], event["wasted"])
        self.assertGreater(event["dropped"], 10)
        self.assertNotIn("stopped", event)


class Ends(Prefetch):
    MANY = ["client", *[f"compile=name=p{n}" for n in range(30)]]
    SLOW = {"FAKE_PJRT_LOAD_MS": "60"}

    def check_end(self, way, words, status=0, **environment):
        self.cold(way, self.MANY)
        outcome = self.start(way, words, status, **{**self.SLOW, **environment})
        self.assertEqual(outcome.told(), [])
        return outcome

    @each_way
    def test_a_client_that_is_destroyed_while_loading(self, way):
        outcome = self.check_end(way, ["client", "sleep=100", "destroy-client", "sleep=200"])
        self.assertEqual(outcome.traced("client_left")[0].split()[0].split("=")[1], "0", outcome.traced("client_left"))
        event = self.preload()
        self.assertEqual(event["loaded"], event["wasted"])
        self.assertGreater(event["dropped"], 10)
        self.check_left(outcome, loaded=0)

    @each_way
    def test_a_client_after_another(self, way):
        words = ["client", "compile=name=a", "destroy-client", "client", "compile=name=b", "destroy-client"]
        self.cold(way, words)
        warm = ["client", SETTLE, "compile=name=a", "destroy-client", "client", SETTLE, "compile=name=b",
                "destroy-client"]
        outcome = self.start(way, warm)
        self.assertEqual(self.sources(), ["preload"] * 2)
        self.assertEqual([(e["client"], e["loaded"], e["claimed"]) for e in self.place.events("preload")],
                         [(1, 1, 1), (2, 1, 1)])
        self.check_left(outcome, loaded=2)

    @each_way
    def test_two_clients_at_once(self, way):
        """An executable that was prefetched for one client does not answer another client."""
        words = ["client", "client", "use-client=0", "compile=name=a", "execute", "use-client=1", "compile=name=a",
                 "execute", "tohost"]
        bare = self.run_sound("bare", words)
        self.cold(way, words)
        outcome = self.start(way, ["client", "client", SETTLE, *words[2:]])
        self.assertEqual([a for a in outcome.plain() if a["action"] != "sleep"], bare.plain())
        self.assertEqual(self.sources(), ["preload"] * 2)
        self.assertEqual(len(outcome.real_loads()), 2)

    @each_way
    def test_every_kind_of_end(self, way):
        for how, status in (("exit", 0), ("_exit", 0), ("thread", 0), ("sigkill", -9), ("abort", -6)):
            self.fresh()
            self.cold(way, self.MANY)
            outcome = self.place.run(way, ["client", "sleep=100", f"exit={how}"], crash=True,
                                     environment={**JOB, **self.SLOW})
            if how in ("exit", "thread"):
                self.check_sound(outcome, status)
            else:
                self.assertEqual(outcome.traced("MISUSE"), [], how)
                # A load in flight may have caused the end, so the next start compiles its program once.
                after = self.start(way, self.MANY)
                self.assertLessEqual(len(after.real_compiles()), 2, how)
                self.assertEqual(self.place.quarantined(), [])
            self.check_warm(way, self.MANY, environment=JOB)

    @each_way
    def test_returning_from_main_while_loading(self, way):
        outcome = self.check_end(way, ["client", "sleep=100"])
        self.assertEqual(self.place.events("end")[0]["ev"], "end")
        self.check_left(outcome, loaded=0)

    @each_way
    def test_a_load_that_does_not_end_in_time(self, way):
        """If a load does not end in time, the client stays alive, with one warning, instead of being destroyed."""
        self.cold(way, ["client", "compile=name=a"])
        outcome = self.start(way, ["client", "sleep=100", "destroy-client", "sleep=1500"], FAKE_PJRT_LOAD_MS="1000",
                             REKINDLE_DRAIN_SECONDS="0.2")
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        self.assertIn("still loading", outcome.told()[0])

    @each_way
    def test_a_client_that_is_destroyed_after_our_end(self, way):
        """If a framework destroys its client after rekindle's end, the client stays alive during a load in flight."""
        self.cold(way, ["client", "compile=name=a"])
        outcome = self.start(way, ["destroy-at-exit", "client", "sleep=100"], FAKE_PJRT_LOAD_MS="2000",
                             FAKE_PJRT_TEARDOWN="note", REKINDLE_DRAIN_SECONDS="0.2")
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        self.assertIn("did not finish loading", outcome.told()[0])
        self.assertEqual(outcome.traced("PJRT_Client_Destroy"), [])
        outcome = self.start(way, ["destroy-at-exit", "client", "sleep=100"])  # but not if no load is in flight
        self.assertEqual((outcome.told(), len(outcome.traced("PJRT_Client_Destroy"))), ([], 2))

    @each_way
    def test_a_child_passes_through(self, way):
        """A child forked during prefetching does not hang, writes nothing, and compiles itself."""
        words = ["client", "sleep=100", "fork{", "client", "compile=name=p3", "execute", "}", "compile=name=p3"]
        outcome = self.check_end(way, words)
        self.assertEqual(outcome.of("fork")[0]["status"], 0)
        self.assertEqual(len(self.place.events("start")), 1)
        self.assertEqual(outcome.real_compiles(), ["name=p3"])

    @each_way
    def test_threads_that_all_want_the_same(self, way):
        words = ["client", "thread=8{", "compile=name=p{t}", "execute", "compile=name=same", "execute", "}"]
        self.cold(way, words)
        outcome = self.start(way, ["client", "sleep=30", *words[1:]], FAKE_PJRT_LOAD_MS="5")
        self.assertEqual(outcome.real_compiles(), [])
        self.assertGreater(self.sources().count("preload"), 4)

    @each_way
    def test_a_run_that_departs(self, way):
        others = [f"compile=name=other{n}" for n in range(20)]
        self.cold(way)
        self.start(way, ["client", SETTLE, *others])
        event = self.preload()
        self.assertEqual((event["stopped"], event["wasted"], event["claimed"]), ("departed", 4, 0))

    @each_way
    def test_ranks_have_their_own(self, way):
        for rank in "01":
            self.start(way, ["client", f"compile=name=of{rank}", "compile=name=both"], RANK=rank)
        self.assertEqual((len(self.uses()), len(self.uses("-1"))), (2, 3))
        for rank in "01":
            self.start(way, ["client", SETTLE, f"compile=name=of{rank}", "compile=name=both"], RANK=rank)
            self.assertEqual(self.sources(), ["preload"] * 2)

    @each_way
    def test_many_processes_of_one_job(self, way):
        """Processes with the same rank that start and end together all prefetch, and the manifest stays correct."""
        self.cold(way)
        processes = [self.place.start(way, warmed(), environment=JOB) for _ in range(6)]
        for process, trace in processes:
            outcome = self.check_sound(finish(process, trace))
            self.assertEqual(outcome.real_compiles(), [])
        self.assertEqual(len(self.uses()), len(NAMES))
        self.start(way, warmed())
        self.assertEqual(self.sources(), ["preload"] * len(NAMES))


class Memory(Prefetch):
    @each_way
    def test_what_is_held_goes_before_a_call_fails(self, way):
        """If the plugin is out of memory, unclaimed prefetched executables are destroyed and the request succeeds."""
        self.cold(way)
        words = ["client", SETTLE, "compile=name=new", "execute", "compile=name=a add=3", "execute", "tohost"]
        outcome = self.start(way, words, FAKE_PJRT_MAX_EXECUTABLES="4")
        self.assertEqual(outcome.real_compiles(), ["name=new"])
        event = self.preload()
        self.assertEqual((event["stopped"], event["wasted"]), ("memory", 4))

    @each_way
    def test_what_is_held_goes_before_an_execution_fails(self, way):
        self.cold(way)
        words = ["client", SETTLE, *WORDS[1:3], "tohost"]
        outcome = self.start(way, words, FAKE_PJRT_MAX_TO_EXECUTE="1")
        self.assertEqual(self.sources(), ["preload"])
        self.assertEqual((self.preload()["stopped"], self.preload()["wasted"]), ("memory", 3))
        self.assertEqual(outcome.told(), [])

    @each_way
    def test_devices_that_are_nearly_full(self, way):
        self.cold(way)
        for limit, loaded in ((1050, 0), (1000000, 4)):
            outcome = self.start(way, warmed(), FAKE_PJRT_BYTES_LIMIT=str(limit))
            self.assertEqual((self.preload()["loaded"], len(outcome.real_loads())), (loaded, len(NAMES)))

    @each_way
    def test_loading_ahead_stops_where_there_is_no_room(self, way):
        self.cold(way)
        words = ["client", SETTLE, *WORDS[1:3]]
        outcome = self.start(way, words, FAKE_PJRT_MAX_EXECUTABLES="2")
        self.assertEqual(outcome.real_compiles(), [])
        self.assertEqual(self.preload()["stopped"], "memory")
        self.assertEqual(self.place.quarantined(), [])

    @each_way
    def test_an_error_that_stays_reaches_the_framework(self, way):
        self.cold(way)
        words = ["client", SETTLE, "compile=name=new", "compile=name=newer"]
        outcome = self.start(way, words, status=1, FAKE_PJRT_MAX_EXECUTABLES="1")
        self.assertEqual([answer["ok"] for answer in outcome.of("compile")], [True, False])
        self.assertEqual(outcome.of("compile")[1]["code"], 8)


class Measured(Prefetch):
    """An engine that sizes its cache by the memory in use finds the same amount in use as without rekindle."""

    BYTES = {"FAKE_PJRT_BYTES_OF_EXECUTABLE": "100000"}
    MEASURING = ["client", "sleep=600", "device-stats", "compile=name=a add=3", "device-stats", "memory-stats",
                 "compile=name=new", "device-stats", "compile=name=b add=3", "execute", "tohost", "device-stats"]

    def but_allocations(self, outcome):
        """Returns the answers without the number of allocations so far, which loads raise for good."""
        answers = outcome.plain()
        for answer in answers:
            if "figures" in answer:
                del answer["figures"][1]
        return answers

    @each_way
    def test_what_nobody_asked_for_is_not_in_the_figures(self, way):
        bare = self.run_sound("bare", self.MEASURING, environment=self.BYTES)
        self.assertEqual([answer["bytes_in_use"] for answer in bare.of("device-stats")],
                         [1000, 101000, 201000, 301000])
        self.cold(way)
        outcome = self.start(way, self.MEASURING, **self.BYTES)
        self.assertEqual(self.but_allocations(outcome), self.but_allocations(bare))
        self.assertEqual(outcome.real_compiles(), ["name=new"])
        event = self.preload()
        self.assertEqual([event[k] for k in ("listed", "loaded", "claimed", "wasted", "stopped")],
                         [4, 4, 0, 4, "measured"])
        self.check_left(outcome, loaded=3)

    @each_way
    def test_figures_that_no_load_changes_say_nothing_of_executables(self, way):
        """Then prefetched executables stay: a framework may ask for the figures before each compilation."""
        words = ["client", "sleep=600", "device-stats", "compile=name=a add=3", "device-stats",
                 "compile=name=b add=3", "execute", "tohost", "device-stats"]
        bare = self.run_sound("bare", words)
        self.cold(way)
        outcome = self.start(way, words)
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(self.sources(), ["preload"] * 2)
        event = self.preload()
        self.assertEqual([event.get(k) for k in ("listed", "loaded", "claimed", "stopped")], [4, 4, 2, None])

    def test_the_first_load_shows_what_the_figures_count(self, way="preload"):
        """A framework that asks during the first load waits for its end, in both cases."""
        words = ["client", "sleep=200", "device-stats", *WORDS[1:]]
        self.cold(way)
        for settings, stopped in (({}, None), (self.BYTES, "measured")):
            with self.subTest(settings=settings):
                outcome = self.start(way, words, FAKE_PJRT_LOAD_MS="700", **settings)
                self.assertEqual([answer["bytes_in_use"] for answer in outcome.of("device-stats")], [1000])
                self.assertEqual(self.preload().get("stopped"), stopped)
                self.assertEqual("preload" in self.sources(), stopped is None)
                self.assertEqual(outcome.real_compiles(), [])

    def test_what_is_being_loaded_is_waited_for(self, way="preload"):
        slow = {**self.BYTES, "FAKE_PJRT_LOAD_MS": "700"}
        words = ["client", "sleep=200", "device-stats", "sleep=1500", "device-stats"]
        self.cold(way)
        outcome = self.start(way, words, **slow)
        self.assertEqual([answer["bytes_in_use"] for answer in outcome.of("device-stats")], [1000, 1000])
        self.assertEqual(self.preload()["claimed"], 0)
        self.check_left(outcome, loaded=0)

    def test_a_plugin_without_figures_is_left_alone(self, way="preload"):
        self.cold(way)
        words = ["client", "sleep=600", "device-stats", *WORDS[1:]]
        self.start(way, words, status=1, FAKE_PJRT_FAIL="memory_unimplemented")
        self.assertEqual(self.sources(), ["preload"] * len(NAMES))

    def test_nothing_ahead_where_that_is_switched_off(self, way="preload"):
        self.cold(way)
        outcome = self.start(way, warmed(), REKINDLE_PRELOAD="0")
        self.assertEqual(self.place.events("preload"), [])
        self.assertEqual(self.sources(), ["local"] * len(NAMES))
        self.assertEqual(outcome.real_compiles(), [])


if __name__ == "__main__":
    unittest.main()
