"""A fault never affects the job: it continues as without rekindle. Real JAX processes, real faults."""

import json
import os
import shutil
import subprocess
import sys

import pytest

import harness
from harness import assert_cold, assert_warm, compiled_modules, dumping, requests


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Results without rekindle, computed once per command: bare(program, argument…)."""
    store = harness.Store(tmp_path_factory.mktemp("bare") / "store")
    known = {}

    def ask(*command):
        if command not in known:
            known[command] = store.start(*command, way="bare", status=None)
        return known[command]

    return ask


@pytest.fixture(scope="module")
def warmed(tmp_path_factory):
    """A store with the programs of `kinds.py train donated`; tests that write to the store use a copy."""
    store = harness.Store(tmp_path_factory.mktemp("warmed") / "store")
    store.start("kinds.py", "train", "donated")
    assert_cold(store.stats())
    return store


@pytest.fixture
def copy(warmed, tmp_path):
    shutil.copytree(warmed.directory, tmp_path / "store")
    return harness.Store(tmp_path / "store")


TWO = ("kinds.py", "train", "donated")


def warnings_of(done):
    return [line for line in done.stderr.splitlines() if line.startswith("rekindle:")]


def requests_of(done):
    return done.json()["requests"]


def assert_told_once(done):
    """The process warns once or twice, each time differently (journal, executables), not once per program."""
    told = warnings_of(done)
    assert 1 <= len(told) <= 2 and len(set(told)) == len(told), done.stderr


def assert_sound(store):
    """Every entry in the store is readable, and there are no temporary files."""
    for entry in json.loads(store.cli("ls", "--json").stdout)["entries"]:
        assert entry["fault"] is None, entry
        store.cli("show", entry["key"])
    assert store.leftovers() == []


# --- Stores that are not writable ---------------------------------------------------------------------


def in_namespace(mount, argv, env):
    """Runs a command in its own mount namespace after the shell command `mount`; None if not allowed."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        return None
    return harness.run_process(["unshare", "-m", "sh", "-ec", f'{mount}; exec "$@"', "sh", *argv], env)


def mounted(store, mount, *command, env=None, way="preload"):
    done = in_namespace(mount, store.argv(*command, way=way), store.environment(way, env))
    if done is None:
        pytest.skip("mounting is not allowed here")
    return done


def read_only(store):
    return f"mount --bind {store.directory} {store.directory}; mount -o remount,ro,bind {store.directory}"


def test_read_only_store_still_loads(copy, bare, tmp_path):
    before = sorted(path for path in copy.directory.rglob("*"))
    done = mounted(copy, read_only(copy), *TWO, env=dumping(tmp_path / "dump"))
    assert done.returncode == 0 and done.json() == bare(*TWO).json()
    assert compiled_modules(tmp_path / "dump") == []
    assert len(warnings_of(done)) <= 1, done.stderr
    assert sorted(path for path in copy.directory.rglob("*")) == before


def test_read_only_store_compiles_what_it_lacks(copy, bare):
    command = ("kinds.py", "scanned", "train")
    done = mounted(copy, read_only(copy), *command)
    assert done.returncode == 0 and done.json() == bare(*command).json()
    assert_told_once(done)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_store_without_permission(copy, bare):
    copy.directory.chmod(0o555)
    done = copy.start(*TWO, way="preload")
    copy.directory.chmod(0o755)
    assert done.json() == bare(*TWO).json()


@pytest.mark.parametrize("size", ["4k", "96k"])
def test_full_file_system(store, bare, tmp_path, size):
    """On a full or nearly full file system the job gets its results, warns, and leaves a valid store."""
    store.directory.mkdir()
    mount = f"mount -t tmpfs -o mode=0700,size={size} none {store.directory}"
    # The file system is visible only inside the namespace.
    look = f"{harness.REKINDLE} ls --json >{tmp_path}/ls; find {store.directory} -name '.tmp-*' >{tmp_path}/left"
    done = in_namespace(
        f'{mount}; "$@"; {look}; exit 0', store.argv("kinds.py", way="preload"), store.environment("preload")
    )
    if done is None:
        pytest.skip("mounting is not allowed here")
    assert done.returncode == 0 and done.json() == bare("kinds.py").json(), done.stderr
    assert_told_once(done)
    entries = json.loads((tmp_path / "ls").read_text())["entries"]
    assert all(entry["fault"] is None for entry in entries), entries
    assert len(entries) < requests_of(bare("kinds.py")) and (size == "4k") == (entries == []), entries
    assert (tmp_path / "left").read_text() == ""


