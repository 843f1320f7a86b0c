"""Starts real JAX processes with and without rekindle, and reads what rekindle records about them.

The processes run the programs in programs/, which contain no rekindle code. For PyTorch/XLA see torch_harness.py.
"""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = HERE / "programs"
BUILD = Path(os.environ.get("REKINDLE_E2E_BUILD", ROOT / "build/release"))
REKINDLE = BUILD / "bin/rekindle"
PRELOAD_LIBRARY = BUILD / "lib/librekindle_preload.so"
PLUGIN_LIBRARY = BUILD / "lib/librekindle_pjrt.so"

# Path of the plugin under test. Any PJRT CPU plugin works.
PLUGIN = os.environ.get("REKINDLE_E2E_PLUGIN", "")
# A Python with another version of JAX, if there is one.
OTHER_PYTHON = os.environ.get("REKINDLE_E2E_OTHER_PYTHON", "")

CHILD_TIMEOUT_S = 300

# For tests that do not depend on the compiled code: optimization would take most of their time.
FAST = {"XLA_FLAGS": "--xla_backend_optimization_level=0"}

# Variables of the developer's shell that could change a test.
_UNWANTED = (
    "REKINDLE_", "XLA_", "JAX_", "PJRT_", "LD_PRELOAD", "TF_", "TPU_", "LIBTPU_", "TORCH", "PT_XLA_", "PYTHONHASHSEED",
    "PYTHONPATH",
)  # fmt: skip


def find_plugin():
    if PLUGIN:
        return PLUGIN
    import xla_plugins.xla_cpu_pjrt as wheel

    return str(Path(wheel.__file__).parent / "xla_cpu_pjrt.so")


def clean_environment():
    """Returns our environment without variables that could change a test, for Python processes without log output."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(_UNWANTED)}
    return env | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}


def jax_environment(plugin):
    """Returns the environment of a JAX process without rekindle on `plugin`."""
    return clean_environment() | {"PJRT_NAMES_AND_LIBRARY_PATHS": f"xcpu:{plugin}", "JAX_PLATFORMS": "xcpu"}


@dataclasses.dataclass
class Finished:
    returncode: int
    stdout: str
    stderr: str
    seconds: float

    def json(self):
        """Decodes the last line that the program printed."""
        return json.loads(self.stdout.splitlines()[-1])


def run_process(argv, env, cwd=None, timeout_s=CHILD_TIMEOUT_S):
    """Runs a command to its end in its own process group, so that no process outlives a failure."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [str(word) for word in argv], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        raise AssertionError(f"{argv} hung\n{stdout}\n{stderr}") from None
    except BaseException:  # a signal interrupts this process
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return Finished(process.returncode, stdout, stderr, time.perf_counter() - began)


class Store:
    """A rekindle store and the processes that use it."""

    def __init__(self, directory, python=sys.executable):
        self.directory = Path(directory)
        self.python = python
        self.plugin = find_plugin()

    def framework_environment(self, library, way):
        """Returns the environment of a framework process that loads `library`."""
        del way
        return jax_environment(library)

    def environment(self, way, env=None):
        """Returns an environment. `way`: bare, preload (LD_PRELOAD by hand), run (through `rekindle run`) or plugin."""
        result = self.framework_environment(PLUGIN_LIBRARY if way == "plugin" else self.plugin, way)
        # If a test uses a default directory, it must not be the developer's own store.
        result["XDG_CACHE_HOME"] = str(self.directory.parent / "xdg-cache")
        if way != "bare":
            result["REKINDLE_DIR"] = str(self.directory)
        if way == "preload":
            result["LD_PRELOAD"] = str(PRELOAD_LIBRARY)
        if way == "plugin":
            result["REKINDLE_PLUGIN"] = self.plugin
        return result | {k: str(v) for k, v in (env or {}).items()}

    def argv(self, program, *args, way="run", python=None):
        path = PROGRAMS / program
        command = [python or self.python, str(path), *map(str, args)]
        return [str(REKINDLE), "run", "--", *command] if way == "run" else command

    def start(self, program, *args, way="run", env=None, cwd=None, python=None, status=0, timeout_s=CHILD_TIMEOUT_S):
        """Runs a program of programs/ to its end; `status` None accepts any exit status."""
        done = run_process(
            self.argv(program, *args, way=way, python=python), self.environment(way, env), cwd, timeout_s
        )
        if status is not None:
            assert done.returncode == status, (
                f"{program} {args} ({way}): exit status {done.returncode}, not {status}\n"
                f"{done.stdout}\n{done.stderr}"
            )
        return done

    def cli(self, *args, status=0, env=None):
        """Runs the command line tool on this store."""
        done = run_process([REKINDLE, *args], self.environment("run", env))
        if status is not None:
            assert done.returncode == status, f"rekindle {args}: {done}"
        return done

    def stats(self, *args):
        """Returns the counters of the latest run, or of the run that `args` select."""
        return json.loads(self.cli("stats", "--json", *args).stdout)

    def entries(self):
        return sorted((self.directory / "objects").glob("*/*.rkx"))

    def runs(self):
        folder = self.directory / "runs"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    def compile_events(self):
        """Returns the compile events of the latest run, in order."""
        latest = max((self.directory / "runs").iterdir(), key=lambda folder: folder.stat().st_mtime_ns)
        lines = [json.loads(line) for path in latest.glob("*.jsonl") for line in path.read_text().splitlines()]
        return sorted((line for line in lines if line["ev"] == "compile"), key=lambda line: line["seq"])

    def leftovers(self):
        """Returns temporary files that a torn write left behind."""
        return [path for path in self.directory.rglob(".tmp-*")]


def dumping(folder):
    """Returns variables that make XLA write its compiled modules into `folder`."""
    return {"XLA_FLAGS": f"--xla_dump_to={folder} --xla_dump_hlo_as_text"}


def compiled_modules(folder):
    """Returns the names of the modules in XLA's own dump. Needs no store and no journal."""
    return sorted(path.name for path in folder.glob("module_*before_optimizations.txt"))


def requests(stats):
    return stats["hits"] + stats["misses"] + stats["bypassed"]


def assert_cold(stats, at_least=1):
    assert stats["misses"] >= at_least, stats
    assert stats["compiled"] == stats["misses"] + stats["bypassed"], stats
    assert stats["deserialize_failures"] == 0, stats


def assert_warm(stats):
    """The start compiled nothing and every request was a hit."""
    assert stats["compiled"] == 0, stats
    assert stats["hits"] == requests(stats) > 0, stats
    assert stats["deserialize_failures"] == 0 and stats["quarantined"] == 0, stats
