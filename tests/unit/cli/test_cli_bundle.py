#!/usr/bin/env python3
"""`rekindle bundle` on real stores, and on bundles and entries that this file writes by docs/format.md: what is packed,
what is imported, and each refusal with its reason and a store that did not change.

usage: test_cli_bundle.py REKINDLE FIXTURE PRELOAD_STUB
"""

import hashlib
import json
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bundle"))
import bundle_format  # noqa: E402

REKINDLE, FIXTURE, STUB = sys.argv[1:4]

SEED = bytes(range(32))
PUBLIC = bundle_format.sign(SEED, b"")[0].hex()
NAMES = ["jit_eval", "jit_init", "jit_train_step"]


def component(kind, name, value):
    return {"kind": kind, "name": name, "value": value}


ENVIRONMENT = [
    component("version", "plugin.platform_version", "xla 1"),
    component("version", "plugin.build_id", "aaaa"),
    component("topology", "topology.devices", "4 cpu\naddressable 4\n"),
    component("topology", "host.cpu_features", "avx avx2 fma"),
    component("topology", "host.cpus", "8"),
    component("flag", "--xla_foo", "true"),
]


def changed(name, value):
    return [dict(one, value=value) if one["name"] == name else one for one in ENVIRONMENT]


def digest(data):
    return hashlib.blake2b(data, digest_size=32).digest()


def digest_of_folder(folder):
    """A digest over the names, modes and contents of everything below a folder; "" if it does not exist."""
    if not folder.exists():
        return ""
    hasher = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        hasher.update(f"{path.relative_to(folder)} {path.lstat().st_mode:o} {len(content)};".encode() + content)
    return hasher.hexdigest()


def entry(name="jit_x", kind=1, components=None, key=None, payload=b"an executable", claims=None):
    """An entry, uncompressed and unsigned. Returns the hex digits of its key, and its bytes."""
    listed = components if components is not None else ENVIRONMENT
    parts = [digest(name.encode()), digest(b"options"), digest(json.dumps(listed).encode())]
    key = key or digest(b"".join(parts))
    sections = [
        json.dumps({"options": [], "environment": listed}).encode(),
        json.dumps({"name": name, "namespace": "", "toolchain": {"jax": "0.10.2"}}).encode(),
        payload,
        b"",
    ]
    head = bundle_format.MAGIC[:3] + b"X" + bundle_format.MAGIC[4:]
    head += struct.pack("<IIIIQQ", 1, 256, kind, 0, 1, 700_000_000) + key + b"".join(parts)
    for index, section in enumerate(sections):
        head += struct.pack("<QQ", len(section), claims if claims and index == 0 else len(section))
    body = head.ljust(256, b"\0") + b"".join(sections)
    return key.hex(), body + digest(body)


def item(name, content, frame=None, **attributes):
    return (name, content, frame, 0, attributes)


