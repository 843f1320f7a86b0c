// Finds the Python that a command runs, and its torch.
#pragma once

#include "cli/opt.h"
#include "torch/install.h"

// Returns the path of the Python interpreter that the command probably starts: the command itself,
// the interpreter of its script, an argument that names a Python ("nice python job.py"), or for a
// shell script the "python3" or "python" of PATH. Owned: rk_free. NULL if there is none. Starts no
// process.
char *rk_command_python_find(const rk_opt_operands *command);

// Finds the torch of a command's Python. Starts a Python only if its file is a script, such as
// those of pyenv, which choose the real one. `*out_install` is owned: rk_torch_install_cleanup, and
// must be zeroed. False if there is none.
bool rk_command_torch_find(const rk_opt_operands *command, rk_torch_install *out_install);

// Finds the torch of "python3" or "python" in PATH.
bool rk_command_torch_find_default(rk_torch_install *out_install);
