"""rekindle runs in every process of a job without effects on anything else in the process."""

import glob
import subprocess
import sys

import pytest

import harness
from harness import assert_warm

OURS = str(harness.PRELOAD_LIBRARY)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Results of guest.py without rekindle, computed once per variant."""
    store = harness.Store(tmp_path_factory.mktemp("bare") / "store")
    known = {}

    def ask(what, **env):
        key = (what, *sorted(env.items()))
        if key not in known:
            known[key] = store.start("guest.py", what, way="bare", env=env)
        return known[key]

    return ask


def same_answer(done, expected):
    assert done.stdout == expected.stdout
    assert "rekindle" not in done.stderr, done.stderr


@pytest.mark.parametrize("way", ["preload", "plugin"])
@pytest.mark.parametrize("what", ["plain", "imports", "subprocess"])
def test_ordinary_work(shared_store, bare, way, what):
    """stdout is identical to the byte, and rekindle prints nothing on stderr."""
    same_answer(shared_store.start("guest.py", what, way=way), bare(what))


@pytest.mark.parametrize("way", ["preload", "plugin"])
@pytest.mark.parametrize("what", ["spawn", "forkserver", "fork", "os-fork", "fork-first"])
def test_children(store, bare, way, what):
    """Children of every kind work, end as without rekindle, and do not wait for missing threads."""
    for _ in ("cold", "warm"):
        done = store.start("guest.py", what, way=way)
        same_answer(done, bare(what))
        assert done.seconds < bare(what).seconds + 8, "a child waited for something"
    stats = store.stats()
    assert stats["compiled"] == 0 and stats["hits"] == harness.requests(stats) > 0, stats


def preloaded(name):
    found = glob.glob(f"/usr/lib/*/{name}") + glob.glob(f"/usr/lib/*/*/{name}")
    if not found:
        pytest.fail(f"{name} is not installed: run scripts/setup")
    return found[0]


NEIGHBOURS = {
    "jemalloc": ("libjemalloc.so.2", {"MALLOC_CONF": "stats_print:true"}),
    "faketime": ("libfaketime.so.1", {"FAKETIME": "@2001-02-03 04:05:06"}),
    "eatmydata": ("libeatmydata.so", {}),
}


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_other_preloads(shared_store, bare, neighbour, order):
    library, env = NEIGHBOURS[neighbour]
    libraries = [preloaded(library), OURS]
    if order == "after":
        libraries.reverse()
    env = env | {"LD_PRELOAD": ":".join(libraries)}
    done = shared_store.start("guest.py", "faketime", way="preload", env=env)
    expected = bare("faketime").json()["results"]
    results = done.json()["results"]
    if neighbour == "faketime":
        assert results.pop("seen") == ["2001-02-03"]
        expected = {name: value for name, value in expected.items() if name != "seen"}
    assert results == expected
    assert ("jemalloc statistics" in done.stderr) == (neighbour == "jemalloc")
    shared_store.start("guest.py", "plain", way="preload", env=env)
    assert_warm(shared_store.stats())


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """Two libraries that interpose malloc and open: one for the place before ours, one for the place after."""
    folder = tmp_path_factory.mktemp("neighbours")
    for name in ("first", "last"):
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O2", f'-DNEIGHBOUR_NAME="{name}"',
             "-o", folder / f"{name}.so", harness.HERE / "neighbour.c", "-ldl"],
            check=True,
        )  # fmt: skip
    return folder


@pytest.mark.parametrize("order", ["first:OURS", "OURS:first", "first:OURS:last", "first:last:OURS"])
def test_next_symbols_of_others(shared_store, chain, bare, tmp_path, order):
    """dlsym(RTLD_NEXT) in another library finds the symbol after that library, not after ours."""
    names = order.split(":")
    libraries = [OURS if name == "OURS" else str(chain / f"{name}.so") for name in names]
    env = {"LD_PRELOAD": ":".join(libraries), "NEIGHBOUR_DIR": str(tmp_path)}
    done = shared_store.start("guest.py", "plain", way="preload", env=env)
    same_answer(done, bare("plain"))
    counts = {
        path.suffix[1:]: [int(word) for word in path.read_text().split()]
        for path in tmp_path.glob("*.*")
        if path.suffix in (".first", ".last")
    }
    assert set(counts) == set(names) - {"OURS"}
    assert all(mallocs > 1000 and opens > 1 for mallocs, opens in counts.values()), counts
    if "last" in counts:
        # A call that passes the first neighbour also passes the last one: the chain has no gap and no loop.
        # (Some calls happen while only one of the two is loaded.)
        for first, last in zip(counts["first"], counts["last"]):
            assert abs(first - last) <= 0.01 * first + 100, counts


COMMANDS = {
    "ls": ["ls", "/"],
    "shell": ["sh", "-c", "echo out; echo err >&2; exit 3"],
    "python": [sys.executable, "-c", "print('out')"],
    "modules": [sys.executable, "-c", "import ssl, sqlite3, numpy; print(ssl.OPENSSL_VERSION)"],
    "ctypes": [
        sys.executable, "-c",
        "import ctypes; c = ctypes.CDLL(None); print(c.getpid() > 0, hasattr(c, 'GetPjrtApi'))",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_processes_without_jax(store, name):
    """In a process without JAX rekindle creates no file and no directory, and changes no output and no exit status."""
    bare = harness.run_process(COMMANDS[name], store.environment("bare"))
    done = harness.run_process(COMMANDS[name], store.environment("preload"))
    assert (done.returncode, done.stdout, done.stderr) == (bare.returncode, bare.stdout, bare.stderr)
    assert not store.directory.exists()


def test_jax_on_its_built_in_cpu(store):
    """JAX's built-in CPU client is no plugin: the job runs, and rekindle records no run."""
    env = {"JAX_PLATFORMS": "cpu", "PJRT_NAMES_AND_LIBRARY_PATHS": ""}
    bare = store.start("kinds.py", "train", way="bare", env=env)
    done = store.start("kinds.py", "train", way="preload", env=env)
    assert done.stdout == bare.stdout
    assert store.runs() == []
