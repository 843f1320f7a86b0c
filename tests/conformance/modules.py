"""The modules: each is a line in MODULES."""

import os
import tempfile
from pathlib import Path

import common
import jobs
import others
import starts
from cases import Cases, Worker
from common import harness

WORKERS = common.HERE / "workers"


def lax():
    env = harness.jax_environment(common.python_env("--print-plugin"))
    return Worker(
        [common.python_env("--print-python", "jax-models"), WORKERS / "lax_cases.py"],
        env | {"PYTHONHASHSEED": "0", "JAX_ENABLE_X64": "1"},
        {"xla-cpu-pjrt": common.pinned(["xla-cpu-pjrt"], "jax")["xla-cpu-pjrt"]},
    )


def op_db():
    """torch_xla speaks an older PJRT than the plugin, which refuses it: a bare process gets older_caller.c in between."""
    plugin = common.python_env("--print-plugin")
    env = harness.clean_environment() | {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "PJRT_DEVICE": "LIBRARY"}
    older_caller = str(harness.BUILD / "tests/older_caller.so")
    return Worker(
        [common.python_env("--print-python", "torch-tests"), WORKERS / "op_db_cases.py"],
        env | {"PJRT_LIBRARY_PATH": plugin},
        common.pinned(["xla-cpu-pjrt"], "jax"),
        bare_env={"PJRT_LIBRARY_PATH": older_caller, "OLDER_CALLER_PLUGIN": plugin},
    )


# Suites in source distributions: the folder with the tests in it, whose tests are collected, how many run in one
# process, and whether each process gets tests from all of the suite. Where it does, it has to import all of it; a few
# batches of a suite that takes many hours then show something of each part. Sampling, which BlackJAX tests, takes
# longer than most. Equinox and Diffrax have no tests in theirs.
SUITES = {
    "optax": ("0.2.8", "optax", 240, False),
    "flax": ("0.12.8", "tests", 400, False),
    "distrax": ("0.1.9", "distrax", 620, True),
    "numpyro": ("0.22.0", "test", 240, True),
    "blackjax": ("1.7.1", "tests", 60, True),
}


def source_of(name, version):
    """The unpacked source distribution, in the user's cache."""
    folder = common.CACHE / "sources" / f"{name}-{version}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        pip = [common.python_env("--print-python", "conformance"), "-I", "-m", "pip", "--disable-pip-version-check"]
        download = [*pip, "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", folder.parent]
        others.command([*download, f"{name}=={version}"])
        with tempfile.TemporaryDirectory(dir=folder.parent) as unpacked:
            others.command(["tar", "-xzf", folder.parent / f"{name}-{version}.tar.gz", "-C", unpacked])
            os.rename(Path(unpacked) / folder.name, folder)
    return folder


def suite(name):
    version, tests, batch, interleaved = SUITES[name]

    def make():
        env = harness.jax_environment(common.python_env("--print-plugin")) | {"PYTHONHASHSEED": "0"}
        argv = [common.python_env("--print-python", "conformance"), WORKERS / "pytest_cases.py", tests, "--"]
        return Worker(argv, env, {name: version}, source_of(name, version))

    return Cases(name, make, batch, counted="tests", interleaved=interleaved)


_ALL = [
    starts.Programs("programs", starts.python_programs),
    starts.Programs("go", others.go_programs),
    starts.Programs("rust", others.rust_programs),
    Cases("lax", lax, batch=400),
    Cases("op_db", op_db, batch=200, has_jax_cache=False),
    *(suite(name) for name in SUITES),
    *jobs.modules(),
]
MODULES = {module.name: module for module in _ALL}
