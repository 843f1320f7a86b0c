"""A framework and a plugin of different PJRT versions work together, or the error names both versions."""

import unittest

from faultlib import FaultCase, each_way

VERSIONS = (40, 60, 81, 104, 116)
# Every entry whose struct has grown, and the entries that they need.
WORDS = ["init", "attributes", "client", "memories", "device-stats", "compile=name=a outputs=2 add=1", "memory-stats",
         "location=train.py:7", "execute=0:2", "tohost", "destroy-buffers", "view", "tohost", "serialize", "load",
         "execute=1", "tohost", "destroy-exec=0"]
DEVICE_FIGURES = 12, 111  # from each of these versions on there is one more
MEMORY_FIGURES = {40: 5, 43: 10, 72: 11, 90: 12, 104: 15}


def plugin(minor, **more):
    return {"FAKE_PJRT_API_MINOR": str(minor), **more}


def memory_figures(minor):
    return [count for since, count in MEMORY_FIGURES.items() if minor >= since][-1]


class Pairs(FaultCase):
    def check_pair(self, way, caller, minor):
        words = [f"minor={caller}", *WORDS]
        alike = self.run_sound("bare", words, environment=plugin(caller))
        # In the second start rekindle itself calls PJRT_Executable_DeserializeAndLoad, with its own version's struct.
        for compiled, checked in ((1, {"FAKE_PJRT_CALLER_MINOR": str(caller)}), (0, {})):
            outcome = self.run_sound(way, words, environment=plugin(minor, **checked))
            self.assertEqual(len(outcome.real_compiles()), compiled)
            for one, other in zip(outcome.plain(), alike.plain(), strict=True):
                if one["action"] == "memory-stats":
                    # The plugin fills the fields of its version; the caller's other fields stay unchanged.
                    known = min(memory_figures(caller), memory_figures(minor))
                    self.assertEqual(one["figures"][:known], list(range(1, known + 1)))
                    self.assertEqual(one["figures"][known:], [0] * (memory_figures(caller) - known))
                elif one["action"] == "device-stats":
                    self.assertEqual(one["figures"][:10], list(range(1, 11)))
                else:
                    self.assertEqual(one, other)
            location = "train.py:7" if min(caller, minor) >= 76 else ""
            self.assertEqual({detail.split("call_location=")[1] for detail in outcome.traced("options")}, {location})
            self.assertEqual({detail.split()[1] for detail in outcome.traced("options")}, {"launch_id=7"})
            self.check_nothing_left(outcome)

    @each_way
    def test_every_pair(self, way):
        for caller in VERSIONS:
            for minor in VERSIONS:
                with self.subTest(caller=caller, plugin=minor):
                    self.fresh()
                    self.check_pair(way, caller, minor)

    @each_way
    def test_tables_that_understate_their_size(self, way):
        """Tables before 0.57 give a size that is too small; the entries beyond it work, and their structs grew."""
        for caller, minor in ((40, 55), (55, 40), (55, 55), (47, 52)):
            with self.subTest(caller=caller, plugin=minor):
                self.fresh()
                self.check_pair(way, caller, minor)

    def test_without_rekindle_older_callers_are_refused(self):
        """Without the bridge, the fake plugin refuses older callers as real plugins do."""
        for caller in VERSIONS:
            for minor in VERSIONS:
                outcome = self.place.run("bare", [f"minor={caller}", *WORDS], environment=plugin(minor))
                refused = [answer for answer in outcome.answers if "Unexpected PJRT_" in answer.get("message", "")]
                self.assertEqual(bool(refused), caller < minor, (caller, minor))

    @each_way
    def test_later_entries(self, way):
        """PJRT_Client_CreateErrorBuffer and PJRT_Device_PoisonExecution, newer than the header, are bridged too."""
        words = ["minor=90", "extra=0", "extra=3"]
        environment = plugin(104, FAKE_PJRT_CALLER_MINOR="90")
        bare = self.run_sound("bare", words, status=1, environment=environment)
        self.assertEqual([answer["ok"] for answer in bare.of("extra")], [False, False])
        outcome = self.run_sound(way, words, environment=environment)
        self.assertEqual([answer["slot"] for answer in outcome.of("extra")], [0, 3])

    @each_way
    def test_many_threads(self, way):
        """Concurrent first calls of many threads all work."""
        words = ["minor=60", "client", "thread=8{", "compile=name=a{t}", "repeat=20{", "execute", "destroy-buffers", "}",
                 "}"]
        outcome = self.run_sound(way, words, environment=plugin(116, FAKE_PJRT_CALLER_MINOR="60"))
        self.assertEqual({answer["ok"] for answer in outcome.of("execute")}, {True})
        self.assertEqual(len(outcome.of("execute")), 160)


