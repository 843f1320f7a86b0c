"""Plays a week: each start under `rekindle run`, on the week's own store. Records what rekindle says of each start.

The record of a start holds raw outputs only, so that it can be judged again later:

    index, source     which start; the job as it was
    run, status       the name of its run; exit status of the job
    seconds, stdout, stderr
    explain_text, explain, stats_text, stats
    diff_text, diff   of the previous run and this one
    problems          what could not be played or read
"""

import json
import shutil
import subprocess
from pathlib import Path

import harness
from causes.play import entries_of, plugin_with_devices
from drivers import python_env
from torch_store import kind_of_store

TIMEOUT_S = 600
ANSWER_TIMEOUT_S = 120  # an answer takes a second
EVICT_ALL = ("gc", "--max-size", "1K")
STRICT = {"REKINDLE_STRICT": "fail", "REKINDLE_WARMUP": "10 steps"}


class Player:
    """Plays one week in a folder of its own."""

    def __init__(self, week, folder):
        self.week, self.folder = week, Path(folder)
        self.pythons = {name: python_env("--print-python", name) for name in week.environments}
        self.store = kind_of_store(week.python)(self.folder / "store", self.pythons[week.python])
        self.plugin = self.store.plugin
        self.work = self.folder / "work"
        self.work.mkdir(parents=True)
        self.job = self.work / "job.py"
        self.previous = None
        self.strict_start = None

    # How a start is made.

    def _python(self, start):
        return self.pythons[start.fields.get("python") or self.week.python]

    def _environment(self, start, more=()):
        env = self.week.fields.get("env", {}) | start.fields.get("env", {})
        if shadow := start.fields.get("shadow"):
            env["PYTHONPATH"] = self._shadow(start, shadow)
        devices = start.fields.get("devices")
        assert not (devices and self.week.is_torch), "PyTorch/XLA has no way to set the number of devices"
        self.store.plugin = plugin_with_devices(self.folder, devices) if devices else self.plugin
        return self.store.environment("run", env | dict(more))

    def _shadow(self, start, versions):
        """Copies the dist-info of packages and changes the version in the copy. Returns the folder of the copies."""
        folder = self.folder / f"shadow-{start.index}"
        for package, version in versions.items():
            ask = f"import importlib.metadata as m; print(m.distribution({package!r})._path)"
            argv = [self._python(start), "-c", ask]
            path = Path(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip())
            name, installed = path.name.removesuffix(".dist-info").rsplit("-", 1)
            copy = folder / f"{name}-{version}.dist-info"
            shutil.copytree(path, copy, dirs_exist_ok=True)
            metadata = (copy / "METADATA").read_text()
            assert metadata.count(f"\nVersion: {installed}\n") == 1, copy
            (copy / "METADATA").write_text(metadata.replace(f"\nVersion: {installed}\n", f"\nVersion: {version}\n"))
        return str(folder)

    def _prepare(self, start):
        """Does what happens between the previous start and this one."""
        name = start.fields.get("rm")
        if name == "*":
            self.store.cli("rm", "--all")
        elif name:
            self.store.cli("rm", *(path.stem for path in entries_of(self.store, name)))
        if start.fields.get("evict"):
            self.store.cli(*EVICT_ALL, status=None)
            assert not self.store.entries(), "gc left entries"
        if start.fields.get("other"):
            self._run(start, {"REKINDLE_JOB": "other"})

    def _run(self, start, more=()):
        """Runs the job once. Returns its ending, and the name of the run."""
        before = set(self.store.runs())
        argv = [harness.REKINDLE, "run", "--", self._python(start), self.job, *start.args]
        done = harness.run_process(argv, self._environment(start, more), self.work, TIMEOUT_S)
        new = set(self.store.runs()) - before
        return done, new.pop() if len(new) == 1 else None

    # What rekindle says of it.

    def _ask(self, record, field, *words):
        """Asks for text and JSON."""
        for key, more in ((f"{field}_text", ()), (field, ("--json",))):
            command = f"rekindle {' '.join([*words, *more])}"
            try:
                argv = [harness.REKINDLE, *words, *more]
                done = harness.run_process(argv, self.store.environment("run"), timeout_s=ANSWER_TIMEOUT_S)
                assert done.returncode == 0, f"status {done.returncode}: {(done.stderr or done.stdout).strip()}"
                record[key] = json.loads(done.stdout) if more else done.stdout
            except (AssertionError, ValueError) as problem:  # an error, or it hung
                record["problems"].append(f"{command}: {problem}")

    def _ask_all(self, record):
        run = record["run"]
        self._ask(record, "explain", "explain", "--run", run)
        self._ask(record, "stats", "stats", "--run", run)
        if self.previous:
            self._ask(record, "diff", "diff", self.previous, run)

    def play(self, start):
        """Plays a start. Returns its record."""
        record = {"index": start.index, "what": start.what, "source": start.source, "problems": []}
        self.job.write_text(start.source)
        try:
            self._prepare(start)
            done, run = self._run(start)
        except Exception as problem:  # noqa: BLE001 (the other starts are played)
            record["problems"].append(f"could not be played: {type(problem).__name__}: {problem}")
            return record
        record |= {"run": run, "status": done.returncode, "seconds": round(done.seconds, 2)}
        record |= {"stdout": done.stdout, "stderr": done.stderr}
        if not run:
            record["problems"].append("no run was recorded")
            return record
        self._ask_all(record)
        self.previous = run
        return record

    def keep_for_strict(self, start):
        """Keeps a copy of the store as it is now, instead of an earlier copy."""
        shutil.rmtree(self.folder / "strict-store", ignore_errors=True)
        shutil.copytree(self.store.directory, self.folder / "strict-store")
        self.strict_start = start

    def play_strict(self):
        """Plays the start once more in strict mode, on the copy of the store. Returns the record."""
        start = self.strict_start
        self.store = type(self.store)(self.folder / "strict-store", self.store.python)
        record = {"index": start.index, "what": start.what, "problems": []}
        self.job.write_text(start.source)
        try:
            done, run = self._run(start, STRICT)
        except Exception as problem:  # noqa: BLE001
            record["problems"].append(f"could not be played: {type(problem).__name__}: {problem}")
            return record
        record |= {"run": run, "status": done.returncode, "seconds": round(done.seconds, 2)}
        record |= {"stdout": done.stdout, "stderr": done.stderr}
        if run:
            self._ask(record, "stats", "stats", "--run", run)
        return record


def play(week, folder, last=None, report=lambda start, record: None):
    """Plays a week, or its starts up to number `last`. Calls `report` after each start. Returns the week's record.

    A whole week ends with its last healthy start in strict mode.
    """
    player = Player(week, folder)
    record = {"week": week.name, "starts": [], "strict": None}
    for start in week.starts[: None if last is None else last + 1]:
        played = player.play(start)
        report(start, played)
        record["starts"].append(played)
        if last is None and start.is_healthy and played.get("status") == 0:
            player.keep_for_strict(start)
    if player.strict_start:
        record["strict"] = player.play_strict()
    return record
