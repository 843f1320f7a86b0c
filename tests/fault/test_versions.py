"""Plugins that are older or newer than the header that rekindle was built with."""

import unittest

from faultlib import FAKE, FaultCase, each_way

# Versions in which the end of the table or an argument struct changed: see tests/fake_plugin. 0.56 is missing because
# its table has another order.
MINORS = (40, 47, 48, 52, 55, 57, 59, 60, 61, 63, 66, 70, 71, 72, 76, 78, 79, 81, 82, 90, 97, 99, 101, 106, 110, 116)
WORDS = ["init", "attributes", "client", "compile=name=a outputs=2 add=1", "compile=name=b", "compile=nonsense",
         "execute=0:2", "tohost", "destroy-buffers", "destroy-exec=1", "destroy-client"]
HEADER_MINOR = 81
LAST_EXTRA_SLOT = 19
# Watched entries that came after the header, by version and slot.
LATER_WATCHED = {82: 0, 85: 3, 99: 14}


class Versions(FaultCase):
    @each_way
    def test_every_version(self, way):
        """Every plugin version works, including versions that refuse a framework of the header's version."""
        for minor in MINORS:
            with self.subTest(minor=minor):
                self.fresh()
                environment = {"FAKE_PJRT_API_MINOR": str(minor), "FAKE_PJRT_CALLER_MINOR": str(HEADER_MINOR)}
                bare = self.run_sound("bare", [f"minor={minor}", *WORDS], status=1,
                                      environment={"FAKE_PJRT_API_MINOR": str(minor)})
                cold = self.run_sound(way, WORDS, status=1, environment=environment)
                self.assertEqual(cold.plain(), bare.plain())
                self.assertEqual(len(cold.real_compiles()), 2)
                warm = self.run_sound(way, WORDS, status=1, environment=environment)
                self.assertEqual(warm.plain(), bare.plain())
                self.assertEqual(warm.real_compiles(), [])
                # The plugin's struct has a field for the caller's options since 0.71.
                override = "yes" if minor >= 71 else "no"
                self.assertEqual({detail.split("override=")[1] for detail in warm.real_loads()}, {override})
                self.check_nothing_left(cold)
                self.check_nothing_left(warm)

    @each_way
    def test_the_version_with_an_order_of_its_own(self, way):
        """0.56 has another order of entries: its table is passed on unchanged, with one warning."""
        environment = {"FAKE_PJRT_API_MINOR": "56"}
        outcome = self.run_sound(way, ["table", "minor=56", *WORDS], status=1, environment=environment)
        self.assertTrue(outcome.of("table")[0]["is_bare"])
        self.assertEqual(outcome.told(), [f"rekindle: the PJRT plugin {FAKE} is not watched: rekindle does not know PJRT "
                                          "API 0.56"])
        self.assertEqual(self.place.entries(), [])
        self.assertEqual([(event["plugin"], event["reason"]) for event in self.place.events("unwatched")],
                         [(FAKE, "rekindle does not know PJRT API 0.56")])
        self.assertEqual(len(self.place.events("end")), 1)

    @each_way
    def test_the_whole_table_is_copied(self, way):
        for minor in MINORS:
            with self.subTest(minor=minor):
                self.fresh()
                environment = {"FAKE_PJRT_API_MINOR": str(minor)}
                bare = self.run_sound("bare", ["table"], environment=environment).of("table")[0]
                table = self.run_sound(way, ["table"], environment=environment).of("table")[0]
                for key in ("struct_size", "major", "minor", "absent"):
                    self.assertEqual(table[key], bare[key], key)
                self.assertEqual(table["struct_size"], table["bare_struct_size"])
                self.assertEqual(table["extension_start"], table["bare_extension_start"])
                self.assertEqual(table["replaced_extra"], [slot for since, slot in LATER_WATCHED.items() if minor >= since])

    @each_way
    def test_newer_entries_are_called_through(self, way):
        words = [f"extra={slot}" for slot in range(LAST_EXTRA_SLOT + 1) if slot not in (14, 15)]
        outcome = self.run_sound(way, ["minor=116", *words], environment={"FAKE_PJRT_API_MINOR": "116"})
        self.assertEqual([f"extra={answer['slot']}" for answer in outcome.of("extra")], words)

    @each_way
    def test_payloads_of_errors(self, way):
        """PJRT_Error_ForEachPayload (0.99) works for errors of the plugin and of rekindle."""
        environment = {"FAKE_PJRT_API_MINOR": "105"}
        outcome = self.run_sound(way, ["client", "compile=nonsense"], status=1, environment=environment)
        answer = outcome.of("compile")[0]
        self.assertEqual((answer["payloads_ok"], answer["payloads"]), (True, 1))

    @each_way
    def test_versions_do_not_share_entries(self, way):
        self.run_sound(way, ["client", "compile=name=a"], environment={"FAKE_PJRT_API_MINOR": "80"})
        outcome = self.run_sound(way, ["client", "compile=name=a"], environment={"FAKE_PJRT_API_MINOR": "81"})
        self.assertEqual(len(outcome.real_compiles()), 1)


if __name__ == "__main__":
    unittest.main()
