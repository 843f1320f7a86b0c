// The remedy for a Python job on the built-in CPU backend of JAX or PyTorch/XLA, which is no
// plugin.
#pragma once

#include "base/buf.h"

// Appends lines that end with "\n": how to install XLA's CPU plugin for the Python that runs
// `command`, and the variables that make JAX or PyTorch/XLA use it, ready to paste. Appends nothing
// and returns false if the command is not run by a Python that has JAX or torch_xla, or if the
// variables are set already.
bool rk_builtin_cpu_add_remedy(const char *command, rk_buf *out);
