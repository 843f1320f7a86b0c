"""Plays a mixture under `rekindle run`, as its user would."""

import json

import harness
from mixtures import judge
from torch_store import kind_of_store

# Well below the limit of ctest (1800 s), so that a start that hangs is named.
TIMEOUT_S = 600
LINES = {"XLA_IR_DEBUG": "1", "XLA_HLO_DEBUG": "1"}


def play(mixture, without, folder, python, again=False):
    """Plays one variant; with `again` only reads its store. Returns `explain` and `stats` as decoded JSON."""
    store = kind_of_store(mixture.python)(folder / "store", python)
    if not again:
        folder.mkdir(parents=True)
        env = harness.FAST | (LINES if mixture.python.startswith("torch") else {})
        script = folder / mixture.path.name
        script.write_text(mixture.path.read_text())
        command = [harness.REKINDLE, "run", "--", python, script, *(["--without", without] if without else [])]
        done = harness.run_process(command, store.environment("run", env), folder, TIMEOUT_S)
        assert done.returncode == 0, f"{mixture.name} without {without}:\n{done.stdout}\n{done.stderr}"
    return json.loads(store.cli("explain", "--json").stdout), store.stats()


def play_and_judge(mixture, without, folder, python, again=False):
    """Returns the verdict on one variant, also if it fails or hangs: the other variants are played."""
    try:
        return judge.judge(mixture, without, *play(mixture, without, folder, python, again))
    except AssertionError as problem:
        return judge.failed(mixture, without, problem)
