"""A restarted job compiles nothing: every kind of program, both entry paths."""

import concurrent.futures
import shutil

import pytest

import harness
from harness import assert_cold, assert_warm, compiled_modules, dumping, requests

KINDS = ["train", "sharded", "mapped", "donated", "bfloat16", "scanned", "convolution", "updated"]


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The output of the programs without rekindle."""
    store = harness.Store(tmp_path_factory.mktemp("bare") / "store")
    return store.start("kinds.py", way="bare").json()


@pytest.fixture(scope="module")
def warmed(tmp_path_factory, bare):
    """A store that a cold run has filled; tests that write to the store use a copy."""
    store = harness.Store(tmp_path_factory.mktemp("warmed") / "store")
    assert store.start("kinds.py").json() == bare
    return store


@pytest.fixture
def copy(warmed, tmp_path):
    shutil.copytree(warmed.directory, tmp_path / "store")
    return harness.Store(tmp_path / "store")


@pytest.mark.parametrize("way", ["run", "preload", "plugin"])
def test_second_start_compiles_nothing(store, bare, way):
    cold = store.start("kinds.py", way=way).json()
    assert cold == bare
    stats = store.stats()
    assert_cold(stats, at_least=len(KINDS))
    assert requests(stats) == cold["requests"]
    assert stats["stored"] == stats["misses"] and stats["bypassed"] == 0, stats
    assert store.leftovers() == []

    warm = store.start("kinds.py", way=way).json()
    assert warm == bare
    stats = store.stats()
    assert_warm(stats)
    assert requests(stats) == warm["requests"]
    assert stats["stored"] == 0, stats
    assert stats["executions"] > 0 and stats["host_to_device"]["count"] > 0, stats


def test_processes_that_start_together_compile_each_program_once(store, bare):
    """Processes that start together, like the ranks of a job on one host, compile each program once in total."""
    count, env = 3, {"REKINDLE_RUN": "together"}
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        started = [pool.submit(store.start, "kinds.py", way="preload", env=env) for _ in range(count)]
        assert [process.result().json() for process in started] == [bare] * count
    stats = store.stats("--run", "together")
    assert stats["processes"] == count and requests(stats) == count * bare["requests"], stats
    assert stats["compiled"] == stats["programs"] == stats["stored"] == stats["misses"], stats
    assert stats["waited"] > 0, stats
    assert list((store.directory / "leases").iterdir()) == []
    assert store.leftovers() == []


def test_children_that_leave_by_exit(store):
    """If children end by os._exit, their executables are prefetched at the next start and the run ends normally."""
    for _ in range(3):
        store.start("children.py", env=harness.FAST)
        stats = store.stats()
        assert (stats["state"], stats["exit_status"], stats["processes"]) == ("ended", 0, 3), stats
        assert (stats["ends_not_known"], stats["lost"]) == (2, 0), stats
    assert_warm(stats)
    assert stats["preloaded"] == stats["hits"], stats


def test_the_compiler_itself_agrees(copy, tmp_path):
    """XLA's own dump, which contains every compiled module, shows that the warm start compiles nothing."""
    copy.start("kinds.py", way="bare", env=dumping(tmp_path / "bare"))
    copy.start("kinds.py", way="preload", env=dumping(tmp_path / "warm"))
    assert len(compiled_modules(tmp_path / "bare")) > len(KINDS)
    assert compiled_modules(tmp_path / "warm") == []


@pytest.mark.parametrize("kind", ["train", "sharded", "scanned"])
def test_one_kind_alone_is_loaded(copy, bare, kind):
    """A job that shares programs with another job loads the entries of that job."""
    alone = copy.start("kinds.py", kind).json()
    assert alone["results"] == {kind: bare["results"][kind]}
    assert_warm(copy.stats())


def test_both_ways_in_share_a_store(copy, bare):
    assert copy.start("kinds.py", way="plugin").json() == bare
    assert_warm(copy.stats())


@pytest.mark.parametrize("seed", ["0", "4711"])
def test_hash_seed_does_not_matter(copy, seed):
    copy.start("kinds.py", env={"PYTHONHASHSEED": seed})
    assert_warm(copy.stats())


