#!/usr/bin/env python3
"""A library that lives in other people's processes exports one name and links libc alone.

usage: check_library.py LIBRARY NAME
"""

import re
import subprocess
import sys

# Everything else that ldd may name: the loader and what the kernel maps.
ALLOWED = re.compile(r"^(linux-vdso\.so\.1|libc\.so\.6|(/\S*/)?ld-linux\S*\.so\.\d+)$")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    library, name = sys.argv[1:]
    exported = [line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()]
    needed = [line.split()[0] for line in output("ldd", library).splitlines()]
    foreign = [item for item in needed if not ALLOWED.match(item)]
    if exported != [name]:
        print(f"{library} exports {exported}, not only {name}")
    if foreign:
        print(f"{library} needs more than libc: {', '.join(foreign)}")
    return 1 if exported != [name] or foreign else 0


if __name__ == "__main__":
    sys.exit(main())
