#!/usr/bin/env python3
"""`rekindle bundle` and hostile users: files that are no bundles, bombs, claims, full disks, several imports at once,
and targets of an export. Each refusal has its reason, and the store does not change.

usage: test_cli_bundle_hostile.py REKINDLE FIXTURE PRELOAD_STUB
"""

import hashlib
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from test_cli_bundle import (  # noqa: E402
    ENVIRONMENT, FIXTURE, PUBLIC, Case, bundle_format, digest, digest_of_folder, entry, item,
)  # fmt: skip

ANYWHERE = ENVIRONMENT[:2]  # without the CPU, which a new store compares
MEMORY_MAX_BYTES = 96 << 20  # of a sanitized build, a few times more
SANITIZED = b"__asan_init" in Path(sys.argv[1]).read_bytes()


def zeros_frame(count):
    """A zstd frame of `count` times 128 KiB of zeros."""
    block = struct.pack("<I", 1 << 1 | (128 << 10) << 3)[:3] + b"\0"
    last = struct.pack("<I", 1 | 1 << 1 | (128 << 10) << 3)[:3] + b"\0"
    return struct.pack("<IBI", 0xFD2FB528, 0xA0, count * (128 << 10)) + block * (count - 1) + last


def mount_wrapper(script):
    """A command prefix that runs `script` as root of a mount namespace; None if that is not permitted."""
    for unshare in (["unshare", "-m"], ["unshare", "-Urm"]):
        prefix = [*unshare, "sh", "-ec", script + '\nexec "$@"', "sh"]
        if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0:
            return prefix
    return None