def test_working_directory_does_not_matter(copy, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    copy.start("kinds.py", cwd=tmp_path / "elsewhere")
    assert_warm(copy.stats())


def test_moved_store_does_not_matter(copy, tmp_path):
    copy.directory.rename(tmp_path / "moved")
    moved = harness.Store(tmp_path / "moved")
    moved.start("kinds.py", "train")
    assert_warm(moved.stats())


def test_copied_plugin_does_not_matter(copy, tmp_path):
    """The key depends on the plugin's content, not on its path."""
    copy.plugin = shutil.copy(copy.plugin, tmp_path / "same_plugin.so")
    copy.start("kinds.py", "train")
    assert_warm(copy.stats())


def test_unrelated_variables_do_not_matter(copy):
    copy.start("kinds.py", "train", env={"LANG": "C", "SOMETHING": "else", "TERM": "dumb"})
    assert_warm(copy.stats())


FLAGS = ["--xla_cpu_enable_fast_min_max=true", "--xla_cpu_enable_fast_math=false"]


@pytest.fixture(scope="module")
def flagged(tmp_path_factory):
    """A store filled under FLAGS."""
    store = harness.Store(tmp_path_factory.mktemp("flagged") / "store")
    store.start("kinds.py", "train", env={"XLA_FLAGS": " ".join(FLAGS)})
    assert_cold(store.stats())
    return store


def test_order_of_flags_does_not_matter(flagged):
    flagged.start("kinds.py", "train", env={"XLA_FLAGS": "  ".join(reversed(FLAGS))})
    assert_warm(flagged.stats())


def test_dump_flags_do_not_matter(flagged, tmp_path):
    flags = [f"--xla_dump_to={tmp_path / 'dump'}", "--xla_dump_hlo_as_text", *FLAGS]
    flagged.start("kinds.py", "train", env={"XLA_FLAGS": " ".join(flags)})
    assert_warm(flagged.stats())


def test_flags_that_change_code_do_matter(flagged):
    flags = [FLAGS[0].replace("true", "false"), FLAGS[1]]
    flagged.start("kinds.py", "train", env={"XLA_FLAGS": " ".join(flags)})
    stats = flagged.stats()
    assert stats["hits"] == 0 and stats["misses"] == requests(stats) > 0, stats
    flagged.start("kinds.py", "train", env={"XLA_FLAGS": " ".join(flags)})
    assert_warm(flagged.stats())


def test_namespaces_do_not_share(copy):
    copy.start("kinds.py", "train", env={"REKINDLE_NAMESPACE": "another-team"})
    stats = copy.stats()
    assert stats["hits"] == 0 and stats["misses"] == requests(stats) > 0, stats


def test_another_jax_on_the_same_store(copy, bare, tmp_path):
    """Another JAX version sends other programs: it gets its own results, and its restart compiles nothing."""
    if not harness.OTHER_PYTHON:
        pytest.skip("no Python with another JAX version is set up")
    elsewhere = harness.Store(tmp_path / "none", python=harness.OTHER_PYTHON)
    expected = elsewhere.start("kinds.py", way="bare").json()
    assert expected["jax"] != bare["jax"]
    other = harness.Store(copy.directory, python=harness.OTHER_PYTHON)
    assert other.start("kinds.py").json() == expected
    assert other.start("kinds.py").json() == expected
    assert_warm(other.stats())
    assert copy.start("kinds.py").json() == bare
    assert_warm(copy.stats())


@pytest.mark.parametrize("way", ["run", "plugin"])
def test_programs_that_cannot_be_serialized_later(store, way):
    """Executables that cannot be serialized after their first execution are stored, too."""
    expected = store.start("sorts.py", way="bare").json()
    assert store.start("sorts.py", way=way).json() == expected
    stats = store.stats()
    assert stats["stored"] == stats["misses"] == expected["requests"] and stats["warnings"] == [], stats
    assert store.start("sorts.py", way=way).json() == expected
    assert_warm(store.stats())


def test_changed_program_compiles_and_the_rest_does_not(store):
    store.start("kinds.py", "train")
    store.start("kinds.py", "train", "donated")
    stats = store.stats()
    assert stats["hits"] == 2 and stats["misses"] == requests(stats) - 2 > 0, stats
