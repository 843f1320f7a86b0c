#!/usr/bin/env python3
"""torch.compile's caches under `rekindle run`, with a stand-in for torch: a folder with torch/version.py in PYTHONPATH,
and jobs that write the files that torch.compile would write.

usage: test_cli_torch.py REKINDLE FIXTURE PRELOAD_STUB
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

REKINDLE, FIXTURE, STUB = sys.argv[1:4]
# A Python that is no script, whatever starts this file.
PYTHON = os.path.realpath(sys.executable)

JOB = """
import json, os, sys
names = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TORCH_COMPILE_JOB_ID")
print(json.dumps({name: os.environ.get(name) for name in names}))
folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
for name in sys.argv[2:] if folder else ():
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x") as file:
        file.write(name)
sys.exit(int(sys.argv[1]))
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rekindle-torch-"))
        self.addCleanup(shutil.rmtree, self.folder)
        prefix = self.folder / "installed"
        for name in ("bin", "lib"):
            (prefix / name).mkdir(parents=True)
        shutil.copy(REKINDLE, prefix / "bin/rekindle")
        for name in ("preload", "core"):
            shutil.copy(STUB, prefix / f"lib/librekindle_{name}.so")
        self.program = prefix / "bin/rekindle"
        self.store, self.home = self.folder / "store", self.folder / "home"
        self.home.mkdir()
        self.job = self.script("job.py", JOB)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        (self.bin / "python3").symlink_to(PYTHON)
        self.torch("2.9.0")

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def torch(self, version):
        path = self.folder / "packages/torch/version.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"__version__ = '{version}'\n")

    def call(self, *arguments, home=None, **variables):
        env = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "HOME": str(home or self.home),
            "REKINDLE_DIR": str(self.store),
            "REKINDLE_TORCH_COMPILE": "1",
            "PYTHONPATH": str(self.folder / "packages"),
            "TMPDIR": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "ASAN_OPTIONS": "exitcode=86",
            **variables,
        }
        env = {name: str(value) for name, value in env.items() if value is not None}
        words = [self.program, *map(str, arguments)]
        return subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)

    def start(self, *command, status=0, **options):
        """The variables that the job got, and what was printed to stderr."""
        done = self.call("run", "--job", options.pop("job", "job"), "--", *command, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    def train(self, *files, status=0, python=PYTHON, **options):
        return self.start(python, self.job, status, *files, status=status, **options)

    def stats(self, **options):
        done = self.call("stats", "--json", **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def text(self):
        return " ".join(self.call("stats").stdout.split())

    def counts(self, **expected):
        found = self.stats()["torch_compile"]
        self.assertEqual({name: found[name] for name in expected}, expected)

    def left_alone(self, says):
        stats = self.stats()
        self.assertIsNone(stats["torch_compile"])
        self.assertIn(says, stats["torch_compile_why"])
        self.assertIn(" ".join(says.split()), self.text())


class Run(Case):
    def test_the_directory_stays_and_files_are_stored(self):
        said, printed = self.train("q5/a.py", "q5/result.pt2")
        folder = Path(said["TORCHINDUCTOR_CACHE_DIR"])
        self.assertEqual(folder.parent, self.home / ".cache/rekindle/torch-compile")
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        self.assertEqual(said["TRITON_CACHE_DIR"], f"{folder}/triton")
        self.assertIsNone(said["TORCH_COMPILE_JOB_ID"])
        self.assertIn("no file of torch.compile's caches was in the store, 1 new", printed)
        self.assertTrue((folder / "q5/result.pt2").exists())
        self.counts(restored=0, present=0, made=1, new=1)
        self.assertEqual(self.train()[0], said)
        self.assertTrue((folder / "q5/result.pt2").exists())
        self.counts(restored=0, present=1, made=0, new=0)
        self.assertIn("1 file of torch.compile's caches already there, 0 new.", self.text())
        self.assertIn("torch.compile wrote no new file.", self.text())
        other = self.folder / "other"
        self.train(home=other)
        self.counts(restored=1, present=0, made=0, new=0, not_restored=0)

    def test_only_a_job_that_succeeded_needed_nothing(self):
        self.train("q5/a.py")
        self.train(status=3)
        self.assertNotIn("wrote no new file", self.text())
        self.train("q5/b.py", REKINDLE_MODE="readonly")
        self.assertNotIn("wrote no new file", self.text())
        self.counts(made=1, new=0)
        self.assertIn("1 new and not stored", self.text())

    def test_a_signal_while_files_are_stored_does_not_replace_the_exit_status(self):
        """A process that the job leaves behind signals rekindle once it blocks only what it blocks after the job."""
        late = (
            "import os, signal\n"
            "rekindle, job = os.getppid(), os.getpid()\n"
            "folder = os.environ['TORCHINDUCTOR_CACHE_DIR'] + '/q5'\n"
            "os.makedirs(folder, exist_ok=True)\n"
            "for i in range(20000):\n"
            "    with open(f'{folder}/{i}.py', 'w') as file:\n"
            "        file.write(str(i))\n"
            "def blocks(number):\n"
            "    with open(f'/proc/{rekindle}/status') as file:\n"
            "        mask = next(line for line in file if line.startswith('SigBlk'))\n"
            "    return int(mask.split()[1], 16) >> (number - 1) & 1\n"
            "if os.fork() == 0:\n"
            "    while os.path.exists(f'/proc/{job}') or blocks(signal.SIGUSR1):\n"
            "        pass\n"
            "    os.kill(rekindle, signal.SIGTERM)\n"
            "    os._exit(0)\n"
            "print('{}', flush=True)\n"
            "os._exit(3)\n"
        )
        script = self.script("late.py", late)
        printed = self.start(PYTHON, script, status=3)[1]
        self.assertIn("a signal asked rekindle to end", printed)
        self.assertIn("not everything that this job compiled is kept", printed)
        self.assertLess(self.stats()["torch_compile"]["new"], 20000)

    def test_a_shell_reports_a_signal_by_its_status(self):
        self.train("q5/young.py", status=137)
        self.counts(made=1, new=0)
        self.train("q5/b.py", status=1)
        self.counts(made=1, new=2)

    def test_sizes_are_a_choice_of_their_own(self):
        self.assertEqual(self.train(REKINDLE_TORCH_COMPILE="pgo")[0]["TORCH_COMPILE_JOB_ID"], "job")
        own = self.train(REKINDLE_TORCH_COMPILE="pgo", TORCH_COMPILE_JOB_ID="mine")
        self.assertEqual(own[0]["TORCH_COMPILE_JOB_ID"], "mine")
        done = self.call("run", "--", "true", REKINDLE_TORCH_COMPILE="maybe")
        self.assertEqual(done.returncode, 2)
        self.assertIn("use 1, 0 or pgo", done.stderr)

    def test_own_directories_are_left_alone(self):
        own = self.folder / "own"
        said, _ = self.train("q5/a.py", TORCHINDUCTOR_CACHE_DIR=own)
        self.assertEqual(said["TORCHINDUCTOR_CACHE_DIR"], str(own))
        self.assertIsNone(said["TRITON_CACHE_DIR"])
        self.left_alone("TORCHINDUCTOR_CACHE_DIR is set")
        self.assertFalse((self.home / ".cache/rekindle/torch-compile").exists())

    def test_torchs_own_directory_is_not_taken(self):
        seed = self.folder / "torchinductor_me/q5/seed.py"
        seed.parent.mkdir(parents=True)
        seed.write_text("of another torch")
        self.train(LOGNAME="me")
        self.counts(restored=0, present=0, new=0)

    def test_readonly_without_packs(self):
        said, _ = self.train(REKINDLE_MODE="readonly")
        self.assertIsNone(said["TORCHINDUCTOR_CACHE_DIR"])
        self.assertFalse(self.store.exists())
        self.assertFalse((self.home / ".cache/rekindle").exists())

    def test_a_store_that_cannot_be_used(self):
        self.store.write_text("a file")
        said, printed = self.train("q5/a.py")
        self.assertIsNone(said["TORCHINDUCTOR_CACHE_DIR"])

    def test_versions_of_torch_are_apart(self):
        first = self.train("q5/a.py")[0]
        self.torch("2.10.0")
        second = self.train()[0]
        self.assertNotEqual(first, second)
        self.counts(restored=0, present=0)

    def test_numbers_of_threads_are_apart(self):
        """Inductor writes the number into a kernel, and torch's own keys do not have it."""
        two, four, same = (self.train(OMP_NUM_THREADS=n)[0]["TORCHINDUCTOR_CACHE_DIR"] for n in (2, 4, 2))
        self.assertNotEqual(two, four)
        self.assertEqual(two, same)
        self.assertNotIn(self.train(OMP_NUM_THREADS=2, MKL_NUM_THREADS=1)[0]["TORCHINDUCTOR_CACHE_DIR"], (two, four))

    def test_a_home_that_torch_compile_cannot_use(self):
        said, printed = self.train(home=self.folder / "John Doe")
        self.assertIsNone(said["TORCHINDUCTOR_CACHE_DIR"])
        self.assertIn("XDG_CACHE_HOME", printed)
        self.assertIn("XDG_CACHE_HOME", self.stats()["warnings"][0])

    def test_a_store_inside_the_same_cache(self):
        """The default store lies beside the directories, and may be made after them."""
        self.train("q5/a.py")
        self.train("q5/b.py", REKINDLE_DIR=None)
        self.assertTrue((self.home / ".cache/rekindle/REKINDLE_STORE").exists())
        self.assertEqual(self.call("fsck", REKINDLE_DIR=None).returncode, 0)
        self.assertEqual(self.stats(REKINDLE_DIR=None)["torch_compile"]["new"], 1)

    def test_open_folders_are_closed(self):
        """A job on another node may have made the folder with another mode."""
        base = self.home / ".cache/rekindle/torch-compile"
        base.mkdir(parents=True)
        base.chmod(0o755)
        said, _ = self.train("q5/a.py")
        self.assertEqual(Path(said["TORCHINDUCTOR_CACHE_DIR"]).parent, base)
        self.assertEqual(base.stat().st_mode & 0o777, 0o700)
        base.chmod(0o777)
        said, printed = self.train()
        self.assertIsNone(said["TORCHINDUCTOR_CACHE_DIR"])
        self.assertIn("chmod", printed)
        self.assertIn("chmod", self.stats()["warnings"][0])


class Python(Case):
    def test_scripts_that_name_a_python(self):
        for first in (PYTHON, "/usr/bin/env python3", "/usr/bin/env -S python3 -u"):
            said, _ = self.start(self.script("train", f"#!{first}\n{JOB}"), 0)
            self.assertIsNotNone(said["TORCHINDUCTOR_CACHE_DIR"], first)

    def test_shells_and_programs_that_run_a_python(self):
        shell = self.script("train.sh", f'#!/bin/sh\nexec "{PYTHON}" "$@"\n')
        for command in ([shell], ["sh", shell], ["env", PYTHON], ["nice", PYTHON]):
            said, _ = self.start(*command, self.job, 0)
            self.assertIsNone(said["TORCHINDUCTOR_CACHE_DIR"], command)
            self.left_alone(f"{command[0]} is not a Python")

    def test_python_programs_that_run_elsewhere(self):
        launcher = f"#!{PYTHON}\nimport os, sys\nos.execv('{PYTHON}', sys.argv)\n"
        for name in ("conda", "poetry", "srun", "deepspeed", "uv"):
            for command in ([self.script(name, launcher)], [PYTHON, self.script(name, launcher)]):
                said, _ = self.start(*command, self.job, 0)
                self.assertIsNone(said["TORCHINDUCTOR_CACHE_DIR"], name)
                self.left_alone("may run its command with another Python or on another machine")

    def test_a_python_that_is_a_script_is_not_started(self):
        log = self.folder / "started"
        (self.bin / "python3").unlink()
        shim = self.bin / "python3"
        shim.write_text(f'#!/bin/sh\necho started >>"{log}"\nexec "{PYTHON}" "$@"\n')
        shim.chmod(0o755)
        said, _ = self.train(python="python3")
        self.assertIsNone(said["TORCHINDUCTOR_CACHE_DIR"])
        self.left_alone("runs a Python that is a script")
        self.assertEqual(log.read_text(), "started\n")

    def test_no_torch(self):
        said, printed = self.train(PYTHONPATH="")
        self.assertIsNone(said["TORCHINDUCTOR_CACHE_DIR"])
        self.left_alone(f"rekindle finds no torch in the folders of {PYTHON}")
        self.assertIn("left alone", printed)

    def test_the_compiler_behind_ccache(self):
        """Another compiler is another environment, also if ccache calls it."""
        ccache, folders = self.script("ccache", "#!/bin/sh\n"), []
        (self.folder / "links").mkdir()
        (self.folder / "links/g++").symlink_to(ccache)
        for version in ("12", "13"):
            (self.bin / "g++").write_text(f"#!/bin/sh\necho {version}\n")
            (self.bin / "g++").chmod(0o755)
            path = f"{self.folder / 'links'}:{self.bin}:{os.environ['PATH']}"
            for variables in ({}, {"CXX": f"{ccache} g++"}, {"CXX": str(self.folder / "links/g++")}):
                folders.append(self.train(PATH=path, **variables)[0]["TORCHINDUCTOR_CACHE_DIR"])
        self.assertEqual([len(set(folders[:3])), len(set(folders[3:])), len(set(folders))], [1, 1, 2])


class Gc(Case):
    def test_unused_directories_are_removed(self):
        folder = Path(self.train("q5/a.py")[0]["TORCHINDUCTOR_CACHE_DIR"])
        self.assertEqual(json.loads(self.call("gc", "--json").stdout)["torch_compile"]["files"], 0)
        old = time.time() - 31 * 86400
        os.utime(folder, (old, old))
        dry = json.loads(self.call("gc", "--json", "--dry-run").stdout)
        self.assertEqual(dry["torch_compile"], {"files": 1, "bytes": 7})
        self.assertEqual([one["what"] for one in dry["removed"]], ["torch_compile"])
        self.assertTrue(folder.exists())
        self.call("gc", "--namespace", "team")
        self.assertTrue(folder.exists())
        said = self.call("gc").stdout
        self.assertIn("Removed 1 directory of torch.compile that no job used for 30 days", said)
        self.assertFalse(folder.exists())

    def test_the_directory_of_a_running_job_stays(self):
        waits = "import os, sys, time; os.utime(os.environ['TORCHINDUCTOR_CACHE_DIR'], (1, 1)); "
        waits += f"code = os.spawnv(os.P_WAIT, '{self.program}', ['rekindle', 'gc']); "
        waits += "print('{}' if os.path.isdir(os.environ['TORCHINDUCTOR_CACHE_DIR']) else 'gone')"
        self.assertEqual(self.start(PYTHON, "-c", waits)[0], {})


class Bundle(Case):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "job.rkb"
        self.train("q5/a.py", "dynamo/code_state_a.pkl")
        done = self.call("bundle", "export", "-o", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)

    def bring(self, *arguments, **variables):
        return self.call("bundle", "import", self.file, *arguments, REKINDLE_DIR=self.folder / "other", **variables)

    def test_another_torch_is_refused_with_its_python(self):
        self.torch("2.10.0")
        done = self.bring()
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"compared with the torch of {self.bin / 'python3'}", done.stderr)
        self.assertIn("--python", done.stderr)

    def test_the_python_can_be_named(self):
        environment = self.folder / "environment"
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        packages = environment / f"lib/python{version}/site-packages/torch"
        packages.mkdir(parents=True)
        (environment / "bin").mkdir()
        (environment / "bin/python").symlink_to(PYTHON)
        (environment / "pyvenv.cfg").write_text(f"home = {Path(PYTHON).parent}\n")
        named = ("--python", environment / "bin/python")
        for torch, status in (("2.8.0", 1), ("2.9.0", 0)):
            (packages / "version.py").write_text(f"__version__ = '{torch}'\n")
            done = self.bring(*named, PYTHONPATH="")
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual(f"the torch of {environment}/bin/python" in done.stderr, status == 1)
        self.assertIn("imported 2 packs", done.stdout)

    def test_the_number_of_threads_is_that_of_the_job(self):
        done = self.bring(OMP_NUM_THREADS=7)
        self.assertIn("imported 2 packs", done.stdout, done.stderr)
        for threads, restored in (("7", 0), (None, 2)):
            self.train(OMP_NUM_THREADS=threads, REKINDLE_DIR=self.folder / "other", home=self.folder / "second")
            self.assertEqual(self.stats(REKINDLE_DIR=self.folder / "other")["torch_compile"]["restored"], restored)

    def test_without_torch_only_the_cpu_counts(self):
        """An image may be filled before torch is installed."""
        self.assertIn("imported 2 packs", self.bring(PYTHONPATH="").stdout)
        done = self.bring("--python", PYTHON, PYTHONPATH="")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"--python {PYTHON}: rekindle finds no torch", done.stderr)

    def test_export_names_a_python_for_a_directory_only(self):
        done = self.call("bundle", "export", "--python", PYTHON, "-o", self.file)
        self.assertEqual(done.returncode, 2)
        caches = self.folder / "caches"
        (caches / "q5").mkdir(parents=True)
        words = ("bundle", "export", "--directory", caches, "--python", "/no/python", "-o", self.file)
        done = self.call(*words)
        self.assertIn(f"{caches} is no cache directory with files", done.stderr)
        self.assertIn("TORCHINDUCTOR_CACHE_DIR", done.stderr)
        (caches / "q5/a.py").touch()
        self.assertIn("/no/python has no torch", self.call(*words).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
