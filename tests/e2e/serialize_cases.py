"""Serialization tests for any plugin; test_serialize.py and ../gpu run them. The expected results are those of
programs/serialize.py without rekindle and without a cache."""

import shutil

import harness

# Makes JAX's own cache store everything, and raise errors instead of warnings.
OWN = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    "JAX_RAISE_PERSISTENT_CACHE_ERRORS": "1",
}
PROGRAMS = 3

# Four starts each: the way, the name prefix, and whether JAX's cache is emptied before. The last start runs without
# rekindle and must find everything in JAX's own cache.
STARTS = {
    "rename": [("run", "", False), ("run", "new_", False), ("run", "new_", False), ("bare", "new_", False)],
    "empty": [("run", "", False), ("run", "", True), ("run", "", False), ("bare", "", False)],
    "order": [("bare", "", False), ("run", "", False), ("run", "", True), ("bare", "", False)],
}


def bare_results(store):
    results = store.start("serialize.py", "run", way="bare").json()["results"]
    assert len(results) == PROGRAMS
    return results


def serialize_load_run(store, results, file, ways):
    """Starts bare, cold, warm, prefetched and in `ways`: every reader without rekindle gets the same results."""
    warm = {"REKINDLE_PRELOAD": "0"}
    for way, env in (("bare", {}), ("run", {}), ("run", warm), ("run", {}), *((way, {}) for way in ways)):
        assert store.start("serialize.py", "write", file, way=way, env=env).json()["results"] == results
        assert store.start("serialize.py", "read", file, way="bare").json()["results"] == results, (way, env)
    harness.assert_warm(store.stats())
    assert store.start("serialize.py", "read", file).json()["results"] == results


def own_cache_beside_rekindle(store, results, own, starts):
    """JAX's own cache in the folder `own` serves the last start completely."""
    for number, (way, name, emptied) in enumerate(starts):
        if emptied:
            shutil.rmtree(own)
        env = OWN | {"JAX_COMPILATION_CACHE_DIR": str(own)}
        if number == 0 and way == "bare":  # fills rekindle's store too, without JAX's cache
            store.start("serialize.py", "run", way="run")
        done = store.start("serialize.py", "run", *([name] if name else []), way=way, env=env).json()
        assert done["results"] == results, number
    assert done["own"]["hits"] >= PROGRAMS and done["own"]["misses"] == 0, done
