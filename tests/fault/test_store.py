"""With an unusable store the job runs as without rekindle and gets one warning with a remedy."""

import os
import shutil
import struct
import subprocess
import unittest

from faultlib import FAKE, HOST, FaultCase, each_way, finish, sanitizer_settings, unprivileged

WORDS = ["client", "compile=name=a outputs=2 add=2", "compile=name=b", "inspect=0", "execute=0:1", "tohost",
         "destroy-client"]


def mount_wrapper(script):
    """Returns a command prefix that runs `script` as root of a mount namespace first; None if not permitted."""
    for unshare in (["unshare", "-m"], ["unshare", "-rm"]):
        prefix = [*unshare, "sh", "-ec", script + '\nexec "$@"', "sh"]
        if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0:
            return prefix
    return None


class Unusable(FaultCase):
    def check_bare(self, way, *texts, told=1, **options):
        """The job runs as bare with 1 to `told` warnings, each with all `texts`; nothing is loaded or stored."""
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
        """If REKINDLE_MAX_SIZE is too small for any entry, the job runs normally and gets one warning."""
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
        """Without REKINDLE_DIR the store is below XDG_CACHE_HOME, or else below HOME."""
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
        wrapper = unprivileged()
        if wrapper is None:
            self.skipTest("root cannot give up its privileges here")
        os.makedirs(self.place.store)
        os.chmod(self.place.store, 0o500)
        self.addCleanup(os.chmod, self.place.store, 0o700)
        self.check_bare(way, self.place.store, told=2, wrapper=wrapper)  # for the journal and for the entries


