"""AOT compilation (PJRT_Compile) uses the key of a client's compilation and never harms the job."""

import json
import unittest

from faultlib import FaultCase, each_way

AHEAD = ["topology=fake:2", "compile-topology=name=a outputs=2 add=2", "compile-topology=name=b", "destroy-topology"]
CLIENT = ["client", "compile=name=a outputs=2 add=2", "compile=name=b", "inspect=0", "execute=0:1", "tohost",
          "destroy-buffers", "destroy-client"]
UNRUN = [word for word in CLIENT if not word.startswith("execute")]  # the host cannot execute on plugins newer than its header
PARTS = ("key", "program", "options", "environment")


class Ahead(FaultCase):
    def ahead_then_client(self, way, ahead=(), client=(), words=AHEAD, then=CLIENT):
        """Runs both with their variables. Returns the compile events of both, and the client's outcome."""
        self.place.forget_runs()
        self.run_sound(way, list(words), environment=dict(ahead))
        first = self.place.events("compile")
        self.place.forget_runs()
        bare = self.run_sound("bare", then, environment=dict(client))
        outcome = self.run_sound(way, then, environment=dict(client))
        self.assertEqual(outcome.plain(), bare.plain())
        return first, self.place.events("compile"), outcome

    @each_way
    def test_a_client_loads_what_was_compiled_ahead_of_time(self, way):
        for minor in ("40", "76", "81", "100", "101", "116"):  # serialized or fingerprint
            with self.subTest(minor=minor):
                self.fresh()
                version = {"FAKE_PJRT_API_MINOR": minor}
                ahead, client, outcome = self.ahead_then_client(way, version, version, then=CLIENT if int(minor) < 97 else UNRUN)
                self.assertEqual([[event[part] for part in PARTS] for event in ahead],
                                 [[event[part] for part in PARTS] for event in client])
                self.assertEqual([event["outcome"] for event in ahead], ["miss", "miss"])
                self.assertEqual([event["found"] for event in ahead], [False, False])
                self.assertEqual([event["outcome"] for event in client], ["hit", "hit"])
                self.assertNotIn("ahead_of_time", client[0])
                self.assertEqual(outcome.real_compiles(), [])
                self.assertEqual(len(outcome.real_loads()), 2)

    @each_way
    def test_what_was_loaded_is_what_a_client_would_compile(self, way):
        self.run_sound(way, AHEAD)
        self.place.forget_runs()
        stay = [*CLIENT[:-1], "sleep=1000", CLIENT[-1]]  # time for the verification to finish
        outcome = self.run_sound(way, stay, environment={"REKINDLE_VERIFY": "1"})
        self.assertEqual(len(outcome.real_loads()), 2)
        self.assertEqual([event["outcome"] for event in self.place.events("verified")], ["same", "same"])
        self.assertEqual(outcome.told(), [])

    @each_way
    def test_it_finds_what_a_client_compiled(self, way):
        self.run_sound(way, CLIENT)
        before = self.place.entries()
        self.place.forget_runs()
        bare = self.run_sound("bare", AHEAD)
        outcome = self.run_sound(way, AHEAD)
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(len(outcome.real_compiles()), 2)  # nothing can be loaded without a client
        for event in self.place.events("compile"):
            self.assertEqual((event["outcome"], event["reason"], event["found"]), ("miss", "no_client", True))
        self.assertEqual(self.place.events("stored"), [])
        self.assertEqual(self.place.entries(), before)

    @each_way
    def test_the_second_start_finds_what_the_first_stored(self, way):
        for found in (False, True):
            self.place.forget_runs()
            outcome = self.run_sound(way, AHEAD)
            self.assertEqual(len(outcome.real_compiles()), 2)
            events = self.place.events("compile")
            self.assertEqual([event["found"] for event in events], [found, found])
            self.assertEqual(len([e for e in self.place.events("stored") if e["stored"]]), 0 if found else 2)
            clients = self.place.events("client")
            self.assertEqual([(e["client"], e["ahead_of_time"], e["devices"]) for e in clients], [(1, True, 2)])
        self.assertEqual(len(self.place.entries()), 2)

    @each_way
    def test_the_topology_of_a_client(self, way):
        words = ["client", "compile-topology=name=a outputs=2 add=2", "compile-topology=name=b", "destroy-client"]
        ahead, client, _ = self.ahead_then_client(way, words=words)
        self.assertEqual([event["key"] for event in ahead], [event["key"] for event in client])
        self.assertEqual([event["outcome"] for event in client], ["hit", "hit"])

    @each_way
    def test_a_topology_of_several_processes(self, way):
        """A client with a part of the devices loads the executable that was compiled for the whole topology."""
        words = ["topology=fake:8/4", *AHEAD[1:]]
        part = {"FAKE_PJRT_DEVICES": "8", "FAKE_PJRT_ADDRESSABLE_DEVICES": "4"}
        ahead, client, _ = self.ahead_then_client(way, client=part, words=words)
        self.assertEqual([event["key"] for event in ahead], [event["key"] for event in client])
        self.assertEqual([event["outcome"] for event in client], ["hit", "hit"])

    @each_way
    def test_what_differs(self, way):
        keys = set()
        for words, environment in (
            (AHEAD, {}),
            (["topology=fake:4", *AHEAD[1:]], {}),
            (["topology=fake:4/2", *AHEAD[1:]], {}),
            (AHEAD, {"FAKE_PJRT_VERSION": "fake 2.0"}),
            (AHEAD, {"FAKE_PJRT_DEVICE_KIND": "another"}),
            (AHEAD, {"FAKE_PJRT_PLATFORM": "other"}),
            (AHEAD, {"LIBTPU_INIT_ARGS": "--xla_tpu_something=true"}),
        ):
            self.place.forget_runs()
            self.run_sound(way, words, environment=environment)
            events = self.place.events("compile")
            self.assertEqual([event["found"] for event in events], [False, False], environment)
            keys |= {event["key"] for event in events}
        self.assertEqual(len(keys), 14)
        # If a plugin cannot describe its topology, the key uses only device kinds and counts.
        for fail in ("topology_serialize", "topology_unimplemented,topology_serialize"):
            with self.subTest(fail=fail):
                self.fresh()
                told = {"FAKE_PJRT_FAIL": fail}
                ahead, client, _ = self.ahead_then_client(way, told, told)
                self.assertEqual([event["key"] for event in ahead], [event["key"] for event in client])

    @each_way
    def test_many_topologies_and_threads(self, way):
        words = ["repeat=5{", "topology=fake:2", "thread=8{", "compile-topology=name=p{t%8}", "}", "destroy-topology",
                 "topology=fake:3", "compile-topology=name=a", "destroy-topology", "}"]
        outcome = self.run_sound(way, words)
        self.assertEqual(len(outcome.of("compile-topology")), 45)
        self.assertEqual(len(self.place.entries()), 9)
        self.assertEqual({event["devices"] for event in self.place.events("client")}, {2, 3})
        self.assertEqual(len(self.place.events("client")), 2)
        self.assertEqual(len(self.place.events("compile")), 45)

    @each_way
    def test_errors_are_the_plugins_own(self, way):
        words = ["topology=nonsense", "topology=fake:2", "compile-topology=nonsense", "compile-topology=name=a fail=no",
                 "compile-topology=name=good"]
        bare = self.run_sound("bare", words, status=1)
        outcome = self.run_sound(way, words, status=1)
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual([event["failed"] for event in self.place.events("compile")], [True, True, False])
        self.assertEqual(len(self.place.entries()), 1)

    @each_way
    def test_what_cannot_be_serialized(self, way):
        for fail, told in (("serialize", 1), ("serialize_unimplemented", 1), ("null_serialize", 0), ("empty_serialize", 0)):
            with self.subTest(fail=fail):
                self.fresh()
                environment = {"FAKE_PJRT_FAIL": fail}
                bare = self.run_sound("bare", AHEAD, environment=environment)
                outcome = self.run_sound(way, AHEAD, environment=environment)
                self.assertEqual(outcome.plain(), bare.plain())
                self.assertEqual(len(outcome.told()), told, outcome.stderr)
                self.assertEqual(self.place.entries(), [])
                self.assertEqual([event["stored"] for event in self.place.events("stored")], [False, False])

    @each_way
    def test_a_plugin_without_the_entries(self, way):
        for absent, kept in (("PJRT_Executable_Serialize", 0), ("PJRT_TopologyDescription_Serialize", 2),
                             ("PJRT_Executable_DeserializeAndLoad", 0)):
            with self.subTest(absent=absent):
                self.fresh()
                environment = {"FAKE_PJRT_NULL_ENTRIES": absent}
                bare = self.run_sound("bare", AHEAD, environment=environment)
                self.assertEqual(self.run_sound(way, AHEAD, environment=environment).plain(), bare.plain())
                self.assertEqual(len(self.place.entries()), kept)
        table = self.run_sound(way, ["table"], environment={"FAKE_PJRT_NULL_ENTRIES": "PJRT_Compile"}).of("table")[0]
        self.assertIn("PJRT_Compile", table["absent"])

    @each_way
    def test_damage_is_set_aside_and_mended(self, way):
        self.run_sound(way, AHEAD)
        for path in self.place.entries():
            with open(path, "r+b") as entry:
                entry.seek(-40, 2)
                entry.write(b"\0\1\2\3")
        self.place.forget_runs()
        self.run_sound(way, AHEAD)
        for event in self.place.events("compile"):
            self.assertEqual((event["found"], event["quarantined"], event["reason"]), (False, True, "damaged"))
        self.assertEqual(len(self.place.quarantined()), 2)
        _, client, _ = self.ahead_then_client(way)
        self.assertEqual([event["outcome"] for event in client], ["hit", "hit"])

    @each_way
    def test_modes(self, way):
        self.run_sound(way, AHEAD)
        for mode, found, stored in (("readonly", True, 0), ("refresh", False, 2), ("off", None, 0)):
            self.place.forget_runs()
            self.run_sound(way, AHEAD, environment={"REKINDLE_MODE": mode})
            events = self.place.events("compile")
            self.assertEqual([event["found"] for event in events], [] if found is None else [found, found], mode)
            self.assertEqual(len(self.place.events("stored")), stored, mode)

    @each_way
    def test_children_of_a_fork_pass_through(self, way):
        words = ["topology=fake:2", "compile-topology=name=a", "fork{", "compile-topology=name=b", "}",
                 "compile-topology=name=c"]
        self.run_sound(way, words, fork=True)
        self.assertEqual(len(self.place.events("compile")), 2)
        self.assertEqual(len(self.place.entries()), 2)

    @each_way
    def test_a_cancelled_thread(self, way):
        words = ["topology=fake:2", "cancel=200{", "compile-topology=name=slow sleep_ms=5000", "}",
                 "compile-topology=name=a"]
        outcome = self.run_sound(way, words, fork=True, environment={"FAKE_PJRT_TEARDOWN": "note"})
        self.assertEqual(outcome.of("cancel")[0]["cancelled"], True)
        self.assertEqual(len(self.place.entries()), 1)

    def test_how_entries_are_marked(self):
        self.run_sound("preload", AHEAD)
        for path in self.place.entries():
            with open(path, "rb") as entry:
                data = entry.read()
            start = data.index(b'{"name"')
            metadata = json.JSONDecoder().raw_decode(data[start:].decode("utf-8", "replace"))[0]
            self.assertIs(metadata["ahead_of_time"], True)
            self.assertEqual(metadata["devices"], 2)


if __name__ == "__main__":
    unittest.main()
