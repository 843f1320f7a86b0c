"""Bundles of JAX's own compilation cache: what one machine compiled, JAX loads on another one. The jobs run without
rekindle, on JAX's built-in CPU backend.
"""

import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

import harness
import jax._src.cache_key
import pytest
from machines import two

# Every function is kept, however fast it was compiled. An error of the cache ends the job.
KEEP_ALL = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_RAISE_PERSISTENT_CACHE_ERRORS": "true"}
# Without the caches of XLA, JAX's keys do not have the path of the directory.
ANY_PATH = {"JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none"}

# JAX needs the package filelock for a size limit. Where it is missing: the part that JAX uses, with the same lock.
FILELOCK = """
import fcntl, os
class FileLock:
    def __init__(self, path):
        self.path = path
    def acquire(self, timeout=None):
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        fcntl.flock(self.fd, fcntl.LOCK_EX)
    def release(self):
        os.close(self.fd)
"""


@pytest.fixture
def machines(tmp_path):
    return two(tmp_path)


def job(machine, cache, *args, env=None, fails=False):
    """One start of the job. Returns what it printed, or the standard error of one that fails."""
    env = harness.clean_environment() | {
        "HOME": str(machine.home), "JAX_PLATFORMS": "cpu", "JAX_COMPILATION_CACHE_DIR": str(cache),
    } | KEEP_ALL | (env or {})  # fmt: skip
    done = harness.run_process([sys.executable, machine.programs / "jax_cache.py", *args], env)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.json()


def export(machine, cache, file, env=None):
    words = ("--module", "jax", "--directory", cache, "--python", sys.executable)
    said = json.loads(machine.bundle("export", "-o", file, "--json", *words, env=env).stdout)
    return said["public_key"]


def bring(machine, cache, file, key, *words, env=None, status=0):
    words = ("--module", "jax", "--directory", cache, "--python", sys.executable, "--trust", key, *words)
    done = machine.bundle("import", file, "--json", *words, env=env, status=status)
    return json.loads(done.stdout) if status == 0 else done.stderr


def entries(cache):
    return sorted(path.name for path in Path(cache).glob("*-cache"))


def test_the_same_path_on_another_machine(machines, tmp_path):
    first, second = machines
    cache, file = tmp_path / "cache", tmp_path / "jax.rkb"
    cold = job(first, cache)
    assert cold["misses"] > 0 and cold["hits"] == 0
    names = entries(cache)
    key = export(first, cache, file)
    shutil.rmtree(cache)
    said = bring(second, cache, file, key)
    assert said["files"] == len(names) == cold["misses"]
    assert entries(cache) == names
    warm = job(second, cache)
    assert (warm["misses"], warm["hits"]) == (0, cold["misses"])
    assert warm["results"] == cold["results"]
    shutil.rmtree(cache)  # without the import
    assert job(second, cache)["misses"] == cold["misses"]


def test_another_path(machines, tmp_path):
    first, second = machines
    file, there = tmp_path / "jax.rkb", second.home / ".cache/jax"
    cold = job(first, first.home / ".cache/jax", env=ANY_PATH)
    key = export(first, first.home / ".cache/jax", file, env=ANY_PATH)
    bring(second, there, file, key, env=ANY_PATH)
    warm = job(second, there, env=ANY_PATH)
    assert (warm["misses"], warm["hits"]) == (0, cold["misses"])


def keys_have_path():
    """Newer keys leave out the folder of XLA's autotuning, which is in the directory."""
    return "xla_gpu_per_fusion_autotune_cache_dir" not in Path(jax._src.cache_key.__file__).read_text()


def test_another_path_with_caches_of_xla(machines, tmp_path):
    """If the path is in JAX's keys, rekindle says so, and JAX indeed uses none of the files."""
    first, second = machines
    file, there = tmp_path / "jax.rkb", tmp_path / "elsewhere"
    cold = job(first, tmp_path / "cache")
    key = export(first, tmp_path / "cache", file)
    if not keys_have_path():
        bring(second, there, file, key)
        assert job(second, there)["hits"] == cold["misses"]
        return
    assert "JAX_COMPILATION_CACHE_DIR differs" in bring(second, there, file, key, status=1)
    assert not there.exists()
    bring(second, there, file, key, "--force")
    assert job(second, there)["misses"] == cold["misses"]


def test_a_size_limit(machines, tmp_path):
    first, second = machines
    cache, file = tmp_path / "cache", tmp_path / "jax.rkb"
    env = {"JAX_COMPILATION_CACHE_MAX_SIZE": "100000000"}
    if not importlib.util.find_spec("filelock"):
        (tmp_path / "packages").mkdir()
        (tmp_path / "packages/filelock.py").write_text(FILELOCK)
        env["PYTHONPATH"] = str(tmp_path / "packages")
    cold = job(first, cache, env=env)
    assert (cache / ".lockfile").exists()
    key = export(first, cache, file)
    shutil.rmtree(cache)
    bring(second, cache, file, key)
    assert not (cache / ".lockfile").exists()
    warm = job(second, cache, env=env)
    assert (warm["misses"], warm["hits"]) == (0, cold["misses"])
    # A new function needs space: JAX removes older ones.
    before = entries(cache)
    full = {"JAX_COMPILATION_CACHE_MAX_SIZE": str(sum((cache / name).stat().st_size for name in before))}
    assert job(second, cache, "more", env=env | full)["misses"] > 0
    assert set(before) - set(entries(cache)), "nothing was removed"
    if jax.__version_info__ >= (0, 12):  # they remove a function without its time first
        return
    # What an import must not leave: a function without its time, which the job does not use.
    shutil.copy(cache / entries(cache)[0], cache / f"jit_other-{'0' * 64}-cache")
    for path in cache.glob("jit_more-*"):
        path.unlink()
    assert "-atime" in job(second, cache, "more", env=env | full, fails=True)


def test_from_python(machines, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "python"))
    monkeypatch.setenv("PATH", f"{harness.BUILD / 'bin'}:{os.environ['PATH']}")
    from rekindle import bundle

    def as_user(machine):
        for name, value in (
            ("REKINDLE_DIR", machine.store.directory), ("HOME", machine.home), ("XDG_CONFIG_HOME", ""),
        ):  # fmt: skip
            monkeypatch.setenv(name, str(value))

    first, second = machines
    cache = tmp_path / "cache"
    cold = job(first, cache)
    as_user(first)
    artifacts, info = bundle.save(directory=cache)
    assert [one["name"] for one in info["modules"]] == ["jax"]
    shutil.rmtree(cache)
    as_user(second)
    with pytest.raises(RuntimeError, match="--trust"):
        bundle.load(artifacts, directory=cache)
    assert not cache.exists()
    assert bundle.load(artifacts, directory=cache, trust=[info["public_key"]])["files"] == cold["misses"]
    assert job(second, cache)["misses"] == 0
