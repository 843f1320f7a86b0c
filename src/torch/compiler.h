// The identity of the C++ compiler that Inductor would use.
#pragma once

#include "base/buf.h"

// Appends "x86_64-linux-gnu-g++-12 3f2a9c…": the name of the compiler's file, without links, and
// the beginning of the digest of its content. "none" if there is no such file. Of ccache and its
// like, the compiler that they call counts. `command` is CXX, or "g++"; `path` is PATH. Starts no
// process. Fails only with RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_torch_compiler_add(const char *command, const char *path, rk_buf *out);
