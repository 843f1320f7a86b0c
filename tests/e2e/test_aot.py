"""AOT compilation and compilation by a client use the same key, on the real CPU plugin.

That plugin has topologies but no compiler for them: every AOT compilation fails, with and without rekindle. rekindle
makes the key before, and these tests check the key.
"""

import pytest

import harness
from programs import topology_table as table

pytest.importorskip("flax")
PARTS = ("program", "options", "environment", "key")


@pytest.mark.parametrize("count, programs", [(1, ("linen_lstm", "ring")), (4, table.ANYWHERE)])
def test_a_client_and_its_topology_have_the_same_keys(store, count, programs):
    by_client = store.start("topology.py", f"client:{count}", *programs, env=harness.FAST).json()
    client = store.compile_events()
    assert not [one for one in by_client["compiled"].values() if "error" in one], by_client
    ahead_of_time = store.start("topology.py", f"attached:{count}", *programs, env=harness.FAST).json()
    ahead = store.compile_events()
    assert len(ahead) == len(client) == len(programs)
    for event, other in zip(client, ahead, strict=True):
        assert [event[part] for part in PARTS] == [other[part] for part in PARTS], (event, other)
        assert "ahead_of_time" not in event and other["ahead_of_time"]
        assert other["found"] and other["outcome"] == "miss" and other["reason"] == "no_client"
    # The framework gets the same results as without rekindle.
    bare = store.start("topology.py", f"attached:{count}", *programs, way="bare", env=harness.FAST).json()
    assert ahead_of_time == bare
    stats = store.stats()
    assert stats["ahead_of_time"] == stats["found"] == len(programs) and stats["stored"] == 0, stats


def test_another_topology_has_other_keys(store):
    keys = []
    for count in (1, 4):
        store.start("topology.py", f"attached:{count}", "ring", env=harness.FAST)
        keys += [event["key"] for event in store.compile_events()]
    assert len(set(keys)) == len(keys) == 2
