// A PJRT_Executable of our own for one that was loaded. It shares what the loaded one has, and
// needs its client.
#pragma once

#include "base/buf.h"
#include "pjrt/abi.h"

// NULL if the plugin gives none. Owned: rk_executable_destroy.
PJRT_Executable *rk_executable_of(const PJRT_Api *api, PJRT_LoadedExecutable *loaded);
void rk_executable_destroy(const PJRT_Api *api, PJRT_Executable *executable); // NULL is fine

// Owned: rk_free. NULL if it has no name, or memory is short.
char *rk_executable_name(const PJRT_Api *api, PJRT_Executable *executable);

// What it became in the compiler (PJRT_Executable_OptimizedProgram): its format, borrowed from the
// plugin, and the size of its code, which is left out. The error is the plugin's own.
RK_NODISCARD rk_err *rk_executable_optimized(const PJRT_Api *api, PJRT_Executable *executable,
                                             PJRT_Program *out_program);

// The code of a program that was so described: appended to `out_code`, which may move.
// RK_INTERNAL if it has become another one.
RK_NODISCARD rk_err *rk_executable_optimized_code(const PJRT_Api *api, PJRT_Executable *executable,
                                                  const PJRT_Program *program, rk_buf *out_code);

// Appends its bytes. The error is the plugin's own.
RK_NODISCARD rk_err *rk_executable_serialize(const PJRT_Api *api, PJRT_Executable *executable,
                                             rk_buf *out_bytes);
