"""torch.compile under `rekindle run`: a second start finds everything, on this machine and on another one.

Runs with the environments "torch-newest" and "torch".
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

import pytest

import harness
from torch_machine import PROGRAM, Machine, assert_warm, copy_of

if importlib.util.find_spec("torch") is None:
    pytest.skip("this Python has no torch: tests/e2e/run torch-newest", allow_module_level=True)

MODULES = {"inductor", "aotautograd", "triton", "autotune", "pgo", "headers"}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "first")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A machine after one start with a size that changes, and what the start printed."""
    first = Machine(tmp_path_factory.mktemp("trained") / "first")
    return first, first.start("--sizes", "16", "24", "40")


def test_first_start_keeps_what_it_compiled(trained):
    machine, done = trained
    said, stats = done.json(), machine.stats()
    assert said["autograd_misses"] > 0
    assert stats["restored"] == 0 and stats["new"] > 0 and stats["not_stored"] == 0
    assert [said["environment"]["TORCHINDUCTOR_CACHE_DIR"]] == [str(path) for path in machine.directories()]
    assert machine.directories()[0].stat().st_mode & 0o777 == 0o700
    assert said["environment"]["TRITON_CACHE_DIR"] == said["environment"]["TORCHINDUCTOR_CACHE_DIR"] + "/triton"
    assert said["environment"]["TORCH_COMPILE_JOB_ID"] == "job"
    assert f"{stats['new']} new" in done.stderr and stats["made"] > 0


def test_second_start_is_warm_at_another_path(trained, tmp_path):
    second = copy_of(trained[0], tmp_path)
    done = second.start("--sizes", "16", "24", "40")
    assert_warm(done, trained[1])
    stats = second.stats()
    assert stats["restored"] > 0 and stats["new"] == 0, stats
    assert "torch.compile wrote no new file" in second.cli("stats").stdout


def test_directory_stays(machine):
    """Results that a job left in the directory stay, and are not stored. A later start restores nothing again."""
    tries = {"REKINDLE_TORCH_COMPILE": "1", "TORCHINDUCTOR_VEC_ISA_OK": ""}  # torch compiles and loads its tries, too
    done = machine.start(**tries)
    (directory,) = machine.directories()
    result = next(directory.glob("??")) / "result.pt2"
    result.write_text("weights")
    assert_warm(machine.start(**tries), done)
    stats = machine.stats()
    assert stats["restored"] == 0 and stats["present"] > 0 and stats["made"] == 0, stats
    assert result.read_text() == "weights" and machine.directories() == [directory]
    os.utime(directory, (1, 1))
    assert "Would remove 1 directory of torch.compile" in machine.cli("gc", "--dry-run").stdout
    assert result.exists()
    assert json.loads(machine.cli("gc", "--json").stdout)["torch_compile"]["files"] == 1
    assert machine.directories() == []
    assert_warm(machine.start(**tries), done)
    assert machine.stats()["restored"] > 0


def test_sizes_are_remembered_only_if_asked(machine):
    done = machine.start(REKINDLE_TORCH_COMPILE="1")
    assert done.json()["environment"]["TORCH_COMPILE_JOB_ID"] is None


