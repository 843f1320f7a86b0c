"""`rekindle shapes` on the records of a job that does not pad."""

import json

import harness

LENGTHS = [5, 9, 17, 30, 31, 33, 60, 64, 64, 100]


def test_lengths_make_a_family(store):
    store.start("lengths.py", *LENGTHS)
    found = json.loads(store.cli("shapes", "--json").stdout)
    (family,) = [one for one in found["families"] if one["name"] == "jit_step"]
    assert family["parameters"] == "f32[50,8],i32[4,n],f32[4,n]"
    assert [size["size"] for size in family["sizes"]] == sorted(set(LENGTHS))
    assert sum(size["uses"] for size in family["sizes"]) == len(LENGTHS)
    assert family["place"].startswith(f"{harness.PROGRAMS / 'lengths.py'}:")
    assert [plan["compilations"] for plan in family["plans"]] == list(range(1, 9))
    assert family["plans"][0]["buckets"] == [100]
    waste = [plan["padding"] for plan in family["plans"]]
    assert waste == sorted(waste, reverse=True) and family["recommended"] == 3
    assert "Pad n to " in store.cli("shapes").stdout

    # A restart that loads everything still reports all sizes and their former compile times.
    store.start("lengths.py", *LENGTHS)
    assert store.stats()["compiled"] == 0
    (again,) = [
        one for one in json.loads(store.cli("shapes", "--json").stdout)["families"] if one["name"] == "jit_step"
    ]
    assert [size["size"] for size in again["sizes"]] == sorted(set(LENGTHS))
    assert all(size["compile_seconds"] > 0 for size in again["sizes"])


def test_one_length_makes_none(store):
    store.start("lengths.py", 7, 7, 7)
    assert "jit_step" not in store.cli("shapes").stdout
