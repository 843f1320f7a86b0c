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

// Appends its bytes. The error is the plugin's own.
RK_NODISCARD rk_err *rk_executable_serialize(const PJRT_Api *api, PJRT_Executable *executable,
                                             rk_buf *out_bytes);
