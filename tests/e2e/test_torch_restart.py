"""Restarted PyTorch/XLA jobs compile nothing and train to the same bits.

Both entry paths, both program formats of torch_xla, and every way to give torch_xla a plugin.
"""

import json
import shutil

import pytest

import harness
import torch_harness
from torch_harness import FORMATS, LOADERS, assert_warm

# Way, format, models and steps. The second run is short: the format does not change what is trained.
RUNS = [
    ("run", "hlo", ("transformer", "gpt", "convnet", "lstm"), 50),
    ("plugin", "mlir", ("convnet", "lstm"), 10),
]


@pytest.fixture(scope="module", params=RUNS, ids=lambda run: "-".join(run[:2]))
def trained(request, tmp_path_factory):
    """The models of a run: bare, cold and warm, with the store and the counters of the last two."""
    way, form, models, steps = request.param
    store = torch_harness.Store(tmp_path_factory.mktemp("trained") / "store")
    arguments = ("torch_train.py", "--steps", steps, *models)
    result = {"store": store, "format": form, "models": models, "steps": steps}
    result["bare"] = store.start(*arguments, way="bare", env=FORMATS[form])
    for temperature in ("cold", "warm"):
        result[temperature] = store.start(*arguments, way=way, env=FORMATS[form])
        result[temperature, "stats"] = store.stats()
    return result


@pytest.mark.parametrize("temperature", ["cold", "warm"])
def test_losses_are_the_same_to_the_bit(trained, temperature):
    expected, found = (trained[which].json()["results"] for which in ("bare", temperature))
    assert sorted(expected) == sorted(trained["models"])
    for model, result in expected.items():
        assert len(result["losses"]) == trained["steps"], model
        assert found[model] == result, model


def test_cold_start_compiles_each_program_once(trained):
    stats = trained["cold", "stats"]
    harness.assert_cold(stats, at_least=len(trained["models"]))
    requests = trained["cold"].json()["requests"]
    assert stats["misses"] == stats["stored"] == requests == trained["bare"].json()["requests"], stats
    assert stats["bypassed"] == 0 and stats["warnings"] == [], stats


def test_warm_start_compiles_nothing(trained):
    stats = trained["warm", "stats"]
    harness.assert_warm(stats)
    assert harness.requests(stats) == trained["warm"].json()["requests"], stats
    assert stats["stored"] == 0 and stats["warnings"] == [], stats
    assert stats["executions"] >= len(trained["models"]) * trained["steps"], stats


def test_programs_came_in_the_format_that_was_asked_for(trained):
    store = trained["store"]
    for path in store.entries():
        metadata = json.loads(store.cli("show", path.stem, "--json").stdout)["metadata"]
        assert metadata["format"] == trained["format"], metadata


def test_no_program_is_known_by_its_bytes_alone(trained):
    assert not [event for event in trained["store"].compile_events() if event.get("by_bytes")]


def test_torch_xla_itself_sees_no_difference(trained):
    """torch_xla's own counters are the same with and without rekindle; its own cache is off."""
    bare, warm = (trained[which].json()["counters"] for which in ("bare", "warm"))
    assert warm == bare


# The remaining tests use one small model.

SMALL = ("torch_train.py", "--steps", 3, "lstm")


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return torch_harness.Store(tmp_path_factory.mktemp("bare") / "store").start(*SMALL, way="bare")


@pytest.fixture(scope="module", params=FORMATS)
def filled(request, bare, tmp_path_factory):
    """A store that a cold run has filled, and the variables of its format; tests that write to the store use a copy."""
    store = torch_harness.Store(tmp_path_factory.mktemp("filled") / "store")
    env = FORMATS[request.param]
    assert store.start(*SMALL, env=env).json()["results"] == bare.json()["results"]
    harness.assert_cold(store.stats())
    return store, env


@pytest.fixture
def copy(filled, tmp_path):
    shutil.copytree(filled[0].directory, tmp_path / "store")
    return torch_harness.Store(tmp_path / "store"), filled[1]


@pytest.mark.parametrize("loader", LOADERS)
def test_every_loader_shares_a_store(copy, bare, loader):
    store, env = copy
    store.loader = loader
    # Each pair of loader, way and format; not each triple.
    way = ("preload", "plugin")[(list(LOADERS).index(loader) + list(FORMATS.values()).index(env)) % 2]
    assert_warm(store, store.start(*SMALL, way=way, env=env), bare)


@pytest.mark.parametrize("env", [{"XLA_HLO_DEBUG": "1"}, {"XLA_IR_DEBUG": "1"}, {"PT_XLA_DEBUG_LEVEL": "2"}], ids=str)
def test_locations_and_debugging_never_enter_the_key(copy, bare, env):
    store, form = copy
    assert_warm(store, store.start(*SMALL, env=form | env), bare)


@pytest.mark.parametrize("form", FORMATS)
def test_locations_are_shown_where_torch_xla_gives_them(store, bare, form):
    store = torch_harness.Store(store.directory)
    debug = {"XLA_HLO_DEBUG": "1", "XLA_IR_DEBUG": "1"}
    store.start(*SMALL, env=FORMATS[form] | debug)
    harness.assert_cold(store.stats())
    shown = [store.cli("show", "--program", path.stem).stdout for path in store.entries()]
    assert any("torch_train.py:" in text for text in shown)
    # Entries that were compiled with locations are found without them.
    assert_warm(store, store.start(*SMALL, env=FORMATS[form]), bare)


def test_flags_that_change_code_do_matter(copy):
    store, env = copy
    store.start(*SMALL, env=env | {"XLA_FLAGS": "--xla_cpu_enable_fast_math=true"})
    stats = store.stats()
    assert stats["hits"] == 0 and stats["misses"] == harness.requests(stats) > 0, stats
