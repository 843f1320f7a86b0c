// Finds the file that a command runs, and the interpreter of a script.
#pragma once

#include "cli/executable.h"

enum { RK_COMMAND_FILE_MAX_SCRIPTS = 4 }; // nested interpreters; the kernel has the same limit

// Returns the file that execvp(3) runs. Owned: rk_free. NULL if there is none.
char *rk_command_file_find(const char *command);

// Returns the last part of a path; the path itself if it ends in a slash. Borrowed from `path`.
const char *rk_command_file_name(const char *path);

// True if the name of the file is that of a Python: "/usr/bin/python3.11", "pypy3".
bool rk_command_file_is_python(const char *path);

// Returns the program that runs a script, according to its first line: the interpreter
// ("/bin/sh -e"), or the program that env(1) runs ("/usr/bin/env -S python3 -u"). Owned: rk_free.
// NULL if `script` is no script, or if there is no such program.
char *rk_command_file_find_interpreter(const rk_executable *script);
