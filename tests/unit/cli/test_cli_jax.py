#!/usr/bin/env python3
"""JAX's compilation cache in bundles, with a stand-in for JAX: folders with jax/version.py and jaxlib/version.py in
PYTHONPATH, and directories with files that have the names of JAX's.

usage: test_cli_jax.py REKINDLE FIXTURE PRELOAD_STUB
"""

import json
import os
import shutil
import stat
import struct
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from test_cli_bundle import (  # noqa: E402
    ENVIRONMENT, PUBLIC, Case, bundle_format, digest, digest_of_folder, item,
)  # fmt: skip

PYTHON = os.path.realpath(sys.executable)
CHOICES = "xla_gpu_per_fusion_autotune_cache_dir"


def name_of(function, number=0, ending="cache"):
    return f"{function}-{number:064x}-{ending}"


def pack_of(files):
    """A pack by docs/format.md: (name, content) for each file, in the given order."""
    table, contents = b"", b""
    for name, content in files:
        row = struct.pack("<IIQQQ", len(name.encode()), 0, 1, len(contents), len(content))
        table += row + digest(content) + name.encode()
        contents += content
    return b"rktpack1" + struct.pack("<II", len(files), 0) + table + contents


def entry_of(payload, components, metadata):
    """An entry by docs/format.md, uncompressed and unsigned. Returns the hex digits of its key, and its bytes."""
    listed = json.dumps(components).encode()
    parts = [digest(payload), digest(b"options"), digest(listed)]
    key = digest(b"".join(parts))
    sections = [b'{"options":[],"environment":' + listed + b"}", json.dumps(metadata).encode(), payload, b""]
    head = bundle_format.MAGIC[:3] + b"X" + bundle_format.MAGIC[4:]
    head += struct.pack("<IIIIQQ", 1, 256, 1, 0, 1, 700_000_000) + key + b"".join(parts)
    for section in sections:
        head += struct.pack("<QQ", len(section), len(section))
    body = head.ljust(256, b"\0") + b"".join(sections)
    return key.hex(), body + digest(body)


class Jax(Case):
    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        (self.bin / "python3").symlink_to(PYTHON)
        self.packages = self.folder / "packages"
        self.version("jax", "0.10.2")
        self.version("jaxlib", "0.10.2")
        self.cache = self.folder / "cache"

    def version(self, package, version):
        path = self.packages / package / "version.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"__version__ = '{version}'\n")

    def call(self, *arguments, **options):
        search = {"PYTHONPATH": str(self.packages), "PATH": f"{self.bin}:{os.environ['PATH']}"}
        return super().call(*arguments, **(search | options))

    def fill(self, *names, cache=None):
        cache = cache or self.cache
        for name in names:
            path = cache / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(f"content of {name}".encode())

    def give(self, *arguments, **options):
        return self.export("--directory", self.cache, *arguments, **options)

    def move(self):
        """The second machine has nothing at the same path."""
        self.first = self.folder / "first"
        self.cache.rename(self.first)

    def take(self, *arguments, **options):
        return self.bring("--directory", self.cache, *arguments, **options)

    def unchanged(self, *arguments, says, directory=None, **options):
        """An import that is refused, and changes neither the store nor the directory."""
        directory = directory or self.cache
        before = digest_of_folder(directory)
        result = self.refused("--directory", directory, *arguments, says=says, **options)
        self.assertEqual(digest_of_folder(directory), before, "the directory changed")
        return result

    def names(self, folder=None):
        return sorted(path.name for path in (folder or self.cache).iterdir())


