"""A plugin that is missing or misbehaves."""

import os
import re
import signal
import unittest

from faultlib import FAKE, NO_API, PLUGIN_WAY, FaultCase, each_way

CANNOT_LOAD = ("rekindle: this plugin (PJRT API 0.81) cannot load executables, and PJRT has no other way to make one from "
               "bytes; so its programs are compiled at every start: ")
WORDS = ["client", "compile=name=a outputs=2 add=2", "compile=name=b", "inspect=0", "execute=0:1", "tohost"]


class AbsentPlugin(FaultCase):
    """The plugin entry path with a wrong REKINDLE_PLUGIN: the framework gets an error that it can show."""

    def check(self, plugin, *expected):
        environment = {"REKINDLE_PLUGIN": plugin}
        outcome = self.run_sound("plugin", ["table", "again", "attributes", "init", "client"], status=1,
                                 environment=environment)
        self.assertTrue(outcome.of("lib")[0]["ok"])
        self.assertTrue(outcome.of("attributes")[0]["ok"])
        for answer in outcome.of("init") + outcome.of("client"):
            self.assertFalse(answer["ok"])
            self.assertGreater(answer["code"], 0)
            self.assertIn("REKINDLE_PLUGIN", answer["message"])
            for text in expected:
                self.assertIn(text, answer["message"])
        self.assertFalse(os.path.exists(self.place.store))

    def test_missing(self):
        self.check("/nonexistent/plugin.so", "/nonexistent/plugin.so", "No such file")

    def test_not_set(self):
        self.check("", "is not set")

    def test_not_a_library(self):
        path = os.path.join(self.place.path, "plugin.so")
        with open(path, "w", encoding="ascii") as plugin:
            plugin.write("#!/bin/sh\n")
        self.check(path, path)

    def test_a_directory(self):
        self.check(self.place.path, self.place.path)

    def test_a_library_without_the_symbol(self):
        self.check(NO_API, NO_API, "GetPjrtApi")

    def test_rekindle_itself(self):
        self.check(PLUGIN_WAY, "rekindle itself")

    @each_way
    def test_a_plugin_without_a_table(self, way):
        outcome = self.run_sound(way, ["init"] if way == "plugin" else [], status=1,
                                 environment={"FAKE_PJRT_FAIL": "api"})
        if way == "plugin":
            self.assertIn("REKINDLE_PLUGIN", outcome.of("init")[0]["message"])
        else:
            self.assertEqual(outcome.of("lib")[0]["message"], "GetPjrtApi gave NULL")


def asked_for(fault):
    """Returns variables for a fault in requested loads, without prefetching; for prefetching see test_prefetch*.py."""
    return {"FAKE_PJRT_FAIL": fault, "REKINDLE_PRELOAD": "0"}


