// Reads properties, the optimized program and the bytes of the plugin's executables.
#pragma once

#include "base/buf.h"
#include "pjrt/abi.h"

// Returns a new PJRT_Executable handle for a loaded executable; NULL if the plugin gives none. The
// handle shares the loaded executable's data and needs its client. Owned: rk_executable_destroy.
PJRT_Executable *rk_executable_of(const PJRT_Api *api, PJRT_LoadedExecutable *loaded);
void rk_executable_destroy(const PJRT_Api *api, PJRT_Executable *executable); // NULL is fine

// Returns the executable's name. Owned: rk_free. NULL if it has no name or memory is short.
char *rk_executable_name(const PJRT_Api *api, PJRT_Executable *executable);

// Describes the optimized program (PJRT_Executable_OptimizedProgram): its format, borrowed from the
// plugin, and the size of its code, but not the code itself. Errors: the plugin's.
RK_NODISCARD rk_err *rk_executable_optimized(const PJRT_Api *api, PJRT_Executable *executable,
                                             PJRT_Program *out_program);

// Appends the code of a program that rk_executable_optimized described. Errors: the plugin's;
// RK_INTERNAL if the plugin now describes another program.
RK_NODISCARD rk_err *rk_executable_optimized_code(const PJRT_Api *api, PJRT_Executable *executable,
                                                  const PJRT_Program *program, rk_buf *out_code);

// Appends the serialized executable. Errors: the plugin's.
RK_NODISCARD rk_err *rk_executable_serialize(const PJRT_Api *api, PJRT_Executable *executable,
                                             rk_buf *out_bytes);
