"""Plays a mixture under `rekindle run`, as its user would."""

import json
import subprocess

import harness

TIMEOUT_S = 900
LINES = {"XLA_IR_DEBUG": "1", "XLA_HLO_DEBUG": "1"}


def python_env(*words):
    """Returns what scripts/python-env prints; "" if this machine lacks it."""
    done = subprocess.run([harness.ROOT / "scripts/python-env", *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


class _TorchStore(harness.Store):
    def framework_environment(self, library, way):
        del way
        return harness.clean_environment() | LINES | {"PJRT_DEVICE": "LIBRARY", "PJRT_LIBRARY_PATH": str(library)}


def play(mixture, without, folder, python, again=False):
    """Plays one variant; with `again` only reads its store. Returns `explain` and `stats` as decoded JSON."""
    kind = _TorchStore if mixture.python.startswith("torch") else harness.Store
    store = kind(folder / "store", python)
    if not again:
        folder.mkdir(parents=True)
        script = folder / mixture.path.name
        script.write_text(mixture.path.read_text())
        command = [harness.REKINDLE, "run", "--", python, script, *(["--without", without] if without else [])]
        done = harness.run_process(command, store.environment("run", harness.FAST), folder, TIMEOUT_S)
        assert done.returncode == 0, f"{mixture.name} without {without}:\n{done.stdout}\n{done.stderr}"
    return json.loads(store.cli("explain", "--json").stdout), store.stats()
