"""Calls the command `rekindle`, for modules that need no library in the process."""

import json
import os
import shutil
import subprocess
from pathlib import Path


def _path():
    beside = Path(__file__).resolve().parents[2] / "build/release/bin/rekindle"
    found = shutil.which("rekindle") or (str(beside) if beside.is_file() else None)
    if not found:
        raise RuntimeError("there is no command rekindle: put it into PATH")
    return found


def ask(*arguments, without=(), env=None):
    """What `rekindle ARGUMENTS --json` says. `without`: variables that it must not inherit. Raises RuntimeError with
    what the command wrote to stderr."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", *without)}
    command = [_path(), *map(str, arguments), "--json"]
    done = subprocess.run(command, env=inherited | (env or {}), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"{command} ended with status {done.returncode}")
    return json.loads(done.stdout)
