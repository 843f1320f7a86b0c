"""Both entry paths on a plugin without faults: cold and warm starts, parity with the bare plugin, modes, tables."""

import os
import shutil
import subprocess
import unittest

from faultlib import FAKE, PRELOAD, SANITIZER, WAYS, FaultCase, each_way

REKINDLE = os.environ["FAULT_REKINDLE"]

TWO_PROGRAMS = ["init", "attributes", "client", "compile=name=first outputs=2 add=1.5", "compile=name=second",
                "inspect=0", "inspect=1", "execute=0:2", "execute=1", "tohost", "destroy-buffers"]


class Basics(FaultCase):
    @each_way
    def test_cold_then_warm(self, way):
        bare = self.run_sound("bare", TWO_PROGRAMS)
        cold = self.run_sound(way, TWO_PROGRAMS)
        self.assertEqual(len(cold.real_compiles()), 2)
        self.assertEqual(len(self.place.entries()), 2)
        warm = self.check_warm(way, TWO_PROGRAMS)
        self.assertEqual(len(warm.real_loads()), 2)
        self.assertEqual(cold.plain(), bare.plain())
        self.assertEqual(warm.plain(), bare.plain())
        self.check_nothing_left(cold)
        self.check_nothing_left(warm)
        self.assertEqual(cold.told() + warm.told(), [])

    @each_way
    def test_journal(self, way):
        self.run_sound(way, TWO_PROGRAMS)
        self.run_sound(way, TWO_PROGRAMS)
        compiles = self.place.events("compile")
        self.assertEqual(sorted(event["outcome"] for event in compiles), ["hit", "hit", "miss", "miss"])
        self.assertEqual({event["name"] for event in compiles}, {"first", "second"})
        self.assertEqual([event["stored"] for event in self.place.events("stored")], [True, True])
        self.assertEqual(len(self.place.events("end")), 2)
        last = self.place.events("counts")[-1]
        self.assertEqual(last["executions"], 2)
        self.assertEqual((last["host_to_device"], last["host_to_device_bytes"]), (2, 32))
        self.assertEqual((last["device_to_host"], last["device_to_host_bytes"]), (3, 48))

    @each_way
    def test_the_two_ways_share_entries(self, way):
        self.run_sound(way, TWO_PROGRAMS)
        other = WAYS[1 - WAYS.index(way)]
        self.check_warm(other, TWO_PROGRAMS)

    @each_way
    def test_another_program_or_version_is_compiled(self, way):
        self.run_sound(way, ["client", "compile=name=a"])
        for words, environment in (
            (["client", "compile=name=a add=1"], {}),
            (["client", "compile=name=a"], {"FAKE_PJRT_VERSION": "fake 2.0"}),
            (["client", "compile=name=a"], {"FAKE_PJRT_DEVICES": "4"}),
            (["client", "compile=name=a"], {"FAKE_PJRT_DEVICE_KIND": "fake-device-2"}),
            (["client", "compile=name=a"], {"XLA_FLAGS": "--xla_something=true"}),
        ):
            outcome = self.run_sound(way, words, environment=environment)
            self.assertEqual(len(outcome.real_compiles()), 1, (words, environment))
            self.check_warm(way, words, environment=environment)

    @each_way
    def test_error_of_the_compiler_is_unchanged(self, way):
        words = ["client", "compile=name=bad fail=because", "compile=nonsense", "compile=name=good"]
        bare = self.run_sound("bare", words, status=1)
        for _ in range(2):
            outcome = self.run_sound(way, words, status=1)
            self.assertEqual(outcome.plain(), bare.plain())
            self.check_nothing_left(outcome)
        self.assertEqual(len(self.place.entries()), 1)
        failed = [event for event in self.place.events("compile") if event["failed"]]
        self.assertEqual(len(failed), 4)

    @each_way
    def test_the_frameworks_own_cache_works(self, way):
        words = ["client", "compile=name=a", "serialize", "load", "destroy-exec=0", "destroy-exec=1",
                 "compile-topology=name=b", "destroy-client"]
        bare = self.run_sound("bare", words)
        for _ in range(2):
            self.assertEqual(self.run_sound(way, words).plain(), bare.plain())

    @each_way
    def test_several_clients(self, way):
        words = ["client", "compile=name=a", "client", "compile=name=a", "compile=name=b", "client",
                 "destroy-exec=1", "destroy-exec=2", "destroy-client=1", "use-client=2", "compile=name=b",
                 "destroy-client=2", "use-client=0", "compile=name=c", "execute", "tohost"]
        bare = self.run_sound("bare", words)
        cold = self.run_sound(way, words)
        self.assertEqual(cold.plain(), bare.plain())
        self.assertEqual(len(set(cold.real_compiles())), 3)
        self.assertEqual(self.check_warm(way, words).plain(), bare.plain())

    @each_way
    def test_destroyed_right_after_compilation(self, way):
        """Executables are stored even if executable and client are destroyed right after the compilation."""
        words = ["client", "repeat=20{", "compile=name=p{r}", "destroy-exec", "}", "destroy-client"]
        slow = {"FAKE_PJRT_SERIALIZE_MS": "5"}
        self.run_sound(way, words, environment=slow)
        self.assertEqual(len(self.place.entries()), 20)
        self.check_warm(way, words)

    @each_way
    def test_dlclose(self, way):
        words = ["client", "compile=name=a", "destroy-exec", "destroy-client", "dlclose", "sleep=20"]
        self.run_sound(way, words)
        self.check_warm(way, words)

    @each_way
    def test_dlclose_while_storing(self, way):
        words = ["client", "compile=name=a", "dlclose", "sleep=20"]
        self.run_sound(way, words, environment={"FAKE_PJRT_SERIALIZE_MS": "300"})
        self.check_warm(way, words)