class Hostile(Case):
    def setUp(self):
        super().setUp()
        self.job(store=self.other)

    def trusting(self, says, **options):
        return self.refused("--trust", PUBLIC, says=says, **options)

    def within(self, wrapper, *arguments, store=None):
        """A command in a mount namespace."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home"), "REKINDLE_DIR": str(store or self.other)}
        words = [*wrapper, str(self.program), *map(str, arguments)]
        return subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, check=False)

    def wrapper(self, script):
        wrapper = mount_wrapper(script)
        if not wrapper:
            self.skipTest("mounting is not permitted here")
        return wrapper


class NotBundles(Hostile):
    def test_fifo(self):
        os.mkfifo(self.file)
        self.trusting("is not a regular file: save the bundle as a file")

    def test_folder_and_devices(self):
        for path in (self.folder, "/dev/zero", "/dev/null"):
            self.trusting("is not a regular file: save the bundle as a file", file=path)

    def test_socket_and_missing_file(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(self.file))
            before = digest_of_folder(self.other)
            for path in (self.file, self.folder / "nothing"):
                result = self.call("bundle", "import", path, store=self.other)
                self.assertIn(result.returncode, (1, 2))
                self.assertIn(f"cannot open {path}", result.stderr)
            self.assertEqual(digest_of_folder(self.other), before)

    def test_links_are_followed(self):
        self.write(self.sound())
        moved = self.folder / "moved.rkb"
        self.file.rename(moved)
        self.file.symlink_to(moved)
        self.assertEqual(self.bring("--trust", PUBLIC, "--force")["imported"]["executables"], 1)

    def test_sparse_giant(self):
        """A terabyte of zeros takes no time."""
        with open(self.file, "wb") as file:
            file.truncate(1 << 40)
        self.trusting("is not a bundle")


class Names(Hostile):
    def test_duplicates(self):
        key, data = entry()
        name = f"objects/{key}"
        for second in (name, name.upper(), "Objects/" + key, f"{name}/x"):
            self.write([item(name, data), item(second, data)])
            self.trusting("refused")

    def test_traversal(self):
        key, data = entry()
        for name in ("..", "../x", "objects/..", f"objects/../../{key}", f"./objects/{key}", f"objects//{key}",
                     f"/objects/{key}", f"objects/{key}/", "objects\\x", f"objects/{key}\n", "objects/\x00", ""):  # fmt: skip
            self.write([item(name, data)])
            self.trusting("refused")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir() if path.name.startswith("x")), [])

    def test_other_kinds_of_items(self):
        """An item is a file, executable or not; a mode of a link or a device is no mode."""
        key, data = entry()
        for mode in (2, 0o120000, 0xFFFFFFFF):
            self.write([(f"objects/{key}", data, None, mode, {})])
            self.trusting("refused")

    def test_entries_through_a_link_in_the_store(self):
        """A link in place of a folder of the store is not followed."""
        key, data = entry()
        outside = self.folder / "outside"
        outside.mkdir()
        shutil.rmtree(self.other / "objects")
        (self.other / "objects").symlink_to(outside)
        self.write([item(f"objects/{key}", data)])
        result = self.call("bundle", "import", "--force", "--trust", PUBLIC, self.file, store=self.other)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("symbolic link", result.stderr)
        self.assertEqual(list(outside.iterdir()), [])


class Bombs(Hostile):
    def refused_in_little_memory(self, says):
        self.trusting(says)
        code = (
            "import resource, subprocess, sys\n"
            "subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL)\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        words = [sys.executable, "-c", code, self.program, "bundle", "import", "--trust", PUBLIC, self.file]
        env = {"HOME": str(self.folder), "REKINDLE_DIR": str(self.other)}
        done = subprocess.run(words, env=env, capture_output=True, check=True, text=True)
        most = int(done.stdout) << 10
        print(f"{says}: {most / 1e6:.0f} MB at most")
        if not SANITIZED:
            self.assertLess(most, MEMORY_MAX_BYTES)

    def test_a_gigabyte_of_zeros(self):
        count = 1 << 13
        zeros = bytes(count * (128 << 10))
        self.write([item("objects/" + "ab" * 32, zeros, zeros_frame(count))])
        self.assertLess(self.file.stat().st_size, 1 << 20)
        self.refused_in_little_memory("it is compressed once more")
        self.write([*self.sound(), item("jobs/j/manifest", zeros, zeros_frame(count))])
        self.refused_in_little_memory("more than the")

    def test_components_that_grow(self):
        """A frame within an entry that says, and has, more than the limit."""
        count = 1 << 10
        frame = zeros_frame(count)
        key, data = entry()
        body = bytearray(data[:-32])
        size = struct.unpack("<Q", body[168:176])[0]
        body[168:184] = struct.pack("<QQ", len(frame), count * (128 << 10))
        body[232] = 1
        body[256 : 256 + size] = frame
        self.write([item(f"objects/{key}", bytes(body) + digest(bytes(body)))])
        self.refused_in_little_memory("its list of components would fill the memory")

    def test_sizes_that_lie(self):
        key, data = entry()
        for at in (168, 176, 184, 192, 200, 208, 216, 224):
            for value in (0, 1 << 32, 1 << 62, (1 << 64) - 1):
                body = bytearray(data[:-32])
                body[at : at + 8] = struct.pack("<Q", value)
                if bytes(body) == data[:-32]:
                    continue
                self.write([item(f"objects/{key}", bytes(body) + digest(bytes(body)))])
                self.trusting(f"objects/{key} cannot be used: ")

    def test_large_but_honest(self):
        """An entry of 200 MB takes no more memory than a small one."""
        key, data = entry(payload=os.urandom(1 << 20) * 200)
        self.write([item(f"objects/{key}", data[:-1] + bytes([data[-1] ^ 1]))])
        self.refused_in_little_memory(f"objects/{key} cannot be used: damaged")


class Claims(Hostile):
    def test_made_here_is_no_claim(self):
        claims = {"made_here": "true", "trusted": "true", "signature.made_here": "true", "user": "root"}
        header = {"media_type": bundle_format.MEDIA_TYPE, "made_with": claims, "annotations": claims}
        self.write(self.sound(), header=header)
        self.refused(says="is not trusted")
        self.refused("--force", says="is not trusted")
        self.write(self.sound(), seed=None, header=header)
        self.refused("--force", says="it is not signed")
        self.write(self.sound(), header=header)
        told = self.json("bundle", "inspect", self.file)["signature"]
        self.assertEqual((told["made_here"], told["trusted"]), (False, False))

    def test_unknown_members_of_the_header(self):
        header = {"media_type": bundle_format.MEDIA_TYPE, "made_with": {}, "annotations": {}, "made_here": True}
        self.write(self.sound(), header=header)
        self.refused(says="refused")

    def signed_entry(self, seed, key_claimed=None):
        """An entry with a signature of its own."""
        key, data = entry()
        body, total = bytearray(data[:-32]), data[-32:]
        body[236:248] = struct.pack("<IQ", 1, 128)
        components, metadata = (struct.unpack("<Q", body[168 + 16 * i : 176 + 16 * i])[0] for i in (0, 1))
        metadata = bytes(body[256 + components : 256 + components + metadata])
        message = b"rekindle entry signature 1\n" + bytes(body[8:12]) + bytes(body[40:168]) + total + digest(metadata)
        public, signature = bundle_format.sign(seed, message)
        section = (key_claimed or public) + signature
        return key, bytes(body) + total + section + digest(bytes(body[236:248]) + section)

    def test_entry_signed_by_another_key(self):
        """The signature of the bundle decides. A valid one of an entry stays in the entry; a wrong one is damage."""
        key, data = self.signed_entry(bytes(32))
        self.write([item(f"objects/{key}", data)])
        self.refused(says="is not trusted")
        self.assertEqual(self.bring("--trust", PUBLIC, "--force")["imported"]["executables"], 1)
        self.assertEqual((self.other / "objects" / key[:2] / f"{key}.rkx").read_bytes(), data)

    def test_entry_signed_wrongly(self):
        other_key = bundle_format.sign(bytes(31) + b"\1", b"")[0]
        key, data = self.signed_entry(bytes(32), other_key)
        self.write([item(f"objects/{key}", data)])
        self.refused("--trust", PUBLIC, "--force", says=f"objects/{key} cannot be used: damaged")

    def test_damage_behind_sound_entries(self):
        """Everything is checked before anything is published, also in a store that does not exist yet."""
        new, empty = self.folder / "new", self.folder / "empty"
        empty.mkdir()
        for store, components in ((self.other, ENVIRONMENT), (new, ANYWHERE), (empty, ANYWHERE)):
            good = [entry(f"jit_{i}", components=components, payload=os.urandom(100_000)) for i in range(5)]
            key, data = entry("jit_bad", components=components, payload=os.urandom(2_000_000))
            data = data[:1_000_000] + bytes([data[1_000_000] ^ 1]) + data[1_000_001:]
            self.write([*(item(f"objects/{k}", d) for k, d in good), item(f"objects/{key}", data)])
            says = f"objects/{key} cannot be used: damaged"
            self.refused("--trust", PUBLIC, "--force", says=says, store=store)
        self.assertFalse(new.exists())
        self.assertEqual(list(empty.iterdir()), [])

    def test_dry_run_checks_every_byte(self):
        key, data = entry(payload=os.urandom(1_000_000))
        self.write([item(f"objects/{key}", data[:500_000] + bytes([data[500_000] ^ 1]) + data[500_001:])])
        self.refused("--trust", PUBLIC, "--force", "--dry-run", says="cannot be used: damaged")


class Disks(Hostile):
    def test_import_into_a_full_disk(self):
        good = [entry(f"jit_{i}", components=ANYWHERE, payload=os.urandom(300_000)) for i in range(5)]
        self.write([item(f"objects/{k}", d) for k, d in good])
        store = self.folder / "small"
        store.mkdir(mode=0o700)
        wrapper = self.wrapper(f"mount -t tmpfs -o size=1m,mode=700 tmpfs {store}")
        show = [*wrapper, "sh", "-c", '"$@"; status=$?; find "$REKINDLE_DIR"; exit $status', "sh"]
        result = self.within(show, "bundle", "import", "--force", "--trust", PUBLIC, self.file, store=store / "s")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"it has 1\.5 MB to import, and the file system of .* has .* free")
        self.assertEqual(result.stdout, "")

    def test_export_to_a_full_disk(self):
        self.job()
        disk = self.folder / "disk"
        disk.mkdir()
        wrapper = self.wrapper(f"mount -t tmpfs -o size=4k tmpfs {disk}")
        show = [*wrapper, "sh", "-c", f'"$@"; status=$?; ls -A {disk}; exit $status', "sh"]
        result = self.within(show, "bundle", "export", "-o", disk / "job.rkb", store=self.store)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("No space left on device", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_read_only_store(self):
        self.write(self.sound())
        before = digest_of_folder(self.other)
        script = f"mount --bind {self.other} {self.other}\nmount -o remount,bind,ro {self.other}"
        result = self.within(self.wrapper(script), "bundle", "import", "--force", "--trust", PUBLIC, self.file)
        self.assertIn(result.returncode, (1, 2))
        self.assertIn("nothing was imported", result.stderr)
        self.assertIn("Read-only file system", result.stderr)
        self.assertEqual(digest_of_folder(self.other), before)

    def test_read_only_folder(self):
        """A store of mode 0555, for a process that obeys modes."""
        drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
        if drop and subprocess.run([*drop, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no setpriv")
        self.write(self.sound())
        before = digest_of_folder(self.other)
        os.chmod(self.other, 0o555)
        result = self.within(drop, "bundle", "import", "--force", "--trust", PUBLIC, self.file)
        os.chmod(self.other, 0o700)
        self.assertIn(result.returncode, (1, 2))
        self.assertIn("Permission denied", result.stderr)
        self.assertEqual(digest_of_folder(self.other), before)


class AtOnce(Hostile):
    def test_two_imports(self):
        entries = [entry(f"jit_{i}", components=ANYWHERE, payload=os.urandom(200_000)) for i in range(20)]
        self.write([item(f"objects/{k}", d) for k, d in entries])
        results = []

        def bring():
            results.append(self.call("bundle", "import", "--force", "--trust", PUBLIC, self.file, store=self.folder / "new"))

        threads = [threading.Thread(target=bring) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([result.returncode for result in results], [0] * 4, results)
        new = self.folder / "new"
        stored = {path.stem: path.read_bytes() for path in new.glob("objects/*/*.rkx")}
        self.assertEqual(stored, dict(entries))
        self.assertEqual(list(new.rglob(".tmp-*")), [])
        self.ok("fsck", store=new)

    def test_while_jobs_run(self):
        self.job(environment=ANYWHERE)
        self.export()
        new, failed = self.folder / "new", []

        def run():
            for _ in range(5):
                result = self.call("run", "--job", "job", "--", FIXTURE, "cold", store=new, environment=ANYWHERE)
                failed.extend([result.stderr] if result.returncode else [])

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)
        for _ in range(10):
            said = self.bring("--force", store=new)
            self.assertEqual(said["imported"]["executables"] + said["present"]["executables"], 3)
        thread.join()
        self.assertEqual(failed, [])
        self.ok("fsck", store=new)
        self.assertEqual(len(list(new.glob("objects/*/*.rkx"))), 3)

    def test_a_good_entry_is_not_replaced(self):
        """The store has another compilation of the same program."""
        key, mine = entry(payload=b"mine")
        _, theirs = entry(payload=b"theirs")
        place = self.other / "objects" / key[:2] / f"{key}.rkx"
        place.parent.mkdir(exist_ok=True, mode=0o700)
        place.write_bytes(mine)
        place.chmod(0o600)
        self.write([item(f"objects/{key}", theirs)])
        said = self.bring("--trust", PUBLIC, "--force")
        self.assertEqual((said["imported"]["executables"], said["present"]["executables"]), (0, 1))
        self.assertEqual(place.read_bytes(), mine)
        place.write_bytes(mine[:-1])
        self.assertEqual(self.bring("--trust", PUBLIC, "--force")["imported"]["executables"], 1)
        self.assertEqual(place.read_bytes(), theirs)


class Targets(Hostile):
    """What an export finds under the name of its file."""

    def setUp(self):
        super().setUp()
        self.job()

    def fails(self, target, says):
        result = self.call("bundle", "export", "-o", target)
        self.assertIn(result.returncode, (1, 2))
        self.assertIn(says, result.stderr)
        return result

    def test_file(self):
        self.file.write_text("an older bundle")
        self.file.chmod(0o644)
        self.export()
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)
        self.json("bundle", "inspect", self.file)

    def test_links_are_replaced(self):
        target = self.folder / "target"
        target.write_text("a letter")
        for name in (target, self.folder / "nothing"):
            self.file.unlink(missing_ok=True)
            self.file.symlink_to(name)
            self.export()
            self.assertFalse(self.file.is_symlink())
        self.assertEqual(target.read_text(), "a letter")
        self.assertFalse((self.folder / "nothing").exists())

    def test_folders(self):
        folder, link = self.folder / "folder", self.folder / "link"
        folder.mkdir()
        link.symlink_to(folder)
        for target in (folder, link, f"{folder}/"):
            self.fails(target, "is a folder: give the name of a file")
        self.assertEqual(list(folder.iterdir()), [])
        self.assertTrue(link.is_symlink())

    def test_devices_and_fifos(self):
        """Root could replace /dev/null by a file."""
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        self.fails("/dev/null", "/dev/null is not a regular file, and is not replaced")
        self.fails(fifo, "is not a regular file, and is not replaced")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_folders_that_cannot_be_written(self):
        self.fails(self.folder / "nowhere" / "job.rkb", "cannot open the folder of")
        self.fails(self.folder / "home" / ".." / "missing" / "job.rkb", "cannot open the folder of")
        self.fails("/proc/job.rkb", "cannot create a temporary file in the folder of /proc/job.rkb")

    def test_nothing_is_left_of_a_killed_export(self):
        """SIGKILL in the middle: the file has no name yet."""
        out = self.folder / "out"
        out.mkdir()
        process = subprocess.Popen(
            [self.program, "bundle", "export", "-o", out / "job.rkb"],
            env={"HOME": str(self.folder / "home"), "REKINDLE_DIR": str(self.store)}, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        process.kill()
        process.wait()
        left = [path.name for path in out.iterdir()]
        self.assertIn(left, ([], ["job.rkb"]))


class Exported(Hostile):
    def test_damaged_entries_are_left_out(self):
        """Whatever is damaged, the bundle is sound and has the rest, and equal contents once."""
        self.job()
        first, second, third = sorted(self.store.glob("objects/*/*.rkx"))
        first.write_bytes(first.read_bytes()[:-1])
        data = bytearray(second.read_bytes())
        data[len(data) // 2] ^= 1
        second.write_bytes(data)
        said = self.export()
        self.assertEqual((said["executables"], said["programs"]), (1, 3))
        whys = {one["name"]: one["why"] for one in said["left_out"]}
        self.assertEqual(whys, {f"objects/{first.stem}": "truncated", f"objects/{second.stem}": "damaged"})
        read = bundle_format.read(self.file.read_bytes())
        names = [one["name"] for one in read["modules"][0]["items"]]
        self.assertIn(f"objects/{third.stem}", names)
        self.assertEqual(self.bring("--force")["present"]["executables"], 1)

    def test_files_in_place_of_entries(self):
        self.job()
        first, second, third = sorted(self.store.glob("objects/*/*.rkx"))
        first.unlink()
        first.symlink_to("/etc/passwd")
        second.unlink()
        os.mkfifo(second)
        shutil.copy(third, third.parent / "x")
        said = self.export()
        self.assertEqual(said["executables"], 1)

    def test_digests_are_those_of_the_files(self):
        self.job()
        self.export()
        for one in bundle_format.read(self.file.read_bytes())["modules"][0]["items"]:
            if one["name"].startswith("objects/"):
                key = one["name"].partition("/")[2]
                data = (self.store / "objects" / key[:2] / f"{key}.rkx").read_bytes()
                self.assertEqual(one["digest"], hashlib.blake2b(data, digest_size=32).hexdigest())



if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
