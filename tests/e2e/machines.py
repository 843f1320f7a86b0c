"""Two machines for tests of bundles: users with other homes, paths and stores on one real machine."""

import json
import shutil

import harness


def bundle(store, home, *args, status=0, env=None):
    """Calls `rekindle bundle` as the user of a home."""
    return store.cli("bundle", *args, status=status, env={"HOME": home, "XDG_CONFIG_HOME": ""} | (env or {}))


class Machine:
    """A user with a home, an own copy of the programs, and a store."""

    def __init__(self, folder, kind=harness.Store):
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.programs = folder / "src/programs"
        shutil.copytree(harness.PROGRAMS, self.programs, ignore=shutil.ignore_patterns("__pycache__"))
        self.store = kind(folder / "cache/rekindle")
        self.store.directory.parent.mkdir(parents=True)

    def start(self, program, *args, env=None):
        done = self.store.start(self.programs / program, *args, env={"HOME": self.home} | (env or {}))
        return done, self.store.stats()

    def bundle(self, *args, **options):
        return bundle(self.store, self.home, *args, **options)


def two(folder, kind=harness.Store):
    return Machine(folder / "first", kind), Machine(folder / "second/elsewhere", kind)


def carry(first, second, file, *words):
    """Exports on one machine and imports on the other one. Returns what the import said, and the public key."""
    first.bundle("export", "-o", file, *words)
    key = json.loads(first.bundle("inspect", file, "--json").stdout)["signature"]["public_key"]
    done = second.bundle("import", file, "--trust", key, "--json")
    return json.loads(done.stdout), key
