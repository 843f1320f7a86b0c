#!/usr/bin/env python3
"""The command line as users see it: every verb, as text and as JSON, on the files of a job; and the environment,
streams, signals and exit status between `run` and its command.

usage: test_cli_verbs.py REKINDLE FIXTURE PRELOAD_STUB
"""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import venv
from pathlib import Path

REKINDLE, FIXTURE, STUB = sys.argv[1:4]

# The plugin as all files of the project pin it: the development environments, the wheel's extra, the advice and the demo.
ROOT = Path(__file__).parents[3]
PLUGIN = "xla-cpu-pjrt==" + re.search(r"^xla-cpu-pjrt==(\S+)$",
                                       (ROOT / "scripts/requirements-jax-newest.txt").read_text(), re.M)[1]  # fmt: skip

# Prints "ready" once its handlers are installed, so that no signal comes too early.
TRAP = r"""
import os, signal, sys, time
def caught(number, frame):
    os.write(1, f"caught {signal.Signals(number).name}\n".encode())
    if number != signal.SIGCONT:
        sys.exit(7)
for number in sys.argv[1:]:
    signal.signal(signal.Signals[number], caught)
os.write(1, b"ready\n")  # not print(), which cannot be entered again by a handler
while True:
    time.sleep(60)
"""


class Case(unittest.TestCase):
    """An installation in a temporary folder, and a path for a store that does not exist yet."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rekindle-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.program = self.install(self.folder / "installed")
        self.store = self.folder / "store"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "REKINDLE_DIR": str(self.store),
            "LC_ALL": "C.UTF-8",
            # A sanitizer failure must not look like a failure of the command.
            "ASAN_OPTIONS": "exitcode=86",
        }

    def install(self, prefix):
        (prefix / "bin").mkdir(parents=True)
        (prefix / "lib").mkdir()
        shutil.copy(REKINDLE, prefix / "bin" / "rekindle")
        for name in ("preload", "core"):
            shutil.copy(STUB, prefix / "lib" / f"librekindle_{name}.so")
        return prefix / "bin" / "rekindle"

    def call(self, *arguments, **options):
        variables = dict(self.environment, **options.pop("variables", {}))
        return subprocess.run(
            [self.program, *arguments],
            env={name: value for name, value in variables.items() if value is not None},
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=options.pop("stderr", subprocess.PIPE),
            text=True,
            timeout=60,
            **options,
        )

    def ok(self, *arguments, **options):
        result = self.call(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def json(self, *arguments):
        return json.loads(self.ok(*arguments, "--json"))

    def refused(self, *arguments, says, status=2, **options):
        result = self.call(*arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(says, result.stderr)
        self.assertTrue(result.stderr.startswith("rekindle: "), result.stderr)
        return result

    def job(self, kind, status=0, **options):
        result = self.call("run", "--", FIXTURE, kind, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stderr


class Shapes(Case):
    def test_buckets_are_recommended(self):
        self.job("shapes")
        said = self.json("shapes")
        self.assertEqual(said["unread"], 0)
        (family,) = said["families"]
        self.assertEqual((family["name"], family["parameters"]), ("Graph", "s32[n]"))
        self.assertEqual(
            [(one["size"], one["uses"], one["compile_seconds"]) for one in family["sizes"]],
            [(5, 1, 1), (9, 1, 1), (60, 1, 1), (64, 2, 1), (100, 1, 1)],
        )
        self.assertEqual([plan["compilations"] for plan in family["plans"]], [1, 2, 3, 4, 5])
        self.assertEqual([plan["saved_seconds"] for plan in family["plans"]], [4, 3, 2, 1, 0])
        three = family["plans"][2]
        self.assertEqual(three["buckets"], [9, 64, 100])
        self.assertAlmostEqual(three["padding"], (4 + 4) / (2 * 9 + 3 * 64 + 100))
        self.assertEqual(family["plans"][4]["padding"], 0)
        self.assertEqual(family["recommended"], 3)
        self.assertEqual(
            family["advice"],
            "Pad n to 9, 64 or 100: then 3 programs are compiled instead of 5, a start with an empty "
            "store takes 2.0 s less, and 2.6 % of what is computed along n is padding.",
        )

    def test_as_text(self):
        self.job("shapes")
        text = self.ok("shapes")
        self.assertIn(": 1 family of programs that differ only in a size n of their inputs\n", text)
        self.assertRegex(text, r"First see `rekindle explain .*--run \S+`: .* padding changes the result.\n\nGraph \(")
        self.assertIn("\n  Inputs of different size n: s32[n]\n", text)
        self.assertIn("It has a program for each of 5 sizes n: 5, 9, 60, 64 and 100. Compiling them takes 5.0 s.\n", text)
        self.assertIn("Pad n to 9, 64 or 100", text)
        plans = [line.split()[:-7] for line in text.splitlines() if line.endswith(" %")]
        self.assertEqual([len(plan) for plan in plans], [2, 3, 4])  # the recommended one and its neighbours
        self.assertEqual(self.ok("shapes", "--all").count(" %\n"), 5)

    def test_parameters_are_not_padded(self):
        """A function that is called for inputs with other numbers of axes, as an optimizer is for each parameter."""
        self.job("parameters")
        (family,) = self.json("shapes")["families"]
        self.assertIsNone(family["recommended"])
        self.assertIn("Do not pad: the function is also called for inputs with another number of axes", family["advice"])
        self.assertIn("there is nothing to pad", self.ok("shapes"))

    def test_multiples_and_waste_are_the_users(self):
        self.job("shapes")
        (family,) = self.json("shapes", "--multiple", "64")["families"]
        self.assertEqual([plan["buckets"] for plan in family["plans"]], [[128], [64, 128]])
        (family,) = self.json("shapes", "--waste", "2")["families"]
        self.assertEqual(family["recommended"], 4)
        (family,) = self.json("shapes", "--waste", "1")["families"]
        self.assertIsNone(family["recommended"])
        self.assertIn("Do not pad", family["advice"])
        for wrong in ("0", "x", "-3", "1000000000000"):
            self.refused("shapes", "--multiple", wrong, says="--multiple takes a whole number from 1")
        self.refused("shapes", "--waste", "100", says="--waste takes a whole number from 1 to 99")

    def test_nothing_to_pad(self):
        self.job("cold")
        text = self.ok("shapes")
        self.assertIn("nothing can be said of padding", text)
        self.assertIn("3 programs could not be looked at", text)
        said = self.json("shapes")
        self.assertEqual((said["families"], said["unread"]), ([], 3))


class Run(Case):
    def test_one_line_at_the_end(self):
        self.assertEqual(
            self.job("cold"), "rekindle: 3 programs, 0 loaded, 3 compiled in 4.2 s\n"
        )
        self.assertEqual(
            self.job("warm"), "rekindle: 3 programs, 3 loaded, 0 compiled, saved 4.2 s\n"
        )
        self.assertIn("2 bypassed, 1 not stored; 1 warning", self.job("troubles"))
        self.assertIn("no PJRT plugin was seen", self.job("idle"))

    def site(self):
        return self.folder / "my env/lib/python3.11/site-packages"

    def plugin(self):
        file = self.site() / "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"
        file.parent.mkdir(parents=True)
        file.touch()
        return file

    def python(self, *packages):
        """Makes a folder like a virtual environment; returns its Python, which does nothing."""
        folder = self.folder / "my env"
        for package in packages:
            file = self.site() / package
            file.parent.mkdir(parents=True)
            file.touch()
        python = folder / "bin/python3"
        python.parent.mkdir(parents=True)
        python.write_text("#!/bin/sh\n")
        python.chmod(0o755)
        return python

    LACKS = (
        "The plugin has no LAPACK and no host callbacks: most of jnp.linalg, orthogonal initializers and jax.debug.print "
        "fail on it."
    )

    def test_a_python_on_a_built_in_cpu_backend_gets_the_remedy(self):
        python = self.python("jax/__init__.py", "torch_xla/__init__.py")
        *lines, last = self.call("run", "--job", "one", "--", python, "it's", "").stderr.splitlines()
        self.assertIn("no PJRT plugin was seen", last)
        self.assertEqual(lines, [
            "If this job uses JAX or PyTorch/XLA on the CPU, start it on XLA's CPU plugin, and rekindle stores what it "
            f"compiles. {self.LACKS}",
            f"  '{python}' -m pip install '{PLUGIN}'",
            f"  rekindle run --cpu-plugin --job one -- '{python}' 'it'\\''s' ''",
        ])  # fmt: skip
        self.plugin()
        script = self.folder / "train"
        script.write_text("#!/usr/bin/env python3\n")
        script.chmod(0o755)
        variables = {"PATH": f"{python.parent}:/usr/bin:/bin", "PJRT_LIBRARY_PATH": "set"}
        said = self.call("run", "--", script, "--password=secret", variables=variables).stderr.splitlines()
        self.assertEqual(said[1:-1], [f"  rekindle run --cpu-plugin -- {script} '--password=***'"])
        verdict = self.call("verify", "--", python).stdout
        self.assertIn(f"  rekindle verify --cpu-plugin -- '{python}'\n", verdict)

    def test_one_version_of_the_plugin_is_pinned(self):
        for name in ("python/pyproject.toml", "examples/demo", "scripts/requirements-jax-0.10.txt"):
            self.assertEqual(re.findall(r"xla-cpu-pjrt==[\d.]+", (ROOT / name).read_text()), [PLUGIN], name)

    def test_the_remedy_for_an_environment_without_pip(self):
        python = self.python("jax/__init__.py")
        uv = self.folder / "tools/uv"
        uv.parent.mkdir()
        uv.touch(0o755)
        variables = {"PATH": f"{uv.parent}:/usr/bin:/bin"}
        installs = f"  uv pip install --python '{python}' '{PLUGIN}'"
        said = self.call("run", "--", python, variables=variables).stderr.splitlines()
        self.assertEqual(said[1], installs)
        said = self.call("run", "--cpu-plugin", "--", python, variables=variables).stderr.splitlines()
        self.assertEqual(said[-1], installs)
        pip = self.site() / "pip/__init__.py"
        pip.parent.mkdir()
        pip.touch()
        said = self.call("run", "--", python, variables=variables).stderr
        self.assertIn(f"  '{python}' -m pip install", said)

    def test_a_jax_that_works_on_no_cpu_plugin_is_not_sent_to_one(self):
        python = self.python("jax/__init__.py", "jax-0.4.30.dist-info/METADATA")
        installs = f"  '{python}' -m pip install 'jax>=0.6.2' '{PLUGIN}'"
        *lines, last = self.call("run", "--", python).stderr.splitlines()
        self.assertIn("no PJRT plugin was seen", last)
        self.assertIn("JAX 0.4.30", lines[0])
        self.assertEqual(lines[1:], [installs, f"  rekindle run --cpu-plugin -- '{python}'"])
        self.plugin()
        refused = self.call("run", "--cpu-plugin", "--", python)
        self.assertEqual((refused.returncode, refused.stderr.splitlines()[-1]), (2, installs))
        (self.site() / "torch_xla").mkdir()
        (self.site() / "torch_xla/__init__.py").touch()
        self.assertIn("JAX or PyTorch/XLA on the CPU", self.call("run", "--", python).stderr)
        self.assertEqual(self.call("run", "--cpu-plugin", "--", python).returncode, 0)

    VARIABLES = ("JAX_PLATFORMS", "PJRT_NAMES_AND_LIBRARY_PATHS", "PJRT_DEVICE", "PJRT_LIBRARY_PATH")

    def test_the_cpu_plugin_is_used_where_the_option_says_so(self):
        python = self.python("jax/__init__.py")
        python.write_text("#!/bin/sh\necho " + " ".join(f'"${name}"' for name in self.VARIABLES) + "\n")
        missing = self.call("run", "--cpu-plugin", "--", python)
        self.assertEqual((missing.returncode, missing.stdout), (2, ""))
        self.assertEqual(missing.stderr.splitlines()[-1], f"  '{python}' -m pip install '{PLUGIN}'")
        plugin = self.plugin()
        command = ("run", "--cpu-plugin", "--", python)
        done = self.call(*command)
        self.assertEqual((done.returncode, done.stdout), (0, f"xcpu,cpu xcpu:{plugin}  \n"))
        self.assertNotIn("replaces", done.stderr)
        self.assertNotIn("--cpu-plugin", done.stderr)  # it is not advised again
        self.assertEqual(self.call("run", "--", python).stdout, "   \n")
        (self.site() / "torch_xla").mkdir()
        (self.site() / "torch_xla/__init__.py").touch()
        self.assertEqual(self.call(*command).stdout, f"xcpu,cpu xcpu:{plugin} LIBRARY {plugin}\n")

    def test_the_cpu_plugin_replaces_what_the_variables_say(self):
        python = self.python("jax/__init__.py")
        python.write_text('#!/bin/sh\necho "$JAX_PLATFORMS $PJRT_NAMES_AND_LIBRARY_PATHS"\n')
        plugin = self.plugin()
        command = ("run", "--cpu-plugin", "--", python)
        done = self.call(*command, variables={"JAX_PLATFORMS": "cpu"})
        self.assertEqual(done.stdout, f"xcpu,cpu xcpu:{plugin}\n")
        self.assertNotIn("replaces", done.stderr)
        variables = {"JAX_PLATFORMS": "mine", "PJRT_NAMES_AND_LIBRARY_PATHS": "mine:/x.so"}
        done = self.call(*command, variables=variables)
        self.assertEqual(done.stdout, f"xcpu,cpu xcpu:{plugin}\n")
        self.assertIn("--cpu-plugin replaces JAX_PLATFORMS=mine\n", done.stderr)
        self.assertIn("--cpu-plugin replaces PJRT_NAMES_AND_LIBRARY_PATHS=mine:/x.so\n", done.stderr)
        # With the mode off a command runs as it would without rekindle.
        done = self.call(*command, variables=variables | {"REKINDLE_MODE": "off"})
        self.assertEqual(done.stdout, "mine mine:/x.so\n")
        self.assertIn("--cpu-plugin has no effect, since the mode is off", done.stderr)

    def test_the_cpu_plugin_for_commands_that_have_none(self):
        self.refused("run", "--cpu-plugin", "--", "true", says="no Python runs true")
        self.assertEqual(self.call("run", "--cpu-plugin", "--", "/no/such").returncode, 127)
        python = self.python("numpy/__init__.py")
        self.refused("run", "--cpu-plugin", "--", python, says="has neither JAX nor PyTorch/XLA")
        self.refused("verify", "--cpu-plugin", "--", python, says="has neither JAX nor PyTorch/XLA")

    def test_environments_may_be_stacked(self):
        """A .pth file and PYTHONPATH add folders: the packages are not beside the Python."""
        python = self.folder / "env/bin/python"
        venv.create(self.folder / "env", symlinks=True)
        (site,) = (self.folder / "env/lib").glob("python3*/site-packages")
        base, more = self.folder / "base", self.folder / "more [1]"
        plugin = more / "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"
        for file in (base / "jax/__init__.py", plugin):
            file.parent.mkdir(parents=True)
            file.touch()
        (site / "base.pth").write_text(f"{base}\n")
        said = self.call("run", "--", python, "-c", "", variables={"PYTHONPATH": str(more)}).stderr.splitlines()
        self.assertEqual(said[1:-1], [f"  rekindle run --cpu-plugin -- {python} -c ''"])

    def test_a_job_that_fails_may_have_used_no_plugin_yet(self):
        backends = "the built-in CPU backends"
        said = self.call("run", "--", "sh", "-c", "exit 3").stderr
        self.assertIn("; the command ended with status 3, maybe before it used a plugin", said)
        self.assertIn(backends, said)
        said = self.call("run", "--", "sh", "-c", "exit 3", variables={"PJRT_LIBRARY_PATH": "/x.so"}).stderr
        self.assertIn("ended with status 3", said)
        self.assertNotIn(backends, said)
        self.assertNotIn("ended with", self.call("run", "--", "true").stderr)

    def test_other_pythons_do_not(self):
        python = self.python("numpy/__init__.py")
        self.assertEqual(len(self.call("run", "--", python).stderr.splitlines()), 1)
        variables = {"PJRT_NAMES_AND_LIBRARY_PATHS": "xcpu:/x.so"}
        shutil.rmtree(self.folder / "my env")
        python = self.python("jax/__init__.py")
        self.assertEqual(len(self.call("run", "--", python, variables=variables).stderr.splitlines()), 1)

    def test_a_remote_store_is_told_to_have_no_effect(self):
        secret = {"REKINDLE_REMOTE": "https://user:password@host/prefix"}
        said = self.call("run", "--", "true", variables=secret).stderr
        self.assertIn("REKINDLE_REMOTE has no effect in this version", said)
        self.assertNotIn("password", said)
        self.assertNotIn("REKINDLE_REMOTE", self.call("run", "--", "true").stderr)

    def test_not_even_that_where_only_errors_are_wanted(self):
        self.assertEqual(self.job("cold", variables={"REKINDLE_LOG": "error"}), "")
        result = self.call("run", "--log", "error", "--", "true")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_killed_job_is_summed_up_too(self):
        said = self.job("killed", status=128 + signal.SIGKILL)
        self.assertIn("3 compiled", said)
        self.assertEqual(self.json("stats")["state"], "cut short")
        self.assertRegex(self.ok("stats"), r"executions +not known ")
        self.assertNotIn("host to device", self.ok("stats"))

    def environment_of_job(self, *options, **variables):
        text = self.ok("run", *options, "--", "env", "-0", variables=variables)
        return dict(item.split("=", 1) for item in text.split("\0") if item)

    def test_what_the_job_gets(self):
        library = str(self.program.parent.parent / "lib" / "librekindle_preload.so")
        got = self.environment_of_job()
        self.assertEqual(got["LD_PRELOAD"], library)
        self.assertRegex(got["REKINDLE_RUN"], r"^\d{8}T\d{6}Z-[\w.-]+-\d+$")
        self.assertRegex(got["REKINDLE_JOB"], r"^env-[0-9a-f]+$")
        self.assertEqual(got["REKINDLE_DIR"], str(self.store))
        self.assertNotIn("REKINDLE_MODE", got)
        again = self.environment_of_job()
        self.assertEqual(again["REKINDLE_JOB"], got["REKINDLE_JOB"])
        self.assertNotEqual(again["REKINDLE_RUN"], got["REKINDLE_RUN"])

    def test_options_win_over_variables(self):
        got = self.environment_of_job(
            "--job", "mine", "--mode=readonly", "--dir", "there", REKINDLE_MODE="refresh"
        )
        self.assertEqual(got["REKINDLE_JOB"], "mine")
        self.assertEqual(got["REKINDLE_MODE"], "readonly")
        self.assertEqual(got["REKINDLE_DIR"], str(Path.cwd() / "there"))
        self.assertEqual(self.environment_of_job(REKINDLE_JOB="theirs")["REKINDLE_JOB"], "theirs")

    def test_other_preloaded_libraries_stay_in_front(self):
        library = str(self.program.parent.parent / "lib" / "librekindle_preload.so")
        other = shutil.copy(STUB, self.folder / "other.so")
        got = self.environment_of_job(LD_PRELOAD=str(other))
        self.assertEqual(got["LD_PRELOAD"], f"{other}:{library}")
        # `rekindle run` inside `rekindle run`.
        got = self.environment_of_job(LD_PRELOAD=f"{library} {other}")
        self.assertEqual(got["LD_PRELOAD"], f"{library} {other}")

    def test_off_is_off(self):
        result = self.call("run", "--mode", "off", "--", "env")
        self.assertEqual(result.stderr, "")
        self.assertNotIn("LD_PRELOAD", result.stdout)
        self.assertNotIn("REKINDLE_RUN", result.stdout)
        (self.program.parent.parent / "lib" / "librekindle_preload.so").unlink()
        self.ok("run", "--mode", "off", "--", "true")

    def test_nothing_is_made_for_a_job_without_plugin(self):
        self.job("idle")
        self.assertFalse(self.store.exists())

    def test_input_and_output_are_the_jobs_own(self):
        result = self.call("run", "cat", "-", input="a\nb")
        self.assertEqual((result.returncode, result.stdout), (0, "a\nb"))

    def test_status_of_the_command(self):
        self.assertEqual(self.call("run", "--", "sh", "-c", "exit 42").returncode, 42)
        self.assertEqual(self.call("run", "sh", "-c", "kill -TERM $$").returncode, 143)
        missing = self.refused("run", "--", "no-such-command", status=127, says="no-such-command")
        self.assertIn("No such file", missing.stderr)
        self.refused("run", "--", "python3 x.py", status=127, says="without quotes around all of them")
        self.refused("run", "--", str(self.folder), status=126, says="Permission denied")
        text = self.folder / "text"
        text.write_text("exit 5\n")
        self.refused("run", "--", str(text), status=126, says=str(text))
        text.chmod(0o755)  # no #! line: a shell runs the file, as from a shell or env(1)
        self.assertEqual(self.call("run", "--", str(text)).returncode, 5)

    def test_the_command_keeps_its_options(self):
        self.assertEqual(self.ok("run", "--", "echo", "--help", "--", "-x"), "--help -- -x\n")
        self.assertEqual(self.ok("run", "echo", "--mode", "x"), "--mode x\n")

    def test_refusals_come_before_the_command(self):
        touch = ("--", "touch", str(self.folder / "ran"))
        self.refused("run", says="run needs more arguments: rekindle run [OPTION…] [--] COMMAND")
        self.refused("run", "--", says="run needs more")
        self.refused("run", "--jbo", "x", *touch, says="did you mean --job?")
        self.refused("run", "--mode", "fast", *touch, says='--mode is "fast"; ')
        self.refused("run", "--dir", "s3://bucket", *touch, says="REKINDLE_REMOTE")
        self.refused("run", *touch, variables={"REKINDLE_MAX_SIZE": "x"}, says="REKINDLE_MAX_SIZE")
        self.assertFalse((self.folder / "ran").exists())

    def test_a_job_that_could_not_record_anything(self):
        self.environment["REKINDLE_DIR"] = "/dev/null/store"
        self.assertIn("nothing was recorded", self.call("run", "true").stderr)


SOMEBODY = 12345  # a user without an account or a home


class Without(Case):
    """If rekindle cannot work, the job runs without it, and one line gives the reason."""

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.home = self.folder / "home"
        self.home.mkdir(mode=0o700)
        self.default_place = {"REKINDLE_DIR": None, "HOME": str(self.home)}
        self.show = ("run", "--", "sh", "-c", "echo ran ${LD_PRELOAD-bare} ${REKINDLE_MODE-on}; exit 3")

    def check_without(self, *says, **options):
        """The job runs bare. REKINDLE_MODE=off in its environment keeps its processes from warning again."""
        result = self.call(*self.show, **options)
        self.assertEqual((result.returncode, result.stdout), (3, "ran bare off\n"), result.stderr)
        self.assertRegex(result.stderr, r"\Arekindle: [^\n]*; this job runs without rekindle\n\Z")
        for part in says:
            self.assertIn(part, result.stderr)
        quiet = self.call("run", "--log", "error", "--", "true", **options)
        self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))
        off = self.call("run", "--mode", "off", "--", "sh", "-c", "exit 3", **options)
        self.assertEqual((off.returncode, off.stderr), (3, ""))

    def as_somebody(self):
        """Returns options for a call as another user who can reach the program."""
        options = {"user": SOMEBODY, "group": SOMEBODY, "extra_groups": [], "cwd": "/"}
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        try:
            reached = subprocess.run(["test", "-x", str(self.program)], check=False, **options)
        except OSError as error:
            self.skipTest(f"no other user can be had here: {error}")
        if reached.returncode != 0:
            self.skipTest("another user cannot reach the temporary directory")
        return options

    def test_a_config_that_is_no_file(self):
        config = self.store / "config"
        config.mkdir(parents=True, mode=0o700)
        self.check_without("config is not a regular file: replace it with a text file of at most 1 MiB, or remove it")
        self.refused("stats", says="not a regular file", status=1)
        config.rmdir()
        config.symlink_to("nowhere")
        self.check_without("config is a broken symbolic link: remove it")
        self.refused("stats", says="is a broken symbolic link")

    def test_the_home_of_root(self):
        """If HOME is root's home, as with Kubernetes' runAsUser, the job runs without rekindle."""
        somebody = self.as_somebody()
        self.check_without("home/.cache/rekindle/config: Permission denied", "set REKINDLE_DIR to a folder of your own",
                           variables=self.default_place, **somebody)
        self.refused("stats", says="Permission denied", variables=self.default_place, **somebody)
        self.home.chmod(0o755)  # readable, but not writable
        self.check_without("cannot be made, since you cannot write to", str(self.home),
                           variables=self.default_place, **somebody)

    def test_no_home(self):
        somebody = self.as_somebody()
        self.check_without("no home directory found", "set REKINDLE_DIR",
                           variables={"REKINDLE_DIR": None, "HOME": None}, **somebody)

    def test_nothing_is_made_in_the_home_of_another(self):
        """In another user's HOME (`sudo -E`) root creates nothing, because its files would lock the user out."""
        if os.geteuid() != 0:
            self.skipTest("only root can give a directory away")
        os.chown(self.home, SOMEBODY, SOMEBODY)
        self.check_without(f"{self.home} belongs to user {SOMEBODY}, not to you (0)", "set REKINDLE_DIR",
                           variables=self.default_place)
        self.call("run", "--", FIXTURE, "cold", variables=self.default_place)
        self.assertEqual(list(self.home.iterdir()), [])
        result = self.call("run", "--", "true", variables={"HOME": str(self.home)})  # with REKINDLE_DIR
        self.assertNotIn("without rekindle", result.stderr)

    def test_an_installation_that_cannot_be_used(self):
        for name in ("two words", "with:colon"):
            self.program = self.install(self.folder / name)
            self.check_without("move the installation elsewhere")
        self.program = self.install(self.folder / "incomplete")
        (self.program.parent.parent / "lib" / "librekindle_preload.so").unlink()
        self.check_without("build or install all of rekindle again")

    def test_off_never_fails(self):
        wrong = {"REKINDLE_MODE": "off", "REKINDLE_MAX_SIZE": "x"}
        result = self.call(*self.show, variables=wrong)
        self.assertEqual((result.returncode, result.stdout), (3, "ran bare off\n"), result.stderr)
        self.assertRegex(result.stderr, r"\Arekindle: REKINDLE_MAX_SIZE is \"x\"[^\n]*the mode is off\n\Z")
        self.store.mkdir(mode=0o700)
        (self.store / "config").write_text("mode = off\nmdoe = x\n")
        result = self.call(*self.show)
        self.assertEqual((result.returncode, result.stdout), (3, "ran bare on\n"), result.stderr)
        self.assertIn("config:2", result.stderr)

    def test_wrong_values_are_refused_all_the_same(self):
        (self.store / "config").mkdir(parents=True, mode=0o700)
        self.refused(*self.show, says="REKINDLE_MAX_SIZE", variables={"REKINDLE_MAX_SIZE": "x"})
        self.refused(*self.show, says='REKINDLE_MODE is "of"', variables={"REKINDLE_MODE": "of"})


