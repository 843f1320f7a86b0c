"""Shared by the drivers of weeks and mixtures, which run without pytest.

Does not import harness.py, which reads the build and the plugin from the environment: `set_up` prepares it.
"""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77


def python_env(*words):
    """Returns what scripts/python-env prints; "" if this machine lacks it."""
    done = subprocess.run([ROOT / "scripts/python-env", *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def missing_environment(job):
    """Returns the name of a Python environment of the week or mixture that this machine lacks, or None."""
    return next((name for name in sorted(job.environments) if not python_env("--print-python", name)), None)


def set_up(build):
    """Sets the variables that harness.py reads. `build`: the build under test, or None."""
    if build:
        os.environ["REKINDLE_E2E_BUILD"] = str(build.resolve())
    if not os.environ.get("REKINDLE_E2E_PLUGIN"):
        os.environ["REKINDLE_E2E_PLUGIN"] = python_env("--print-plugin")


def aligned(rows):
    """Formats rows of texts as a table."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
