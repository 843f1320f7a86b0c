"""A store that cannot be used: the job runs as it does bare, and is told once what to do about it."""

import os
import shutil
import struct
import subprocess
import unittest

from faultlib import FaultCase, each_way

WORDS = ["client", "compile=name=a outputs=2 add=2", "compile=name=b", "inspect=0", "execute=0:1", "tohost",
         "destroy-client"]


def mount_wrapper(script):
    """A command prefix that runs `script` (as root of a mount namespace) before the rest; None if not permitted."""
    for unshare in (["unshare", "-m"], ["unshare", "-rm"]):
        prefix = [*unshare, "sh", "-ec", script + '\nexec "$@"', "sh"]
        if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0:
            return prefix
    return None


class Unusable(FaultCase):
    def check_bare(self, way, *texts, told=1, **options):
        """As bare, at most `told` warnings, each of which holds each of `texts`, nothing loaded or kept."""
        bare = self.run_sound("bare", WORDS)
        outcome = self.run_sound(way, WORDS, **options)
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(len(outcome.real_compiles()), 2)
        self.assertIn(len(outcome.told()), range(1, told + 1), outcome.stderr)
        for line in outcome.told():
            for text in texts:
                self.assertIn(text, line)
        self.check_nothing_left(outcome)
        return outcome

    @each_way
    def test_a_file_where_the_directory_should_be(self, way):
        with open(self.place.store, "w", encoding="ascii"):
            pass
        self.check_bare(way, self.place.store)
        self.assertEqual(os.path.getsize(self.place.store), 0)

    @each_way
    def test_below_a_file(self, way):
        with open(self.place.store, "w", encoding="ascii"):
            pass
        below = os.path.join(self.place.store, "cache")
        self.check_bare(way, below, environment={"REKINDLE_DIR": below})

    @each_way
    def test_no_room_below_the_cap(self, way):
        """REKINDLE_MAX_SIZE too small for anything: told once, and the job is none the worse."""
        bare = self.run_sound("bare", WORDS)
        outcome = self.run_sound(way, WORDS, environment={"REKINDLE_MAX_SIZE": "100"})
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        self.assertIn("raise REKINDLE_MAX_SIZE", outcome.told()[0])
        self.assertEqual({event["reason"] for event in self.place.events("stored")}, {"no_room"})

    @each_way
    def test_a_url(self, way):
        for url in ("gs://bucket/cache", "s3://bucket/cache", "redis://host:6379"):
            self.check_bare(way, "REKINDLE_DIR", "REKINDLE_REMOTE", environment={"REKINDLE_DIR": url})
        self.assertEqual([name for name in os.listdir(".") if name.endswith(":")], [])

    @each_way
    def test_writable_by_others(self, way):
        for mode in (0o777, 0o772):
            os.makedirs(self.place.store, exist_ok=True)
            os.chmod(self.place.store, mode)
            self.check_bare(way, self.place.store)
            self.assertEqual(os.listdir(self.place.store), [])

    @each_way
    def test_not_ours(self, way):
        if os.geteuid() != 0:
            self.skipTest("only root can give a directory away")
        os.makedirs(self.place.store)
        os.chmod(self.place.store, 0o755)
        os.chown(self.place.store, 12345, 12345)
        self.check_bare(way, self.place.store)
        self.assertEqual(os.listdir(self.place.store), [])

    @each_way
    def test_the_default_place(self, way):
        """Without REKINDLE_DIR: below XDG_CACHE_HOME, else below HOME."""
        home = os.path.join(self.place.path, "home")
        os.makedirs(home)
        for environment, directory in (({"XDG_CACHE_HOME": os.path.join(home, "xdg")}, "xdg/rekindle"),
                                       ({"XDG_CACHE_HOME": ""}, ".cache/rekindle")):
            environment.update(REKINDLE_DIR="", HOME=home)
            self.run_sound(way, WORDS, environment=environment)
            self.check_warm(way, WORDS, environment=environment)
            self.assertTrue(os.path.isdir(os.path.join(home, directory, "objects")))

    @each_way
    def test_no_permission(self, way):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        os.makedirs(self.place.store)
        os.chmod(self.place.store, 0o500)
        self.addCleanup(os.chmod, self.place.store, 0o700)
        self.check_bare(way, self.place.store, told=2)  # of the journal and of the entries


