#!/usr/bin/env python3
"""Checks the links of all Markdown files: the file exists, and it has the heading that an anchor names.

usage: check_links.py [--root FOLDER]

Prints each broken link as file:line: message. Addresses of web pages are not opened. Exits with 1 if a link is broken.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r"\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)\)")
IMAGE_SOURCE = re.compile(r"<img[^>]* src=\"([^\"]+)\"")
HEADING = re.compile(r"#{1,6} +(.*?) *#*$")
FENCE = re.compile(r" *(```|~~~)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")


def plain_lines(text):
    """Yields (number, line) outside of code blocks. Links may be wrapped: only their text is, never their target."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def slug(heading):
    """Returns the anchor of a heading as GitHub makes it."""
    shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")


def anchors(text):
    found, seen = set(), {}
    for _, line in plain_lines(text):
        match = HEADING.match(line)
        if match:
            name = slug(match.group(1))
            count = seen.get(name, 0)
            seen[name] = count + 1
            found.add(f"{name}-{count}" if count else name)
    return found


def broken(root, path):
    """Yields (line number, message) for each broken link of a Markdown file."""
    for number, line in plain_lines(path.read_text(encoding="utf-8")):
        for target in LINK.findall(line) + IMAGE_SOURCE.findall(line):
            if ELSEWHERE.match(target):
                continue
            name, _, anchor = unquote(target).partition("#")
            file = (path.parent / name).resolve() if name else path
            if not file.is_relative_to(root) or not file.exists():
                yield number, f"{target}: there is no such file"
            elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
                yield number, f"{target}: there is no such heading"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    root = parser.parse_args().root.resolve()
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "*.md"], capture_output=True, check=False).stdout
    files = [root / name for name in listed.decode().split("\0") if name] or sorted(root.glob("**/*.md"))
    if not files:
        sys.exit(f"no Markdown file found below {root}")
    bad = [f"{path.relative_to(root)}:{number}: {message}" for path in files for number, message in broken(root, path)]
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
