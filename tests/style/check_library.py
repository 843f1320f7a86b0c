#!/usr/bin/env python3
"""A library that is loaded into other programs' processes exports one name and links only libc.

With --bare it has no needed library, no symbol versions, and no undefined symbol that is not weak. The library may be
one for another processor.

usage: check_library.py LIBRARY NAME [--bare]
"""

import re
import subprocess
import sys

# The loader, libc, and the parts of libc that were libraries of their own before glibc 2.34.
ALLOWED = re.compile(r"^(ld-linux\S*\.so\.\d+|libc\.so\.6|lib(dl|pthread)\.so\.\d)$")
NEEDED = re.compile(r"\(NEEDED\).*\[(.*)\]")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def violations(library, name, bare):
    exported = [line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()]
    if exported != [name]:
        yield f"exports {exported}, not only {name}"
    if not bare:
        needed = NEEDED.findall(output("readelf", "--dynamic", "--wide", library))
        foreign = [item for item in needed if not ALLOWED.match(item)]
        if foreign:
            yield f"needs more than libc: {', '.join(foreign)}"
        return
    if "(NEEDED)" in output("readelf", "--dynamic", "--wide", library):
        yield "needs a library"
    if "No version information" not in output("readelf", "--version-info", "--wide", library):
        yield "has versions of symbols"
    strong = [line for line in output("nm", "-D", "--undefined-only", library).splitlines() if line.split()[0] not in "vw"]
    if strong:
        yield f"needs symbols: {strong}"


def main():
    library, name, *options = sys.argv[1:]
    found = list(violations(library, name, options == ["--bare"]))
    for item in found:
        print(f"{library} {item}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
