"""Compiles edited programs and describes the outcomes. The tables of edits are in programs/."""

import json

import harness


def run_variants(store, path, variants, seed, cwd=None, script="edits.py", env=harness.FAST):
    """Runs the variants in one process of `script`; returns a compile event for each."""
    path.write_text(json.dumps(variants))
    results = store.start(script, path, env=env | {"PYTHONHASHSEED": seed}, cwd=cwd).json()["results"]
    events = store.compile_events()
    assert len(events) == len(results) == len(variants), (len(events), results)
    return [event | {"result": result} for event, result in zip(events, results)]


def variants_of(rows):
    return [{"file": row.file or f"/job/{row.base}.py", "source": row.source()} for row in rows]


def run_table(folder, sources, hits, first, **how):
    """Runs two processes on one store. The first runs the unedited programs and the variants of `first` (named lists).
    The second runs the edits that must hit, in another folder and with another hash seed.

    Returns compile events: "bases" by program name, "hits", and each list of `first` in order; and "hit_stats", the
    counters of the second process.
    """
    (folder / "elsewhere").mkdir()
    store = harness.Store(folder / "store")
    originals = [{"file": f"/job/{name}.py", "source": source} for name, source in sources.items()]
    variants = originals + [variant for part in first.values() for variant in part]
    events = iter(run_variants(store, folder / "first.json", variants, seed="1", **how))
    table = {"bases": {name: next(events) for name in sources}}
    table |= {name: [next(events) for _ in part] for name, part in first.items()}
    cwd = folder / "elsewhere"
    table["hits"] = run_variants(store, folder / "second.json", variants_of(hits), seed="2", cwd=cwd, **how)
    table["hit_stats"] = store.stats()
    return table


def describe(table, rows, part, same_program, outcome=None):
    """Prints the rows with their outcomes and returns the wrong ones. Without `outcome`, only the sameness of the
    programs counts."""
    wrong = []
    for row, event in zip(rows, table[part], strict=True):
        base = table["bases"][row.base]
        same = event["program"] == base["program"]
        good = same == same_program and "by_bytes" not in event
        # A program that failed to compile is not stored, so only its fingerprint can be checked.
        good = good and (outcome in (None, event["outcome"]) or event["failed"])
        wanted = f"{'same' if same_program else 'other'} program, {outcome or 'any outcome'}"
        got = f"{'same' if same else 'other'} program, {event['outcome']} {event.get('by_bytes', '')}"
        line = f"{row.base:12} {row.name:44} wanted: {wanted:22} got: {got}"
        print(line)
        if not good:
            wrong.append(f"{line}, {event['result']}")
    return wrong


def assert_all_differ(table, misses):
    """All edited programs differ from their originals and from each other."""
    seen = {}
    for name, event in table["bases"].items():
        assert event["program"] not in seen, f"{name} and {seen[event['program']]}"
        seen[event["program"]] = f"{name} itself"
    for row, event in zip(misses, table["misses"], strict=True):
        assert event["program"] not in seen, f"{row.name} and {seen[event['program']]}"
        seen[event["program"]] = row.name
