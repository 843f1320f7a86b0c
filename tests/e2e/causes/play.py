"""Runs a case as its user would: each start under `rekindle run`, on the case's own store."""

import json
import shutil
from pathlib import Path

import harness

LAUNCHER = Path(__file__).with_name("launch.py")


def entries_of(store, name):
    """Returns the paths of the entries of all programs with `name` in their name."""
    entries = json.loads(store.cli("ls", "--json").stdout)["entries"]
    keys = [entry["key"] for entry in entries if name in entry["name"]]
    assert keys, f"{name} is not among {[entry['name'] for entry in entries]}"
    return [store.directory / "objects" / key[:2] / f"{key}.rkx" for key in keys]


def plugin_with_devices(folder, count):
    """Describes the plugin in a JSON file in `folder`, the way jax_plugins passes client options. Returns its path."""
    path = folder / f"{count}_devices.json"
    options = {"library_path": harness.find_plugin(), "create_options": {"cpu_device_count": count}}
    path.write_text(json.dumps(options))
    return path


class Player:
    """Runs the starts of one case in its own folder."""

    def __init__(self, case, folder, store, common_env, timeout_s):
        self.case, self.folder, self.store = case, Path(folder), store
        self.common_env, self.timeout_s = common_env, timeout_s
        self.script = self.folder / f"{case.name}.py"
        shutil.copy(case.path, self.script)

    def play(self):
        """Runs all starts. Returns the names of their runs."""
        return [self._start(run) for run in self.case.runs]

    def _start(self, run):
        self._edit(run.get("edit", ()))
        if "damage" in run:
            for path in entries_of(self.store, run["damage"]):
                _spoil(path)
        if "remove" in run:
            for path in entries_of(self.store, run["remove"]):
                self.store.cli("rm", path.stem)
        if "evict" in run:
            self._evict(run["evict"])
        if "devices" in run:
            self.store.plugin = plugin_with_devices(self.folder, run["devices"])
        if run.get("rebuilt"):
            self.store.plugin = self._rebuilt_plugin()
        python = harness.OTHER_PYTHON if run.get("python") == "newest" else self.store.python
        command = [python, self.script, *run.get("args", ())]
        if "ranks" in run:
            command = [python, LAUNCHER, run["ranks"], *command]
        before = set(self.store.runs())
        env = self.store.environment("run", self.common_env | run.get("env", {}))
        done = harness.run_process([harness.REKINDLE, "run", "--", *command], env, self.folder, self.timeout_s)
        assert done.returncode == 0, f"{self.script.name} failed:\n{done.stdout}\n{done.stderr}"
        (name,) = set(self.store.runs()) - before
        return name

    def _edit(self, edits):
        source = self.script.read_text()
        for old, new in edits:
            # The declaration at the top also contains the text, in quotes, and stays unedited.
            head, separator, body = source.partition("\n}\n")
            assert body.count(old) == 1, f"{self.script.name}: {old!r} is there {body.count(old)} times"
            source = head + separator + body.replace(old, new)
        self.script.write_text(source)

    def _evict(self, name):
        """Evicts the entries of a program: all others are pinned meanwhile."""
        others = [path.stem for path in set(entries_of(self.store, "")) - set(entries_of(self.store, name))]
        if others:
            self.store.cli("pin", *others)
        self.store.cli("gc", "--max-size", "1", status=None)  # 1: pinned entries stay
        if others:
            self.store.cli("unpin", *others)

    def _rebuilt_plugin(self):
        """Imitates another build of the plugin: one of its messages differs."""
        data = Path(harness.find_plugin()).read_bytes()
        old, new = b"Asynchronous computation %s expected", b"Asynchronous computation %s EXPECTED"
        assert old in data
        path = self.folder / "rebuilt_plugin.so"
        path.write_bytes(data.replace(old, new))
        return path

    def compiles(self, run):
        """Returns {name: number of compiler calls}, from the journal of a run."""
        result = {}
        for path in (self.store.directory / "runs" / run).glob("*.jsonl"):
            for event in map(json.loads, path.read_text().splitlines()):
                if event["ev"] == "compile" and event["compiled"]:
                    result[event["name"]] = result.get(event["name"], 0) + 1
        return result

    def explain(self, run):
        """Returns the output of `rekindle explain` for a run, as JSON and as text."""
        answer = json.loads(self.store.cli("explain", "--json", "--run", run).stdout)
        return answer, self.store.cli("explain", "--run", run).stdout


def _spoil(path):
    """Flips one bit in the middle, as a bad disk does."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
