"""rekindle reads real programs of PyTorch/XLA in both formats.

The programs are models and small computations of many kinds (programs/torch_train.py, programs/torch_ops.py), with and
without the locations that torch_xla adds on request. For every program, rekindle's reading is compared with that of
jaxlib's own parser, operation by operation. Two processes compute the same fingerprint for every program.
"""

import json
import re
import sys

import pytest

import harness
import torch_harness
from harness import BUILD, FAST, ROOT
from torch_harness import FORMATS

# The number of programs of each format that the project promises.
LEAST_PROGRAMS = 35

DEBUG = {"XLA_HLO_DEBUG": "1", "XLA_IR_DEBUG": "1"}

# The kinds of programs that must occur, by patterns in their text.
KINDS = {
    "convolution": r"\.convolution", "dot": r"\.dot", "sort": r"\.sort", "gather": r"\.gather",
    "scatter": r"\.scatter", "while": r"\.while", "reduce window": r"\.reduce.window",
    "select and scatter": r"\.select.and.scatter", "batch norm, training": r"\.batch.norm.training",
    "batch norm, gradient": r"\.batch.norm.grad", "batch norm, inference": r"\.batch.norm.inference",
    "triangular solve": r"\.triangular.solve", "custom call": r"\.custom.call", "random bits": r"\.rng.bit.generator",
    "complex": r"complex|c64", "bfloat16": r"bf16", "int8": r"(s|i)8", "barrier": r"\.(opt|optimization).barrier",
}  # fmt: skip


def send_all(store, form, env):
    """Runs both collections, each in its own process. Returns the compile events and the failed computations."""
    events, failed = [], {}
    for program, *arguments in (("torch_train.py", "--steps", 2), ("torch_ops.py",)):
        done = store.start(program, *arguments, env=FAST | FORMATS[form] | env).json()
        failed |= done.get("failed", {})
        events += store.compile_events()
    return events, failed


@pytest.fixture(scope="module", params=FORMATS)
def programs(request, tmp_path_factory):
    """The store, the format, and two results of all programs: with locations, then without."""
    store = torch_harness.Store(tmp_path_factory.mktemp("programs") / "store")
    return store, request.param, [send_all(store, request.param, env) for env in (DEBUG, {})]


def test_every_computation_works(programs):
    assert [failed for _, failed in programs[2]] == [{}, {}]


def test_fingerprints_are_the_same_with_and_without_locations(programs, capsys):
    first, second = ([event["program"] for event in events] for events, _ in programs[2])
    assert first == second
    assert len(set(first)) >= LEAST_PROGRAMS
    with capsys.disabled():
        print(f"\nfingerprints of {programs[1]}: {len(set(first))} programs, the same in two processes")


def test_no_program_is_known_by_its_bytes_alone(programs):
    assert not [event for events, _ in programs[2] for event in events if event.get("by_bytes")]


def test_second_process_compiles_nothing(programs):
    assert {event["outcome"] for event in programs[2][1][0]} == {"hit"}


def test_every_kind_is_there(programs):
    store = programs[0]
    missing = dict(KINDS)
    for path in store.entries():
        text = store.cli("show", "--program", path.stem).stdout
        missing = {kind: pattern for kind, pattern in missing.items() if not re.search(pattern, text)}
    assert not missing


def test_programs_are_read_as_jaxlib_reads_them(programs, tmp_path, capsys):
    store, form, _ = programs
    command = [sys.executable, ROOT / "tests/unit/program", "--least", LEAST_PROGRAMS]
    if form == "mlir":
        command[1] /= "compare_bytecode.py"
        command += [BUILD / "tests/model_dump", store.directory / "programs"]
    else:
        command[1] /= "compare_hlo.py"
        command += ["--model-dump", BUILD / "tests/model_dump", BUILD / "tests/hlo_dump"]
        for path in store.entries():
            store.cli("show", path.stem, "--program", "--raw", "-o", tmp_path / path.stem)
            command.append(tmp_path / path.stem)
    env = {"JAX_PLATFORMS": "cpu", "PJRT_NAMES_AND_LIBRARY_PATHS": ""}
    done = harness.run_process(command, harness.jax_environment("") | env, timeout_s=600)
    assert done.returncode == 0, done.stdout + done.stderr
    with capsys.disabled():
        print("", done.stdout.strip(), sep="\n")


def test_programs_have_their_format(programs):
    store, form, _ = programs
    for path in store.entries():
        assert json.loads(store.cli("show", path.stem, "--json").stdout)["metadata"]["format"] == form
