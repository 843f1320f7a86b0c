"""PJRT_DEVICE=REKINDLE works with only the installed Python package: no preload, no path to our libraries."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import harness
import torch_harness

SMALL = ("torch_train.py", "--steps", 3, "lstm")


def pip(python, *arguments, **env):
    done = subprocess.run(
        [python, "-I", "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--no-index",
         *map(str, arguments)],
        env=harness.clean_environment() | {k: str(v) for k, v in env.items()},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


class Store(torch_harness.Store):
    """A store whose processes request the device by name and get only the environment in `variables`."""

    variables = {}

    def framework_environment(self, library, way):
        if way != "device":
            return super().framework_environment(library, way)
        return harness.clean_environment() | {"PJRT_DEVICE": "REKINDLE"} | self.variables


@pytest.fixture(scope="module", params=["wheel", "editable", "target"])
def installed(request, tmp_path_factory):
    """Installs the package in one of three ways. Returns a Python and its environment: (python, variables)."""
    folder = tmp_path_factory.mktemp(request.param)
    package = harness.ROOT / "python"
    build = {"REKINDLE_BUILD": harness.BUILD}
    if request.param == "target":
        pip(sys.executable, "--target", folder / "added", package, **build)
        return sys.executable, {"PYTHONPATH": str(folder / "added")}
    subprocess.run([sys.executable, "-I", "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv/bin/python"
    (added,) = (folder / "venv").glob("lib/python3*/site-packages")
    layers = [sysconfig.get_path("purelib"), *Path(sysconfig.get_path("purelib")).glob("base.pth")]
    added.joinpath("torch.pth").write_text(f"{layers[0]}\n{layers[1].read_text()}")
    pip(python, *(["--editable"] if request.param == "editable" else []), package, **build)
    variables = {}
    if request.param == "editable" and harness.BUILD != harness.ROOT / "build/release":
        variables = {"REKINDLE_LIBRARY": str(harness.PLUGIN_LIBRARY)}
    return str(python), variables


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("bare") / "store").start(*SMALL, way="bare")


def test_the_device_trains_and_restarts_warm(installed, bare, store):
    python, variables = installed
    store = Store(store.directory, python)
    store.variables = variables
    env = {"REKINDLE_PLUGIN": store.plugin}
    cold = store.start(*SMALL, way="device", env=env)
    assert cold.json()["results"] == bare.json()["results"]
    harness.assert_cold(store.stats())
    torch_harness.assert_warm(store, store.start(*SMALL, way="device", env=env), bare)
    # The device and LD_PRELOAD share a store.
    torch_harness.assert_warm(store, store.start(*SMALL), bare)


@pytest.mark.parametrize("installed", ["wheel"], indirect=True)
@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, "REKINDLE_PLUGIN is not set"),
        ({"REKINDLE_PLUGIN": "/nowhere/plugin.so"}, "REKINDLE_PLUGIN=/nowhere/plugin.so cannot be loaded"),
        ({"REKINDLE_PLUGIN": __file__, "REKINDLE_LIBRARY": "/nowhere/ours.so"}, "REKINDLE_LIBRARY is /nowhere/ours.so"),
    ],
    ids=["unset", "missing", "library"],
)
def test_what_is_missing_is_named(installed, store, env, said):
    python, variables = installed
    store = Store(store.directory, python)
    store.variables = variables
    done = store.start(*SMALL, way="device", env=env, status=None)
    assert done.returncode != 0 and said in done.stderr, done.stderr


def test_an_installed_package_changes_nothing_for_other_devices(installed, bare, store):
    python, variables = installed
    store = Store(store.directory, python)
    done = store.start(*SMALL, way="bare", env=variables)
    for said in ("results", "counters", "requests"):
        assert done.json()[said] == bare.json()[said]


@pytest.mark.parametrize("installed", ["wheel", "editable"], indirect=True)
@pytest.mark.parametrize("first", ["torch_xla", "rekindle.torch_xla"])
def test_either_may_be_imported_first(installed, first):
    python, variables = installed
    code = f"import {first}; import rekindle.torch_xla, torch_xla; from torch_xla.experimental import plugins; "
    code += "print(rekindle.__version__, 'REKINDLE' in plugins._plugin_registry)"
    done = harness.run_process([python, "-c", code], harness.clean_environment() | variables)
    assert done.returncode == 0 and done.stdout.split()[-1] == "True", done.stderr


@pytest.mark.parametrize("installed", ["wheel"], indirect=True)
def test_the_command_comes_with_the_wheel(installed):
    python, _ = installed
    command = Path(python).with_name("rekindle")
    answer = json.loads(harness.run_process([command, "version", "--json"], harness.clean_environment()).stdout)
    assert answer["libraries"]["preload"]["found"] and answer["libraries"]["plugin"]["found"], answer
    done = harness.run_process([python, "-c", "import rekindle; print(rekindle.__version__)"], harness.clean_environment())
    assert done.stdout.strip() == answer["version"]


def test_in_a_checkout_it_is_importable_without_being_installed(bare, store):
    store = Store(store.directory)
    store.variables = {"PYTHONPATH": str(harness.ROOT / "python"), "REKINDLE_LIBRARY": str(harness.PLUGIN_LIBRARY)}
    env = {"REKINDLE_PLUGIN": store.plugin, "TEST_IMPORT": "rekindle.torch_xla"}
    assert store.start(*SMALL, way="device", env=env).json()["results"] == bare.json()["results"]
    harness.assert_cold(store.stats())