@pytest.mark.parametrize("url", ["gs://bucket/cache", "s3://bucket/cache", "redis://host"])
def test_store_that_is_a_url(store, bare, tmp_path, url):
    """A URL as store is refused with a hint to REKINDLE_REMOTE; no folder of that name is created."""
    (tmp_path / "work").mkdir()
    env = {"REKINDLE_DIR": url}
    done = store.start(*TWO, way="preload", env=env, cwd=tmp_path / "work")
    assert done.json() == bare(*TWO).json()
    assert len(warnings_of(done)) == 1 and "REKINDLE_REMOTE" in done.stderr, done.stderr
    assert list((tmp_path / "work").iterdir()) == []
    told = store.cli("stats", env=env, status=2)
    assert "REKINDLE_REMOTE" in told.stderr


def test_store_that_is_a_file(store, bare):
    store.directory.write_text("not a store")
    done = store.start(*TWO, way="preload")
    assert done.json() == bare(*TWO).json()
    assert len(warnings_of(done)) == 1, done.stderr
    assert store.directory.read_text() == "not a store"


# --- Damage -------------------------------------------------------------------------------------------


def flip(offset_of):
    def damage(path):
        data = bytearray(path.read_bytes())
        data[offset_of(len(data))] ^= 0x10
        path.write_bytes(data)

    return damage


def truncate(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])


