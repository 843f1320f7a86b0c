"""Runs programs that are edits of others, and says what became of each. The tables are in programs/."""

import json

from harness import FAST


def run_variants(store, path, variants, seed, cwd=None):
    """Runs the variants in one process; a compile event for each."""
    path.write_text(json.dumps(variants))
    results = store.start("edits.py", path, env=FAST | {"PYTHONHASHSEED": seed}, cwd=cwd).json()["results"]
    events = store.compile_events()
    assert len(events) == len(results) == len(variants), (len(events), results)
    return [event | {"result": result} for event, result in zip(events, results)]


def variants_of(rows):
    return [{"file": row.file or f"/job/{row.base}.py", "source": row.source()} for row in rows]


def describe(table, rows, part, same_program, outcome):
    """Prints the rows with what came of them, and gives those that are wrong."""
    wrong = []
    for row, event in zip(rows, table[part], strict=True):
        base = table["bases"][row.base]
        same = event["program"] == base["program"]
        good = same == same_program and "by_bytes" not in event
        # What could not be compiled is not stored, so that nothing but its fingerprint can be looked at.
        good = good and (event["outcome"] == outcome or event["failed"])
        got = f"{'same' if same else 'other'} program, {event['outcome']} {event.get('by_bytes', '')}"
        line = f"{row.base:12} {row.name:44} wanted: {outcome:5} got: {got}"
        print(line)
        if not good:
            wrong.append(f"{line}, {event['result']}")
    return wrong
