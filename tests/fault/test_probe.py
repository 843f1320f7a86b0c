"""`rekindle probe` reports whether a plugin works or is only installed, whatever the plugin does."""

import json
import os
import re
import subprocess
import unittest

from faultlib import FAKE, NO_API, SANITIZER, FaultCase, sanitizer_settings

REKINDLE = os.environ["FAULT_REKINDLE"]
STEPS = ["library", "table", "initialize", "attributes", "client", "compile", "execute", "serialize", "load", "end"]


class Probe(FaultCase):
    def probe(self, *args, status=0, plugin=FAKE, cwd=None, **environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("REKINDLE_", "FAKE_PJRT_", "FAULT_"))}
        env |= sanitizer_settings(fork=True, crash=True) | environment
        done = subprocess.run([REKINDLE, "probe", *args, plugin], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def seen(self, *args, **options):
        return json.loads(self.probe("--json", *args, **options).stdout)

    def check_failed(self, seen, step, error):
        self.assertEqual((seen["alive"], seen["keeps_executables"]), (False, False))
        failed = [one for one in seen["steps"] if not one["ok"]]
        self.assertEqual([one["name"] for one in failed], [step])
        self.assertRegex(failed[0]["error"], error)
        self.assertEqual(seen["reason"], failed[0]["error"])

    def test_alive(self):
        seen = self.seen(FAKE_PJRT_DEVICES="3", FAKE_PJRT_ADDRESSABLE_DEVICES="1")
        self.assertEqual([(one["name"], one["ok"]) for one in seen["steps"]], [(name, True) for name in STEPS])
        self.assertEqual((seen["alive"], seen["keeps_executables"]), (True, True))
        self.assertIsNone(seen["reason"])
        self.assertIsNone(seen["remedy"])
        self.assertEqual(seen["plugin"], FAKE)
        self.assertEqual(seen["api"], {"major": 0, "minor": 81})
        self.assertEqual(seen["rekindle_api"], {"major": 0, "minor": 81})
        self.assertEqual([one["type"] for one in seen["extensions"]], [11, 10])
        self.assertEqual(seen["attributes"]["stablehlo_minimum_version"], [0, 9, 0])
        self.assertEqual((seen["platform"], seen["platform_version"]), ("fake", "fake 1.0"))
        self.assertEqual([(one["id"], one["addressable"]) for one in seen["devices"]],
                         [(0, True), (1, False), (2, False)])

    def test_every_version(self):
        for minor in (40, 55, 60, 81, 97, 104, 110, 117):
            seen = self.seen(FAKE_PJRT_API_MINOR=str(minor), FAKE_PJRT_CALLER_MINOR="81")
            self.assertEqual(seen["api"]["minor"], minor)
            self.assertEqual((seen["alive"], seen["keeps_executables"]), (True, True), (minor, seen["reason"]))

    def test_as_text(self):
        text = self.probe().stdout
        self.assertTrue(text.endswith("\nalive, and what it compiles can be kept\n"), text)
        # The text shows the bridged versions and the range that was tried.
        self.assertRegex(text, re.compile(r"^  rekindle +0\.\d+; bridges the structs of frameworks from 0\.40 on$", re.M))
        self.assertRegex(text, re.compile(rf"^  tried +{re.escape(self.seen()['bridge_tried'])}$", re.M))
        self.assertRegex(self.seen()["bridge_tried"], r"^JAX 0\.4\.\d+ to 0\.\d+ on three CPU plugins")
        for name in STEPS:
            self.assertRegex(text, re.compile(rf"^  ok +{name} ", re.M))
        text = self.probe(status=1, FAKE_PJRT_FAIL="client_create").stdout
        self.assertRegex(text, re.compile(r"^  failed client .* fake: told to fail client_create$", re.M))
        self.assertIn("\nnot alive\n", text)

    def test_steps_that_fail(self):
        for fail, step in (("initialize", "initialize"), ("client_create", "client"), ("compile", "compile"),
                           ("execute", "execute")):
            seen = self.seen(status=1, FAKE_PJRT_FAIL=fail)
            self.check_failed(seen, step, f"^fake: told to fail {fail}$")
            self.assertEqual(seen["steps"][STEPS.index(step)]["code"], 13)

    def test_no_device(self):
        self.check_failed(self.seen(status=1, FAKE_PJRT_ADDRESSABLE_DEVICES="0"), "client", "no device in this process")

    def test_alive_but_not_to_be_kept(self):
        for fail, failed in (("serialize_unimplemented", "serialize"), ("deserialize_unimplemented", "load")):
            seen = self.seen(FAKE_PJRT_FAIL=fail)
            self.assertEqual((seen["alive"], seen["keeps_executables"]), (True, False))
            self.assertEqual([one["name"] for one in seen["steps"] if not one["ok"]], [failed])
        text = self.probe(FAKE_PJRT_FAIL="serialize_unimplemented").stdout
        self.assertTrue(text.endswith("\nalive, but what it compiles cannot be kept\n"), text)

    def test_attributes_are_not_needed(self):
        self.assertTrue(self.seen(FAKE_PJRT_FAIL="attributes")["alive"])

    def test_a_plugin_that_ends_the_process(self):
        self.check_failed(self.seen(status=1, FAKE_PJRT_FAIL="crash_client"), "client", r"^the plugin crashed: signal 11")
        self.check_failed(self.seen(status=1, FAKE_PJRT_FAIL="exit_client"), "client",
                          "^the plugin ended its process, with status 3$")
        seen = self.seen(status=1, FAKE_PJRT_FAIL="crash_serialize")
        self.check_failed(seen, "serialize", r"^the plugin crashed")
        self.assertIn("REKINDLE_MODE=off", seen["remedy"])

    def test_a_plugin_that_hangs(self):
        seen = self.seen("--timeout", "1" if not SANITIZER else "5", status=1, FAKE_PJRT_COMPILE_MS="600000")
        self.check_failed(seen, "compile", "no answer before the timeout")

    def test_what_is_no_plugin(self):
        seen = self.seen(status=1, plugin="/nonexistent/libtpu.so")
        self.check_failed(seen, "library", "No such file")
        self.assertIn("check the path", seen["remedy"])
        self.check_failed(self.seen(status=1, plugin=NO_API), "library", "it has no GetPjrtApi")
        self.check_failed(self.seen(status=1, plugin=__file__), "library", "invalid ELF header|file too short")
        self.check_failed(self.seen(status=1, FAKE_PJRT_FAIL="api"), "library", "returned no table")

    def test_a_name_without_a_folder_is_here(self):
        self.assertTrue(self.seen(plugin=os.path.basename(FAKE), cwd=os.path.dirname(FAKE))["alive"])

    def test_wrong_usage(self):
        self.probe("--timeout", "0", status=2)
        self.probe("--timeout", "soon", status=2)
        self.probe(FAKE, status=2)


if __name__ == "__main__":
    unittest.main()
