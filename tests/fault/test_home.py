"""A home or config that is not readable, and homes of other users. The job runs as without rekindle, one line gives the
reason, and no file is created.
"""

import os
import shutil
import subprocess
import unittest
from unittest import mock

import faultlib
from faultlib import FAKE, HOST, PLUGIN_WAY, PRELOAD, FaultCase, each_way

REKINDLE = os.environ["FAULT_REKINDLE"]
WORDS = ["init", "client", "compile=name=first", "compile=name=second", "execute", "tohost"]
SOMEBODY = 12345  # a user without an account or a home
OFF = {"REKINDLE_MODE": "off"}


class Home(FaultCase):
    def fresh(self):
        place = super().fresh()
        self.home = os.path.join(place.path, "home")
        os.mkdir(self.home, 0o700)
        self.default_place = {"REKINDLE_DIR": "", "XDG_CACHE_HOME": "", "HOME": self.home}
        return place

    def check_without(self, way, *says, environment, **options):
        bare = self.run_sound("bare", WORDS, environment=environment, **options)
        outcome = self.run_sound(way, WORDS, environment=environment, **options)
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        for part in (*says, "; this job runs without rekindle"):
            self.assertIn(part, outcome.told()[0])
        for quiet in (OFF, {"REKINDLE_LOG": "error"}):
            outcome = self.run_sound(way, WORDS, environment={**environment, **quiet}, **options)
            self.assertEqual((outcome.plain(), outcome.told()), (bare.plain(), []))

    def somebody(self):
        """Returns a command prefix for another user, after copying the host and the libraries to a place that this user
        can reach. Skips the test if that is impossible."""
        place = self.place.path
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        folder = os.path.join(place, "installed")
        os.mkdir(folder)
        core = os.path.join(os.path.dirname(PRELOAD), "librekindle_core.so")
        copies = {path: shutil.copy(path, folder) for path in (HOST, FAKE, PRELOAD, PLUGIN_WAY, core)}
        os.chown(place, SOMEBODY, SOMEBODY)  # the user writes traces there
        os.chmod(place, 0o755)
        patch = mock.patch.multiple(faultlib, HOST=copies[HOST], FAKE=copies[FAKE], PRELOAD=copies[PRELOAD],
                                    PLUGIN_WAY=copies[PLUGIN_WAY])
        patch.start()
        self.addCleanup(patch.stop)
        prefix = ["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"]
        try:
            reached = subprocess.run([*prefix, "test", "-x", copies[HOST]], check=False).returncode == 0
        except FileNotFoundError:
            reached = False
        if not reached:
            self.skipTest("no other user can be had here, or none that can reach the temporary directory")
        return prefix

    @each_way
    def test_a_config_that_is_no_file(self, way):
        config = os.path.join(self.place.store, "config")
        os.makedirs(config, 0o700)
        self.check_without(way, "not a regular file", environment={})
        os.rmdir(config)
        os.symlink("nowhere", config)
        self.check_without(way, "is a broken symbolic link", environment={})
        self.assertEqual(os.listdir(self.place.store), ["config"])

    @each_way
    def test_the_home_of_root(self, way):
        wrapper = self.somebody()
        self.check_without(way, "Permission denied", environment=self.default_place, wrapper=wrapper)
        os.chmod(self.home, 0o755)
        self.check_without(way, "you cannot write to", environment=self.default_place, wrapper=wrapper)

    @each_way
    def test_the_home_of_another(self, way):
        if os.geteuid() != 0:
            self.skipTest("only root can give a directory away")
        os.chown(self.home, SOMEBODY, SOMEBODY)
        self.check_without(way, f"belongs to user {SOMEBODY}", environment=self.default_place)
        self.assertEqual(os.listdir(self.home), [])

    def test_told_once_by_rekindle_run(self):
        """Under `rekindle run` a bad config is reported once, although the plugin library reads the settings again."""
        self.fresh()
        os.makedirs(os.path.join(self.place.store, "config"), 0o700)
        key = {"REKINDLE_SIGNING_KEY": os.path.join(self.place.path, "nowhere")}
        run = [REKINDLE, "run", "--"]
        outcome = self.run_sound("plugin", WORDS, wrapper=run)
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        self.assertIn("; this job runs without rekindle", outcome.told()[0])
        os.rmdir(os.path.join(self.place.store, "config"))
        outcome = self.run_sound("plugin", WORDS, wrapper=run, environment=key)
        told, summary = outcome.told()
        self.assertIn("REKINDLE_SIGNING_KEY", told)
        self.assertIn("2 compiled", summary)
        self.check_warm("plugin", WORDS, wrapper=run, environment=key)


if __name__ == "__main__":
    unittest.main()
