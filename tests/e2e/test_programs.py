"""rekindle reads real programs of all kinds from JAX, Flax and Equinox, with thousands of operations.

Two processes share only the programs (programs/parity.py and programs/models.py) and compute the same fingerprint for
every program. For every program, rekindle's reading is compared with that of jaxlib's own parser, operation by
operation. The comparisons are separate scripts that print all differences:
tests/unit/program/compare_bytecode.py and compare_hlo.py.
"""

import json
import re
import sys

import pytest

import harness
from harness import BUILD, FAST, ROOT

pytest.importorskip("flax")
pytest.importorskip("equinox")

# The number of programs that the project promises.
LEAST_PROGRAMS = 60

# The kinds of programs that must occur, by patterns in their text and in the Python frames beside it.
KINDS = {
    "training step": r"transpose\(jvp",
    "training step of optax": r"/optax/",
    "Flax linen": r"/flax/linen/",
    "Flax nnx": r"/flax/nnx/",
    "Equinox": r"/equinox/",
    "attention": r"MultiHeadDotProductAttention",
    "convolution": r"stablehlo\.convolution\(",
    "scan or while": r"stablehlo\.while\(",
    "cond": r"stablehlo\.(if|case)\(",
    "sort": r"stablehlo\.sort\(",
    "gather": r"stablehlo\.gather\(",
    "scatter": r"stablehlo\.scatter\(",
    "random numbers by threefry": r"threefry2x32",
    "random bit generator": r"stablehlo\.rng_bit_generator\(",
    "FFT": r"stablehlo\.fft\(",
    "four devices": r"mhlo\.num_partitions = 4",
    "shard_map": r"sdy\.manual_computation\(",
    "all-reduce": r"stablehlo\.all_reduce\(",
    "all-gather": r"stablehlo\.all_gather\(",
    "all-to-all": r"stablehlo\.all_to_all\(",
    "reduce-scatter": r"stablehlo\.reduce_scatter\(",
    "collective permute": r"stablehlo\.collective_permute\(",
    "bfloat16": r"xbf16>",
    "int8": r"xi8>",
    "complex": r"complex<",
    "Pallas, interpreted": r"pallas_call",
    "large constant": r"stablehlo\.constant\(\) \{value = dense<.*> : tensor<256x256xf32>",
    "donated argument": r"tf\.aliasing_output|jax\.buffer_donor",
    "layout": r"mhlo\.layout_mode",
    "rematerialization": r"stablehlo\.optimization_barrier\(",
}


def compile_all(store, folder, seed):
    """Compiles both collections, each in its own process; returns a compile event for each program."""
    folder.mkdir()
    env = FAST | {"PYTHONHASHSEED": seed}
    events = []
    for program, *arguments in (("parity.py", folder / "report.json"), ("models.py",)):
        store.start(program, *arguments, cwd=folder, env=env)
        events += store.compile_events()
    return events


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The store, and the compile events of two passes over all programs."""
    folder = tmp_path_factory.mktemp("programs")
    store = harness.Store(folder / "store")
    return store, [compile_all(store, folder / seed, seed) for seed in ("0", "4711")]


def say(capsys, *lines):
    """Prints facts for the reader although the test passes."""
    with capsys.disabled():
        print("", *lines, sep="\n", flush=True)


def run_comparison(capsys, script, *arguments):
    command = [sys.executable, ROOT / "tests/unit/program" / script, "--least", LEAST_PROGRAMS, *arguments]
    env = {"JAX_PLATFORMS": "cpu", "PJRT_NAMES_AND_LIBRARY_PATHS": ""}
    done = harness.run_process(command, harness.jax_environment("") | env, timeout_s=600)
    assert done.returncode == 0, done.stdout + done.stderr
    say(capsys, done.stdout.strip())


def test_fingerprints_are_the_same_in_every_process(programs, capsys):
    _, runs = programs
    first, second = ([(e["name"], e["program"]) for e in events] for events in runs)
    assert first == second
    distinct = {program for _, program in first}
    assert len(distinct) >= LEAST_PROGRAMS
    say(capsys, f"fingerprints: {len(distinct)} programs, the same in two processes")


def test_no_program_is_known_by_its_bytes_alone(programs):
    _, runs = programs
    assert not [event for event in runs[0] if event.get("by_bytes")]


def test_second_process_compiles_only_what_fails(programs):
    _, runs = programs
    assert not [e for e in runs[1] if e["outcome"] != "hit" and not e["failed"]]


def test_every_kind_is_there(programs):
    store, _ = programs
    missing = dict(KINDS)
    for entry in json.loads(store.cli("ls", "--json").stdout)["entries"]:
        text = store.cli("show", "--program", entry["key"]).stdout
        missing = {kind: pattern for kind, pattern in missing.items() if not re.search(pattern, text)}
    assert not missing


def test_bytecode_is_read_as_jaxlib_reads_it(programs, capsys):
    store, _ = programs
    run_comparison(capsys, "compare_bytecode.py", BUILD / "tests/model_dump", store.directory / "programs")


def test_text_is_the_same_program_as_bytecode(programs, capsys):
    store, _ = programs
    run_comparison(capsys, "compare_text.py", BUILD / "tests/model_dump", store.directory / "programs")


def test_changed_text_is_the_same_program_only_if_its_bytecode_is(capsys):
    data = (ROOT / "tests/unit/program/data", ROOT / "fuzz/corpus/read_bytecode")
    options = ("--mutations", "20", "--least-mutants", "1500")
    run_comparison(capsys, "compare_text.py", *options, BUILD / "tests/model_dump", *data)


def test_hlo_is_read_as_jaxlib_reads_it(capsys):
    dumps = (BUILD / "tests" / name for name in ("model_dump", "hlo_dump"))
    run_comparison(capsys, "compare_hlo.py", "--models", "--model-dump", *dumps)