class RoundTrip(Jax):
    def test_what_comes_back(self):
        entries = [name_of("jit_f", 1), name_of("jit__lambda", 2), name_of("jit_ä", 3)]
        left = [name_of("jit_f", 1, "atime"), ".lockfile", "xla_gpu_kernel_cache_file", "notes.txt",
                f"{CHOICES}/tmp/tmp_per_fusion_cache_a_1.textproto", f"sub/{name_of('jit_f', 4)}"]  # fmt: skip
        self.fill(*entries, *left)
        (self.cache / name_of("jit_link", 5)).symlink_to(self.cache / entries[0])
        said = self.give("--module", "jax")
        self.assertEqual((said["job"], said["packs"], said["left_out"]), ("jax", 1, []))
        self.move()
        said = self.take("--module", "jax")
        self.assertEqual((said["imported"]["packs"], said["files"]), (1, 3))
        times = [one.replace("-cache", "-atime") for one in entries]
        self.assertEqual(self.names(), sorted(entries + times))
        for one in entries:
            self.assertEqual((self.cache / one).read_bytes(), (self.first / one).read_bytes())
            self.assertEqual(stat.S_IMODE((self.cache / one).stat().st_mode), 0o600)
        for one in times:
            data = (self.cache / one).read_bytes()
            self.assertEqual(len(data), 8)
            self.assertAlmostEqual(int.from_bytes(data, "little") / 1e9, time.time(), delta=60)
        self.assertEqual(stat.S_IMODE(self.cache.stat().st_mode), 0o700)

    def test_files_that_are_there_stay(self):
        self.fill(name_of("jit_f", 1), name_of("jit_f", 2))
        self.give()
        self.move()
        mine = self.cache / name_of("jit_f", 1)
        self.cache.mkdir()
        mine.write_bytes(b"mine")
        self.assertEqual(self.take()["files"], 1)
        self.assertEqual(mine.read_bytes(), b"mine")
        self.assertTrue((self.cache / name_of("jit_f", 1, "atime")).exists())
        before = digest_of_folder(self.cache)
        said = self.take()
        self.assertEqual((said["present"]["packs"], said["files"]), (1, 0))
        self.assertEqual(digest_of_folder(self.cache), before)

    def test_results_of_autotuning_are_a_module_of_their_own(self):
        entry, choice = name_of("jit_f", 1), f"{CHOICES}/kG3_-aZ.textproto"
        self.fill(entry, choice)
        modules = {one["name"] for one in self.give()["modules"]}
        self.assertEqual(modules, {"jax", "autotune"})
        self.move()
        self.assertEqual(self.take("--module", "autotune")["files"], 1)
        self.assertEqual(self.names(), [CHOICES])
        self.assertEqual((self.cache / choice).read_bytes(), (self.first / choice).read_bytes())
        self.assertEqual(self.take()["files"], 1)
        self.assertTrue((self.cache / entry).exists())

    def test_the_store(self):
        self.fill(name_of("jit_f", 1), name_of("jit_f", 2))
        self.give()
        (listed,) = self.json("ls")["entries"]
        self.assertEqual((listed["name"], listed["platform"]), ("JAX cache", "jax"))
        self.fill(name_of("jit_f", 3))
        self.give()
        self.assertEqual(len(self.json("ls")["entries"]), 1)  # the new pack has taken over the older one
        self.assertEqual(self.json("fsck")["findings"], [])
        self.ok("gc")
        self.ok("rm", self.json("ls")["entries"][0]["key"])
        self.assertEqual(self.json("ls")["entries"], [])

    def test_a_function_is_stored_once(self):
        self.fill(name_of("jit_f", 1))
        first = self.give()
        self.assertEqual(self.give()["modules"], first["modules"])
        self.assertEqual(len(self.json("ls")["entries"]), 1)

    def test_a_pack_that_no_job_lists(self):
        """An export was killed after it stored the pack, and before it listed it."""
        self.fill(name_of("jit_f", 1))
        first = self.give()
        (listed,) = (self.store / "jobs").glob("jax-*")
        shutil.rmtree(listed)
        self.assertEqual(self.give()["modules"], first["modules"])
        self.assertTrue(listed.exists())
        self.assertEqual(len(self.json("ls")["entries"]), 1)

    def test_inspect(self):
        self.fill(name_of("jit_f", 1), name_of("jit_f", 2))
        self.give()
        said = self.json("bundle", "inspect", self.file, "--for-this-machine", "--directory", self.cache)
        (module,) = said["modules"]
        self.assertEqual((module["name"], module["items"], module["packs"]), ("jax", 2, 1))
        self.assertEqual((said["usable"], said["mismatches"]), (True, []))
        self.assertEqual((said["packs"][0]["used"], said["packs"][0]["items"]), (True, 2))
        made = said["made_with"]
        self.assertEqual((made["jax"], made["jaxlib"], made["jax.compression"]), ("0.10.2", "0.10.2", "zlib"))
        text = self.ok("bundle", "inspect", self.file, "--for-this-machine")
        self.assertIn("--directory names the one of this machine", " ".join(text.split()))

    def test_import_into_the_store_alone(self):
        self.fill(name_of("jit_f", 1))
        self.give()
        self.move()
        said = self.bring()
        self.assertEqual((said["imported"]["packs"], said["files"]), (1, None))
        self.assertFalse(self.cache.exists())

    def test_the_mode_dry_run(self):
        self.fill(name_of("jit_f", 1))
        self.give()
        self.move()
        self.assertEqual(self.take("--dry-run")["files"], 0)
        self.assertFalse(self.cache.exists() or self.other.exists())


