"""Where rekindle's plugin lies. Which plugin it stands in front of, REKINDLE_PLUGIN, it reads itself."""

import os
import shutil
from pathlib import Path

PLUGIN_LIBRARY = "librekindle_pjrt.so"


class NotSetUp(OSError):
    """Something that rekindle needs is missing; the message says what to do about it."""


def _candidates():
    package = Path(__file__).resolve().parent
    yield package / "lib"  # installed
    yield package.parents[1] / "build/release/lib"  # in a checkout
    if command := shutil.which("rekindle"):
        yield Path(command).resolve().parents[1] / "lib"


def plugin_library():
    """Path of librekindle_pjrt.so. It is $REKINDLE_LIBRARY, or found from where this package or the command lies."""
    if chosen := os.environ.get("REKINDLE_LIBRARY"):
        if not Path(chosen).is_file():
            raise NotSetUp(f"REKINDLE_LIBRARY is {chosen}, and there is no such file")
        return chosen
    tried = [folder / PLUGIN_LIBRARY for folder in _candidates()]
    for path in tried:
        if path.is_file():
            return str(path)
    raise NotSetUp(
        f"{PLUGIN_LIBRARY} was not found ({', '.join(map(str, tried))}): "
        "build rekindle, or set REKINDLE_LIBRARY to its path"
    )
