// The remedy for a Python job on the built-in CPU backend of JAX or PyTorch/XLA, which is no
// plugin.
#pragma once

#include "base/buf.h"
#include "base/status.h"
#include "cli/opt.h"

// Appends lines that end with "\n": what XLA's CPU plugin lacks, and one way to use it, ready to
// paste: how to install it for the Python that runs `command`, if it is missing, and the words of
// this command line again with --cpu-plugin. Appends nothing and returns false if the command is
// not run by a Python that has JAX or torch_xla, or if the variables of a plugin are set already.
bool rk_builtin_cpu_add_remedy(const char *command, rk_buf *out);

// For --cpu-plugin: sets the variables that make the job use the plugin of xla-cpu-pjrt, if the
// Python that runs `command` has it. Replaces variables that the user has set, with a warning.
// Fails, with what to do, if the plugin is not installed or does not work with the job's JAX.
// Leaves a command that does not exist to its start.
RK_NODISCARD rk_err *rk_builtin_cpu_use_plugin(const char *command);

// The option of `run` and `verify`.
#define RK_BUILTIN_CPU_OPTION(target)                                                              \
    RK_OPT_FLAG(                                                                                   \
        "cpu-plugin", 0, target,                                                                   \
        "run JAX or PyTorch/XLA on XLA's CPU plugin, from the package xla-cpu-pjrt; it "           \
        "has no LAPACK and no host callbacks: most of jnp.linalg and jax.debug.print fail")