class Directory(Jax):
    def test_what_is_no_cache_directory(self):
        self.cache.mkdir()
        (self.cache / "notes.txt").touch()
        for words, says in {
            ("--module", "jax"): "has no function that JAX compiled: name the directory of JAX_COMPILATION_CACHE_DIR",
            ("--module", "pgo"): "is no cache directory with such files",
            (): "is no cache directory with files: name that of JAX (JAX_COMPILATION_CACHE_DIR) or of torch.compile",
        }.items():
            done = self.call("bundle", "export", "--directory", self.cache, *words, "-o", self.file)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)
        done = self.call("bundle", "export", "--directory", self.folder / "none", "-o", self.file)
        self.assertIn("No such file", done.stderr)
        self.assertFalse(self.file.exists() or self.store.exists())

    def test_a_target_with_other_files(self):
        self.fill(name_of("jit_f", 1))
        self.give()
        self.move()
        self.fill("notes.txt")
        self.unchanged(says="is neither empty nor a cache directory of JAX")
        (self.cache / "notes.txt").unlink()
        self.fill("q5/cq5xyz.py")
        self.unchanged(says="holds torch.compile's caches: name another directory")

    def test_what_jax_left_behind_is_no_other_file(self):
        self.fill(name_of("jit_f", 1))
        self.give()
        self.move()
        self.fill(".lockfile", "xla_gpu_kernel_cache_file", name_of("jit_f", 1, "atime"))
        self.assertEqual(self.take()["files"], 1)

    def test_open_to_other_users(self):
        self.fill(name_of("jit_f", 1))
        self.give()
        self.cache.chmod(0o777)
        self.assertIn("chmod", self.call("bundle", "export", "--directory", self.cache, "-o", self.file).stderr)
        self.unchanged(says="chmod")

    def test_two_frameworks(self):
        """A bundle of both says which files belong where only together with the directory or a module."""
        self.version("torch", "2.9.0")
        self.fill(name_of("jit_f", 1), "q5/cq5xyz.py")
        said = self.give()
        self.assertEqual((said["job"], {one["name"] for one in said["modules"]}), ("caches", {"jax", "inductor"}))
        self.move()
        self.unchanged(says="name their modules, such as --module jax")
        self.assertEqual(self.take("--module", "jax")["files"], 1)
        self.assertFalse((self.cache / "q5").exists())
        other = self.folder / "torchinductor"
        self.fill("q5/another.py", cache=other)
        self.assertEqual(self.bring("--directory", other, "--force")["files"], 1)
        self.assertEqual(self.names(other), ["q5"])

    def test_a_python_with_one_of_two_frameworks(self):
        self.version("torch", "2.9.0")
        self.fill(name_of("jit_f", 1), "q5/cq5xyz.py")
        self.give()
        self.move()
        shutil.rmtree(self.packages / "torch")
        lacks = f"--python {PYTHON}: rekindle finds no torch in its folders"
        said = self.take("--python", PYTHON)
        self.assertEqual((said["files"], [one["why"] for one in said["refused"]]), (1, [lacks]))
        inspect = ("bundle", "inspect", self.file, "--for-this-machine", "--directory", self.cache, "--python", PYTHON)
        said = self.json(*inspect)
        self.assertEqual([(one["module"], one["used"], one["why"]) for one in said["packs"]],
                         [("inductor", False, lacks), ("jax", True, None)])  # fmt: skip
        shutil.rmtree(self.packages / "jax")
        self.unchanged("--python", PYTHON, says=f"--python {PYTHON}: rekindle finds no ", status=2)
        self.assertEqual(self.call(*inspect).returncode, 2)

    def test_nothing_for_the_directory(self):
        self.job(environment=ENVIRONMENT[:2])
        self.export()
        self.unchanged(says="leave out --directory")

    def test_a_name_of_the_job(self):
        self.fill(name_of("jit_f", 1))
        self.assertEqual(self.give("--job", "train")["job"], "train")

    def test_a_file_that_is_too_large_is_left_out(self):
        self.cache.mkdir()
        with open(self.cache / name_of("jit_large"), "wb") as file:
            file.truncate(249 << 20)
        done = self.call("bundle", "export", "--directory", self.cache, "-o", self.file)
        self.assertEqual(done.returncode, 2)
        self.assertIn("larger than 248 MiB", done.stderr)
        self.fill(name_of("jit_f", 1))
        said = self.give()
        self.assertEqual(said["packs"], 1)
        (left,) = said["left_out"]
        self.assertEqual((left["name"], left["why"]), (f"1 file of {self.cache}", "larger than a pack may be"))

    def test_a_full_entry_is_not_a_cut_one(self):
        """JAX writes a file in place: one whose zstd frame is cut is left out."""
        self.fill(name_of("jit_f", 1))
        (self.cache / name_of("jit_f", 2)).write_bytes(bytes.fromhex("28b52ffd2004210000") + b"co")
        self.give()
        said = self.json("bundle", "inspect", self.file)
        self.assertEqual(said["modules"][0]["items"], 1)