class Mounted(FaultCase):
    """File systems of one's own, in a mount namespace."""

    def wrapper(self, script):
        prefix = mount_wrapper(script)
        if not prefix:
            self.skipTest("mounting is not permitted here")
        return prefix

    @each_way
    def test_read_only_and_empty(self, way):
        os.makedirs(self.place.store, mode=0o700)
        wrapper = self.wrapper(f"mount --bind {self.place.store} {self.place.store}\n"
                               f"mount -o remount,ro,bind {self.place.store}")
        bare = self.run_sound("bare", WORDS)
        outcome = self.run_sound(way, WORDS, wrapper=wrapper)
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(len(outcome.real_compiles()), 2)
        self.assertEqual(len(outcome.told()), 1, outcome.stderr)
        self.assertEqual(os.listdir(self.place.store), [])

    @each_way
    def test_read_only_with_entries(self, way):
        """Hits are served from a store that cannot be written."""
        self.run_sound(way, WORDS)
        before = self.place.files("")
        wrapper = self.wrapper(f"mount --bind {self.place.store} {self.place.store}\n"
                               f"mount -o remount,ro,bind {self.place.store}")
        for mode in ("readwrite", "readonly"):
            warm = self.check_warm(way, WORDS, wrapper=wrapper, environment={"REKINDLE_MODE": mode})
            self.assertEqual(len(warm.real_loads()), 2)
            self.assertLessEqual(len(warm.told()), 1, warm.stderr)
        self.assertEqual(self.place.files(""), before)

    @each_way
    def test_full(self, way):
        """A file system of 1 MiB and executables of 2 MiB: all results are delivered, no part is left."""
        os.makedirs(self.place.store)
        listing = os.path.join(self.place.path, "listing")
        wrapper = self.wrapper(f"mount -t tmpfs -o size=1m,mode=700 tmpfs {self.place.store}")
        # The same namespace must see the second start, so both hosts run inside of it.
        argv, environment, trace = self.place.command(
            way, WORDS, environment={"FAKE_PJRT_PAYLOAD_BYTES": str(2 << 20)})
        script = f'"$@" && "$@" && find {self.place.store} -type f > {listing}'
        done = subprocess.run([*wrapper, "sh", "-ec", script, "sh", *argv], env=environment, check=False,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        bare = self.run_sound("bare", WORDS)
        with open(trace, encoding="utf-8") as lines:
            traced = lines.read()
        self.assertNotIn("MISUSE", traced)
        self.assertEqual(traced.count('"call":"compiled"'), 4)
        self.assertEqual(done.stdout.count('"ok":true'), 2 * len(bare.answers))
        told = [line for line in done.stderr.splitlines() if line.startswith("rekindle")]
        self.assertEqual(len(told), 2, done.stderr)
        with open(listing, encoding="utf-8") as lines:
            left = [line.strip() for line in lines]
        self.assertEqual([path for path in left if path.endswith(".rkx") or "/.tmp" in path], [])

    @each_way
    def test_full_and_then_not(self, way):
        """Once there is room again, the next start stores."""
        os.makedirs(self.place.store, mode=0o700)
        wrapper = self.wrapper(f"mount -t tmpfs -o size=64k,mode=700 tmpfs {self.place.store}")
        self.run_sound(way, WORDS, wrapper=wrapper, environment={"FAKE_PJRT_PAYLOAD_BYTES": str(1 << 20)})
        self.run_sound(way, WORDS)
        self.check_warm(way, WORDS)


class Keys(FaultCase):
    """Signed entries, and key files that cannot be used."""

    def key_file(self, mode=0o600):
        path = os.path.join(self.place.path, "signing.key")
        with open(path, "w", encoding="ascii") as file:
            file.write("ed25519-secret " + "5a" * 32 + " test\n")
        os.chmod(path, mode)
        return {"REKINDLE_SIGNING_KEY": path}

    def signed(self):
        """For each entry, whether its head says that it is signed."""
        flags = []
        for path in self.place.files("objects") + self.place.files("programs"):
            with open(path, "rb") as file:
                flags.append(file.read(248)[236:248] == struct.pack("<IQ", 1, 128))
        return flags

    @each_way
    def test_signed_and_loaded(self, way):
        self.run_sound(way, WORDS, environment=self.key_file())
        self.assertEqual(self.signed(), [True] * 4)
        self.check_warm(way, WORDS)  # whether the key is there or not
        self.check_warm(way, WORDS, environment=self.key_file())

    @each_way
    def test_damaged_signatures_are_repaired(self, way):
        self.run_sound(way, WORDS, environment=self.key_file())
        for path in self.place.files("objects"):
            with open(path, "r+b") as file:
                file.seek(-40, os.SEEK_END)
                byte = file.read(1)
                file.seek(-40, os.SEEK_END)
                file.write(bytes([byte[0] ^ 1]))
        outcome = self.run_sound(way, WORDS, environment=self.key_file())
        self.assertEqual(len(outcome.real_compiles()), 2)
        self.assertEqual(outcome.real_loads(), [])
        self.check_warm(way, WORDS)

    @each_way
    def test_keys_that_cannot_be_used(self, way):
        """Told once; everything else is as without them."""
        readable = self.key_file(mode=0o644)
        missing = {"REKINDLE_TRUSTED_KEYS": os.path.join(self.place.path, "nowhere")}
        for environment, name in ((readable, "REKINDLE_SIGNING_KEY"), (missing, "REKINDLE_TRUSTED_KEYS")):
            outcome = self.run_sound(way, WORDS, environment=environment)
            self.assertEqual(len(outcome.told()), 1, outcome.stderr)
            self.assertIn(name, outcome.told()[0])
            self.assertNotIn("5a5a", outcome.stderr)
        self.assertEqual(self.signed(), [False] * 4)
        self.check_warm(way, WORDS)


class Vanishing(FaultCase):
    """The store changes under a running job."""

    @each_way
    def test_removed_between_starts(self, way):
        self.run_sound(way, WORDS)
        shutil.rmtree(self.place.store)
        self.run_sound(way, WORDS)
        self.check_warm(way, WORDS)

    @each_way
    def test_removed_while_running(self, way):
        words = ["client", "compile=name=a", "sleep=1500", "compile=name=b", "compile=name=a", "execute"]
        process, trace = self.place.start(way, words)
        while not self.place.entries() and process.poll() is None:
            pass
        shutil.rmtree(self.place.store, ignore_errors=True)
        stdout, stderr = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, stdout + stderr)
        self.assertTrue(os.path.exists(trace))
        self.check_warm_after(way, words)

    def check_warm_after(self, way, words):
        self.run_sound(way, words)
        self.check_warm(way, words)

    @each_way
    def test_an_entry_that_is_no_file(self, way):
        self.run_sound(way, WORDS)
        for path in self.place.entries():
            os.unlink(path)
            os.mkdir(path)
        bare = self.run_sound("bare", WORDS)
        outcome = self.run_sound(way, WORDS)
        self.assertEqual(outcome.plain(), bare.plain())
        self.assertEqual(len(outcome.real_compiles()), 2)


if __name__ == "__main__":
    unittest.main()
