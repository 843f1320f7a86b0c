"""Saves what torch.compile has compiled in this process's cache directory, and loads it on another machine.

    artifacts, info = rekindle.torch_compile.save()
    ...
    info = rekindle.torch_compile.load(artifacts)  # before the first compilation

torch.compiler.save_cache_artifacts() does the same without the compiled kernels of the CPU, which are built again.
`artifacts` is a signed bundle, as `rekindle bundle export` writes it: load() takes it if you have made it yourself, or
if its maker's key is in `trust`. Under `rekindle run` neither is needed: it restores and keeps the caches by itself.

Needs the command `rekindle`. Errors are RuntimeError, with what the command said.
"""

import sys
import tempfile
from pathlib import Path

from rekindle import _command

__all__ = ["load", "save"]


def _directory():
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    return cache_dir()


def _ask(folder, *arguments):
    """What `rekindle bundle ARGUMENTS --json` says, with a store of its own in `folder`."""
    unwanted = ("REKINDLE_MODE", "REKINDLE_NAMESPACE", "REKINDLE_MAX_SIZE")
    store = {"REKINDLE_DIR": str(Path(folder) / "store")}
    return _command.ask("bundle", *arguments, "--python", sys.executable, without=unwanted, env=store)


def save():
    """Returns the caches as bytes, and what is in them: the JSON of `rekindle bundle export`."""
    with tempfile.TemporaryDirectory(prefix="rekindle-") as folder:
        path = Path(folder) / "caches.rkb"
        info = _ask(folder, "export", "--directory", _directory(), "--output", path)
        return path.read_bytes(), info


def load(artifacts, trust=()):
    """Writes the caches into the cache directory; files that are there stay. Returns what was written: the JSON of
    `rekindle bundle import`.

    `trust` has public keys of other makers, as `rekindle bundle export` prints them.
    """
    with tempfile.TemporaryDirectory(prefix="rekindle-") as folder:
        path = Path(folder) / "caches.rkb"
        path.write_bytes(artifacts)
        keys = [word for key in trust for word in ("--trust", key)]
        return _ask(folder, "import", "--directory", _directory(), *keys, path)