DAMAGE = {
    "magic": flip(lambda size: 0),
    "key": flip(lambda size: 40),
    "middle": flip(lambda size: size // 2),
    "last byte": flip(lambda size: size - 1),
    "truncated": truncate,
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(os.urandom(4096)),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_entries(copy, bare, kind):
    entries = copy.entries()
    for path in entries:
        DAMAGE[kind](path)
    assert copy.start(*TWO).json() == bare(*TWO).json()
    stats = copy.stats()
    assert stats["quarantined"] == stats["misses"] == stats["compiled"] == len(entries), stats
    assert stats["deserialize_failures"] == 0, "bytes that are not sound never reach the plugin"
    assert len(list((copy.directory / "quarantine").iterdir())) == len(entries)
    assert copy.start(*TWO).json() == bare(*TWO).json()
    assert_warm(copy.stats())
    assert_sound(copy)


def test_entries_under_each_others_names(copy, bare):
    entries = copy.entries()
    contents = [path.read_bytes() for path in entries]
    for path, content in zip(entries, contents[1:] + contents[:1]):
        path.write_bytes(content)
    assert copy.start(*TWO).json() == bare(*TWO).json()
    stats = copy.stats()
    assert stats["misses"] == stats["quarantined"] == len(entries) and stats["hits"] == 0, stats
    copy.start(*TWO)
    assert_warm(copy.stats())


def test_entry_of_a_later_version_is_left_alone(copy, bare):
    """An entry of a newer format version is not quarantined, because a newer rekindle may use it; the job compiles."""
    path = copy.entries()[0]
    data = bytearray(path.read_bytes())
    version = data.index(1, 8)  # the first byte after the magic with the value 1, the format version
    data[version] = 99
    path.write_bytes(data)
    assert copy.start(*TWO).json() == bare(*TWO).json()
    stats = copy.stats()
    assert stats["misses"] == 1 and stats["quarantined"] == 0, stats


# --- Modes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["run", "preload", "plugin"])
def test_off(store, bare, way):
    done = store.start(*TWO, way=way, env={"REKINDLE_MODE": "off"})
    assert done.json() == bare(*TWO).json()
    assert not store.directory.exists()


def test_readonly_mode(copy, bare, tmp_path):
    env = {"REKINDLE_MODE": "readonly"}
    entries = copy.entries()
    command = (*TWO, "scanned")
    assert copy.start(*command, env=env | dumping(tmp_path / "dump")).json() == bare(*command).json()
    assert any("scan" in name or "lambda" in name for name in compiled_modules(tmp_path / "dump"))
    assert not any("jit_step" in name for name in compiled_modules(tmp_path / "dump"))
    assert copy.entries() == entries


def test_refresh_mode(copy, bare):
    env = {"REKINDLE_MODE": "refresh"}
    before = {path: path.stat().st_mtime_ns for path in copy.entries()}
    assert copy.start(*TWO, env=env).json() == bare(*TWO).json()
    stats = copy.stats()
    assert stats["hits"] == 0 and stats["compiled"] == stats["stored"] == requests(stats), stats
    after = {path: path.stat().st_mtime_ns for path in copy.entries()}
    assert after.keys() == before.keys()
    assert all(after[path] > before[path] for path in before)
    copy.start(*TWO)
    assert_warm(copy.stats())


# --- Ways to end --------------------------------------------------------------------------------------

ORDERLY = {"return": 0, "exit": 5, "uncaught": 1}
ABRUPT = {"os-exit": 6, "sigterm": -15, "sigkill": -9, "abort": -6}


LEAVING = [("preload", how) for how in (*ORDERLY, *ABRUPT)]
LEAVING += [(way, how) for way in ("plugin", "run") for how in ("return", "exit", "os-exit", "sigterm")]


@pytest.mark.parametrize(("way", "how"), LEAVING)
def test_leaving_while_storing(store, bare, way, how):
    expected = bare("leave.py", how)
    assert expected.returncode == (ORDERLY | ABRUPT)[how]
    done = store.start("leave.py", how, way=way, status=None)
    # Like a shell, `rekindle run` turns the signal that ended its command into an exit status.
    statuses = [expected.returncode]
    if way == "run" and expected.returncode < 0:
        statuses.append(128 - expected.returncode)
    assert done.returncode in statuses, done
    assert done.stdout == expected.stdout
    assert "Fatal" not in done.stderr and "Segmentation" not in done.stderr, done.stderr
    if how in ORDERLY:
        stats = store.stats()
        assert stats["stored"] == stats["misses"] > 0, stats
        assert store.leftovers() == []
    for path in store.leftovers():
        path.unlink()  # left by a killed process; harmless, gc removes them
    assert_sound(store)
    # The next start gives right results, and the start after it compiles nothing.
    for _ in range(1 if how in ORDERLY else 2):
        assert store.start("leave.py", "return", way=way).stdout == expected.stdout
    assert_warm(store.stats())


# --- Concurrency --------------------------------------------------------------------------------------


def test_processes_at_once(store, bare):
    argv, env = store.argv("kinds.py"), store.environment("run")
    jobs = [
        subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [job.communicate(timeout=harness.CHILD_TIMEOUT_S) for job in jobs]
    for job, (stdout, stderr) in zip(jobs, outputs):
        assert job.returncode == 0, stderr
        assert json.loads(stdout.splitlines()[-1]) == bare("kinds.py").json()
    assert len(store.runs()) == len(jobs)
    total = store.stats("--all")
    assert total["quarantined"] == 0 and total["deserialize_failures"] == 0, total
    assert_sound(store)
    assert store.start("kinds.py").json() == bare("kinds.py").json()
    assert_warm(store.stats())


def test_threads_at_once(store, bare):
    for _ in ("cold", "warm"):
        assert store.start("clients.py", "threads").json() == bare("clients.py", "threads").json()
    assert_warm(store.stats())


@pytest.mark.parametrize("way", ["preload", "plugin"])
def test_clients_one_after_the_other(store, bare, way):
    """The second client loads what the first one compiled: destroying a client completes its stores."""
    done = store.start("clients.py", "again", way=way)
    assert done.json() == bare("clients.py", "again").json()
    stats = store.stats()
    programs = stats["programs"]
    assert stats["misses"] == programs and stats["hits"] == 2 * programs > 0, stats


def test_two_plugins_side_by_side(store, tmp_path):
    other = shutil.copy(store.plugin, tmp_path / "other_plugin.so")
    env = {
        "PJRT_NAMES_AND_LIBRARY_PATHS": f"xcpu:{store.plugin},ycpu:{other}",
        "JAX_PLATFORMS": "xcpu,ycpu",
    }
    expected = store.start("clients.py", "both", way="bare", env=env).json()
    for _ in ("cold", "warm"):
        assert store.start("clients.py", "both", env=env).json() == expected
    assert_warm(store.stats())


# --- Programs that cannot be cached -------------------------------------------------------------------


@pytest.mark.parametrize("way", ["run", "plugin"])
def test_host_callbacks_are_bypassed(store, bare, way):
    """Programs with host callbacks are bypassed, and errors on a plugin without callbacks are the plugin's own."""
    for _ in ("cold", "warm"):
        assert store.start("callbacks.py", way=way).json() == bare("callbacks.py").json()
    stats = store.stats()
    assert stats["bypassed"] == stats["compiled"] == 3 and stats["misses"] == 0, stats
    assert stats["hits"] == requests(stats) - 3 > 0, stats
    # A plugin without callbacks refuses these programs: they are counted as failed, with nothing to store.
    reasons = {program["reason"] for program in stats["bypassed_programs"]}
    assert all("callback" in reason for reason in reasons), stats
    assert stats["failed"] + sum(program["count"] for program in stats["bypassed_programs"]) == 3, stats


# --- Faults of the plugin entry path ------------------------------------------------------------------


@pytest.mark.parametrize("plugin", ["", "/nonexistent/plugin.so", sys.executable, harness.__file__])
def test_plugin_that_is_none(store, plugin):
    """A bad REKINDLE_PLUGIN gives JAX an error that names REKINDLE_PLUGIN, and no crash."""
    done = store.start("kinds.py", "train", way="plugin", env={"REKINDLE_PLUGIN": plugin}, status=None)
    assert done.returncode == 1, done
    assert "REKINDLE_PLUGIN" in done.stderr, done.stderr


def test_both_ways_in_at_once(store, bare):
    """With both entry paths at once the table is wrapped only once: nothing is counted twice."""
    env = {"LD_PRELOAD": harness.PRELOAD_LIBRARY}
    for _ in ("cold", "warm"):
        assert store.start(*TWO, way="plugin", env=env).json() == bare(*TWO).json()
    stats = store.stats()
    assert_warm(stats)
    assert requests(stats) == requests_of(bare(*TWO)), stats