class Case(unittest.TestCase):
    """An installation, a user's home with a store, and a second user with another home and store."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rekindle-bundle-"))
        self.addCleanup(shutil.rmtree, self.folder)
        prefix = self.folder / "installed"
        (prefix / "bin").mkdir(parents=True)
        (prefix / "lib").mkdir()
        shutil.copy(REKINDLE, prefix / "bin" / "rekindle")
        for name in ("preload", "core"):
            shutil.copy(STUB, prefix / "lib" / f"librekindle_{name}.so")
        self.program = prefix / "bin" / "rekindle"
        self.store, self.other = self.folder / "store", self.folder / "other"
        self.file = self.folder / "job.rkb"

    def call(self, *arguments, store=None, home="home", environment=None, toolchain=None, **variables):
        (self.folder / home).mkdir(exist_ok=True)
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / home),
            "REKINDLE_DIR": str(store or self.store),
            "LC_ALL": "C.UTF-8",
            "ASAN_OPTIONS": "exitcode=86",
            "FIXTURE_ENVIRONMENT": json.dumps(environment or ENVIRONMENT),
            "FIXTURE_TOOLCHAIN": json.dumps(toolchain or {"jax": "0.10.2", "jaxlib": "0.10.2"}),
            **variables,
        }
        arguments = [self.program, *map(str, arguments)]
        return subprocess.run(arguments, env=env, capture_output=True, text=True, timeout=60)

    def ok(self, *arguments, **options):
        result = self.call(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def json(self, *arguments, status=0, **options):
        result = self.call(*arguments, "--json", **options)
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout)

    def job(self, kind="cold", job="job", **options):
        self.ok("run", "--job", job, "--", FIXTURE, kind, **options)

    def export(self, *arguments, **options):
        return self.json("bundle", "export", "-o", self.file, *arguments, **options)

    def bring(self, *arguments, **options):
        return self.json("bundle", "import", self.file, *arguments, **{"store": self.other} | options)

    def refused(self, *arguments, says, status=1, store=None, file=None, **options):
        """An import that is refused for exactly this reason, and changes nothing."""
        store = store or self.other
        before = digest_of_folder(store)
        result = self.call("bundle", "import", file or self.file, *arguments, store=store, **options)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertIn(says, result.stderr)
        if status == 1:
            self.assertIn("is refused, and nothing was changed: ", result.stderr)
        self.assertEqual(digest_of_folder(store), before, "the store changed")
        return result

    def write(self, items, seed=SEED, module="pjrt", header=None):
        header = header or {"media_type": bundle_format.MEDIA_TYPE, "made_with": {}, "annotations": {}}
        self.file.write_bytes(bundle_format.write(header, [(module, {}, items)], seed))

    def sound(self):
        """Items of a sound entry."""
        key, data = entry()
        return [item(f"objects/{key}", data)]


class Export(Case):
    def test_the_last_runs_job(self):
        self.job(job="first")
        self.job(job="second", environment=changed("--xla_foo", "false"))
        said = self.export()
        self.assertEqual((said["job"], said["executables"], said["programs"], said["manifests"]), ("second", 3, 3, 1))
        self.assertEqual(said["modules"], [{"name": "pjrt", "items": 7, "bytes": said["modules"][0]["bytes"]}])
        self.assertEqual((said["absent"], said["left_out"]), (0, []))
        self.assertEqual(self.file.stat().st_size, said["bytes"])
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)

    def test_items_are_the_files_of_the_store(self):
        self.job()
        self.export()
        (module,) = bundle_format.read(self.file.read_bytes())["modules"]
        names = {one["name"] for one in module["items"]}
        stored = {f"objects/{path.stem}" for path in self.store.glob("objects/*/*.rkx")}
        stored |= {f"programs/{path.stem}" for path in self.store.glob("programs/*/*.rkp")}
        self.assertEqual(names, stored | {"jobs/job/manifest"})

    def test_what_can_be_selected(self):
        self.job(job="first")
        self.job(job="second", environment=changed("--xla_foo", "false"))
        count = lambda *arguments: [self.export(*arguments)[kind] for kind in ("executables", "manifests")]  # noqa: E731
        self.assertEqual(count("--all"), [6, 2])
        self.assertEqual(count("--job", "first"), [3, 1])
        self.assertEqual(count("--run", "-2"), [3, 1])
        key = next(self.store.glob("objects/*/*.rkx")).stem
        self.assertEqual(count(key), [1, 0])
        self.assertEqual(count("--all", "--module", "pjrt", "--module", "pjrt", "--sign"), [6, 2])

    def test_wrong_usage(self):
        self.job()
        for words, says in {
            ("export",): "needs -o FILE",
            ("export", "-o", "x", "--all", "--job", "j"): "exclude each other",
            ("export", "-o", "x", "--module", "another"): "not 'another'",
            ("export", "-o", "x", "--force"): "bundle export has no --force",
            ("export", "-o", "x", "--job", "unknown"): "there is no job unknown",
            ("export", "-o", "x", "abcdef"): "no key begins with abcdef",
            ("import",): "bundle import takes one FILE",
            ("import", "x", "--for-this-machine"): "bundle import has no --for-this-machine",
            ("inspect", "a", "b"): "bundle inspect takes one FILE",
            ("send",): "bundle has no 'send': it is export, import or inspect",
            ("inspect", "/nonexistent.rkb"): "No such file",
        }.items():
            result = self.call("bundle", *words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(says, result.stderr)

    def test_nothing_to_export(self):
        self.assertIn("does not exist", self.call("bundle", "export", "-o", self.file).stderr)
        self.job("idle")
        self.assertEqual(self.call("bundle", "export", "-o", self.file).returncode, 2)
        self.assertFalse(self.file.exists())

    def test_a_damaged_entry_is_left_out(self):
        self.job()
        path = next(self.store.glob("objects/*/*.rkx"))
        path.write_bytes(path.read_bytes()[:-1])
        said = self.export()
        self.assertEqual(said["executables"], 2)
        self.assertEqual([one["name"] for one in said["left_out"]], [f"objects/{path.stem}"])

    def test_the_key_is_made_once(self):
        self.job()
        key = self.folder / "home/.config/rekindle/bundle.key"
        first = self.export()["signed_by"]
        self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600)
        self.assertEqual(self.export()["signed_by"], first)
        there = str(self.folder / "config")
        self.assertNotEqual(self.export(XDG_CONFIG_HOME=there)["signed_by"], first)
        self.assertTrue((self.folder / "config/rekindle/bundle.key").exists())
        named = self.folder / "named.key"
        made = self.json("keys", "generate", "--file", named)
        self.assertEqual(self.export(REKINDLE_SIGNING_KEY=str(named))["signed_by"], made["id"])

    def test_text(self):
        self.job()
        said = self.ok("bundle", "export", "-o", self.file)
        self.assertRegex(said, r"^wrote .*job\.rkb: .* kB; 3 executables, 3 programs, 1 manifest; signed by [0-9a-f]{16}\n")
        self.assertRegex(said, r"on another machine, in the folder of the file:\n  rekindle bundle import job\.rkb \\\n    --trust [0-9a-f]{64}\n")


class Inspect(Case):
    def setUp(self):
        super().setUp()
        self.job()
        self.export()

    def test_what_is_in_it(self):
        said = self.json("bundle", "inspect", self.file)
        self.assertEqual((said["format"], said["usable"], said["mismatches"]), (1, None, []))
        self.assertEqual(said["bytes"], self.file.stat().st_size)
        self.assertEqual([one["name"] for one in said["modules"]], ["pjrt"])
        self.assertEqual(sorted(one["name"] for one in said["entries"]), NAMES)
        self.assertEqual({one["used"] for one in said["entries"]}, {None})
        self.assertEqual(sorted(one["compile_seconds"] for one in said["entries"]), [0.7, 1.4, 2.1])
        made = said["made_with"]
        self.assertEqual((made["jax"], made["plugin.platform_version"], made["platform"]), ("0.10.2", "xla 1", "cpu"))
        self.assertNotIn("--xla_foo", made)
        self.assertEqual(said["annotations"]["job"], "job")

    def test_who_signed_it(self):
        signature = lambda **options: self.json("bundle", "inspect", self.file, **options)["signature"]  # noqa: E731
        own = signature()
        self.assertEqual((own["valid"], own["made_here"], own["trusted"]), (True, True, True))
        self.assertEqual({**own, "made_here": False, "trusted": False}, signature(home="stranger"))
        result = self.json("bundle", "inspect", self.file, "--trust", own["public_key"], home="stranger")["signature"]
        self.assertEqual((result["made_here"], result["trusted"]), (False, True))
        self.assertIn("which is not among the trusted keys", self.ok("bundle", "inspect", self.file, home="stranger"))
        self.write(self.sound(), seed=None)
        self.assertIsNone(signature())

    def test_for_the_same_machine(self):
        said = self.json("bundle", "inspect", self.file, "--for-this-machine")
        self.assertEqual((said["usable"], said["mismatches"]), (True, []))
        self.assertEqual({(one["used"], one["why"]) for one in said["entries"]}, {(True, None)})
        self.assertIn("3 of 3 executables would be used here", self.ok("bundle", "inspect", self.file, "--for-this-machine"))

    def test_for_another_machine(self):
        there = changed("plugin.platform_version", "xla 2")
        self.job("cold", store=self.other, environment=there)
        said = self.json("bundle", "inspect", self.file, "--for-this-machine", store=self.other, status=1)
        self.assertEqual(said["usable"], False)
        self.assertEqual(
            said["mismatches"],
            [{"what": "plugin.platform_version", "bundle": "xla 1", "here": "xla 2", "blocks": True}],
        )
        self.assertEqual({one["why"] for one in said["entries"]}, {"plugin.platform_version differs"})

    def test_nothing_is_known_yet(self):
        environment = [one for one in ENVIRONMENT if not one["name"].startswith("host.")]
        self.job(job="gpu", environment=environment)
        self.export()
        said = self.json("bundle", "inspect", self.file, "--for-this-machine", store=self.other)
        self.assertEqual((said["usable"], said["mismatches"], said["compared_with_run"]), (None, [], None))
        self.assertFalse(self.other.exists())
        text = self.ok("bundle", "inspect", self.file, "--for-this-machine", store=self.other)
        self.assertIn("are not known", " ".join(text.split()))

    def test_an_entry_that_cannot_be_read(self):
        key, data = entry()
        self.write([item(f"objects/{key}", data[:-1])])
        said = self.json("bundle", "inspect", self.file, "--for-this-machine", status=1)
        self.assertIn("truncated", said["entries"][0]["why"])


class Import(Case):
    def setUp(self):
        super().setUp()
        self.environment = [one for one in ENVIRONMENT if not one["name"].startswith("host.")]
        self.job(environment=self.environment)
        self.export()

    def same(self, folder):
        files = lambda store: {path.relative_to(store): path.read_bytes() for path in store.glob(f"{folder}/**/*") if path.is_file()}  # noqa: E501, E731
        self.assertEqual(files(self.store), files(self.other))

    def test_into_an_empty_store(self):
        said = self.bring()
        self.assertEqual(said["imported"], {"executables": 3, "programs": 3, "manifests": 1, "packs": 0})
        self.assertEqual((said["refused"], said["dry_run"]), ([], False))
        self.same("objects")
        self.same("programs")
        self.same("jobs")
        self.assertEqual(self.json("fsck", store=self.other)["findings"], [])

    def test_another_user_trusts_the_key(self):
        self.refused(home="stranger", says="is not trusted")
        key = self.json("bundle", "inspect", self.file)["signature"]["public_key"]
        self.assertEqual(self.bring("--trust", key, home="stranger")["imported"]["executables"], 3)
        self.assertFalse((self.folder / "stranger/.config").exists())
        shutil.rmtree(self.other)
        trusted = str(self.folder / "trusted")
        self.ok("keys", "trust", key, "--file", trusted)
        self.assertEqual(self.bring(home="stranger", REKINDLE_TRUSTED_KEYS=trusted)["imported"]["executables"], 3)

    def test_dry_run(self):
        said = self.bring("--dry-run")
        self.assertEqual((said["imported"]["executables"], said["dry_run"]), (3, True))
        self.assertFalse(self.other.exists())

    def test_a_second_import_goes_on(self):
        self.bring()
        whole = digest_of_folder(self.other / "objects")
        first, second, _ = sorted(self.other.glob("objects/*/*.rkx"))
        first.unlink()
        second.write_bytes(b"damaged")
        said = self.bring()
        self.assertEqual(said["imported"], {"executables": 2, "programs": 0, "manifests": 0, "packs": 0})
        self.assertEqual(said["present"], {"executables": 1, "programs": 3, "manifests": 1, "packs": 0})
        self.assertEqual(digest_of_folder(self.other / "objects"), whole)
        before = digest_of_folder(self.other / "objects")
        self.assertEqual(sum(self.bring()["imported"].values()), 0)
        self.assertEqual(digest_of_folder(self.other / "objects"), before)

    def test_a_good_entry_and_a_manifest_stay(self):
        self.job(store=self.other, environment=self.environment)
        before = [digest_of_folder(self.other / name) for name in ("objects", "programs", "jobs")]
        said = self.bring()
        self.assertEqual(sum(said["imported"].values()), 0)
        self.assertEqual([digest_of_folder(self.other / name) for name in ("objects", "programs", "jobs")], before)

    def test_two_environments(self):
        self.job(job="job", environment=changed("plugin.build_id", "bbbb"))
        self.export("--all")
        self.job("idle", store=self.other)
        self.job("warm", store=self.other, environment=self.environment)
        said = self.bring()
        self.assertEqual(said["imported"]["executables"], 3)
        self.assertEqual(len(said["refused"]), 6)
        self.assertEqual({one["why"].split()[-1] for one in said["refused"]}, {"differ"})

    def test_force_is_for_warnings(self):
        self.job("warm", store=self.other, environment=changed("--xla_foo", "false")[:3] + [ENVIRONMENT[5] | {"value": "false"}])
        self.refused(says="--xla_foo differs; --force")
        said = self.bring("--force")
        self.assertEqual(said["imported"]["executables"], 3)

    def test_unsigned(self):
        self.write(self.sound()[:1], seed=None)
        key, data = entry(components=self.environment)
        self.write([item(f"objects/{key}", data)], seed=None)
        self.refused(says="it is not signed")
        self.refused("--force", says="it is not signed")
        result = self.call("bundle", "import", "--unsigned", self.file, store=self.other)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("your jobs will run its code with your rights", result.stderr)


class Refusals(Case):
    """Bundles that are refused, and leave a store with entries exactly as it was."""

    def setUp(self):
        super().setUp()
        self.job(store=self.other)

    def trusting(self, says, **options):
        return self.refused("--trust", PUBLIC, says=says, **options)

    def test_a_sound_one_is_imported(self):
        self.write(self.sound())
        self.assertEqual(self.bring("--trust", PUBLIC, "--force")["imported"]["executables"], 1)

    def test_version_of_the_plugin(self):
        key, data = entry(components=changed("plugin.build_id", "bbbb"))
        self.write([item(f"objects/{key}", data)])
        result = self.trusting("nothing in it can be used on this machine: plugin.build_id differs")
        self.assertRegex(result.stderr, r"plugin\.build_id +bbbb +aaaa +blocks")
        self.refused("--trust", PUBLIC, "--force", says="plugin.build_id differs")

    def test_device(self):
        key, data = entry(components=changed("topology.devices", "8 tpu v5e\n"))
        self.write([item(f"objects/{key}", data)])
        self.assertRegex(self.trusting("topology.devices differs").stderr, r"8 tpu v5e +4 cpu; addressable 4 +blocks")

    def test_cpu_feature(self):
        key, data = entry(components=changed("host.cpu_features", "avx avx2 avx512f fma"))
        self.write([item(f"objects/{key}", data)])
        self.trusting("host.cpu_features differs")

    def test_cpu_feature_without_a_run(self):
        key, data = entry()
        self.write([item(f"objects/{key}", data)])
        self.trusting("host.cpu_features", store=self.folder / "new")

    def test_all_differences_in_one_table(self):
        components = [dict(one, value=one["value"] + "x") for one in ENVIRONMENT]
        key, data = entry(components=components)
        self.write([item(f"objects/{key}", data)])
        result = self.trusting("differ")
        for one in ENVIRONMENT:
            self.assertIn(one["name"], result.stderr.split("HERE")[1])

    def test_version_of_the_framework(self):
        self.job(job="here", environment=ENVIRONMENT, toolchain={"jax": "0.9"})
        self.export()
        self.job(store=self.folder / "new", toolchain={"jax": "0.10.2"})
        result = self.refused(says="jax differs; --force", store=self.folder / "new")
        self.assertRegex(result.stderr, r"jax +0\.9 +0\.10\.2 +warning")

    def test_damaged(self):
        self.write(self.sound())
        data = bytearray(self.file.read_bytes())
        data[300] ^= 1
        self.file.write_bytes(data)
        self.trusting("damaged")

    def test_truncated(self):
        self.write(self.sound())
        self.file.write_bytes(self.file.read_bytes()[:-100])
        self.trusting("the end of the bundle is missing or damaged")

    def test_no_bundle(self):
        self.file.write_bytes(b"PK\3\4" + bytes(1000))
        self.trusting("not a bundle")

    def test_future_format(self):
        self.write(self.sound())
        data = bytearray(self.file.read_bytes())
        data[8] = 2
        self.file.write_bytes(data)
        self.trusting("version 2")

    def test_future_format_of_an_entry(self):
        key, data = entry()
        self.write([item(f"objects/{key}", data[:8] + b"\2" + data[9:])])
        self.trusting(f"objects/{key} cannot be used: ")

    def test_unsigned(self):
        self.write(self.sound(), seed=None)
        self.trusting("it is not signed")

    def test_unknown_key(self):
        self.write(self.sound())
        self.refused(says="is not trusted")

    def test_signature_of_another_bundle(self):
        self.write(self.sound())
        signed = self.file.read_bytes()
        key, data = entry("jit_y")
        self.write([item(f"objects/{key}", data)])
        moved = bytearray(self.file.read_bytes())
        footer = len(moved) - 256
        moved[footer + 112 : footer + 208] = signed[-256 + 112 : -256 + 208]
        moved[footer + 208 : footer + 240] = digest(bytes(moved[footer : footer + 208]))
        self.file.write_bytes(moved)
        self.trusting("its signature does not match")
        self.refused("--unsigned", says="its signature does not match")

    def test_entry_with_a_changed_byte(self):
        key, data = entry()
        self.write([item(f"objects/{key}", data[:300] + b"!" + data[301:])])
        self.trusting(f"objects/{key} cannot be used: ")

    def test_entry_under_another_key(self):
        self.write([item("objects/" + "ab" * 32, entry()[1])])
        self.trusting("it has another key than its name says")

    def test_program_as_an_executable(self):
        key, data = entry(kind=2)
        self.write([item(f"objects/{key}", data)])
        self.trusting("it is a program, not an executable")
        key, data = entry(kind=1)
        self.write([item(f"programs/{key}", data)])
        self.trusting("it is an executable, not a program")

    def test_attributes_that_lie(self):
        key, data = entry()
        self.write([item(f"objects/{key}", data, environment="ab" * 32)])
        self.trusting("it has another environment than its attributes say")

    def test_names(self):
        key, data = entry()
        for name in ("objects/abc", f"objects/{key.upper()}x", "config", f"objects/{key}/x", "jobs/job", "jobs/.x/manifest",
                     "jobs/a b/manifest", "jobs/job/manifest-0", "jobs/job/manifest-01", "jobs/job/other",
                     f"quarantine/{key}"):  # fmt: skip
            self.write([item(name, data)])
            self.trusting(f"its module pjrt has no place for an item {name}")

    def test_traversal_and_duplicates(self):
        key, data = entry()
        self.write([item("objects/../../x", data)])
        self.trusting('has a part "." or ".."')
        self.write([item(f"/objects/{key}", data)])
        self.trusting("is not relative")
        self.write([item(f"objects/{key}", data), item(f"objects/{key}", data)])
        self.trusting("refused")

    def test_manifest(self):
        self.write([*self.sound(), item("jobs/j/manifest", b"rekindle manifest 99\n")])
        self.refused("--trust", PUBLIC, "--force", says="it is no manifest of this version")

    def test_no_such_module(self):
        self.write(self.sound(), module="another")
        self.trusting("it has no module pjrt")
        self.write(self.sound(), module="inductor")
        self.trusting("its module inductor has no place for an item objects/")

    def test_larger_than_the_store_may_be(self):
        self.write(self.sound())
        self.refused("--trust", PUBLIC, "--force", says="REKINDLE_MAX_SIZE is 512 B", REKINDLE_MAX_SIZE="512")

    def test_readonly(self):
        self.write(self.sound())
        self.trusting("REKINDLE_MODE is readonly", status=2, REKINDLE_MODE="readonly")

    def test_a_folder_that_is_no_store(self):
        self.write(self.sound())
        folder = self.folder / "documents"
        folder.mkdir()
        (folder / "letter").touch()
        self.trusting("documents", store=folder, status=2)

    def test_bombs(self):
        """Half a gigabyte of zeros in a small file, and a list of components that says it has two."""
        key, count = "ab" * 32, 1 << 12
        block = struct.pack("<I", 1 << 1 | (128 << 10) << 3)[:3] + b"\0"  # 128 KiB of zeros
        last = struct.pack("<I", 1 | 1 << 1 | (128 << 10) << 3)[:3] + b"\0"
        frame = struct.pack("<IBI", 0xFD2FB528, 0xA0, count * (128 << 10)) + block * (count - 1) + last
        self.write([item(f"objects/{key}", bytes(count * (128 << 10)), frame)])
        self.assertLess(self.file.stat().st_size, 1 << 20)
        self.trusting("it is compressed once more")
        self.assertLess(self.memory_of("--trust", PUBLIC), 256 << 20)
        self.write([*self.sound(), item("jobs/j/manifest", bytes(count * (128 << 10)), frame)])
        self.trusting("refused")
        self.assertLess(self.memory_of("--trust", PUBLIC), 256 << 20)
        key, data = entry(claims=1 << 31)
        self.write([item(f"objects/{key}", data)])
        self.trusting("its list of components would fill the memory")

    def memory_of(self, *arguments):
        """The largest memory of an import, in bytes. Measured in a small process: a child counts its parent's."""
        code = (
            "import resource, subprocess, sys\n"
            "subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL)\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        words = [sys.executable, "-c", code, self.program, "bundle", "import", *arguments, self.file]
        env = {"HOME": str(self.folder), "REKINDLE_DIR": str(self.other)}
        return int(subprocess.run(words, env=env, capture_output=True, check=True, text=True).stdout) << 10

    def test_compressed_twice(self):
        key, data = entry(payload=bytes(1 << 12))
        block = len(data) << 3 | 1  # a zstd frame of one raw block
        frame = bytes.fromhex("28b52ffd a0") + struct.pack("<I", len(data)) + struct.pack("<I", block)[:3] + data
        self.write([item(f"objects/{key}", data, frame)])
        self.trusting("it is compressed once more")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
