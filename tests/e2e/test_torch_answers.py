"""Everything that torch_xla observes about an executable is the same after a load as after a compilation.

programs/torch_answers.py has the programs and the compared properties: optimized program, memory statistics,
shardings of results, and the device of each shard.
"""

import pytest

import harness
import torch_harness

# Lines of torch_xla with the memory statistics of a compiled program. (Other lines contain paths and hashes.)
STATISTICS = "Post Compilation Analysis:"


def answers(store, folder, way, mode, temperature):
    """Returns the program's output and the statistics that torch_xla wrote beside it."""
    path = folder / f"{temperature}.txt"
    env = {"XLA_DUMP_POST_OPTIMIZATIONS": 1, "PT_XLA_DEBUG_LEVEL": 1, "PT_XLA_DEBUG_FILE": path}
    done = store.start("torch_answers.py", mode, way=way, env=env).json()
    written = [line for line in path.read_text().splitlines() if line.startswith(STATISTICS) and " GB" in line]
    return done | {"statistics": written}


@pytest.fixture(scope="module", params=[("run", "single"), ("run", "spmd"), ("plugin", "spmd")], ids="-".join)
def all_answers(request, tmp_path_factory):
    way, mode = request.param
    folder = tmp_path_factory.mktemp("answers")
    store = torch_harness.Store(folder / "store")
    result = {"bare": answers(store, folder, "bare", mode, "bare")}
    for temperature in ("cold", "warm"):
        result[temperature] = answers(store, folder, way, mode, temperature)
        result[temperature, "stats"] = store.stats()
    return result


@pytest.mark.parametrize("temperature", ["cold", "warm"])
def test_nothing_differs(all_answers, temperature):
    bare, other = all_answers["bare"], all_answers[temperature]
    assert other["results"].keys() == bare["results"].keys()
    for program, before in bare["results"].items():
        assert other["results"][program] == before, program
    assert other["statistics"] == bare["statistics"]
    assert other == bare


def test_there_was_something_to_compare(all_answers):
    bare = all_answers["bare"]
    assert len(bare["results"]) >= 5
    assert all("is_scheduled=true" in program["optimized"] for program in bare["results"].values())
    assert len({line for line in bare["statistics"] if not line.endswith(" 0.000000 GB")}) >= 5


def test_warm_start_compiles_nothing(all_answers):
    harness.assert_warm(all_answers["warm", "stats"])
    assert harness.requests(all_answers["warm", "stats"]) == all_answers["bare"]["requests"]