class OfOthers(FaultCase):
    """REKINDLE_DIR points to a folder with other contents."""

    FILES = ("train.py", "runs/exp/events.out.tfevents.1", "runs/exp/0.jsonl", "runs/20260101/0.log", "jobs/train/manifest",
             "jobs/queue.json", "objects/pack/pack-1.idx", "usage/base", "usage/clock", "plugins/loader.py", "config")

    def make_project(self):
        for name in self.FILES:
            path = os.path.join(self.place.store, name)
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "w", encoding="ascii") as file:
                file.write("" if name == "config" else f"somebody's {name}\n")
        os.chmod(self.place.store, 0o700)
        os.symlink("exp", os.path.join(self.place.store, "runs", "latest"))
        os.symlink("/nowhere", os.path.join(self.place.store, "leases"))
        os.symlink("train.py", os.path.join(self.place.store, "REKINDLE_STORE"))

    def look(self):
        """Returns everything in the folder, with content and modification time."""
        seen = {}
        for where, folders, names in os.walk(self.place.store):
            for name in (*folders, *names):
                path = os.path.join(where, name)
                info = os.lstat(path)
                content = None
                if os.path.islink(path):
                    content = os.readlink(path)
                elif os.path.isfile(path):
                    with open(path, "rb") as file:
                        content = file.read()
                seen[os.path.relpath(path, self.place.store)] = (info.st_mode, info.st_mtime_ns, info.st_ino, content)
        return seen

    @each_way
    def test_the_job_runs_and_nothing_is_touched(self, way):
        self.make_project()
        before = self.look()
        bare = self.run_sound("bare", WORDS)
        for mode in ("readwrite", "readonly", "refresh"):
            outcome = self.run_sound(way, WORDS, environment={"REKINDLE_MODE": mode})
            self.assertEqual(outcome.plain(), bare.plain())
            self.assertEqual(len(outcome.real_compiles()), 2)
            line, = outcome.told()
            self.assertIn(self.place.store, line)
            self.assertIn("Point REKINDLE_DIR at a folder of its own", line)
            self.check_nothing_left(outcome)
        self.assertEqual(self.look(), before)

    @each_way
    def test_a_config_of_others(self, way):
        """A foreign config (git, ssh, kubectl and aws have such files) is never reported as invalid."""
        for text in ("[core]\n\tbare = true\n", "Host *\n  User somebody\n", None):
            self.fresh()
            self.make_project()
            config = os.path.join(self.place.store, "config")
            os.remove(config)
            if text:
                with open(config, "w", encoding="ascii") as file:
                    file.write(text)
            else:
                os.mkdir(config)
            before = self.look()
            for wrapper in ((), (os.environ["FAULT_REKINDLE"], "run", "--")):
                outcome = self.run_sound(way, WORDS, wrapper=wrapper)
                line, = outcome.told()
                self.assertIn("Point REKINDLE_DIR at a folder of its own; a path that does not exist yet will do; "
                              "this job runs without rekindle", line)
            done = self.rekindle("gc")
            self.assertEqual(done.returncode, 2)
            self.assertIn("Point REKINDLE_DIR at a folder of its own", done.stderr)
            self.assertEqual(self.look(), before)

    def test_the_command_line_says_what_to_do(self):
        self.make_project()
        before = self.look()
        key = "0123abcd"
        for words in (["gc"], ["ls"], ["stats"], ["runs"], ["explain"], ["shapes"], ["memory"], ["diff", "a", "b"],
                      ["fsck"], ["fsck", "--repair"], ["show", key], ["rm", "--all"], ["pin", key], ["unpin", key]):
            with self.subTest(words=words):
                done = self.rekindle(*words)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn("Point REKINDLE_DIR at a folder of its own", done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        done = self.rekindle("run", "--", HOST, "--lib", FAKE, *WORDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nothing was recorded", done.stderr.splitlines()[-1])
        self.assertIn("Point REKINDLE_DIR at a folder of its own", done.stderr.splitlines()[-1])
        self.assertEqual(self.look(), before)

    def rekindle(self, *words):
        environment = dict(os.environ, REKINDLE_DIR=self.place.store, **sanitizer_settings())
        return subprocess.run([os.environ["FAULT_REKINDLE"], *words], env=environment, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)

    @each_way
    def test_sixteen_first_starts(self, way):
        started = [self.place.start(way, WORDS) for _ in range(16)]
        for process, trace in started:
            outcome = self.check_sound(finish(process, trace))
            self.assertEqual(outcome.told(), [])
        self.assertTrue(os.path.isfile(os.path.join(self.place.store, "REKINDLE_STORE")))
        self.check_warm(way, WORDS)

    @each_way
    def test_a_store_without_a_marker(self, way):
        """A store of an earlier version, which has no marker file, is still used."""
        marker = os.path.join(self.place.store, "REKINDLE_STORE")
        self.run_sound(way, WORDS)
        os.remove(marker)
        with open(os.path.join(self.place.store, "notes.txt"), "w", encoding="ascii"):
            pass
        self.check_warm(way, WORDS, environment={"REKINDLE_MODE": "readonly"})
        self.assertFalse(os.path.exists(marker))
        self.check_warm(way, WORDS)
        self.assertTrue(os.path.exists(marker))


class Mounted(FaultCase):
    """Private file systems in a mount namespace."""

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
        """Hits are served from a store that is not writable."""
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
        """On a file system of 1 MiB with executables of 2 MiB all results are delivered and no partial file stays."""
        os.makedirs(self.place.store)
        listing = os.path.join(self.place.path, "listing")
        wrapper = self.wrapper(f"mount -t tmpfs -o size=1m,mode=700 tmpfs {self.place.store}")
        # The second start must see the same namespace, so both hosts run inside it.
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

    def test_what_is_said_of_a_full_disk(self):
        """If the disk has no space for some or all of the journal, the summary says so, and `gc` works."""
        self.place.store = os.path.join(self.place.path, "mount", "store")
        mount = os.path.dirname(self.place.store)
        os.makedirs(mount)
        wrapper = self.wrapper(f"mount -t tmpfs -o size=256k,mode=700 tmpfs {mount}")
        tool = os.environ["FAULT_REKINDLE"]
        argv, environment, _ = self.place.command("bare", ["client", *[f"compile=name=n{n}" for n in range(40)],
                                                           "destroy-client"])
        script = (f'fill() {{ dd if=/dev/zero of={mount}/fill bs=4k 2>/dev/null || true; }}; '
                  f'{tool} gc; '  # without a store gc has nothing to do
                  f'{tool} run -- true; mkdir -m 700 {self.place.store}; fill; '
                  f'{tool} run -- "$@" >&2; {tool} gc >&2; echo "gc $?" >&2; '
                  f'truncate -s -8k {mount}/fill; {tool} run -- "$@" >&2; {tool} gc >&2; echo "gc $?" >&2')
        done = subprocess.run([*wrapper, "sh", "-c", script, "sh", *argv], env=environment, check=False,
                              capture_output=True, text=True, timeout=120)
        said = [line for line in done.stderr.splitlines() if line.startswith(("rekindle: ", "gc "))]
        summaries = [before for before, line in zip(said, said[1:]) if line.startswith("gc ")]
        self.assertEqual([line for line in said if line.startswith("gc ")], ["gc 0", "gc 0"], done.stderr)
        self.assertIn("not known: the journal of this run could not be written", summaries[0])
        self.assertIn("there may be more: the journal ends early", summaries[1])

    @each_way
    def test_full_and_then_not(self, way):
        """Once the disk has space again, the next start stores."""
        os.makedirs(self.place.store, mode=0o700)
        wrapper = self.wrapper(f"mount -t tmpfs -o size=64k,mode=700 tmpfs {self.place.store}")
        self.run_sound(way, WORDS, wrapper=wrapper, environment={"FAKE_PJRT_PAYLOAD_BYTES": str(1 << 20)})
        self.run_sound(way, WORDS)
        self.check_warm(way, WORDS)


class Keys(FaultCase):
    """Signed entries, and unusable key files."""

    def key_file(self, mode=0o600):
        path = os.path.join(self.place.path, "signing.key")
        with open(path, "w", encoding="ascii") as file:
            file.write("ed25519-secret " + "5a" * 32 + " test\n")
        os.chmod(path, mode)
        return {"REKINDLE_SIGNING_KEY": path}

    def signed(self):
        """Returns for each file of an entry or program whether its header says that it is signed."""
        flags = []
        for path in self.place.files("objects") + self.place.files("programs"):
            with open(path, "rb") as file:
                flags.append(file.read(248)[236:248] == struct.pack("<IQ", 1, 128))
        return flags

    @each_way
    def test_signed_and_loaded(self, way):
        self.run_sound(way, WORDS, environment=self.key_file())
        self.assertEqual(self.signed(), [True] * 4)
        self.check_warm(way, WORDS)  # also without the signing key
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
        """An unusable key causes one warning; entries are stored unsigned and loaded."""
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
    """The store changes during a running job."""

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