class Loading(FaultCase):
    """The store has an entry that the plugin does not load."""

    @each_way
    def test_refused_entries_are_replaced(self, way):
        bare = self.run_sound("bare", WORDS)
        self.run_sound(way, WORDS)
        self.place.forget_runs()
        outcome = self.run_sound(way, WORDS, environment={"FAKE_PJRT_FAIL": "deserialize"})
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(len(outcome.real_compiles()), 2)
        self.assertEqual(len(self.place.quarantined()), 2)
        compiles = self.place.events("compile")
        self.assertEqual([event["deserialize_failed"] for event in compiles], [True, True])
        self.assertEqual([event["quarantined"] for event in compiles], [True, True])
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        self.check_nothing_left(outcome)
        self.check_warm(way, WORDS)

    @each_way
    def test_one_refusal(self, way):
        self.run_sound(way, WORDS)
        outcome = self.run_sound(way, WORDS, environment=asked_for("deserialize:1"))
        self.assertEqual((len(outcome.real_compiles()), len(outcome.real_loads())), (1, 1))
        self.check_warm(way, WORDS)

    @each_way
    def test_no_executable_and_no_error(self, way):
        bare = self.run_sound("bare", WORDS)
        self.run_sound(way, WORDS)
        outcome = self.run_sound(way, WORDS, environment={"FAKE_PJRT_FAIL": "null_deserialize"})
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(len(outcome.real_compiles()), 2)

    @each_way
    def test_unimplemented(self, way):
        """If the plugin cannot load, the job compiles and warns once; the entries stay for another plugin."""
        bare = self.run_sound("bare", WORDS)
        self.run_sound(way, WORDS)
        outcome = self.run_sound(way, WORDS, environment=asked_for("deserialize_unimplemented"))
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(len(outcome.real_compiles()), 2)
        asked = outcome.traced("PJRT_Executable_DeserializeAndLoad")
        self.assertEqual(asked.count("begin"), 2, "it is asked once in either way")
        self.assertEqual(self.place.quarantined(), [])
        self.assertEqual(outcome.told(), [CANNOT_LOAD + "fake: cannot deserialize"])
        self.check_nothing_left(outcome)
        self.check_warm(way, WORDS)

    @each_way
    def test_one_that_cannot_be_loaded_here(self, way):
        """If one executable cannot be loaded here and others can, only that one is compiled, and loading goes on."""
        words = ["client", *[f"compile=name=p{number}" for number in range(3)]]
        self.run_sound(way, words)
        self.place.forget_runs()
        environment = {"FAKE_PJRT_FAIL": "deserialize_unimplemented:+1", "REKINDLE_PRELOAD": "0"}
        outcome = self.run_sound(way, [*words, "compile=name=new"], environment=environment)
        self.assertEqual(outcome.real_compiles(), ["name=p1", "name=p2", "name=new"])
        events = self.place.events("compile")
        self.assertEqual([event.get("reason") for event in events], [None, "unimplemented", "unimplemented", "absent"])
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        self.assertIn("was not loaded and is compiled again", outcome.told()[0])
        self.check_warm(way, [*words, "compile=name=new"])

    @each_way
    def test_options_that_cannot_be_overridden(self, way):
        """If options cannot be overridden, the executable's own are used; they agree in all that the key covers."""
        bare = self.run_sound("bare", WORDS)
        self.run_sound(way, WORDS)
        outcome = self.check_warm(way, WORDS, environment=asked_for("deserialize_override"))
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(outcome.real_loads(), ["name=a override=no", "name=b override=no"])
        refused = [line for line in outcome.traced("PJRT_Executable_DeserializeAndLoad") if "cannot be over" in line]
        self.assertEqual(len(refused), 1, "it is asked once")
        self.assertEqual(outcome.told(), [])
        self.check_nothing_left(outcome)

    @each_way
    def test_a_plugin_without_the_entry(self, way):
        environment = {"FAKE_PJRT_NULL_ENTRIES": "PJRT_Executable_DeserializeAndLoad"}
        bare = self.run_sound("bare", WORDS, environment=environment)
        outcome = self.run_sound(way, WORDS, environment=environment)
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(self.place.entries(), [])
        self.assertEqual(outcome.told(), [CANNOT_LOAD + "it has no PJRT_Executable_DeserializeAndLoad"])
        self.assertEqual({event["reason"] for event in self.place.events("compile")}, {"plugin cannot load executables"})
        self.check_nothing_left(outcome)

    @each_way
    def test_damaged_entries_never_reach_the_plugin(self, way):
        """Every kind of damage is found before the load; the fake plugin aborts on damaged bytes."""

        def flip(data):
            data[len(data) // 2] ^= 0x10
            return data

        for damage in (flip, lambda data: data[:-1], lambda data: data[:100], lambda data: b"", lambda data: b"x" * 300):
            self.run_sound(way, WORDS)
            for path in self.place.entries():
                with open(path, "rb") as entry:
                    data = bytearray(entry.read())
                os.chmod(path, 0o600)
                with open(path, "wb") as entry:
                    entry.write(damage(data))
            outcome = self.run_sound(way, WORDS)
            self.assertEqual(len(outcome.real_compiles()), 2)
            self.assertEqual(len(self.place.quarantined()), 2)
            self.check_warm(way, WORDS)
            self.fresh()

    @each_way
    def test_swapped_entries(self, way):
        self.run_sound(way, WORDS)
        one, two = self.place.entries()
        os.rename(one, one + ".swap")
        os.rename(two, one)
        os.rename(one + ".swap", two)
        outcome = self.run_sound(way, WORDS)
        self.assertEqual(len(outcome.real_compiles()), 2)
        self.check_warm(way, WORDS)


class Storing(FaultCase):
    """Executables that cannot be serialized."""

    def check_not_stored(self, way, fail, told=1):
        bare = self.run_sound("bare", WORDS)
        outcome = self.run_sound(way, WORDS, environment={"FAKE_PJRT_FAIL": fail})
        self.assertEqual(outcome.plain(), bare.plain(), fail)
        self.assertEqual(self.place.entries(), [], fail)
        self.assertLessEqual(len(outcome.told()), told, outcome.stderr)
        self.check_nothing_left(outcome)
        # The next start finds no entry, compiles and stores.
        self.run_sound(way, WORDS)
        self.check_warm(way, WORDS)
        return outcome

    @each_way
    def test_serialize_fails(self, way):
        self.check_not_stored(way, "serialize")
        self.assertEqual({event["reason"] for event in self.place.events("stored") if not event["stored"]},
                         {"serialize_failed"})

    @each_way
    def test_serialize_unimplemented(self, way):
        self.check_not_stored(way, "serialize_unimplemented")

    @each_way
    def test_serialize_gives_nothing(self, way):
        self.check_not_stored(way, "null_serialize")

    @each_way
    def test_serialize_gives_no_bytes(self, way):
        self.check_not_stored(way, "empty_serialize")

    def compile_only(self, way, fail):
        """Only compiles and checks the store, because the host itself needs the failing call."""
        words = ["client", "compile=name=a", "compile=name=b"]
        bare = self.run_sound("bare", words)
        outcome = self.run_sound(way, words, environment={"FAKE_PJRT_FAIL": fail})
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(self.place.entries(), [])
        self.check_nothing_left(outcome)

    @each_way
    def test_get_executable_fails(self, way):
        self.compile_only(way, "get_executable")

    @each_way
    def test_get_executable_gives_nothing(self, way):
        self.compile_only(way, "null_executable")

    @each_way
    def test_loaded_but_not_named(self, way):
        words = ["client", "compile=name=a"]
        self.run_sound(way, words)
        self.check_warm(way, words, environment={"FAKE_PJRT_FAIL": "get_executable"})
        self.check_warm(way, words, environment={"FAKE_PJRT_FAIL": "null_executable"})

    @each_way
    def test_serialize_crashes(self, way):
        """A plugin that crashes ends the process, but leaves no torn entry."""
        words = ["client", "compile=name=a", "sleep=5000"]
        outcome = self.place.run(way, words, environment={"FAKE_PJRT_FAIL": "crash_serialize"}, crash=True)
        self.assertEqual(outcome.status, -signal.SIGSEGV)
        self.assertEqual(self.place.entries(), [])
        # The workaround is a mode that stores nothing.
        self.run_sound(way, words[:2], environment={"FAKE_PJRT_FAIL": "crash_serialize", "REKINDLE_MODE": "readonly"})
        self.run_sound(way, words[:2])
        self.check_warm(way, words[:2])


class Describing(FaultCase):
    """Facts for the key that the plugin does not give."""

    @each_way
    def test_facts_that_may_be_absent(self, way):
        for fail in ("attributes", "topology", "topology_unimplemented", "topology_serialize", "null_topology"):
            self.fresh()
            environment = {"FAKE_PJRT_FAIL": fail}
            bare = self.run_sound("bare", WORDS, environment=environment)
            cold = self.run_sound(way, WORDS, environment=environment)
            self.assertEqual(cold.plain(), bare.plain(), fail)
            self.check_nothing_left(cold)
            self.check_warm(way, WORDS, environment=environment)

    @each_way
    def test_facts_that_must_be_there(self, way):
        """Without platform name or version there is no key: nothing is stored and the job continues."""
        for fail in ("platform_name", "platform_version"):
            self.fresh()
            environment = {"FAKE_PJRT_FAIL": fail}
            bare = self.run_sound("bare", WORDS, status=1, environment=environment)
            for _ in range(2):
                outcome = self.run_sound(way, WORDS, status=1, environment=environment)
                self.assertEqual(outcome.plain(), bare.plain(), fail)
                self.assertEqual(len(outcome.real_compiles()), 2, fail)
                self.assertEqual(len(outcome.told()), 1, outcome.stderr)
            self.assertEqual(self.place.entries(), [])

    @each_way
    def test_a_client_that_cannot_be_made(self, way):
        for fail in ("client_create", "initialize"):
            environment = {"FAKE_PJRT_FAIL": fail}
            words = ["init"] if fail == "initialize" else ["init", "client"]
            bare = self.run_sound("bare", words, status=1, environment=environment)
            outcome = self.run_sound(way, words, status=1, environment=environment)
            self.assertEqual(outcome.plain(), bare.plain())
            self.assertEqual((outcome.told(), self.place.entries()), ([], []))
            (event,) = self.place.events("unwatched")
            self.assertEqual(event["plugin"], FAKE)
            what = "it cannot be initialized: " if fail == "initialize" else "it made no client: "
            self.assertEqual(event["reason"], what + bare.answers[-1]["message"])
            self.place.forget_runs()
            self.check_nothing_left(outcome)

    @each_way
    def test_entries_that_are_null(self, way):
        """On a plugin without optional entries the job runs as without rekindle."""
        words = ["client", "compile=name=a", "compile=name=b"]
        for absent in ("PJRT_Executable_Serialize", "PJRT_Executable_DeserializeAndLoad", "PJRT_Executable_Name",
                       "PJRT_LoadedExecutable_GetExecutable", "PJRT_Client_TopologyDescription",
                       "PJRT_TopologyDescription_Serialize", "PJRT_Plugin_Attributes", "PJRT_Executable_Destroy",
                       "PJRT_LoadedExecutable_Delete", "PJRT_Buffer_CopyRawToHost"):
            with self.subTest(absent=absent):
                self.fresh()
                environment = {"FAKE_PJRT_NULL_ENTRIES": absent}
                bare = self.run_sound("bare", words, environment=environment)
                for _ in range(2):
                    outcome = self.run_sound(way, ["table", *words], environment=environment)
                    self.assertEqual(outcome.of("table")[0]["absent"], [absent])
                    self.assertEqual(outcome.plain()[2:], bare.plain()[1:])


class Errors(FaultCase):
    @each_way
    def test_errors_of_the_plugin_pass_unchanged(self, way):
        words = ["client", "compile=name=a fail=x", "compile=name=b", "execute=0", "load"]
        environment = {"FAKE_PJRT_FAIL": "execute"}
        bare = self.run_sound("bare", words, status=1, environment=environment)
        for _ in range(2):
            outcome = self.run_sound(way, words, status=1, environment=environment)
            self.assertEqual(outcome.plain(), bare.plain())
            self.check_nothing_left(outcome)

    @each_way
    def test_warnings_name_no_secret_and_are_single_lines(self, way):
        outcome = self.run_sound(way, WORDS, environment={"FAKE_PJRT_FAIL": "serialize"})
        for line in outcome.stderr.splitlines():
            self.assertRegex(line, re.compile(r"^rekindle: "))
        self.assertTrue(os.path.exists(FAKE))


if __name__ == "__main__":
    unittest.main()