class NoClient(FaultCase):
    """A plugin exists but is not watched: `rekindle run` says so and gives the reason."""

    def summary(self, words, place=None, status=None, **environment):
        argv, env, _ = (place or self.place).command("bare", words, environment=environment)
        done = subprocess.run([REKINDLE, "run", "--", *argv], env=env, capture_output=True, text=True, timeout=60,
                              check=False)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        return [line.removeprefix("rekindle: ") for line in done.stderr.splitlines() if line.startswith("rekindle: ")]

    @unittest.skipIf(SANITIZER, "a sanitized library cannot be preloaded into `env`")
    def test_the_plugin_makes_no_client(self):
        words = ["client", "client"]
        bare = self.run_sound("bare", words, status=1, environment={"FAKE_PJRT_FAIL": "client_create"})
        reason = "it made no client: " + bare.of("client")[0]["message"]
        self.assertEqual(self.summary(words, status=1, FAKE_PJRT_FAIL="client_create"),
                         [f"nothing to keep, the PJRT plugin {FAKE} was not watched: {reason}"])
        self.assertEqual([event["reason"] for event in self.place.events("unwatched")], [reason])
        self.assertEqual(len(self.place.events("end")), 1)

    @unittest.skipIf(SANITIZER, "a sanitized library cannot be preloaded into `env`")
    def test_a_table_that_is_not_known(self):
        said = self.summary(["table"], FAKE_PJRT_API_MINOR="56")
        reason = "rekindle does not know PJRT API 0.56"
        self.assertEqual(said, [f"the PJRT plugin {FAKE} is not watched: {reason}",
                                f"nothing to keep, the PJRT plugin {FAKE} was not watched: {reason}; "
                                "1 warning: see `rekindle stats`"])

    @each_way
    def test_a_client_after_all(self, way):
        """If only the first attempt to make a client fails, there is one process and one journal, and all is stored."""
        words = ["client", "client", "compile=name=a"]
        fails = {"FAKE_PJRT_FAIL": "client_create:1"}
        cold = self.run_sound(way, words, status=1, environment=fails)
        self.assertEqual([answer["ok"] for answer in cold.of("client")], [False, True])
        self.assertEqual(cold.told(), [])
        self.assertEqual(len(self.place.files("runs", ".jsonl")), 1)
        self.assertEqual(len(self.place.entries()), 1)
        warm = self.run_sound(way, words, status=1, environment=fails)
        self.assertEqual(warm.real_compiles(), [])

    @each_way
    def test_a_client_in_a_child(self, way):
        """If the parent has no client, rekindle still works in its children."""
        words = ["client", "fork{", "client", "compile=name=a", "}", "fork{", "client", "compile=name=a", "}"]
        outcome = self.run_sound(way, words, status=1, environment={"FAKE_PJRT_FAIL": "client_create:1"}, fork=True)
        self.assertEqual([answer["ok"] for answer in outcome.of("client")], [False, True, True])
        self.assertEqual(len(outcome.real_compiles()), 1)
        self.assertEqual(len(self.place.files("runs", ".jsonl")), 3)

    @each_way
    def test_off(self, way):
        self.run_sound(way, ["client"], status=1,
                       environment={"FAKE_PJRT_FAIL": "client_create", "REKINDLE_MODE": "off"})
        self.assertFalse(os.path.exists(self.place.store))