class Unknown(FaultCase):
    """Plugins with struct sizes that no version table contains."""

    @each_way
    def test_a_watched_struct_grew(self, way):
        """If a watched struct has grown, rekindle takes its size from the plugin's error."""
        words = ["client", "compile=name=a", "execute=0:1", "execute=0:1", "tohost", "serialize", "load"]
        grown = "PJRT_ExecuteOptions:160,PJRT_LoadedExecutable_Execute:96,PJRT_Client_Compile:72,"
        grown += "PJRT_Executable_DeserializeAndLoad:88,PJRT_Client_BufferFromHostBuffer:128"
        environment = plugin(117, FAKE_PJRT_GROWN=grown, FAKE_PJRT_CALLER_MINOR="81")
        alike = self.run_sound("bare", words)
        for compiled in (1, 0):
            outcome = self.run_sound(way, words, environment=environment)
            self.assertEqual(outcome.plain(), alike.plain())
            self.assertEqual(len(outcome.real_compiles()), compiled)
            self.check_nothing_left(outcome)
            refused = [detail for detail in outcome.traced("PJRT_LoadedExecutable_Execute") if "Unexpected" in detail]
            self.assertLessEqual(len(refused), 2, "it is learned once for each struct")

    @each_way
    def test_an_unwatched_struct_grew(self, way):
        """If an unwatched struct has grown, the error is the plugin's own plus both versions."""
        environment = plugin(81, FAKE_PJRT_GROWN="PJRT_Client_PlatformName:48")
        for caller, speaks in ((60, "0.60 or older"), (71, "0.80 or older")):
            words = [f"minor={caller}", "attributes", "client", "client"]
            outcome = self.run_sound(way, words, status=1, environment=environment)
            for answer in outcome.of("client"):
                self.assertEqual(answer["code"], 3)
                self.assertEqual(answer["message"],
                                 "Unexpected PJRT_Client_PlatformName_Args size: expected 48, got 40. Check installed "
                                 "software versions. The framework PJRT API version is 0.81. rekindle: the framework "
                                 f"has PJRT API {speaks}, this plugin 0.81, and rekindle does not bridge "
                                 "PJRT_Client_PlatformName_Args between them; use a plugin built for the framework's "
                                 "version, or a framework as new as the plugin")
            self.check_nothing_left(outcome)

    @each_way
    def test_a_plugin_that_takes_no_longer_structs(self, way):
        """On a plugin that refuses longer structs, a newer framework works as long as it uses no newer field."""
        words = ["minor=116", "init", "attributes", "client", "memories", "device-stats", "compile=name=a",
                 "memory-stats", "execute=0:1", "tohost", "view", "serialize"]
        environment = plugin(60, FAKE_PJRT_STRICT="1")
        bare = self.place.run("bare", words, environment=environment)
        self.assertIn("Unexpected", bare.of("client")[0]["message"])
        for compiled in (1, 0):
            outcome = self.run_sound(way, words, environment=environment)
            self.assertEqual(len(outcome.real_compiles()), compiled)
            self.check_nothing_left(outcome)

    @each_way
    def test_what_such_a_plugin_cannot_be_told(self, way):
        words = ["minor=116", "client", "compile=name=a", "location=train.py:7", "execute"]
        outcome = self.run_sound(way, words, status=1, environment=plugin(60, FAKE_PJRT_STRICT="1"))
        answer = outcome.of("execute")[0]
        self.assertEqual(answer["code"], 9)
        self.assertEqual(answer["message"],
                         "rekindle: this plugin has PJRT API 0.60 and accepts a PJRT_ExecuteOptions of 72 bytes; the "
                         "framework has 0.111 or newer, passes 144 bytes, and sets a later field (byte 80); use a "
                         "plugin as new as the framework")
        self.check_nothing_left(outcome)


if __name__ == "__main__":
    unittest.main()
