// Prints the program of an entry, for `rekindle show KEY --program`.
#pragma once

#include "cli/entries.h"

typedef struct rk_show_how {
    bool raw;           // the original bytes, not text
    const char *output; // path of a file to write; NULL: standard output
} rk_show_how;

// Prints the program of `kept`, or writes it into a file. With `json`, prints a JSON object.
RK_NODISCARD rk_err *rk_show_program(rk_store *store, const rk_kept *kept, const rk_show_how *how,
                                     bool json);