class Environment(Jax):
    def setUp(self):
        super().setUp()
        self.fill(name_of("jit_f", 1))
        self.give()
        self.move()

    def differing(self, result):
        """The names in the table of differences."""
        return [line.split()[0] for line in result.stderr.splitlines() if line.rstrip().endswith(("blocks", "warning"))]

    def test_another_version(self):
        for package in ("jax", "jaxlib"):
            self.version(package, "0.10.3")
            result = self.unchanged(says=f"{package} differs (compared with the JAX of {self.bin / 'python3'}")
            self.assertEqual(self.differing(result), [package])
            self.assertIn("--force", result.stderr)
            self.version(package, "0.10.2")
        self.version("jaxlib", "0.10.3")
        self.assertEqual(self.take("--force")["files"], 1)

    def test_results_of_autotuning_of_another_version(self):
        """XLA's results of autotuning have no version in their names, and those of another one do harm."""
        self.first.rename(self.cache)
        self.fill(f"{CHOICES}/kG3.textproto")
        self.give()
        self.move()
        self.version("jaxlib", "0.10.3")
        result = self.unchanged(says="--force imports it nevertheless")
        self.assertIn("warning", result.stderr)
        self.assertIn("blocks", self.unchanged("--module", "autotune", "--force", says="jaxlib differs").stderr)
        said = self.take("--force")
        self.assertEqual((said["files"], said["imported"]["packs"], len(said["refused"])), (1, 1, 1))
        self.assertFalse((self.cache / CHOICES).exists())
        checked = self.json("bundle", "inspect", self.file, "--for-this-machine", "--directory", self.cache, status=1)
        self.assertEqual([one["blocks"] for one in checked["mismatches"]], [False])

    def test_another_plugin_and_another_compression(self):
        (self.packages / "jax_cuda12_plugin-0.10.2.dist-info").mkdir()
        (self.packages / "zstandard").mkdir()
        (self.packages / "zstandard/__init__.py").touch()
        self.assertEqual(self.differing(self.unchanged(says="differ")), ["jax.compression", "jax_cuda12_plugin"])

    def test_another_path(self):
        """JAX's keys have the path of the directory, unless XLA's caches are off."""
        other = self.folder / "elsewhere"
        result = self.unchanged(says="JAX_COMPILATION_CACHE_DIR differs (JAX's keys have that path", directory=other)
        self.assertEqual(self.differing(result), ["JAX_COMPILATION_CACHE_DIR"])
        self.assertIn("JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES=none", result.stderr)
        self.assertFalse(other.exists())
        self.assertEqual(self.bring("--directory", other, "--force")["files"], 1)

    def test_another_path_without_caches_of_xla(self):
        off = {"JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none"}
        self.first.rename(self.cache)
        self.give(**off)
        self.move()
        other = self.folder / "elsewhere"
        self.assertEqual(self.bring("--directory", other, **off)["files"], 1)
        self.unchanged(says="JAX_COMPILATION_CACHE_DIR differs", store=self.folder / "third")

    def test_the_path_that_jax_was_told(self):
        """A link, or another spelling, of the same directory: the variable tells what is in the keys."""
        link = self.folder / "link"
        link.symlink_to(self.first)
        told = f"{self.folder}//link/"
        self.export("--directory", self.first, JAX_COMPILATION_CACHE_DIR=told)
        link.unlink()
        self.assertEqual(self.bring("--directory", link)["files"], 1)

    def test_a_relative_path_that_jax_was_told(self):
        """The directory does not exist yet where it is imported."""
        name, there = "jax_cache", {"JAX_COMPILATION_CACHE_DIR": "jax_cache"}
        for folder in ("one", "two"):
            (self.folder / folder).mkdir()
        self.fill(name_of("jit_f", 1), cache=self.folder / "one" / name)
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder / "one")
        self.export("--directory", name, **there)
        os.chdir(self.folder / "two")
        self.refused("--directory", name, says="JAX_COMPILATION_CACHE_DIR differs")
        self.assertEqual(self.bring("--directory", name, **there)["files"], 1)

    def test_a_python_without_jax(self):
        done = self.call("bundle", "import", self.file, "--directory", self.cache, "--python", PYTHON,
                         store=self.other, PYTHONPATH="")  # fmt: skip
        self.assertIn(f"--python {PYTHON}: rekindle finds no JAX in its folders", done.stderr)
        self.assertFalse(self.other.exists() or self.cache.exists())
        done = self.call("bundle", "export", "--directory", self.first, "--python", "/no/python", "-o", self.file)
        self.assertIn("/no/python has no JAX", done.stderr)
        # An image may be filled before JAX is installed.
        self.assertEqual(self.take(PYTHONPATH="")["files"], 1)


