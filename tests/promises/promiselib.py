"""Shared code of the tests with whole processes: figures in one format, and jobs on a libc that fails for rekindle.

A job is pjrt_host with the fake plugin, as in tests/fault.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("REKINDLE_PROMISES_BUILD", HERE.parents[1] / "build/release"))
FULL = "--full" in sys.argv[1:]
FAULTY_LIBC = str(BUILD / "tests/faulty_libc.so")
NOBODY = 65534

for name, path in (
    ("HOST", "tests/pjrt_host"), ("FAKE", "tests/fake_pjrt_plugin.so"), ("NO_API", "tests/no_api.so"),
    ("PRELOAD", "lib/librekindle_preload.so"), ("PLUGIN_WAY", "lib/librekindle_pjrt.so"),
):
    os.environ.setdefault("FAULT_" + name, str(BUILD / path))
sys.path.insert(0, str(HERE.parent / "fault"))
sys.dont_write_bytecode = True

import faultlib  # noqa: E402

WAYS = faultlib.WAYS
unprivileged = faultlib.unprivileged

_missed = False


def tell(row, asked, kept, reached):
    """Prints the figure of one promise. A process with a missed promise exits with 1."""
    global _missed
    _missed = _missed or not kept
    print(f"promise: {row}: {reached} (asked: {asked}){'' if kept else ' MISSED'}", flush=True)


def skip(row, why):
    print(f"promise: {row}: skipped, {why}", flush=True)


def finish():
    sys.exit(1 if _missed else 0)


def need(holds, what):
    if not holds:
        raise AssertionError(what)


class Job(faultlib.Place):
    """A store and the jobs that use it. As a context manager it removes all its files."""

    def __init__(self, libraries=()):
        if os.access("/dev/shm", os.W_OK) and "TMPDIR" not in os.environ:
            faultlib.tempfile.tempdir = "/dev/shm"
        super().__init__()
        self.libraries = list(libraries)  # preloaded before rekindle's library
        self.log = os.path.join(self.path, "calls")

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        subprocess.run(["chmod", "-R", "u+rwX", self.path], check=False, capture_output=True)
        self.close()

    def command(self, way, words, **options):
        argv, env, trace = super().command(way, words, **options)
        if self.libraries and way != "bare":
            libraries = ":".join(self.libraries)
            own = [word for word in argv if word.startswith("LD_PRELOAD=")]
            if own:
                argv[argv.index(own[0])] = own[0].replace("=", f"={libraries}:", 1)
            else:
                argv.insert(argv.index(faultlib.HOST), "LD_PRELOAD=" + libraries)
        return argv, env, trace

    def forget_store(self):
        shutil.rmtree(self.store, ignore_errors=True)

    def temporary(self):
        return [path for path in self.files("") if os.path.basename(path).startswith(".tmp-")]

    def changes(self):
        """Returns the calls that would change rekindle's files, as (call, path, errno)."""
        with open(self.log, encoding="utf-8", errors="replace") as lines:
            calls = [line.split() for line in lines]
        return [(call[0], call[1], int(call[-1])) for call in calls if call[0] != "counted"]

    def counted(self):
        with open(self.log, encoding="utf-8", errors="replace") as lines:
            return [int(line.split()[1]) for line in lines if line.startswith("counted ")][-1]


def mount_wrapper(script):
    """Returns a command prefix that runs `script` as root of a mount namespace; None if that is not permitted."""
    for unshare in (["unshare", "-m"], ["unshare", "-Urm"]):
        prefix = [*unshare, "sh", "-ec", script + '\nexec "$@"', "sh"]
        if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0:
            return prefix
    return None
