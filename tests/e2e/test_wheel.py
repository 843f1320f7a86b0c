"""The wheel that `make wheel` builds: installed by pip alone, it runs a job cold and warm, without a compiler."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import harness
import pytest

CHECK_LIBRARY = harness.ROOT / "tests/style/check_library.py"


@pytest.fixture(scope="module")
def wheel_python():
    """The Python that has auditwheel and the compiler."""
    done = harness.run_process([harness.ROOT / "scripts/python-env", "--print-python", "wheel"], dict(os.environ))
    if done.returncode != 0:
        pytest.skip('the Python environment "wheel" is missing: scripts/python-env --create wheel')
    return done.stdout.strip()


@pytest.fixture(scope="module")
def wheel(wheel_python, tmp_path_factory):
    """Path of a wheel for x86-64, just built."""
    assert wheel_python
    folder = tmp_path_factory.mktemp("dist")
    command = [harness.ROOT / "scripts/wheel", "--out", folder, "x86_64"]
    done = harness.run_process(command, dict(os.environ), timeout_s=800)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return path


class Store(harness.Store):
    """A store whose processes find the command and Python of a virtual environment, and no other program."""

    folder = None

    def environment(self, way, env=None):
        return super().environment(way, env) | {"PATH": str(self.folder / "bin")}

    def argv(self, program, *args, way="run", python=None):
        command = ["python", str(harness.PROGRAMS / program), *map(str, args)]
        return [str(self.folder / "bin/rekindle"), "run", "--", *command] if way == "run" else [python, *command[1:]]


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A fresh virtual environment that sees JAX, and into which pip installed the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-I", "-m", "venv", folder], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    packages.joinpath("jax.pth").write_text(sysconfig.get_path("purelib") + "\n")
    done = harness.run_process(
        [folder / "bin/python", "-I", "-m", "pip", "--disable-pip-version-check", "install", "--no-index", wheel],
        harness.clean_environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_auditwheel_agrees_with_the_tag(wheel_python, wheel):
    assert "manylinux_2_17_x86_64" in wheel.name
    done = harness.run_process([wheel_python, "-I", "-m", "auditwheel", "show", wheel], dict(os.environ))
    said = " ".join(done.stdout.split())
    assert '"manylinux_2_17_x86_64"' in said, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("library", "rules"),
    [("preload", ["dlsym", "--bare"]), ("core", ["rekindle_core_substitute"]), ("pjrt", ["GetPjrtApi"])],
)
def test_a_library_exports_one_name_and_needs_only_libc(installed, library, rules):
    path = installed / f"lib/librekindle_{library}.so"
    done = harness.run_process([sys.executable, "-I", CHECK_LIBRARY, path, *rules], dict(os.environ))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_brings_the_licences_of_its_libraries(wheel):
    names = {Path(name).name for name in zipfile.ZipFile(wheel).namelist() if "/licenses/" in name and name[-1] != "/"}
    assert names == {"LICENSE", "jansson.txt", "libsodium.txt", "zstd.txt"}


def test_completion_and_man_pages_come_with_it(installed):
    for name in (
        "bash-completion/completions/rekindle", "zsh/site-functions/_rekindle",
        "fish/vendor_completions.d/rekindle.fish", "man/man1/rekindle.1", "man/man1/rekindle-explain.1",
    ):  # fmt: skip
        assert (installed / "share" / name).stat().st_size > 100, name


def test_the_command_finds_its_libraries(installed, tmp_path):
    command = tmp_path / "rekindle"
    command.symlink_to(installed / "bin/rekindle")
    answer = json.loads(harness.run_process([command, "version", "--json"], harness.clean_environment()).stdout)
    assert all(library["found"] for library in answer["libraries"].values()), answer
    assert answer["libraries"]["preload"]["path"] == str(installed / "lib/librekindle_preload.so")


def test_a_second_start_compiles_nothing(installed, tmp_path):
    store = Store(tmp_path / "store")
    store.folder = installed
    bare = store.start("imports.py", way="bare", python=installed / "bin/python").json()
    assert bare.pop("compiled") is None
    cold = store.start("imports.py")
    harness.assert_cold(store.stats())
    warm = store.start("imports.py")
    harness.assert_warm(store.stats())
    assert " 0 compiled" in warm.stderr, warm.stderr
    cold, warm = cold.json(), warm.json()
    assert cold.pop("compiled") > 0 and warm.pop("compiled") == 0
    assert cold == warm == bare