class Hostile(Jax):
    """Packs that only a hostile or broken program writes, signed by a trusted key."""

    def setUp(self):
        super().setUp()
        self.fill(name_of("jit_f", 1))
        self.give()
        self.made = self.json("bundle", "inspect", self.file)["made_with"]
        self.take()

    def components(self, **changes):
        """The environment of this machine, as a pack has it."""
        listed = [{"kind": "variable", "name": "JAX_COMPILATION_CACHE_DIR", "value": str(self.cache)}]
        for name, kind in (("jax", "version"), ("jax.compression", "version"), ("jaxlib", "version"),
                           ("gpu", "topology"), ("host.cpu_features", "topology"), ("host.machine", "topology")):  # fmt: skip
            value = changes.get(name.replace(".", "_"), self.made.get(name))
            if value is None:
                continue
            if len(value) > 256:
                value = {"digest": digest(value.encode()).hex(), "bytes": len(value)}
            listed.append({"kind": kind, "name": name, "value": value})
        return listed

    def bundle(self, files, module="jax", platform="jax", inside=None, components=None, payload=None):
        metadata = {"name": "JAX cache", "platform": platform, "pack": inside or module, "job": "jax", "namespace": "",
                    "run": "run", "items": len(files)}  # fmt: skip
        payload = pack_of(files) if payload is None else payload
        key, data = entry_of(payload, components or self.components(), metadata)
        self.write([item(f"packs/{key}", data)], module=module)

    def trusted(self, says, *arguments, **options):
        return self.unchanged("--trust", PUBLIC, *arguments, says=says, **options)

    def test_a_sound_pack(self):
        self.bundle([(name_of("jit_g", 7), b"code")])
        self.assertEqual(self.take("--trust", PUBLIC)["files"], 1)

    def test_other_names(self):
        digits = "0" * 64
        for name in (f"../jit_f-{digits}-cache", f"/tmp/jit_f-{digits}-cache", f"a/jit_f-{digits}-cache", "..", ".",
                     f"jit_f-{digits}-cache/..", f"./jit_f-{digits}-cache", f"jit\\f-{digits}-cache", ".lockfile",
                     f"jit\nf-{digits}-cache", f"jit_f-{digits}-atime", "sitecustomize.py", "q5/cq5xyz.py", "",
                     "xla_gpu_kernel_cache_file", f"{CHOICES}/a.textproto", f"-{digits}-cache", "a" * 256):  # fmt: skip
            self.bundle([(name, b"code")])
            self.trusted("cannot be used: a pack is not valid")
            self.trusted("cannot be used: a pack is not valid", "--force", "--unsigned")

    def test_one_bad_name_among_good_ones(self):
        self.bundle([(name_of("jit_a", 1), b"code"), (name_of("jit_b", 2), b"code"), ("z/../../x", b"code")])
        self.trusted("a pack is not valid")

    def test_duplicate_names(self):
        self.bundle([(name_of("jit_a", 1), b"code"), (name_of("jit_a", 1), b"other")])
        self.trusted("two have the same name")

    def test_cut_and_other_payloads(self):
        whole = pack_of([(name_of("jit_a", 1), b"code")])
        for payload in (whole[:-1], whole[:20], b"", b"an executable", whole[:8] + b"\xff\xff\xff\xff" + whole[12:]):
            self.bundle([], payload=payload)
            self.trusted("cannot be used")

    def test_another_module_or_framework(self):
        for options, says in (
            ({"module": "autotune"}, "a file is not of the pack's module"),
            ({"platform": "torch.compile"}, "holds JAX's compilation cache: name another directory"),
            ({"platform": "cpu"}, "does not belong to the module jax"),
            ({"inside": "autotune"}, "does not belong to the module jax"),
            ({"inside": "unknown"}, "does not belong to the module jax"),
        ):
            self.bundle([(name_of("jit_g", 7), b"code")], **options)
            self.trusted(says)

    def test_a_pack_of_torch_with_names_of_jax(self):
        self.bundle([(name_of("jit_g", 7), b"code")], platform="torch.compile", components=[
            {"kind": "topology", "name": "host.machine", "value": self.made["host.machine"]}])  # fmt: skip
        self.trusted("a file is not of the pack's module", directory=self.folder / "new")
        self.trusted("holds JAX's compilation cache: name another directory")

    def test_a_cpu_with_other_features(self):
        """Code for another CPU could kill a job: no option imports it."""
        self.bundle([(name_of("jit_g", 7), b"code")], components=self.components(host_cpu_features="sse9 mmx"))
        for words in ((), ("--force",)):
            self.assertIn("blocks", self.trusted("host.cpu_features differs", *words).stderr)

    def test_another_host_of_an_accelerator(self):
        """Most functions for a GPU have no code for the CPU."""
        plugin = {"kind": "version", "name": "jax_cuda12_plugin", "value": "0.10.2"}
        (self.packages / "jax_cuda12_plugin-0.10.2.dist-info").mkdir()
        theirs = [*self.components(host_cpu_features="sse9 mmx"), plugin]
        self.bundle([(name_of("jit_g", 7), b"code")], components=theirs)
        for options in ({}, {"PYTHONPATH": ""}):  # an image may be filled before JAX is installed
            self.assertIn("warning", self.trusted("host.cpu_features differs", **options).stderr)
        self.assertEqual(self.take("--trust", PUBLIC, "--force")["files"], 1)

    def test_a_machine_with_a_gpu_compiles_for_its_cpu_too(self):
        theirs = self.components(host_cpu_features="sse9 mmx", gpu="NVIDIA H200")
        self.bundle([(name_of("jit_g", 7), b"code")], components=theirs)
        for options in ({}, {"PYTHONPATH": ""}):
            self.assertIn("blocks", self.trusted("host.cpu_features", "--force", **options).stderr)

    def test_another_machine(self):
        self.bundle([(name_of("jit_g", 7), b"code")], components=self.components(host_machine="sparc64"))
        self.trusted("host.machine differs", "--force")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