def write_script(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_python_must_be_certain(machine, tmp_path):
    """A script that names its Python is fine. What a shell script runs is not known."""
    shebang = write_script(tmp_path / "job", f"#!{sys.executable}\n" + PROGRAM.read_text())
    by_env = write_script(tmp_path / "by_env", "#!/usr/bin/env python\n" + PROGRAM.read_text())
    shell = write_script(tmp_path / "job.sh", f'#!/bin/sh\nexec "{sys.executable}" "{PROGRAM}" "$@"\n')
    for command, certain in (([shebang], True), ([by_env], True), ([shell], False), (["sh", shell], False)):
        words = [harness.REKINDLE, "run", "--job", "job", "--", *command]
        done = harness.run_process(words, machine.environment())
        assert done.returncode == 0, done.stderr
        assert (done.json()["environment"]["TORCHINDUCTOR_CACHE_DIR"] is not None) == certain
        why = json.loads(machine.cli("stats", "--json").stdout)["torch_compile_why"]
        assert (why is None) == certain, why
        if not certain:
            assert "is not a Python" in why and why in machine.cli("stats").stdout
            assert machine.stats() is None


def test_readonly_without_packs_leaves_the_own_directory(machine):
    done = machine.start(REKINDLE_MODE="readonly")
    assert done.json()["environment"]["TORCHINDUCTOR_CACHE_DIR"] is None
    assert machine.directories() == [] and not machine.store.exists()


def test_second_machine_recompiles_nothing_for_a_dynamic_shape(trained, tmp_path):
    """The first start compiled for one size, then for any size. The second knows that the size changes."""
    second = copy_of(trained[0], tmp_path)
    done = second.start("--sizes", "16", "24", "40")
    assert trained[1].json()["frames"] == 2
    assert done.json()["frames"] == 1, done.json()


def test_what_is_in_the_store_is_known_to_its_commands(trained):
    machine, _ = trained
    entries = json.loads(machine.cli("ls", "--json", "--all").stdout)["entries"]
    assert {entry["platform"] for entry in entries} == {"torch.compile"}
    machine.cli("fsck")
    machine.cli("gc", "--dry-run")


def test_user_variables_are_respected(machine, tmp_path):
    own = tmp_path / "own"
    done = machine.start(TORCHINDUCTOR_CACHE_DIR=own)
    assert done.json()["environment"] == {
        "TORCHINDUCTOR_CACHE_DIR": str(own), "TRITON_CACHE_DIR": None, "TORCH_COMPILE_JOB_ID": None,
    }  # fmt: skip
    assert machine.packs() == [] and any(own.iterdir()) and machine.directories() == []
    done = machine.start(TORCH_COMPILE_JOB_ID="mine", TRITON_CACHE_DIR=tmp_path / "triton")
    assert done.json()["environment"]["TORCH_COMPILE_JOB_ID"] == "mine"
    assert done.json()["environment"]["TRITON_CACHE_DIR"] == str(tmp_path / "triton")


def test_modes(trained, tmp_path):
    second = copy_of(trained[0], tmp_path)
    before = second.packs()
    assert_warm(second.start("--sizes", "16", "24", "40", REKINDLE_MODE="readonly"), trained[1])
    assert second.start("--sizes", "16", REKINDLE_MODE="off").json()["environment"]["TORCHINDUCTOR_CACHE_DIR"] is None
    assert second.packs() == before
    refreshed = second.start("--sizes", "16", "24", "40", REKINDLE_MODE="refresh").json()
    assert refreshed["autograd_misses"] > 0
    assert_warm(second.start("--sizes", "16", "24", "40"), trained[1])


def test_starts_at_the_same_time(machine):
    env = machine.environment(REKINDLE_TORCH_COMPILE="1")
    both = [
        subprocess.Popen(
            [str(word) for word in machine.command("--sizes", size, "--sleep", "1")], env=env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for size in ("16", "17")
    ]  # fmt: skip
    said = [process.communicate(timeout=harness.CHILD_TIMEOUT_S) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    directories = {
        json.loads(out.splitlines()[-1])["environment"]["TORCHINDUCTOR_CACHE_DIR"] for out, _ in said
    }
    assert len(directories) == 1
    for size in ("16", "17"):
        assert machine.start("--sizes", size, REKINDLE_TORCH_COMPILE="1").json()["fx_misses"] == 0


def wait_for(process, text):
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(process.stderr.read())


def start_and_wait(machine):
    process = subprocess.Popen(
        [str(word) for word in machine.command("--sleep", "600")], env=machine.environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    wait_for(process, "compiled")
    return process


def test_killed_job_keeps_what_was_complete(machine):
    process = start_and_wait(machine)
    time.sleep(6)  # files of the last five seconds might be incomplete
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert machine.stats()["new"] > 0
    assert machine.start().json()["fx_misses"] == 0


def test_killed_rekindle_loses_nothing(machine):
    process = start_and_wait(machine)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    done = machine.start()
    assert done.json()["fx_misses"] == 0 and machine.stats()["restored"] == 0
    assert machine.stats()["made"] == 0 and machine.stats()["new"] > 0


def test_damaged_pack_costs_only_compilations(trained, tmp_path):
    second = copy_of(trained[0], tmp_path)
    for path in second.packs():
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    done = second.start("--sizes", "16", "24", "40")
    assert done.json()["results"] == trained[1].json()["results"]
    assert done.stderr.count("torch.compile:") == 1 and "damaged" in done.stderr
    assert_warm(second.start("--sizes", "16", "24", "40"), trained[1])


def test_store_that_cannot_be_written(machine):
    machine.store.write_text("a file")
    done = machine.start()
    said = done.json()
    assert said["results"] and said["environment"]["TORCHINDUCTOR_CACHE_DIR"] is None


def export(machine, tmp_path, *args):
    path = tmp_path / "job.rkb"
    said = json.loads(machine.cli("bundle", "export", "--json", "-o", path, *args).stdout)
    return path, {module["name"] for module in said["modules"]}


def test_bundle_takes_the_caches_along(trained, tmp_path):
    path, modules = export(trained[0], tmp_path)
    assert modules <= MODULES and {"inductor", "aotautograd", "pgo"} <= modules
    other = Machine(tmp_path / "other")
    key = {"XDG_CONFIG_HOME": trained[0].root / "config"}
    shown = json.loads(other.cli("bundle", "inspect", "--json", "--for-this-machine", path, **key).stdout)
    assert shown["usable"] is True and shown["mismatches"] == []
    assert all(module["items"] > 0 and module["bytes"] > 0 for module in shown["modules"])
    other.cli("bundle", "import", path, status=1)  # signed by another user's key
    assert not other.store.exists()
    said = json.loads(other.cli("bundle", "import", "--json", path, **key).stdout)
    assert said["imported"]["packs"] == len(shown["packs"])
    assert_warm(other.start("--sizes", "16", "24", "40"), trained[1])
    again = json.loads(other.cli("bundle", "import", "--json", path, **key).stdout)
    assert again["imported"]["packs"] == 0 and again["present"]["packs"] > 0


@pytest.mark.parametrize("module", ["inductor", "aotautograd", "pgo"])
def test_each_module_alone(trained, tmp_path, module):
    path, modules = export(trained[0], tmp_path, "--module", module)
    assert modules == {module}
    other = Machine(tmp_path / "other")
    other.cli("bundle", "import", path, XDG_CONFIG_HOME=trained[0].root / "config")
    done = other.start("--sizes", "16", "24", "40")
    said = done.json()
    assert said["results"] == trained[1].json()["results"]
    if module == "pgo":
        assert said["frames"] == 1
    else:
        assert said["frames"] == 2
    if module == "aotautograd":
        assert other.stats()["restored"] > 0
    if module == "inductor":
        assert said["fx_hits"] > 0 and said["fx_misses"] == 0, said


def test_bundle_of_another_cpu_is_refused(trained, tmp_path):
    """The compiler counts too: a machine without one cannot use the kernels."""
    path, _ = export(trained[0], tmp_path)
    other = Machine(tmp_path / "other")
    other.root.mkdir(exist_ok=True)
    key = {"XDG_CONFIG_HOME": trained[0].root / "config"}
    done = other.cli("bundle", "import", path, status=1, CXX="no-such-compiler", **key)
    assert "compiler.cxx" in done.stderr and "blocks" in done.stderr and sys.executable in done.stderr
    assert not other.store.exists()


SAVE_OR_LOAD = """
import json, sys, runpy
import rekindle.torch_compile
from pathlib import Path
if sys.argv[1] == "load":
    print("loaded", rekindle.torch_compile.load(Path(sys.argv[2]).read_bytes())["files"])
path, action = Path(sys.argv[2]), sys.argv[1]
sys.argv = ["torch_compile.py"]
runpy.run_path(PROGRAM, run_name="__main__")
if action == "save":
    artifacts, info = rekindle.torch_compile.save()
    path.write_bytes(artifacts)
    print(json.dumps({"modules": [module["name"] for module in info["modules"]]}))
"""


def save_or_load(machine, action, path, directory):
    env = machine.environment(TORCHINDUCTOR_CACHE_DIR=directory, PYTHONPATH=harness.ROOT / "python")
    env["PATH"] = f"{harness.REKINDLE.parent}:{env['PATH']}"
    script = SAVE_OR_LOAD.replace("PROGRAM", repr(str(PROGRAM)))
    done = harness.run_process([sys.executable, "-c", script, action, path], env)
    assert done.returncode == 0, done.stderr
    return done


def test_save_and_load_from_python(machine, tmp_path):
    path = tmp_path / "caches.rkb"
    saved = save_or_load(machine, "save", path, tmp_path / "one")
    assert {"inductor", "aotautograd"} <= set(saved.json()["modules"])
    loaded = save_or_load(machine, "load", path, tmp_path / "two")
    assert int(loaded.stdout.split()[1]) > 0
    said = loaded.json()
    assert said["fx_misses"] == 0 and said["autograd_misses"] == 0 and said["autograd_hits"] > 0


def test_job_without_torch_pays_nothing(machine):
    command = [harness.REKINDLE, "run", "--", "/usr/bin/env"]
    done = harness.run_process(command, machine.environment())
    assert done.returncode == 0
    assert "TORCHINDUCTOR_CACHE_DIR" not in done.stdout and machine.directories() == []
