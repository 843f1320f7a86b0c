"""torch.compile under `rekindle run`, in three short starts: a cold one, one on another machine, and one after a kill.

test_torch_compile.py has the rest, in `make conformance`.
"""

import importlib.util
import os
import shutil

import pytest

from torch_machine import Machine, assert_warm, copy_of

if importlib.util.find_spec("torch") is None:
    pytest.skip("this Python has no torch: tests/e2e/run torch", allow_module_level=True)

COMPILER = """#!/bin/sh
echo "$*" >>"$COMPILER_LOG"
exec {} "$@"
"""


@pytest.fixture
def compiler(tmp_path):
    """A C++ compiler that records its command lines."""
    path = tmp_path / "bin/g++"
    path.parent.mkdir()
    path.write_text(COMPILER.format(shutil.which("g++")))
    path.chmod(0o755)
    return path


def start(machine, compiler, *args):
    """What a start said, and the commands that compiled something."""
    log = machine.root / "log"
    log.write_text("")
    path = f"{compiler.parent}:{machine.environment()['PATH']}"
    quick = {"TORCHINDUCTOR_VEC_ISA_OK": "0"}  # kernels without vectors
    done = machine.start(*args, REKINDLE_TORCH_COMPILE="1", PATH=path, COMPILER_LOG=log, **quick)
    return done, [line for line in log.read_text().splitlines() if " -o " in line and " -E " not in line]


def cut(library):
    """Leaves what a killed linker leaves."""
    os.truncate(library, library.stat().st_size // 2)
    os.utime(library, (1e9, 1e9))


def test_second_machine_compiles_nothing(tmp_path, compiler):
    first = Machine(tmp_path / "first")
    cold, compiled = start(first, compiler, "--sleep", "6")  # precompiled headers are kept after five seconds
    assert cold.json()["fx_misses"] > 0 and sum("-shared" in line for line in compiled) > 0
    stats = first.stats()
    assert stats["restored"] == 0 and stats["made"] > 0 and stats["new"] >= stats["made"], stats

    second = copy_of(first, tmp_path)
    done, compiled = start(second, compiler)
    assert_warm(done, cold)
    assert compiled == []
    assert second.stats()["restored"] == stats["new"] and second.stats()["made"] == 0, second.stats()

    (directory,) = second.directories()
    libraries = sorted(directory.glob("??/*.so"))
    cut(libraries[0])
    done, compiled = start(second, compiler)
    assert_warm(done, cold)
    assert compiled == [] and second.stats()["restored"] == 1, (compiled, second.stats())
    assert libraries[0].read_bytes() == (first.directories()[0] / libraries[0].relative_to(directory)).read_bytes()
