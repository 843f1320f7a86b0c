// What an executable file tells of how it would be loaded.
#pragma once

#include <stdbool.h>

#include "base/buf.h"

typedef enum rk_executable_kind {
    RK_EXECUTABLE_OTHER, // cannot be read, or is neither of those below
    RK_EXECUTABLE_SCRIPT,
    RK_EXECUTABLE_ELF, // of this machine's kind
    RK_EXECUTABLE_ELF_32,
    RK_EXECUTABLE_ELF_FOREIGN, // for another processor
} rk_executable_kind;

typedef struct rk_executable {
    rk_executable_kind kind;
    rk_buf first_line;  // of a script, without "#!"
    bool is_static;     // no loader runs before it
    bool is_musl;       // its loader is musl's
    bool calls_get_api; // it is linked to a library with GetPjrtApi
} rk_executable;

void rk_executable_cleanup(rk_executable *executable);

// Looks at the file. What cannot be read is not an error: it is left at false.
void rk_executable_look(const char *path, rk_executable *out);