class Signals(Case):
    def start(self, *names, **options):
        process = subprocess.Popen(
            [self.program, "run", "--", sys.executable, "-c", TRAP, *names],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_signals_reach_the_command(self):
        terminal = ("SIGINT", "SIGQUIT", "SIGTSTP", "SIGWINCH", "SIGHUP")  # here a process sends these, not a terminal
        for name in (*terminal, "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGXCPU", "SIGABRT", "SIGURG", "SIGRTMIN"):
            with self.subTest(name):
                process = self.start(name)
                process.send_signal(signal.Signals[name])
                self.assertEqual(process.stdout.readline(), f"caught {name}\n")
                self.assertEqual(process.wait(30), 7)

    def test_continue_reaches_it_and_ends_nothing(self):
        process = self.start("SIGCONT", "SIGTERM")
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.stdout.readline(), "caught SIGCONT\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 7)

    def test_a_command_that_catches_nothing(self):
        process = self.start()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 143)
        self.assertIn("no PJRT plugin", process.stderr.read())

    def test_dispositions_and_mask_are_inherited(self):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})

        def masks(text):
            """Returns the masks by field, without libc's two reserved signals, which sanitizers change."""
            own = 1 << (32 - 1) | 1 << (33 - 1)
            return {name: int(mask, 16) & ~own for name, mask in map(str.split, text.splitlines())}

        show = ["grep", "-E", "^(SigBlk|SigIgn)", "/proc/self/status"]
        variables = dict(env=self.environment, text=True, preexec_fn=ignore, restore_signals=False)
        bare = subprocess.run(show, stdout=subprocess.PIPE, **variables)
        with_us = subprocess.run(
            [self.program, "run", "--", *show], stdout=subprocess.PIPE, **variables
        )
        self.assertEqual(with_us.returncode, 0)
        self.assertEqual(masks(with_us.stdout), masks(bare.stdout))
        self.assertEqual(len(masks(bare.stdout)), 2)

    def test_an_alarm_that_was_set_before(self):
        """An alarm set before `rekindle run` (`perl -e 'alarm 10; exec @ARGV' …`) ends it as it ends a bare command."""
        result = self.call("run", "--", "sleep", "60", preexec_fn=lambda: signal.setitimer(signal.ITIMER_REAL, 0.3))
        self.assertEqual(result.returncode, 128 + signal.SIGALRM, result.stderr)

    def test_a_standard_error_that_nobody_reads(self):
        for variables in ({}, {"REKINDLE_MDOE": "off"}, {"HOME": "/nowhere", "REKINDLE_DIR": None}):
            unread, stderr = os.pipe()
            os.close(unread)
            result = self.call("run", "--", "sh", "-c", "echo ran; exit 3", stderr=stderr, variables=variables)
            os.close(stderr)
            self.assertEqual((result.returncode, result.stdout), (3, "ran\n"), variables)

    def test_a_group_signalled_by_the_command_ends_once(self):
        # The command has handled its own signal; rekindle must not send it again.
        script = "trap 'echo got' USR1; kill -USR1 0; sleep 0.3; echo end"
        result = subprocess.run(
            [self.program, "run", "--", "sh", "-c", script],
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            timeout=60,
        )
        self.assertEqual(result.stdout, "got\nend\n")


