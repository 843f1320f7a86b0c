"""`rekindle bundle import` is killed, or out of space, at its file operations on the store. The store then has complete
entries only, and a second import finishes.

A check strikes at one call of every 8, with FULL=1 at one of every 3. Chance chooses which one; the seed is printed, and
FAULT_SEED repeats a run. FAULT_EVERY_CALL=1 strikes at every call, as `make conformance` does."""

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REKINDLE, FIXTURE, SHIM = (os.environ[f"FAULT_{name}"] for name in ("REKINDLE", "CLI_FIXTURE", "FAILING_FILES"))
MOST_CALLS = 5000
AT_ONCE = 4
STEP = 1 if os.environ.get("FAULT_EVERY_CALL") else 3 if os.environ.get("FULL") else 8
SEED = int(os.environ.get("FAULT_SEED") or random.randrange(1 << 32))
WHOLE = {"executables": 3, "programs": 3, "manifests": 1, "packs": 0}
FOLDERS = ("objects", "programs", "jobs")
ENVIRONMENT = '[{"kind":"version","name":"plugin.build_id","value":"aaaa"}]'


class Import(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="rekindle-fault-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.bundle, cls.source = cls.folder / "job.rkb", cls.folder / "source"
        cls.rekindle(cls.source, "run", "--job", "job", "--", FIXTURE, "cold")
        cls.rekindle(cls.source, "bundle", "export", "-o", cls.bundle)
        cls.reference = cls.folder / "reference"
        said = cls.rekindle(cls.reference, "bundle", "import", cls.bundle, "--json")
        assert json.loads(said.stdout)["imported"] == WHOLE
        cls.files = cls.contents(cls.reference)

    @classmethod
    def rekindle(cls, store, *words, check=True, **more):
        env = {"PATH": os.environ["PATH"], "HOME": str(cls.folder), "REKINDLE_DIR": str(store), **more}
        env["FIXTURE_ENVIRONMENT"] = ENVIRONMENT
        words = [REKINDLE, *map(str, words)]
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, check=False)
        if check and done.returncode:
            raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    @staticmethod
    def contents(store):
        """{path: bytes} of the entries and manifests; temporary files are left out."""
        paths = [path for folder in FOLDERS for path in (store / folder).rglob("*")]
        return {
            str(path.relative_to(store)): path.read_bytes()
            for path in paths
            if path.is_file() and not path.name.startswith((".", "lock"))
        }

    @staticmethod
    def temporaries(store):
        return [str(path) for path in store.rglob(".tmp-*")]

    def strike(self, store, nth, number, lasting=False):
        mark = store.parent / "mark"
        done = self.rekindle(
            store, "bundle", "import", self.bundle, check=False, LD_PRELOAD=SHIM, FAILING_FILES_DIR=str(store),
            FAILING_FILES_AT=str(nth), FAILING_FILES_ERRNO=str(number), FAILING_FILES_MARK=str(mark),
            **({"FAILING_FILES_LASTING": "1"} if lasting else {}),
        )  # fmt: skip
        return done, mark.read_text().splitlines() if mark.exists() else []

    def check_whole(self, store, message):
        """Nothing in the store is damaged or incomplete."""
        for name, content in self.contents(store).items():
            self.assertIn(name, self.files, message)
            self.assertEqual(content, self.files[name], f"{name}: {message}")

    def prepare(self, kind):
        store = Path(tempfile.mkdtemp(dir=self.folder)) / "store"
        if kind == "partly there":
            shutil.copytree(self.reference, store)
            sound, damaged, gone, *_ = sorted(store.glob("objects/*/*.rkx"))
            damaged.write_bytes(damaged.read_bytes()[:-10])
            gone.unlink()
            shutil.rmtree(store / "jobs")
        return store

    def at_each_call(self, kind, number, lasting=False):
        def one(nth):
            store = self.prepare(kind)
            damaged = {name for name, data in self.contents(store).items() if data != self.files[name]}
            done, struck = self.strike(store, nth, number, lasting)
            message = f"{kind}, call {nth}: {struck[:1]}\n{done.stdout}{done.stderr}"
            if number == 0:
                self.assertEqual(done.returncode, -signal.SIGKILL if struck else 0, message)
            elif done.returncode:
                self.assertIn(done.returncode, (1, 2), message)
                self.assertIn("rekindle: ", done.stderr)
            for name in damaged:  # until it is replaced
                if (store / name).exists() and (store / name).read_bytes() != self.files[name]:
                    (store / name).unlink()
            self.check_whole(store, message)
            self.rekindle(store, "bundle", "import", self.bundle)
            self.assertEqual(self.contents(store), self.files, message)
            large = [path for path in self.temporaries(store) if "/usage/" not in path]
            self.assertEqual(large, [], message)
            self.rekindle(store, "fsck")
            self.rekindle(store, "gc")
            self.assertEqual(self.temporaries(store), [], message)
            shutil.rmtree(store.parent)
            return bool(struck)

        chance = random.Random(f"{SEED} {kind} {number}")
        struck = []
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for first in range(1, MOST_CALLS, AT_ONCE * STEP):
                tried = [call + chance.randrange(STEP) for call in range(first, first + AT_ONCE * STEP, STEP)]
                reached = list(pool.map(one, tried))
                struck += [call for call, hit in zip(tried, reached, strict=True) if hit]
                if not all(reached):
                    break
        self.assertFalse(all(reached), "the import makes more calls than this test tries")
        self.assertGreater(len(struck) * STEP, 60)
        what = f"{errno.errorcode[number]}{' for good' if lasting else ''}" if number else "killed"
        print(
            f"import, {kind}: {what} at {len(struck)} of at least {max(struck)} calls (seed {SEED}): 0 bad entries, "
            "the second import finished"
        )

    def test_killed(self):
        for kind in ("no store", "partly there"):
            self.at_each_call(kind, 0)

    def test_out_of_space(self):
        for kind in ("no store", "partly there"):
            self.at_each_call(kind, errno.ENOSPC, lasting=True)

    def test_one_call_fails(self):
        self.at_each_call("no store", errno.EIO)


class Export(unittest.TestCase):
    def test_killed(self):
        """A killed export leaves no file that the next one does not remove, and never a part of a bundle."""
        folder = Path(tempfile.mkdtemp(prefix="rekindle-fault-"))
        self.addCleanup(shutil.rmtree, folder)
        Import.folder = folder
        store, out = folder / "store", folder / "out"
        out.mkdir()
        Import.rekindle(store, "run", "--job", "job", "--", FIXTURE, "cold")
        left = 0
        for nth in range(1, MOST_CALLS):
            mark = folder / f"mark-{nth}"
            done = Import.rekindle(
                store, "bundle", "export", "-o", out / "job.rkb", check=False, LD_PRELOAD=SHIM,
                FAILING_FILES_DIR=str(out), FAILING_FILES_AT=str(nth), FAILING_FILES_ERRNO="0",
                FAILING_FILES_MARK=str(mark),
            )  # fmt: skip
            names = sorted(path.name for path in out.iterdir())
            left = max(left, len([name for name in names if name != "job.rkb"]))
            if "job.rkb" in names:
                Import.rekindle(store, "bundle", "inspect", out / "job.rkb")
            if not mark.exists():
                break
            self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assertEqual(names, ["job.rkb"])
        self.assertLessEqual(left, 1)


if __name__ == "__main__":
    unittest.main()
