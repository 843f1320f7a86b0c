"""The memory of each device is sampled during the life of a client and reported by `rekindle memory`."""

import json
import os
import subprocess
import unittest

from faultlib import FaultCase, each_way, sanitizer_settings

REKINDLE = os.environ["FAULT_REKINDLE"]
OFTEN = {"REKINDLE_MEMORY_SECONDS": "0.01"}
WORK = ["client", "compile=name=a", "execute", "repeat=6{", "sleep=25", "tohost", "}", "destroy-buffers",
        "destroy-client"]
FIGURES = {"bytes_in_use": 1000, "peak_bytes_in_use": 1, "bytes_limit": 4, "largest_allocation_bytes": 3,
           "bytes_reserved": 5, "largest_free_block_bytes": 8}


class Memory(FaultCase):
    def memory(self, *args, status=0):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("REKINDLE_", "FAKE_PJRT_", "FAULT_"))}
        env |= sanitizer_settings() | {"REKINDLE_DIR": self.place.store}
        done = subprocess.run([REKINDLE, "memory", *args], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def run_as_bare(self, way, words, **options):
        bare = self.run_sound("bare", words, **options)
        self.place.forget_runs()
        outcome = self.run_sound(way, words, **options)
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(outcome.told(), [])
        return self.place.events("memory")

    @each_way
    def test_while_a_client_works(self, way):
        events = self.run_as_bare(way, WORK, environment=OFTEN)
        for device in (0, 1):
            of_it = [event for event in events if event["device"] == device]
            when = [event["when"] for event in of_it]
            self.assertEqual((when[0], when[-1]), ("start", "end"))
            self.assertGreaterEqual(when.count("interval"), 2)
            self.assertEqual(len(when), when.count("interval") + 2)
            self.assertEqual(of_it[0]["attributes"], {"coords": [device]})
            for event in of_it:
                self.assertEqual({key: event[key] for key in FIGURES}, FIGURES)
                self.assertEqual((event["name"], event["kind"]), (f"FakeDevice(id={device})", "fake-device"))
        seen = json.loads(self.memory("--json").stdout)
        self.assertEqual([device["name"] for device in seen["devices"]], ["FakeDevice(id=0)", "FakeDevice(id=1)"])
        for device in seen["devices"]:
            # The plugin reports a peak below the current use: the observed use counts.
            self.assertEqual({key: device[key] for key in FIGURES}, FIGURES | {"peak_bytes_in_use": 1000})
            self.assertGreaterEqual(device["samples"], 4)
            self.assertIsNone(device["problem"])
        self.assertEqual(seen["problems"], [])
        text = self.memory().stdout
        self.assertIn("FakeDevice(id=1)", text)
        self.assertIn("1.0 kB", text)

    @each_way
    def test_no_more_often_than_asked_for(self, way):
        events = self.run_as_bare(way, WORK, environment={"REKINDLE_MEMORY_SECONDS": "3600"})
        self.assertEqual([event["when"] for event in events], ["start", "start", "end", "end"])

    @each_way
    def test_not_at_all(self, way):
        self.assertEqual(self.run_as_bare(way, WORK, environment={"REKINDLE_MEMORY_SECONDS": "0"}), [])
        self.assertIn("REKINDLE_MEMORY_SECONDS was 0", self.memory(status=1).stderr)
        self.assertIn("error", json.loads(self.memory("--json", status=1).stdout))

    @each_way
    def test_a_plugin_that_cannot_tell(self, way):
        """A plugin without memory statistics is asked once and named with a remedy; stderr stays empty."""
        for settings, words in (({"FAKE_PJRT_FAIL": "memory_unimplemented"}, "fake: has no memory statistics"),
                                ({"FAKE_PJRT_NULL_ENTRIES": "PJRT_Device_MemoryStats"}, "PJRT_Device_MemoryStats")):
            with self.subTest(settings=settings):
                self.fresh()
                events = self.run_as_bare(way, WORK, environment=OFTEN | settings)
                self.assertEqual([event["when"] for event in events], ["start", "start"])
                for event in events:
                    self.assertIn(words, event["problem"])
                    self.assertNotIn("bytes_in_use", event)
                seen = json.loads(self.memory("--json", status=1).stdout)
                self.assertEqual([device["bytes_in_use"] for device in seen["devices"]], [None, None])
                self.assertEqual(len(seen["problems"]), 1)
                for part in ("fake", "fake_pjrt_plugin.so", "PJRT API 0.81", "fake 1.0", words, "Ask for a version"):
                    self.assertIn(part, seen["problems"][0])
                self.assertIn("does not report device memory", " ".join(self.memory(status=1).stdout.split()))

    @each_way
    def test_a_plugin_that_fails_for_a_while(self, way):
        events = self.run_as_bare(way, WORK, environment=OFTEN | {"FAKE_PJRT_FAIL": "memory:2"})
        self.assertEqual([event.get("problem") for event in events[:2]], ["fake: told to fail memory"] * 2)
        self.assertEqual(events[-1]["bytes_in_use"], 1000)
        self.assertEqual(json.loads(self.memory("--json").stdout)["problems"], [])

    @each_way
    def test_devices_of_others_are_not_asked(self, way):
        part = {"FAKE_PJRT_DEVICES": "8", "FAKE_PJRT_ADDRESSABLE_DEVICES": "3"}
        events = self.run_as_bare(way, ["client", "destroy-client"], environment=OFTEN | part)
        self.assertEqual({event["device"] for event in events}, {0, 1, 2})

    @each_way
    def test_every_version(self, way):
        for minor in ("40", "79", "90", "111", "116"):
            with self.subTest(minor=minor):
                self.fresh()
                events = self.run_as_bare(way, ["client", "destroy-client"],
                                          environment=OFTEN | {"FAKE_PJRT_API_MINOR": minor})
                self.assertEqual([event["bytes_in_use"] for event in events], [1000] * 4)

    @each_way
    def test_clients_that_go_while_others_are_asked(self, way):
        """A client is destroyed only while no thread queries its devices; the fake plugin checks that.

        A query is due 1 ms after the last client was created, and the next execution makes it.
        """
        words = ["client", "compile=name=a", "thread=6{", "repeat=5{", "client", "compile=name=b", "sleep=10", "execute",
                 "tohost", "destroy-buffers", "destroy-exec", "destroy-client", "}", "}", "destroy-client"]
        environment = {"REKINDLE_MEMORY_SECONDS": "0.001", "FAKE_PJRT_MEMORY_MS": "2"}
        self.run_sound(way, words, environment=environment)
        events = self.place.events("memory")
        self.assertGreater([event["when"] for event in events].count("interval"), 0)
        self.assertEqual({event["client"] for event in events}, set(range(1, 32)))

    @each_way
    def test_children_of_a_fork_ask_nothing(self, way):
        words = ["client", "compile=name=a", "fork{", "sleep=30", "execute", "tohost", "}", "destroy-client"]
        self.run_sound(way, words, fork=True, environment=OFTEN)
        self.assertEqual(len({event["client"] for event in self.place.events("memory")}), 1)

    def test_without_a_run(self):
        self.assertIn("no run", self.memory(status=2).stderr)


if __name__ == "__main__":
    unittest.main()