# Starts `argv[2:]` as `argv[1]` says and prints both process IDs. Then a "worker" stays and a "daemon" ends.
LAUNCHER = r"""
import os, subprocess, sys, time
def daemon():
    os.setsid()
how, command = sys.argv[1], ["sleep", "60"]
child = subprocess.Popen(command, preexec_fn=daemon if how == "daemon" else None)
os.write(1, f"{os.getpid()} {child.pid}\n".encode())
if how == "worker":
    time.sleep(60)
"""


class Killed(Case):
    """`rekindle run` is killed by SIGKILL, as by subprocess.run(timeout=…)."""

    def start(self, *command):
        process = subprocess.Popen(
            [self.program, "run", "--", *command], env=self.environment, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def is_alive(self, pid):
        """Returns whether a process is alive. A zombie, which only waits to be reaped, is not."""
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    def ends(self, pid, seconds=20):
        limit = time.monotonic() + seconds
        while self.is_alive(pid) and time.monotonic() < limit:
            time.sleep(0.01)
        if self.is_alive(pid):
            os.kill(pid, signal.SIGKILL)
            return False
        return True

    def stays(self, pid):
        time.sleep(0.3)
        alive = self.is_alive(pid)
        if alive:
            os.kill(pid, signal.SIGKILL)
        return alive

    def test_the_command_dies_too(self):
        show = ("sh", "-c", "echo $$; exec sleep 60")
        for before in ((), ("nohup",), ("setsid",), ("env", "A=B")):
            with self.subTest(" ".join(before)):
                process = self.start(*before, *show)
                pid = int(process.stdout.readline())
                process.kill()
                process.wait(30)
                self.assertTrue(self.ends(pid), "the command outlived rekindle")

    def test_what_the_command_started_is_its_own_affair(self):
        """Processes that the command started stay, as after a kill of the command itself (torchrun's workers, too)."""
        process = self.start(sys.executable, "-c", LAUNCHER, "worker")
        launcher, worker = map(int, process.stdout.readline().split())
        process.kill()
        process.wait(30)
        self.assertTrue(self.ends(launcher))
        self.assertTrue(self.stays(worker))

    def test_a_daemon_outlives_the_run(self):
        process = self.start(sys.executable, "-c", LAUNCHER, "daemon")
        _, daemon = map(int, process.stdout.readline().split())
        self.assertEqual(process.wait(30), 0)
        self.assertTrue(self.stays(daemon))


class Terminal(Case):
    """Tests on a pseudo-terminal, in a session with job control."""

    def on_terminal(self, *command, keys=(), columns=80, **variables):
        """Runs a command; `keys` are pairs of an output to wait for and an input to type. Returns output, status."""
        pid, fd = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            # A shell that started these tests in the background may have ignored these signals.
            for key in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
                signal.signal(key, signal.SIG_DFL)
            environment = {**self.environment, "TERM": "xterm", **variables}
            os.execvpe(str(command[0]), [str(word) for word in command], environment)
        output, pending = b"", list(keys)
        while select.select([fd], [], [], 30)[0]:
            try:
                output += os.read(fd, 65536)
            except OSError:  # Linux reports this after the other end is closed
                break
            if pending and pending[0][0] in output:
                os.write(fd, pending.pop(0)[1])
        else:
            os.kill(pid, signal.SIGKILL)
            self.fail(f"the terminal stands still after {output!r}")
        os.close(fd)
        return output.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_interrupt_from_the_terminal_comes_once(self):
        script = (
            "import signal, sys, time\n"
            "n = []\n"
            "signal.signal(signal.SIGINT, lambda *a: n.append(1))\n"
            "print('ready', flush=True)\n"
            "while not n:\n"
            "    time.sleep(0.01)\n"
            "time.sleep(0.3)\n"
            "print('interrupts:', len(n))\n"
        )
        output, status = self.on_terminal(
            self.program, "run", "--", sys.executable, "-c", script, keys=[(b"ready", b"\x03")]
        )
        self.assertIn("interrupts: 1", output)
        self.assertIn("no PJRT plugin", output)
        self.assertEqual(status, 0)

    def test_interrupted_command(self):
        output, status = self.on_terminal(
            self.program, "run", "sh", "-c", "echo ready; exec sleep 60", keys=[(b"ready", b"\x03")]
        )
        self.assertEqual(status, 130)
        self.assertIn("no PJRT plugin", output)

    def test_stop_and_continue(self):
        shell = shutil.which("bash")
        if not shell:
            self.skipTest("needs bash, for its job control")
        # Not dash: it waits in vfork(), where a stop of its child halts it for good, also without rekindle.
        job = "trap 'echo resumed; exit 3' CONT; echo re''ady; while :; do sleep 0.1; done"
        output, _ = self.on_terminal(
            shell,
            "--norc",
            "-i",
            keys=[
                (b"$ ", f"'{self.program}' run -- '{shell}' -c \"{job}\"\n".encode()),
                (b"ready\r\n", b"\x1a"),
                (b"Stopped", b"fg\n"),
                (b"resumed\r\n", b"echo status: $?; exit\n"),
            ],
            PS1="$ ",
        )
        self.assertIn("status: 3", output)

    def test_a_command_that_sees_to_the_stop_itself(self):
        """If the command handles the stop signal itself, neither the command nor rekindle stops."""
        script = (
            "import os, signal, time\n"
            "asked = []\n"
            "signal.signal(signal.SIGTSTP, lambda *a: asked.append(1))\n"
            "os.write(1, b'ready')\n"
            "while not asked:\n"
            "    time.sleep(0.01)\n"
            "os.write(1, b'asked to stop')\n"
            "print('read', input())\n"
        )
        output, status = self.on_terminal(
            self.program, "run", "--", sys.executable, "-c", script,
            keys=[(b"ready", b"\x1a"), (b"asked to stop", b"word\n")],
        )  # fmt: skip
        self.assertIn("read word", output)
        self.assertEqual(status, 0)

    def test_colour_only_where_it_is_wanted(self):
        self.job("cold")
        colour = "\x1b["
        self.assertIn(colour, self.on_terminal(self.program, "ls")[0])
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            plain, _ = self.on_terminal(self.program, "ls", **variables)
            self.assertIn("jit_eval", plain)
            self.assertNotIn(colour, plain)
        self.assertNotIn(colour, self.ok("ls"))

    def fill(self):
        """Makes a store with many runs and entries, and long command lines."""
        for kind in ("cold", "warm", "shapes", "troubles", "left"):
            self.job(kind)
        for i in range(15):
            self.job("cold", variables={"REKINDLE_NAMESPACE": f"team{i}", "REKINDLE_JOB": f"a-job-with-a-long-name-{i}"})
        shell = "exec \"$0\" warm --an-option-that-is-long --another-one-that-is-even-longer"
        self.call("run", "--", "sh", "-c", shell, FIXTURE)

    def test_screens_fit(self):
        """On no screen is a line wider than the terminal, and none is longer than two screens."""
        self.fill()
        key = self.json("ls")["entries"][0]["key"]
        long = {"show --all", "config"}
        commands = [
            "explain", "shapes", "stats", "stats --all", "runs", "ls", "show", "show --all", "config", "gc -n",
            "gc -n --older-than 0s", "rm -n --all", "diff -2 -3", "help", "version", "pin", "fsck", "memory",
        ]  # fmt: skip
        for columns, style in ((80, {}), (120, {"NO_COLOR": "1"})):
            for command in commands:
                verb, *options = command.split()
                operands = [key] if verb == "show" else []
                output, _ = self.on_terminal(self.program, verb, *operands, *options, columns=columns, **style)
                lines = re.sub(r"\x1b\[\d*[mK]", "", output).split("\n")
                lines = [line.rstrip("\r").rpartition("\r")[2] for line in lines]
                widest = max(lines, key=len)
                self.assertLessEqual(len(widest), columns, f"{command}: {widest}")
                self.assertLessEqual(len(lines), 48 if command not in long else 60, f"{command}:\n{output}")
                if style:
                    self.assertNotIn("\x1b[1m", output)
        for verb, said in (("ls", "The costliest"), ("runs", "--all shows all")):
            few, _ = self.on_terminal(self.program, verb)
            everything, _ = self.on_terminal(self.program, verb, "--all")
            self.assertIn(said, " ".join(few.split()))
            self.assertNotIn(said, " ".join(everything.split()))
            self.assertGreater(everything.count("\n"), few.count("\n"))

    def test_a_program_is_not_poured_over_the_terminal(self):
        self.job("cold")
        key = self.json("ls")["entries"][0]["key"]
        output, status = self.on_terminal(self.program, "show", key, "--program", "--raw")
        self.assertIn("8 B of MLIR bytecode", output)
        self.assertEqual(status, 0)


class Verify(Case):
    def setUp(self):
        super().setUp()
        self.scratch = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.environment["TMPDIR"] = str(self.scratch)

    def verify(self, script, *options, status=0, **more):
        """Runs `rekindle verify` on a script; its first start has an empty store."""
        result = self.call("verify", *options, "--", "sh", "-c", script, **more)
        self.assertEqual(result.returncode, status, result.stderr + result.stdout)
        self.assertEqual(list(self.scratch.iterdir()), [], "the temporary store is gone")
        return result

    GOOD = f'if [ -e "$REKINDLE_DIR/objects" ]; then "{FIXTURE}" warm; else "{FIXTURE}" cold; fi'

    def test_proved(self):
        said = self.verify(self.GOOD)
        rows = [line.split() for line in said.stdout.splitlines()]
        self.assertEqual([row[0] for row in rows[:4]], ["run", "cold", "warm", "zero-wait"])
        self.assertIn("proved: a restart of this command compiles nothing", said.stdout)
        self.assertIn("run 2 of 3, warm", said.stderr)
        self.assertFalse(self.store.exists(), "the store of jobs is left alone")

    def test_json(self):
        answer = json.loads(self.verify(f"echo noise; {self.GOOD}", "--json", "--runs", "4").stdout)
        self.assertEqual((answer["proved"], answer["reason"], answer["compiled"]), (True, None, []))
        self.assertEqual([run["kind"] for run in answer["runs"]], ["cold", "warm", "zero-wait", "zero-wait"])
        self.assertEqual([run["compiled"] for run in answer["runs"]], [3, 0, 0, 0])
        self.assertEqual([run["hits"] for run in answer["runs"]], [0, 3, 3, 3])
        self.assertEqual([run["requests"] for run in answer["runs"]], [3] * 4)
        self.assertEqual(len({run["run"] for run in answer["runs"]}), 4)
        for run in answer["runs"]:
            self.assertGreater(run["seconds"], 0)
        self.assertAlmostEqual(answer["runs"][0]["compile_seconds"], 4.2)
        self.assertAlmostEqual(answer["runs"][1]["load_seconds"], 0.006)

    def test_what_was_compiled_again(self):
        said = self.verify(f'"{FIXTURE}" cold', status=1).stdout
        self.assertIn("not proved: the warm run compiled 3 programs", said)
        self.assertIn("warm, jit_train_step, 1.4 s: its entry was gone", said)
        said = self.verify(f'"{FIXTURE}" troubles', status=1).stdout
        self.assertIn("jit_callback, 0.70 s: cannot be kept: host_callback", said)
        answer = json.loads(self.verify(f'"{FIXTURE}" cold', "--json", status=1).stdout)
        self.assertFalse(answer["proved"])
        self.assertEqual(len(answer["compiled"]), 6)

    def test_what_the_compiler_refuses(self):
        """A compilation that fails by itself does not count as a compilation and does not disprove a warm start."""
        script = f'{self.GOOD}; "{FIXTURE}" refused'
        said = self.verify(script).stdout
        self.assertIn("proved: a restart of this command compiles nothing", said)
        self.assertIn("the compiler refused 2 programs", said)
        answer = json.loads(self.verify(script, "--json").stdout)
        self.assertEqual([run["compiled"] for run in answer["runs"]], [3, 0, 0])
        self.assertEqual([run["failed"] for run in answer["runs"]], [2, 2, 2])

    def test_a_key_that_changed(self):
        """If the environment differs in every run, verify reports the changed variable."""
        script = f'REKINDLE_NAMESPACE="$(echo "$REKINDLE_RUN" | tr : .)" "{FIXTURE}" cold'
        self.assertIn("not the same as in the cold run: REKINDLE_NAMESPACE changed", self.verify(script, status=1).stdout)

    def test_what_the_runs_get(self):
        show = 'echo "[$REKINDLE_MODE,$REKINDLE_PRELOAD,$REKINDLE_REMOTE,$REKINDLE_JOB]";' + self.GOOD
        said = self.verify(show, "--job", "mine", variables={"REKINDLE_MODE": "off", "REKINDLE_REMOTE": "file:///x"})
        self.assertEqual(re.findall(r"^\[.*\]$", said.stdout, re.M),
                         ["[readwrite,1,,mine]", "[readwrite,0,,mine]", "[readwrite,1,,mine]"])

    def test_the_file_of_settings_counts(self):
        self.store.mkdir(mode=0o700)
        (self.store / "config").write_text("log = debug\n")
        self.verify(f'grep -q debug "$REKINDLE_DIR/config" && {self.GOOD}')

    def test_a_command_that_fails(self):
        said = self.verify("exit 3", status=1)
        self.assertIn("the command failed in the cold run, with exit status 3", said.stdout)
        said = self.verify(f'[ -e "$REKINDLE_DIR/objects" ] && kill -9 $$; "{FIXTURE}" cold', status=1)
        self.assertIn("the command failed in the warm run, with exit status 137", said.stdout)
        self.refused("verify", "--", "no-such-command", says="cannot run 'no-such-command'")
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_nothing_to_prove(self):
        self.assertIn("no PJRT plugin was seen", self.verify("true", status=1).stdout)
        script = f'if [ -e "$REKINDLE_DIR/objects" ]; then "{FIXTURE}" idle; else "{FIXTURE}" cold; fi'
        self.assertIn("the framework used a cache of its own", self.verify(script, status=1).stdout)

    def test_a_store_that_is_kept(self):
        kept = self.scratch.parent / (self.scratch.name + "-kept")
        self.addCleanup(shutil.rmtree, kept, ignore_errors=True)
        answer = json.loads(self.verify(self.GOOD, "--json", "--keep", str(kept)).stdout)
        self.assertEqual(answer["store"], str(kept))
        self.assertTrue((kept / "runs" / answer["runs"][0]["run"]).is_dir())
        self.refused("verify", "--keep", str(kept), "--", "true", says="is not empty")

    def test_wrong_usage(self):
        for number in ("1", "0", "-1", "x", "101", "2x"):
            self.refused("verify", f"--runs={number}", "--", "true", says="--runs takes a whole number from 2 to 100, not ")
        self.assertEqual(self.call("verify").returncode, 2)


class Stats(Case):
    FIELDS = {
        "run", "job", "mode", "programs", "hits", "misses", "bypassed", "compiled",
        "deserialize_failures", "preloaded", "preload_wasted", "preload_seconds", "remote_hits", "stored", "quarantined", "ahead_of_time", "found",
        "compile_seconds", "load_seconds", "saved_seconds", "waited", "waited_seconds", "executions", "host_to_device",
        "device_to_host", "warnings", "peers",
    }  # fmt: skip

    def test_the_last_run(self):
        self.job("cold")
        cold = self.json("stats")
        self.assertLessEqual(self.FIELDS, set(cold))
        self.assertEqual(
            [cold[name] for name in ("mode", "programs", "hits", "misses", "compiled", "stored")],
            ["readwrite", 3, 0, 3, 3, 3],
        )
        self.assertEqual(cold["compile_seconds"], 4.2)
        self.assertEqual(cold["host_to_device"], {"count": 12, "bytes": 3400000})
        self.job("warm")
        warm = self.json("stats")
        self.assertNotEqual(warm["run"], cold["run"])
        self.assertEqual((warm["hits"], warm["compiled"]), (3, 0))
        self.assertAlmostEqual(warm["saved_seconds"], 4.194)
        self.assertEqual(self.json("stats", "--run", cold["run"]), cold)
        text = self.ok("stats", "--run", cold["run"])
        for line in (cold["run"], r"programs +3 ", r"executions +1,234,567\n", r"12  3\.2 MB\n"):
            self.assertRegex(text, line)

    def test_by_the_names_of_another_cache(self):
        self.job("warm")
        counts = self.json("stats")["peers"]["torch_xla"]
        self.assertEqual(
            counts, {"PersistentCacheHit": 3, "PersistentCacheMiss": 0, "PersistentCacheDeserializeFailure": 0}
        )
        self.assertNotIn("PersistentCache", self.ok("stats"))
        self.assertRegex(self.ok("stats", "--peers"), r"PersistentCacheHit +3\n")
        self.assertRegex(self.ok("stats", "--all", "--peers"), r"PersistentCacheMiss +0\n")

    def test_what_was_bypassed_and_why(self):
        self.job("troubles")
        stats = self.json("stats")
        self.assertEqual(stats["warnings"], ["the store is full"])
        self.assertEqual(stats["not_stored"], 1)
        (bypassed,) = stats["bypassed_programs"]
        self.assertEqual(
            (bypassed["name"], bypassed["reason"], bypassed["count"]),
            ("jit_callback", "host_callback", 2),
        )
        text = self.ok("stats")
        self.assertRegex(text, r"jit_callback +2  host_callback\n")
        self.assertIn("the store is full", text)

    def test_all_runs(self):
        for kind in ("cold", "warm", "troubles"):
            self.job(kind)
        every = self.json("stats", "--all")
        self.assertLessEqual(self.FIELDS, set(every))
        self.assertIsNone(every["run"])
        self.assertEqual((every["programs"], every["hits"], every["compiled"]), (5, 3, 6))
        self.assertEqual([run["compiled"] for run in every["runs"]], [3, 0, 3])
        self.assertIn("3 runs", self.ok("stats", "--all"))

    def test_the_verdict_comes_first(self):
        def verdict(*options):
            return self.ok("stats", *options).splitlines()[0]

        self.job("cold")
        self.assertEqual(
            verdict(),
            "3 programs were compiled, in 4.2 s. They were stored: a start that requests them again loads them. "
            "`rekindle explain` explains the compilations.",
        )
        self.job("warm")
        self.assertEqual(
            verdict(), "Nothing was compiled: all 3 requests were loaded from the store, which saved 4.2 s."
        )
        self.assertIn("`rekindle explain --run -2` explains the compilations", verdict("--run", "-2"))
        self.job("left")
        self.assertIn("2 were not stored.", verdict())
        self.job("troubles")
        self.assertIn("2 cannot be stored: each start compiles again. 1 was not stored.", verdict())
        self.assertIn("3 of 12 requests were loaded from the store, which saved 4.2 s; 9 were compiled", verdict("--all"))

    def test_the_head(self):
        self.job("cold")
        text = self.ok("stats")
        self.assertRegex(text, r"\ncommand +cli_fixture cold\n")
        self.assertRegex(text, rf"\nstore +[\d.]+ kB of at most 20 GB, in {self.store}\n")
        self.environment["REKINDLE_MAX_SIZE"] = "0"
        self.assertRegex(self.ok("stats", "--all"), r"\nstore +[\d.]+ kB, without a limit, in ")

    def test_runs_are_counted_from_the_end(self):
        for kind in ("cold", "warm", "warm"):
            self.job(kind)
        runs = [one["run"] for one in self.json("runs")["runs"]]
        for which, run in (("last", runs[2]), ("-1", runs[2]), ("-3", runs[0])):
            self.assertEqual(self.json("stats", "--run", which)["run"], run)
            self.assertEqual(self.json("explain", "--run", which)["run"], run)
            self.assertEqual(self.json("shapes", f"--run={which}")["run"], run)
        self.assertIn(runs[0], self.refused("memory", "--run", "-3", status=1, says="").stderr)
        both = self.json("diff", "-3", "last")
        self.assertEqual((both["a"]["run"], both["b"]["run"]), (runs[0], runs[2]))
        self.refused("stats", "--run", "-4", says="there is no run -4: runs are counted from the end, -1 is the last of 3 ")
        for number in ("99", "0", "1"):
            self.refused("explain", "--run", number, says=f"there is no run {number}: runs are counted from the end")
        self.refused("stats", "--run", "-0", says="-0")

    def test_nothing_yet(self):
        self.assertIn("`rekindle run -- CMD`", self.ok("stats"))
        self.assertEqual(self.json("stats", "--all")["runs"], [])
        result = self.call("stats", "--json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("there is no run", json.loads(result.stdout)["error"])

    def test_refusals(self):
        self.refused("stats", "--run", "a", "--all", says="exclude each other")
        self.refused("stats", "--run", "nothing", says="nothing")
        self.job("cold")
        self.refused("stats", "--run", "nothing", says="nothing")
        self.refused("stats", "--run", "../../etc", says="../../etc")
        self.refused("stats", "--run", says="--run needs a value")
        self.refused("stats", "surplus", says="'surplus' is one too many")


class Runs(Case):
    def test_list(self):
        for kind in ("cold", "killed", "warm"):
            self.job(kind, status=137 if kind == "killed" else 0)
        runs = self.json("runs")["runs"]
        self.assertEqual([run["compiled"] for run in runs], [3, 3, 0])
        self.assertEqual([run["state"] for run in runs], ["ended", "cut short", "ended"])
        self.assertEqual(len(self.json("runs", "--last", "2")["runs"]), 2)
        lines = self.ok("runs").splitlines()
        self.assertEqual(
            lines[0].split(), "RUN WHAT RAN STARTED TOOK REQUESTS LOADED COMPILED STATE JOB".split()
        )
        self.assertEqual(lines[1].split()[:4], ["-3", runs[0]["run"], "cli_fixture", "cold"])
        self.assertEqual(len(lines), 4)

    def ran(self, *argv):
        """Returns what `runs` shows for a command line in a journal."""
        run = "29990101T000000Z-node1-1"
        folder = self.store / "runs" / run
        shutil.rmtree(folder, ignore_errors=True)
        self.write_run(run)
        (journal,) = folder.glob("0.jsonl")
        first, *rest = journal.read_text().splitlines()
        journal.write_text("\n".join([json.dumps(json.loads(first) | {"argv": argv}), *rest, ""]))
        shown = []
        for _ in range(2):  # from the journal, then with a summary
            shown.append(re.search(rf"(?m)^ *-\d  {run}  +(.*?)  +(?:\d+ \w+ ago|just now|\?)  ", self.ok("runs"))[1])
        self.assertEqual(shown[0], shown[1])
        return shown[0]

    def test_what_ran(self):
        self.job("cold")
        for argv, shown in (
            (["/opt/venv/bin/python3.11", "jobs/train.py", "--lr", "3e-4"], "train.py --lr 3e-4"),
            (["python", "-u", "-X", "dev", "train.py"], "train.py"),
            (["python3", "-m", "pkg.train", "x y"], "python3 -m pkg.train 'x y'"),
            (["/usr/bin/torchrun", "train.py"], "torchrun train.py"),
            (["python"], "python"),
            (["python", "train.py", "--api-key", "hunter2", "--token=hunter2"], "train.py --api-key *** --token=***"),
        ):
            self.assertEqual(self.ran(*argv), shown)

    def state_after(self, *command, status=0):
        result = self.call("run", "--", *command)
        self.assertEqual(result.returncode, status, result.stderr)
        stats = self.json("stats")
        return tuple(stats[name] for name in ("state", "exit_status", "signal", "ends_not_known"))

    def test_how_the_command_ended(self):
        """A process without an end event was killed or ended by _exit; only its parent, `rekindle run`, sees which."""
        shell = ("sh", "-c", '"$0" left $1; exit $2', FIXTURE)
        self.assertEqual(self.state_after(FIXTURE, "left"), ("ended", 0, None, 0))
        self.assertEqual(self.state_after(FIXTURE, "left", "6", status=6), ("ended", 6, None, 0))
        self.assertIn("in 1 process, ended with status 6\n", self.ok("stats"))
        self.assertRegex(self.ok("runs"), r" exit 6\b")
        self.assertEqual(self.state_after(FIXTURE, "killed", status=137), ("cut short", None, 9, 0))
        self.assertEqual(self.state_after(*shell, "0", "0"), ("ended", 0, None, 1))
        self.assertIn("in 1 process, ended; how it ended is not known", self.ok("stats"))
        self.assertEqual(self.state_after(*shell, "6", "6", status=6), ("not known", 6, None, 1))
        self.assertIn("in 1 process, how it ended is not known", self.ok("stats"))
        killed = ("sh", "-c", '"$0" killed; true', FIXTURE)
        self.assertEqual(self.state_after(*killed), ("ended", 0, None, 1))
        signalled = ("sh", "-c", '"$0" left; kill -TERM $$', FIXTURE)
        self.assertEqual(self.state_after(*signalled, status=143), ("cut short", None, 15, 1))
        self.assertEqual(self.state_after(FIXTURE, "cold"), ("ended", 0, None, 0))

    def test_without_rekindle_run_nobody_knows(self):
        subprocess.run([FIXTURE, "left"], env=self.environment | {"REKINDLE_RUN": "alone"}, check=True)
        (run,) = self.json("runs")["runs"]
        self.assertEqual((run["state"], run["exit_status"], run["signal"]), ("not known", None, None))
        self.assertIn("not known", self.ok("runs"))

    def test_a_torn_line_does_not_hide_how_the_command_ended(self):
        torn = 'printf "{\\"v\\":1,\\"t" >> "$REKINDLE_DIR/runs/$REKINDLE_RUN/0.jsonl"'
        state = self.state_after("sh", "-c", f'"$0" left; {torn}', FIXTURE)
        self.assertEqual(state, ("ended", 0, None, 1))
        (journal,) = self.store.glob("runs/*/*.jsonl")
        *_, before, last = journal.read_text().splitlines()
        self.assertEqual((before, json.loads(last)["ev"]), ('{"v":1,"t', "command"))

    def test_it_is_noted_where_no_summary_is_wanted(self):
        self.ok("run", "--log", "error", "--", FIXTURE, "left")
        self.assertEqual(self.json("stats")["state"], "ended")

    def test_what_was_lost(self):
        """Programs whose process ended before they were stored are counted and explained."""
        self.assertIn(", 2 not stored because the process ended first\n", self.job("left"))
        self.assertEqual((self.json("stats")["lost"], self.json("stats", "--all")["lost"]), (2, 2))
        self.assertRegex(self.ok("stats"), r"\nlost +2  compiled but not stored: the process ended")
        self.job("left")
        said = {one["name"]: one for one in self.json("explain")["compilations"]}
        # The journal says that it was stored, and no eviction removed it.
        self.assertEqual(said["jit_init"]["cause"], "removed")
        self.assertEqual(said["jit_eval"]["cause"], "uncacheable")
        self.assertIn("the process ended during the write", said["jit_eval"]["advice"])
        self.job("cold")
        self.assertEqual(self.json("stats")["lost"], 0)

    def write_run(self, name, *requests):
        """Writes the journal of a run with these requests."""
        start = {"v": 1, "t": 1.0, "ev": "start", "run": name, "job": "job", "mode": "readwrite", "rank": 0, "pid": 1}
        end = {"v": 1, "t": 9.0, "ev": "end"}
        folder = self.store / "runs" / name
        folder.mkdir(mode=0o700, parents=True)
        events = [start] + [
            {"v": 1, "t": 2.0 + seq, "ev": "compile", "seq": seq, "client": 1, "name": "jit_step", "request_seconds": 0.5}
            | request
            for seq, request in enumerate(requests, 1)
        ]
        (folder / "0.jsonl").write_text("".join(json.dumps(event) + "\n" for event in [*events, end]))

    def test_the_head_of_explain(self):
        self.job("cold")
        hit = {"outcome": "hit", "source": "local", "compiled": False, "key": "ab" * 32, "program": "cd" * 32}
        self.write_run("29990101T000000Z-node1-1", hit, hit, hit, hit)
        head = self.ok("explain").splitlines()[1]
        self.assertEqual(head, "Nothing was compiled; 3 repeated requests loaded a program again, in 1.5 s")
        refused = {"outcome": "miss", "reason": "absent", "compiled": True, "compile_seconds": 2.0, "failed": True,
                   "error": "Mosaic failed\nwith a dump", "key": "ef" * 32, "program": "cd" * 32}  # fmt: skip
        self.write_run("29990101T000001Z-node1-2", refused)
        text = self.ok("explain")
        self.assertIn("\n1 compilation in 2.0 s, which failed\n", text)
        self.assertEqual(text.count("jit_step was compared with nothing: its compilation failed"), 1)
        stats = self.ok("stats")
        self.assertIn("1 program failed to compile, after 2.0 s.", stats)
        self.assertIn("the compiler refused the program", stats)
        self.assertEqual(self.json("stats")["compiled"], 1)
        self.assertNotIn("in an earlier run", text)
        self.assertIn("\na failed compilation: jit_step, 2.0 s, request 1\n  error: Mosaic failed\n", text)
        # It fails in the next start as well. A start before may differ, but not in this.
        self.write_run("29990101T000001Z-node1-3", refused, hit | {"seq": 2})
        text = self.ok("explain")
        self.assertIn("It failed in an earlier run, too.", " ".join(text.split()))
        self.assertNotIn("What changed since the run before", text)
        compiled = refused | {"failed": False, "error": "", "key": "aa" * 32, "seq": 2}
        self.write_run("29990101T000001Z-node1-4", refused, compiled, compiled | {"key": "a1" * 32, "seq": 3})
        self.assertIn("\n3 compilations in 6.0 s: 1 of them failed, after 2.0 s; ", self.ok("explain"))
        self.assertIn("2 programs were compiled, in 4.0 s; 1 failed to compile, after 2.0 s.", self.ok("stats"))
        lapack = refused | {"error": "No FFI handler registered for lapack_spotrf_ffi on a platform Host", "key": "ac" * 32}
        self.write_run("29990101T000001Z-node1-5", lapack)
        self.assertIn("xla-cpu-pjrt, for example, has no LAPACK", " ".join(self.ok("explain").split()))
        # Nothing is known about a program that is not in the store.
        self.write_run("29990101T000002Z-node1-3", refused | {"failed": False, "key": "ee" * 32, "by_bytes": "MLIR text"})
        self.assertEqual(self.json("explain")["questions"]["input_shapes_changed"], None)
        self.assertIn("unknown  jit_step was compared with nothing: it cannot be read (MLIR text)", self.ok("explain"))

    def test_a_hit_of_the_runs_own_program_is_not_of_an_earlier_run(self):
        self.job("cold")
        miss = {"outcome": "miss", "reason": "absent", "compiled": True, "compile_seconds": 2.0, "key": "ab" * 32,
                "program": "cd" * 32}  # fmt: skip
        hit = miss | {"outcome": "hit", "source": "local", "compiled": False, "compile_seconds": 0}
        self.write_run("29990101T000000Z-node1-1", miss, hit)
        self.assertIn("1 of 2 requests was for a program that this run had compiled before", self.ok("stats"))
        self.write_run("29990101T000001Z-node1-1", miss, hit | {"key": "ac" * 32})
        self.assertIn("1 of 2 requests was loaded from the store", self.ok("stats"))

    def test_nothing_compiled_asks_nothing(self):
        self.job("cold")
        hit = {"outcome": "hit", "source": "local", "compiled": False, "key": "ab" * 32, "program": "cd" * 32}
        self.write_run("29990101T000000Z-node1-1", hit)
        lines = self.ok("explain").splitlines()
        self.assertEqual(lines[1:], ["Nothing was compiled."])

    def test_a_short_wait_is_not_shown(self):
        """The waiting time is shown from 10 ms and from 1 % of the time of all requests."""
        self.job("cold")
        miss = {"outcome": "miss", "reason": "absent", "compiled": True, "key": "ab" * 32, "program": "cd" * 32}
        wait = {"waited_for": "node1/7", "wait_end": "published"}
        cases = ((0.1, 0.009, False), (0.1, 0.010, True), (9.9, 0.099, False), (9.9, 0.101, True))
        for number, (compiled, waited, shown) in enumerate(cases):
            with self.subTest(compiled=compiled, waited=waited):
                request = miss | wait | {"compile_seconds": compiled, "waited_seconds": waited}
                run = f"29990101T00000{number}Z-node1-1"
                self.write_run(run, request)
                self.assertEqual("waiting time" in self.ok("stats", "--run", run), shown)

    def summaries(self):
        return sorted(self.store.glob("runs/*/summary.json"))

    def without_summaries(self, *arguments):
        for summary in self.summaries():
            summary.unlink()
        said = self.ok(*arguments, variables={"REKINDLE_MODE": "readonly"})
        self.assertEqual(self.summaries(), [])
        return said

    def add_run(self, run, **journals):
        """Adds a run with the given journals, by rank."""
        folder = self.store / "runs" / run
        folder.mkdir(0o700)
        for rank, lines in journals.items():
            (folder / f"{rank[1:]}.jsonl").write_text("".join(line + "\n" for line in lines))

    @staticmethod
    def golden_journals(run):
        def is_whole(line):
            return line.endswith("}") and '"v":2' not in line and '"ev":"lease"' not in line

        folder = Path(__file__).parent.parent / "journal/golden/runs" / run
        return {
            f"_{path.stem}": [line for line in path.read_text().splitlines() if is_whole(line)]
            for path in folder.glob("*.jsonl")
        }

    def add_every_kind_of_run(self):
        """Adds runs of the fixture, golden JAX runs, and made-up journals for the rest. Returns the number of runs."""
        for kind, status in (
            ("cold", 0), ("warm", 0), ("troubles", 0), ("shapes", 0), ("refused", 0), ("killed", 137),
            ("left", 0),
        ):  # fmt: skip
            self.job(kind, status=status)
        for script in ('"$0" left 3; exit 0', '"$0" left 3; exit 3', '"$0" left; kill -TERM $$'):
            self.call("run", "--", "sh", "-c", script, FIXTURE)
        subprocess.run([FIXTURE, "left"], env=self.environment | {"REKINDLE_RUN": "alone"}, check=True)
        first, second = sorted(self.store.glob("runs/20*/0.jsonl"))[:2]
        text = second.read_text().replace(second.parent.name, first.parent.name)
        (first.parent / "1.jsonl").write_text(text)  # another rank of one run
        # JAX runs: one of two processes, the second killed; one whose end its parent recorded.
        self.add_run("20261121T133847Z-node1-30039", **self.golden_journals("v1"))
        self.add_run("v1-command", **self.golden_journals("v1-command"))

        def start(run, pid):
            at = {"v": 1, "t": 1795435000.1, "ev": "start", "run": run, "job": "j", "mode": "refresh"}
            return json.dumps(at | {"version": "1", "rank": 0, "pid": pid, "host": os.uname().nodename})

        later = '{"v":1,"t":1795435001.2,'
        miss = later + '"ev":"compile","seq":1,"outcome":"miss","storing":true,"compiled":true,"reason":'
        unwatched = later + '"ev":"unwatched","plugin":"/opt/plugin.so","reason":"it made no client"}'
        self.add_run("unwatched", _0=[start("unwatched", 0), unwatched])
        self.add_run("load-killed", _0=[start("load-killed", 0), miss + '"load_killed"}'])
        self.add_run("running", _0=[start("running", os.getpid()), miss + '"absent"}'])
        return 11 + 5

    def test_summaries_tell_what_the_journals_tell(self):
        count = self.add_every_kind_of_run()
        old = time.time() - 7200
        for quiet in (False, True):
            for journal in self.store.glob("runs/*/*.jsonl") if quiet else ():
                os.utime(journal, (old, old))
            for arguments in (("runs", "--json"), ("stats", "--all", "--json"), ("stats", "--all", "--peers")):
                # A summary is part of the store, and counts in its size.
                expected = re.sub(r"(?m)^store .*", "", self.without_summaries(*arguments))
                self.assertEqual(re.sub(r"(?m)^store .*", "", self.ok(*arguments)), expected)
                # Runs without an end get a summary only after they were quiet for an hour.
                written = self.summaries()
                self.assertEqual(len(written), count if quiet else count - 5, written)
                self.assertEqual(re.sub(r"(?m)^store .*", "", self.ok(*arguments)), expected)
                self.assertEqual(self.summaries(), written)
            runs = json.loads(self.without_summaries("runs", "--json"))["runs"]
            self.assertEqual({run["state"] for run in runs}, {"ended", "running", "cut short", "not known"})
            self.assertEqual(sum(run["lost"] for run in runs), 5 * 2 + 1 + 1)

    def test_a_summary_is_written_at_the_end_and_used_while_it_fits(self):
        self.job("cold")
        (summary,) = self.summaries()
        (journal,) = self.store.glob("runs/*/0.jsonl")
        self.assertEqual(summary.stat().st_mtime_ns, journal.stat().st_mtime_ns)
        at = journal.stat().st_mtime_ns
        journal.write_text(journal.read_text().replace('"outcome":"miss"', '"outcome":"loss"'))
        os.utime(journal, ns=(at, at))
        self.assertEqual(self.json("runs")["runs"][0]["misses"], 3)  # the journal was not read
        os.utime(journal, ns=(at, at + 1))
        self.assertEqual(self.json("runs")["runs"][0]["misses"], 0)
        self.assertEqual(self.json("stats", "--all")["misses"], 0)

    def test_a_damaged_summary_is_replaced(self):
        self.job("cold")
        (summary,) = self.summaries()
        sound = summary.read_bytes()
        for damaged in (b"", sound[:-1], sound.replace(b'"hits":0', b'"hits":9')):
            summary.write_bytes(damaged)
            self.assertEqual(self.json("runs")["runs"][0]["hits"], 0)
            self.assertEqual(summary.read_bytes(), sound)

    def test_a_file_of_others_is_not_replaced(self):
        self.job("cold")
        (summary,) = self.summaries()
        for others in ('{"accuracy": 0.9}\n', "step,loss\n1,2\n", "[" * 100000):
            summary.write_text(others)
            self.assertEqual(self.json("runs")["runs"][0]["misses"], 3)
            self.assertEqual(summary.read_text(), others)
        summary.unlink()
        summary.mkdir()
        self.assertEqual(self.json("runs")["runs"][0]["misses"], 3)
        summary.rmdir()
        os.mkfifo(summary)
        self.assertEqual(self.json("runs")["runs"][0]["misses"], 3)
        self.assertTrue(summary.is_fifo())

    def test_a_store_that_cannot_be_written_has_no_summaries(self):
        self.job("cold")
        expected = self.without_summaries("runs", "--json")
        self.store.chmod(0o777)  # others could have written to the store
        self.assertEqual(self.ok("runs", "--json"), expected)
        self.assertEqual(self.summaries(), [])
        self.store.chmod(0o700)
        self.assertEqual(self.ok("runs", "--json"), expected)
        self.assertEqual(len(self.summaries()), 1)

    def test_a_run_that_cannot_have_one_keeps_none_from_others(self):
        for _ in range(3):
            self.job("cold")
        expected = self.without_summaries("runs", "--json")
        first = min(self.store.glob("runs/*"))
        first.chmod(0o777)  # others could have written to the folder
        self.assertEqual(self.ok("runs", "--json"), expected)
        self.assertEqual(len(self.summaries()), 2)
        self.without_summaries("runs")
        first.chmod(0o500)
        said, written = self.ok("runs", "--json"), self.summaries()
        first.chmod(0o700)
        self.assertEqual((said, len(written)), (expected, 3 if os.geteuid() == 0 else 2))

    def test_one_that_still_runs(self):
        self.job("cold")
        (journal,) = self.store.glob("runs/*/*.jsonl")
        lines = [line for line in journal.read_text().splitlines() if '"end"' not in line]
        journal.write_text(re.sub(r'"pid":\d+', f'"pid":{os.getpid()}', "\n".join(lines) + "\n"))
        self.assertEqual(self.json("runs")["runs"][0]["state"], "running")

    def test_nothing_yet(self):
        self.assertIn("`rekindle run -- CMD`", self.ok("runs"))
        self.assertEqual(self.json("runs"), {"runs": []})

    def test_refusals(self):
        for number in ("0", "x", "-1", "1x"):
            self.refused("runs", f"--last={number}", says="--last (-n) takes a whole number from 1, not")


class Entries(Case):
    def setUp(self):
        super().setUp()
        self.job("cold")

    def keys(self, *options):
        return {entry["name"]: entry["key"] for entry in self.json("ls", *options)["entries"]}

    def file_of(self, key, folder="objects", suffix="rkx"):
        return self.store / folder / key[:2] / f"{key}.{suffix}"

    def damage(self, key):
        path = self.file_of(key)
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)

    def test_list(self):
        listed = self.json("ls")
        by_name = {entry["name"]: entry for entry in listed["entries"]}
        self.assertEqual(set(by_name), {"jit_init", "jit_train_step", "jit_eval"})
        entry = by_name["jit_train_step"]
        path = self.file_of(entry["key"])
        self.assertEqual(entry["bytes"], path.stat().st_size)
        self.assertEqual(entry["compile_seconds"], 1.4)
        self.assertEqual((entry["platform"], entry["fault"]), ("cpu", None))
        self.assertAlmostEqual(listed["compile_seconds"], 4.2)
        text = self.ok("ls")
        self.assertRegex(text, rf"{entry['key'][:12]}  jit_train_step +1\.4 s +\d+ B .*  cpu\n")
        self.assertIn("3 executables", text)

    def test_order(self):
        def names(*options):
            return [entry["name"] for entry in self.json("ls", *options)["entries"]]

        self.assertEqual(names(), ["jit_eval", "jit_train_step", "jit_init"])
        self.assertEqual(names("--sort", "name"), ["jit_eval", "jit_init", "jit_train_step"])
        self.assertEqual(names("-rs", "seconds"), ["jit_init", "jit_train_step", "jit_eval"])
        self.assertEqual(names("-s", "time"), ["jit_eval", "jit_train_step", "jit_init"])
        self.assertEqual(names("--sort=size")[0], "jit_train_step")
        self.refused("ls", "--sort", "colour", says="seconds, size, time, name or key")

    def test_only_some(self):
        self.assertEqual([one["name"] for one in self.json("ls", "-n", "1")["entries"]], ["jit_eval"])
        self.assertAlmostEqual(self.json("ls", "-n", "1")["compile_seconds"], 4.2)
        text = self.ok("ls", "-n2")
        self.assertNotIn("jit_init", text)
        self.assertIn("3 executables", text)
        self.assertIn("The costliest 2 are shown: `rekindle ls --all` shows all.\n", text)
        text = self.ok("ls", "-n1", "-s", "time", "-r")
        self.assertIn("The oldest 1 is shown: `rekindle ls --sort time --reverse --all` shows all.\n", text)
        self.refused("ls", "-n", "0", says="--number (-n) takes a whole number from 1, not")

    def test_one_entry(self):
        key = self.keys()["jit_eval"]
        shown = self.json("show", key[:8])
        self.assertEqual(shown["key"]["digest"], key)
        self.assertTrue(shown["digest_ok"])
        self.assertEqual(shown["metadata"]["name"], "jit_eval")
        self.assertEqual(shown["components"]["environment"][0]["name"], "--xla_foo")
        program = self.file_of(key, "programs", "rkp")
        self.assertEqual(shown["program_bytes"], program.stat().st_size)
        text = self.ok("show", key, "--all")
        for line in (
            r"\Ajit_eval for cpu\n",
            rf"key +{key}\n",
            r"compiled in 2\.1 s\n",
            r"  flag\n    --xla_foo +true\n",
            r"  option\n    long +4096 bytes, digest 0011223344556677…\n",
            r"  option in executable_build_options\n    num_replicas +1\n",
            r"  variable\n    TF_X +a\\x1b\[31mb\n",
            rf"program +{shown['key']['program']}\n",
        ):
            self.assertRegex(text, line)

    def test_one_entry_in_short(self):
        key = self.keys()["jit_eval"]
        text = self.ok("show", key)
        self.assertLessEqual(len(text.splitlines()), 22)
        for part in (key, "2 compile options", "1 flag, 1 variable, 0 versions", "--xla_foo", f"`rekindle show {key[:12]} --all`"):
            self.assertIn(part, text)
        self.assertNotIn("0011223344556677", text)

    def test_a_name_in_place_of_a_key(self):
        key = self.keys()["jit_eval"]
        self.assertEqual(self.json("show", "jit_eval")["key"]["digest"], key)
        self.assertRegex(self.ok("pin", "jit_eval"), rf"\Apinned jit_eval {key[:12]} \([\d.]+ k?B\)\n\Z")
        self.assertRegex(self.ok("unpin", "jit_eval"), rf"\Aunpinned jit_eval {key[:12]} \([\d.]+ k?B\)\n\Z")
        self.refused("show", "jit_eva", says="no entry has this name")
        self.job("cold", variables={"REKINDLE_NAMESPACE": "red"})
        entries = [one["key"] for one in self.json("ls")["entries"] if one["name"] == "jit_eval"]
        for command in (["rm"], ["rm", "-n"], ["show"], ["pin"], ["rm", "--json"]):
            result = self.refused(*command, "jit_eval", says="2 entries have the name jit_eval: which one? Give its key\n")
            for one in entries:
                self.assertIn(f"\n  {one[:12]}  ", result.stderr)
        self.assertEqual(len(self.json("ls")["entries"]), 6)
        self.ok("rm", entries[0])
        self.ok("rm", "jit_eval")
        self.assertEqual(len(self.json("ls")["entries"]), 4)

    def test_its_program(self):
        key = self.keys()["jit_eval"]
        expected = b"ML\xefR\0\1\2\3"
        piped = subprocess.run(
            [self.program, "show", key, "--program", "--raw"],
            env=self.environment,
            stdout=subprocess.PIPE,
            check=True,
        )
        self.assertEqual(piped.stdout, expected)
        out = self.folder / "program.mlirbc"
        self.assertIn("8 B of MLIR bytecode", self.ok("show", key, "-pro", str(out)))
        self.assertEqual(out.read_bytes(), expected)
        told = self.json("show", key, "--program", "--raw")
        self.assertEqual((told["format"], told["bytes"]), ("MLIR bytecode", 8))
        # These eight bytes are no valid program, so they have no text.
        self.refused("show", key, "--program", status=1, says="--raw writes its bytes unchanged")
        self.refused("show", key, "-o", "x", says="-o and --raw go with --program")
        self.refused("show", key, "--raw", says="-o and --raw go with --program")
        self.refused("show", key, "-pro", "/no/such/folder/x", says="/no/such/folder")
        self.file_of(key, "programs", "rkp").unlink()
        self.refused("show", key, "--program", says="REKINDLE_KEEP_PROGRAMS")
        self.assertIn("not kept", self.ok("show", key))

    def test_a_failed_compilation_is_no_executable(self):
        self.job("failed")
        self.assertEqual(len(self.json("ls")["entries"]), 3)
        (removed,) = [one for one in self.json("rm", "-n", "--all")["removed"] if one["key"] not in self.keys().values()]
        key = removed["key"]
        lines = self.ok("show", key).splitlines()
        self.assertEqual(
            lines[:2],
            ["jit_too_large for cpu: its compilation failed, nothing was stored but the program", "error: Mosaic failed"],
        )
        self.assertIn("executable  none: the compilation failed", lines)
        self.assertIn(", failed after 0.30 s", self.ok("show", key))
        shown = self.json("show", key)
        self.assertEqual((shown["failed"], shown["executable_bytes"]), (True, None))
        self.assertFalse(self.json("show", "jit_eval")["failed"])
        for command in (["rm", "-n", "--all"], ["gc", "-n", "--older-than", "0s"], ["gc", "-n", "--max-size", "1"]):
            self.assertRegex(self.call(*command).stdout, rf"\n  {key[:12]}  jit_too_large (\(failed\)| +failed) ")
        self.refused("show", "jit_too_large", says="no entry has this name")

    def test_a_failure_is_counted_once(self):
        self.job("failed")
        for options, compiled, misses in (([], 0, 0), (["--all"], 3, 3)):
            text = self.ok("stats", *options)
            self.assertIn("1 failed to compile, after 0.30 s." if options else "1 program failed", text)
            self.assertNotIn("cannot be stored", text)
            self.assertNotIn("bypassed:", text)
            for row in (rf"  misses +{misses} ", r"  bypassed +0\n", r"  failed +1 ", rf"compiled +{compiled} "):
                self.assertRegex(text, r"\n" + row)
            stats = self.json("stats", *options)
            self.assertEqual((stats["bypassed"], stats["failed"], stats["compiled"]), (1, 1, compiled + 1))
        self.assertRegex(self.ok("runs"), r"cli_fixture failed .* 0 +0  ended")

    def test_keys_that_name_nothing(self):
        self.refused("show", says="show needs more arguments: rekindle show [OPTION…] KEY")
        self.refused("show", "abc", says="at least 4")
        self.refused("show", "xyzzy", says="'xyzzy' is not a key")
        self.refused("show", "../../../etc/passwd", says="is not a key")
        self.refused("show", "0" * 64, says="no key begins with")
        self.refused("show", "0" * 65, says="is not a key")
        key = self.keys()["jit_eval"]
        twin = key[:10] + ("0" if key[10] != "0" else "1") + key[11:]
        shutil.copy(self.file_of(key), self.file_of(twin))
        self.refused("show", key[:10], says="several keys begin with")

    def test_a_damaged_entry(self):
        key = self.keys()["jit_eval"]
        self.damage(key)
        entry = [one for one in self.json("ls")["entries"] if one["key"] == key][0]
        self.assertIsNotNone(entry["fault"])
        self.refused("show", key, status=1, says=f"`rekindle rm {key[:12]}`")
        self.assertTrue(self.file_of(key).exists(), "looking must not change anything")

    def test_remove(self):
        keys = self.keys()
        key = keys["jit_eval"]
        files = (self.file_of(key), self.file_of(key, "programs", "rkp"))
        before = sum(file.stat().st_size for file in files)
        text = self.ok("rm", "--dry-run", key[:6])
        self.assertRegex(text, rf"\AWould remove 1 entry, [\d.]+ k?B \(a dry run: .*\n  {key[:12]}  jit_eval  ")
        self.assertTrue(self.file_of(key).exists())
        # With one bad key nothing is removed.
        self.refused("rm", key, "ffffffffffff", says="no key begins with ffffffffffff")
        self.assertTrue(self.file_of(key).exists())
        removed = self.json("rm", key[:6], key)
        self.assertEqual(removed["removed"], [{"key": key, "bytes": before}])
        self.assertEqual((removed["bytes"], removed["dry_run"]), (before, False))
        self.assertFalse(any(file.exists() for file in files))
        self.assertEqual(len(self.json("ls")["entries"]), 2)

    def test_remove_all(self):
        self.damage(self.keys()["jit_eval"])
        self.assertEqual(len(self.json("rm", "--all", "--dry-run")["removed"]), 3)
        self.assertIn("Removed 3 entries, ", self.ok("rm", "--all"))
        self.assertEqual(self.json("ls")["entries"], [])
        self.assertIn("No executables are stored: they were removed, or none was stored. 1 run is", self.ok("ls"))
        self.assertEqual(list(self.store.glob("programs/*/*.rkp")), [])
        self.assertEqual(len(self.json("runs")["runs"]), 1)
        self.assertIn("nothing to remove", self.ok("rm", "--all"))

    def test_remove_what_was_set_aside(self):
        quarantine = self.store / "quarantine"
        name = "ab" * 32 + ".rkx-1-2"
        self.assertIn("nothing to remove", self.ok("rm", "--quarantine"))
        quarantine.mkdir()
        (quarantine / name).write_bytes(b"123")
        (quarantine / "infected.zip").write_bytes(b"of another program")
        self.assertIn(name, self.ok("rm", "--quarantine", "-n"))
        self.assertTrue((quarantine / name).exists())
        removed = self.json("rm", "--quarantine")
        self.assertEqual(removed["removed"], [{"file": name, "bytes": 3}])
        self.assertEqual([file.name for file in quarantine.iterdir()], ["infected.zip"])
        self.assertEqual(len(self.json("ls")["entries"]), 3)

    def test_remove_refusals(self):
        self.refused("rm", says="--all, or --quarantine")
        self.refused("rm", "--all", "abcd", says="not both")
        self.refused("rm", "-q", self.keys()["jit_eval"], says="rm takes keys or --quarantine, not both")
        self.assertEqual(len(self.json("ls")["entries"]), 3)

    def test_a_store_that_others_can_write(self):
        self.store.chmod(0o777)
        self.refused("ls", says="chmod 700")
        self.refused("rm", "--all", says="chmod 700")

    def test_rm_follows_no_link_out_of_the_store(self):
        self.job("cold")
        precious = self.folder / "precious"
        precious.mkdir()
        (precious / "file").write_text("not rekindle's")
        (self.store / "quarantine").symlink_to(precious)
        self.refused("rm", "--quarantine", says="is a symbolic link")
        self.assertTrue((precious / "file").exists())


class Keys(Case):
    def setUp(self):
        super().setUp()
        self.signing = self.folder / "config" / "signing.key"
        self.trusted = self.folder / "config" / "trusted"

    def set_variables(self):
        self.environment["REKINDLE_SIGNING_KEY"] = str(self.signing)
        self.environment["REKINDLE_TRUSTED_KEYS"] = str(self.trusted)

    def generate(self, *options):
        return self.json("keys", "generate", *options)

    def test_from_a_key_to_a_trusted_entry(self):
        self.set_variables()
        made = self.generate("--name", "build-farm")
        self.assertEqual(made["file"], str(self.signing))
        self.assertEqual(made["name"], "build-farm")
        self.assertRegex(made["public_key"], "^[0-9a-f]{64}$")
        self.assertRegex(made["id"], "^[0-9a-f]{16}$")
        self.assertEqual(self.signing.stat().st_mode & 0o7777, 0o600)
        self.assertEqual(self.signing.parent.stat().st_mode & 0o7777, 0o700)
        del self.environment["REKINDLE_TRUSTED_KEYS"]
        self.job("cold")
        key = self.json("ls")["entries"][0]["key"]
        self.assertEqual(
            self.json("show", key)["signature"], {"key": made["id"], "trusted": False}
        )
        self.assertIn("not among the trusted keys", self.ok("show", key))
        self.set_variables()
        line = f"ed25519 {made['public_key']} build-farm"
        self.assertEqual(self.json("keys", "trust", line)["keys"][0]["added"], True)
        self.assertEqual(
            self.json("show", key)["signature"], {"key": made["id"], "trusted": True}
        )
        self.assertRegex(self.ok("show", key), f"signature +by {made['id']}, which is trusted")

    def test_unsigned_entries_say_so(self):
        self.job("cold")
        key = self.json("ls")["entries"][0]["key"]
        self.assertIsNone(self.json("show", key)["signature"])
        self.assertRegex(self.ok("show", key), "signature +none")

    def test_a_key_is_never_replaced(self):
        self.set_variables()
        self.generate()
        before = self.signing.read_bytes()
        self.refused("keys", "generate", says="is there already", status=1)
        self.assertEqual(self.signing.read_bytes(), before)
        other = self.folder / "other.key"
        text = self.ok("keys", "generate", "--file", str(other))
        self.assertIn(f"export REKINDLE_SIGNING_KEY={other}", text)
        self.assertNotEqual(other.read_bytes(), before)

    def test_secrets_are_never_shown(self):
        self.set_variables()
        text = self.ok("keys", "generate")
        secret = re.search("[0-9a-f]{64}", self.signing.read_text()).group()
        self.ok("keys", "trust", str(self.public_file()))
        for command in (["keys", "list"], ["keys", "list", "--json"], ["config"]):
            text += self.ok(*command)
        self.assertNotIn(secret, text)
        # The user passes a secret key by mistake.
        self.refused("keys", "trust", str(self.signing), says="the secret part of a key")
        self.signing.chmod(0o644)
        result = self.refused("keys", "list", says=f"chmod 600 {self.signing}")
        self.assertNotIn(secret, result.stderr)

    def public_file(self):
        path = self.folder / "public"
        made = self.json("keys", "list")["signing"]
        path.write_text(f"# of the farm\ned25519 {made['public_key']} {made['name']}\n")
        return path

    def test_the_list(self):
        self.set_variables()
        self.trusted.parent.mkdir()
        for name in ("one", "two"):
            made = self.generate("--name", name, "--file", str(self.folder / name))
            self.json("keys", "trust", made["public_key"], "--name", name)
        self.assertIn("trusted already", self.ok("keys", "trust", made["public_key"]))
        del self.environment["REKINDLE_SIGNING_KEY"]
        told = self.json("keys", "list")
        self.assertIsNone(told["signing"])
        self.assertEqual(told["trusted_file"], str(self.trusted))
        self.assertEqual([key["name"] for key in told["trusted"]], ["one", "two"])
        self.assertIn(f"\ned25519 {made['public_key']} two\n", self.ok("keys", "list"))
        # A line copied from the list works in a command elsewhere.
        elsewhere = self.folder / "elsewhere"
        line = f"ed25519 {made['public_key']} two"
        self.ok("keys", "trust", line, "--file", str(elsewhere))
        self.assertIn(line, elsewhere.read_text())
        # Removes keys again.
        self.assertTrue(self.json("keys", "distrust", "one", "--dry-run")["keys"][0]["removed"])
        self.assertEqual(len(self.json("keys", "list")["trusted"]), 2)
        self.json("keys", "distrust", "one")
        self.json("keys", "distrust", made["id"])
        self.assertEqual(self.json("keys", "list")["trusted"], [])
        self.refused("keys", "distrust", "one", says="no key in")

    def test_a_list_behind_a_link_stays_there(self):
        self.set_variables()
        real = self.folder / "real"
        real.write_text("# empty\n")
        self.trusted.parent.mkdir()
        self.trusted.symlink_to(real)
        self.ok("keys", "trust", "ab" * 32)
        self.assertTrue(self.trusted.is_symlink())
        self.assertIn("ab" * 32, real.read_text())

    def test_wrong_usage(self):
        self.refused("keys", says="")
        self.refused("keys", "generate", says="set REKINDLE_SIGNING_KEY, or give --file")
        self.refused("keys", "trust", "ab" * 32, says="set REKINDLE_TRUSTED_KEYS, or give --file")
        self.set_variables()
        self.refused("keys", "generate", "--dry-run", says="generate has no --dry-run")
        self.refused("keys", "frob", says="generate, trust, distrust or list")
        self.refused("keys", "trust", says="takes one KEY")
        self.refused("keys", "list", "x", says="takes no further argument")
        self.refused("keys", "trust", "nonsense", says="neither a public key")
        self.refused("keys", "generate", "--name", "two words", says="not a valid key name")
        self.assertFalse(self.signing.exists())
        self.refused("keys", "list", "-f", str(self.folder / "nowhere"), says="nowhere does not exist")
        (self.folder / "empty").touch()
        self.assertIn("There are no keys in ", self.ok(
            "keys", "list", "-f", str(self.folder / "empty"), variables={"REKINDLE_SIGNING_KEY": None}))
        self.assertIn("There are no keys", self.ok("keys", "list", variables={
            "REKINDLE_SIGNING_KEY": None, "REKINDLE_TRUSTED_KEYS": None}))

    def test_a_job_runs_without_keys_that_cannot_be_read(self):
        """Unreadable keys cause one warning, and the job's processes do not read them again."""
        show = ("run", "--", "sh", "-c", "echo $REKINDLE_SIGNING_KEY,$REKINDLE_TRUSTED_KEYS; test -n $LD_PRELOAD")

        def told(stdout):
            result = self.call(*show)
            self.assertEqual((result.returncode, result.stdout), (0, stdout), result.stderr)
            return [line for line in result.stderr.splitlines() if "KEY" in line]

        self.set_variables()
        signing, trusted = told(",\n")
        self.assertRegex(signing, "^rekindle: REKINDLE_SIGNING_KEY: .*No such file.*; what this job stores is not signed$")
        self.assertRegex(trusted, "^rekindle: REKINDLE_TRUSTED_KEYS: .*No such file.*; this job trusts no signatures$")
        self.generate()
        self.trusted.write_text("")
        self.assertEqual(told(f"{self.signing},{self.trusted}\n"), [])
        self.signing.chmod(0o644)
        (signing,) = told(f",{self.trusted}\n")
        self.assertIn(f"chmod 600 {self.signing}", signing)
        self.refused("verify", "--", "true", says=f"chmod 600 {self.signing}")

    def test_a_file_that_holds_no_key_is_a_wrong_setting(self):
        self.set_variables()
        self.generate()
        self.trusted.write_text("")
        self.signing.write_text("not a key\n")
        self.refused("run", "--", "true", says="REKINDLE_SIGNING_KEY")
        self.signing.unlink()
        self.trusted.write_text("not a key\n")
        self.refused("run", "--", "true", says="REKINDLE_TRUSTED_KEYS")
        self.trusted.write_text("")
        self.generate()
        self.assertEqual(self.call("run", "--", "true").returncode, 0)
        self.assertEqual(self.call("run", "--mode", "off", "--", "true", variables={
            "REKINDLE_SIGNING_KEY": "nowhere"}).returncode, 0)

    def test_a_job_gets_absolute_paths(self):
        (self.folder / "here").mkdir()
        self.ok("keys", "generate", "--file", str(self.folder / "here" / "key"))
        told = self.ok("run", "--", "sh", "-c", "echo $REKINDLE_SIGNING_KEY",
                       variables={"REKINDLE_SIGNING_KEY": "here/key"}, cwd=self.folder)
        self.assertEqual(told.strip(), str(self.folder / "here" / "key"))


class Housekeeping(Case):
    """gc, fsck, pin, unpin, and their effects on rm."""

    HOUR = 3600

    def setUp(self):
        super().setUp()
        self.job("cold")
        self.job("cold", variables={"REKINDLE_NAMESPACE": "red"})
        # The same three programs in two namespaces.
        self.entries = self.json("ls")["entries"]
        self.assertEqual(len(self.entries), 6)

    def files(self):
        return sorted(self.store.glob("objects/*/*.rkx")) + sorted(
            self.store.glob("programs/*/*.rkp")
        )

    def age(self, hours, files=None):
        for file in self.files() if files is None else files:
            at = file.stat().st_mtime - hours * self.HOUR
            os.utime(file, (at, at))

    def keys_of(self, namespace):
        return {
            one["key"]
            for one in self.entries
            if self.json("show", one["key"])["metadata"]["namespace"] == namespace
        }

    def kept(self):
        return {one["key"] for one in self.json("ls")["entries"]}

    def test_nothing_to_collect(self):
        report = self.json("gc")
        self.assertEqual(report["removed"], [])
        self.assertEqual(report["before"], report["after"])
        self.assertEqual(report["max_bytes"], 20 << 30)
        self.assertEqual(report["after"]["files"], 16)  # includes two journals and their summaries
        self.assertRegex(self.ok("gc"), r"\AThere is nothing to remove. The store has [\d.]+ kB \(limit 20 GB\)\.\n\Z")
        said = self.ok("gc", "-n", "--older-than", "5h")
        self.assertIn("There is nothing to remove: no entry was unused for 5h. The store has ", said)

    def test_by_age(self):
        self.age(48, self.files()[:2])
        dry = self.json("gc", "--older-than", "1d", "--dry-run")
        self.assertEqual(len(dry["removed"]), 2)
        self.assertEqual(len(self.files()), 12)
        text = self.ok("gc", "--older-than", "1d", "-n")
        self.assertIn("\nWould remove 2 executables, ", text)
        self.assertRegex(text, r"\n  [0-9a-f]{12}  jit_\w+ +executable +\d+ B  +\d\.\d+ s  2 d ago\n")
        self.assertLess(text.index("Would remove 2"), text.index("  KEY "))
        self.assertIn("This is a dry run: nothing is removed.", text)
        wet = self.json("gc", "--older-than", "24h")
        self.assertEqual(wet["executables"]["files"], 2)
        self.assertEqual((dry["after"], dry["executables"]), (wet["after"], wet["executables"]))
        self.assertEqual(len(self.files()), 10)
        self.assertAlmostEqual(wet["removed"][0]["age_seconds"], 48 * self.HOUR, delta=60)
        for wrong in ("1", "d", "1x", "-1d", "1d1", "99999999w"):
            self.refused("gc", "--older-than=" + wrong, says="such as 12h or 30d")

    def test_by_size(self):
        self.age(5)
        all_bytes = self.json("gc")["after"]["bytes"]
        text = self.ok("gc", "--max-size", str(all_bytes - 1))
        self.assertIn("Removed 1 program, ", text)
        self.assertIn(f"The store shrank from {all_bytes / 1024:.1f} kB to ".replace(".0 kB", " kB"), text)
        # The least valuable first: one line for an executable and its program.
        text = self.call("gc", "-n", "--max-size", "1").stdout
        listed = re.findall(r"(?m)^  [0-9a-f]{12}  (\w+) ", text)
        self.assertEqual(listed, ["jit_init"] * 2 + ["jit_train_step"] * 2 + ["jit_eval"] * 2)
        self.assertIn(" executable ", text)  # its program is removed already
        report = self.json("gc", "--max-size", "12K")
        self.assertLessEqual(report["after"]["bytes"], 12 << 10)
        # Costs are 0.7, 1.4 and 2.1 seconds; the cheapest is removed first.
        left = {one["name"] for one in self.json("ls")["entries"]}
        self.assertIn("jit_eval", left)
        self.age(-5)  # recently used entries are removed, too, if a size is given
        text = self.ok("gc", "--max-size", "1")
        self.assertEqual(self.files(), [])
        self.assertRegex(text, r"The limit cannot be reached: [\d.]+ kB are the records of 2 runs and other notes")
        self.refused("gc", "--max-size", "many", says='--max-size is "many"; ')

    def test_by_namespace(self):
        red, none = self.keys_of("red"), self.keys_of("")
        self.assertEqual((len(red), len(none)), (3, 3))
        self.age(48)
        self.json("gc", "--namespace", "red", "--older-than", "1d")
        self.assertEqual(self.kept(), none)
        self.assertEqual(len(self.json("rm", "--all", "--namespace", "red")["removed"]), 0)
        self.assertEqual(len(self.json("rm", "--all", "--namespace", "-", "-n")["removed"]), 3)
        for command in (["rm", "-n", "--all"], ["gc", "-n", "--older-than", "0s"]):
            said = self.ok(*command, "--namespace", "nosuch")
            self.assertIn("No entry has the namespace nosuch (there are: -).", said)
        self.json("rm", "--all", "--namespace", "-")
        self.assertEqual(self.files(), [])

    def test_rm_by_age(self):
        self.age(48, self.files()[:1])
        key = self.files()[0].stem
        self.age(48, self.store.glob(f"programs/*/{key}.rkp"))
        self.refused("rm", "--older-than", "1d", says="go with --all")
        self.assertEqual(
            [one["key"] for one in self.json("rm", "--all", "--older-than", "1d")["removed"]],
            [key],
        )
        self.assertEqual(len(self.kept()), 5)

    def test_pins(self):
        key, other = sorted(self.kept())[:2]
        self.assertIn("Nothing is pinned", self.ok("pin"))
        self.assertIn("Nothing is pinned", self.ok("unpin", "--all"))
        self.assertRegex(self.ok("pin", key[:8]), rf"\Apinned jit_\w+ {key[:12]} ")
        self.assertIn("was pinned already", self.ok("pin", key))
        self.assertRegex(self.ok("pin"), rf"\AKEY +NAME +SIZE WITH PROGRAM\n{key[:12]}  jit_\w+ +[\d.]+ k?B\n\Z")
        self.refused("pin", key, "ffffffff", says="no key begins with ffffffff")
        self.refused("pin", other, "ffffffff", says="no key begins with ffffffff")
        self.assertEqual(self.json("pin")["pins"], [key])
        self.age(48)
        report = self.json("gc", "--older-than", "1h")
        self.assertEqual(report["pinned"]["files"], 2)
        self.assertEqual(self.kept(), {key})
        result = self.call("gc", "--max-size", "1")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"cannot be reached: [\d.]+ k?B are pinned \(`rekindle unpin --all` removes the pins\)")
        self.refused("rm", key, says="is pinned: `rekindle unpin")
        self.assertEqual("The only entry is pinned: `rekindle unpin --all` first.\n", self.ok("rm", "--all"))
        self.assertEqual(self.json("unpin", "--all")["unpinned"], [key])
        self.assertIn("unpinned jit_", self.ok("pin", key) and self.ok("unpin", key))
        self.refused("unpin", key, says=f"{key[:12]} is not pinned: `rekindle pin` lists what is")
        self.refused("unpin", "ffffffff", says="no key begins with")
        self.refused("unpin", says="or --all")
        self.refused("unpin", "--all", key, says="unpin takes keys or --all, not both")
        self.ok("pin", key)
        for file in self.files():
            file.unlink()
        self.assertRegex(self.ok("pin"), rf"\n{key[:12]}  no longer stored\n\Z")
        self.assertIn(f"unpinned {key[:12]}", self.ok("unpin", key[:6]))
        self.assertEqual(self.kept(), set())

    def test_fsck(self):
        self.assertRegex(self.ok("fsck"), r"\ANo damage: checked 12 files \(executables and programs\), [\d.]+ kB\.\n\Z")
        file = self.files()[0]
        content = bytearray(file.read_bytes())
        content[300] ^= 1
        file.write_bytes(content)
        leftover = file.parent / ".tmp-1-2"
        leftover.write_bytes(b"half")
        self.age(2, [leftover])
        result = self.call("fsck", "--json")
        self.assertEqual(result.returncode, 1)
        report = json.loads(result.stdout)
        kinds = sorted(one["kind"] for one in report["findings"])
        self.assertEqual((kinds, report["damage"]), (["damaged", "leftover"], True))
        result = self.call("fsck", "--repair", "--dry-run")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"\A1 file is damaged: checked \d+ files .* `rekindle fsck --repair` repairs")
        self.assertRegex(result.stdout, rf"\n  jit_\w+ {file.stem[:12]}: executable ")
        self.assertTrue(leftover.exists())
        result = self.call("fsck", "--repair")
        self.assertEqual(result.returncode, 1)
        self.assertIn(" 2 of 2 findings repaired.\n", result.stdout)
        self.assertIn(" (moved to quarantine/; it is compiled again when it is needed)\n", result.stdout)
        self.assertFalse(file.exists() or leftover.exists())
        self.assertIn("No damage: ", self.ok("fsck"))
        self.assertEqual(len(list(self.store.glob("quarantine/*"))), 1)

    def test_a_clock_that_is_a_year_off(self):
        """With a wrong clock, gc keeps entries of the last hour and removes old ones."""
        libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
        if not libraries or any(name in Path(REKINDLE).read_bytes() for name in (b"__asan_init", b"__tsan_init")):
            self.skipTest("needs libfaketime, and no sanitizer: a preloaded library comes before its runtime")
        faked = {"LD_PRELOAD": str(libraries[0])}
        for year in ("-365d", "+365d"):
            for no_fake_stat in (None, "1"):
                now = time.time()
                for file in self.files():
                    os.utime(file, (now, now))
                self.age(48, self.files()[:2])
                variables = faked | {"FAKETIME": year, "NO_FAKE_STAT": no_fake_stat}
                self.ok("gc", "--older-than", "1d", variables=variables)
                self.assertEqual(len(self.files()), 10, (year, no_fake_stat))
                self.job("cold")
                self.job("cold", variables={"REKINDLE_NAMESPACE": "red"})

    def test_nothing_there(self):
        self.environment["REKINDLE_DIR"] = str(self.folder / "nowhere")
        self.assertEqual(self.json("gc")["after"], {"files": 0, "bytes": 0})
        self.assertEqual(self.json("fsck")["entries"], 0)
        self.assertEqual(self.json("pin")["pins"], [])
        for verb in ("pin", "show", "rm"):
            self.refused(verb, "abcd", says="nowhere yet: `rekindle run -- CMD` makes one")
        for command in ("gc", "fsck", "stats", "runs", "ls"):
            self.assertIn("There is no store at ", self.ok(command))
        self.assertFalse((self.folder / "nowhere").exists())

    def test_a_folder_that_is_given_and_is_no_store(self):
        nowhere = str(self.folder / "nowhere")
        file = self.folder / "file"
        file.touch()
        for verb, *options in (
            ["stats"], ["runs"], ["ls"], ["explain"], ["shapes"], ["memory"], ["diff", "-2", "-1"], ["gc"], ["fsck"],
            ["rm", "--all"], ["show", "abcd"], ["pin"], ["unpin", "--all"],
        ):  # fmt: skip
            self.refused(verb, *options, "--dir", nowhere, says=f"there is no store at {nowhere}: check --dir")
            self.refused(verb, *options, "--dir", str(file), says=f"the store {file} is a file, not a folder")
            self.refused(verb, *options, variables={"REKINDLE_DIR": str(file)}, says="is a file, not a folder")
        self.assertFalse((self.folder / "nowhere").exists())


