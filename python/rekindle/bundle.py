"""Saves what jobs have compiled as one signed bundle, and loads it into the store of another machine.

    artifacts, info = rekindle.bundle.save()
    ...
    info = rekindle.bundle.load(artifacts, trust=["3aae…3061"])  # before the first compilation

A bundle is what `rekindle bundle export` writes (docs/bundles.md): executables, their programs, the prefetch list, what
`rekindle run` keeps of torch.compile, and with `directory` the files of a cache directory of JAX or torch.compile.
`torch.compiler.save_cache_artifacts()` is for torch.compile alone, and so is `rekindle.torch_compile`, which needs no
`rekindle run`.

Needs the command `rekindle`. The store is that of REKINDLE_DIR, or the default. Errors are RuntimeError, with what the
command said.
"""

import sys
import tempfile
from pathlib import Path

from rekindle import _command

__all__ = ["load", "save"]


def _several(option, values):
    return [word for value in values for word in (option, value)]


def _of(directory):
    return [] if directory is None else ["--directory", directory, "--python", sys.executable]


def save(keys=(), *, job=None, run=None, modules=(), directory=None):
    """Returns a bundle as bytes, and what is in it: the JSON of `rekindle bundle export`.

    Without `keys`, `job` or `run`: the last run's job. In a job, this is the job itself, with what it has stored so
    far: rekindle stores in the background. `modules`: only these, such as "pjrt" or "inductor".

    With `directory`, exports the files of this cache directory instead of a job. JAX (jax_compilation_cache_dir) or
    torch.compile has filled it. The files belong to the packages of this Python, and are stored first.
    """
    with tempfile.TemporaryDirectory(prefix="rekindle-") as folder:
        path = Path(folder) / "job.rkb"
        chosen = [*(["--job", job] if job else []), *(["--run", run] if run else [])]
        chosen += [*_several("--module", modules), *_of(directory)]
        info = _command.ask("bundle", "export", *chosen, "--output", path, *keys)
        return path.read_bytes(), info


def load(artifacts, *, trust=(), modules=(), force=False, directory=None):
    """Adds what is missing to the store. Returns what was imported: the JSON of `rekindle bundle import`.

    Raises if the bundle is refused; then nothing has changed. `trust`: public keys of other makers. `modules`: only
    these. `force`: also if flags or versions of the framework differ. `directory`: also writes the files of such a
    directory there; files that are there stay, and files of a framework that this Python lacks are refused.
    """
    with tempfile.TemporaryDirectory(prefix="rekindle-") as folder:
        path = Path(folder) / "job.rkb"
        path.write_bytes(artifacts)
        options = [*_several("--trust", trust), *_several("--module", modules), *(["--force"] if force else [])]
        return _command.ask("bundle", "import", *options, *_of(directory), path)
