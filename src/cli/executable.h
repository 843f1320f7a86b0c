// Inspects an executable file to find out how the system loads it.
#pragma once

#include <stdbool.h>

#include "base/buf.h"

typedef enum rk_executable_kind {
    RK_EXECUTABLE_OTHER, // unreadable, or of another kind
    RK_EXECUTABLE_SCRIPT,
    RK_EXECUTABLE_ELF, // 64-bit, for this processor
    RK_EXECUTABLE_ELF_32,
    RK_EXECUTABLE_ELF_FOREIGN, // 64-bit, for another processor
} rk_executable_kind;

typedef struct rk_executable {
    rk_executable_kind kind;
    rk_buf first_line;  // of a script, without "#!"
    bool is_static;     // no loader runs before it
    bool is_musl;       // its loader is musl's
    bool calls_get_api; // it imports GetPjrtApi from a library it is linked to
} rk_executable;

void rk_executable_cleanup(rk_executable *executable);

// Inspects the file. Unreadable parts are no error: their members stay false. `*out` is owned:
// rk_executable_cleanup.
void rk_executable_look(const char *path, rk_executable *out);