class Modes(FaultCase):
    @each_way
    def test_off(self, way):
        outcome = self.run_sound(way, ["table", *TWO_PROGRAMS], environment={"REKINDLE_MODE": "off"})
        self.assertTrue(outcome.of("table")[0]["is_bare"])
        self.assertFalse(os.path.exists(self.place.store))
        self.assertEqual(outcome.told(), [])

    @each_way
    def test_readonly(self, way):
        self.run_sound(way, ["client", "compile=name=old"])
        self.place.forget_runs()
        before = self.place.files("")
        outcome = self.run_sound(way, ["client", "compile=name=old", "compile=name=new"],
                                 environment={"REKINDLE_MODE": "readonly"})
        self.assertEqual(outcome.real_compiles(), ["name=new"])
        self.assertEqual([path for path in self.place.files("") if "/runs/" not in path], before)

    @each_way
    def test_refresh(self, way):
        words = ["client", "compile=name=a"]
        self.run_sound(way, words)
        before = os.stat(self.place.entries()[0]).st_ino
        outcome = self.run_sound(way, words, environment={"REKINDLE_MODE": "refresh"})
        self.assertEqual(len(outcome.real_compiles()), 1)
        self.assertNotEqual(os.stat(self.place.entries()[0]).st_ino, before)
        self.check_warm(way, words)

    @each_way
    def test_settings_that_make_no_sense(self, way):
        bare = self.run_sound("bare", TWO_PROGRAMS)
        outcome = self.run_sound(way, TWO_PROGRAMS, environment={"REKINDLE_MODE": "sometimes"})
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        self.assertIn("REKINDLE_MODE", outcome.told()[0])


class Tables(FaultCase):
    @each_way
    def test_the_same_table_twice(self, way):
        outcome = self.run_sound(way, ["again", "again"])
        self.assertEqual([answer["same"] for answer in outcome.of("again")], [True, True])

    @each_way
    def test_handles_are_the_plugins(self, way):
        """All entries but a few, the version and the whole extension chain are the plugin's own."""
        table = self.run_sound(way, ["table"]).of("table")[0]
        self.assertTrue(table["fake"])
        self.assertFalse(table["is_bare"])
        self.assertEqual(table["struct_size"], table["bare_struct_size"])
        self.assertEqual(table["extension_start"], table["bare_extension_start"])
        self.assertEqual(table["absent"], [])
        self.assertIn("PJRT_Client_Compile", table["replaced"])
        self.assertLess(len(table["replaced"]), 26)
        self.assertEqual([name for name in table["replaced"] if name.startswith(("PJRT_Event", "PJRT_DeviceDescription"))],
                         [])

    def test_never_wrapped_twice(self):
        outcome = self.run_sound("both", ["again", *TWO_PROGRAMS])
        self.assertEqual(len(outcome.real_compiles()), 2)
        self.assertEqual(len(self.place.events("compile")), 2)
        self.assertEqual(self.place.events("counts")[-1]["executions"], 2)
        warm = self.check_warm("both", TWO_PROGRAMS)
        self.assertEqual(len(warm.real_loads()), 2)
        self.check_warm("preload", TWO_PROGRAMS)

    def copies(self, count):
        paths = [os.path.join(self.place.path, f"fake-{i}.so") for i in range(count)]
        for path in paths:
            shutil.copy(FAKE, path)
        return paths

    def words_for(self, paths):
        words = []
        for i, path in enumerate(paths):
            words += [f"lib={path}", "init", "table", "client", f"compile=name=p{i}", "compile=fault", "execute"]
        return words

    def test_nine_plugins_in_one_process(self):
        paths = self.copies(9)
        cold = self.run_sound("preload", self.words_for(paths), status=1)
        tables = cold.of("table")
        self.assertEqual(len({table["address"] for table in tables}), 9)
        self.assertEqual([table["is_bare"] for table in tables], [False] * 9)
        for table in tables:
            self.assertEqual(table["extension_start"], table["bare_extension_start"])
        # Each plugin compiled its own program.
        compiled = {line["copy"]: line["detail"] for line in cold.trace if line["call"] == "compiled"}
        self.assertEqual(compiled, {f"fake-{i}.so": f"name=p{i}" for i in range(9)})
        self.assertEqual(self.place.events("counts")[-1]["executions"], 9)
        warm = self.run_sound("preload", self.words_for(paths), status=1)
        self.assertEqual(warm.real_compiles(), [])

    def test_more_plugins_than_slots(self):
        """Plugins beyond the limit work unwatched, with one warning."""
        paths = self.copies(19)
        outcome = self.run_sound("preload", self.words_for(paths), status=1)
        self.assertEqual(len(outcome.real_compiles()), 19)
        watched = [not table["is_bare"] for table in outcome.of("table")]
        self.assertGreaterEqual(sum(watched), 9)
        self.assertFalse(watched[-1])
        self.assertEqual(watched, sorted(watched, reverse=True))
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        warm = self.run_sound("preload", self.words_for(paths), status=1)
        self.assertEqual(len(warm.real_compiles()), 19 - sum(watched))

    def test_a_library_without_the_symbol(self):
        """Looking up GetPjrtApi in a library without it fails in the same way as without rekindle."""
        bare = self.place.run("bare", [], fake=os.environ["FAULT_NO_API"])
        outcome = self.place.run("preload", [], fake=os.environ["FAULT_NO_API"])
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual((outcome.status, outcome.stderr), (1, ""))
        self.assertTrue(os.path.exists(PRELOAD))


if __name__ == "__main__":
    unittest.main()
