#!/usr/bin/env python3
"""Files of src/ that need each other: circles of object files, found by their symbols.

usage: check_circles.py BUILD [--list]

An object file needs another one if it uses a symbol that the other one defines. Files that need each other in a circle
cannot be read one after the other. Across modules no circle is allowed. Within a module only the circles in ALLOWED are.
--list prints each circle with the symbols that close it. Exits with 1 where a circle is not allowed, or where an allowed
one is gone.
"""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

# Each with its reason.
ALLOWED = [
    # A shape has a layout, a message that may have a shape: both are read by recursion with a limit on the depth.
    {"program/hlo/fields.c", "program/hlo/types.c"},
]  # fmt: skip


SOURCES = Path(__file__).resolve().parents[2] / "src"


def objects(build):
    """By source file, relative to src/: the object file. Objects of sources that are gone are left out."""
    paths = {source_of(path, build): path for path in sorted((build / "src").rglob("*.c.o"))}
    return {source: path for source, path in paths.items() if (SOURCES / source).exists()}


def source_of(path, build):
    parts = path.relative_to(build / "src").as_posix().split("/CMakeFiles/")
    return f"{parts[0]}/{parts[1].split('.dir/', 1)[1]}"[: -len(".o")]


def symbols(paths):
    """By object file: the names that it defines, and those that it uses."""
    done = subprocess.run(["nm", "-A", "-g", *map(str, paths)], capture_output=True, text=True, check=True)
    defined, used = defaultdict(set), defaultdict(set)
    for line in done.stdout.splitlines():
        path, rest = line.rsplit(":", 1)
        *_, kind, name = rest.split()
        (used if kind in "Uw" else defined)[path].add(name)
    return defined, used


def graph(build):
    """{file: {file that it needs: {symbols}}}"""
    files = objects(build)
    defined, used = symbols(files.values())
    home = {name: file for file, path in files.items() for name in defined[str(path)]}
    needs = {file: defaultdict(set) for file in files}
    for file, path in files.items():
        for name in used[str(path)]:
            if home.get(name, file) != file:
                needs[file][home[name]].add(name)
    return needs


def circles(needs):
    """The sets of files that all reach each other (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(file):
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in needs[file]:
            if other not in index:
                visit(other)
            if other in stack:
                low[file] = min(low[file], low[other])
        if low[file] == index[file]:
            at = stack.index(file)
            component = set(stack[at:])
            del stack[at:]
            if len(component) > 1:
                found.append(component)

    for file in needs:
        if file not in index:
            visit(file)
    return found


def main():
    needs = graph(Path(sys.argv[1]).resolve())
    if not needs:
        sys.exit(f"{sys.argv[1]}: no object files of src/ here; build first")
    found = circles(needs)
    if "--list" in sys.argv:
        for circle in found:
            print(f"{len(circle)} files: {', '.join(sorted(circle))}")
            for file in sorted(circle):
                for other in sorted(circle & needs[file].keys()):
                    print(f"  {file} -> {other}: {', '.join(sorted(needs[file][other]))}")
    faults = [f"circle: {', '.join(sorted(circle))}" for circle in found if circle not in ALLOWED]
    faults += [f"no circle any more, take it off the list: {', '.join(sorted(c))}" for c in ALLOWED if c not in found]
    print("\n".join(faults))
    return 1 if faults else 0


sys.exit(main())
