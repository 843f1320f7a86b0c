"""The functions of the rekindle that is in this process, if one is: src/pjrt/rekindle.h says how they are found."""

import ctypes
import json
import os
import shutil
import subprocess
from pathlib import Path

_NOTE_OWNER, _NOTE_TYPE, _PT_NOTE = b"rekindle\0", 2, 4


class _Header(ctypes.Structure):  # Elf64_Phdr
    _fields_ = [
        ("type", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("offset", ctypes.c_uint64), ("vaddr", ctypes.c_uint64),
        ("paddr", ctypes.c_uint64), ("filesz", ctypes.c_uint64), ("memsz", ctypes.c_uint64), ("align", ctypes.c_uint64),
    ]  # fmt: skip


class _Object(ctypes.Structure):  # struct dl_phdr_info
    _fields_ = [
        ("addr", ctypes.c_uint64), ("name", ctypes.c_char_p), ("phdr", ctypes.POINTER(_Header)),
        ("phnum", ctypes.c_uint16), ("adds", ctypes.c_uint64), ("subs", ctypes.c_uint64),
    ]  # fmt: skip


_Nothing = ctypes.CFUNCTYPE(None)
_Place = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)


class _Functions(ctypes.Structure):  # rekindle_functions
    _fields_ = [
        ("size", ctypes.c_size_t), ("step", _Nothing), ("mark_warm", _Nothing), ("flush", _Nothing), ("place", _Place),
    ]  # fmt: skip


_Visit = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Object), ctypes.c_size_t, ctypes.c_void_p)


def _functions_in(notes):
    """The address of the functions that these notes (address, size) name, or None."""
    at, end = notes[0], notes[0] + notes[1]
    while end - at >= 12:
        owner, content, kind = (ctypes.c_uint32 * 3).from_address(at)
        place = at + 12 + (owner + 3 & ~3)
        if kind == _NOTE_TYPE and content == 8 and ctypes.string_at(at + 12, owner) == _NOTE_OWNER:
            return place + ctypes.c_int64.from_address(place).value
        at = place + (content + 3 & ~3)
    return None


class _Inside:
    """What is loaded changes: a plugin comes with the first device. So it is looked again while nothing is found."""

    def __init__(self):
        self.copies = []  # of (functions, path of the library)
        self.loaded = None  # how many objects were ever loaded when it was last looked

    def find(self):
        if not self.copies and self._changed():
            self._each_object(self._look)
        return self.copies

    def _changed(self):
        before, loaded = self.loaded, []
        self._each_object(lambda found: loaded.append(found.adds) or True)
        self.loaded = loaded[0] if loaded else 0
        return self.loaded != before

    @staticmethod
    def _each_object(use):
        try:
            iterate = ctypes.CDLL(None).dl_iterate_phdr
        except (AttributeError, OSError):
            return  # no ELF here, and no rekindle
        iterate(_Visit(lambda found, size, context: 1 if use(found.contents) else 0), None)

    def _look(self, found):
        for header in found.phdr[: found.phnum]:
            if header.type != _PT_NOTE:
                continue
            if address := _functions_in((found.addr + header.vaddr, header.memsz)):
                self.copies.append((_Functions.from_address(address), os.fsdecode(found.name or b"")))
        return False


_inside = _Inside()


def step():
    for functions, _ in _inside.find():
        functions.step()


def mark_warm():
    for functions, _ in _inside.find():
        functions.mark_warm()


def _command(library):
    beside = Path(library).resolve().parents[1] / "bin/rekindle"
    return str(beside) if beside.is_file() else shutil.which("rekindle")


def ask(*arguments):
    """What `rekindle ARGUMENTS --json` says of the run that this process is a part of; None without one."""
    directory, run = ctypes.create_string_buffer(4096), ctypes.create_string_buffer(256)
    for functions, library in _inside.find():
        if not functions.place(directory, len(directory), run, len(run)):
            continue
        functions.flush()
        if not (command := _command(library)):
            return None
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        try:
            done = subprocess.run(
                [command, *arguments, "--json", "--run", os.fsdecode(run.value), "--dir", os.fsdecode(directory.value)],
                env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False,
            )  # fmt: skip
            return json.loads(done.stdout) if done.returncode == 0 else None
        except (OSError, ValueError):
            return None
    return None
