"""What both kinds of modules share: environments, rekindle's own records of a run, and where results lie."""

import hashlib
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
sys.dont_write_bytecode = True

import drivers  # noqa: E402
import harness  # noqa: E402

# Not the store's: what was downloaded and built for the modules.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rekindle-dev"

# What `rekindle stats` counts, as far as it is kept and shown.
COUNTERS = ("hits", "misses", "compiled", "refused", "bypassed", "preloaded", "deserialize_failures", "quarantined")


class Unavailable(Exception):
    """The machine lacks something that a module needs; the text names it."""


def fill(text, indent=""):
    """A paragraph of Markdown, at the width of the docs; its later lines begin with `indent`."""
    return textwrap.fill(text, 120, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def python_env(*words):
    """What scripts/python-env prints."""
    found = drivers.python_env(*words)
    if not found:
        raise Unavailable(f"scripts/python-env {' '.join(words)} found nothing; `make conformance` makes it")
    return found


def pinned(names, environment):
    """The versions of these packages in a Python environment, as {name: version}."""
    program = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {list(names)}}}))"
    done = subprocess.run([python_env("--print-python", environment), "-I", "-c", program], capture_output=True)
    return json.loads(done.stdout)


def build_id():
    """Of the libraries under test."""
    hasher = hashlib.sha256()
    for path in sorted((harness.BUILD / "lib").glob("librekindle_*.so")):
        hasher.update(path.read_bytes())
    return hasher.hexdigest()[:16]


def files_id(*paths):
    """Of what a module runs."""
    hasher = hashlib.sha256()
    for path in sorted(map(Path, paths)):
        hasher.update(path.name.encode() + b"\0" + path.read_bytes())
    return hasher.hexdigest()[:16]


def stats_of(env, *words):
    """The counters of the store's latest run, or of what `words` say."""
    done = harness.run_process([harness.REKINDLE, "stats", "--json", *words], env)
    stats = json.loads(done.stdout) if done.returncode == 0 else {}
    return {name: stats.get(name, 0) for name in COUNTERS}


def runs_of(store):
    folder = Path(store) / "runs"
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def events_of(store, runs, kind):
    """What the journals of these runs say of it."""
    lines = (
        json.loads(line)
        for run in sorted(runs)
        for path in sorted((Path(store) / "runs" / run).glob("*.jsonl"))
        for line in path.read_text().splitlines()
    )
    return [line for line in lines if line["ev"] == kind]


def write(path, value):
    """Replaces a file as a whole: JSON, or text as it is."""
    text = value if isinstance(value, str) else json.dumps(value, indent=1)
    temporary = path.with_suffix(f".tmp{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def add_rows(module, record, versions, items, row, save):
    """Returns the record of a module with the rows of all items: makes those that are missing, and saves each at once.

    The record starts anew if the build or the versions are others. `row(item)` makes the row of an item.
    """
    head = {"build": build_id(), "versions": versions}
    if record.get("head") != head:
        record = {"head": head, "rows": {}}
    for item in items:
        if item.name not in record["rows"]:
            record["rows"][item.name] = row(item)
            save(record)
            print(f"{module}: {item.name} done", flush=True)
    return record
