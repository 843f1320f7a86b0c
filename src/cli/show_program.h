// `rekindle show KEY --program`: the program of an entry, as text or as it came.
#pragma once

#include "cli/entries.h"

typedef struct rk_show_how {
    bool raw;           // the bytes as they came, not text
    const char *output; // a file to write to; NULL: standard output
} rk_show_how;

RK_NODISCARD rk_err *rk_show_program(rk_store *store, const rk_kept *kept, const rk_show_how *how,
                                     bool json);
