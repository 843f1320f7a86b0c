"""Builds the wheel of this folder (PEP 517): the package, and the command and libraries of a build beside it.

`pip install ./python` after `make`. Needs nothing but the standard library. The build is ../build/release, or
$REKINDLE_BUILD; its processor is this machine's, or $REKINDLE_WHEEL_MACHINE. scripts/wheel uses this module for the
wheels that run on other machines. The command goes to the environment's bin and the libraries to its lib, where the
command looks for them; completion scripts and man pages go to its share. The plugin goes into the package too, since
`pip install --target` leaves out what goes elsewhere.
"""

import base64
import hashlib
import os
import platform
import re
import stat
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("REKINDLE_BUILD", HERE.parent / "build/release"))
TAG = f"py3-none-linux_{os.environ.get('REKINDLE_WHEEL_MACHINE', platform.machine())}"
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = re.search(r'^__version__ = "(.+)"$', (HERE / "rekindle/__init__.py").read_text(encoding="utf-8"), re.M)[1]
NAME = f"{PROJECT['name']}-{VERSION}"


def _licenses():
    """The licence of rekindle, and those of the libraries in the build (scripts/wheel puts them there), by name."""
    files = [HERE.parent / "LICENSE", *sorted((BUILD / "licenses").glob("*.txt"))]
    return {path.name: path.read_bytes() for path in files if path.is_file()}


def _information():
    entry_points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in PROJECT["entry-points"].items()
    )
    metadata = f"Metadata-Version: 2.4\nName: {PROJECT['name']}\nVersion: {VERSION}\n"
    metadata += f"Summary: {PROJECT['description']}\nLicense-Expression: {PROJECT['license']}\n"
    metadata += f"Requires-Python: {PROJECT['requires-python']}\n"
    for extra, needs in PROJECT["optional-dependencies"].items():
        metadata += f"Provides-Extra: {extra}\n"
        metadata += "".join(f'Requires-Dist: {need}; extra == "{extra}"\n' for need in needs)
    licenses = _licenses()
    metadata += "".join(f"License-File: {name}\n" for name in licenses)
    wheel = f"Wheel-Version: 1.0\nGenerator: rekindle\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    texts = {"METADATA": metadata, "WHEEL": wheel, "entry_points.txt": entry_points}
    files = {name: text.encode() for name, text in texts.items()}
    return files | {f"licenses/{name}": data for name, data in licenses.items()}


def _built():
    """The command and the libraries of the build, by their place in the wheel."""
    places = {
        f"{NAME}.data/scripts/rekindle": "bin/rekindle",
        f"{NAME}.data/data/lib/librekindle_preload.so": "lib/librekindle_preload.so",
        f"{NAME}.data/data/lib/librekindle_core.so": "lib/librekindle_core.so",
        f"{NAME}.data/data/lib/librekindle_pjrt.so": "lib/librekindle_pjrt.so",
        "rekindle/lib/librekindle_pjrt.so": "lib/librekindle_pjrt.so",
    }
    for path in places.values():
        if not (BUILD / path).is_file():
            raise SystemExit(f"{BUILD / path} is missing: run make first, or set REKINDLE_BUILD to a build")
    return {place: (BUILD / path).read_bytes() for place, path in places.items()}


def _shared():
    """What shells and man(1) look for, by its place in the wheel."""
    scripts = HERE.parent / "src/cli/completion"
    places = {
        "bash-completion/completions/rekindle": scripts / "rekindle.bash",
        "zsh/site-functions/_rekindle": scripts / "_rekindle",
        "fish/vendor_completions.d/rekindle.fish": scripts / "rekindle.fish",
    } | {f"man/man1/{path.name}": path for path in sorted((BUILD / "man/man1").glob("*.1"))}
    return {f"{NAME}.data/data/share/{place}": path.read_bytes() for place, path in places.items()}


def _write(folder, files):
    """A wheel of `files`, with the record of them that pip asks for."""
    files |= {f"{NAME}.dist-info/{name}": data for name, data in _information().items()}
    record = ""
    filename = f"{NAME}-{TAG}.whl"
    with zipfile.ZipFile(Path(folder) / filename, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | (0o755 if name.endswith("scripts/rekindle") else 0o644)) << 16
            wheel.writestr(entry, data)
        wheel.writestr(f"{NAME}.dist-info/RECORD", record + f"{NAME}.dist-info/RECORD,,\n")
    return filename


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    del config_settings, metadata_directory
    package = sorted((HERE / "rekindle").glob("*.py"))
    return _write(wheel_directory, {f"rekindle/{path.name}": path.read_bytes() for path in package} | _built() | _shared())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The checkout itself, by a path file."""
    del config_settings, metadata_directory
    return _write(wheel_directory, {"__editable__rekindle.pth": f"{HERE}\n".encode()})
