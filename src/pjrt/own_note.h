// Recognizes the libraries of rekindle in a process, by an ELF note.
#pragma once

#include <stdbool.h>

// True if `function` is in a library of rekindle: this library, or another copy of it in the
// process.
bool rk_own_note_covers(const void *function);
