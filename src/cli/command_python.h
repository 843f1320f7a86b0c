// Finds the Python that a command runs, and its torch or JAX. Starts no process.
#pragma once

#include "cli/opt.h"
#include "jax/install.h"
#include "torch/install.h"

// Returns the path of the Python that certainly runs the command: the command itself, or the
// interpreter of its script ("torchrun", "#!/usr/bin/env python3"). Owned: rk_free. NULL if that is
// not certain, with the reason: a shell script, a program that starts its command with another
// Python or on another machine (conda, srun), a Python that is itself a script (pyenv). `*out_why`
// is a sentence without its subject, "is not a Python, …"; static; NULL if a path is returned.
char *rk_command_python_find(const rk_opt_operands *command, const char **out_why);

// Finds the torch of `python`, a path or a command; NULL: "python3" or "python" of PATH.
// `*out_python` is the path that was looked at, owned: rk_free; NULL: there is none. `*out_install`
// is owned: rk_torch_install_cleanup, and must be zeroed. False if there is no torch.
bool rk_command_torch_find(const char *python, rk_torch_install *out_install, char **out_python);

// The same for JAX. `*out_install` is owned: rk_jax_install_cleanup.
bool rk_command_jax_find(const char *python, rk_jax_install *out_install, char **out_python);
