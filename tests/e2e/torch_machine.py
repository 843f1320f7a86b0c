"""Machines on which torch.compile jobs run under `rekindle run`, for test_torch_compile*.py."""

import json
import shutil
import sys
from pathlib import Path

import harness

PROGRAM = harness.PROGRAMS / "torch_compile.py"


class Machine:
    """A store, a cache and a folder for temporary files: starts of one machine share them."""

    def __init__(self, root):
        self.root = Path(root)
        self.root.mkdir(parents=True, exist_ok=True)
        self.temporary = self.root / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self.store = self.root / "store"

    def environment(self, **variables):
        env = harness.clean_environment()
        env |= {
            "REKINDLE_DIR": str(self.store),
            "REKINDLE_TORCH_COMPILE": "pgo",
            "TMPDIR": str(self.temporary),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "PATH": f"{Path(sys.executable).parent}:{env['PATH']}",
            "OMP_NUM_THREADS": "1",
            "TORCHINDUCTOR_VEC_ISA_OK": "1",  # else six processes import torch and try kinds of vectors
        }
        return env | {name: str(value) for name, value in variables.items()}

    def command(self, *args, job="job"):
        return [harness.REKINDLE, "run", "--job", job, "--", sys.executable, PROGRAM, *args]

    def start(self, *args, job="job", status=0, **variables):
        done = harness.run_process(self.command(*args, job=job), self.environment(**variables))
        assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
        return done

    def cli(self, *args, status=0, **variables):
        done = harness.run_process([harness.REKINDLE, *args], self.environment(**variables))
        assert done.returncode == status, f"{args}: {done}"
        return done

    def stats(self):
        return json.loads(self.cli("stats", "--json").stdout)["torch_compile"]

    def packs(self):
        return sorted((self.store / "objects").glob("*/*.rkx"))

    def directories(self):
        return sorted((self.root / "cache/rekindle/torch-compile").glob("*"))


def copy_of(machine, tmp_path, name="second"):
    """Another machine with a copy of the store."""
    other = Machine(tmp_path / name)
    shutil.copytree(machine.store, other.store)
    return other


def assert_warm(done, cold):
    said, before = done.json(), cold.json()
    assert said["results"] == before["results"]
    assert said["fx_misses"] == 0 and said["autograd_misses"] == 0, said
    assert said["autograd_hits"] > 0, said