class Completion(Case):
    def words(self, *words, **options):
        """What may replace the last word, with descriptions. No message comes with it."""
        done = self.call("completion", "candidates", "--", *words, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [line.split("\t") for line in done.stdout.splitlines() if not line.startswith(":")]
        return dict(lines)

    def test_runs(self):
        self.job("cold")
        self.job("shapes")
        older, newer = (one["run"] for one in self.json("runs")["runs"])
        listed = self.words("explain", "--run", "")
        self.assertEqual(list(listed), ["last", newer, older])
        self.assertRegex(listed[older], r"^(just now|\d.* ago): cli_fixture cold$")
        self.assertEqual(listed["last"], listed[newer])
        self.assertEqual(list(self.words("stats", "-r", "-")), ["-1", "-2"])
        self.assertEqual(list(self.words("stats", f"--run={older}")), [f"--run={older}"])
        self.assertEqual(self.words("shapes", "--run", "x"), {})

    def test_entries(self):
        self.job("cold")
        self.assertEqual(set(self.words("show", "jit")), {"jit_init", "jit_train_step", "jit_eval"})
        self.assertEqual(self.words("rm", "jit_t"), {"jit_train_step": "compiled in 1.4 s"})
        key = next(one["key"] for one in self.json("ls")["entries"] if one["name"] == "jit_eval")
        self.assertEqual(self.words("pin", key[:5]), {key[:12]: "compiled in 2.1 s: jit_eval"})
        self.assertEqual(list(self.words("pin", "jit_eval", key[:30])), [key])

    def test_a_name_of_several_entries_is_not_offered(self):
        self.job("cold")
        self.job("cold", variables={"REKINDLE_NAMESPACE": "red"})
        keys = [one["key"][:12] for one in self.json("ls")["entries"] if one["name"] == "jit_eval"]
        self.assertEqual(len(keys), 2)
        listed = self.words("show", "")
        self.assertNotIn("jit_eval", listed)
        for key in keys:
            self.assertEqual(listed[key], "compiled in 2.1 s: jit_eval")

    def test_the_store_of_the_line_is_read(self):
        self.job("cold")
        self.environment["REKINDLE_DIR"] = str(self.folder / "nowhere")
        self.assertEqual(self.words("show", "jit_e"), {})
        for option in (["--dir", str(self.store)], [f"--dir={self.store}"], ["--dir", "=", str(self.store)]):
            self.assertEqual(list(self.words("show", *option, "jit_e")), ["jit_eval"], option)

    def test_it_changes_nothing_and_says_nothing(self):
        for words in (["explain", "--run", ""], ["show", ""], ["diff", ""], ["rm", "--dir", str(self.folder), ""]):
            self.assertEqual(self.words(*words), {})
        self.assertFalse(self.store.exists())
        self.assertEqual(self.words("show", "", variables={"REKINDLE_MODE": "nonsense"}), {})
        self.assertEqual(self.words("show", "", variables={"REKINDLE_DIR": "https://host/x"}), {})
        self.store.mkdir(mode=0o700)
        (self.store / "config").write_text("mdoe = readonly\n")
        self.assertEqual(self.words("explain", "--run", ""), {})

    def test_damaged_files_are_left_out(self):
        self.job("cold")
        for path in (self.store / "objects").glob("*/*.rkx"):
            path.write_bytes(b"damaged")
        (journal,) = (self.store / "runs").glob("*/*.jsonl")
        journal.write_bytes(b"\xff\n")
        before = sorted(path for path in self.store.rglob("*"))
        self.assertEqual(list(self.words("explain", "--run", ""))[0], "last")
        self.assertTrue(all(len(key) == 12 for key in self.words("show", "")))
        self.assertEqual(sorted(path for path in self.store.rglob("*")), before)

    def test_a_store_that_does_not_answer(self):
        """The first read of a journal hangs: after two seconds there are no words, and no message."""
        self.job("cold")
        (journal,) = (self.store / "runs").glob("*/*.jsonl")
        journal.unlink()
        os.mkfifo(journal)
        began = time.monotonic()
        self.words("explain", "--run", "")
        self.assertLess(time.monotonic() - began, 10)

    def test_scripts(self):
        sources = Path(__file__).resolve().parents[3] / "src/cli/completion"
        for shell, name in (("bash", "rekindle.bash"), ("zsh", "_rekindle"), ("fish", "rekindle.fish")):
            self.assertEqual(self.ok("completion", shell), (sources / name).read_text())
        self.refused("completion", "tcsh", says="only for bash, zsh or fish")
        self.refused("completion", "bash", "zsh", says="'zsh' is one too many")
        self.refused("completion", says="bash | zsh | fish")


class Other(Case):
    def test_nothing_yet(self):
        self.assertIn("`rekindle run -- CMD`", self.ok("ls"))
        self.assertEqual(self.json("ls")["entries"], [])
        self.assertIn("There is no store at ", self.ok("rm", "--all"))
        self.refused("show", "abcd", says="there is no store at ")
        self.assertFalse(self.store.exists(), "looking must not make a store")

    def test_config(self):
        self.store.mkdir(mode=0o700)
        (self.store / "config").write_text("mode = readonly\nmax_size = 5G\n")
        self.environment["REKINDLE_MAX_SIZE"] = "7G"
        self.environment["REKINDLE_REMOTE"] = (
            "redis://:hunter2@host:6379 s3://bucket?secret_key=hunter2 file:///tier"
        )
        settings = {one["variable"]: one for one in self.json("config")["settings"]}
        self.assertGreaterEqual(len(settings), 16)
        self.assertEqual(
            (settings["REKINDLE_MODE"]["value"], settings["REKINDLE_MODE"]["source"]),
            ("readonly", "config"),
        )
        self.assertEqual(settings["REKINDLE_MAX_SIZE"]["source"], "environment")
        self.assertEqual(settings["REKINDLE_LOG"]["source"], "default")
        self.assertIsNone(settings["REKINDLE_PLUGIN"]["value"])
        self.assertIn("file:///tier", settings["REKINDLE_REMOTE"]["value"])
        for one in settings.values():
            self.assertTrue(one["purpose"], one)
        text = self.ok("config")
        self.assertNotIn("hunter2", text + json.dumps(settings))
        self.assertRegex(text, r"REKINDLE_MODE +config +readonly\n")
        (self.store / "config").write_text("mdoe = readonly\n")
        for verb in ("config", "stats", "runs", "ls"):
            self.refused(verb, says="mdoe")
        failed = self.refused("config", "--json", says="mdoe")
        self.assertIn("mdoe", json.loads(failed.stdout)["error"])

    def test_config_shows_the_rest_where_something_is_wrong(self):
        wrong = {"REKINDLE_MODE": "fast", "REKINDLE_MAX_SIZE": "big", "REKINDLE_LOG": "debug"}
        result = self.refused("config", says='REKINDLE_MODE is "fast"; ', variables=wrong)
        self.assertIn('\nrekindle: REKINDLE_MAX_SIZE is "big"; ', result.stderr)
        self.assertRegex(result.stdout, r"REKINDLE_LOG +environment +debug\n")
        self.assertRegex(result.stdout, r"REKINDLE_MODE +default +readwrite\n")
        told = json.loads(self.call("config", "--json", variables=wrong).stdout)
        self.assertIn("REKINDLE_MODE", told["error"])
        self.assertGreater(len(told["settings"]), 10)

    def test_config_names_what_has_no_effect(self):
        text = self.ok("config", "--dir", str(self.folder / "x"), variables={"REKINDLE_NOSUCH": "1", "REKINDLE_MDOE": ""})
        self.assertRegex(text, rf"REKINDLE_DIR +--dir +{self.folder}/x\n")
        self.assertIn(f"There is no config file; it would be {self.folder}/x/config.\n", text)
        self.assertIn("REKINDLE_NOSUCH is no setting of this version.\n", text)
        self.assertIn("REKINDLE_MDOE is no setting of this version; did you mean REKINDLE_MODE?\n", text)

    def test_dir_wins(self):
        self.job("cold")
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        self.assertEqual(self.json("ls", "--dir", str(elsewhere))["entries"], [])
        self.environment["REKINDLE_DIR"] = str(elsewhere)
        self.assertEqual(len(self.json("ls", "--dir", str(self.store))["entries"]), 3)

    def test_version(self):
        told = self.json("version")
        self.assertRegex(told["version"], r"^\d+\.\d+\.\d+$")
        package = Path(__file__).resolve().parents[3] / "python/rekindle/__init__.py"
        self.assertIn(f'__version__ = "{told["version"]}"', package.read_text())
        self.assertTrue(told["libraries"]["preload"]["found"])
        self.assertFalse(told["libraries"]["plugin"]["found"])
        text = self.ok("version")
        self.assertIn("librekindle_pjrt.so  missing", text)
        self.assertEqual(self.ok("--version"), text)
        # Works through a link, as in ~/bin.
        link = self.folder / "link"
        link.symlink_to(self.program)
        self.program = link
        self.assertEqual(self.json("version"), told)

    def test_help(self):
        text = self.ok("help")
        self.assertEqual(self.ok("--help"), text)
        commands = [one["command"] for one in self.json("help")["commands"]]
        self.assertEqual(
            commands, ["run", "verify", "stats", "explain", "runs", "memory", "shapes", "ls", "show", "diff", "rm", "gc"]
            + ["fsck", "pin", "unpin", "bundle", "keys", "probe", "config", "completion", "version", "help"]
        )
        for command in commands:
            self.assertRegex(text, rf"(?m)^  {command} ")
            helped = self.ok("help", command)
            self.assertTrue(helped.startswith(f"Usage: rekindle {command} "), helped)
            self.assertEqual(self.ok(command, "--help"), helped)
            self.assertEqual(self.ok(command, "-h"), helped)
            self.assertLessEqual(max(map(len, helped.splitlines())), 100)
        self.refused("help", "frob", says="there is no command 'frob'")

    def test_diff_of_nothing(self):
        self.job("cold")
        for nothing in ("nosuch", "/nonexistent"):
            says = f"'{nothing}' is neither a key, nor a run, nor a file"
            self.refused("diff", "jit_eval", nothing, says=says)
            self.refused("diff", nothing, "jit_eval", says=says)
        self.refused("diff", "-1", "jit_eval", says="'-1' is a run, and 'jit_eval' is a program: compare two")

    def test_diff_of_mlir_text(self):
        one, same, other = (self.folder / f"{name}.mlir" for name in ("one", "same", "other"))
        text = "module {{ func.func @main(%x: tensor<f32>) -> tensor<f32> {{ {} return %y : tensor<f32> }} }}"
        one.write_text(text.format("%y = stablehlo.sine %x : tensor<f32>"))
        same.write_text(text.format('%y = "stablehlo.sine"(%x) : (tensor<f32>) -> tensor<f32> // a comment\n'))
        other.write_text(text.format("%y = stablehlo.cosine %x : tensor<f32>"))
        self.assertIn("No difference", self.ok("diff", str(one), str(same)))
        self.assertRegex(self.ok("diff", str(one), str(other)), r"cosine added")
        same.write_text(text.format("%y = other.sine %x : tensor<f32>"))
        self.refused("diff", str(one), str(same), status=1, says="MLIR text, line 1: an unknown operation")

    def test_diff_names_an_added_callback(self):
        """The mesh that JAX declares for a callback follows from the callback."""
        one, other = (self.folder / f"{name}.mlir" for name in ("one", "other"))
        text = "module {{ {} func.func @main(%x: tensor<f32>) -> tensor<f32> {{ {} return %y : tensor<f32> }} }}"
        sine = "%y = stablehlo.sine %x : tensor<f32>"
        mesh = "sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>"
        call = "%z = stablehlo.custom_call @my_callback(%x) : (tensor<f32>) -> tensor<f32>"
        one.write_text(text.format("", sine))
        other.write_text(text.format(mesh, f"{call} {sine.replace('%x', '%z')}"))
        said = self.ok("diff", str(one), str(other))
        self.assertIn("\nother operations\n  custom_call my_callback added: tensor<f32>\n", said)
        self.assertNotIn("none", said)

    def test_commands_that_do_not_exist(self):
        for command in ("lint", "frobnicate", "doctor"):
            self.refused(command, "--json", says=f"there is no command '{command}'")
        self.refused("stat", says="did you mean `rekindle stats`?")
        self.refused("verison", says="did you mean `rekindle version`?")
        said = "'sh' is no command of rekindle; to run a job: `rekindle run -- sh train.sh --lr 1`"
        self.refused("sh", "train.sh", "--lr", "1", says=said)
        script = self.folder / "train.py"
        self.refused(str(script), says="there is no command")
        script.write_text("")
        self.refused(str(script), says=f"`rekindle run -- {script}`")
        self.refused("", says="there is no command ''")
        self.refused(says="rekindle run -- python train.py")
        self.refused("--json", "stats", says="a command must come first")
        self.refused("\x1b[2J", says="\\x1b[2J")

    def test_output_that_is_lost(self):
        with open("/dev/full", "w") as full:
            self.refused("help", stdout=full, status=1, says="No space left")
        closed = subprocess.run(
            ["sh", "-c", '"$0" config >&-', self.program],
            env=self.environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.assertEqual(closed.returncode, 1)
        self.assertIn("cannot write the output", closed.stderr)
        for ignored in (False, True):
            reader, writer = os.pipe()
            os.close(reader)
            action = signal.SIG_IGN if ignored else signal.SIG_DFL
            broken = self.call(
                "help",
                stdout=writer,
                preexec_fn=lambda: signal.signal(signal.SIGPIPE, action),
                restore_signals=False,
            )
            os.close(writer)
            self.assertEqual(broken.stderr, "")
            self.assertEqual(broken.returncode, 1 if ignored else -signal.SIGPIPE)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
